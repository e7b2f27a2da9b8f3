//! Ingresses: class, hosts and addresses.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde_json::Value;

use crate::metadata;
use crate::printer::{AGE, Column, Literal, NAME, Printer};
use crate::printers::age::age;
use crate::printers::cell::{cells, or, text_or};
use crate::value::{list, text};

pub(super) const PRINTER: Printer = Printer::new(COLUMNS, cells);

const COLUMNS: &[Column] = &[
    NAME,
    Column::string(
        "Class",
        Literal(
            "The name of the IngressClass resource that should be used for additional configuration",
        ),
    ),
    Column::string(
        "Hosts",
        Literal("Hosts that incoming requests are matched against before the ingress rule"),
    ),
    Column::string(
        "Address",
        Literal("Address is a list containing ingress points for the load-balancer"),
    ),
    Column::string("Ports", Literal("Ports of TLS configurations that open")),
    AGE,
];

/// The number of hosts that are shown.
const SHOWN: usize = 3;

fn cells(object: &Value, now: Timestamp) -> Vec<Value> {
    let addresses: BTreeSet<&str> = list(object, "status.loadBalancer.ingress")
        .iter()
        .map(|point| or(text(point, "ip"), text(point, "hostname")))
        .filter(|point| !point.is_empty())
        .collect();
    cells![
        metadata::name(object),
        text_or(object, "spec.ingressClassName", "<none>"),
        hosts(object),
        addresses.into_iter().collect::<Vec<_>>().join(","),
        if list(object, "spec.tls").is_empty() { "80" } else { "80, 443" },
        age(object, now),
    ]
}

fn hosts(object: &Value) -> String {
    let rules = list(object, "spec.rules");
    let named = |(_, rule): &(usize, &Value)| !text(rule, "host").is_empty();
    let shown: Vec<(usize, &Value)> = rules.iter().enumerate().filter(named).take(SHOWN).collect();
    let hosts = shown.iter().map(|(_, rule)| text(rule, "host")).collect::<Vec<_>>().join(",");
    match shown.get(SHOWN - 1) {
        // As upstream does, rules without a host are counted among the others.
        Some((last, _)) if last + 1 < rules.len() => {
            format!("{hosts} + {} more...", rules.len() - SHOWN)
        }
        _ => or(&hosts, "*").to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn three_hosts_are_shown_and_the_other_rules_counted() {
        let cases = [
            (json!([]), "*"),
            (json!([{}]), "*"),
            (json!([{"host": "a"}, {}]), "a"),
            (json!([{"host": "a"}, {"host": "b"}, {"host": "c"}]), "a,b,c"),
            (json!([{"host": "a"}, {}, {"host": "b"}, {"host": "c"}, {}]), "a,b,c + 2 more..."),
        ];
        for (rules, expected) in cases {
            assert_eq!(hosts(&json!({"spec": {"rules": rules}})), expected, "{rules}");
        }
    }
}
