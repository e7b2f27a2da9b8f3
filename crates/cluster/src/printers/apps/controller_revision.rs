//! ControllerRevisions: controller and revision.

use jiff::Timestamp;
use serde_json::Value;

use crate::metadata;
use crate::printer::{AGE, Column, Literal, NAME, Printer};
use crate::printers::age::age;
use crate::printers::cell::cells;
use crate::value::{flag, list, number, text};

pub(super) const PRINTER: Printer = Printer::new(COLUMNS, cells);

const COLUMNS: &[Column] = &[
    NAME,
    Column::string("Controller", Literal("Controller of the object")),
    Column::string(
        "Revision",
        Literal("revision indicates the revision of the state represented by Data."),
    ),
    AGE,
];

fn cells(object: &Value, now: Timestamp) -> Vec<Value> {
    let owners = list(object, "metadata.ownerReferences");
    let controller = owners.iter().find(|owner| flag(owner, "controller")).map_or_else(
        || "<none>".to_owned(),
        |owner| {
            let kind = text(owner, "kind").to_lowercase();
            let name = text(owner, "name");
            match text(owner, "apiVersion").split_once('/') {
                Some((group, _)) => format!("{kind}.{}/{name}", group.to_lowercase()),
                None => format!("{kind}/{name}"),
            }
        },
    );
    cells![metadata::name(object), controller, number(object, "revision"), age(object, now)]
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_controller_is_shown_with_kind_and_group() {
        let owner = |version: &str| json!([{"apiVersion": version, "kind": "Thing", "name": "t", "controller": true}]);
        let cases = [
            (json!([]), "<none>"),
            (json!([{"apiVersion": "v1", "kind": "Thing", "name": "t"}]), "<none>"),
            (owner("v1"), "thing/t"),
            (owner("example.com/v1"), "thing.example.com/t"),
        ];
        for (owners, expected) in cases {
            let revision = json!({"metadata": {"ownerReferences": owners}});
            assert_eq!(cells(&revision, Timestamp::UNIX_EPOCH)[1], expected, "{owners}");
        }
    }
}
