//! Sets the entries of maps of strings, for labels and annotations.

use std::collections::BTreeMap;

use sluice_yaml::Node;

use crate::access;
use crate::failure::Result;
use crate::field_spec::{Creation, FieldSpec, SpecsByKind};
use crate::resources::Resources;
use crate::sharing;

/// Sets the entries in every map that the specs match.
pub(super) fn set(
    resources: &mut Resources,
    entries: &BTreeMap<String, String>,
    specs: &[FieldSpec],
) -> Result<()> {
    if entries.is_empty() {
        return Ok(());
    }
    let mut specs = SpecsByKind::new(specs);
    for resource in resources.iter_mut_keeping_ids() {
        let known = resource.shared_values;
        let (mut is_added, mut is_changed) = (false, false);
        // One entry after the other: a created map may be where the next is looked up.
        for (number, (name, value)) in (known + 1..).zip(entries) {
            specs.apply(&mut resource.node, Some(Creation::MAPPING), &mut |map| {
                match map.field(name) {
                    Some(old) => is_changed |= sharing::is_marked(old),
                    None => is_added = true,
                }
                let mut value = Node::text(value.as_str());
                sharing::mark(&mut value, number);
                access::set(map, name, value)
            })?;
        }
        if is_added {
            resource.shared_values += entries.len();
        }
        if is_changed {
            sharing::settle(resource);
        }
    }
    Ok(())
}
