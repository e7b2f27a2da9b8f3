//! The admissionregistration.k8s.io group.

use std::sync::Arc;

use crate::kind::Kind;

mod policy;
mod policy_binding;
mod rules;
mod webhook_configuration;

/// The hooks of a resource of the admission registration group.
pub(super) fn kind(resource: &str) -> Option<Arc<dyn Kind>> {
    use webhook_configuration::WebhookConfiguration;
    Some(match resource {
        "mutatingwebhookconfigurations" => Arc::new(WebhookConfiguration { mutating: true }),
        "validatingadmissionpolicies" => Arc::new(policy::Policy),
        "validatingadmissionpolicybindings" => Arc::new(policy_binding::PolicyBinding),
        "validatingwebhookconfigurations" => Arc::new(WebhookConfiguration { mutating: false }),
        _ => return None,
    })
}
