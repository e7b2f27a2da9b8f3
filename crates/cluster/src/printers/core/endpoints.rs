//! Endpoints: the first addresses.

use jiff::Timestamp;
use serde_json::Value;

use crate::metadata;
use crate::printer::{AGE, Column, Field, NAME, Printer};
use crate::printers::age::age;
use crate::printers::cell::{cells, with_more};
use crate::value::{list, number, text};

pub(super) const PRINTER: Printer = Printer::new(COLUMNS, cells);

const COLUMNS: &[Column] =
    &[NAME, Column::string("Endpoints", Field("core.v1.Endpoints", "subsets")), AGE];

/// The number of addresses that are shown.
const SHOWN: usize = 3;

fn cells(object: &Value, now: Timestamp) -> Vec<Value> {
    cells![metadata::name(object), addresses(object), age(object, now)]
}

fn addresses(object: &Value) -> String {
    let subsets = list(object, "subsets");
    if subsets.is_empty() {
        return "<none>".to_owned();
    }
    let mut found = Vec::new();
    for subset in subsets {
        let addresses = list(subset, "addresses").iter().map(|address| text(address, "ip"));
        let ports = list(subset, "ports");
        if ports.is_empty() {
            found.extend(addresses.map(str::to_owned));
        } else {
            for port in ports {
                let port = number(port, "port");
                found.extend(addresses.clone().map(|ip| {
                    if ip.contains(':') { format!("[{ip}]:{port}") } else { format!("{ip}:{port}") }
                }));
            }
        }
    }
    // Subsets without ready addresses print as nothing; no subsets as `<none>`.
    if found.is_empty() { String::new() } else { with_more(&found, SHOWN) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn three_addresses_are_shown_and_the_others_counted() {
        let ips = |ips: &[&str]| ips.iter().map(|ip| json!({"ip": ip})).collect::<Vec<_>>();
        let cases = [
            (json!([]), "<none>"),
            (json!([{"notReadyAddresses": ips(&["192.0.2.1"]), "ports": [{"port": 80}]}]), ""),
            (json!([{"addresses": ips(&["192.0.2.1"])}]), "192.0.2.1"),
            (
                json!([{"addresses": ips(&["2001:db8::1"]), "ports": [{"port": 80}]}]),
                "[2001:db8::1]:80",
            ),
            (
                json!([{
                    "addresses": ips(&["192.0.2.1", "192.0.2.2"]),
                    "ports": [{"port": 80}, {"port": 443}],
                }]),
                "192.0.2.1:80,192.0.2.2:80,192.0.2.1:443 + 1 more...",
            ),
        ];
        for (subsets, expected) in cases {
            assert_eq!(addresses(&json!({"subsets": subsets})), expected, "{subsets}");
        }
    }
}
