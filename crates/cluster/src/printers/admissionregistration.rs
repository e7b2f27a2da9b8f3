//! The tables of the group `admissionregistration.k8s.io`.

mod mutating_webhook_configuration;
mod validating_admission_policy;
mod validating_admission_policy_binding;
mod validating_webhook_configuration;

use crate::printer::Printer;

pub(super) fn printer(resource: &str) -> Option<Printer> {
    Some(match resource {
        "mutatingwebhookconfigurations" => mutating_webhook_configuration::PRINTER,
        "validatingadmissionpolicies" => validating_admission_policy::PRINTER,
        "validatingadmissionpolicybindings" => validating_admission_policy_binding::PRINTER,
        "validatingwebhookconfigurations" => validating_webhook_configuration::PRINTER,
        _ => return None,
    })
}
