//! Logins of clouds for their registries, against token servers that are made up here.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use base64::Engine as _;
use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD};
use bytes::Bytes;
use futures::future::BoxFuture;
use http::{Request, Response, StatusCode};
use jiff::{SignedDuration, Timestamp};
use serde_json::json;
use sluice_source::http::{HttpClients, HttpOptions};
use sluice_source::oci::{CloudEnvironment, Clouds, NetworkWire, Wire, WireError};
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

impl Wire for Servers {
    fn send<'a>(
        &'a self,
        _: &'a HttpOptions,
        request: Request<Bytes>,
        _: u64,
    ) -> BoxFuture<'a, Result<Response<Bytes>, WireError>> {
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
        let mut response =
            Response::new(Bytes::from(found.map(|it| it.1.clone()).unwrap_or_default()));
        if found.is_none() {
            *response.status_mut() = StatusCode::FORBIDDEN;
        }
        Box::pin(async move { Ok(response) })
    }
}

fn environment(variables: &[(&str, &str)]) -> CloudEnvironment {
    let variables = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    let read = |path: &str| match path {
        "/token" => Ok("a-token\n".to_owned()),
        _ => Err(std::io::ErrorKind::NotFound.into()),
    };
    CloudEnvironment { variables: variables.collect(), read: Arc::new(read) }
}

fn now() -> Timestamp {
    Timestamp::from_second(1_767_225_600).expect("a moment")
}

async fn log_in(
    servers: &Servers,
    environment: CloudEnvironment,
    provider: &str,
    url: &str,
) -> Result<(String, String), String> {
    let clouds = Clouds::new(Arc::new(servers.clone()), environment);
    let login = clouds.log_in(provider, url, None, now()).await;
    login.map(|it| (it.username, it.password)).map_err(|error| error.to_string())
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
async fn amazon_takes_keys_from_everywhere_its_libraries_look() {
    let keys =
        json!({"AccessKeyId": "AKID", "SecretAccessKey": "SECRET", "Token": "SESSION"}).to_string();
    let role = "<AssumeRoleWithWebIdentityResponse><Credentials><AccessKeyId>AKID</AccessKeyId><SecretAccessKey>SECRET</SecretAccessKey><SessionToken>SESSION</SessionToken></Credentials></AssumeRoleWithWebIdentityResponse>";
    let servers = Servers::new(&[
        ("https://api.ecr.eu-west-1.amazonaws.com/", ecr_answer()),
        ("https://sts.eu-west-1.amazonaws.com/", role.to_owned()),
        ("http://169.254.170.23/v1/credentials", keys.clone()),
        ("http://169.254.169.254/latest/api/token", "machine-token".to_owned()),
        (
            "http://169.254.169.254/latest/meta-data/iam/security-credentials/",
            "node-role\n".to_owned(),
        ),
        ("http://169.254.169.254/latest/meta-data/iam/security-credentials/node-role", keys),
    ]);
    let variables: [(&[(&str, &str)], &str); 4] = [
        (
            &[
                ("AWS_ACCESS_KEY_ID", "AKID"),
                ("AWS_SECRET_ACCESS_KEY", "SECRET"),
                ("AWS_SESSION_TOKEN", "SESSION"),
            ],
            "",
        ),
        (
            &[("AWS_ROLE_ARN", "arn:aws:iam::1:role/x"), ("AWS_WEB_IDENTITY_TOKEN_FILE", "/token")],
            "RoleArn=arn%3Aaws%3Aiam%3A%3A1%3Arole%2Fx&RoleSessionName=sluice&WebIdentityToken=a-token",
        ),
        (
            &[
                ("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://169.254.170.23/v1/credentials"),
                ("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", "/token"),
            ],
            "authorization=a-token",
        ),
        (&[], "x-aws-ec2-metadata-token=machine-token"),
    ];
    for (variables, trace) in variables {
        let login = log_in(&servers, environment(variables), "aws", ECR).await;
        assert_eq!(login, Ok(both("AWS", "secret")), "{variables:?}");
        let asked = servers.asked();
        assert!(asked.iter().any(|line| line.contains(trace)), "{asked:?}");
        let last = asked.last().expect("asked");
        assert!(
            last.contains(
                "x-amz-target=AmazonEC2ContainerRegistry_V20150921.GetAuthorizationToken"
            ),
            "{last}"
        );
        // Computed apart from this code, by the rules of Signature Version 4.
        assert!(last.contains(SIGNED), "{last}");
    }
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
    let login = log_in(&servers, keys, "aws", "oci://public.ecr.aws/org/app").await;
    assert_eq!(login, Ok(both("AWS", "public")));
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
        let login =
            log_in(&servers, environment(variables), "azure", "oci://reg.azurecr.io/app").await;
        assert_eq!(login, Ok(both("00000000-0000-0000-0000-000000000000", &refresh)));
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
        "http://metadata.google.internal/computeMetadata/v1/instance/service-accounts/default/token",
        answer,
    )]);
    let clouds = Clouds::new(Arc::new(servers.clone()), environment(&[]));
    let url = "oci://europe-docker.pkg.dev/project/repo/app";
    for (minutes, questions) in [(0, 1), (30, 0), (59, 1)] {
        let at = now() + SignedDuration::from_mins(minutes);
        let login = clouds.log_in("gcp", url, None, at).await.expect("a login");
        assert_eq!(
            (login.username.as_str(), login.password.as_str()),
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
            "failed to get access token for artifact registry: failed to create provider access token for the controller: GET http://metadata.google.internal/",
        ),
        (
            "aws",
            ECR,
            "failed to get access token for artifact registry: failed to create provider access token for the controller: PUT http://169.254.169.254/latest/api/token: 403 Forbidden",
        ),
    ] {
        let error = log_in(&servers, environment(&[]), provider, url).await.expect_err("no login");
        assert!(error.starts_with(expected), "{error}");
    }
    let keys = environment(&[("AWS_ACCESS_KEY_ID", "AKID"), ("AWS_SECRET_ACCESS_KEY", "SECRET")]);
    let error = log_in(&servers, keys, "aws", ECR).await.expect_err("no login");
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
    let wire = Arc::new(NetworkWire::new(HttpClients::new()));
    let login = Clouds::new(wire, environment).log_in("aws", ECR, None, now()).await;
    assert_eq!(login.expect("a login").password, "secret");
    let request = serving.await.expect("served").to_lowercase();
    assert!(request.contains(&format!("host: {address}")), "{request}");
}
