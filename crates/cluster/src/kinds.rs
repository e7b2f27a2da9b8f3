//! The built-in kinds: one folder per API group, one file per kind.

use std::sync::Arc;

use crate::kind::{Kind, Plain};

mod apiextensions;
mod apps;
mod batch;
mod core;
mod internal;
mod line_diff;
mod pod_spec;

/// The hooks of a built-in resource; a resource without peculiarities is [`Plain`].
pub(crate) fn kind(group: &str, resource: &str) -> Arc<dyn Kind> {
    let found = match group {
        "apiextensions.k8s.io" => apiextensions::kind(resource),
        "" => core::kind(resource),
        "apps" => apps::kind(resource),
        "batch" => batch::kind(resource),
        "events.k8s.io" if resource == "events" => Some(Arc::new(core::event::Event::Events) as _),
        _ => None,
    };
    found.unwrap_or_else(|| Arc::new(Plain))
}
