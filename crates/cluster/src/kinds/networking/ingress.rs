//! Ingress.

use serde_json::Value;
use sluice_schema::field::{FieldError, Path};

use super::ingress_class::typed_reference;
use crate::kind::{Context, Kind};
use crate::validation::{Errors, addresses, named, names, port_number};
use crate::value::{at, entries, list, number, present, text, texts};

const CLASS: &str = "kubernetes.io/ingress.class";

/// The hooks of Ingress.
pub(super) struct Ingress;

impl Kind for Ingress {
    fn validate(&self, _context: &Context<'_>, object: &Value) -> Errors {
        let mut errors = specification(at(object, "spec"), &Path::new("spec"));
        let annotation = entries(object, "metadata.annotations").get(CLASS).and_then(Value::as_str);
        if let (Some(annotation), Some(class)) =
            (annotation, at(object, "spec.ingressClassName").as_str())
            && annotation != class
        {
            errors.push(FieldError::invalid(
                &Path::new("annotations").child(CLASS),
                annotation,
                "must match `ingressClassName` when both are specified",
            ));
        }
        errors
    }

    fn validate_update(&self, _context: &Context<'_>, object: &Value, _old: &Value) -> Errors {
        specification(at(object, "spec"), &Path::new("spec"))
    }

    fn validate_status_update(
        &self,
        _context: &Context<'_>,
        object: &Value,
        _old: &Value,
    ) -> Errors {
        let mut errors = Vec::new();
        for (index, ingress) in list(object, "status.loadBalancer.ingress").iter().enumerate() {
            let path = Path::new("status").child("loadBalancer").child("ingress").index(index);
            let (address, name) = (text(ingress, "ip"), text(ingress, "hostname"));
            if !address.is_empty() {
                errors.extend(addresses::address(address, &path.child("ip")));
            }
            if !name.is_empty() {
                let path = path.child("hostname");
                errors.extend(named(names::dns_subdomain, name, &path));
                errors.extend(not_an_address(name, &path));
            }
        }
        errors
    }

    fn warnings(&self, object: &Value, old: Option<&Value>) -> Vec<String> {
        let annotated = entries(object, "metadata.annotations").contains_key(CLASS);
        if old.is_none() && annotated && !present(object, "spec.ingressClassName") {
            return vec![format!(
                "annotation \"{CLASS}\" is deprecated, please use 'spec.ingressClassName' instead"
            )];
        }
        Vec::new()
    }

    fn has_status(&self) -> bool {
        true
    }

    fn has_generation(&self) -> bool {
        true
    }
}

fn specification(spec: &Value, path: &Path) -> Errors {
    let mut errors = Vec::new();
    let rules = list(spec, "rules");
    let backend = at(spec, "defaultBackend");
    if rules.is_empty() && backend.is_null() {
        let detail = "either `defaultBackend` or `rules` must be specified";
        errors.push(FieldError::invalid(path, at(spec, "rules").clone(), detail));
    }
    if !backend.is_null() {
        errors.extend(self::backend(backend, &path.child("defaultBackend")));
    }
    for (index, rule) in rules.iter().enumerate() {
        let path = path.child("rules").index(index);
        let name = text(rule, "host");
        if !name.is_empty() {
            errors.extend(not_an_address(name, &path.child("host")));
            errors.extend(host(name, &path.child("host")));
        }
        if present(rule, "http") {
            errors.extend(paths(at(rule, "http"), &path.child("http").child("paths")));
        }
    }
    for (index, tls) in list(spec, "tls").iter().enumerate() {
        let path = path.child("tls").index(index);
        for (index, name) in texts(tls, "hosts").into_iter().enumerate() {
            errors.extend(host(name, &path.child("hosts").index(index)));
        }
        let secret = text(tls, "secretName");
        if !secret.is_empty() {
            errors.extend(named(names::dns_subdomain, secret, &path.child("secretName")));
        }
    }
    if let Some(class) = at(spec, "ingressClassName").as_str() {
        errors.extend(named(names::dns_subdomain, class, &path.child("ingressClassName")));
    }
    errors
}

fn host(name: &str, path: &Path) -> Errors {
    if name.contains('*') {
        named(names::wildcard_subdomain, name, path)
    } else {
        named(names::dns_subdomain, name, path)
    }
}

fn not_an_address(name: &str, path: &Path) -> Errors {
    if addresses::parse_legacy(name).is_some() {
        let detail = "must be a DNS name, not an IP address";
        return vec![FieldError::invalid(path, name, detail)];
    }
    Vec::new()
}

fn paths(http: &Value, path: &Path) -> Errors {
    let mut errors = Vec::new();
    if list(http, "paths").is_empty() {
        errors.push(FieldError::required(path, ""));
    }
    for (index, item) in list(http, "paths").iter().enumerate() {
        errors.extend(one_path(item, &path.index(index)));
    }
    errors
}

fn one_path(item: &Value, path: &Path) -> Errors {
    let mut errors = Vec::new();
    let (kind, route) = (at(item, "pathType"), text(item, "path"));
    let place = path.child("path");
    let absolute = |errors: &mut Errors| {
        if !route.starts_with('/') {
            errors.push(FieldError::invalid(&place, route, "must be an absolute path"));
        }
    };
    match kind.as_str() {
        None => {
            let detail = "pathType must be specified";
            return vec![FieldError::required(&path.child("pathType"), detail)];
        }
        Some("Exact" | "Prefix") => {
            absolute(&mut errors);
            for part in ["//", "/./", "/../", "%2f", "%2F"] {
                if route.contains(part) {
                    let detail = format!("must not contain '{part}'");
                    errors.push(FieldError::invalid(&place, route, detail));
                }
            }
            for end in ["/..", "/."] {
                if route.ends_with(end) {
                    let detail = format!("cannot end with '{end}'");
                    errors.push(FieldError::invalid(&place, route, detail));
                }
            }
        }
        Some("ImplementationSpecific") => {
            if !route.is_empty() {
                absolute(&mut errors);
            }
        }
        Some(other) => errors.push(FieldError::not_supported(
            &path.child("pathType"),
            other,
            &["Exact", "ImplementationSpecific", "Prefix"],
        )),
    }
    errors.extend(backend(at(item, "backend"), &path.child("backend")));
    errors
}

fn backend(backend: &Value, path: &Path) -> Errors {
    let (resource, service) = (at(backend, "resource"), at(backend, "service"));
    match (resource.is_null(), service.is_null()) {
        (false, false) => {
            let detail = "cannot set both resource and service backends";
            return vec![FieldError::invalid(path, "", detail)];
        }
        (true, true) => {
            let detail = "resource or service backend is required";
            return vec![FieldError::invalid(path, "", detail)];
        }
        (false, true) => return typed_reference(resource, &path.child("resource")),
        (true, false) => {}
    }
    let mut errors = Vec::new();
    let place = path.child("service");
    let name = text(service, "name");
    if name.is_empty() {
        errors.push(FieldError::required(&place.child("name"), ""));
    } else {
        errors.extend(named(names::dns_1035_label, name, &place.child("name")));
    }
    let (port_name, port) = (text(service, "port.name"), number(service, "port.number"));
    let place = place.child("port");
    match (port_name.is_empty(), port == 0) {
        (false, false) => {
            let detail = "cannot set both port name & port number";
            errors.push(FieldError::invalid(path, "", detail));
        }
        (false, true) => {
            errors.extend(named(names::port_name, port_name, &place.child("name")));
        }
        (true, false) => errors.extend(port_number(port, &place.child("number"))),
        (true, true) => {
            errors.push(FieldError::required(path, "port name or number is required"));
        }
    }
    errors
}
