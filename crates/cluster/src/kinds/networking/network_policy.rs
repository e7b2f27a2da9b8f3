//! NetworkPolicy.

use serde_json::Value;
use sluice_schema::field::{FieldError, Path};

use crate::kind::{Context, Kind};
use crate::validation::{Errors, addresses, labels, named, names, one_of_or_unset, port_number};
use crate::value::{at, fill_absent, int, list, list_mut, present, set, text, texts};

const SIDES: [(&str, &str); 2] = [("ingress", "from"), ("egress", "to")];

/// The hooks of NetworkPolicy.
pub(super) struct NetworkPolicy;

impl Kind for NetworkPolicy {
    fn default(&self, object: &mut Value) {
        if list(object, "spec.policyTypes").is_empty() {
            let mut types = vec![Value::from("Ingress")];
            if !list(object, "spec.egress").is_empty() {
                types.push("Egress".into());
            }
            set(object, "spec.policyTypes", types);
        }
        for (side, _) in SIDES {
            for rule in list_mut(object, &format!("spec.{side}")) {
                for port in list_mut(rule, "ports") {
                    fill_absent(port, "protocol", "TCP");
                }
            }
        }
    }

    fn validate(&self, _context: &Context<'_>, object: &Value) -> Errors {
        let path = Path::new("spec");
        let spec = at(object, "spec");
        let mut errors = labels::selector(at(spec, "podSelector"), &path.child("podSelector"));
        for (side, peers) in SIDES {
            for (index, rule) in list(spec, side).iter().enumerate() {
                let path = path.child(side).index(index);
                for (index, item) in list(rule, "ports").iter().enumerate() {
                    errors.extend(port(item, &path.child("ports").index(index)));
                }
                for (index, item) in list(rule, peers).iter().enumerate() {
                    errors.extend(peer(item, &path.child(peers).index(index)));
                }
            }
        }
        let types = texts(spec, "policyTypes");
        let place = path.child("policyTypes");
        if types.len() > 2 {
            let detail = "may not specify more than two policyTypes";
            errors.push(FieldError::invalid(&place, at(spec, "policyTypes").clone(), detail));
            return errors;
        }
        for (index, kind) in types.into_iter().enumerate() {
            if !["Ingress", "Egress"].contains(&kind) {
                let place = place.index(index);
                errors.push(FieldError::not_supported(&place, kind, &["Ingress", "Egress"]));
            }
        }
        errors
    }

    fn validate_update(&self, context: &Context<'_>, object: &Value, _old: &Value) -> Errors {
        // Upstream validates twice.
        let mut errors = self.validate(context, object);
        errors.extend(self.validate(context, object));
        errors
    }

    fn warnings(&self, object: &Value, _old: Option<&Value>) -> Vec<String> {
        let mut warnings = Vec::new();
        for (side, peers) in SIDES {
            for (index, rule) in list(object, &format!("spec.{side}")).iter().enumerate() {
                let path = Path::new("spec").child(side).index(index);
                for (index, peer) in list(rule, peers).iter().enumerate() {
                    let path = path.child(peers).index(index).child("ipBlock");
                    let range = text(peer, "ipBlock.cidr");
                    warnings.extend(addresses::network_warnings(range, &path.child("cidr")));
                    for (index, range) in texts(peer, "ipBlock.except").into_iter().enumerate() {
                        let path = path.child("except").index(index);
                        warnings.extend(addresses::network_warnings(range, &path));
                    }
                }
            }
        }
        warnings
    }

    fn has_generation(&self) -> bool {
        true
    }
}

fn port(item: &Value, path: &Path) -> Errors {
    let mut errors = one_of_or_unset(item, "protocol", &["TCP", "UDP", "SCTP"], path);
    let end = int(item, "endPort");
    let place = path.child("endPort");
    match at(item, "port") {
        Value::Null => {
            if let Some(end) = end {
                let detail = "may not be specified when `port` is not specified";
                errors.push(FieldError::invalid(&place, end, detail));
            }
        }
        Value::String(name) => {
            if let Some(end) = end {
                let detail = "may not be specified when `port` is non-numeric";
                errors.push(FieldError::invalid(&place, end, detail));
            }
            errors.extend(named(names::port_name, name, &path.child("port")));
        }
        number => {
            let number = number.as_i64().unwrap_or_default();
            errors.extend(port_number(number, &path.child("port")));
            if let Some(end) = end {
                if end < number {
                    let detail = "must be greater than or equal to `port`";
                    errors.push(FieldError::invalid(&place, number, detail));
                }
                errors.extend(port_number(end, &place));
            }
        }
    }
    errors
}

fn peer(item: &Value, path: &Path) -> Errors {
    let mut errors = Vec::new();
    let mut peers = 0;
    for name in ["podSelector", "namespaceSelector"] {
        if present(item, name) {
            peers += 1;
            errors.extend(labels::selector(at(item, name), &path.child(name)));
        }
    }
    let block = at(item, "ipBlock");
    if !block.is_null() {
        peers += 1;
        errors.extend(address_block(block, &path.child("ipBlock")));
    }
    if peers == 0 {
        errors.push(FieldError::required(path, "must specify a peer"));
    } else if peers > 1 && !block.is_null() {
        let detail = "may not specify both ipBlock and another peer";
        errors.push(FieldError::forbidden(path, detail));
    }
    errors
}

fn address_block(block: &Value, path: &Path) -> Errors {
    let range = text(block, "cidr");
    if range.is_empty() {
        return vec![FieldError::required(&path.child("cidr"), "")];
    }
    let mut errors = addresses::network(range, &path.child("cidr"));
    let Some(network) = addresses::parse_network(range) else { return errors };
    for (index, except) in texts(block, "except").into_iter().enumerate() {
        let path = path.child("except").index(index);
        errors.extend(addresses::network(except, &path));
        let Some((address, length)) = addresses::parse_network(except) else { continue };
        let first = addresses::masked(address, length);
        if !addresses::contains(network, first) || network.1 >= length {
            let detail = "must be a strict subset of `cidr`";
            errors.push(FieldError::invalid(&path, except, detail));
        }
    }
    errors
}
