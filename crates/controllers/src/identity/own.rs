//! Who the controllers themselves are: what the environment of their pod says, and what the machine says that
//! they run on. Environment and files are handed in.

use std::collections::BTreeMap;
use std::sync::Arc;

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use http::Request;
use k8s_openapi::api::authentication::v1::{TokenRequest, TokenRequestSpec};
use k8s_openapi::api::core::v1::ServiceAccount;
use kube::Client;
use kube::api::{Api, PostParams};
use serde_json::Value;
use sluice_runtime::key::Key;
use sluice_secrets::flux::{Given, Identity, Wanted};
use sluice_secrets::{AwsKeys, Http, Redacted, azure_token, vault_token};

use super::{login_path, metadata};
use crate::client::api_message;

/// Where a pod finds the token of its service account.
const TOKEN_FILE: &str = "/var/run/secrets/kubernetes.io/serviceaccount/token";
/// Where machines of AWS and Azure tell who they are.
const MACHINE: &str = "http://169.254.169.254";

/// Reads a file, or says why not.
pub type ReadFile = Arc<dyn Fn(&str) -> Result<String, String> + Send + Sync>;

/// The identity of the controllers.
#[derive(Clone)]
pub struct OwnIdentity {
    /// The cluster.
    pub client: Client,
    /// How tokens are exchanged.
    pub web: Arc<dyn Http>,
    /// The environment.
    pub environment: BTreeMap<String, String>,
    /// The file system.
    pub read: ReadFile,
    /// `--sops-vault-configmap`: which Vaults are trusted, and where to log in there.
    pub vaults: Option<Key>,
}

impl OwnIdentity {
    fn variable(&self, name: &str) -> Option<&str> {
        self.environment.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// Keys in the environment, a role for the pod's token, EKS' agent, or the machine: the first that is
    /// there.
    async fn aws(&self, region: &str) -> Result<AwsKeys, String> {
        let keys = (self.variable("AWS_ACCESS_KEY_ID"), self.variable("AWS_SECRET_ACCESS_KEY"));
        if let (Some(access), Some(secret)) = keys {
            let session = self.variable("AWS_SESSION_TOKEN").unwrap_or_default();
            return Ok(AwsKeys::new(access, secret, session));
        }
        let role = (self.variable("AWS_ROLE_ARN"), self.variable("AWS_WEB_IDENTITY_TOKEN_FILE"));
        if let (Some(role), Some(file)) = role {
            let token = (self.read)(file)?;
            let session = self.variable("AWS_ROLE_SESSION_NAME").unwrap_or("sluice");
            return AwsKeys::with_web_identity(&*self.web, region, role, session, token.trim())
                .await;
        }
        if let Some(agent) = self.variable("AWS_CONTAINER_CREDENTIALS_FULL_URI") {
            let file = self.variable("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
            let token = file.map(|file| (self.read)(file)).transpose()?.unwrap_or_default();
            let answer = self.ask("GET", agent, &[("Authorization", token.trim())]).await?;
            return keys_of(&answer);
        }
        let lifetime = [("X-aws-ec2-metadata-token-ttl-seconds", "300")];
        let token = self.ask("PUT", &format!("{MACHINE}/latest/api/token"), &lifetime).await?;
        let shown = [("X-aws-ec2-metadata-token", token.as_str())];
        let roles = format!("{MACHINE}/latest/meta-data/iam/security-credentials/");
        let role = self.ask("GET", &roles, &shown).await?;
        let role = role.lines().next().unwrap_or_default().trim();
        keys_of(&self.ask("GET", &format!("{roles}{role}"), &shown).await?)
    }

    async fn azure(&self, scope: &str) -> Result<Redacted<String>, String> {
        let (tenant, client) = (self.variable("AZURE_TENANT_ID"), self.variable("AZURE_CLIENT_ID"));
        if let (Some(tenant), Some(client), Some(file)) =
            (tenant, client, self.variable("AZURE_FEDERATED_TOKEN_FILE"))
        {
            let token = (self.read)(file)?;
            return azure_token((tenant, client), scope, token.trim(), &*self.web).await;
        }
        let resource = scope.trim_end_matches("/.default");
        let client = client.map(|client| format!("&client_id={client}")).unwrap_or_default();
        let url = format!(
            "{MACHINE}/metadata/identity/oauth2/token?api-version=2018-02-01&resource={resource}{client}"
        );
        access_token(&self.ask("GET", &url, &[("Metadata", "true")]).await?)
    }

    async fn gcp(&self) -> Result<Redacted<String>, String> {
        let answer = metadata(&*self.web, "instance/service-accounts/default/token").await?;
        access_token(&answer)
    }

    /// A token of the controllers' own service account, and who that is.
    async fn cluster(&self, audiences: &[String]) -> Result<(String, Key), String> {
        let failed = |problem: String| {
            format!("failed to create provider access token for the controller: {problem}")
        };
        let token = (self.read)(TOKEN_FILE).map_err(|error| {
            failed(format!("failed to read service account token file {TOKEN_FILE}: {error}"))
        })?;
        let key = subject(&token).map_err(failed)?;
        let api: Api<ServiceAccount> = Api::namespaced(self.client.clone(), &key.namespace);
        let spec =
            TokenRequestSpec { audiences: audiences.to_vec(), ..TokenRequestSpec::default() };
        let request = TokenRequest { spec, ..TokenRequest::default() };
        let params = PostParams::default();
        let answer = api.create_token_request(&key.name, &params, &request).await;
        let answer = answer.map_err(|error| {
            let message = api_message(&error);
            failed(format!(
                "failed to create kubernetes token for controller service account '{key}': {message}"
            ))
        })?;
        Ok((answer.status.map(|status| status.token).unwrap_or_default(), key))
    }

    async fn vault(&self, address: &str) -> Result<Redacted<String>, String> {
        let path = login_path(&self.client, self.vaults.as_ref(), address).await?;
        let (token, key) = self.cluster(&[address.to_owned()]).await.map_err(|problem| {
            format!("failed to issue Kubernetes token for Vault authentication: {problem}")
        })?;
        let role = format!("{}_{}", key.namespace, key.name);
        vault_token(address, &path, &role, &token, &*self.web).await
    }

    async fn ask(
        &self,
        method: &str,
        url: &str,
        headers: &[(&str, &str)],
    ) -> Result<String, String> {
        let mut request = Request::builder().method(method).uri(url);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(Vec::new()).map_err(|error| format!("{url}: {error}"))?;
        let response = self.web.send(request).await?;
        if !response.status().is_success() {
            return Err(format!("{url} answered {}", response.status()));
        }
        Ok(String::from_utf8_lossy(response.body()).into_owned())
    }
}

/// Keys as AWS' agents answer them.
fn keys_of(answer: &str) -> Result<AwsKeys, String> {
    let value: Value = serde_json::from_str(answer).unwrap_or_default();
    let field = |name: &str| value.get(name).and_then(Value::as_str).unwrap_or_default();
    if field("AccessKeyId").is_empty() {
        return Err("the answer holds no credentials of AWS".to_owned());
    }
    Ok(AwsKeys::new(field("AccessKeyId"), field("SecretAccessKey"), field("Token")))
}

fn access_token(answer: &str) -> Result<Redacted<String>, String> {
    let value: Value = serde_json::from_str(answer).unwrap_or_default();
    let token = value.get("access_token").and_then(Value::as_str).unwrap_or_default();
    if token.is_empty() {
        return Err("the answer holds no token".to_owned());
    }
    Ok(Redacted::new(token.to_owned()))
}

/// Whose a token is, as it says itself.
fn subject(token: &str) -> Result<Key, String> {
    let claims = token.trim().split('.').nth(1).unwrap_or_default();
    let claims = BASE64_URL_SAFE_NO_PAD.decode(claims).unwrap_or_default();
    let claims: Value = serde_json::from_slice(&claims)
        .map_err(|_| "failed to parse service account token".to_owned())?;
    let subject = claims.get("sub").and_then(Value::as_str).unwrap_or_default();
    match subject.split(':').collect::<Vec<_>>().as_slice() {
        ["system", "serviceaccount", namespace, name] => Ok(Key::new(*namespace, *name)),
        _ => Err(format!("invalid subject format in service account token: {subject}")),
    }
}

impl Identity for OwnIdentity {
    fn aws_keys<'a>(&'a self, region: &'a str) -> Given<'a, AwsKeys> {
        Box::pin(self.aws(region))
    }

    fn token<'a>(&'a self, wanted: Wanted<'a>) -> Given<'a, Redacted<String>> {
        Box::pin(async move {
            match wanted {
                Wanted::Azure(scope) => self.azure(scope).await,
                Wanted::Gcp => self.gcp().await,
                Wanted::Vault(address) => self.vault(address).await,
                Wanted::Cluster(audiences) => {
                    self.cluster(audiences).await.map(|(token, _)| Redacted::new(token))
                }
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::Arc;

    use http::{Request, Response};
    use sluice_secrets::flux::{Identity as _, Wanted};
    use sluice_secrets::{Answer, AwsKeys, Http};

    use super::{OwnIdentity, subject};

    /// The endpoints that tell programs in a cloud who they are.
    struct Clouds;

    impl Http for Clouds {
        fn send(&self, request: Request<Vec<u8>>) -> Answer<'_> {
            let url = request.uri().to_string();
            let bears = |name: &str, value: &str| {
                request.headers().get(name).is_some_and(|found| found == value)
            };
            let body = match url.as_str() {
                "https://sts.eu-west-1.amazonaws.com/" => {
                    "<AccessKeyId>R</AccessKeyId><SecretAccessKey>s</SecretAccessKey><SessionToken>t</SessionToken>"
                }
                "http://169.254.170.23/v1/credentials" if bears("authorization", "pod") => {
                    r#"{"AccessKeyId":"P","SecretAccessKey":"s","Token":"t"}"#
                }
                "http://169.254.169.254/latest/api/token" => "session",
                "http://169.254.169.254/latest/meta-data/iam/security-credentials/" => "node\n",
                "http://169.254.169.254/latest/meta-data/iam/security-credentials/node"
                    if bears("x-aws-ec2-metadata-token", "session") =>
                {
                    r#"{"AccessKeyId":"M","SecretAccessKey":"s","Token":"t"}"#
                }
                "https://login.microsoftonline.com/t/oauth2/v2.0/token" => {
                    r#"{"access_token":"federated"}"#
                }
                "http://169.254.169.254/metadata/identity/oauth2/token?api-version=2018-02-01&resource=https://vault.azure.net"
                    if bears("metadata", "true") =>
                {
                    r#"{"access_token":"machine"}"#
                }
                "http://169.254.169.254/computeMetadata/v1/instance/service-accounts/default/token"
                    if bears("metadata-flavor", "Google") =>
                {
                    r#"{"access_token":"google"}"#
                }
                _ => "",
            };
            let status = if body.is_empty() { 404 } else { 200 };
            let response = Response::builder().status(status).body(body.as_bytes().to_vec());
            Box::pin(std::future::ready(Ok(response.expect("the status is one"))))
        }
    }

    fn identity(environment: &[(&str, &str)]) -> OwnIdentity {
        let nobody = tower::service_fn(|_: Request<kube::client::Body>| async {
            Err::<Response<kube::client::Body>, _>(std::io::Error::other("no cluster"))
        });
        let pairs =
            environment.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        OwnIdentity {
            client: kube::Client::new(nobody, "default"),
            web: Arc::new(Clouds),
            environment: pairs.collect::<BTreeMap<_, _>>(),
            read: Arc::new(|path| {
                if path == "/pod" { Ok("pod\n".to_owned()) } else { Err("no such file".to_owned()) }
            }),
            vaults: None,
        }
    }

    #[tokio::test]
    async fn the_environment_comes_before_the_machine() {
        let role = [("AWS_ROLE_ARN", "arn"), ("AWS_WEB_IDENTITY_TOKEN_FILE", "/pod")];
        let agent = [
            ("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://169.254.170.23/v1/credentials"),
            ("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", "/pod"),
        ];
        let plain = [
            ("AWS_ACCESS_KEY_ID", "E"),
            ("AWS_SECRET_ACCESS_KEY", "s"),
            ("AWS_SESSION_TOKEN", "t"),
        ];
        for (environment, expected) in [(&plain[..], "E"), (&role, "R"), (&agent, "P"), (&[], "M")]
        {
            let keys = identity(environment).aws("eu-west-1").await;
            assert_eq!(keys, Ok(AwsKeys::new(expected, "s", "t")), "{environment:?}");
        }
        let scope = Wanted::Azure("https://vault.azure.net/.default");
        let federated = [
            ("AZURE_TENANT_ID", "t"),
            ("AZURE_CLIENT_ID", "c"),
            ("AZURE_FEDERATED_TOKEN_FILE", "/pod"),
        ];
        for (environment, expected) in [(&federated[..], "federated"), (&[], "machine")] {
            let token = identity(environment).token(scope).await.expect("a token");
            assert_eq!(token.expose(), expected);
        }
        let token = identity(&[]).token(Wanted::Gcp).await.expect("a token");
        assert_eq!(token.expose(), "google");
        let outside = identity(&[]).token(Wanted::Cluster(&[])).await.expect_err("no pod");
        assert!(outside.ends_with("serviceaccount/token: no such file"), "{outside}");
    }

    #[test]
    fn a_token_says_whose_it_is() {
        // {"sub":"system:serviceaccount:flux-system:kustomize-controller"}
        let token = "e30.eyJzdWIiOiJzeXN0ZW06c2VydmljZWFjY291bnQ6Zmx1eC1zeXN0ZW06a3VzdG9taXplLWNvbnRyb2xsZXIifQ.x";
        assert_eq!(
            subject(token).map(|key| key.to_string()).as_deref(),
            Ok("flux-system/kustomize-controller")
        );
        assert!(subject("nonsense").is_err() && subject("e30.e30.x").is_err());
    }
}
