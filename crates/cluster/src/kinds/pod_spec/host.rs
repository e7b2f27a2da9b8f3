//! Fields of a pod that concern its host: ports, names, DNS, namespaces, operating system.

use serde_json::Value;
use sluice_schema::field::{FieldError, Path};

use super::Place;
use crate::validation::{Errors, addresses, named, names};
use crate::value::{at, flag, list, number, present, text, texts};

/// Host ports that two containers request.
pub(super) fn port_conflicts(containers: &[Value], path: &Path) -> Errors {
    let mut errors = Vec::new();
    let mut taken: Vec<String> = Vec::new();
    for (index, container) in containers.iter().enumerate() {
        let path = path.index(index).child("ports");
        for (index, port) in list(container, "ports").iter().enumerate() {
            let number = number(port, "hostPort");
            if number == 0 {
                continue;
            }
            let key = format!("{}/{}/{number}", text(port, "protocol"), text(port, "hostIP"));
            if taken.contains(&key) {
                errors.push(FieldError::duplicate(&path.index(index).child("hostPort"), key));
            } else {
                taken.push(key);
            }
        }
    }
    errors
}

/// Requires host ports to equal container ports with `hostNetwork`.
pub(super) fn host_network_ports(spec: &Value, place: Place<'_>, path: &Path) -> Errors {
    let mut errors = Vec::new();
    if !flag(spec, "hostNetwork") {
        return errors;
    }
    for (index, container) in list(spec, "containers").iter().enumerate() {
        let path = path.index(index).child("ports");
        for (index, port) in list(container, "ports").iter().enumerate() {
            let host = number(port, "hostPort");
            if (place.is_pod || host != 0) && host != number(port, "containerPort") {
                errors.push(FieldError::invalid(
                    &path.index(index).child("hostPort"),
                    host,
                    "must match `containerPort` when `hostNetwork` is true",
                ));
            }
        }
    }
    errors
}

/// Validates host aliases.
pub(super) fn aliases(spec: &Value, path: &Path) -> Errors {
    let mut errors = Vec::new();
    for (index, alias) in list(spec, "hostAliases").iter().enumerate() {
        let path = path.index(index);
        errors.extend(addresses::address(text(alias, "ip"), &path.child("ip")));
        for (index, name) in texts(alias, "hostnames").into_iter().enumerate() {
            let path = path.child("hostnames").index(index);
            errors.extend(named(names::dns_subdomain, name, &path));
        }
    }
    errors
}

/// Validates the DNS configuration.
pub(super) fn dns_config(spec: &Value, path: &Path) -> Errors {
    let config = at(spec, "dnsConfig");
    let servers = texts(config, "nameservers");
    if text(spec, "dnsPolicy") == "None" {
        if config.is_null() {
            let detail = "must provide `dnsConfig` when `dnsPolicy` is None";
            return vec![FieldError::required(path, detail)];
        }
        if servers.is_empty() {
            let detail = "must provide at least one DNS nameserver when `dnsPolicy` is None";
            return vec![FieldError::required(&path.child("nameservers"), detail)];
        }
    }
    let mut errors = Vec::new();
    if servers.len() > 3 {
        errors.push(FieldError::invalid(
            &path.child("nameservers"),
            at(config, "nameservers").clone(),
            "must not have more than 3 nameservers",
        ));
    }
    for (index, server) in servers.into_iter().enumerate() {
        errors.extend(addresses::address(server, &path.child("nameservers").index(index)));
    }
    let searches = texts(config, "searches");
    let place = path.child("searches");
    let shown = || at(config, "searches").clone();
    if searches.len() > 32 {
        let detail = "must not have more than 32 search paths";
        errors.push(FieldError::invalid(&place, shown(), detail));
    }
    if searches.join(" ").len() > 2048 {
        let detail =
            "must not have more than 2048 characters (including spaces) in the search list";
        errors.push(FieldError::invalid(&place, shown(), detail));
    }
    for (index, search) in searches.into_iter().enumerate() {
        if search != "." {
            let search = search.strip_suffix('.').unwrap_or(search);
            errors.extend(named(names::dns_subdomain_with_underscore, search, &place.index(index)));
        }
    }
    for (index, option) in list(config, "options").iter().enumerate() {
        if text(option, "name").is_empty() {
            let path = path.child("options").index(index);
            errors.push(FieldError::required(&path, "must not be empty"));
        }
    }
    errors
}

/// Validates that a pod with its own user namespace shares no other namespace with the host.
pub(super) fn user_namespaces(spec: &Value, path: &Path) -> Errors {
    if at(spec, "hostUsers").as_bool() != Some(false) {
        return Vec::new();
    }
    [("hostNetwork", "hostNetwork"), ("hostPID", "HostPID"), ("hostIPC", "HostIPC")]
        .into_iter()
        .filter(|(field, _)| flag(spec, field))
        .map(|(_, shown)| FieldError::forbidden(&path.child(shown), "when `hostUsers` is false"))
        .collect()
}

/// Validates `os`.
pub(super) fn operating_system(spec: &Value, path: &Path) -> Errors {
    if !present(spec, "os") {
        return Vec::new();
    }
    let path = path.child("os");
    match text(spec, "os.name") {
        "" => vec![FieldError::required(&path.child("name"), "")],
        "linux" | "windows" => Vec::new(),
        other => vec![FieldError::not_supported(&path, other, &["linux", "windows"])],
    }
}
