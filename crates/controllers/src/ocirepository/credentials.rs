//! What a registry is opened with: pull secrets, certificates, a proxy, or the login of a cloud.

use k8s_openapi::api::core::v1::{Secret, ServiceAccount};
use kube::Api;
use sluice_api::names::conditions::STALLED;
use sluice_api::names::reasons::{AUTHENTICATION_FAILED, FEATURE_GATE_DISABLED};
use sluice_api::shared::provider::CloudProvider;
use sluice_cloud::CloudError;
use sluice_runtime::class::ErrorClass;
use sluice_runtime::events::Severity;
use sluice_runtime::outcome::{Failure, Retry, Stop};
use sluice_source::http::{HttpOptions, TlsOptions};
use sluice_source::oci::{
    Access, Credentials, Keyring, PullLimits, RegistryAccess, RemoteRepository, Repository, log_in,
};

use super::{OciPass, OciRepositories};
use crate::sourcing::{NO_ACCOUNTS, fetch_failed};

/// The types of Secrets that hold docker configurations, and the keys they hold them under.
const CONFIG: (&str, &str) = ("kubernetes.io/dockerconfigjson", ".dockerconfigjson");
const LEGACY: (&str, &str) = ("kubernetes.io/dockercfg", ".dockercfg");

impl OciRepositories {
    /// The repository, opened with what the spec names. Nothing is asked of the registry yet.
    pub(super) async fn open(
        &self,
        pass: &OciPass<'_>,
        repository: &Repository,
    ) -> Result<RemoteRepository, Stop> {
        let spec = &pass.object.spec;
        let refused = |message: String| fetch_failed(AUTHENTICATION_FAILED, message);
        let keyring = self.keyring(pass).await;
        let keyring =
            keyring.map_err(|error| refused(format!("failed to get credential: {error}")))?;
        let proxy = match &spec.proxy_secret_ref {
            Some(secret) => {
                let context = |error| refused(format!("failed to get proxy address: {error}"));
                Some(self.proxy(pass, &secret.name).await.map_err(context)?)
            }
            None => None,
        };
        let tls = self.trust(pass).await.map_err(|error| {
            refused(format!("failed to generate transport for '{}': {error}", spec.url))
        });
        // A given secret is stronger than the login of a cloud, even if nothing in it fits.
        let credentials = match (&keyring, &spec.provider) {
            (Some(keyring), _) => keyring.resolve(repository),
            (None, Some(provider)) if *provider != CloudProvider::Generic => {
                self.log_in(pass, provider, tls.as_ref().ok()).await?
            }
            (None, _) => Credentials::default(),
        };
        let tls = tls?;
        let access = RegistryAccess {
            wire: self.backends.registries.clone(),
            connection: HttpOptions { tls, proxy, ..HttpOptions::default() },
            credentials,
            realms: self.context.settings.token_realms.clone(),
        };
        let limits = PullLimits::default();
        Ok(RemoteRepository::new(access, repository.clone(), Access::Pull, limits))
    }

    /// The pull secrets of the spec and of its service account; nothing where there are none.
    async fn keyring(&self, pass: &OciPass<'_>) -> Result<Option<Keyring>, String> {
        let (spec, namespace) = (&pass.object.spec, &pass.key.namespace);
        let mut secrets = Vec::new();
        if let Some(reference) = &spec.secret_ref {
            let name = &reference.name;
            let secret = self.pull_secret(namespace, name).await.map_err(|error| {
                let message = format!("auth secret '{name}' not found");
                pass.event(Severity::Trace, AUTHENTICATION_FAILED, &message);
                format!("failed to get secret '{namespace}/{name}': {}", said(&error))
            })?;
            secrets.push(secret);
        }
        if let Some(account) = spec.service_account_name.as_deref().filter(|it| !it.is_empty()) {
            let at = format!("serviceaccount '{namespace}/{account}'");
            let api: Api<ServiceAccount> = Api::namespaced(self.context.client.clone(), namespace);
            let found = api.get(account).await.map_err(|error| unavailable(&at, &error))?;
            for name in found.image_pull_secrets.unwrap_or_default().iter().map(|it| &it.name) {
                let secret = self.pull_secret(namespace, name).await.map_err(|error| {
                    let what = unavailable(&format!("secret '{namespace}/{name}'"), &error);
                    format!("failed to get image pull secret for {at}: {what}")
                })?;
                secrets.push(secret);
            }
        }
        if secrets.is_empty() {
            return Ok(None);
        }
        let mut keyring = Keyring::default();
        for secret in secrets {
            let content = |(kind, key): (&str, &str)| {
                let data = secret.data.as_ref()?.get(key).map(|bytes| bytes.0.as_slice());
                data.filter(|data| secret.type_.as_deref() == Some(kind) && !data.is_empty())
            };
            let added = match (content(CONFIG), content(LEGACY)) {
                (Some(config), _) => keyring.add_config(config),
                (None, Some(config)) => keyring.add_legacy(config),
                (None, None) => Ok(()),
            };
            added.map_err(|error| error.to_string())?;
        }
        Ok(Some(keyring))
    }

    async fn pull_secret(&self, namespace: &str, name: &str) -> Result<Secret, kube::Error> {
        Api::<Secret>::namespaced(self.context.client.clone(), namespace).get(name).await
    }

    /// Whom to trust, and how to show who we are.
    async fn trust(&self, pass: &OciPass<'_>) -> Result<TlsOptions, String> {
        let spec = &pass.object.spec;
        let Some(reference) = spec.cert_secret_ref.as_ref().filter(|it| !it.name.is_empty()) else {
            let insecure = spec.insecure.unwrap_or(false);
            return Ok(TlsOptions { insecure, ..TlsOptions::default() });
        };
        self.tls(pass, &reference.name).await
    }

    /// The login that a cloud gives to the service account that is named, or to this process.
    async fn log_in(
        &self,
        pass: &OciPass<'_>,
        provider: &CloudProvider,
        tls: Option<&TlsOptions>,
    ) -> Result<Credentials, Stop> {
        let spec = &pass.object.spec;
        let named = spec.service_account_name.as_deref();
        if !self.may_name_account(named.unwrap_or_default()) {
            // Only the stall says it: nothing was fetched that could have failed.
            let failure = Failure::new(ErrorClass::Policy, FEATURE_GATE_DISABLED, NO_ACCOUNTS);
            let (condition, retry) = (Some(STALLED), Retry::Never);
            return Err(Failure { condition, retry, ..failure }.into());
        }
        let name = provider.as_str();
        let unauthorized = |error: CloudError| {
            let message = format!("failed to get credential from {name}: {error}");
            fetch_failed(AUTHENTICATION_FAILED, message)
        };
        let authorities = tls.map(|tls| tls.authorities.clone()).unwrap_or_default();
        let insecure = spec.insecure.unwrap_or(false);
        let carrier = TlsOptions { authorities, insecure, ..TlsOptions::default() };
        carrier.check_for_cloud().map_err(unauthorized)?;
        let identity = self.cloud_identity(pass, named);
        log_in(&identity, name, &spec.url).await.map_err(unauthorized)
    }
}

/// That something is not there, or could not be asked for.
fn unavailable(what: &str, error: &kube::Error) -> String {
    if matches!(error, kube::Error::Api(status) if status.code == 404) {
        return format!("{what} not found");
    }
    format!("failed to get {what}: {}", said(error))
}

fn said(error: &kube::Error) -> String {
    match error {
        kube::Error::Api(status) => status.message.clone(),
        other => other.to_string(),
    }
}
