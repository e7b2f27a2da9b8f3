//! What a repository is opened with: the Secrets that the spec names, read as Flux reads them.

use reqwest::Url;
use sluice_api::names::reasons::{
    AUTHENTICATION_FAILED, FEATURE_GATE_DISABLED, GIT_OPERATION_FAILED,
    INVALID_PROVIDER_CONFIGURATION, URL_INVALID,
};
use sluice_api::source::gitrepository::GitProvider;
use sluice_base::redacted::Redacted;
use sluice_cloud::azure::DEVOPS;
use sluice_cloud::{CloudError, CloudIdentity, CloudService};
use sluice_runtime::outcome::Stop;
use sluice_source::git::{
    APP_USERNAME, AuthError, GitAuth, GitHubApp, codecommit_auth, codecommit_region,
};
use sluice_source::http::HttpOptions;
use sluice_source::network::Purpose;

use super::{GitPass, GitRepositories};
use crate::sourcing::{Data, NO_ACCOUNTS, fetch_failed, stalled};

/// What is said where a GitHub App is meant and none is given.
const NO_APP: &str =
    "secretRef with github app data must be specified when provider is set to github";

impl GitRepositories {
    /// Credentials, trust and proxy.
    pub(super) async fn credentials(&self, pass: &GitPass<'_>) -> Result<GitAuth, Stop> {
        let spec = &pass.object.spec;
        let namespace = &pass.key.namespace;
        let refused = |message: String| fetch_failed(AUTHENTICATION_FAILED, message);
        let proxy = match &spec.proxy_secret_ref {
            Some(secret) => {
                let context =
                    |error| refused(format!("failed to configure proxy options: {error}"));
                Some(self.proxy(pass, &secret.name).await.map_err(context)?)
            }
            None => None,
        };
        let url = Url::parse(&spec.url).map_err(|error| unusable(&spec.url, &error.to_string()))?;
        let data = match &spec.secret_ref {
            Some(secret) => self.secret(pass, &secret.name).await.map_err(|error| {
                let what = format!("failed to get secret '{namespace}/{}'", secret.name);
                refused(format!("{what}: {what}: {error}"))
            })?,
            None => Data::default(),
        };
        let secret = spec.secret_ref.as_ref().map(|it| it.name.as_str()).unwrap_or_default();
        let mut auth = GitAuth::from_secret(&url, &data).map_err(|error| {
            refused(match error {
                AuthError::EncryptedIdentity => {
                    format!("{error} in the secret '{namespace}/{secret}'")
                }
                other => format!("failed to configure authentication options: {other}"),
            })
        })?;
        auth.proxy = proxy;
        match &spec.provider {
            Some(GitProvider::Github) => {
                if spec.secret_ref.is_none() {
                    return Err(stalled(INVALID_PROVIDER_CONFIGURATION, NO_APP));
                }
                if !GitHubApp::is_in(&data) {
                    return Err(fetch_failed(INVALID_PROVIDER_CONFIGURATION, NO_APP));
                }
                let token = self.app_token(&url, &data, &auth).await.map_err(|error| {
                    refused(format!("failed to configure authentication options: {error}"))
                })?;
                APP_USERNAME.clone_into(&mut auth.username);
                auth.password = token;
            }
            Some(provider @ (GitProvider::Aws | GitProvider::Azure)) => {
                let named = spec.service_account_name.as_deref().unwrap_or_default();
                if !self.may_name_account(named) {
                    return Err(stalled(FEATURE_GATE_DISABLED, NO_ACCOUNTS));
                }
                let unauthorized = |error: CloudError| {
                    refused(format!("failed to configure authentication options: {error}"))
                };
                let identity = self.cloud_identity(pass, Some(named));
                let is_aws = *provider == GitProvider::Aws;
                auth = self.cloud(&identity, &url, auth, is_aws).await.map_err(unauthorized)?;
            }
            _ if GitHubApp::is_in(&data) => {
                return Err(fetch_failed(
                    INVALID_PROVIDER_CONFIGURATION,
                    format!(
                        "secretRef '{namespace}/{secret}' has github app data but provider is not set to github"
                    ),
                ));
            }
            _ => {}
        }
        Ok(auth)
    }

    /// Credentials that a cloud gives to an identity for one of its hosts.
    async fn cloud(
        &self,
        identity: &CloudIdentity,
        url: &Url,
        mut auth: GitAuth,
        is_aws: bool,
    ) -> Result<GitAuth, CloudError> {
        let no_token =
            |error: CloudError| error.while_trying("failed to get access token for Git repository");
        if is_aws {
            let region = codecommit_region(url).map_err(|error| CloudError(error.to_string()))?;
            auth.tls.check_for_cloud()?;
            let keys = identity.aws(region, "").await.map_err(no_token)?.value;
            let now = self.context.clock.now();
            return codecommit_auth(url, &keys, auth, now)
                .map_err(|error| CloudError(error.to_string()));
        }
        let host = url.host_str().unwrap_or_default();
        identity.check_host(CloudService::AzureRepos, url.scheme(), host, url.port())?;
        auth.tls.check_for_cloud()?;
        let token = identity.azure(DEVOPS).await.map_err(no_token)?;
        auth.bearer_token = token.value;
        auth.username.clear();
        auth.password = Redacted::default();
        Ok(auth)
    }

    /// A token of a GitHub App, good for an hour; only for repositories of the server that gives it.
    async fn app_token(
        &self,
        url: &Url,
        data: &Data,
        auth: &GitAuth,
    ) -> Result<Redacted<String>, String> {
        let app = GitHubApp::from_secret(data).map_err(|error| error.to_string())?;
        app.serves(url).map_err(|error| error.to_string())?;
        let options = HttpOptions {
            tls: auth.tls.clone(),
            proxy: auth.proxy.clone(),
            ..HttpOptions::default()
        };
        let client = self.backends.network.client(Purpose::Spec, &options);
        let client = client.map_err(|error| error.to_string())?;
        let token = app.token(&client, self.context.clock.now()).await;
        token.map(|token| token.token).map_err(|error| error.to_string())
    }
}

/// What is no address stalls. One without a host is an address to Go's library, and fails when it is asked.
fn unusable(url: &str, why: &str) -> Stop {
    if matches!(url, "http://" | "https://") {
        return fetch_failed(
            GIT_OPERATION_FAILED,
            format!(
                "failed to checkout and determine revision: unable to clone '{url}': Get \"{url}/info/refs?service=git-upload-pack\": http: no Host in request URL"
            ),
        );
    }
    let quoted = url.find('%').and_then(|at| url.get(at..)).and_then(|rest| rest.get(..3));
    match quoted.filter(|part| !part.bytes().skip(1).all(|byte| byte.is_ascii_hexdigit())) {
        Some(part) => {
            let why = format!("parse \"{url}\": invalid URL escape \"{part}\"");
            stalled(URL_INVALID, format!("failed to parse url '{url}': {why}"))
        }
        None => stalled(URL_INVALID, format!("failed to parse url '{url}': {why}")),
    }
}
