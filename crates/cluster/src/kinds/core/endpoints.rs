//! Endpoints.

use std::net::IpAddr;

use serde_json::Value;
use sluice_schema::field::{FieldError, Path};

use crate::kind::{Context, Kind};
use crate::validation::{Errors, addresses, named, names, one_of, port_number};
use crate::value::{at, entries, fill, list, list_mut, number, same, text};

/// The hooks of Endpoints.
pub(super) struct Endpoints;

impl Kind for Endpoints {
    fn default(&self, object: &mut Value) {
        for subset in list_mut(object, "subsets") {
            for port in list_mut(subset, "ports") {
                fill(port, "protocol", "TCP");
            }
        }
    }

    fn validate(&self, _context: &Context<'_>, object: &Value) -> Errors {
        let mut errors = Vec::new();
        for (index, subset) in list(object, "subsets").iter().enumerate() {
            let path = Path::new("subsets").index(index);
            if ["addresses", "notReadyAddresses"].iter().all(|name| list(subset, name).is_empty()) {
                let detail = "must specify `addresses` or `notReadyAddresses`";
                errors.push(FieldError::required(&path, detail));
            }
            for name in ["addresses", "notReadyAddresses"] {
                for (index, item) in list(subset, name).iter().enumerate() {
                    errors.extend(address(item, &path.child(name).index(index)));
                }
            }
            let ports = list(subset, "ports");
            for (index, item) in ports.iter().enumerate() {
                errors.extend(port(item, ports.len() > 1, &path.child("ports").index(index)));
            }
        }
        errors
    }

    fn validate_update(&self, context: &Context<'_>, object: &Value, old: &Value) -> Errors {
        if same(at(object, "subsets"), at(old, "subsets")) {
            return Vec::new();
        }
        self.validate(context, object)
    }

    fn warnings(&self, object: &Value, _old: Option<&Value>) -> Vec<String> {
        let manager = entries(object, "metadata.labels").get("endpoints.kubernetes.io/managed-by");
        if manager.and_then(Value::as_str) == Some("endpoint-controller") {
            return Vec::new();
        }
        let mut warnings = Vec::new();
        for (index, subset) in list(object, "subsets").iter().enumerate() {
            for name in ["addresses", "notReadyAddresses"] {
                let path = Path::new("subsets").index(index).child(name);
                for (index, item) in list(subset, name).iter().enumerate() {
                    let path = path.index(index).child("ip");
                    warnings.extend(addresses::address_warning(text(item, "ip"), &path));
                }
            }
        }
        warnings
    }

    fn allows_create_on_update(&self) -> bool {
        true
    }
}

fn address(item: &Value, path: &Path) -> Errors {
    let ip = text(item, "ip");
    let mut errors = addresses::address(ip, &path.child("ip"));
    if !text(item, "hostname").is_empty() {
        errors.extend(named(names::dns_label, text(item, "hostname"), &path.child("hostname")));
    }
    if let Some(node) = at(item, "nodeName").as_str() {
        errors.extend(named(names::dns_subdomain, node, &path.child("nodeName")));
    }
    errors.extend(endpoint_address(ip, &path.child("ip")));
    errors
}

fn port(item: &Value, needs_name: bool, path: &Path) -> Errors {
    let mut errors = Vec::new();
    let name = text(item, "name");
    if !name.is_empty() {
        errors.extend(named(names::dns_label, name, &path.child("name")));
    } else if needs_name {
        errors.push(FieldError::required(&path.child("name"), ""));
    }
    errors.extend(port_number(number(item, "port"), &path.child("port")));
    errors.extend(one_of(item, "protocol", &["SCTP", "TCP", "UDP"], path));
    if let Some(protocol) = at(item, "appProtocol").as_str() {
        errors.extend(named(names::qualified_name, protocol, &path.child("appProtocol")));
    }
    errors
}

/// Validates an address that traffic should go to.
pub(crate) fn endpoint_address(text: &str, path: &Path) -> Errors {
    let Some(address) = addresses::parse_legacy(text) else {
        return vec![FieldError::invalid(path, text, "must be a valid IP address")];
    };
    let (link_local, local_multicast) = match address {
        IpAddr::V4(address) => (address.is_link_local(), address.octets()[..3] == [224, 0, 0]),
        IpAddr::V6(address) => {
            (address.segments()[0] & 0xffc0 == 0xfe80, address.segments()[0] & 0xff0f == 0xff02)
        }
    };
    let rules = [
        (address.is_unspecified(), format!("may not be unspecified ({text})")),
        (
            address.is_loopback(),
            "may not be in the loopback range (127.0.0.0/8, ::1/128)".to_owned(),
        ),
        (link_local, "may not be in the link-local range (169.254.0.0/16, fe80::/10)".to_owned()),
        (
            local_multicast,
            "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)".to_owned(),
        ),
    ];
    rules
        .into_iter()
        .filter(|(broken, _)| *broken)
        .map(|(_, detail)| FieldError::invalid(path, text, detail))
        .collect()
}
