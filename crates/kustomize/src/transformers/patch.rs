//! `patches` and `PatchTransformer`: a strategic merge or a JSON patch, for the object that it names or the targets that
//! a selector matches.

mod json;
mod strategic;

use std::sync::Arc;

use serde_json::Value;

use super::{FieldSteps, Load, Transformer};
use crate::decode::{Fields, Unknown};
use crate::failure::{Failure, Result};
use crate::openapi::Schema;
use crate::read::read_resources;
use crate::resource::{Resource, annotation};
use crate::resources::Resources;
use crate::selector::Selector;

pub(crate) use json::PatchJson6902;
pub(crate) use strategic::PatchStrategicMerge;

/// An entry of `patches`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct PatchEntry {
    /// The file with the patch, or empty.
    pub(crate) path: String,
    /// The inline patch, or empty.
    pub(crate) patch: String,
    pub(crate) target: Option<Selector>,
    pub(crate) allow_name_change: bool,
    pub(crate) allow_kind_change: bool,
}

impl PatchEntry {
    pub(crate) fn read(fields: &Fields<'_>) -> Result<Self> {
        let options = fields.object("options", "PatchArgs", |options| {
            Ok((options.flag("allowNameChange")?, options.flag("allowKindChange")?))
        })?;
        let (allow_name_change, allow_kind_change) = options.unwrap_or_default();
        Ok(Self {
            path: fields.text("path")?,
            patch: fields.text("patch")?,
            target: fields.object("target", "Selector", Selector::read)?,
            allow_name_change,
            allow_kind_change,
        })
    }
}

/// Patches objects.
#[derive(Debug, Clone)]
pub(crate) struct Patch {
    target: Option<Selector>,
    sort: Sort,
    /// The patch in messages.
    source: String,
    file: Option<String>,
}

#[derive(Debug, Clone)]
enum Sort {
    Strategic(Vec<Resource>),
    Json(json::Operations),
}

impl Patch {
    pub(crate) fn new(entry: PatchEntry, files: &dyn Load) -> Result<Self> {
        let inline = entry.patch.trim();
        let loaded;
        let (text, source) = match (inline.is_empty(), entry.path.is_empty()) {
            (true, true) => {
                return Err(Failure::new("must specify one of patch and path"));
            }
            (false, false) => {
                return Err(Failure::new("patch and path can't be set at the same time"));
            }
            (false, true) => (inline.as_bytes(), format!("[patch: {inline:?}]")),
            (true, false) => {
                loaded = files.load(&entry.path).map_err(|failure| {
                    let path = &entry.path;
                    failure.context(format_args!("failed to get the patch file from path({path})"))
                })?;
                (&*loaded, format!("[path: {:?}]", entry.path))
            }
        };
        let file = Some(entry.path).filter(|path| !path.is_empty());
        let place = |failure: Failure| match &file {
            Some(file) => failure.in_file(file),
            None => failure,
        };
        let named: Option<Arc<str>> = file.as_deref().map(Into::into);
        let strategic = read_resources(text, named.clone());
        let operations = json::Operations::read(text, named);
        let sort = match (strategic, operations) {
            (Ok(patches), Ok(operations)) if !patches.is_empty() && !operations.is_empty() => {
                return Err(place(Failure::new(format!(
                    "illegally qualifies as both an SM and JSON patch: {source}"
                ))));
            }
            (Ok(mut patches), _) => {
                for patch in &mut patches {
                    if entry.allow_name_change {
                        patch.enable(annotation::ALLOW_NAME_CHANGE)?;
                    }
                    if entry.allow_kind_change {
                        patch.enable(annotation::ALLOW_KIND_CHANGE)?;
                    }
                }
                Sort::Strategic(patches)
            }
            (Err(_), Ok(operations)) => Sort::Json(operations),
            (Err(no_object), Err(no_list)) => {
                let words = format!("unable to parse SM or JSON patch from {source}");
                let is_list = text.trim_ascii_start().starts_with(b"-")
                    || text.trim_ascii_start().starts_with(b"[");
                let cause = if is_list { no_list } else { no_object };
                return Err(place(cause.context(words)));
            }
        };
        Ok(Self { target: entry.target, sort, source, file })
    }

    /// `patches`
    pub(super) fn field(steps: &mut FieldSteps<'_>) {
        for (index, patch) in steps.kustomization.patches.iter().enumerate() {
            let made = Self::new(patch.clone(), steps.files);
            steps.add("PatchTransformer", "patches", Some(index), made);
        }
    }

    pub(crate) fn from_config(config: &Value, files: &dyn Load) -> Result<Self> {
        let fields = Fields::converting(config, "PatchTransformerPlugin", Unknown::Ignored)?;
        Self::new(PatchEntry::read(&fields)?, files)
    }

    fn place(&self, failure: Failure) -> Failure {
        match &self.file {
            Some(file) => failure.in_file(file),
            None => failure,
        }
    }

    fn merge(
        &self,
        patches: &[Resource],
        resources: &mut Resources,
        schema: &Schema,
    ) -> Result<()> {
        let Some(target) = &self.target else {
            for patch in patches {
                let id = patch.original_id(schema);
                let position = resources.the_one_with_any_id(&id, schema).map_err(|failure| {
                    failure
                        .at(patch.node.position)
                        .context(format_args!("no resource matches strategic merge patch \"{id}\""))
                        .hint("check apiVersion, kind, name and namespace, or give the patch a target")
                })?;
                strategic::merge(resources, position, patch, schema)?;
            }
            return Ok(());
        };
        let patch = match patches {
            [] => return Ok(()),
            [patch] => patch,
            [_, second, ..] => {
                return Err(Failure::new(format!(
                    "Multiple Strategic-Merge Patches in one `patches` entry is not allowed to set \
                     `patches.target` field: {}",
                    self.source
                ))
                .at(second.node.position));
            }
        };
        let selected = target.compile().and_then(|target| target.select(resources, schema));
        let selected = selected
            .map_err(|failure| failure.context("unable to find patch target in `resources`"))?;
        strategic::merge_into_all(resources, &selected, patch, schema)
    }
}

impl Transformer for Patch {
    fn transform(&self, resources: &mut Resources, schema: &Schema) -> Result<()> {
        let result = match &self.sort {
            Sort::Strategic(patches) => self.merge(patches, resources, schema),
            Sort::Json(operations) => match &self.target {
                None => Err(Failure::new(format!(
                    "must specify a target for JSON patch {}",
                    self.source
                ))),
                Some(target) => target
                    .compile()
                    .and_then(|target| target.select(resources, schema))
                    .and_then(|selected| {
                        operations.apply(resources, &selected, schema, json::History::Kept)
                    }),
            },
        };
        result.map_err(|failure| self.place(failure))
    }
}

#[cfg(test)]
mod tests;
