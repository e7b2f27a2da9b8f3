//! A token server that verifies credentials, and a vault that verifies tokens.

use http::{Request, Response};
use serde_json::json;
use sluice_base::redacted::Redacted;
use sluice_cloud::{Answer, Asking, Environment, Http};

use super::{AzureKey, azure_credentials, decoded};
use crate::testing::{at_once, is_signed_by_client};

const SCOPE: &str = "https://vault.azure.net/.default";

struct Azure;

impl Http for Azure {
    fn send(&self, request: Request<Vec<u8>>) -> Answer<'_> {
        let body = String::from_utf8_lossy(request.body()).into_owned();
        let refused = json!({"error": "invalid_client", "error_description": "AADSTS7000215"});
        let url = request.uri().to_string();
        let is_right = body.contains("scope=https%3A%2F%2Fvault.azure.net%2F.default")
            && body.contains("client_id=c&");
        let (status, answer) = match url.as_str() {
            "https://login.microsoftonline.com/t/oauth2/v2.0/token" if is_right => {
                let statement = body.split("client_assertion=").nth(1);
                let statement =
                    statement.and_then(|rest| rest.split('&').next()).unwrap_or_default();
                let claims = is_signed_by_client(statement);
                let is_proved = body.contains("client_secret=s")
                    || claims.is_some_and(|claims| claims["aud"] == url && claims["sub"] == "c");
                if is_proved { (200, json!({"access_token": "right"})) } else { (401, refused) }
            }
            "https://v.vault.azure.net/keys/k/1/decrypt?api-version=7.4"
                if request.headers()["authorization"] == "Bearer right" =>
            {
                assert_eq!(body, r#"{"alg":"RSA-OAEP-256","value":"c2VhbGVk"}"#);
                (200, json!({"value": "a2V5"}))
            }
            _ => (403, json!({"error": {"code": "Forbidden", "message": "no access"}})),
        };
        let response = Response::builder().status(status).body(answer.to_string().into_bytes());
        Box::pin(std::future::ready(Ok(response.expect("the status is one"))))
    }
}

fn token(credentials: &str) -> Result<Redacted<String>, String> {
    let credentials = azure_credentials(credentials.as_bytes())?;
    let now = "2026-01-01T00:00:00Z".parse().expect("a moment");
    let environment = Environment::default();
    let asking = Asking { http: &Azure, environment: &environment, now };
    Ok(at_once(credentials.token(&asking, SCOPE))?.value)
}

fn decrypt(token: &str, vault_url: &str) -> Result<Vec<u8>, String> {
    let key = AzureKey { vault_url, name: "k", version: "1", enc: "c2VhbGVk" };
    assert_eq!(key.scope(), Ok(SCOPE.to_owned()));
    at_once(key.decrypt(&Redacted::new(token.to_owned()), &Azure)).map(Redacted::into_exposed)
}

#[test]
fn every_form_of_credentials_gives_a_token() {
    let pem = include_str!("../../../tests/goldens/keys/client.pem");
    let certificate = json!({"tenantId": "t", "clientId": "c", "clientCertificate": pem, "clientCertificateSendChain": true});
    for credentials in [
        "{tenantId: t, clientId: c, clientSecret: s}",
        "{tenant: t, appId: c, password: s}",
        &certificate.to_string(),
    ] {
        let token = token(credentials).expect(credentials);
        assert_eq!(decrypt(token.expose(), "https://v.vault.azure.net/"), Ok(b"key".to_vec()));
    }
}

#[test]
fn errors_are_reported() {
    let error = token("{tenantId: t, clientId: c, clientSecret: hunter2}").expect_err("wrong");
    assert!(
        error.contains("invalid_client: AADSTS7000215") && !error.contains("hunter2"),
        "{error}"
    );
    let error = token("clientId: m").expect_err("the machine's");
    assert_eq!(error, "'m' is an identity of the machine");
    let error = token("{}").expect_err("nothing");
    assert!(
        error.starts_with("invalid data: requires a 'clientId' field, a combination of"),
        "{error}"
    );
    let error = decrypt("wrong", "https://v.vault.azure.net").expect_err("no access");
    assert!(error.starts_with("failed to decrypt sops data key with Azure Key Vault key 'https://v.vault.azure.net/keys/k/1': POST https://v.vault"), "{error}");
    assert!(error.ends_with("403 Forbidden: ERROR CODE: Forbidden: no access"), "{error}");
}

#[test]
fn a_strangers_host_gets_no_token_for_vaults() {
    for (vault_url, scope) in [
        ("https://v.vault.azure.net", Some(SCOPE)),
        ("https://v.vault.azure.cn/", Some("https://vault.azure.cn/.default")),
        ("https://vault.evil.test", Some("https://evil.test/.default")),
        ("http://v.vault.azure.net", None),
        ("https://localhost", None),
        ("", None),
    ] {
        let key = AzureKey { vault_url, name: "k", version: "1", enc: "" };
        assert_eq!(key.scope().ok().as_deref(), scope, "{vault_url}");
    }
}

#[test]
fn marks_of_encodings_are_understood() {
    let little = [0xff, 0xfe, b'a', 0, b'b', 0];
    let big = [0xfe, 0xff, 0, b'a', 0, b'b'];
    let marked = [0xef, 0xbb, 0xbf, b'a', b'b'];
    for bytes in [&little[..], &big, &marked, b"ab"] {
        assert_eq!(decoded(bytes), "ab");
    }
}
