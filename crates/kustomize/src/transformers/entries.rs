//! Setting the entries of maps of texts, for labels and annotations.

use std::collections::BTreeMap;

use sluice_yaml::Node;

use crate::access;
use crate::failure::Result;
use crate::field_spec::{Creation, FieldSpec, SpecsByKind};
use crate::resources::Resources;

/// Sets the entries in every map that the specs name.
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
        specs.apply(&mut resource.node, Some(Creation::MAPPING), &mut |map| {
            for (name, value) in entries {
                access::set(map, name, Node::text(value.as_str()))?;
            }
            Ok(())
        })?;
    }
    Ok(())
}
