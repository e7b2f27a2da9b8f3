//! The tables of the group `networking.k8s.io`.

mod ingress;
mod ingress_class;
mod ip_address;
mod network_policy;
mod service_cidr;

use crate::printer::Printer;

pub(super) fn printer(resource: &str) -> Option<Printer> {
    Some(match resource {
        "ingressclasses" => ingress_class::PRINTER,
        "ingresses" => ingress::PRINTER,
        "ipaddresses" => ip_address::PRINTER,
        "networkpolicies" => network_policy::PRINTER,
        "servicecidrs" => service_cidr::PRINTER,
        _ => return None,
    })
}
