//! In whose name a Kustomization is applied, and where.

use k8s_openapi::api::core::v1::{Secret, ServiceAccount};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Api, Client, Config};
use sluice_api::kustomize::kustomization::Kustomization;
use sluice_api::names::reasons::RECONCILIATION_FAILED;

use super::Kustomizations;
use super::reconcile::Stop;
use crate::client::as_service_account;

/// The keys of a Secret that may hold a kubeconfig, where none is named.
const KUBECONFIG_KEYS: [&str; 2] = ["value", "value.yaml"];

impl Kustomizations {
    fn service_account<'a>(&'a self, object: &'a Kustomization) -> Option<&'a str> {
        let own = object.spec.service_account_name.as_deref().filter(|name| !name.is_empty());
        own.or(self.context.settings.default_service_account.as_deref())
    }

    /// The client that applies: of this cluster or of another, as the service account that is named.
    pub(super) async fn client_for(&self, object: &Kustomization) -> Result<Client, Stop> {
        let failed = |message: String| {
            Stop::failed(RECONCILIATION_FAILED, format!("failed to build kube client: {message}"))
        };
        let namespace = object.metadata.namespace.clone().unwrap_or_default();
        let base = match &object.spec.kube_config {
            None => self.context.client.clone(),
            Some(way) => {
                let Some(secret) = &way.secret_ref else {
                    return Err(failed(
                        "kubeConfig.configMapRef needs a cloud provider's identity, which is not there yet"
                            .to_owned(),
                    ));
                };
                self.remote(&namespace, &secret.name, secret.key.as_deref())
                    .await
                    .map_err(failed)?
            }
        };
        match self.service_account(object) {
            Some(name) => as_service_account(&base, &namespace, name)
                .map_err(|error| failed(error.to_string())),
            None => Ok(base),
        }
    }

    /// A client of the cluster whose kubeconfig a Secret holds. What it would run or skip is refused: a
    /// tenant's Secret must not start programs here.
    async fn remote(
        &self,
        namespace: &str,
        name: &str,
        key: Option<&str>,
    ) -> Result<Client, String> {
        let api: Api<Secret> = Api::namespaced(self.context.client.clone(), namespace);
        let secret = api.get(name).await.map_err(|error| {
            format!("unable to read KubeConfig secret '{namespace}/{name}': {error}")
        })?;
        let data = secret.data.unwrap_or_default();
        let found = match key.filter(|key| !key.is_empty()) {
            Some(key) => data.get(key),
            None => KUBECONFIG_KEYS.iter().find_map(|key| data.get(*key)),
        };
        let Some(content) = found else {
            return Err(format!(
                "KubeConfig secret '{namespace}/{name}' does not contain a kubeconfig"
            ));
        };
        let text = String::from_utf8_lossy(&content.0);
        let mut kubeconfig = Kubeconfig::from_yaml(&text).map_err(|error| error.to_string())?;
        for user in &mut kubeconfig.auth_infos {
            if let Some(info) = &mut user.auth_info {
                info.exec = None;
                info.auth_provider = None;
                info.token_file = None;
                info.client_certificate = None;
                info.client_key = None;
            }
        }
        for cluster in &mut kubeconfig.clusters {
            if let Some(cluster) = &mut cluster.cluster {
                cluster.insecure_skip_tls_verify = None;
                cluster.certificate_authority = None;
            }
        }
        let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default())
            .await
            .map_err(|error| error.to_string())?;
        Client::try_from(config).map_err(|error| error.to_string())
    }

    /// Whether the account to act as is still there; without one there is nothing to ask.
    pub(super) async fn can_impersonate(&self, object: &Kustomization) -> Result<bool, String> {
        let Some(name) = self.service_account(object) else { return Ok(true) };
        if object.spec.kube_config.is_some() {
            return Ok(true);
        }
        let namespace = object.metadata.namespace.clone().unwrap_or_default();
        let api: Api<ServiceAccount> = Api::namespaced(self.context.client.clone(), &namespace);
        let found = api.get_opt(name).await.map_err(|error| error.to_string())?;
        Ok(found.is_some())
    }
}
