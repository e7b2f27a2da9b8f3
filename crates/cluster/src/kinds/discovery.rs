//! The discovery.k8s.io group: EndpointSlice.

use std::net::IpAddr;
use std::sync::Arc;

use serde_json::Value;
use sluice_schema::field::{FieldError, Path};

use crate::kind::{Context, Kind};
use crate::kinds::core::endpoints::endpoint_address;
use crate::validation::{Errors, addresses, immutable_text, named, names, one_of, one_of_or_unset};
use crate::value::{at, fill_absent, list, list_mut, present, same, set, text, texts};

/// The hooks of a resource of the discovery group.
pub(super) fn kind(resource: &str) -> Option<Arc<dyn Kind>> {
    (resource == "endpointslices").then(|| Arc::new(EndpointSlice) as _)
}

struct EndpointSlice;

impl Kind for EndpointSlice {
    fn default(&self, object: &mut Value) {
        for port in list_mut(object, "ports") {
            if !present(port, "name") {
                set(port, "name", "");
            }
            fill_absent(port, "protocol", "TCP");
        }
    }

    fn validate(&self, _context: &Context<'_>, object: &Value) -> Errors {
        let mut errors = shape(object);
        errors.extend(endpoints(object));
        errors
    }

    fn validate_update(&self, _context: &Context<'_>, object: &Value, old: &Value) -> Errors {
        let mut errors = shape(object);
        if !same(at(object, "endpoints"), at(old, "endpoints")) {
            errors.extend(endpoints(object));
        }
        let name = "addressType";
        errors.extend(immutable_text(object, old, name, &Path::new(name)));
        errors
    }

    fn warnings(&self, object: &Value, old: Option<&Value>) -> Vec<String> {
        if old.is_none() && text(object, "addressType") == "FQDN" {
            return vec!["spec.addressType: FQDN endpoints are deprecated".to_owned()];
        }
        Vec::new()
    }

    fn has_generation(&self) -> bool {
        true
    }

    fn changes_generation(&self, object: &Value, old: &Value) -> bool {
        ["addressType", "endpoints", "ports", "metadata.labels"]
            .iter()
            .any(|path| !same(at(object, path), at(old, path)))
    }
}

fn shape(object: &Value) -> Errors {
    let types = ["FQDN", "IPv4", "IPv6"];
    let mut errors = one_of(object, "addressType", &types, &Path::default());
    let mut seen = Vec::new();
    let ports = list(object, "ports");
    if ports.len() > 20_000 {
        errors.push(FieldError::too_many(&Path::new("ports"), ports.len(), 20_000));
        return errors;
    }
    for (index, port) in ports.iter().enumerate() {
        let path = Path::new("ports").index(index);
        let name = text(port, "name");
        if !name.is_empty() {
            errors.extend(named(names::dns_label, name, &path.child("name")));
        }
        if seen.contains(&name) {
            errors.push(FieldError::duplicate(&path.child("name"), name));
        }
        seen.push(name);
        errors.extend(one_of_or_unset(port, "protocol", &["SCTP", "TCP", "UDP"], &path));
        if let Some(protocol) = at(port, "appProtocol").as_str() {
            errors.extend(named(names::qualified_name, protocol, &path.child("appProtocol")));
        }
    }
    errors
}

fn endpoints(object: &Value) -> Errors {
    let root = Path::new("endpoints");
    let endpoints = list(object, "endpoints");
    if endpoints.len() > 1000 {
        return vec![FieldError::too_many(&root, endpoints.len(), 1000)];
    }
    let mut errors = Vec::new();
    for (index, endpoint) in endpoints.iter().enumerate() {
        let path = root.index(index);
        let found = texts(endpoint, "addresses");
        let place = path.child("addresses");
        if found.is_empty() {
            errors.push(FieldError::required(&place, "must contain at least 1 address"));
        } else if found.len() > 100 {
            errors.push(FieldError::too_many(&place, found.len(), 100));
        }
        for (index, address) in found.into_iter().enumerate() {
            errors.extend(one_address(text(object, "addressType"), address, index, &place));
        }
        if let Some(node) = at(endpoint, "nodeName").as_str() {
            errors.extend(named(names::dns_subdomain, node, &path.child("nodeName")));
        }
        if let Some(name) = at(endpoint, "hostname").as_str() {
            errors.extend(named(names::dns_label, name, &path.child("hostname")));
        }
        for (index, zone) in list(endpoint, "hints.forZones").iter().enumerate() {
            let path = path.child("hints").child("forZones").index(index).child("name");
            errors.extend(named(names::label_value, text(zone, "name"), &path));
        }
    }
    errors
}

fn one_address(kind: &str, address: &str, index: usize, path: &Path) -> Errors {
    let item = path.index(index);
    let (wrong, is_right_family, detail) = match kind {
        "IPv4" => (
            addresses::address(address, &item),
            matches!(addresses::parse_legacy(address), Some(IpAddr::V4(_))),
            "must be an IPv4 address",
        ),
        "IPv6" => (
            addresses::canonical_address(address, &item),
            matches!(addresses::parse_legacy(address), Some(IpAddr::V6(_))),
            "must be an IPv6 address",
        ),
        "FQDN" => return domain_name(address, &item),
        _ => return Vec::new(),
    };
    if !wrong.is_empty() {
        return wrong;
    }
    let mut errors = Vec::new();
    if !is_right_family {
        errors.push(FieldError::invalid(path, address, detail));
    }
    errors.extend(endpoint_address(address, &item));
    errors
}

fn domain_name(name: &str, path: &Path) -> Errors {
    if name.is_empty() {
        return vec![FieldError::required(path, "")];
    }
    let name = name.strip_suffix('.').unwrap_or(name);
    let wrong = names::dns_subdomain(name);
    if !wrong.is_empty() {
        return vec![FieldError::invalid(path, name, wrong.join(","))];
    }
    if !name.contains('.') {
        let detail = "should be a domain with at least two segments separated by dots";
        return vec![FieldError::invalid(path, name, detail)];
    }
    name.split('.')
        .find_map(|label| {
            let wrong = names::dns_label(label);
            (!wrong.is_empty()).then(|| FieldError::invalid(path, label, wrong.join(",")))
        })
        .into_iter()
        .collect()
}
