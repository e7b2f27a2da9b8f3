//! StorageObjectInUseProtection: volumes and claims get a finalizer that keeps them while in use.

use serde_json::{Value, json};

use crate::metadata;

pub(super) fn admit(object: &mut Value, finalizer: &str) {
    let mut finalizers: Vec<String> = metadata::finalizers(object).map(str::to_owned).collect();
    if !finalizers.iter().any(|name| name == finalizer) {
        finalizers.push(finalizer.to_owned());
        metadata::set(object, "finalizers", json!(finalizers));
    }
}
