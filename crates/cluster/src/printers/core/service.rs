//! Services: addresses and ports.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde_json::Value;

use crate::metadata;
use crate::printer::{AGE, Column, Field, NAME, Printer};
use crate::printers::age::age;
use crate::printers::cell::{cells, labels, or};
use crate::value::{entries, list, number, text, texts};

pub(super) const PRINTER: Printer = Printer::new(COLUMNS, cells);

const COLUMNS: &[Column] = &[
    NAME,
    Column::string("Type", Field("core.v1.ServiceSpec", "type")),
    Column::string("Cluster-IP", Field("core.v1.ServiceSpec", "clusterIP")),
    Column::string("External-IP", Field("core.v1.ServiceSpec", "externalIPs")),
    Column::string("Port(s)", Field("core.v1.ServiceSpec", "ports")),
    AGE,
    Column::string("Selector", Field("core.v1.ServiceSpec", "selector")).wide(),
];

fn cells(object: &Value, now: Timestamp) -> Vec<Value> {
    cells![
        metadata::name(object),
        text(object, "spec.type"),
        texts(object, "spec.clusterIPs").first().copied().unwrap_or("<none>"),
        external(object),
        or(&ports(object), "<none>"),
        age(object, now),
        labels(entries(object, "spec.selector")),
    ]
}

/// The external addresses.
fn external(object: &Value) -> String {
    let given = texts(object, "spec.externalIPs").join(",");
    match text(object, "spec.type") {
        "ClusterIP" | "NodePort" => or(&given, "<none>").to_owned(),
        "LoadBalancer" => {
            let balancers: BTreeSet<&str> = list(object, "status.loadBalancer.ingress")
                .iter()
                .map(|point| or(text(point, "ip"), text(point, "hostname")))
                .filter(|point| !point.is_empty())
                .collect();
            let mut all: Vec<&str> = balancers.into_iter().collect();
            if !given.is_empty() {
                all.push(&given);
            }
            or(&all.join(","), "<pending>").to_owned()
        }
        "ExternalName" => text(object, "spec.externalName").to_owned(),
        _ => "<unknown>".to_owned(),
    }
}

fn ports(object: &Value) -> String {
    let ports: Vec<String> = list(object, "spec.ports")
        .iter()
        .map(|port| {
            let (own, node, protocol) =
                (number(port, "port"), number(port, "nodePort"), text(port, "protocol"));
            if node > 0 { format!("{own}:{node}/{protocol}") } else { format!("{own}/{protocol}") }
        })
        .collect();
    ports.join(",")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_outside_address_depends_on_the_type() {
        let balanced = json!({"loadBalancer": {"ingress": [
            {"ip": "192.0.2.9"}, {"hostname": "lb.example.com"}, {"ip": "192.0.2.1"}, {"ip": "192.0.2.9"},
        ]}});
        let cases = [
            (json!({"type": "ClusterIP"}), json!({}), "<none>"),
            (json!({"type": "NodePort", "externalIPs": ["a", "b"]}), json!({}), "a,b"),
            (json!({"type": "LoadBalancer"}), json!({}), "<pending>"),
            (
                json!({"type": "LoadBalancer"}),
                balanced.clone(),
                "192.0.2.1,192.0.2.9,lb.example.com",
            ),
            (
                json!({"type": "LoadBalancer", "externalIPs": ["a"]}),
                balanced,
                "192.0.2.1,192.0.2.9,lb.example.com,a",
            ),
            (
                json!({"type": "ExternalName", "externalName": "x.example.com"}),
                json!({}),
                "x.example.com",
            ),
            (json!({}), json!({}), "<unknown>"),
        ];
        for (spec, status, expected) in cases {
            assert_eq!(external(&json!({"spec": spec, "status": status})), expected, "{spec}");
        }
    }
}
