//! In whose name a Kustomization is applied, and where.

mod kubeconfig;

use k8s_openapi::api::core::v1::{ConfigMap, Secret, ServiceAccount};
use kube::{Api, Client};
use sluice_api::kustomize::kustomization::Kustomization;
use sluice_api::names::reasons::RECONCILIATION_FAILED;
use sluice_runtime::class::ErrorClass;
use sluice_runtime::key::Key;
use sluice_runtime::outcome::{Failure, Stop};
use sluice_ssa::Discovery;

use super::Kustomizations;
use crate::client::{api_message, as_service_account, explaining, with_token};
use kubeconfig::{RemoteCluster, config_for, config_of, kubeconfig_of};

/// A cluster to apply to.
pub(super) struct Target {
    /// Whoever acts there.
    pub(super) client: Client,
    /// What is known of its kinds.
    pub(super) discovery: Discovery,
}

impl Kustomizations {
    /// The service account that a Kustomization acts as: its own, or the default service account.
    pub(super) fn service_account<'a>(&'a self, object: &'a Kustomization) -> Option<&'a str> {
        let own = object.spec.service_account_name.as_deref().filter(|name| !name.is_empty());
        own.or(self.context.settings.default_service_account.as_deref())
    }

    /// The cluster to apply to, this or another, as the service account that is named.
    pub(super) async fn target(&self, object: &Kustomization) -> Result<Target, Stop> {
        let failed = |message: String| -> Stop {
            let event = Some(format!("failed to build kube client: {message}"));
            // The kubeconfig has to be there first.
            let class = ErrorClass::Dependency;
            Failure { event, ..Failure::new(class, RECONCILIATION_FAILED, message) }.into()
        };
        let namespace = object.metadata.namespace.clone().unwrap_or_default();
        let own = &self.context.client;
        let (client, discovery) = match &object.spec.kube_config {
            None => (own.clone(), self.context.discovery.clone()),
            Some(way) => {
                let client = match (&way.secret_ref, &way.config_map_ref) {
                    (Some(secret), _) => {
                        let key = Key::new(namespace.clone(), secret.name.clone());
                        self.by_secret(&key, secret.key.as_deref()).await
                    }
                    (None, Some(map)) => {
                        self.by_identity(&Key::new(namespace.clone(), map.name.clone())).await
                    }
                    (None, None) => Err("invalid .spec.kubeConfig, neither .spec.kubeConfig.provider nor .spec.kubeConfig.secretRef is set".to_owned()),
                };
                // What another cluster knows of its kinds is nothing that this one can tell.
                (client.map_err(failed)?, Discovery::new())
            }
        };
        let client = match self.service_account(object) {
            Some(name) => as_service_account(&client, &namespace, name)
                .map_err(|error| failed(error.to_string()))?,
            None => client,
        };
        Ok(Target { client, discovery })
    }

    /// Whoever applies, on this cluster.
    pub(super) fn local_client(&self, object: &Kustomization) -> Result<Client, String> {
        let namespace = object.metadata.namespace.as_deref().unwrap_or_default();
        let own = &self.context.client;
        self.service_account(object).map_or_else(
            || Ok(own.clone()),
            |name| as_service_account(own, namespace, name).map_err(|error| error.to_string()),
        )
    }

    /// A client of the cluster whose kubeconfig a Secret holds.
    async fn by_secret(&self, key: &Key, entry: Option<&str>) -> Result<Client, String> {
        let api: Api<Secret> = Api::namespaced(self.context.client.clone(), &key.namespace);
        let secret = api.get(&key.name).await.map_err(|error| {
            format!("unable to read KubeConfig secret '{key}' error: {}", api_message(&error))
        })?;
        let text = kubeconfig_of(key, entry, secret.data.unwrap_or_default())?;
        let insecure = self.context.settings.insecure_kubeconfig_tls;
        let (config, ignored) = config_of(&text, insecure)
            .await
            .map_err(|problem| format!("invalid KubeConfig in secret '{key}': {problem}"))?;
        let server = config.cluster_url.to_string();
        let client = self.context.egress.clusters.connect(config)?;
        Ok(explaining(&client, ignored, &server))
    }

    /// A client of the cluster that a ConfigMap names, which trusts the identity of a service account.
    async fn by_identity(&self, key: &Key) -> Result<Client, String> {
        let context = &self.context;
        let api: Api<ConfigMap> = Api::namespaced(context.client.clone(), &key.namespace);
        let map = api
            .get(&key.name)
            .await
            .map_err(|error| format!("failed to get configmap {key}: {}", api_message(&error)))?;
        let remote = RemoteCluster::of(map.data.unwrap_or_default())?;
        let tokens = remote.tokens(context, key);
        let config = config_for(&tokens.access().await?)?;
        let server = config.cluster_url.to_string();
        let client = explaining(&context.egress.clusters.connect(config)?, None, &server);
        Ok(with_token(&client, tokens))
    }

    /// Whether the account to act as is still there; without one there is nothing to ask.
    pub(super) async fn can_impersonate(&self, object: &Kustomization) -> Result<bool, String> {
        let Some(name) = self.service_account(object) else { return Ok(true) };
        let namespace = object.metadata.namespace.clone().unwrap_or_default();
        let api: Api<ServiceAccount> = Api::namespaced(self.context.client.clone(), &namespace);
        let found = api.get_opt(name).await.map_err(|error| error.to_string())?;
        Ok(found.is_some())
    }
}
