//! Cells that volumes and claims share.

use serde_json::Value;

use crate::metadata;
use crate::value::{text, texts};

/// The access modes at `path`, abbreviated and in a fixed order.
pub(super) fn access_modes(object: &Value, path: &str) -> String {
    let given = texts(object, path);
    let shown: Vec<&str> = [
        ("ReadWriteOnce", "RWO"),
        ("ReadOnlyMany", "ROX"),
        ("ReadWriteMany", "RWX"),
        ("ReadWriteOncePod", "RWOP"),
    ]
    .into_iter()
    .filter(|(mode, _)| given.contains(mode))
    .map(|(_, short)| short)
    .collect();
    shown.join(",")
}

/// The storage class; the deprecated annotation takes precedence over the field.
pub(super) fn class(object: &Value) -> &str {
    metadata::entry(object, "annotations", "volume.beta.kubernetes.io/storage-class")
        .unwrap_or_else(|| text(object, "spec.storageClassName"))
}

/// The phase, or `Terminating`.
pub(super) fn phase(object: &Value) -> &str {
    if metadata::is_terminating(object) { "Terminating" } else { text(object, "status.phase") }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn access_modes_are_abbreviated_in_a_fixed_order() {
        let modes = json!({"modes": ["ReadWriteOncePod", "ReadWriteMany", "ReadWriteOnce", "ReadWriteMany"]});
        assert_eq!(access_modes(&modes, "modes"), "RWO,RWX,RWOP");
    }
}
