//! Transformers, one file each.

mod affix;
mod annotations;
mod entries;
mod fields;
mod hash;
mod images;
mod labels;
mod namespace;
mod patch;
mod replacement;
mod replicas;
mod sort_order;
#[cfg(test)]
pub(crate) mod testing;
mod value_add;

use std::borrow::Cow;

use serde_json::Value;

use crate::failure::Result;
use crate::openapi::Schema;
use crate::resources::Resources;

pub(crate) use affix::{Affix, Side};
pub(crate) use annotations::Annotations;
pub(crate) use fields::{FieldSteps, Step};
pub(crate) use hash::Hash;
pub(crate) use images::{Image, Images};
pub(crate) use labels::{LabelFields, Labels};
pub(crate) use namespace::Namespace;
pub(crate) use patch::{Patch, PatchEntry, PatchJson6902, PatchStrategicMerge};
pub(crate) use replacement::{ReplacementField, Replacements};
pub(crate) use replicas::{Replica, Replicas};
pub(crate) use sort_order::{LegacyOrder, SortOptions, SortOrder};
pub(crate) use value_add::ValueAdd;

/// A transformer.
pub(crate) trait Transformer {
    /// Changes the resources.
    fn transform(&self, resources: &mut Resources, schema: &Schema) -> Result<()>;
}

/// Adds the steps of one field of a kustomization file.
type Field = fn(&mut FieldSteps<'_>);

/// The transformers that have a field, in the order in which kustomize runs them.
pub(crate) const FIELDS: &[Field] = &[
    PatchStrategicMerge::field,
    Patch::field,
    Namespace::field,
    Affix::fields,
    Labels::fields,
    Annotations::field,
    PatchJson6902::field,
    Replicas::field,
    Images::field,
    Replacements::field,
];

/// Access to files for transformers and generators: by paths relative to their kustomization, within the load
/// restrictions.
pub(crate) trait Load {
    /// The content of a file.
    fn load(&self, path: &str) -> Result<Cow<'_, [u8]>>;

    /// The directory of the kustomization.
    fn root(&self) -> &str;

    /// Counts bytes that a generator reads.
    fn generated(&self, _bytes: usize) -> Result<()> {
        Ok(())
    }
}

/// The transformer of an object under `transformers:`; `None` if the kind is not one of kustomize's built-in ones.
pub(crate) fn from_config(
    kind: &str,
    config: &Value,
    files: &dyn Load,
) -> Result<Option<Box<dyn Transformer>>> {
    Ok(Some(match kind {
        "AnnotationsTransformer" => Box::new(Annotations::from_config(config, files)?),
        "HashTransformer" => Box::new(Hash),
        "ImageTagTransformer" => Box::new(Images::from_config(config, files)?),
        "LabelTransformer" => Box::new(Labels::from_config(config, files)?),
        "NamespaceTransformer" => Box::new(Namespace::from_config(config, files)?),
        "PatchJson6902Transformer" => Box::new(PatchJson6902::from_config(config, files)?),
        "PatchStrategicMergeTransformer" => {
            Box::new(PatchStrategicMerge::from_config(config, files)?)
        }
        "PatchTransformer" => Box::new(Patch::from_config(config, files)?),
        "PrefixSuffixTransformer" => Box::new((
            Affix::from_config(Side::Prefix, config, files)?,
            Affix::from_config(Side::Suffix, config, files)?,
        )),
        "PrefixTransformer" => Box::new(Affix::from_config(Side::Prefix, config, files)?),
        "ReplacementTransformer" => Box::new(Replacements::from_config(config, files)?),
        "ReplicaCountTransformer" => Box::new(Replicas::from_config(config, files)?),
        "SuffixTransformer" => Box::new(Affix::from_config(Side::Suffix, config, files)?),
        "ValueAddTransformer" => Box::new(ValueAdd::from_config(config, files)?),
        _ => return Ok(None),
    }))
}

/// Runs several transformers in order.
impl<A: Transformer, B: Transformer> Transformer for (A, B) {
    fn transform(&self, resources: &mut Resources, schema: &Schema) -> Result<()> {
        self.0.transform(resources, schema)?;
        self.1.transform(resources, schema)
    }
}
