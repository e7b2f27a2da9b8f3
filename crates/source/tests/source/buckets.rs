//! Buckets of all hosts, against an object store on the loopback.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use sluice_base::clock::Frozen;
use sluice_base::redacted::SecretData;
use sluice_cloud::{CacheLimits, CloudIdentity, Clouds, CloudsParts, Environment, NoAccounts};
use sluice_source::artifact::{ArtifactPath, DigestAlgorithm};
use sluice_source::bucket::{
    BucketAddress, BucketAuth, BucketHost, BucketNetwork, BucketQuery, BucketTransport as _,
    FetchedBucket, fetch,
};
use sluice_source::http::{TlsOptions, Web};
use sluice_source::network::{Network, Purpose};
use sluice_source::store::{ArtifactStore as _, RemoteStore, StoreError};

use crate::bucket_store::{BUCKET, BucketStore, Mood};
use crate::support::listing;

const OBJECTS: [(&str, &str); 5] = [
    (".sourceignore", "*.md\n"),
    ("apps/", ""),
    ("apps/a ä.yaml", "a"),
    ("apps/b.yaml", "b"),
    ("notes.md", "no"),
];

/// The key of a service account; the store itself issues its tokens.
const KEY: &str = include_str!("../../../secrets/tests/goldens/keys/client.pem");

fn network() -> BucketNetwork {
    BucketNetwork::new(Network::new())
}

/// The controllers, in an environment.
fn controllers(variables: &[(&str, &str)]) -> CloudIdentity {
    trusting(&[], variables)
}

/// The same, where the operator trusts these hosts like those of clouds.
fn trusting(hosts: &[String], variables: &[(&str, &str)]) -> CloudIdentity {
    let variables = variables.iter().map(|(name, value)| ((*name).into(), (*value).into()));
    Clouds::new(CloudsParts {
        environment: Environment { variables: variables.collect(), ..Environment::default() },
        http: Arc::new(Web::new(&Network::new(), Purpose::Cloud).expect("a client")),
        accounts: Arc::new(NoAccounts),
        clock: Arc::new(Frozen(jiff::Timestamp::UNIX_EPOCH)),
        limits: CacheLimits::default(),
        allows_accounts: false,
        trusted_hosts: hosts.iter().map(|host| host.parse().expect("a host")).collect(),
    })
    .controller()
}

fn address(store: &BucketStore, host: BucketHost, secret: &[(&str, &str)]) -> BucketAddress {
    let data: SecretData =
        secret.iter().map(|(key, value)| ((*key).into(), value.as_bytes().to_vec())).collect();
    let auth = match secret {
        [] => BucketAuth::Ambient,
        _ => BucketAuth::Secret { name: "keys".to_owned(), data },
    };
    let endpoint = match host {
        BucketHost::Azure => format!("http://{}/account", store.address),
        _ => store.address.to_string(),
    };
    let bucket = BUCKET.to_owned();
    BucketAddress { host, endpoint, bucket, insecure: true, auth, ..BucketAddress::default() }
}

fn query() -> BucketQuery {
    let timeout = Duration::from_secs(20);
    BucketQuery { bucket: BUCKET.to_owned(), timeout, ..BucketQuery::default() }
}

async fn read(
    network: &BucketNetwork,
    address: &BucketAddress,
    query: &BucketQuery,
) -> Result<FetchedBucket, String> {
    let reader = network.open(address).await.map_err(|error| format!("open: {error}"))?;
    fetch(&*reader, query).await.map_err(|error| error.to_string())
}

#[tokio::test]
async fn every_host_gives_the_files_and_nothing_when_nothing_changed() {
    let store = BucketStore::start(&OBJECTS).await;
    store.change(|state| {
        state.keys.insert("id".to_owned(), "secret".to_owned());
        state.others.insert("POST /token".to_owned(), r#"{"access_token":"google"}"#.to_owned());
    });
    let emulator = format!("http://{}", store.address);
    let service_account = json!({
        "type": "service_account", "private_key": KEY, "client_email": "me",
        "token_uri": format!("{emulator}/token"),
    })
    .to_string();
    let hosts: [(BucketHost, &[(&str, &str)]); 5] = [
        (BucketHost::Generic, &[("accesskey", "id"), ("secretkey", "secret")]),
        (BucketHost::Aws, &[("accesskey", "id"), ("secretkey", "secret")]),
        (BucketHost::Gcp, &[("serviceaccount", &service_account)]),
        (BucketHost::Azure, &[("accountKey", "a2V5")]),
        (BucketHost::Azure, &[("sasKey", "?sv=1&sig=s")]),
    ];
    for (host, secret) in hosts {
        let (network, address) = (network(), address(&store, host, secret));
        let identity = Some(controllers(&[("STORAGE_EMULATOR_HOST", &emulator)]));
        let address = BucketAddress { identity, ..address };
        let found = read(&network, &address, &query())
            .await
            .unwrap_or_else(|error| panic!("{host:?}: {error}"));
        let files = found.files.expect("files");
        let expected = [".sourceignore *.md", "apps/", "apps/a ä.yaml a", "apps/b.yaml b"];
        assert_eq!(listing(&files), expected, "{host:?}");
        assert_eq!(found.index.len(), 2, "{host:?}");
        let revision = found.index.digest(DigestAlgorithm::Sha256).to_string();
        store.change(|state| state.asked.clear());
        let known = BucketQuery { known: Some(revision), ..query() };
        let again = read(&network, &address, &known).await.expect("an answer");
        assert!(again.files.is_none(), "{host:?}");
        assert_eq!(
            again.index, found.index,
            "{host:?}: etags are the same in listings and answers"
        );
        let asked = store.asked();
        assert!(!asked.iter().any(|line| line.contains("b.yaml?") || line.ends_with("b.yaml")));

        let part = BucketQuery {
            prefix: "apps/b".to_owned(),
            ignore: Some("!*.md\n".to_owned()),
            ..query()
        };
        let part = read(&network, &address, &part).await.expect("an answer");
        assert_eq!(part.index.len(), 1, "{host:?}");
        let elsewhere = BucketAddress { bucket: "nothing".to_owned(), ..address };
        let none = BucketQuery { bucket: "nothing".to_owned(), ..query() };
        let error = read(&network, &elsewhere, &none).await.expect_err("no bucket");
        assert_eq!(error, "bucket 'nothing' not found", "{host:?}");
    }
}

#[tokio::test]
async fn refusals_are_told_in_the_hosts_words() {
    let store = BucketStore::start(&OBJECTS).await;
    let network = network();
    let address = address(&store, BucketHost::Generic, &[]);
    let existence =
        |words: &str| format!("failed to confirm existence of 'things' bucket: {words}");
    for (status, words) in [
        (401, existence("401 Unauthorized")),
        (403, existence("Access Denied.")),
        (404, "bucket 'things' not found".to_owned()),
        (429, existence("429 Too Many Requests")),
        (500, existence("500 Internal Server Error")),
    ] {
        store.change(|state| state.mood = Mood::Refuses(status, ""));
        let error = read(&network, &address, &query()).await.expect_err("refused");
        assert_eq!(error, words);
    }
    store.change(|state| state.mood = Mood::Stalls);
    let impatient = BucketQuery { timeout: Duration::from_millis(200), ..query() };
    let error = read(&network, &address, &impatient).await.expect_err("too slow");
    let late =
        existence(&format!("Get \"http://{}/things/ context deadline exceeded", store.address));
    assert_eq!(error, late);
    store.change(|state| {
        state.mood = Mood::Fine;
        state.keys.insert("id".to_owned(), "secret".to_owned());
    });
    let error = read(&network, &address, &query()).await.expect_err("unsigned");
    assert_eq!(error, existence("Access Denied."));
}

#[tokio::test]
async fn keys_that_cannot_be_sent_or_asked_for_are_errors() {
    let store = BucketStore::start(&[("a/../b", "x")]).await;
    let network = network();
    let open = address(&store, BucketHost::Generic, &[]);
    let error = read(&network, &open, &query()).await.expect_err("a hostile key");
    let words = "fetch from bucket 'things' failed: failed to get 'a/../b' object: Object name contains unsupported characters.";
    assert_eq!(error, words);
    let broken = address(&store, BucketHost::Generic, &[("accesskey", "a\n"), ("secretkey", "b")]);
    let error = read(&network, &broken, &query()).await.expect_err("a line break");
    assert!(error.starts_with("open: invalid 'keys' secret data"), "{error}");
    let key = address(&store, BucketHost::Azure, &[("accountKey", "!")]);
    let error = read(&network, &key, &query()).await.expect_err("no key");
    assert!(error.starts_with("open: failed to create shared credential"), "{error}");
}

#[tokio::test]
async fn credentials_are_had_from_services() {
    let store = BucketStore::start(&OBJECTS).await;
    let temporary = "<AssumeRoleWithLDAPIdentityResponse><AssumeRoleWithLDAPIdentityResult><Credentials><AccessKeyId>id</AccessKeyId><SecretAccessKey>secret</SecretAccessKey><SessionToken>t</SessionToken></Credentials></AssumeRoleWithLDAPIdentityResult></AssumeRoleWithLDAPIdentityResponse>";
    let machine = r#"{"AccessKeyId":"id","SecretAccessKey":"secret","Token":"t","Expiration":"2099-01-01T00:00:00Z","Code":"Success"}"#;
    store.change(|state| {
        state.keys.insert("id".to_owned(), "secret".to_owned());
        for (path, body) in [
            ("POST /sts", temporary),
            ("PUT /latest/api/token", "token"),
            ("GET /latest/meta-data/iam/security-credentials/", "role"),
            ("GET /latest/meta-data/iam/security-credentials/role", machine),
        ] {
            state.others.insert(path.to_owned(), body.to_owned());
        }
    });
    let ldap = BucketAuth::Ldap {
        endpoint: format!("http://{}/sts", store.address),
        username: "u".to_owned(),
        password: "p".into(),
        tls: TlsOptions::default(),
    };
    let generic = BucketAddress { auth: ldap, ..address(&store, BucketHost::Generic, &[]) };
    let found = read(&network(), &generic, &query()).await.expect("an answer");
    assert_eq!(found.index.len(), 2);
    let service = format!("http://{}", store.address);
    let around = [
        ("AWS_EC2_METADATA_SERVICE_ENDPOINT", service.as_str()),
        ("AZURE_POD_IDENTITY_AUTHORITY_HOST", service.as_str()),
        ("GCE_METADATA_HOST", service.trim_start_matches("http://")),
        ("STORAGE_EMULATOR_HOST", service.as_str()),
    ];
    let token = r#"{"access_token":"machine","expires_in":3600}"#;
    store.change(|state| {
        let azure = "GET /metadata/identity/oauth2/token";
        let google = "GET /computeMetadata/v1/instance/service-accounts/default/token";
        for path in [azure, google] {
            state.others.insert(path.to_owned(), token.to_owned());
        }
    });
    let of = |host, region: &str| BucketAddress {
        region: region.to_owned(),
        identity: Some(trusting(std::slice::from_ref(&service), &around)),
        ..address(&store, host, &[])
    };
    for host in [BucketHost::Aws, BucketHost::Azure, BucketHost::Gcp] {
        store.change(|state| state.bearers.clear());
        let found = read(&network(), &of(host, "eu-1"), &query()).await.expect("an answer");
        assert_eq!(found.index.len(), 2, "{host:?}");
        let bearers = store.change(|state| state.bearers.clone());
        let is_token = |it: &String| it == "Bearer machine";
        assert!(host == BucketHost::Aws || bearers.iter().all(is_token), "{host:?} {bearers:?}");
    }
    let error = read(&network(), &of(BucketHost::Aws, ""), &query()).await.expect_err("nowhere");
    let words = "open: AWS authentication failed: failed to create provider access token for the controller: AWS_REGION environment variable is not set";
    assert!(error.starts_with(words), "{error}");
    store.change(|state| state.others.clear());
    for (host, words) in [
        (
            BucketHost::Aws,
            "open: AWS authentication failed: failed to create provider access token for the controller: PUT ",
        ),
        (
            BucketHost::Azure,
            "failed to confirm existence of 'things' bucket: failed to create provider access token for the controller: GET ",
        ),
        (
            BucketHost::Gcp,
            "failed to confirm existence of 'things' bucket: failed to create provider access token for the controller: ",
        ),
    ] {
        let error =
            read(&network(), &of(host, "eu-1"), &query()).await.expect_err("no credentials");
        assert!(error.starts_with(words), "{error}");
    }
}

/// Finding 4: what a cloud gives to the controllers goes to its own hosts, by TLS that no tenant vouches for.
#[tokio::test]
async fn tokens_of_azure_go_to_its_blobs_only() {
    let store = BucketStore::start(&OBJECTS).await;
    let service = format!("http://{}", store.address);
    let around = [("AZURE_POD_IDENTITY_AUTHORITY_HOST", service.as_str())];
    let token = r#"{"access_token":"machine","expires_in":3600}"#;
    store.change(|state| {
        state.others.insert("GET /metadata/identity/oauth2/token".to_owned(), token.to_owned());
    });
    let of_blobs = "https://acme.blob.core.windows.net".to_owned();
    let authority = TlsOptions { authorities: KEY.as_bytes().to_vec(), ..TlsOptions::default() };
    let insecure = TlsOptions { insecure: true, ..TlsOptions::default() };
    let own = address(&store, BucketHost::Azure, &[]).endpoint;
    for (endpoint, secret, tls) in [
        (own.clone(), &[][..], TlsOptions::default()),
        (own, &[("clientId", "kubelet")], TlsOptions::default()),
        ("https://evil.test/x.blob.core.windows.net".to_owned(), &[], TlsOptions::default()),
        ("https://acme.blob.core.windows.net@evil.test".to_owned(), &[], TlsOptions::default()),
        ("http://acme.blob.core.windows.net".to_owned(), &[], TlsOptions::default()),
        (of_blobs.clone(), &[], authority),
        (of_blobs, &[("clientId", "kubelet")], insecure),
    ] {
        let mut address = address(&store, BucketHost::Azure, secret);
        address.identity = Some(controllers(&around));
        (address.endpoint, address.http.tls) = (endpoint.clone(), tls);
        let error = read(&network(), &address, &query()).await.expect_err("nothing is sent");
        assert!(
            error.contains("no token of the cloud is sent") || error.contains("is not sent over"),
            "{endpoint}: {error}"
        );
        assert!(store.change(|state| state.bearers.is_empty()), "{endpoint}");
    }
}

/// The same for signatures of Amazon with session tokens.
#[tokio::test]
async fn signatures_of_the_controllers_go_to_amazon_only() {
    let store = BucketStore::start(&OBJECTS).await;
    let around = [("AWS_ACCESS_KEY_ID", "AKID"), ("AWS_SECRET_ACCESS_KEY", "secret")];
    let own = store.address.to_string();
    for (endpoint, bucket, insecure) in [
        (own.as_str(), "things", true),
        ("s3-1.us-east-1.elb.amazonaws.com", "things", false),
        ("s3.amazonaws.com", "things", true),
        ("evil.test#.amazonaws.com", "things", false),
    ] {
        let mut address = address(&store, BucketHost::Aws, &[]);
        address.identity = Some(controllers(&around));
        address.region = "eu-west-1".to_owned();
        (address.endpoint, address.bucket) = (endpoint.to_owned(), bucket.to_owned());
        address.insecure = insecure;
        let error = read(&network(), &address, &query()).await.expect_err("nothing is sent");
        assert!(error.contains("no token of the cloud is sent"), "{endpoint}: {error}");
    }
}

#[tokio::test]
async fn applications_of_azure_are_named_by_a_secret() {
    let store = BucketStore::start(&OBJECTS).await;
    let login = "POST /t/oauth2/v2.0/token";
    let token = r#"{"access_token":"application","expires_in":3600}"#;
    store.change(|state| {
        state.others.insert(login.to_owned(), token.to_owned());
    });
    let authority = format!("http://{}", store.address);
    let by_secret = [
        ("tenantId", "t"),
        ("clientId", "c"),
        ("clientSecret", "s"),
        ("authorityHost", authority.as_str()),
    ];
    let by_certificate = [
        ("tenantId", "t"),
        ("clientId", "c"),
        ("clientCertificate", KEY),
        ("authorityHost", authority.as_str()),
    ];
    for (secret, proof) in [(by_secret, "client_secret=s"), (by_certificate, "client_assertion=ey")]
    {
        let mut address = address(&store, BucketHost::Azure, &secret);
        address.identity = Some(controllers(&[]));
        store.change(|state| (state.bearers.clear(), state.forms.clear()));
        let found = read(&network(), &address, &query()).await.expect("an answer");
        assert_eq!(found.index.len(), 2);
        let (bearers, forms) = store.change(|state| (state.bearers.clone(), state.forms.clone()));
        assert!(bearers.iter().all(|bearer| bearer == "Bearer application"), "{bearers:?}");
        assert!(forms.len() == 1 && forms[0].contains(proof), "once: {forms:?}");
    }
}

#[tokio::test]
async fn artifacts_are_kept_in_a_bucket_of_the_environment() {
    let store = BucketStore::start(&[]).await;
    let put = "PUT /things/flux/gitrepository/apps/web/a";
    store.change(|state| {
        state.keys.insert("id".to_owned(), "secret".to_owned());
        state.others.insert(put.to_owned(), String::new());
    });
    let environment = [
        ("AWS_ENDPOINT_URL", format!("http://{}", store.address)),
        ("AWS_ALLOW_HTTP", "true".to_owned()),
        ("AWS_REGION", "eu-1".to_owned()),
        ("AWS_ACCESS_KEY_ID", "id".to_owned()),
        ("AWS_SECRET_ACCESS_KEY", "secret".to_owned()),
    ];
    let environment = environment.map(|(name, value)| (name.to_owned(), value)).into();
    let clock = Arc::new(Frozen(jiff::Timestamp::UNIX_EPOCH));
    let address = format!("s3://{BUCKET}/flux");
    let remote = RemoteStore::at(&address, &Network::new(), &environment, clock);
    let remote = remote.expect("an address");
    let place = ArtifactPath::new("GitRepository", "apps", "web", "a").expect("plain names");
    let stored = remote.put(&place, "content".into()).await.expect("stored");
    assert!(stored.written);
    let asked = store.asked();
    assert!(asked.iter().any(|line| line.starts_with(put)), "{asked:?}");
    let missing = remote.open(&place.path()).await.expect_err("the store forgets");
    assert!(matches!(missing, StoreError::Missing(_)), "signed, and not there: {missing}");
}
