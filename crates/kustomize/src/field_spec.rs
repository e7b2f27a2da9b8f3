//! Field specs: the fields of kinds that a transformer changes.

use std::collections::HashMap;
use std::sync::Arc;

use sluice_yaml::{Content, Node};

use crate::access::{self, Kind};
use crate::decode::Fields;
use crate::failure::{Failure, Result};
use crate::id::{Gvk, split_api_version};

/// A field of some kinds.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct FieldSpec {
    /// The kinds; empty parts match all.
    pub(crate) gvk: Gvk,
    /// The path, with `/`; `[]` marks a list that may be null.
    pub(crate) path: String,
    /// Whether a missing field is created.
    pub(crate) create: bool,
}

impl FieldSpec {
    pub(crate) fn read(fields: &Fields<'_>) -> Result<Self> {
        Ok(Self {
            gvk: fields.embedded(Gvk::read)?,
            path: fields.text("path")?,
            create: fields.flag("create")?,
        })
    }

    /// Whether it applies to a kind.
    fn is_for(&self, node: &Node) -> bool {
        let top = |name| node.field(name).and_then(Node::as_text).unwrap_or_default();
        let selects = |wanted: &str, is: &str| wanted.is_empty() || wanted == is;
        let (group, version) = split_api_version(top("apiVersion"));
        selects(&self.gvk.kind, top("kind"))
            && selects(&self.gvk.group, group)
            && selects(&self.gvk.version, version)
    }
}

/// Adds field specs to a list. Duplicates must agree about creation.
pub(crate) fn merge_into(list: &mut Vec<FieldSpec>, more: &[FieldSpec]) -> Result<()> {
    for spec in more {
        let same =
            list.iter().find(|there| there.gvk.is_selected(&spec.gvk) && there.path == spec.path);
        match same {
            Some(there) if there.create != spec.create => {
                return Err(Failure::new("conflicting fieldspecs"));
            }
            Some(_) => {}
            None => list.push(spec.clone()),
        }
    }
    Ok(())
}

/// The kind of a created field, and the tag of a null that becomes one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Creation {
    pub(crate) kind: Kind,
    pub(crate) tag: &'static str,
}

impl Creation {
    pub(crate) const SCALAR: Self = Self { kind: Kind::Scalar, tag: "" };
    pub(crate) const TEXT: Self = Self { kind: Kind::Scalar, tag: "!!str" };
    pub(crate) const INTEGER: Self = Self { kind: Kind::Scalar, tag: "!!int" };
    pub(crate) const MAPPING: Self = Self { kind: Kind::Mapping, tag: "!!map" };
}

/// Calls `set` on every field of the object that matches the spec.
pub(crate) fn apply_one(
    object: &mut Node,
    spec: &FieldSpec,
    creation: Option<Creation>,
    set: &mut dyn FnMut(&mut Node) -> Result<()>,
) -> Result<()> {
    if !spec.is_for(object) {
        return Ok(());
    }
    enter(object, spec, &split_path(&spec.path, '/'), creation, set)
}

/// Calls `set` on every field that matches the spec, for objects of any kind.
pub(crate) fn enter(
    object: &mut Node,
    spec: &FieldSpec,
    parts: &[String],
    creation: Option<Creation>,
    set: &mut dyn FnMut(&mut Node) -> Result<()>,
) -> Result<()> {
    let walk = Walk { create: spec.create, creation };
    walk.enter(object, parts, set).map_err(|failure| {
        let id = crate::resource::Resource::describe(object);
        failure.context(format_args!("considering field '{}' of object {id}", spec.path))
    })
}

/// The specs of a list that apply to a kind.
type Places = Arc<[usize]>;

/// `apiVersion` and kind.
type ApiKind = (String, String);

/// Field specs for many objects: matched once per kind, with paths split once.
pub(crate) struct SpecsByKind<'s> {
    specs: Vec<(&'s FieldSpec, Vec<String>)>,
    kinds: HashMap<ApiKind, Places>,
    /// The last kind, which is often the next.
    last: Option<(ApiKind, Places)>,
}

impl<'s> SpecsByKind<'s> {
    pub(crate) fn new(specs: impl IntoIterator<Item = &'s FieldSpec>) -> Self {
        let specs = specs.into_iter().map(|spec| (spec, split_path(&spec.path, '/'))).collect();
        Self { specs, kinds: HashMap::new(), last: None }
    }

    fn places(&mut self, object: &Node) -> Places {
        let top = |name| object.field(name).and_then(Node::as_text).unwrap_or_default();
        let (api_version, kind) = (top("apiVersion"), top("kind"));
        if let Some(((last_version, last_kind), places)) = &self.last
            && last_version == api_version
            && last_kind == kind
        {
            return Arc::clone(places);
        }
        let key = (api_version.to_owned(), kind.to_owned());
        let specs = &self.specs;
        let places = self.kinds.entry(key.clone()).or_insert_with(|| {
            let for_it = specs.iter().enumerate().filter(|(_, (spec, _))| spec.is_for(object));
            for_it.map(|(place, _)| place).collect()
        });
        let places = Arc::clone(places);
        self.last = Some((key, Arc::clone(&places)));
        places
    }

    /// Calls `set` on every field of the object that matches the specs, in order. `set` must not change the object's
    /// kind.
    pub(crate) fn apply(
        &mut self,
        object: &mut Node,
        creation: Option<Creation>,
        set: &mut dyn FnMut(&mut Node) -> Result<()>,
    ) -> Result<()> {
        for place in self.places(object).iter() {
            if let Some((spec, parts)) = self.specs.get(*place) {
                enter(object, spec, parts, creation, set)?;
            }
        }
        Ok(())
    }
}

#[derive(Clone, Copy)]
struct Walk {
    create: bool,
    creation: Option<Creation>,
}

impl Walk {
    fn enter(
        self,
        node: &mut Node,
        path: &[String],
        set: &mut dyn FnMut(&mut Node) -> Result<()>,
    ) -> Result<()> {
        let Some((first, rest)) = path.split_first() else { return set(node) };
        if access::is_null(node) {
            return Ok(());
        }
        match &mut node.content {
            Content::Sequence { items, .. } => {
                for item in items {
                    self.enter(item, path, set).map_err(|failure| {
                        failure.context(format_args!("visit traversal on path: {path:?}"))
                    })?;
                }
                Ok(())
            }
            Content::Mapping { .. } => self.enter_field(node, first, rest, set),
            Content::Scalar { .. } | Content::Alias(_) => {
                Err(Failure::new("expected sequence or mapping node").at(node.position))
            }
        }
    }

    fn enter_field(
        self,
        node: &mut Node,
        part: &str,
        rest: &[String],
        set: &mut dyn FnMut(&mut Node) -> Result<()>,
    ) -> Result<()> {
        let name = part.strip_suffix("[]");
        let is_list = name.is_some();
        let name = name.unwrap_or(part);
        if name.is_empty() {
            return Err(Failure::new("cannot set or create an empty field name"));
        }
        // The type of a null field, and whether a missing one is created.
        let (made, becomes) = match self.creation {
            _ if is_list => (None, Some((Kind::Sequence, ""))),
            Some(creation) if self.create && rest.is_empty() => {
                (Some(creation.kind), Some((creation.kind, creation.tag)))
            }
            Some(_) if self.create => (Some(Kind::Mapping), Some((Kind::Mapping, "!!map"))),
            _ => (None, None),
        };
        let field = match made {
            Some(kind) => access::lookup_create(node, &[name], kind),
            None => access::lookup_mut(node, &[name]),
        };
        let field = field.map_err(|failure| failure.context(format_args!("fieldName: {name}")))?;
        let Some(field) = field else { return Ok(()) };
        if access::is_null(field)
            && let Some((kind, tag)) = becomes
        {
            if Kind::of(field) != Some(kind) {
                field.content = kind.empty().content;
            }
            field.tag = tag.into();
        }
        self.enter(field, rest, set)
    }
}

/// Splits a path; `\` escapes a delimiter, and a leading one is ignored.
pub(crate) fn split_path(path: &str, delimiter: char) -> Vec<String> {
    let mut parts: Vec<String> = Vec::new();
    let mut pieces = path.split(delimiter).peekable();
    if pieces.peek() == Some(&"") && path.contains(delimiter) {
        pieces.next();
    }
    for piece in pieces {
        match parts.last_mut() {
            Some(last) if last.ends_with('\\') => {
                last.pop();
                last.push(delimiter);
                last.push_str(piece);
            }
            _ => parts.push(piece.to_owned()),
        }
    }
    parts
}

/// Like [`split_path`], with brackets as one part including delimiters; brackets without `=` only
/// quote.
pub(crate) fn split_path_with_brackets(path: &str, delimiter: char) -> Vec<String> {
    let mut parts = Vec::new();
    let mut pieces = split_path(path, delimiter).into_iter();
    while let Some(piece) = pieces.next() {
        if !piece.starts_with('[') || piece.ends_with(']') {
            parts.push(piece);
            continue;
        }
        let mut whole = piece;
        for next in pieces.by_ref() {
            whole.push(delimiter);
            whole.push_str(&next);
            if next.ends_with(']') {
                break;
            }
        }
        if whole.contains('=') {
            parts.push(whole);
        } else {
            parts.push(whole.trim_matches(['[', ']']).to_owned());
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use sluice_yaml::{Node, SequenceIndent, parse};

    use super::{Creation, FieldSpec, apply_one, split_path, split_path_with_brackets};
    use crate::access;

    #[test]
    fn paths_are_split_at_delimiters_that_are_not_escaped() {
        assert_eq!(split_path("/a/b\\/c/d", '/'), ["a", "b/c", "d"]);
        assert_eq!(split_path("a", '/'), ["a"]);
        assert_eq!(split_path("", '/'), [""]);
        assert_eq!(
            split_path_with_brackets("a.[b.c/d].[name=x.y].e", '.'),
            ["a", "b.c/d", "[name=x.y]", "e"]
        );
    }

    #[test]
    fn fields_are_set_through_lists_and_made_where_asked() {
        let cases = [
            ("a:\n- b: 1\n- b: 2\n- c: 3\n", "a/b", false, "a:\n- b: x\n- b: x\n- c: 3\n"),
            ("a:\n- b: 1\n- c: 3\n", "a/b", true, "a:\n- b: x\n- c: 3\n  b: x\n"),
            ("k: v\n", "a/b", true, "k: v\na:\n  b: x\n"),
            ("k: v\n", "a/b", false, "k: v\n"),
            ("a: null\n", "a/b", true, "a: {b: x}\n"),
        ];
        for (text, path, create, expected) in cases {
            let mut node: Node = parse(text.as_bytes()).unwrap().remove(0).root;
            let spec = FieldSpec { path: path.to_owned(), create, ..FieldSpec::default() };
            let mut set = |node: &mut Node| access::set_scalar(node, access::untagged("x"));
            apply_one(&mut node, &spec, Some(Creation::SCALAR), &mut set).unwrap();
            let written = node.to_yaml(SequenceIndent::Compact);
            let flat = expected.replace("a: {b: x}\n", "a:\n  b: x\n");
            assert_eq!(written, flat, "{text:?} {path}");
        }
    }
}
