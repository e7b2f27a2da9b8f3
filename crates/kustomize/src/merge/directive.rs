//! `$patch` directives. Reading one removes it from the patch.

use sluice_yaml::{Content, Node, SequenceIndent};

use super::elements::matches;
use super::facts::{Kind, field, is_null_or_empty_map, kind, raw};
use crate::failure::{Failure, Result};

const KEY: &str = "$patch";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Directive {
    Merge,
    Replace,
    Delete,
}

impl Directive {
    fn read(text: &str) -> Result<Self> {
        match text {
            "merge" => Ok(Self::Merge),
            "replace" => Ok(Self::Replace),
            "delete" => Ok(Self::Delete),
            other => Err(Failure::new(format!("unknown patch strategy '{other}'"))
                .hint("`$patch` is one of merge, replace and delete")),
        }
    }
}

/// Removes the directive from a patch.
pub(super) fn take(patch: &mut Node) -> Result<Directive> {
    match kind(patch) {
        Kind::Mapping => of_mapping(patch),
        Kind::Sequence => of_sequence(patch),
        Kind::Scalar | Kind::Alias => Err(Failure::new(format!(
            "no implemented strategic merge patch strategy for '{}' ('{}')",
            patch.short_tag(),
            patch.to_yaml(SequenceIndent::Compact)
        ))
        .at(patch.position)),
    }
}

fn of_mapping(patch: &mut Node) -> Result<Directive> {
    let Some(value) = field(patch, KEY) else { return Ok(Directive::Merge) };
    let directive = Directive::read(raw(value)).map_err(|wrong| wrong.at(value.position))?;
    if let Content::Mapping { fields, .. } = &mut patch.content
        && let Some(at) = fields.iter().position(|(key, _)| raw(key) == KEY)
    {
        fields.remove(at);
    }
    Ok(directive)
}

/// The directive of a list is its first item with only a directive; with further fields it is about the
/// item.
fn of_sequence(patch: &mut Node) -> Result<Directive> {
    let first = patch.items().iter().find_map(|item| Some((item, field(item, KEY)?)));
    let Some((item, value)) = first else { return Ok(Directive::Merge) };
    if item.fields().len() > 1 {
        return Ok(Directive::Merge);
    }
    let text = raw(value).to_owned();
    let directive = Directive::read(&text).map_err(|wrong| wrong.at(value.position))?;
    // Other items with the same directive are removed too.
    if let Content::Sequence { items, .. } = &mut patch.content {
        items.retain(|item| {
            let is_directive = || matches(item, &[KEY], std::slice::from_ref(&text));
            !is_null_or_empty_map(item) && !is_directive().unwrap_or(false)
        });
    }
    Ok(directive)
}
