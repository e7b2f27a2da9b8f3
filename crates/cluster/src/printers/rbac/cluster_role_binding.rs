//! ClusterRoleBindings: role and subjects.

use jiff::Timestamp;
use serde_json::Value;

use super::subjects::{of_kind, role};
use crate::metadata;
use crate::printer::{AGE, Column, Literal, NAME, Printer};
use crate::printers::age::age;
use crate::printers::cell::cells;

pub(super) const PRINTER: Printer = Printer::new(COLUMNS, cells);

const COLUMNS: &[Column] = &[
    NAME,
    Column::string(
        "Role",
        Literal(
            "RoleRef can only reference a ClusterRole in the global namespace. If the RoleRef cannot be resolved, the Authorizer must return an error.",
        ),
    ),
    AGE,
    Column::string("Users", Literal("Users in the clusterRoleBinding")).wide(),
    Column::string("Groups", Literal("Groups in the clusterRoleBinding")).wide(),
    Column::string("ServiceAccounts", Literal("ServiceAccounts in the clusterRoleBinding")).wide(),
];

fn cells(object: &Value, now: Timestamp) -> Vec<Value> {
    cells![
        metadata::name(object),
        role(object),
        age(object, now),
        of_kind(object, "User"),
        of_kind(object, "Group"),
        of_kind(object, "ServiceAccount"),
    ]
}
