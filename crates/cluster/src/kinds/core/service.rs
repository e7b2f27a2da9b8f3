//! Service.

use std::borrow::Cow;

use serde_json::{Value, json};

use crate::kind::{Context, Kind, NameRule};
use crate::status::Status;
use crate::validation::{Errors, addresses};
use crate::value::{
    at, entries, fill, fill_absent, is_zero, list, list_mut, number, present, remove, set, text,
    texts,
};

mod allocate;
mod validate;

/// The hooks of Service.
pub(super) struct Service;

impl Kind for Service {
    fn default(&self, object: &mut Value) {
        fill(object, "spec.sessionAffinity", "None");
        match text(object, "spec.sessionAffinity") {
            "None" => {
                remove(object, "spec.sessionAffinityConfig");
            }
            "ClientIP"
                if !present(object, "spec.sessionAffinityConfig.clientIP.timeoutSeconds") =>
            {
                let config = json!({"clientIP": {"timeoutSeconds": 10800}});
                set(object, "spec.sessionAffinityConfig", config);
            }
            _ => {}
        }
        fill(object, "spec.type", "ClusterIP");
        for port in list_mut(object, "spec.ports") {
            fill(port, "protocol", "TCP");
            if is_zero(at(port, "targetPort")) {
                let number = number(port, "port");
                set(port, "targetPort", number);
            }
        }
        if externally_accessible(object) {
            fill(object, "spec.externalTrafficPolicy", "Cluster");
        }
        let has_traffic =
            ["ClusterIP", "NodePort", "LoadBalancer"].contains(&text(object, "spec.type"));
        if has_traffic {
            fill_absent(object, "spec.internalTrafficPolicy", "Cluster");
        }
        if text(object, "spec.type") == "LoadBalancer" {
            fill(object, "spec.allocateLoadBalancerNodePorts", true);
            for ingress in list_mut(object, "status.loadBalancer.ingress") {
                if !text(ingress, "ip").is_empty() {
                    fill(ingress, "ipMode", "VIP");
                }
            }
        }
    }

    fn prepare_create(&self, context: &Context<'_>, object: &mut Value) -> Result<(), Status> {
        set(object, "status", json!({"loadBalancer": {}}));
        allocate::create(context, object)
    }

    fn prepare_update(
        &self,
        context: &Context<'_>,
        object: &mut Value,
        old: &Value,
    ) -> Result<(), Status> {
        allocate::update(context, object, old)?;
        drop_fields_of_the_old_type(object, old);
        Ok(())
    }

    fn validate(&self, _context: &Context<'_>, object: &Value) -> Errors {
        validate::service(object)
    }

    fn validate_update(&self, _context: &Context<'_>, object: &Value, old: &Value) -> Errors {
        let mut errors = validate::changes(object, old);
        errors.extend(validate::service(object));
        errors
    }

    fn validate_status_update(
        &self,
        _context: &Context<'_>,
        object: &Value,
        _old: &Value,
    ) -> Errors {
        validate::status(object)
    }

    fn warnings(&self, object: &Value, _old: Option<&Value>) -> Vec<String> {
        warnings(object)
    }

    fn name_rule(&self) -> NameRule {
        NameRule::Label1035
    }

    fn allows_create_on_update(&self) -> bool {
        true
    }

    fn has_status(&self) -> bool {
        true
    }

    fn selectable_fields(&self, object: &Value) -> Vec<(Cow<'static, str>, String)> {
        ["spec.clusterIP", "spec.type"]
            .into_iter()
            .map(|name| (name.into(), text(object, name).to_owned()))
            .collect()
    }
}

fn kind_of(service: &Value) -> &str {
    text(service, "spec.type")
}

fn is_headless(service: &Value) -> bool {
    texts(service, "spec.clusterIPs") == ["None"]
}

fn needs_node_ports(service: &Value) -> bool {
    matches!(kind_of(service), "NodePort" | "LoadBalancer")
}

fn needs_health_port(service: &Value) -> bool {
    kind_of(service) == "LoadBalancer" && text(service, "spec.externalTrafficPolicy") == "Local"
}

fn externally_accessible(service: &Value) -> bool {
    needs_node_ports(service)
        || (kind_of(service) == "ClusterIP" && !list(service, "spec.externalIPs").is_empty())
}

/// Removes fields of the old type when the type changes, unless they were changed as well.
fn drop_fields_of_the_old_type(object: &mut Value, old: &Value) {
    let same = |object: &Value, path: &str| crate::value::same(at(object, path), at(old, path));
    if kind_of(old) != "ExternalName" && kind_of(object) == "ExternalName" {
        if same(object, "spec.clusterIPs") && same(object, "spec.clusterIP") {
            remove(object, "spec.clusterIP");
            remove(object, "spec.clusterIPs");
        }
        for path in ["spec.ipFamilies", "spec.ipFamilyPolicy"] {
            if same(object, path) {
                remove(object, path);
            }
        }
    }
    if needs_node_ports(old) && !needs_node_ports(object) {
        let before: Vec<i64> =
            list(old, "spec.ports").iter().map(|port| number(port, "nodePort")).collect();
        let kept = list(object, "spec.ports").iter().all(|port| {
            let number = number(port, "nodePort");
            number == 0 || before.contains(&number)
        });
        if kept {
            for port in list_mut(object, "spec.ports") {
                remove(port, "nodePort");
            }
        }
    }
    if needs_health_port(old) && !needs_health_port(object) && same(object, HEALTH_PORT) {
        remove(object, HEALTH_PORT);
    }
    if kind_of(old) == "LoadBalancer" && kind_of(object) != "LoadBalancer" {
        for path in ["spec.allocateLoadBalancerNodePorts", "spec.loadBalancerClass"] {
            if same(object, path) {
                remove(object, path);
            }
        }
    }
    if externally_accessible(old)
        && !externally_accessible(object)
        && same(object, "spec.externalTrafficPolicy")
    {
        remove(object, "spec.externalTrafficPolicy");
    }
    if kind_of(object) != "LoadBalancer" {
        set(object, "status.loadBalancer", json!({}));
    }
}

const HEALTH_PORT: &str = "spec.healthCheckNodePort";

fn warnings(object: &Value) -> Vec<String> {
    let mut warnings = Vec::new();
    if entries(object, "metadata.annotations")
        .contains_key("service.kubernetes.io/topology-aware-hints")
    {
        warnings.push("annotation service.kubernetes.io/topology-aware-hints is deprecated, please use service.kubernetes.io/topology-mode instead".to_owned());
    }
    let path = sluice_schema::field::Path::new("spec");
    for (index, address) in texts(object, "spec.clusterIPs").into_iter().enumerate() {
        let path = path.child("clusterIPs").index(index);
        warnings.extend(addresses::address_warning(address, &path));
    }
    if kind_of(object) == "ClusterIP" && text(object, "spec.clusterIP") == "None" {
        let ignored = [
            (!text(object, "spec.loadBalancerIP").is_empty(), "spec.loadBalancerIP"),
            (!list(object, "spec.externalIPs").is_empty(), "spec.externalIPs"),
            (text(object, "spec.sessionAffinity") != "None", "spec.SessionAffinity"),
        ];
        for (_, name) in ignored.into_iter().filter(|(given, _)| *given) {
            warnings.push(format!("{name} is ignored for headless services"));
        }
    }
    for (index, address) in texts(object, "spec.externalIPs").into_iter().enumerate() {
        let path = path.child("externalIPs").index(index);
        warnings.extend(addresses::address_warning(address, &path));
    }
    let address = text(object, "spec.loadBalancerIP");
    warnings.extend(addresses::address_warning(address, &path.child("loadBalancerIP")));
    for (index, range) in texts(object, "spec.loadBalancerSourceRanges").into_iter().enumerate() {
        let path = path.child("loadBalancerSourceRanges").index(index);
        warnings.extend(addresses::network_warnings(range, &path));
    }
    let is_name = kind_of(object) == "ExternalName";
    if is_name && !list(object, "spec.externalIPs").is_empty() {
        warnings.push(r#"spec.externalIPs is ignored when spec.type is "ExternalName""#.to_owned());
    }
    if !is_name && !text(object, "spec.externalName").is_empty() {
        warnings.push(
            r#"spec.externalName is ignored when spec.type is not "ExternalName""#.to_owned(),
        );
    }
    if text(object, "spec.trafficDistribution") == "PreferClose" {
        warnings.push(
            r#"spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone""#
                .to_owned(),
        );
    }
    warnings
}
