//! Logins of clouds for their registries, against token servers that are made up here.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use base64::Engine as _;
use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD};
use http::{Request, Response};
use jiff::{SignedDuration, Timestamp};
use serde_json::json;
use sluice_base::clock::{Clock, Frozen};
use sluice_cloud::{Answer, CacheLimits, Clouds, CloudsParts, Environment, Http, NoAccounts};
use sluice_source::http::Web;
use sluice_source::network::{Network, Purpose};
use sluice_source::oci::log_in;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

const ECR: &str = "oci://123456789012.dkr.ecr.eu-west-1.amazonaws.com/app";

/// Token servers by the beginning of their addresses; what was asked is remembered.
#[derive(Clone, Default)]
struct Servers {
    answers: Arc<BTreeMap<&'static str, String>>,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Servers {
    fn new(answers: &[(&'static str, String)]) -> Self {
        Self { answers: Arc::new(answers.iter().cloned().collect()), asked: Arc::default() }
    }

    fn asked(&self) -> Vec<String> {
        std::mem::take(&mut self.asked.lock().expect("no panic before"))
    }
}

impl Http for Servers {
    fn send(&self, request: Request<Vec<u8>>) -> Answer<'_> {
        let url = request.uri().to_string();
        let body = String::from_utf8_lossy(request.body()).into_owned();
        let mut headers: Vec<String> = request
            .headers()
            .iter()
            .map(|(name, value)| format!("{name}={}", value.to_str().unwrap_or_default()))
            .collect();
        headers.sort();
        let line = format!("{} {url} {body} {}", request.method(), headers.join(" "));
        self.asked.lock().expect("no panic before").push(line);
        let found = self.answers.iter().rev().find(|(start, _)| url.starts_with(*start));
        let status = if found.is_some() { 200 } else { 403 };
        let body = found.map(|it| it.1.clone()).unwrap_or_default().into_bytes();
        let response = Response::builder().status(status).body(body).expect("the status is one");
        Box::pin(std::future::ready(Ok(response)))
    }
}

fn environment(variables: &[(&str, &str)]) -> Environment {
    let variables = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    let read = |path: &str| match path {
        "/token" => Ok("a-token\n".to_owned()),
        _ => Err(std::io::ErrorKind::NotFound.into()),
    };
    Environment { variables: variables.collect(), read: Arc::new(read) }
}

fn clouds(http: Arc<dyn Http>, environment: Environment, clock: Arc<dyn Clock>) -> Clouds {
    let limits = CacheLimits::default();
    let accounts = Arc::new(NoAccounts);
    Clouds::new(CloudsParts {
        environment,
        http,
        accounts,
        clock,
        limits,
        allows_accounts: false,
        trusted_hosts: Vec::new(),
    })
}

/// A settable clock.
#[derive(Clone)]
struct FixedClock(Arc<Mutex<Timestamp>>);

impl Clock for FixedClock {
    fn now(&self) -> Timestamp {
        *self.0.lock().expect("no panic before")
    }
}

fn now() -> Timestamp {
    Timestamp::from_second(1_767_225_600).expect("a moment")
}

async fn login(
    servers: &Servers,
    environment: Environment,
    provider: &str,
    url: &str,
) -> Result<(String, String), String> {
    let clouds = clouds(Arc::new(servers.clone()), environment, Arc::new(Frozen(now())));
    let login = log_in(&clouds.controller(), provider, url).await;
    login
        .map(|it| (it.username.clone(), it.password.into_exposed()))
        .map_err(|error| error.to_string())
}

fn both(username: &str, password: &str) -> (String, String) {
    (username.to_owned(), password.to_owned())
}

fn ecr_answer() -> String {
    let token = BASE64_STANDARD.encode("AWS:secret");
    json!({"authorizationData": [{"authorizationToken": token, "expiresAt": 1_767_268_800.5}]})
        .to_string()
}

#[tokio::test]
async fn amazon_gives_a_password_for_a_signed_question() {
    let servers = Servers::new(&[("https://api.ecr.eu-west-1.amazonaws.com/", ecr_answer())]);
    let variables = [
        ("AWS_ACCESS_KEY_ID", "AKID"),
        ("AWS_SECRET_ACCESS_KEY", "SECRET"),
        ("AWS_SESSION_TOKEN", "SESSION"),
    ];
    let given = login(&servers, environment(&variables), "aws", ECR).await;
    assert_eq!(given, Ok(both("AWS", "secret")));
    let asked = servers.asked();
    let last = asked.last().expect("asked");
    let target = "x-amz-target=AmazonEC2ContainerRegistry_V20150921.GetAuthorizationToken";
    assert!(last.contains(target), "{last}");
    // Computed apart from this code, by the rules of Signature Version 4.
    assert!(last.contains(SIGNED), "{last}");
}

const SIGNED: &str = "authorization=AWS4-HMAC-SHA256 Credential=AKID/20260101/eu-west-1/ecr/aws4_request, SignedHeaders=content-type;host;x-amz-date;x-amz-security-token;x-amz-target, Signature=1dfa56c63e82ad07e3993b47d9caa919489174e9741eb53a3717ca29a5089578";

#[tokio::test]
async fn public_repositories_of_amazon_have_a_region_of_their_own() {
    let token = BASE64_STANDARD.encode("AWS:public");
    let answer =
        json!({"authorizationData": {"authorizationToken": token, "expiresAt": 1_767_268_800}});
    let servers =
        Servers::new(&[("https://api.ecr-public.us-east-1.amazonaws.com/", answer.to_string())]);
    let keys = environment(&[("AWS_ACCESS_KEY_ID", "AKID"), ("AWS_SECRET_ACCESS_KEY", "SECRET")]);
    let given = login(&servers, keys, "aws", "oci://public.ecr.aws/org/app").await;
    assert_eq!(given, Ok(both("AWS", "public")));
}

#[tokio::test]
async fn microsoft_exchanges_the_token_of_an_identity() {
    let claims = BASE64_URL_SAFE_NO_PAD.encode(json!({"exp": 1_767_268_800}).to_string());
    let refresh = format!("e30.{claims}.x");
    let access = json!({"access_token": "access"}).to_string();
    let servers = Servers::new(&[
        ("https://login.microsoftonline.com/tenant/oauth2/v2.0/token", access.clone()),
        ("http://169.254.169.254/metadata/identity/oauth2/token", access),
        ("https://reg.azurecr.io/oauth2/exchange", json!({"refresh_token": refresh}).to_string()),
    ]);
    let workload = [
        ("AZURE_CLIENT_ID", "client"),
        ("AZURE_TENANT_ID", "tenant"),
        ("AZURE_FEDERATED_TOKEN_FILE", "/token"),
    ];
    for (variables, trace) in
        [(&workload[..], "client_assertion=a-token"), (&[][..], "metadata=true")]
    {
        let given =
            login(&servers, environment(variables), "azure", "oci://reg.azurecr.io/app").await;
        assert_eq!(given, Ok(both("00000000-0000-0000-0000-000000000000", &refresh)));
        let asked = servers.asked();
        assert!(asked[0].contains(trace), "{asked:?}");
        assert!(
            asked[1].contains("grant_type=access_token&service=reg.azurecr.io&access_token=access"),
            "{asked:?}"
        );
    }
}

#[tokio::test]
async fn google_gives_a_token_of_the_machine_and_it_is_remembered() {
    let answer = json!({"access_token": "access", "expires_in": 3600}).to_string();
    let servers = Servers::new(&[(
        "http://169.254.169.254/computeMetadata/v1/instance/service-accounts/default/token",
        answer,
    )]);
    let told = FixedClock(Arc::new(Mutex::new(now())));
    let clouds = clouds(Arc::new(servers.clone()), environment(&[]), Arc::new(told.clone()));
    let url = "oci://europe-docker.pkg.dev/project/repo/app";
    // Four fifths of an hour are forty-eight minutes.
    for (minutes, questions) in [(0, 1), (47, 0), (48, 1)] {
        *told.0.lock().expect("no panic before") = now() + SignedDuration::from_mins(minutes);
        let login = log_in(&clouds.controller(), "gcp", url).await.expect("a login");
        assert_eq!(
            (login.username.as_str(), login.password.expose().as_str()),
            ("oauth2accesstoken", "access")
        );
        assert_eq!(servers.asked().len(), questions, "after {minutes} minutes");
    }
}

#[tokio::test]
async fn registries_of_others_and_servers_that_refuse_are_told() {
    let servers = Servers::default();
    for (provider, url, expected) in [
        ("aws", "oci://ghcr.io/app", "invalid AWS registry: 'ghcr.io'. must match ^([0-9]{12})"),
        (
            "azure",
            "oci://ghcr.io/app",
            "invalid Azure registry: 'ghcr.io'. must match ^.+\\.(azurecr",
        ),
        ("gcp", "oci://ghcr.io/app", "invalid GCP registry: 'ghcr.io'. must match ^(((.+\\.)?gcr"),
        (
            "gcp",
            "oci://gcr.io/app",
            "failed to get access token for artifact registry: failed to create provider access token for the controller: compute: Received 403 `",
        ),
        (
            "aws",
            ECR,
            "failed to get access token for artifact registry: failed to create provider access token for the controller: PUT http://169.254.169.254/latest/api/token: 403 Forbidden",
        ),
    ] {
        let error = login(&servers, environment(&[]), provider, url).await.expect_err("no login");
        assert!(error.starts_with(expected), "{error}");
    }
    let keys = environment(&[("AWS_ACCESS_KEY_ID", "AKID"), ("AWS_SECRET_ACCESS_KEY", "SECRET")]);
    let error = login(&servers, keys, "aws", ECR).await.expect_err("no login");
    assert!(error.starts_with("failed to create artifact registry credentials: POST https://api.ecr.eu-west-1.amazonaws.com/: 403"), "{error}");
}

#[tokio::test]
async fn token_servers_can_be_elsewhere() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let serving = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.expect("a connection");
        let mut buffer = vec![0; 4096];
        let read = stream.read(&mut buffer).await.expect("a request");
        let body = ecr_answer();
        let answer = format!(
            "HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(answer.as_bytes()).await.expect("an answer");
        String::from_utf8_lossy(&buffer[..read]).into_owned()
    });
    let endpoint = format!("http://{address}");
    let environment = environment(&[
        ("AWS_ACCESS_KEY_ID", "AKID"),
        ("AWS_SECRET_ACCESS_KEY", "SECRET"),
        ("AWS_ENDPOINT_URL_ECR", &endpoint),
    ]);
    let web = Arc::new(Web::new(&Network::new(), Purpose::Cloud).expect("a client"));
    let clouds = clouds(web, environment, Arc::new(Frozen(now())));
    let login = log_in(&clouds.controller(), "aws", ECR).await;
    assert_eq!(login.expect("a login").password.expose(), "secret");
    let request = serving.await.expect("served").to_lowercase();
    assert!(request.contains(&format!("host: {address}")), "{request}");
}

/// What only ends like the name of a cloud's registry is shown no token.
#[tokio::test]
async fn registries_that_end_like_a_clouds_are_shown_nothing() {
    for (provider, end) in [("azure", "x.azurecr.io"), ("gcp", "eu.gcr.io")] {
        for sign in ["?", "#", "\\", "?a=", "#@", ":443?", "%2f", "@", ";"] {
            let servers = Servers::new(&[(
                "http://169.254.169.254/",
                json!({"access_token": "t", "expires_in": 60}).to_string(),
            )]);
            let url = format!("oci://evil.test{sign}{end}/org/app");
            let given = login(&servers, environment(&[]), provider, &url).await;
            assert!(given.is_err(), "{url}: {given:?}");
            let asked = servers.asked();
            assert!(asked.iter().all(|line| !line.contains("evil.test")), "{url}: {asked:?}");
        }
    }
}
