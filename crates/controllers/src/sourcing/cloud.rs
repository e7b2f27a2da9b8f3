//! The identity with which a cloud is asked for a source that names one of its providers.

use sluice_cloud::CloudIdentity;
use sluice_runtime::pass::Pass;

use super::{SourceController, SourceKind};
use crate::identity::Purpose;

/// What is said where a service account is named, which a feature gate has to allow.
pub(crate) const NO_ACCOUNTS: &str = "to use spec.serviceAccountName for provider authentication please enable the ObjectLevelWorkloadIdentity feature gate in the controller";

impl<K: SourceKind> SourceController<K> {
    /// Whether an object may name this service account; naming none is always allowed.
    pub(crate) fn may_name_account(&self, named: &str) -> bool {
        named.is_empty() || self.context.settings.object_level_workload_identity
    }

    /// The service account that is named, the operator's default, or the controllers where the operator
    /// allows that. The object's proxy is not for clouds.
    pub(crate) fn cloud_identity(&self, pass: &Pass<'_, K>, named: Option<&str>) -> CloudIdentity {
        let settings = &self.context.settings;
        let default = settings.default_source_service_account.as_deref();
        let (namespace, name) = (&pass.key.namespace, &pass.key.name);
        let refusal = settings.controller_identity.refusal(Purpose::Sources, namespace, name);
        self.context.clouds.named_or(namespace, named, default, refusal)
    }
}
