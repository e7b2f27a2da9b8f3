//! Credentials that a provider makes, against an API on the loopback.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::process::Command;
use std::sync::{Arc, Mutex};

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use jiff::Timestamp;
use ring::signature::{KeyPair as _, RSA_PKCS1_2048_8192_SHA256, RsaKeyPair, UnparsedPublicKey};
use rustls::pki_types::PrivateKeyDer;
use rustls::pki_types::pem::PemObject as _;
use sluice_source::git::GitHubApp;
use sluice_source::http::HttpOptions;
use sluice_source::network::{Network, Purpose};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

/// Answers by path, and keeps the requests.
async fn api(
    answers: &'static [(&'static str, &'static str)],
) -> (SocketAddr, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a loopback port");
    let address = listener.local_addr().expect("an address");
    let asked: Arc<Mutex<Vec<String>>> = Arc::default();
    let log = Arc::clone(&asked);
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut buffer = vec![0; 16384];
            let length = stream.read(&mut buffer).await.unwrap_or_default();
            let text = String::from_utf8_lossy(&buffer[..length]).into_owned();
            let line = text.lines().next().unwrap_or_default().to_owned();
            log.lock().expect("not poisoned").push(text);
            let known = answers.iter().find(|(start, _)| line.starts_with(start));
            let (status, body) =
                known.map_or((404, r#"{"message":"Not Found"}"#), |(_, body)| (201, *body));
            let length = body.len();
            let head = format!(
                "HTTP/1.1 {status} x\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n"
            );
            let _ = stream.write_all(format!("{head}{body}").as_bytes()).await;
        }
    });
    (address, asked)
}

/// An RSA key in GitHub's format; `None` without ssh-keygen.
fn rsa_key() -> Option<String> {
    if !sluice_testkit::programs::need(&["ssh-keygen"]) {
        return None;
    }
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("key");
    let made = Command::new("ssh-keygen")
        .args(["-q", "-t", "rsa", "-b", "2048", "-m", "PEM", "-N", "", "-f"])
        .arg(&path)
        .status();
    made.is_ok_and(|status| status.success()).then(|| std::fs::read_to_string(path).expect("a key"))
}

fn secret(fields: &[(&str, &str)]) -> BTreeMap<String, Vec<u8>> {
    fields.iter().map(|(key, value)| ((*key).to_owned(), value.as_bytes().to_vec())).collect()
}

#[tokio::test]
async fn an_app_proves_itself_and_gets_a_token() {
    let Some(key) = rsa_key() else { return };
    let token = r#"{"token":"ghs_x","expires_at":"2026-01-02T03:04:05Z"}"#;
    let answers: &'static [(&str, &str)] = Box::leak(Box::new([
        ("GET /base/users/me/installation ", r#"{"id":42}"#),
        ("POST /base/app/installations/42/access_tokens ", token),
    ]));
    let (address, asked) = api(answers).await;
    let base = format!("http://{address}/base");
    let fields = [
        ("githubAppID", "7"),
        ("githubAppInstallationOwner", "me"),
        ("githubAppPrivateKey", &key),
        ("githubAppBaseURL", &base),
    ];
    let app = GitHubApp::from_secret(&secret(&fields)).expect("an app");
    let client = Network::new().client(Purpose::Spec, &HttpOptions::default()).expect("a client");
    let now = Timestamp::from_second(1_700_000_000).expect("a moment");
    let token = app.token(&client, now).await.expect("a token");
    assert_eq!(
        (token.token.expose().as_str(), token.expires.as_second()),
        ("ghs_x", 1_767_323_045)
    );
    let asked = asked.lock().expect("not poisoned").clone();
    assert_eq!(asked.len(), 3, "an organization is looked for first: {asked:?}");
    let proof = asked[2].lines().find_map(|line| line.strip_prefix("authorization: Bearer "));
    let proof = proof.expect("a proof").trim();
    let (statement, signature) = proof.rsplit_once('.').expect("a signature");
    let PrivateKeyDer::Pkcs1(der) = PrivateKeyDer::from_pem_slice(key.as_bytes()).expect("a key")
    else {
        panic!("not PKCS#1")
    };
    let pair = RsaKeyPair::from_der(der.secret_pkcs1_der()).expect("a key");
    let public = UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, pair.public_key().as_ref());
    let signature = BASE64_URL_SAFE_NO_PAD.decode(signature).expect("base64");
    public.verify(statement.as_bytes(), &signature).expect("signed by the app");
    let claims = BASE64_URL_SAFE_NO_PAD.decode(statement.split('.').nth(1).expect("claims"));
    let claims = String::from_utf8(claims.expect("base64")).expect("text");
    assert_eq!(claims, r#"{"exp":1700000090,"iat":1699999970,"iss":"7"}"#);
}

#[tokio::test]
async fn what_is_missing_or_refused_is_said() {
    let Some(key) = rsa_key() else { return };
    let good = [
        ("githubAppID", "7"),
        ("githubAppInstallationID", "1"),
        ("githubAppPrivateKey", key.as_str()),
    ];
    let suffix = "must be provided to use github app authentication";
    let cases = [
        (0, format!("app ID {suffix}")),
        (1, format!("app installation owner or ID {suffix}")),
        (2, format!("private key {suffix}")),
    ];
    for (left_out, message) in cases {
        let mut fields = good.to_vec();
        fields.remove(left_out);
        let error = GitHubApp::from_secret(&secret(&fields)).err().expect("incomplete");
        assert_eq!(error.to_string(), message);
    }
    let both = [&good[..], &[("githubAppInstallationOwner", "me")]].concat();
    let error = GitHubApp::from_secret(&secret(&both)).err().expect("ambiguous");
    assert!(error.to_string().starts_with("only one of"), "{error}");
    let (address, _) = api(&[]).await;
    let base = format!("http://{address}");
    let fields = [&good[..], &[("githubAppBaseURL", base.as_str())]].concat();
    let app = GitHubApp::from_secret(&secret(&fields)).expect("an app");
    let client = Network::new().client(Purpose::Spec, &HttpOptions::default()).expect("a client");
    let error = app.token(&client, Timestamp::UNIX_EPOCH).await.expect_err("refused").to_string();
    assert_eq!(error, format!("POST {base}/app/installations/1/access_tokens: 404 Not Found"));
}
