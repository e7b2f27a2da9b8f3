//! Strategic merge patches on resources, and `patchesStrategicMerge`.

use serde_json::Value;
use sluice_yaml::Node;

use super::super::{FieldSteps, Load, Transformer};
use crate::decode::{Fields, Unknown};
use crate::failure::{Failure, Result};
use crate::openapi::Schema;
use crate::read::read_resources;
use crate::resource::{Resource, annotation};
use crate::resources::Resources;
use crate::{merge, sharing};

/// Merges a patch into one resource. A deleted one stays in place, empty, until it is dropped.
pub(super) fn merge(
    resources: &mut Resources,
    position: usize,
    patch: &Resource,
    schema: &Schema,
) -> Result<()> {
    let merged = resources.change(position, schema, |resource| {
        let id = resource.id(schema);
        merge_one(resource, patch, schema).map_err(|failure| failure.about(id))
    });
    resources.note_change(position, patch.file.as_ref().map(|file| (file, patch.line)));
    merged.unwrap_or(Ok(()))
}

/// Merges a patch into selected resources; the patch's own name is ignored, and the results must have distinct
/// ids.
pub(super) fn merge_into_all(
    resources: &mut Resources,
    positions: &[usize],
    patch: &Resource,
    schema: &Schema,
) -> Result<()> {
    // As kustomize does by copying metadata onto itself: labels and annotations become plain strings.
    let mut copy = patch.clone();
    copy.set_labels(&patch.labels())?;
    copy.set_annotations(&patch.annotations())?;
    copy.set_name(patch.name())?;
    copy.set_namespace(patch.namespace())?;
    for &position in positions {
        let Some(resource) = resources.get(position).filter(|it| !it.is_empty()) else { continue };
        copy.set_kind(patch.kind())?;
        copy.set_api_version(&resource.gvk().api_version())?;
        merge(resources, position, &copy, schema)?;
    }
    resources.check_collisions(schema)
}

fn merge_one(resource: &mut Resource, patch: &Resource, schema: &Schema) -> Result<()> {
    let name = resource.name().to_owned();
    let namespace = resource.namespace().to_owned();
    let kind = resource.kind().to_owned();
    let may_rename = patch.is_enabled(annotation::ALLOW_NAME_CHANGE);
    let may_change_kind = patch.is_enabled(annotation::ALLOW_KIND_CHANGE);
    if may_rename || may_change_kind {
        resource.store_id(schema)?;
    }
    let target = std::mem::take(&mut resource.node);
    let Some(merged) = merge::strategic(&patch.node, target, schema)? else {
        resource.node = Node::scalar("!!null", "null");
        return Ok(());
    };
    resource.node = merged;
    sharing::settle(resource);
    if resource.is_empty() {
        return Ok(());
    }
    if !may_change_kind {
        resource.set_kind(&kind)?;
    }
    if !may_rename {
        resource.set_name(&name)?;
    }
    resource.set_namespace(&namespace)
}

/// Patches the objects that the patches name.
#[derive(Debug, Clone)]
pub(crate) struct PatchStrategicMerge {
    patches: Vec<Resource>,
}

impl PatchStrategicMerge {
    /// Each text is a patch, or the path of a file that holds patches.
    pub(crate) fn new(texts: &[String], files: &dyn Load) -> Result<Self> {
        Self::of(texts, "", files)
    }

    /// `patchesStrategicMerge`
    pub(in crate::transformers) fn field(steps: &mut FieldSteps<'_>) {
        let patches = &steps.kustomization.patches_strategic_merge;
        if !patches.is_empty() {
            let made = Self::new(patches, steps.files);
            steps.add("PatchStrategicMergeTransformer", "patchesStrategicMerge", None, made);
        }
    }

    pub(crate) fn from_config(config: &Value, files: &dyn Load) -> Result<Self> {
        let owner = "PatchStrategicMergeTransformerPlugin";
        let fields = Fields::converting(config, owner, Unknown::Ignored)?;
        Self::of(&fields.texts("paths")?, &fields.text("patches")?, files)
    }

    fn of(texts: &[String], inline: &str, files: &dyn Load) -> Result<Self> {
        if texts.is_empty() && inline.is_empty() {
            return Err(Failure::new("empty file path and empty patch content"));
        }
        let mut patches = Vec::new();
        for text in texts {
            // Anything that is not a patch is a path.
            if let Ok(read) = read_resources(text.as_bytes(), None) {
                patches.extend(read);
            } else {
                let read = read_resources(&files.load(text)?, Some(text.as_str().into()))?;
                patches.extend(read);
            }
        }
        if !inline.is_empty() {
            patches.extend(read_resources(inline.as_bytes(), None)?);
        }
        if patches.is_empty() {
            return Err(Failure::new(format!(
                "patch appears to be empty; files=[{}], Patch={inline}",
                texts.join(" ")
            )));
        }
        Ok(Self { patches })
    }
}

impl Transformer for PatchStrategicMerge {
    fn transform(&self, resources: &mut Resources, schema: &Schema) -> Result<()> {
        for patch in &self.patches {
            let result = resources
                .the_one_with_any_id(&patch.original_id(schema), schema)
                .map_err(|failure| failure.at(patch.node.position))
                .and_then(|found| merge_into_all(resources, &[found], patch, schema));
            result.map_err(|failure| match &patch.file {
                Some(file) => failure.in_file(file),
                None => failure,
            })?;
        }
        Ok(())
    }
}
