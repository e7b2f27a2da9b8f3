//! The tables of the group `flowcontrol.apiserver.k8s.io`.

mod flow_schema;
mod priority_level_configuration;

use crate::printer::Printer;

pub(super) fn printer(resource: &str) -> Option<Printer> {
    Some(match resource {
        "flowschemas" => flow_schema::PRINTER,
        "prioritylevelconfigurations" => priority_level_configuration::PRINTER,
        _ => return None,
    })
}
