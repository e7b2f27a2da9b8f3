//! GitRepositories and real sockets: servers that refuse or stall, proxies, and services that hand out tokens.
//! Time is real here.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use sluice_source::git::{
    Cause, GitAuth, GitLimits, GitOverNetwork, GitRemote, GitServer, GitTransport, Identity,
    MemoryTransport, NewCommit, Repository, SshOptions,
};
use sluice_source::http::Web;
use sluice_source::network::{Network, Purpose};
use sluice_source::tree::SourceTree;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use crate::ground::{Ground, namespace, repository_with, said, secret};

/// Reads the head of a request: its lines.
async fn head(stream: &mut TcpStream) -> Vec<u8> {
    let mut read = Vec::new();
    let mut buffer = [0; 4096];
    while !read.windows(4).any(|part| part == b"\r\n\r\n") {
        match stream.read(&mut buffer).await {
            Ok(0) | Err(_) => break,
            Ok(length) => read.extend_from_slice(&buffer[..length]),
        }
    }
    read
}

/// Answers with what a function says of a request's text, and keeps the requests.
pub(crate) async fn service(
    answer: impl Fn(&str) -> (u16, String) + Send + Sync + 'static,
) -> (SocketAddr, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let asked: Arc<Mutex<Vec<String>>> = Arc::default();
    let (log, answer) = (Arc::clone(&asked), Arc::new(answer));
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let (log, answer) = (Arc::clone(&log), Arc::clone(&answer));
            tokio::spawn(async move {
                let text = String::from_utf8_lossy(&head(&mut stream).await).into_owned();
                let (status, body) = answer(&text);
                log.lock().unwrap().push(text);
                let length = body.len();
                let reply = format!(
                    "HTTP/1.1 {status} x\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{body}"
                );
                let _ = stream.write_all(reply.as_bytes()).await;
            });
        }
    });
    (address, asked)
}

pub(crate) fn small_repository() -> Repository {
    let mut files = SourceTree::default();
    files.insert_file("a.yaml", "a").unwrap();
    let by = Identity::new("Ada", "ada@git.test", jiff::Timestamp::UNIX_EPOCH);
    let mut repository = Repository::new("main");
    repository.commit(&NewCommit { branch: "main", message: "one", files: &files, by });
    repository
}

/// A git server; below a directory named like a status, that status is the answer until all is well, and
/// below `stall` there is none.
#[expect(clippy::disallowed_methods, reason = "a server of the tests connects, not the product")]
async fn moody_server(paths: &[&str]) -> (SocketAddr, Arc<AtomicBool>) {
    let repositories = MemoryTransport::default();
    for path in paths {
        repositories.insert(&format!("{path}/app.git"), small_repository());
    }
    let any = "127.0.0.1:0".parse().unwrap();
    let (inner, serving) = GitServer::new(repositories).listen(any).await.unwrap();
    tokio::spawn(serving);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let is_well = Arc::new(AtomicBool::new(false));
    let well = Arc::clone(&is_well);
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let well = Arc::clone(&well);
            tokio::spawn(async move {
                let read = head(&mut stream).await;
                let text = String::from_utf8_lossy(&read).into_owned();
                let mood = text.split(['/', ' ']).nth(2).unwrap_or_default().to_owned();
                if !well.load(Ordering::SeqCst) && mood == "stall" {
                    tokio::time::sleep(Duration::from_mins(10)).await;
                } else if !well.load(Ordering::SeqCst) && mood != "fine" {
                    let reply = format!(
                        "HTTP/1.1 {mood} x\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
                    );
                    let _ = stream.write_all(reply.as_bytes()).await;
                } else if let Ok(mut through) = TcpStream::connect(inner).await {
                    let _ = through.write_all(&read).await;
                    let _ = tokio::io::copy_bidirectional(&mut stream, &mut through).await;
                }
            });
        }
    });
    (address, is_well)
}

fn network() -> Arc<dyn GitTransport> {
    Arc::new(GitOverNetwork::new(Network::new(), SshOptions::default(), GitLimits::default()))
}

async fn ground() -> Ground {
    let mut ground = Ground::idle().await;
    ground.backends().transport = network();
    ground
}

#[tokio::test]
async fn servers_that_refuse_or_stall_are_told_of_and_recovered_from() {
    let moods = ["401", "403", "404", "429", "500", "stall", "fine"];
    let (server, is_well) = moody_server(&moods).await;
    let mut ground = ground().await;
    ground.start();
    ground.apply(namespace()).await;
    let object = |mood: &str| {
        let url = format!("http://{server}/{mood}/app.git");
        repository_with(
            &format!("r-{mood}"),
            json!({"url": url, "interval": "5s", "timeout": "2s"}),
        )
    };
    for mood in moods {
        ground.apply(object(mood)).await;
    }
    let expected = |mood: &str| match mood {
        "401" => "authentication required",
        "403" => "authorization failed",
        "404" => "repository not found",
        "stall" => "context deadline exceeded",
        "429" => "status code: 429",
        _ => "status code: 500",
    };
    for mood in moods.into_iter().filter(|mood| *mood != "fine") {
        let start =
            "False GitOperationFailed: failed to checkout and determine revision: unable to ";
        let failed = ground.until(&object(mood), |it| said(it, "Ready").starts_with(start)).await;
        assert!(said(&failed, "Ready").contains(expected(mood)), "{}", said(&failed, "Ready"));
    }
    let ready = |it: &Value| said(it, "Ready").starts_with("True Succeeded");
    ground.until(&object("fine"), ready).await;
    is_well.store(true, Ordering::SeqCst);
    for mood in moods {
        let found = ground.until(&object(mood), ready).await;
        assert_eq!(said(&found, "FetchFailed"), "", "{mood}");
    }
    ground.stop().await;
}

#[tokio::test]
async fn a_proxy_is_used_as_its_secret_says() {
    let (server, is_well) = moody_server(&["fine"]).await;
    is_well.store(true, Ordering::SeqCst);
    // Plain HTTP goes through a proxy with the whole address in the first line.
    let (proxy, asked) = service(|_| (502, String::new())).await;
    let mut ground = ground().await;
    ground.start();
    ground.apply(namespace()).await;
    let data = json!({"address": format!("http://{proxy}"), "username": "u", "password": "p"});
    ground.apply(secret("proxy", &data)).await;
    let url = format!("http://{server}/fine/app.git");
    let through = json!({"url": url, "proxySecretRef": {"name": "proxy"}});
    let object = repository_with("through", through);
    ground.apply(object.clone()).await;
    ground.until(&object, |it| said(it, "Ready").contains("status code: 502")).await;
    let lines = asked.lock().unwrap().join("");
    assert!(lines.starts_with(&format!("GET {url}/info/refs")), "{lines}");
    assert!(lines.to_lowercase().contains("proxy-authorization: basic dtpw"), "{lines}");
    for (name, data, words) in [
        ("none", json!({"other": "x"}), "secret 'apps/empty': key 'address' not found"),
        (
            "odd",
            json!({"address": "ftp://x"}),
            "secret 'apps/empty': proxy URL must use one of the supported schemes (http, https, socks5), got 'ftp'",
        ),
    ] {
        ground.apply(secret("empty", &data)).await;
        let object =
            repository_with(name, json!({"url": url, "proxySecretRef": {"name": "empty"}}));
        ground.apply(object.clone()).await;
        let expected =
            format!("False AuthenticationFailed: failed to configure proxy options: {words}");
        ground.until_ready_says(&object, &expected).await;
    }
    ground.stop().await;
}

/// Remembers with what repositories were opened.
#[derive(Default)]
pub(crate) struct Noting {
    pub(crate) inner: MemoryTransport,
    opened: Mutex<Vec<(String, GitAuth)>>,
}

impl GitTransport for Noting {
    fn open(&self, url: &str, auth: &GitAuth) -> Result<Arc<dyn GitRemote>, Cause> {
        self.opened.lock().unwrap().push((url.to_owned(), auth.clone()));
        self.inner.open(url, auth)
    }
}

impl Noting {
    pub(crate) fn auth(&self, url: &str) -> GitAuth {
        let opened = self.opened.lock().unwrap();
        opened.iter().rev().find(|(it, _)| it == url).map(|(_, auth)| auth.clone()).unwrap()
    }

    /// The tokens and passwords that were shown.
    pub(crate) fn tokens(&self) -> Vec<String> {
        let opened = self.opened.lock().unwrap();
        let shown =
            opened.iter().flat_map(|(_, it)| [it.bearer_token.expose(), it.password.expose()]);
        shown.filter(|it| !it.is_empty()).cloned().collect()
    }
}

fn rsa_key() -> Option<String> {
    if !sluice_testkit::programs::need(&["ssh-keygen"]) {
        return None;
    }
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("key");
    let made = std::process::Command::new("ssh-keygen")
        .args(["-q", "-t", "rsa", "-b", "2048", "-m", "PEM", "-N", "", "-f"])
        .arg(&path)
        .status();
    made.is_ok_and(|status| status.success()).then(|| std::fs::read_to_string(path).unwrap())
}

#[tokio::test]
async fn providers_give_credentials_for_their_own_hosts() {
    let Some(key) = rsa_key() else { return };
    let (tokens, asked) = service(|text| {
        let machine = r#"{"AccessKeyId":"AKID","SecretAccessKey":"secret","Token":"session","Expiration":"2099-01-01T00:00:00Z","Code":"Success"}"#;
        let known = [
            ("GET /metadata/identity/oauth2/token?", r#"{"access_token":"azure"}"#),
            ("PUT /latest/api/token", "imds"),
            ("GET /latest/meta-data/iam/security-credentials/role ", machine),
            ("GET /latest/meta-data/iam/security-credentials/ ", "role"),
            ("GET /orgs/me/installation", r#"{"id":42}"#),
            ("POST /app/installations/42/access_tokens", r#"{"token":"app","expires_at":"2099-01-01T00:00:00Z"}"#),
        ];
        let found = known.iter().find(|(start, _)| text.starts_with(start));
        found.map_or((404, String::new()), |(_, body)| (200, (*body).to_owned()))
    })
    .await;
    let urls = [
        "https://dev.azure.com/o/p/_git/r",
        "https://git-codecommit.eu-west-1.amazonaws.com/v1/repos/r",
        "https://127.0.0.1/o/r",
    ];
    let noting = Arc::new(Noting::default());
    for url in urls {
        noting.inner.insert(url, small_repository());
    }
    let mut ground = Ground::idle().await;
    ground.backends().transport = Arc::clone(&noting) as Arc<dyn GitTransport>;
    let service = format!("http://{tokens}");
    let around = ["AZURE_POD_IDENTITY_AUTHORITY_HOST", "AWS_EC2_METADATA_SERVICE_ENDPOINT"];
    let around = around.map(|name| (name.to_owned(), service.clone()));
    ground.egress().environment.variables = around.into();
    ground.egress().web = Arc::new(Web::new(&Network::new(), Purpose::Cloud).unwrap());
    ground.start();
    ground.apply(namespace()).await;
    let app = json!({
        "githubAppID": "7", "githubAppInstallationOwner": "me", "githubAppPrivateKey": key,
        "githubAppBaseURL": service,
    });
    ground.apply(secret("app", &app)).await;
    let ready = |it: &Value| said(it, "Ready").starts_with("True Succeeded");
    let specs = [
        json!({"url": urls[0], "provider": "azure"}),
        json!({"url": urls[1], "provider": "aws"}),
        json!({"url": urls[2], "provider": "github", "secretRef": {"name": "app"}}),
    ];
    for (name, spec) in ["azure", "aws", "github"].iter().zip(&specs) {
        let object = repository_with(name, spec.clone());
        ground.apply(object.clone()).await;
        ground.until(&object, ready).await;
    }
    assert_eq!(noting.auth(urls[0]).bearer_token.expose(), "azure");
    let aws = noting.auth(urls[1]);
    assert_eq!(aws.username, "AKID%session");
    let password = aws.password.expose();
    assert!(password.contains('Z') && password.len() > 64, "a time and a signature");
    let github = noting.auth(urls[2]);
    assert_eq!(
        (github.username.as_str(), github.password.expose().as_str()),
        ("x-access-token", "app")
    );
    let scope = asked.lock().unwrap().join("");
    assert!(scope.contains("resource=499b84ac-1321-427f-aa17-267ca6975798"), "{scope}");

    let gate = "to use spec.serviceAccountName for provider authentication please enable the ObjectLevelWorkloadIdentity feature gate in the controller";
    for (name, spec, words) in [
        ("elsewhere", json!({"url": "https://git.test/x", "provider": "aws"}), "AuthenticationFailed: failed to configure authentication options: invalid AWS CodeCommit Git URL: git.test".to_owned()),
        ("account", json!({"url": urls[0], "provider": "azure", "serviceAccountName": "me"}), format!("FeatureGateDisabled: {gate}")),
        ("secretless", json!({"url": urls[2], "provider": "github"}), "InvalidProviderConfiguration: secretRef with github app data must be specified when provider is set to github".to_owned()),
        ("stolen", json!({"url": "https://evil.test/o/r", "provider": "github", "secretRef": {"name": "app"}}), "AuthenticationFailed: failed to configure authentication options: a token of the GitHub App at '127.0.0.1' is not for 'https://evil.test'".to_owned()),
        ("plain", json!({"url": urls[2], "secretRef": {"name": "app"}}), "InvalidProviderConfiguration: secretRef 'apps/app' has github app data but provider is not set to github".to_owned()),
    ] {
        let object = repository_with(name, spec);
        ground.apply(object.clone()).await;
        ground.until_ready_says(&object, &format!("False {words}")).await;
    }
    ground.stop().await;
}
