//! ServiceAccount.

use serde_json::{Value, json};

use crate::kind::{Context, Kind};
use crate::status::Status;
use crate::value::{entries, list_mut, text};

const MOUNTABLE: &str = "kubernetes.io/enforce-mountable-secrets";

/// The hooks of ServiceAccount.
pub(super) struct ServiceAccount;

impl Kind for ServiceAccount {
    fn prepare_create(&self, _context: &Context<'_>, object: &mut Value) -> Result<(), Status> {
        keep_names(object);
        Ok(())
    }

    fn prepare_update(
        &self,
        _context: &Context<'_>,
        object: &mut Value,
        _old: &Value,
    ) -> Result<(), Status> {
        keep_names(object);
        Ok(())
    }

    fn warnings(&self, object: &Value, old: Option<&Value>) -> Vec<String> {
        let has = |object: &Value| entries(object, "metadata.annotations").contains_key(MOUNTABLE);
        if has(object) && !old.is_some_and(has) {
            return vec![format!(
                "metadata.annotations[{MOUNTABLE}]: deprecated in v1.32+; prefer separate namespaces to isolate access to mounted secrets"
            )];
        }
        Vec::new()
    }
}

/// Keeps only the names of references to Secrets.
fn keep_names(object: &mut Value) {
    for secret in list_mut(object, "secrets") {
        *secret = json!({"name": text(secret, "name")});
    }
}
