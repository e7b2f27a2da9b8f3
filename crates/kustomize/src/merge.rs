//! Strategic merge: kyaml's `merge2`, with its directives, its use of the schema and its handling of comments and
//! styles.
//!
//! ```text
//! strategic, merge_text ─▶ Walker::walk ─┬─▶ mapping   field by field
//!                                        ├─▶ list      item by item, where the schema says so
//!                                        └─▶ scalars   the patch wins
//! ```
//!
//! Both sides are walked together, and the target is walked even where the patch has no value: there nulls without a
//! text are removed, strings that YAML 1.1 misreads get quotes, and list items with the same key are joined. In kyaml
//! both sides are trees of pointers, and a value that the patch adds is merged with itself; `sources.rs` has the
//! cases. Lists are indexed, so that the cost is linear.

mod directive;
mod elements;
mod facts;
mod list;
mod mapping;
mod sources;

use sluice_yaml::{Node, SequenceIndent, parse};

use self::facts::{Kind, field, is_null, kind, raw};
use self::sources::{Outcome, Sources};
use crate::failure::{Failure, Result};
use crate::openapi::{Schema, SchemaRef};

/// The position of new items in merged lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ListIncrease {
    /// After those of the target.
    #[default]
    Append,
    /// Before them, as in kustomize.
    Prepend,
}

/// Options of [`merge_text`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MergeOptions {
    /// The position of new items.
    pub list_increase: ListIncrease,
    /// Whether lists without a schema are merged by `name` if their items have one.
    pub infer_lists: bool,
}

/// Merges a patch into an object; `None` if the patch deletes the object.
///
/// An object that the patch replaces as a whole is unchanged: kustomize ignores the result of that.
pub(crate) fn strategic(patch: &Node, mut target: Node, schema: &Schema) -> Result<Option<Node>> {
    let mut patch = patch.clone();
    let walker = Walker { schema, infer: false, increase: ListIncrease::Prepend };
    let sources = Sources::Both(&mut target, &mut patch);
    Ok(match walker.walk(sources, None, Path::default())? {
        Outcome::Cleared => None,
        _ => Some(target),
    })
}

/// Merges a document into another, as texts with comments, like `merge2.MergeStrings`.
pub fn merge_text(
    patch: &str,
    target: &str,
    options: MergeOptions,
) -> std::result::Result<String, Failure> {
    let read = |text: &str| {
        let documents = parse(text.as_bytes())?;
        documents.into_iter().next().ok_or_else(|| Failure::new("EOF"))
    };
    let mut patch = read(patch)?;
    let mut target = read(target)?;
    let schema = Schema::builtin();
    let walker =
        Walker { schema: &schema, infer: options.infer_lists, increase: options.list_increase };
    let sources = Sources::Both(&mut target.root, &mut patch.root);
    Ok(match walker.walk(sources, None, Path::default())? {
        Outcome::Cleared => String::new(),
        Outcome::Target => target.to_yaml(SequenceIndent::Compact),
        Outcome::Patch => patch.to_yaml(SequenceIndent::Compact),
        Outcome::Made(node) => node.to_yaml(SequenceIndent::Compact),
        Outcome::KeptNull(text) => Node::scalar("!!null", text).to_yaml(SequenceIndent::Compact),
    })
}

/// The constants of a merge.
struct Walker<'s> {
    schema: &'s Schema,
    infer: bool,
    increase: ListIncrease,
}

/// The fields that led to a value, for messages; they start anew in each list item.
#[derive(Clone, Copy, Default)]
struct Path<'p>(Option<(&'p Path<'p>, &'p str)>);

impl<'p> Path<'p> {
    fn with<'q>(&'q self, name: &'q str) -> Path<'q>
    where
        'p: 'q,
    {
        Path(Some((self, name)))
    }

    fn join(self) -> String {
        match self.0 {
            None => String::new(),
            Some((before, name)) => match before.0 {
                None => name.to_owned(),
                Some(_) => format!("{}.{name}", before.join()),
            },
        }
    }
}

impl<'s> Walker<'s> {
    fn walk(
        &self,
        sources: Sources<'_>,
        schema: Option<SchemaRef<'s>>,
        path: Path<'_>,
    ) -> Result<Outcome> {
        let schema = self.schema_of(&sources, schema);
        let Some(kind) = sources.present().next().map(kind) else {
            return self.mapping(sources, schema.as_ref(), path);
        };
        if kind == Kind::Alias {
            return Ok(Outcome::Cleared);
        }
        sources.expect(kind)?;
        match kind {
            Kind::Mapping => self.mapping(sources, schema.as_ref(), path),
            Kind::Sequence if self.is_associative(&sources, schema.as_ref()) => {
                self.list(sources, schema.as_ref(), path)
            }
            _ => Ok(replace(sources)),
        }
    }

    /// The schema of a value: from its comment, its parent's schema, or its own `apiVersion` and `kind`.
    fn schema_of(
        &self,
        sources: &Sources<'_>,
        inherited: Option<SchemaRef<'s>>,
    ) -> Option<SchemaRef<'s>> {
        let commented = sources.present().find_map(|node| self.schema_in_comment(node));
        commented.or(inherited).or_else(|| {
            sources.present().find_map(|node| {
                let text = |name| field(node, name).filter(|value| !is_null(value)).map(raw);
                let (api_version, kind) = (text("apiVersion")?, text("kind")?);
                if api_version.is_empty() || kind.is_empty() {
                    return None;
                }
                self.schema.of(api_version, kind)
            })
        })
    }

    fn schema_in_comment(&self, node: &Node) -> Option<SchemaRef<'s>> {
        let comments = node.comments.as_ref()?;
        let comment = [&comments.line, &comments.head].into_iter().find(|text| !text.is_empty())?;
        self.schema.in_comment(comment)
    }

    /// The comments of a list in block style are those of its key.
    fn schema_in_comments(&self, (key, value): &(Node, Node)) -> Option<SchemaRef<'s>> {
        self.schema_in_comment(value).or_else(|| self.schema_in_comment(key))
    }
}

/// Scalars, and lists that are not merged: the patch wins.
fn replace(mut sources: Sources<'_>) -> Outcome {
    sources.carry_over();
    match sources {
        Sources::Neither => Outcome::Cleared,
        Sources::Target(_) | Sources::Same(_) => Outcome::Target,
        Sources::Patch(_) | Sources::Both(..) => Outcome::Patch,
    }
}

#[cfg(test)]
mod tests;
