//! EndpointSlices: the first ports and addresses.

use jiff::Timestamp;
use serde_json::Value;

use crate::metadata;
use crate::printer::{AGE, Column, Field, Literal, NAME, Printer};
use crate::printers::age::age;
use crate::printers::cell::{cells, text_or, with_more};
use crate::value::{int, list, text, texts};

pub(super) const PRINTER: Printer = Printer::new(COLUMNS, cells);

const COLUMNS: &[Column] = &[
    NAME,
    Column::string(
        "AddressType",
        Literal(
            "addressType specifies the type of address carried by this EndpointSlice. All addresses in this slice must be the same type. This field is immutable after creation. The following address types are currently supported: * IPv4: Represents an IPv4 Address. * IPv6: Represents an IPv6 Address. * FQDN: Represents a Fully Qualified Domain Name.",
        ),
    ),
    Column::string(
        "Ports",
        Literal(
            "ports specifies the list of network ports exposed by each endpoint in this slice. Each port must have a unique name. When ports is empty, it indicates that there are no defined ports. When a port is defined with a nil port value, it indicates \"all ports\". Each slice may include a maximum of 100 ports.",
        ),
    ),
    Column::string("Endpoints", Field("discovery.v1.EndpointSlice", "endpoints")),
    AGE,
];

/// The number of ports and addresses that are shown.
const SHOWN: usize = 3;

fn cells(object: &Value, now: Timestamp) -> Vec<Value> {
    let ports: Vec<String> = list(object, "ports")
        .iter()
        .map(|port| match int(port, "port") {
            Some(number) => number.to_string(),
            None => text_or(port, "name", "*").to_owned(),
        })
        .collect();
    let addresses: Vec<String> = list(object, "endpoints")
        .iter()
        .flat_map(|endpoint| texts(endpoint, "addresses"))
        .map(str::to_owned)
        .collect();
    cells![
        metadata::name(object),
        text(object, "addressType"),
        with_more(&ports, SHOWN),
        with_more(&addresses, SHOWN),
        age(object, now),
    ]
}
