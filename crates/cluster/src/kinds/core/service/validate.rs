//! Validation of a Service and of its changes.

use std::net::IpAddr;

use serde_json::Value;
use sluice_schema::field::{FieldError, Path};

use super::{HEALTH_PORT, externally_accessible, is_headless, kind_of, needs_health_port};
use crate::kinds::core::endpoints::endpoint_address;
use crate::kinds::pod_spec::port_number_or_name;
use crate::validation::{
    Errors, addresses, labels, named, names, one_of, one_of_or_unset, port_number,
};
use crate::value::{at, entries, int, list, number, present, text, texts};

/// Validates a Service.
pub(super) fn service(object: &Value) -> Errors {
    let path = Path::new("spec");
    let spec = at(object, "spec");
    let kind = kind_of(object);
    let mut errors = Vec::new();
    let ports = list(spec, "ports");
    if ports.is_empty() && !is_headless(object) && kind != "ExternalName" {
        errors.push(FieldError::required(&path.child("ports"), ""));
    }
    errors.extend(type_rules(object, &path));
    errors.extend(each_port(object, &path.child("ports")));
    errors.extend(labels::labels(at(spec, "selector"), &path.child("selector")));
    errors.extend(one_of(spec, "sessionAffinity", &["ClientIP", "None"], &path));
    if text(spec, "sessionAffinity") == "ClientIP"
        && let Some(seconds) = int(spec, "sessionAffinityConfig.clientIP.timeoutSeconds")
        && !(1..=86400).contains(&seconds)
    {
        let place = path.child("sessionAffinityConfig").child("clientIP").child("timeoutSeconds");
        let detail = "must be greater than 0 and less than 86400";
        errors.push(FieldError::invalid(&place, seconds, detail));
    }
    errors.extend(addresses_and_families(object));
    for (index, address) in texts(spec, "externalIPs").into_iter().enumerate() {
        let path = path.child("externalIPs").index(index);
        let wrong = addresses::address(address, &path);
        if wrong.is_empty() {
            errors.extend(endpoint_address(address, &path));
        }
        errors.extend(wrong);
    }
    let types = ["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"];
    errors.extend(one_of(spec, "type", &types, &path));
    errors.extend(port_sets(ports, kind, &path.child("ports")));
    errors.extend(source_ranges(object, &path));
    if present(spec, "allocateLoadBalancerNodePorts") && kind != "LoadBalancer" {
        errors.push(only_for_load_balancers(&path.child("allocateLoadBalancerNodePorts")));
    }
    errors.extend(class(object, &path));
    errors.extend(traffic(object, &path));
    let distributions = ["PreferClose", "PreferSameZone", "PreferSameNode"];
    errors.extend(one_of_or_unset(spec, "trafficDistribution", &distributions, &path));
    errors
}

fn only_for_load_balancers(path: &Path) -> FieldError {
    FieldError::forbidden(path, "may only be used when `type` is 'LoadBalancer'")
}

fn type_rules(object: &Value, path: &Path) -> Errors {
    let spec = at(object, "spec");
    let kind = kind_of(object);
    let mut errors = Vec::new();
    match kind {
        "LoadBalancer" | "NodePort" if is_headless(object) => errors.push(FieldError::invalid(
            &path.child("clusterIPs").index(0),
            "None",
            format!("may not be set to 'None' for {kind} services"),
        )),
        "ExternalName" => {
            for name in ["clusterIPs", "ipFamilies", "ipFamilyPolicy"] {
                if present(spec, name) && !crate::value::is_zero(at(spec, name)) {
                    let detail = "may not be set for ExternalName services";
                    errors.push(FieldError::forbidden(&path.child(name), detail));
                }
            }
            let name = text(spec, "externalName");
            let name = name.strip_suffix('.').unwrap_or(name);
            let path = path.child("externalName");
            if name.is_empty() {
                errors.push(FieldError::required(&path, ""));
            } else {
                errors.extend(named(names::dns_subdomain, name, &path));
            }
        }
        _ => {}
    }
    errors
}

fn each_port(object: &Value, path: &Path) -> Errors {
    let ports = list(object, "spec.ports");
    let mut errors = Vec::new();
    let mut seen = Vec::new();
    for (index, port) in ports.iter().enumerate() {
        let path = path.index(index);
        let name = text(port, "name");
        if name.is_empty() {
            if ports.len() > 1 {
                errors.push(FieldError::required(&path.child("name"), ""));
            }
        } else {
            errors.extend(named(names::dns_label, name, &path.child("name")));
            if seen.contains(&name) {
                errors.push(FieldError::duplicate(&path.child("name"), name));
            } else {
                seen.push(name);
            }
        }
        errors.extend(port_number(number(port, "port"), &path.child("port")));
        errors.extend(one_of(port, "protocol", &["SCTP", "TCP", "UDP"], &path));
        errors.extend(port_number_or_name(at(port, "targetPort"), &path.child("targetPort")));
        if let Some(protocol) = at(port, "appProtocol").as_str() {
            errors.extend(named(names::qualified_name, protocol, &path.child("appProtocol")));
        }
    }
    errors
}

fn port_sets(ports: &[Value], kind: &str, path: &Path) -> Errors {
    let mut errors = Vec::new();
    if kind == "ClusterIP" {
        for (index, port) in ports.iter().enumerate() {
            if number(port, "nodePort") != 0 {
                errors.push(FieldError::forbidden(
                    &path.index(index).child("nodePort"),
                    "may not be used when `type` is 'ClusterIP'",
                ));
            }
        }
    }
    let earlier = |index: usize, name: &str| {
        ports[..index].iter().any(|other| {
            text(other, "protocol") == text(&ports[index], "protocol")
                && number(other, name) == number(&ports[index], name)
        })
    };
    for (index, port) in ports.iter().enumerate() {
        let number = number(port, "nodePort");
        if number != 0 && earlier(index, "nodePort") {
            errors.push(FieldError::duplicate(&path.index(index).child("nodePort"), number));
        }
    }
    for (index, port) in ports.iter().enumerate() {
        if earlier(index, "port") {
            let mut error = FieldError::duplicate(&path.index(index), Value::Null);
            error.value = None;
            error.detail = format!(
                "{{\"Name\":\"\",\"Protocol\":\"{}\",\"AppProtocol\":null,\"Port\":{},\"TargetPort\":0,\"NodePort\":0}}",
                text(port, "protocol"),
                number(port, "port")
            );
            errors.push(error);
        }
    }
    errors
}

/// Validates the addresses and families that a Service wants.
pub(super) fn addresses_and_families(object: &Value) -> Errors {
    let mut errors = Vec::new();
    if kind_of(object) == "ExternalName" {
        return errors;
    }
    let path = Path::new("spec");
    let spec = at(object, "spec");
    let (address, all) = (text(spec, "clusterIP"), texts(spec, "clusterIPs"));
    let place = path.child("clusterIPs");
    let wrong = |detail: &str| FieldError::invalid(&place, at(spec, "clusterIPs").clone(), detail);
    if address.is_empty() {
        if !all.is_empty() {
            errors.push(wrong("must be empty when `clusterIP` is not specified"));
        }
    } else if all.is_empty() {
        errors.push(FieldError::required(&place, ""));
    } else if all[0] != address {
        errors.push(wrong("first value must match `clusterIP`"));
    }
    let families = texts(spec, "ipFamilies");
    for (index, family) in families.iter().enumerate() {
        let path = path.child("ipFamilies").index(index);
        if !["IPv4", "IPv6"].contains(family) {
            errors.push(FieldError::not_supported(&path, *family, &["IPv4", "IPv6"]));
        }
        if families[..index].contains(family) {
            errors.push(FieldError::duplicate(&path, *family));
        }
    }
    let policies = ["PreferDualStack", "RequireDualStack", "SingleStack"];
    errors.extend(one_of_or_unset(spec, "ipFamilyPolicy", &policies, &path));
    let mut bad = false;
    for (index, address) in all.iter().enumerate() {
        if index == 0 && *address == "None" {
            if all.len() > 1 {
                bad = true;
                errors.push(wrong("'None' must be the first and only value"));
            }
            continue;
        }
        let found = addresses::address(address, &place.index(index));
        bad |= !found.is_empty();
        errors.extend(found);
    }
    if all.len() > 2 {
        errors.push(wrong("may only hold up to 2 values"));
    }
    if bad {
        return errors;
    }
    let is_v6 = |address: &str| matches!(addresses::parse_legacy(address), Some(IpAddr::V6(_)));
    if all.len() > 1 && all.iter().all(|address| is_v6(address) == is_v6(all[0])) {
        errors.push(wrong("may specify no more than one IP for each IP family"));
    }
    if !is_headless(object) {
        for (index, (address, family)) in all.iter().zip(&families).enumerate() {
            if (*family == "IPv6") != is_v6(address) && ["IPv4", "IPv6"].contains(family) {
                errors.push(FieldError::invalid(
                    &place.index(index),
                    *address,
                    format!("expected an {family} value as indicated by `ipFamilies[{index}]`"),
                ));
            }
        }
    }
    errors
}

fn source_ranges(object: &Value, path: &Path) -> Errors {
    let mut errors = Vec::new();
    let ranges = texts(object, "spec.loadBalancerSourceRanges");
    let annotation = "service.beta.kubernetes.io/load-balancer-source-ranges";
    let is_balancer = kind_of(object) == "LoadBalancer";
    if !ranges.is_empty() {
        let path = path.child("LoadBalancerSourceRanges");
        if !is_balancer {
            errors.push(only_for_load_balancers(&path));
        }
        for (index, range) in ranges.into_iter().enumerate() {
            errors.extend(addresses::network(range.trim(), &path.index(index)));
        }
    } else if let Some(ranges) = entries(object, "metadata.annotations").get(annotation) {
        let path = Path::new("metadata").child("annotations").key(annotation);
        if !is_balancer {
            errors.push(only_for_load_balancers(&path));
        }
        let ranges = ranges.as_str().unwrap_or_default().trim();
        for range in ranges.split(',').filter(|_| !ranges.is_empty()) {
            errors.extend(addresses::network(range.trim(), &path));
        }
    }
    errors
}

fn class(object: &Value, path: &Path) -> Errors {
    let path = path.child("loadBalancerClass");
    match at(object, "spec.loadBalancerClass").as_str() {
        None => Vec::new(),
        Some(class) if kind_of(object) == "LoadBalancer" => {
            named(names::qualified_name, class, &path)
        }
        Some(_) => vec![only_for_load_balancers(&path)],
    }
}

fn traffic(object: &Value, path: &Path) -> Errors {
    let spec = at(object, "spec");
    let mut errors = Vec::new();
    let policy = text(spec, "externalTrafficPolicy");
    if externally_accessible(object) {
        errors.extend(one_of(spec, "externalTrafficPolicy", &["Cluster", "Local"], path));
    } else if !policy.is_empty() {
        errors.push(FieldError::invalid(
            &path.child("externalTrafficPolicy"),
            policy,
            "may only be set for externally-accessible services",
        ));
    }
    let port = number(object, HEALTH_PORT);
    let place = path.child("healthCheckNodePort");
    if needs_health_port(object) {
        errors.extend(port_number(port, &place));
    } else if port != 0 {
        let detail =
            "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'";
        errors.push(FieldError::invalid(&place, port, detail));
    }
    errors.extend(one_of_or_unset(spec, "internalTrafficPolicy", &["Cluster", "Local"], path));
    errors
}

/// Validates the fields that may not change.
pub(super) fn changes(object: &Value, old: &Value) -> Errors {
    let path = Path::new("spec");
    let mut errors = Vec::new();
    let involves_name = [object, old].iter().any(|service| kind_of(service) == "ExternalName");
    let (headless, was_headless) = (is_headless(object), is_headless(old));
    if !(involves_name || headless && was_headless) {
        let (now, before) = (texts(object, "spec.clusterIPs"), texts(old, "spec.clusterIPs"));
        let place = path.child("clusterIPs");
        let wrong = |index: usize, detail: &str| {
            let shown = at(object, "spec.clusterIPs").clone();
            FieldError::invalid(&place.index(index), shown, detail)
        };
        if now.len() == before.len() {
            for (index, address) in before.iter().enumerate() {
                if *address != now[index] {
                    errors.push(wrong(index, "may not change once set"));
                }
            }
        } else if now.is_empty() {
            errors.push(wrong(0, "primary clusterIP can not be unset"));
        } else if before.first().is_some_and(|address| *address != now[0]) {
            errors.push(wrong(0, "may not change once set"));
        }
    }
    if !involves_name && !headless && !was_headless {
        let (now, before) = (texts(object, "spec.ipFamilies"), texts(old, "spec.ipFamilies"));
        let shared = now.len().min(before.len());
        for _ in (0..shared).filter(|index| now[*index] != before[*index]) {
            errors.push(FieldError::invalid(
                &path.child("ipFamilies").index(0),
                at(object, "spec.ipFamilies").clone(),
                "may not change once set",
            ));
        }
    }
    let class = "spec.loadBalancerClass";
    let place = path.child("loadBalancerClass");
    if kind_of(object) == "LoadBalancer"
        && kind_of(old) == "LoadBalancer"
        && at(object, class) != at(old, class)
    {
        let detail = "may not change once set";
        errors.push(FieldError::invalid(&place, at(object, class).clone(), detail));
    }
    errors.extend(self::class(object, &path));
    if needs_health_port(old)
        && needs_health_port(object)
        && number(object, HEALTH_PORT) != number(old, HEALTH_PORT)
    {
        let place = path.child("healthCheckNodePort");
        errors.push(FieldError::forbidden(&place, "field is immutable"));
    }
    errors
}

/// Validates the addresses of a load balancer.
pub(super) fn status(object: &Value) -> Errors {
    let path = Path::new("status").child("loadBalancer").child("ingress");
    let ingresses = list(object, "status.loadBalancer.ingress");
    if kind_of(object) != "LoadBalancer" && !ingresses.is_empty() {
        let detail = "may only be used when `spec.type` is 'LoadBalancer'";
        return vec![FieldError::forbidden(&path, detail)];
    }
    let mut errors = Vec::new();
    for (index, ingress) in ingresses.iter().enumerate() {
        let path = path.index(index);
        let (address, name) = (text(ingress, "ip"), text(ingress, "hostname"));
        if !address.is_empty() {
            errors.extend(addresses::address(address, &path.child("ip")));
        }
        let mode = path.child("ipMode");
        if !present(ingress, "ipMode") {
            if !address.is_empty() {
                errors.push(FieldError::required(&mode, "must be specified when `ip` is set"));
            }
        } else if address.is_empty() {
            let detail = "may not be specified when `ip` is not set";
            errors.push(FieldError::forbidden(&mode, detail));
        } else {
            errors.extend(one_of_or_unset(ingress, "ipMode", &["Proxy", "VIP"], &path));
        }
        if !name.is_empty() {
            let path = path.child("hostname");
            errors.extend(named(names::dns_subdomain, name, &path));
            if addresses::parse_legacy(name).is_some() {
                let detail = "must be a DNS name, not an IP address";
                errors.push(FieldError::invalid(&path, name, detail));
            }
        }
    }
    errors
}
