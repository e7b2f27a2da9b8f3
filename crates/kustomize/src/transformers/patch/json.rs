//! JSON patches (RFC 6902) on resources, and `patchesJson6902`.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;
use sluice_yaml::SequenceIndent;

use super::super::{FieldSteps, Load, Transformer};
use crate::decode::{Fields, Unknown};
use crate::failure::{Failure, Result};
use crate::json_patch::JsonPatch;
use crate::openapi::Schema;
use crate::resource::{Resource, annotation};
use crate::resources::Resources;
use crate::selector::Selector;

/// The operations of a JSON patch are one list, so the file is named at its beginning.
const FIRST_LINE: usize = 1;

/// Whether a resource records its id before a patch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum History {
    Kept,
    NotKept,
}

/// The operations of a patch, and the file that they are in.
#[derive(Debug, Clone)]
pub(super) struct Operations {
    patch: JsonPatch,
    file: Option<Arc<str>>,
}

impl Operations {
    pub(super) fn read(text: &[u8], file: Option<Arc<str>>) -> Result<Self> {
        if text.is_empty() {
            return Err(Failure::new("empty json patch operations"));
        }
        Ok(Self { patch: JsonPatch::parse(text)?, file })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.patch.is_empty()
    }

    /// Applies them to the resources at these positions. Build annotations survive any patch.
    pub(super) fn apply(
        &self,
        resources: &mut Resources,
        positions: &[usize],
        schema: &Schema,
        history: History,
    ) -> Result<()> {
        for &position in positions {
            let patched = resources.change(position, schema, |resource| {
                let id = resource.id(schema);
                self.apply_to(resource, schema, history).map_err(|failure| failure.about(id))
            });
            patched.unwrap_or(Ok(()))?;
            resources.note_change(position, self.file.as_ref().map(|file| (file, FIRST_LINE)));
        }
        Ok(())
    }

    fn apply_to(&self, resource: &mut Resource, schema: &Schema, history: History) -> Result<()> {
        if resource.is_empty() {
            return Ok(());
        }
        if history == History::Kept {
            resource.store_id(schema)?;
        }
        let mut kept = resource.annotations();
        kept.retain(|name, _| is_internal(name));
        resource.node = self.patch.apply(&resource.node)?;
        resource.shared_values = 0;
        if kept.contains_key(annotation::NEEDS_HASH) {
            // The hash of a kind that is not generated depends on positions in the text that kustomize makes of the
            // result.
            let text = resource.node.to_yaml(SequenceIndent::Compact);
            if let Some(document) = sluice_yaml::parse(text.as_bytes())?.into_iter().next() {
                resource.node = document.root;
            }
        }
        let edited = resource.edit_annotations(|annotations: &mut BTreeMap<_, _>| {
            annotations.extend(kept);
        });
        match history {
            // kustomize does not check whether they could be set.
            History::Kept => Ok(()),
            History::NotKept => edited,
        }
    }
}

fn is_internal(name: &str) -> bool {
    name.starts_with("internal.config.kubernetes.io/")
        || ["config.kubernetes.io/path", "config.kubernetes.io/index", "config.k8s.io/id"]
            .contains(&name)
}

/// Applies a JSON patch to the selected objects.
#[derive(Debug, Clone)]
pub(crate) struct PatchJson6902 {
    target: Selector,
    operations: Operations,
}

impl PatchJson6902 {
    /// The operations come from a file or as text.
    pub(crate) fn new(
        target: Option<Selector>,
        path: &str,
        operations: &str,
        files: &dyn Load,
    ) -> Result<Self> {
        let Some(target) = target.filter(|target| !target.name.is_empty()) else {
            return Err(Failure::new("must specify the target name"));
        };
        let loaded;
        let text = match (path.is_empty(), operations.is_empty()) {
            (true, true) => return Err(Failure::new("empty file path and empty jsonOp")),
            (false, false) => {
                return Err(Failure::new("must specify a file path or jsonOp, not both"));
            }
            (true, false) => operations.as_bytes(),
            (false, true) => {
                loaded = files.load(path)?;
                if loaded.is_empty() {
                    return Err(Failure::new(format!(
                        "patch file '{path}' empty seems to be empty"
                    )));
                }
                &*loaded
            }
        };
        let place = |failure: Failure| {
            if path.is_empty() { failure } else { failure.in_file(path) }
        };
        let file = (!path.is_empty()).then(|| path.into());
        let operations = Operations::read(text, file).map_err(place)?;
        if operations.is_empty() {
            return Err(place(Failure::new("patch appears to be empty")));
        }
        Ok(Self { target, operations })
    }

    /// `patchesJson6902`
    pub(in crate::transformers) fn field(steps: &mut FieldSteps<'_>) {
        for (index, patch) in steps.kustomization.patches_json6902.iter().enumerate() {
            let made = Self::new(patch.target.clone(), &patch.path, &patch.patch, steps.files);
            steps.add("PatchJson6902Transformer", "patchesJson6902", Some(index), made);
        }
    }

    pub(crate) fn from_config(config: &Value, files: &dyn Load) -> Result<Self> {
        let owner = "PatchJson6902TransformerPlugin";
        let fields = Fields::converting(config, owner, Unknown::Ignored)?;
        let target = fields.object("target", "Selector", Selector::read)?;
        Self::new(target, &fields.text("path")?, &fields.text("jsonOp")?, files)
    }
}

impl Transformer for PatchJson6902 {
    fn transform(&self, resources: &mut Resources, schema: &Schema) -> Result<()> {
        let selected = self.target.compile()?.select(resources, schema)?;
        let applied = self.operations.apply(resources, &selected, schema, History::NotKept);
        applied.map_err(|failure| match &self.operations.file {
            Some(file) => failure.in_file(file),
            None => failure,
        })
    }
}
