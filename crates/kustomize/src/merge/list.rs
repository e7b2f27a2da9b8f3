//! Associative lists: items are identified by the schema's merge keys, or by their text.
//!
//! Each item has a row: the values of its keys. The rows of both sides are ordered, the items of each row are merged, and
//! the results are joined with the target's items. `regular.rs` does that for lists where every item has all keys and
//! no row occurs twice; `general.rs` for all others, step by step like kyaml: there, each step scans the whole list, and
//! items without keys are treated in surprising ways.

mod general;
mod regular;
mod rows;

use sluice_yaml::{Content, Node};

use self::rows::Rows;
use super::directive::{self, Directive};
use super::elements::{Place, Store};
use super::facts::{is_null, is_null_or_empty_map};
use super::sources::{Outcome, Sources};
use super::{ListIncrease, Path, Walker, raw};
use crate::failure::{Failure, Result};
use crate::openapi::SchemaRef;

/// The key that is assumed without a schema.
const GUESSED_KEY: &str = "name";

/// A merge of two lists.
struct Lists {
    store: Store,
    target: Vec<Place>,
    /// `None` if the patch has no list, or if its list has become the target's.
    patch: Option<Vec<Place>>,
    /// Whether the target's list is the patch's.
    same: bool,
}

impl<'s> Walker<'s> {
    /// Whether a list is merged item by item.
    pub(super) fn is_associative(
        &self,
        sources: &Sources<'_>,
        schema: Option<&SchemaRef<'s>>,
    ) -> bool {
        match schema {
            Some(schema) => schema.is_merged(),
            None => self.infer && sources.present().any(all_have_guessed_key),
        }
    }

    pub(super) fn list(
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
        let outcome = if was_same { Outcome::Target } else { outcome };
        let mut keys = schema.map(SchemaRef::merge_keys).unwrap_or_default();
        if keys.is_empty() && schema.is_none_or(|schema| schema.patch_strategy().is_empty()) {
            guess_key(&sources, path)?;
            keys.push(GUESSED_KEY);
        }
        let same = matches!(sources, Sources::Same(_));
        let (holder, patch) = match &mut sources {
            Sources::Target(holder) | Sources::Same(holder) => (&mut **holder, None),
            Sources::Both(holder, patch) => (&mut **holder, Some(&mut **patch)),
            Sources::Neither | Sources::Patch(_) => return Ok(outcome),
        };
        let mut store = Store::default();
        let target = store.extend(take_items(holder));
        let patch = patch.map(|patch| store.extend(take_items(patch)));
        let mut lists = Lists { store, target, patch, same };
        if keys.is_empty() {
            // A list of scalars; each is its own key.
            keys.push("");
        }
        let rows = Rows::of(&lists, &keys, self.increase);
        let elements = schema.and_then(SchemaRef::elements);
        if rows.all.is_empty() {
            return Ok(outcome);
        }
        let merged = match rows.by_row() {
            Some(by_row) => self.merge_regular(&mut lists, &rows, by_row, elements.as_ref())?,
            None => self.merge_general(&mut lists, &rows, keys.len() > 1, elements.as_ref())?,
        };
        let items = lists.store.take(&merged);
        if self.increase == ListIncrease::Prepend {
            let list = Node { tag: "".into(), ..Node::sequence(items) };
            return Ok(Outcome::Made(list));
        }
        if let Some(own) = holder.items_mut() {
            *own = items;
        }
        Ok(outcome)
    }

    /// Merges the items of one row; returns the result, if any.
    fn element(
        &self,
        lists: &mut Lists,
        target: Option<Place>,
        patch: Option<Place>,
        schema: Option<&SchemaRef<'s>>,
    ) -> Result<Option<Place>> {
        let store = &mut lists.store;
        let sources = match (target, patch) {
            (Some(target), _) if lists.same => Sources::Same(store.get_mut(target)),
            (Some(target), Some(patch)) => {
                let (target, patch) = store.pair_mut(target, patch);
                Sources::Both(target, patch)
            }
            (Some(target), None) => Sources::Target(store.get_mut(target)),
            (None, Some(patch)) => Sources::Patch(store.get_mut(patch)),
            (None, None) => Sources::Neither,
        };
        let place = match self.walk(sources, schema.cloned(), Path::default())? {
            Outcome::Cleared | Outcome::KeptNull(_) => None,
            Outcome::Target => target,
            Outcome::Patch => patch,
            Outcome::Made(node) => Some(store.push(node)),
        };
        Ok(place.filter(|place| !is_null_or_empty_map(store.get(*place))))
    }
}

/// The side that a list comes from.
fn choose(sources: &mut Sources<'_>) -> Result<Outcome> {
    if sources.target().is_none_or(is_null) {
        return Ok(if sources.patch().is_some() { Outcome::Patch } else { Outcome::Cleared });
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

fn all_have_guessed_key(list: &Node) -> bool {
    list.items().iter().all(has_guessed_key)
}

fn has_guessed_key(item: &Node) -> bool {
    item.fields().iter().any(|(key, _)| raw(key) == GUESSED_KEY)
}

/// Checks that a list without a schema can be merged by the assumed key.
fn guess_key(sources: &Sources<'_>, path: Path<'_>) -> Result<()> {
    let mut guessed = false;
    for list in sources.present().filter(|list| !list.items().is_empty()) {
        let fits = all_have_guessed_key(list);
        if guessed && !fits {
            return Err(Failure::new(format!(
                "conflicting merge keys [{GUESSED_KEY},] for field {}",
                path.join()
            )));
        }
        guessed = fits;
    }
    if guessed {
        return Ok(());
    }
    Err(Failure::new(format!("no merge key found for field {}", path.join())))
}

fn take_items(list: &mut Node) -> Vec<Node> {
    match &mut list.content {
        Content::Sequence { items, .. } => std::mem::take(items),
        _ => Vec::new(),
    }
}
