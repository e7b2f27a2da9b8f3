//! Whom a cloud is asked as, for a source that names one of its providers.

use sluice_cloud::{CloudError, CloudIdentity};
use sluice_source::http::Proxy;

use super::{Pass, SourceController, SourceKind};

/// What is said where a service account is named, which a feature gate has to allow.
pub(crate) const NO_ACCOUNTS: &str = "to use spec.serviceAccountName for provider authentication please enable the ObjectLevelWorkloadIdentity feature gate in the controller";

impl<K: SourceKind> SourceController<K> {
    /// Whether an object may name this service account; naming none is always allowed.
    pub(crate) fn may_name_account(&self, named: &str) -> bool {
        named.is_empty() || self.context.settings.object_level_workload_identity
    }

    /// The service account that is named, the operator's default, or this process; by the object's proxy.
    pub(crate) fn cloud_identity(
        &self,
        pass: &Pass<'_, K>,
        named: Option<&str>,
        proxy: Option<&Proxy>,
    ) -> Result<CloudIdentity, CloudError> {
        let default = self.context.settings.default_source_service_account.as_deref();
        self.context.clouds.named_or(&pass.key.namespace, named, default).through(proxy)
    }
}
