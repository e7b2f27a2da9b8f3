//! A token server that verifies assertions, and a key management service that verifies tokens.

use http::{Request, Response};
use serde_json::json;
use sluice_base::redacted::Redacted;
use sluice_cloud::gcp::GcpCredentials;
use sluice_cloud::{Answer, Asking, Environment, Http};

use super::{GcpKey, SCOPES};
use crate::testing::{at_once, is_signed_by_client};

const KEY: &str = "projects/p/locations/global/keyRings/r/cryptoKeys/k";

struct Google;

impl Http for Google {
    fn send(&self, request: Request<Vec<u8>>) -> Answer<'_> {
        let body = String::from_utf8_lossy(request.body()).into_owned();
        let (status, answer) = match request.uri().to_string().as_str() {
            "https://token.test/" => {
                let statement =
                    body.rsplit_once("assertion=").map_or("", |(_, statement)| statement);
                let claims = is_signed_by_client(statement).expect("the statement is signed");
                assert_eq!(claims["iss"], "sops@p.iam");
                assert_eq!(claims["aud"], "https://token.test/");
                (200, json!({"access_token": "right"}))
            }
            "https://oauth2.googleapis.com/token" => (
                400,
                json!({"error": "invalid_grant", "error_description": "Token has been revoked."}),
            ),
            url if request.headers()["authorization"] == "Bearer right" => {
                assert_eq!(url, format!("https://cloudkms.googleapis.com/v1/{KEY}:decrypt"));
                assert_eq!(body, r#"{"ciphertext":"c2VhbGVk"}"#);
                (200, json!({"plaintext": "a2V5"}))
            }
            _ => (
                403,
                json!({"error": {"code": 403, "status": "PERMISSION_DENIED", "message": "no access"}}),
            ),
        };
        let response = Response::builder().status(status).body(answer.to_string().into_bytes());
        Box::pin(std::future::ready(Ok(response.expect("the status is one"))))
    }
}

fn token(credentials: &GcpCredentials) -> Result<Redacted<String>, String> {
    let now = "2026-01-01T00:00:00Z".parse().expect("a moment");
    let environment = Environment::default();
    let asking = Asking { http: &Google, environment: &environment, now };
    Ok(at_once(credentials.token(&asking, &SCOPES))?.value)
}

fn decrypt(token: &str, resource_id: &str) -> Result<Vec<u8>, String> {
    let key = GcpKey { resource_id, enc: "c2VhbGVk" };
    at_once(key.decrypt(&Redacted::new(token.to_owned()), &Google)).map(Redacted::into_exposed)
}

#[test]
fn a_service_account_proves_itself_by_its_key() {
    let text = json!({"type": "service_account", "client_email": "sops@p.iam", "private_key_id": "1",
        "private_key": include_str!("../../../tests/goldens/keys/client.pem"), "token_uri": "https://token.test/"});
    let credentials = GcpCredentials::read(text.to_string().as_bytes()).expect("credentials");
    let token = token(&credentials).expect("a token");
    assert_eq!(decrypt(token.expose(), KEY), Ok(b"key".to_vec()));
}

#[test]
fn errors_contain_no_secrets() {
    let user = br#"{"type": "authorized_user", "client_id": "a", "client_secret": "hunter2", "refresh_token": "hunter2"}"#;
    let user = GcpCredentials::read(user).expect("credentials");
    let error = token(&user).expect_err("it was revoked");
    assert!(error.contains("invalid_grant: Token has been revoked.") && !error.contains("hunter2"));
    assert_eq!(
        decrypt("wrong", KEY).expect_err("no access"),
        "failed to decrypt sops data key with GCP KMS key: rpc error: code = PermissionDenied desc = no access"
    );
    for wrong in ["", "projects/p", &format!("{KEY}/../x"), &format!("{KEY}?x"), "a/b/c/d/e/f/g/h"]
    {
        let error = decrypt("right", wrong).expect_err(wrong);
        assert!(error.contains("no valid resource ID found in"), "{error}");
    }
    for (text, problem) in [
        ("{}", "missing 'type' field in credentials"),
        (r#"{"type": "x"}"#, "unknown credential type: \"x\""),
        ("{", "invalid JSON at line 1"),
        (r#"{"type": "service_account"}"#, "private key should be a PEM or plain PKCS1 or PKCS8"),
    ] {
        assert_eq!(
            GcpCredentials::read(text.as_bytes()).err().map(|error| error.0).as_deref(),
            Some(problem)
        );
    }
}
