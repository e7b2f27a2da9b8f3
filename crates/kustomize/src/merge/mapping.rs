//! Mappings: field by field, sorted by name.

use sluice_yaml::{Content, Node, ScalarStyle};

use super::directive::{self, Directive};
use super::facts::{Kind, is_null, quote_if_special, raw, take_style, untagged, wrong_kind};
use super::sources::{Outcome, Sources};
use super::{Path, Walker};
use crate::failure::Result;
use crate::openapi::SchemaRef;
use crate::sharing;

impl<'s> Walker<'s> {
    pub(super) fn mapping(
        &self,
        mut sources: Sources<'_>,
        schema: Option<&SchemaRef<'s>>,
        path: Path<'_>,
    ) -> Result<Outcome> {
        sources.carry_over();
        let outcome = choose(&mut sources)?;
        let was_same = matches!(sources, Sources::Same(_));
        let mut sources = match outcome {
            Outcome::Target => sources,
            Outcome::Patch => sources.with_patch_as_target(),
            other => return Ok(other),
        };
        match &mut sources {
            Sources::Target(target) => self.fields(target, None, false, schema, path)?,
            Sources::Same(node) => self.fields(node, None, true, schema, path)?,
            Sources::Both(target, patch) => {
                self.fields(target, Some(patch), false, schema, path)?;
            }
            Sources::Neither | Sources::Patch(_) => {}
        }
        Ok(if was_same { Outcome::Target } else { outcome })
    }

    /// Merges the fields of `patch` into `target`; `same` means that both are the same node.
    fn fields(
        &self,
        target: &mut Node,
        mut patch: Option<&mut Node>,
        same: bool,
        schema: Option<&SchemaRef<'s>>,
        path: Path<'_>,
    ) -> Result<()> {
        let mut added = Vec::new();
        let mut cleared = Vec::new();
        for (at_target, at_patch) in pairs(target, patch.as_deref()) {
            let old = at_target.and_then(|at| target.fields_mut()?.get_mut(at));
            let patch = patch.as_deref_mut().and_then(Node::fields_mut);
            let new = at_patch.and_then(|at| patch?.get_mut(at));
            let key = old.as_deref().or(new.as_deref()).map(|(key, _)| key);
            let name = key.map_or("", raw).to_owned();
            let commented = [old.as_deref(), new.as_deref()]
                .into_iter()
                .flatten()
                .find_map(|field| self.schema_in_comments(field));
            let schema = commented.or_else(|| schema?.field(&name));
            let (key, mut old, mut new) = match (old, new) {
                (Some((key, old)), Some((_, new))) => (key, Some(old), Some(new)),
                (Some((key, old)), None) => (key, Some(old), None),
                (None, Some((key, new))) => (key, None, Some(new)),
                (None, None) => continue,
            };
            let sources = match old.as_deref_mut() {
                Some(old) if same => Sources::Same(old),
                old => Sources::new(old, new.as_deref_mut()),
            };
            let outcome = self.walk(sources, schema, path.with(&name))?;
            if name.is_empty() {
                return Err(wrong_kind(Kind::Scalar, target));
            }
            let key_style = match (&outcome, &key.content) {
                (Outcome::Patch, Content::Scalar { style, .. }) => *style,
                _ => ScalarStyle::Plain,
            };
            let value = match outcome {
                Outcome::Cleared => None,
                Outcome::KeptNull(text) => Some((Node::scalar("!!null", text), true)),
                Outcome::Made(node) => Some((node, false)),
                Outcome::Target => {
                    let Some(old) = old else { continue };
                    quote_if_special(old);
                    if is_null(old) {
                        cleared.extend(at_target);
                    }
                    continue;
                }
                // The patch keeps its own value in the new style: a list item can be merged more than once.
                Outcome::Patch => new.map(|new| {
                    quote_if_special(new);
                    if let Some(old) = old.as_deref().filter(|_| !is_null(new)) {
                        take_style(new, old);
                    }
                    (new.clone(), false)
                }),
            };
            let Some((mut value, _)) = value.filter(|(value, keep)| *keep || !is_null(value))
            else {
                cleared.extend(at_target);
                continue;
            };
            quote_if_special(&mut value);
            if let Some(old) = old {
                take_style(&mut value, old);
                sharing::keep(&mut value, old);
                *old = value;
            } else {
                let mut key = untagged(&name);
                if let Content::Scalar { style, .. } = &mut key.content {
                    *style = key_style;
                }
                added.push((key, value));
            }
        }
        if let Some(fields) = target.fields_mut() {
            if !cleared.is_empty() {
                cleared.sort_unstable();
                let mut at = 0..;
                fields.retain(|_| at.next().is_none_or(|at| cleared.binary_search(&at).is_err()));
            }
            fields.append(&mut added);
        }
        Ok(())
    }
}

/// The side that a mapping comes from.
fn choose(sources: &mut Sources<'_>) -> Result<Outcome> {
    if sources.target().is_none_or(is_null) {
        if let Some(patch) = sources.patch_mut() {
            // A value that a patch adds cannot have an invalid directive.
            return Ok(match directive::take(patch) {
                Ok(Directive::Delete) => Outcome::Cleared,
                _ => Outcome::Patch,
            });
        }
        // An explicit null stays; a missing value does not.
        let written = sources.target().map(raw).filter(|text| !text.is_empty());
        return Ok(written.map_or(Outcome::Cleared, |text| Outcome::KeptNull(text.to_owned())));
    }
    let Some(patch) = sources.patch_mut() else { return Ok(Outcome::Target) };
    if is_null(patch) {
        return Ok(Outcome::Cleared);
    }
    Ok(match directive::take(patch)? {
        Directive::Delete => Outcome::Cleared,
        Directive::Replace => Outcome::Patch,
        Directive::Merge => Outcome::Target,
    })
}

/// The positions of the fields of each name in target and patch, sorted by name. Of duplicate fields only the first
/// counts.
fn pairs(target: &Node, patch: Option<&Node>) -> Vec<(Option<usize>, Option<usize>)> {
    let mut names: Vec<(&str, bool, usize)> = Vec::new();
    for (is_patch, node) in [(false, Some(target)), (true, patch)] {
        let fields = node.map(Node::fields).unwrap_or_default();
        names.extend(fields.iter().enumerate().map(|(at, (key, _))| (raw(key), is_patch, at)));
    }
    names.sort_unstable();
    let same_name = names.chunk_by(|one, other| one.0 == other.0);
    same_name
        .map(|fields| {
            let first = |patch| fields.iter().find(|field| field.1 == patch).map(|field| field.2);
            (first(false), first(true))
        })
        .collect()
}
