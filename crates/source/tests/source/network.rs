//! The network policy from outside: names that change their addresses, addresses in disguise, redirects, and
//! every protocol that a tenant can point at a metadata service.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use futures::FutureExt as _;
use serde_json::json;
use sluice_base::clock::Frozen;
use sluice_cloud::{CacheLimits, Clouds, CloudsParts, Environment, Http as _, NoAccounts, Proxy};
use sluice_source::bucket::{
    BucketAddress, BucketAuth, BucketHost, BucketNetwork, BucketQuery, BucketTransport as _, fetch,
};
use sluice_source::client::FetchOptions;
use sluice_source::git::{
    GitAuth, GitLimits, GitOverNetwork, GitServer, MemoryTransport, ObjectId, ObjectKind,
    Repository, SshOptions,
};
use sluice_source::http::{HttpOptions, TlsOptions, Web};
use sluice_source::network::{
    Client, DialError, Lookup, Network, Observe, Policy, Purpose, RequestError, Resolved, Rule,
};
use sluice_source::oci::{NetworkWire, Wire as _};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use crate::git_network::{Authority, tls_in_front};
use crate::support::{branch, chain, request};

/// The refusal that every attack on a metadata service ends with.
const METADATA: &str = "only the controllers' own cloud identity may reach";

/// Names with their addresses, one list after another; the last one stays.
#[derive(Default)]
struct Names {
    known: BTreeMap<&'static str, Mutex<Vec<Vec<IpAddr>>>>,
    asked: Mutex<Vec<String>>,
}

impl Names {
    fn with(mut self, name: &'static str, answers: &[&[&str]]) -> Self {
        let read = |list: &&[&str]| list.iter().map(|it| it.parse().expect("an address")).collect();
        self.known.insert(name, Mutex::new(answers.iter().map(read).collect()));
        self
    }

    fn asked(&self) -> usize {
        self.asked.lock().expect("not poisoned").len()
    }
}

impl Lookup for Names {
    fn lookup<'a>(&'a self, host: &'a str, port: u16) -> Resolved<'a> {
        self.asked.lock().expect("not poisoned").push(host.to_owned());
        let found = match (self.known.get(host), host.parse::<IpAddr>()) {
            (_, Ok(address)) => Ok(vec![address]),
            (None, _) => Err(std::io::Error::other("failed to lookup address information")),
            (Some(answers), _) => {
                let mut answers = answers.lock().expect("not poisoned");
                Ok(if answers.len() > 1 { answers.remove(0) } else { answers[0].clone() })
            }
        };
        let found = found.map(|all| all.into_iter().map(|it| SocketAddr::new(it, port)).collect());
        std::future::ready(found).boxed()
    }
}

/// Counts what is decided.
#[derive(Default)]
struct Decisions(Mutex<Vec<(Purpose, Option<Rule>)>>);

impl Observe for Decisions {
    fn decided(&self, purpose: Purpose, refused_by: Option<Rule>) {
        self.0.lock().expect("not poisoned").push((purpose, refused_by));
    }
}

fn network(names: Names) -> (Network, Arc<Names>, Arc<Decisions>) {
    let (names, decisions) = (Arc::new(names), Arc::new(Decisions::default()));
    let network = Network::of(Policy::default(), names.clone(), decisions.clone());
    (network, names, decisions)
}

/// A server that answers every request alike, and the heads of the requests.
async fn server(answer: String, keeps_alive: bool) -> (SocketAddr, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let asked: Arc<Mutex<Vec<String>>> = Arc::default();
    let log = Arc::clone(&asked);
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let (log, answer) = (Arc::clone(&log), answer.clone());
            tokio::spawn(async move {
                loop {
                    let mut head = vec![0; 8192];
                    let length = stream.read(&mut head).await.unwrap_or_default();
                    if length == 0 {
                        return;
                    }
                    let text = String::from_utf8_lossy(&head[..length]).into_owned();
                    log.lock().expect("not poisoned").push(text);
                    if stream.write_all(answer.as_bytes()).await.is_err() || !keeps_alive {
                        return;
                    }
                }
            });
        }
    });
    (address, asked)
}

fn fine() -> String {
    "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok".to_owned()
}

fn to(location: &str) -> String {
    format!(
        "HTTP/1.1 302 Found\r\nlocation: {location}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
    )
}

async fn get(client: &Client, url: &str) -> Result<u16, String> {
    let url = url.parse().expect("an address");
    let request = reqwest::Request::new(reqwest::Method::GET, url);
    match client.execute(request).await {
        Ok(answer) => Ok(answer.status().as_u16()),
        Err(RequestError::Refused(refusal)) => Err(refusal.to_string()),
        Err(RequestError::Failed(error)) => Err(chain(&error)),
    }
}

fn client(network: &Network, purpose: Purpose) -> Client {
    network.client(purpose, &HttpOptions::default()).expect("a client")
}

/// A name is resolved once for a connection, and what was judged is what is connected to; when it has another
/// address the next time, that one is judged.
#[tokio::test]
async fn a_name_that_changes_its_address_is_judged_each_time() {
    let (victim, _) = server(fine(), false).await;
    let names = Names::default().with("flip.test", &[&["127.0.0.1"], &["169.254.169.254"]]);
    let (network, names, decisions) = network(names);
    let (client, url) =
        (client(&network, Purpose::Spec), format!("http://flip.test:{}/", victim.port()));
    assert_eq!(get(&client, &url).await, Ok(200));
    assert_eq!(names.asked(), 1, "there is no second look between judging and connecting");
    let refused = get(&client, &url).await.expect_err("another address");
    assert!(refused.contains("'flip.test' (169.254.169.254)"), "{refused}");
    let expected = [(Purpose::Spec, None), (Purpose::Spec, Some(Rule::Metadata))];
    assert_eq!(*decisions.0.lock().expect("not poisoned"), expected);
}

/// Of several addresses those that are refused are never tried.
#[tokio::test]
async fn refused_addresses_among_others_are_left_out() {
    let (victim, _) = server(fine(), false).await;
    let both: &[&str] = &["169.254.169.254", "fd00:ec2::254", "127.0.0.1"];
    let (network, ..) = network(Names::default().with("both.test", &[both]));
    let url = format!("http://both.test:{}/", victim.port());
    assert_eq!(get(&client(&network, Purpose::Spec), &url).await, Ok(200));
    let refused = get(&client(&network, Purpose::Content), &url).await.expect_err("all private");
    assert!(refused.starts_with("network policy: host 'both.test' (169.254.169.254)"), "{refused}");
}

/// However an address is written, it is the same address.
#[tokio::test]
async fn addresses_in_disguise_are_recognised() {
    let network = Network::new();
    let client = client(&network, Purpose::Spec);
    for host in [
        "169.254.169.254",
        "169.254.169.254.",
        "2852039166",
        "0xa9fea9fe",
        "0251.0376.0251.0376",
        "169.254.43518",
        "0xA9.254.0251.254",
        "[::ffff:169.254.169.254]",
        "[::ffff:a9fe:a9fe]",
        "[::169.254.169.254]",
        "[64:ff9b::a9fe:a9fe]",
        "[2002:a9fe:a9fe::1]",
        "good.test@169.254.169.254",
        "good.test:80@169.254.169.254",
        "%31%36%39.254.169.254",
        "\u{ff11}\u{ff16}\u{ff19}.254.169.254",
        "169\u{3002}254\u{3002}169\u{3002}254",
        "[fe80::1]",
        "[fd00:ec2::254]",
        "100.100.100.200",
        "168.63.129.16",
        "metadata.google.internal",
        "METADATA.google.internal.",
    ] {
        let refused = get(&client, &format!("http://{host}/latest/")).await.expect_err(host);
        assert!(refused.contains(METADATA), "{host}: {refused}");
    }
    // SSH has no URL that tidies hosts up: the resolver does, and is judged.
    for host in
        ["169.254.169.254", "2852039166", "0xa9fea9fe", "[::ffff:169.254.169.254]", "fe80::1"]
    {
        let dialled = network.dial(Purpose::Spec, host, 22).await;
        assert!(matches!(dialled, Err(DialError::Refused(_))), "{host}: {dialled:?}");
    }
    for url in ["file:///etc/passwd", "gopher://127.0.0.1/x", "ftp://127.0.0.1/"] {
        let refused = get(&client, url).await.expect_err(url);
        assert!(refused.contains("is not reached by HTTP or HTTPS"), "{url}: {refused}");
    }
}

/// A redirect is judged as a first request is, by address and by name.
#[tokio::test]
async fn a_redirect_does_not_lead_to_a_metadata_service() {
    let names = Names::default()
        .with("public.test", &[&["127.0.0.1"]])
        .with("inner.test", &[&["169.254.170.2"]]);
    let (network, ..) = network(names);
    let client = client(&network, Purpose::Spec);
    for target in
        ["http://169.254.169.254/latest/", "http://inner.test/v2/", "http://[::ffff:a9fe:a9fe]/"]
    {
        let (first, asked) = server(to(target), false).await;
        let url = format!("http://public.test:{}/", first.port());
        let refused = get(&client, &url).await.expect_err(target);
        assert!(refused.contains(METADATA), "{target}: {refused}");
        assert_eq!(asked.lock().expect("not poisoned").len(), 1);
    }
    let (first, _) = server(to("file:///etc/passwd"), false).await;
    assert_eq!(get(&client, &format!("http://{first}/")).await, Ok(302), "it is not followed");
}

/// A redirect from HTTPS to plain HTTP would show what was asked for to anybody on the way.
#[tokio::test]
async fn a_redirect_does_not_lead_from_https_to_http() {
    let (target, asked) = server(fine(), false).await;
    let (inner, _) = server(to(&format!("http://{target}/")), false).await;
    let authority = Authority::new();
    let outer = tls_in_front(inner, &authority, false).await;
    let tls = TlsOptions { authorities: authority.pem(), ..TlsOptions::default() };
    let options = HttpOptions { tls, ..HttpOptions::default() };
    let client = Network::new().client(Purpose::Spec, &options).expect("a client");
    let refused = get(&client, &format!("https://{outer}/")).await.expect_err("plain");
    assert!(refused.contains("from HTTPS to plain HTTP"), "{refused}");
    assert!(asked.lock().expect("not poisoned").is_empty());
}

/// Credentials are for the host that they were given for.
#[tokio::test]
async fn credentials_do_not_follow_a_redirect_to_another_host() {
    let (target, asked) = server(fine(), false).await;
    let (first, _) = server(to(&format!("http://localhost:{}/", target.port())), false).await;
    let client = client(&Network::new(), Purpose::Spec);
    let url = format!("http://{first}/").parse().expect("an address");
    let mut request = reqwest::Request::new(reqwest::Method::GET, url);
    let token = reqwest::header::HeaderValue::from_static("Bearer secret");
    request.headers_mut().insert("authorization", token);
    client.execute(request).await.expect("an answer");
    let asked = asked.lock().expect("not poisoned").join("").to_lowercase();
    assert!(asked.contains("get /") && !asked.contains("authorization"), "{asked}");
}

/// What one purpose has opened is not open to another.
#[tokio::test]
async fn connections_are_not_shared_between_purposes() {
    let (victim, asked) = server(fine(), true).await;
    let names = Names::default().with("inner.test", &[&["127.0.0.1"]]);
    let (network, ..) = network(names);
    let url = format!("http://inner.test:{}/", victim.port());
    assert_eq!(get(&client(&network, Purpose::Spec), &url).await, Ok(200));
    let refused = get(&client(&network, Purpose::Content), &url).await.expect_err("private");
    assert!(refused.contains("--allow-content-hosts=inner.test"), "{refused}");
    assert_eq!(asked.lock().expect("not poisoned").len(), 1);
}

/// The API server by another name has the address of the API server.
#[tokio::test]
async fn an_alias_of_the_api_server_is_recognised() {
    let names =
        Names::default().with("api.test", &[&["8.8.4.4"]]).with("alias.test", &[&["8.8.4.4"]]);
    let api_server = vec!["api.test:6443".parse().expect("a host")];
    let policy = Policy { api_server, ..Policy::default() };
    let network = Network::of(policy, Arc::new(names), Arc::new(Decisions::default()));
    let refused = get(&client(&network, Purpose::Content), "https://alias.test/")
        .await
        .expect_err("an alias");
    assert!(refused.contains("is the artifact server or the API server"), "{refused}");
}

fn bucket(endpoint: &str) -> BucketAddress {
    BucketAddress {
        host: BucketHost::Generic,
        endpoint: endpoint.to_owned(),
        bucket: "b".to_owned(),
        insecure: true,
        ..BucketAddress::default()
    }
}

async fn bucket_error(address: &BucketAddress) -> String {
    let buckets = BucketNetwork::new(Network::new());
    let query = BucketQuery { bucket: "b".to_owned(), ..BucketQuery::default() };
    match buckets.open(address).await {
        Ok(reader) => fetch(&*reader, &query).await.expect_err("refused").to_string(),
        Err(error) => error.to_string(),
    }
}

/// Whatever a spec names: a repository, a registry, a bucket, a service of tokens, a proxy.
#[tokio::test]
async fn no_protocol_reaches_a_metadata_service_for_a_tenant() {
    let git = GitOverNetwork::new(Network::new(), SshOptions::default(), GitLimits::default());
    let clone = async |url: &str, auth: GitAuth| {
        let outcome = sluice_source::git::clone(&git, &request(url, branch("main")), &auth).await;
        chain(&outcome.expect_err("refused"))
    };
    let words = clone("http://169.254.169.254/latest/meta-data", GitAuth::default()).await;
    assert!(words.contains(METADATA), "{words}");
    let proxied = |address: &str| {
        let proxy = Proxy { address: address.to_owned(), ..Proxy::default() };
        GitAuth { proxy: Some(proxy), ..GitAuth::default() }
    };
    for proxy in
        ["http://169.254.169.254:80", "socks5://169.254.169.254:1080", "https://2852039166/"]
    {
        let words = clone("https://git.test/app", proxied(proxy)).await;
        assert!(words.contains(METADATA), "{proxy}: {words}");
    }
    // Behind a proxy the name is all that can be judged.
    let words = clone("http://metadata.google.internal/x", proxied("http://127.0.0.1:1")).await;
    assert!(words.contains(METADATA), "{words}");

    let wire = NetworkWire::new(Network::new());
    for url in ["https://169.254.169.254/v2/", "http://[fd00:ec2::254]/v2/"] {
        let asked = http::Request::get(url).body(Bytes::new()).expect("a request");
        let answer = wire.send(&HttpOptions::default(), asked, 1024).await;
        assert!(answer.expect_err("refused").to_string().contains(METADATA), "{url}");
    }
    let (registry, _) = server(to("http://169.254.169.254/layer"), false).await;
    let url = format!("http://{registry}/v2/app/blobs/sha256:0");
    let asked = http::Request::get(url).body(Bytes::new()).expect("a request");
    let answer = wire.send(&HttpOptions::default(), asked, 1024).await;
    assert!(answer.expect_err("refused").to_string().contains(METADATA), "a blob elsewhere");

    let words = bucket_error(&bucket("169.254.169.254")).await;
    assert!(words.contains(METADATA), "{words}");
    let ldap = BucketAuth::Ldap {
        endpoint: "http://169.254.169.254/sts".to_owned(),
        username: "u".to_owned(),
        password: "p".into(),
        tls: TlsOptions::default(),
    };
    let words = bucket_error(&BucketAddress { auth: ldap, ..bucket("127.0.0.1:1") }).await;
    assert!(words.contains(METADATA), "{words}");
}

/// The key of a service account that a tenant gives names the server of its tokens; a vault is named by a file.
#[tokio::test]
async fn cloud_code_reaches_a_metadata_service_only_for_itself() {
    const KEY: &str = include_str!("../../../secrets/tests/goldens/keys/client.pem");
    let web = Arc::new(Web::new(&Network::new(), Purpose::Cloud).expect("a client"));
    let vault = http::Request::put("http://169.254.169.254/v1/transit/decrypt/key");
    let refused = web.send(vault.body(Vec::new()).expect("a request")).await;
    assert!(refused.expect_err("refused").contains(METADATA));
    let identity = Clouds::new(CloudsParts {
        environment: Environment::default(),
        http: web,
        accounts: Arc::new(NoAccounts),
        clock: Arc::new(Frozen(jiff::Timestamp::UNIX_EPOCH)),
        limits: CacheLimits::default(),
        allows_accounts: false,
        trusted_hosts: Vec::new(),
    })
    .controller();
    let account = json!({
        "type": "service_account", "private_key": KEY, "client_email": "me",
        "token_uri": "http://169.254.169.254/computeMetadata/v1/",
    });
    let data =
        [("serviceaccount".to_owned(), account.to_string().into_bytes())].into_iter().collect();
    let auth = BucketAuth::Secret { name: "keys".to_owned(), data };
    let address =
        BucketAddress { host: BucketHost::Gcp, auth, identity: Some(identity), ..bucket("") };
    let words = bucket_error(&address).await;
    assert!(words.contains(METADATA), "{words}");
}

/// A repository names a submodule on another host of the private network: content, not a spec.
#[tokio::test]
async fn a_submodule_does_not_reach_another_private_host() {
    let (victim, asked) = server(fine(), false).await;
    let repositories = MemoryTransport::default();
    let mut app = Repository::new("main");
    let text = format!("[submodule \"sub\"]\n\tpath = sub\n\turl = http://{victim}/secret.git\n");
    let modules = app.add_object(ObjectKind::Blob, text);
    let mut data = Vec::new();
    let far: ObjectId = "1111111111111111111111111111111111111111".parse().expect("a name");
    for (entry, id) in [("100644 .gitmodules\0", modules), ("160000 sub\0", far)] {
        data.extend_from_slice(entry.as_bytes());
        data.extend_from_slice(id.as_bytes());
    }
    let root = app.add_object(ObjectKind::Tree, data);
    let by = "A <a@b> 1 +0000";
    let text = format!("tree {root}\nauthor {by}\ncommitter {by}\n\nx\n");
    let commit = app.add_object(ObjectKind::Commit, text);
    app.set_ref("refs/heads/main", Some(commit));
    repositories.insert("app.git", app);
    let any = "127.0.0.1:0".parse().expect("an address");
    let (address, serving) = GitServer::new(repositories).listen(any).await.expect("a port");
    let serving = tokio::spawn(serving);
    let git = GitOverNetwork::new(Network::new(), SshOptions::default(), GitLimits::default());
    let mut wanted = request(&format!("http://{address}/app.git"), branch("main"));
    wanted.recurse_submodules = true;
    let outcome = sluice_source::git::clone(&git, &wanted, &GitAuth::default()).await;
    let words = chain(&outcome.expect_err("refused"));
    assert!(words.contains("which the content of a repository may not name"), "{words}");
    assert!(asked.lock().expect("not poisoned").is_empty());
    serving.abort();
}

/// A server of artifacts that says nothing, or drips, is given up on. Without the limits of the purpose the same
/// request goes on for ever.
#[tokio::test(start_paused = true)]
async fn a_tarpit_does_not_hold_the_transfer_of_an_artifact() {
    const HOUR: Duration = Duration::from_hours(1);
    for drips in [false, true] {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let serving = tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                tokio::spawn(async move {
                    let head = "HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\n\r\n";
                    if drips {
                        let _ = stream.write_all(head.as_bytes()).await;
                    }
                    loop {
                        tokio::time::sleep(Duration::from_secs(10)).await;
                        if drips && stream.write_all(b"x").await.is_err() {
                            return;
                        }
                    }
                });
            }
        });
        let url = format!("http://{address}/gitrepository/apps/web/1.tar.gz");
        let digest = format!("sha256:{}", "0".repeat(64));
        let options = FetchOptions::default();
        let fetch = async |purpose| {
            let client = client(&Network::new(), purpose);
            let fetching = sluice_source::client::fetch(&client, &url, &digest, &options);
            tokio::time::timeout(HOUR, fetching).await
        };
        let outcome = fetch(Purpose::Artifact).await;
        assert!(matches!(outcome, Ok(Err(_))), "drips: {drips}");
        if !drips {
            assert!(fetch(Purpose::Operator).await.is_err(), "nothing else ends it");
        }
        serving.abort();
    }
}

/// A status that names another server than those of the installation leads nowhere.
#[tokio::test]
async fn an_artifact_is_not_fetched_from_a_strange_host() {
    let (strange, asked) = server(fine(), false).await;
    let url = format!("http://{strange}/gitrepository/apps/web/1.tar.gz");
    let digest = format!("sha256:{}", "0".repeat(64));
    let options = FetchOptions::default();
    let own = vec!["*.flux-system.svc.cluster.local".parse().expect("a host")];
    for (artifact_hosts, requests) in [(Some(own), 0), (None, 1)] {
        let is_listed = artifact_hosts.is_none();
        let network = Network::with(Policy { artifact_hosts, ..Policy::default() });
        let client = client(&network, Purpose::Artifact);
        let outcome = sluice_source::client::fetch(&client, &url, &digest, &options).await;
        let words = chain(&outcome.expect_err("it is no artifact"));
        assert_eq!(words.contains("--artifact-hosts=127.0.0.1"), !is_listed, "{words}");
        assert_eq!(asked.lock().expect("not poisoned").len(), requests, "{words}");
    }
}
