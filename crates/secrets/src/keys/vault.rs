//! The transit engine of HashiCorp Vault and OpenBao.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::Request;
use serde_json::{Value as Json, json};
use sluice_base::redacted::Redacted;
use sluice_cloud::Http;

use crate::cipher::DataKey;

/// Exchanges a service account token for a Vault token; `login_path` is that of any JWT or Kubernetes auth method.
pub async fn vault_token(
    address: &str,
    login_path: &str,
    role: &str,
    cluster_token: &str,
    http: &dyn Http,
) -> Result<Redacted<String>, String> {
    let url = format!("{}/v1/{}", address.trim_end_matches('/'), login_path.trim_matches('/'));
    let request = Request::put(&url)
        .header("X-Vault-Request", "true")
        .header("Content-Type", "application/json")
        .body(json!({"role": role, "jwt": cluster_token}).to_string().into_bytes())
        .map_err(|_| format!("failed to create Vault client for '{address}'"))?;
    let response = http.send(request).await.and_then(|response| refused(&url, &response));
    let body = response.map_err(|problem| {
        format!(
            "failed to authenticate with Vault '{address}' at login path '{login_path}' as role '{role}': {problem}"
        )
    })?;
    let token = body.pointer("/auth/client_token").and_then(Json::as_str);
    token.filter(|token| !token.is_empty()).map(|token| Redacted::new(token.to_owned())).ok_or_else(
        || {
            format!(
                "Vault '{address}' returned no token for login at '{login_path}' as role '{role}'"
            )
        },
    )
}

/// The JSON of a successful response; otherwise an error with the message of Vault's client.
fn refused(url: &str, response: &http::Response<Vec<u8>>) -> Result<Json, String> {
    let body: Json = serde_json::from_slice(response.body()).unwrap_or_default();
    if response.status().is_success() {
        return Ok(body);
    }
    let errors = body.get("errors").and_then(Json::as_array).into_iter().flatten();
    let errors: Vec<String> =
        errors.filter_map(Json::as_str).map(|error| format!("* {error}")).collect();
    Err(format!(
        "Error making API request.\n\nURL: PUT {url}\nCode: {}. Errors:\n\n{}",
        response.status().as_u16(),
        errors.join("\n")
    ))
}

/// A key of the transit engine with the encrypted data key.
pub(crate) struct VaultKey<'k> {
    pub(crate) address: &'k str,
    pub(crate) engine_path: &'k str,
    pub(crate) key_name: &'k str,
    pub(crate) enc: &'k str,
}

impl VaultKey<'_> {
    /// Decrypts with the server that the key names, with a token for it.
    pub(crate) async fn decrypt(
        &self,
        token: &Redacted<String>,
        http: &dyn Http,
    ) -> Result<DataKey, String> {
        let path = format!("{}/decrypt/{}", self.engine_path.trim_matches('/'), self.key_name);
        let answer = match escaped(&path) {
            Some(escaped) => self.ask(&escaped, token, http).await,
            None => Err("it is no path of an engine".to_owned()),
        };
        answer.map_err(|problem| {
            let what = "failed to decrypt sops data key from Vault transit backend";
            format!("{what} '{path}': {problem}")
        })
    }

    async fn ask(
        &self,
        path: &str,
        token: &Redacted<String>,
        http: &dyn Http,
    ) -> Result<DataKey, String> {
        let url = format!("{}/v1/{path}", self.address.trim_end_matches('/'));
        let request = Request::put(&url)
            .header("X-Vault-Token", token.expose())
            .header("X-Vault-Request", "true")
            .header("Content-Type", "application/json")
            .body(json!({ "ciphertext": self.enc }).to_string().into_bytes())
            .map_err(|_| "the address or the token is malformed".to_owned())?;
        let body = http.send(request).await.and_then(|response| refused(&url, &response))?;
        let data = body.get("data").filter(|data| data.is_object());
        let data = data.ok_or("transit backend is empty")?;
        let plain = data.get("plaintext").ok_or("no decrypted data")?;
        let plain = plain.as_str().ok_or("decrypted plaintext data cannot be cast to string")?;
        let plain = STANDARD.decode(plain);
        plain
            .map(Redacted::new)
            .map_err(|_| "cannot decode base64 plaintext into data key bytes".to_owned())
    }
}

/// Encodes a path for a URL. A document must not direct the token to another API of Vault: `..` and empty segments are
/// rejected, and everything that ends a path is escaped.
fn escaped(path: &str) -> Option<String> {
    let parts: Vec<&str> = path.split('/').collect();
    // A percent sign could be decoded twice on the way.
    let is_step = |part: &&str| matches!(*part, "" | "." | "..") || part.contains('%');
    let encode = |part: &&str| sluice_cloud::encoded(part);
    (!parts.iter().any(is_step)).then(|| parts.iter().map(encode).collect::<Vec<_>>().join("/"))
}

#[cfg(test)]
mod tests {
    use http::{Request, Response};
    use sluice_base::redacted::Redacted;
    use sluice_cloud::{Answer, Http};

    use super::{VaultKey, vault_token};
    use crate::testing::at_once;

    /// A server with one key, like Vault.
    struct Server;

    impl Http for Server {
        fn send(&self, request: Request<Vec<u8>>) -> Answer<'_> {
            let answer = |status: u16, body: &str| -> Answer<'_> {
                let response = Response::builder().status(status).body(body.as_bytes().to_vec());
                Box::pin(std::future::ready(Ok(response.expect("the status is one"))))
            };
            assert_eq!(request.method(), "PUT");
            if request.uri().path() == "/v1/auth/kubernetes/login" {
                return match request.body().as_slice() {
                    br#"{"jwt":"cluster","role":"apps_sops"}"# => {
                        answer(200, r#"{"auth":{"client_token":"right"}}"#)
                    }
                    _ => answer(403, r#"{"errors":["invalid role name"]}"#),
                };
            }
            if request.headers().get("X-Vault-Token").is_none_or(|token| token != "right") {
                return answer(403, r#"{"errors":["permission denied"]}"#);
            }
            match (request.uri().to_string().as_str(), request.body().as_slice()) {
                (
                    "http://127.0.0.1:8200/v1/sops/decrypt/first",
                    br#"{"ciphertext":"vault:v1:x"}"#,
                ) => answer(200, r#"{"data":{"plaintext":"a2V5"}}"#),
                (_, br#"{"ciphertext":"empty"}"#) => answer(200, "{}"),
                (_, br#"{"ciphertext":"garbage"}"#) => answer(200, r#"{"data":{"plaintext":"!"}}"#),
                _ => answer(400, r#"{"errors":["encryption key not found"]}"#),
            }
        }
    }

    fn ask(token: &str, enc: &str) -> Result<Vec<u8>, String> {
        let key = VaultKey {
            address: "http://127.0.0.1:8200/",
            engine_path: "/sops/",
            key_name: "first",
            enc,
        };
        let token = Redacted::new(token.to_owned());
        at_once(key.decrypt(&token, &Server)).map(Redacted::into_exposed)
    }

    #[test]
    fn the_engine_decrypts_with_the_right_token() {
        assert_eq!(ask("right", "vault:v1:x"), Ok(b"key".to_vec()));
    }

    /// The engine and the key that a document names cannot lead to another API of Vault.
    #[test]
    fn only_the_engine_is_asked() {
        struct Log(std::sync::Mutex<Vec<String>>);
        impl Http for Log {
            fn send(&self, request: Request<Vec<u8>>) -> Answer<'_> {
                self.0.lock().expect("no panic before").push(request.uri().to_string());
                Box::pin(std::future::ready(Ok(Response::new(b"{}".to_vec()))))
            }
        }
        for (engine_path, key_name) in [
            ("sys/seal?", "k"),
            ("auth/token/create#", "k"),
            ("sops/../sys", "k"),
            ("sops", "../../../sys/seal"),
            ("sops", "k?x=y"),
            ("sops//x", "k"),
            (".", "k"),
            ("a%2f..%2fsys", "k"),
        ] {
            let log = Log(std::sync::Mutex::default());
            let key = VaultKey { address: "https://vault.test", engine_path, key_name, enc: "x" };
            let token = Redacted::new("t".to_owned());
            at_once(key.decrypt(&token, &log)).expect_err("nothing is given");
            for asked in log.0.lock().expect("no panic before").iter() {
                let path = asked.strip_prefix("https://vault.test/v1/").expect("the Vault");
                assert!(path.contains("/decrypt/") && !path.contains(['?', '#']), "{asked}");
                assert!(!path.contains(".."), "{asked}");
            }
        }
    }

    #[test]
    fn errors_do_not_contain_the_token() {
        for (token, enc, problem) in [
            ("wrong", "vault:v1:x", "Code: 403. Errors:\n\n* permission denied"),
            ("right", "other", "* encryption key not found"),
            ("right", "empty", "transit backend is empty"),
            ("right", "garbage", "cannot decode base64 plaintext"),
            ("wr\nong", "x", "malformed"),
        ] {
            let error = ask(token, enc).expect_err(problem);
            assert!(error.contains(problem) && !error.contains(token), "{error}");
            let start =
                "failed to decrypt sops data key from Vault transit backend 'sops/decrypt/first'";
            assert!(error.starts_with(start), "{error}");
        }
    }

    #[test]
    fn a_token_of_a_cluster_logs_in() {
        let login = |role: &str| {
            let path = "auth/kubernetes/login";
            at_once(vault_token("http://127.0.0.1:8200", path, role, "cluster", &Server))
        };
        assert_eq!(login("apps_sops").map(Redacted::into_exposed).as_deref(), Ok("right"));
        let error = login("other").expect_err("another role");
        let start = "failed to authenticate with Vault 'http://127.0.0.1:8200' at login path 'auth/kubernetes/login' as role 'other': Error making API request.";
        assert!(error.starts_with(start) && error.contains("* invalid role name"), "{error}");
    }
}
