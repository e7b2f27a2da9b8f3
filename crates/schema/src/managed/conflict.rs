//! Conflicts, with upstream's messages.

use std::collections::BTreeMap;

use sluice_base::go;

use crate::smd::{Conflict, display_path};

use super::entries::Identity;
use super::{ConflictCause, ConflictError};

/// The error of an apply that others' fields stand against.
pub(crate) fn error(conflicts: &[Conflict]) -> ConflictError {
    let causes = conflicts
        .iter()
        .map(|conflict| ConflictCause {
            field: display_path(&conflict.path),
            message: format!("conflict with {}", manager_text(&conflict.manager)),
        })
        .collect();
    ConflictError { message: message(conflicts), causes }
}

fn message(conflicts: &[Conflict]) -> String {
    if let [conflict] = conflicts {
        return format!(
            "Apply failed with 1 conflict: conflict with {}: {}",
            manager_text(&conflict.manager),
            display_path(&conflict.path)
        );
    }
    let mut by_manager: BTreeMap<&str, Vec<&Conflict>> = BTreeMap::new();
    for conflict in conflicts {
        by_manager.entry(&conflict.manager).or_default().push(conflict);
    }
    let mut lines = Vec::new();
    for (manager, conflicts) in by_manager {
        lines.push(format!("conflicts with {}:", manager_text(manager)));
        lines
            .extend(conflicts.iter().map(|conflict| format!("- {}", display_path(&conflict.path))));
    }
    format!("Apply failed with {} conflicts: {}", conflicts.len(), lines.join("\n"))
}

fn manager_text(manager: &str) -> String {
    let Some(parts) = Identity::parse(manager) else { return go::quote(manager) };
    let mut text = go::quote(&parts.manager);
    if !parts.subresource.is_empty() {
        text = format!("{text} with subresource {}", go::quote(&parts.subresource));
    }
    if parts.operation == "Update" {
        text = format!("{text} using {}", parts.api_version);
    }
    text
}
