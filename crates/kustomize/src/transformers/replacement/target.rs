//! The targets of a replacement: fields of the objects that a selector matches.

use std::sync::Arc;

use sluice_yaml::{Content, Node};

use super::path::{self, Place};
use super::{Copied, DEFAULT_FIELD_PATH, Ids, Options, set_text, structured};
use crate::access::{self, Kind};
use crate::decode::Fields;
use crate::failure::{Failure, Result};
use crate::field_spec::split_path_with_brackets;
use crate::limits;
use crate::place::Entry;
use crate::resource::Resource;
use crate::selector::{CompiledSelector, Selector};
use crate::sharing;

/// Fields of objects.
#[derive(Debug, Clone)]
pub(super) struct Target {
    select: Option<Selector>,
    reject: Vec<Selector>,
    field_paths: Vec<String>,
    options: Option<Options>,
}

/// A selector of excluded objects.
struct Rejection {
    selector: CompiledSelector,
    /// Whether it has label or annotation selectors.
    is_by_labels: bool,
    /// Whether it selects by id.
    is_by_id: bool,
}

impl Target {
    pub(super) fn read(fields: &Fields<'_>) -> Result<Self> {
        let field_paths = fields.texts("fieldPaths")?;
        field_paths.iter().try_for_each(|path| limits::field_path(path))?;
        Ok(Self {
            select: fields.object("select", "Selector", Selector::read)?,
            reject: fields.objects("reject", "Selector", Selector::read)?,
            field_paths,
            options: fields.object("options", "FieldOptions", Options::read)?,
        })
    }

    /// Copies the value into all fields.
    pub(super) fn apply(
        &self,
        list: &mut [Resource],
        ids: &mut Ids,
        value: &mut Copied,
        changing: Option<&Arc<Entry>>,
    ) -> Result<()> {
        let Some(select) = &self.select else {
            return Err(Failure::new("target must specify resources to select"));
        };
        let creating = |failure: Failure| failure.context("error creating target selector");
        let select = select.compile().map_err(creating)?;
        let reject: Vec<Rejection> = self
            .reject
            .iter()
            .map(|reject| {
                let has = |text: &String| !text.is_empty();
                let of_id = [
                    &reject.gvk.group,
                    &reject.gvk.version,
                    &reject.gvk.kind,
                    &reject.name,
                    &reject.namespace,
                ];
                Ok(Rejection {
                    selector: reject.compile().map_err(creating)?,
                    is_by_labels: has(&reject.label_selector) || has(&reject.annotation_selector),
                    is_by_id: of_id.into_iter().any(has),
                })
            })
            .collect::<Result<_>>()?;
        let default = [DEFAULT_FIELD_PATH.to_owned()];
        let paths =
            if self.field_paths.is_empty() { default.as_slice() } else { &self.field_paths };
        let paths: Vec<(&str, Vec<String>)> =
            paths.iter().map(|path| (path.as_str(), split_path_with_brackets(path, '.'))).collect();
        for (position, resource) in list.iter_mut().enumerate() {
            if !is_selected(resource, ids.get(position), &select, &reject)? {
                continue;
            }
            for (path, parts) in &paths {
                self.copy(position, &mut resource.node, path, parts, value)
                    .map_err(|failure| resource.located(failure))?;
                sharing::settle(resource);
            }
            if let Some(entry) = changing {
                resource.changed_by(entry, None);
            }
            ids.follow(position, resource);
        }
        Ok(())
    }

    fn copy(
        &self,
        position: usize,
        object: &mut Node,
        path: &str,
        parts: &[String],
        value: &mut Copied,
    ) -> Result<()> {
        let options = self.options.as_ref();
        let create = options.filter(|options| options.create).and_then(|_| Kind::of(&value.node));
        if structured::set(object, parts, &value.node, create).is_some() {
            value.follow(position, object);
            return Ok(());
        }
        let missing = || {
            let what = if create.is_some() { "find or create" } else { "find" };
            format!("unable to {what} field \"{path}\" in replacement target")
        };
        let places =
            path::locate(object, parts, create).map_err(|failure| failure.context(missing()))?;
        if places.is_empty() {
            return Err(Failure::new(missing())
                .hint("correct the path, or let it be made with `options: {create: true}`"));
        }
        for place in places {
            // The source itself may have been changed.
            value.follow(position, object);
            match place {
                Place::In(trail) => {
                    value.let_go(position, &trail);
                    if let Some(node) = path::at_mut(object, &trail) {
                        set(node, &value.node, options)?;
                    }
                }
                Place::Detached(mut node) => set(&mut node, &value.node, options)?,
            }
        }
        value.follow(position, object);
        Ok(())
    }
}

fn is_selected(
    resource: &Resource,
    ids: &[crate::id::ResourceId],
    select: &CompiledSelector,
    reject: &[Rejection],
) -> Result<bool> {
    let by_labels = |selector: &CompiledSelector| -> Result<bool> {
        // Both are evaluated, as either may be invalid.
        let annotations = selector.matches_annotations(resource)?;
        Ok(selector.matches_labels(resource)? && annotations)
    };
    if !by_labels(select)? {
        return Ok(false);
    }
    for rejection in reject.iter().filter(|rejection| rejection.is_by_labels) {
        if by_labels(&rejection.selector)? {
            return Ok(false);
        }
    }
    let is_rejected = |rejection: &Rejection| {
        rejection.is_by_id && ids.iter().any(|id| rejection.selector.matches_id(id))
    };
    Ok(!reject.iter().any(is_rejected) && ids.iter().any(|id| select.matches_id(id)))
}

/// Sets one field. A scalar takes over the text only and keeps its type.
fn set(node: &mut Node, value: &Node, options: Option<&Options>) -> Result<()> {
    let delimiter = options.filter(|options| !options.delimiter.is_empty());
    let Content::Scalar { value: old, .. } = &node.content else {
        if delimiter.is_some() {
            return Err(Failure::new("delimiter option can only be used with scalar nodes")
                .at(node.position));
        }
        *node = sharing::copy(value);
        return Ok(());
    };
    let Some(Options { delimiter, index, .. }) = delimiter else {
        set_text(node, value.as_text().unwrap_or_default());
        return Ok(());
    };
    let mut parts: Vec<&str> = old.split(delimiter).collect();
    let text = access::text(value);
    match usize::try_from(*index) {
        Err(_) => parts.insert(0, text),
        Ok(index) => match parts.get_mut(index) {
            Some(part) => *part = text,
            None => parts.push(text),
        },
    }
    let joined = parts.join(delimiter);
    set_text(node, &joined);
    Ok(())
}
