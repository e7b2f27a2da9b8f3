//! Cells that both kinds of bindings share.

use serde_json::Value;

use crate::value::{list, text};

/// The role, as `kind/name`.
pub(super) fn role(binding: &Value) -> String {
    format!("{}/{}", text(binding, "roleRef.kind"), text(binding, "roleRef.name"))
}

/// The subjects of a kind; service accounts with their namespace.
pub(super) fn of_kind(binding: &Value, kind: &str) -> String {
    let names: Vec<String> = list(binding, "subjects")
        .iter()
        .filter(|subject| text(subject, "kind") == kind)
        .map(|subject| match kind {
            "ServiceAccount" => format!("{}/{}", text(subject, "namespace"), text(subject, "name")),
            _ => text(subject, "name").to_owned(),
        })
        .collect();
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn subjects_are_listed_by_kind() {
        let binding = json!({"subjects": [
            {"kind": "User", "name": "jane"},
            {"kind": "ServiceAccount", "name": "robot", "namespace": "apps"},
            {"kind": "User", "name": "joe"},
        ]});
        assert_eq!(of_kind(&binding, "User"), "jane, joe");
        assert_eq!(of_kind(&binding, "ServiceAccount"), "apps/robot");
        assert_eq!(of_kind(&binding, "Group"), "");
    }
}
