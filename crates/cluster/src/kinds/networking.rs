//! The networking.k8s.io group.

use std::sync::Arc;

use crate::kind::Kind;

mod ingress;
mod ingress_class;
mod ip_address;
mod network_policy;
mod service_cidr;

/// The hooks of a resource of the networking group.
pub(super) fn kind(resource: &str) -> Option<Arc<dyn Kind>> {
    Some(match resource {
        "ingresses" => Arc::new(ingress::Ingress),
        "ingressclasses" => Arc::new(ingress_class::IngressClass),
        "ipaddresses" => Arc::new(ip_address::IpAddress),
        "networkpolicies" => Arc::new(network_policy::NetworkPolicy),
        "servicecidrs" => Arc::new(service_cidr::ServiceCidr),
        _ => return None,
    })
}
