//! The Secrets that the specs of sources name, read as Flux reads them.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Secret;
use kube::Api;
use sluice_source::http::Proxy;

use super::{Pass, SourceController, SourceKind};

/// The data of a Secret.
pub(crate) type Data = BTreeMap<String, Vec<u8>>;

impl<K: SourceKind> SourceController<K> {
    /// The data of a Secret beside the object; the error is what the API server said.
    pub(crate) async fn secret(&self, pass: &Pass<'_, K>, name: &str) -> Result<Data, String> {
        let api: Api<Secret> = Api::namespaced(self.context.client.clone(), &pass.key.namespace);
        let secret = api.get(name).await.map_err(|error| match error {
            kube::Error::Api(status) => status.message.clone(),
            other => other.to_string(),
        })?;
        let data = secret.data.unwrap_or_default();
        Ok(data.into_iter().map(|(name, value)| (name, value.0)).collect())
    }

    /// The proxy that a Secret describes.
    pub(crate) async fn proxy(&self, pass: &Pass<'_, K>, name: &str) -> Result<Proxy, String> {
        let namespace = &pass.key.namespace;
        let data = self.secret(pass, name).await;
        let data =
            data.map_err(|error| format!("failed to get secret '{namespace}/{name}': {error}"))?;
        let text = |key: &str| {
            let value = data.get(key).map(|value| String::from_utf8_lossy(value).into_owned());
            value.unwrap_or_default()
        };
        let address = text("address");
        if address.is_empty() {
            return Err(format!(
                "invalid secret '{namespace}/{name}': required key 'address' is missing"
            ));
        }
        Ok(Proxy { address, username: text("username"), password: text("password") })
    }
}
