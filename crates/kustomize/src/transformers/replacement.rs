//! `replacements` and `ReplacementTransformer`: copy the value of one field into others.

mod path;
mod structured;
mod target;

use serde_json::Value;
use sluice_yaml::{Content, Duplicates, Node};

use super::{FieldSteps, Load, Transformer};
use crate::access;
use crate::decode::{Fields, Unknown};
use crate::failure::{Failure, Result};
use crate::field_spec::split_path_with_brackets;
use crate::id::{Gvk, ResourceId};
use crate::openapi::Schema;
use crate::resource::Resource;
use crate::resources::Resources;
use crate::sharing;
use target::Target;

/// The default field.
const DEFAULT_FIELD_PATH: &str = "metadata.name";

/// An entry of `replacements`: one replacement, or a file with some.
#[derive(Debug, Clone, Default)]
pub(crate) struct ReplacementField {
    path: String,
    replacement: Replacement,
}

impl ReplacementField {
    pub(crate) fn read(fields: &Fields<'_>) -> Result<Self> {
        Ok(Self { path: fields.text("path")?, replacement: fields.embedded(Replacement::read)? })
    }
}

/// A source and its targets.
#[derive(Debug, Clone, Default)]
struct Replacement {
    source: Option<Source>,
    source_value: Option<String>,
    targets: Option<Vec<Target>>,
}

impl Replacement {
    fn read(fields: &Fields<'_>) -> Result<Self> {
        let targets = fields.objects("targets", "TargetSelector", Target::read)?;
        Ok(Self {
            source: fields.object("source", "SourceSelector", Source::read)?,
            source_value: fields.optional_text("sourceValue")?,
            targets: fields.any("targets").map(|_| targets),
        })
    }
}

/// The field of one object.
#[derive(Debug, Clone)]
struct Source {
    /// Empty parts match any.
    id: ResourceId,
    /// As written.
    field_path: String,
    options: Option<Options>,
}

impl Source {
    fn read(fields: &Fields<'_>) -> Result<Self> {
        let id = fields.embedded(|id| {
            Ok(ResourceId {
                gvk: Gvk::read(id)?,
                name: id.text("name")?,
                namespace: id.text("namespace")?,
                cluster_scoped: false,
            })
        })?;
        Ok(Self {
            id,
            field_path: fields.text("fieldPath")?,
            options: fields.object("options", "FieldOptions", Options::read)?,
        })
    }

    /// As kustomize prints it.
    fn describe(&self) -> String {
        let mut text = self.id.to_string();
        if !self.field_path.is_empty() {
            text = format!("{text}:{}", self.field_path);
        }
        match &self.options {
            Some(Options { delimiter, index, create }) if !delimiter.is_empty() || *create => {
                format!("{text}:{delimiter}({index}), create={create}")
            }
            _ => text,
        }
    }
}

/// The part of a string, and whether a missing field is created.
#[derive(Debug, Clone, Default)]
struct Options {
    delimiter: String,
    index: i64,
    create: bool,
}

impl Options {
    fn read(fields: &Fields<'_>) -> Result<Self> {
        // Decoded and never used.
        fields.text("encoding")?;
        Ok(Self {
            delimiter: fields.text("delimiter")?,
            index: fields.integer("index")?,
            create: fields.flag("create")?,
        })
    }
}

/// Copies field values.
#[derive(Debug, Clone)]
pub(crate) struct Replacements {
    list: Vec<Replacement>,
}

impl Replacements {
    /// From the entries of a kustomization.
    /// `replacements`
    pub(super) fn field(steps: &mut FieldSteps<'_>) {
        let replacements = &steps.kustomization.replacements;
        if !replacements.is_empty() {
            let made = Self::new(replacements, steps.files);
            steps.add("ReplacementTransformer", "replacements", None, made);
        }
    }

    pub(crate) fn new(entries: &[ReplacementField], files: &dyn Load) -> Result<Self> {
        let mut entries = entries.to_vec();
        for entry in &mut entries {
            // An empty list is lost on the way to the transformer.
            let targets = &mut entry.replacement.targets;
            *targets = targets.take().filter(|targets| !targets.is_empty());
        }
        Self::load(entries, files)
    }

    pub(crate) fn from_config(config: &Value, files: &dyn Load) -> Result<Self> {
        let fields = Fields::converting(config, "ReplacementTransformerPlugin", Unknown::Ignored)?;
        let entries = fields.objects("replacements", "ReplacementField", ReplacementField::read)?;
        Self::load(entries, files)
    }

    fn load(entries: Vec<ReplacementField>, files: &dyn Load) -> Result<Self> {
        let mut list = Vec::new();
        for ReplacementField { path, replacement } in entries {
            if path.is_empty() {
                list.push(replacement);
                continue;
            }
            if replacement.source.is_some()
                || replacement.targets.is_some_and(|targets| !targets.is_empty())
            {
                return Err(Failure::new("cannot specify both path and inline replacement"));
            }
            let content = files.load(&path)?;
            list.extend(read_file(&content).map_err(|failure| failure.in_file(&path))?);
        }
        Ok(Self { list })
    }
}

/// A file holds one replacement or a list.
fn read_file(content: &[u8]) -> Result<Vec<Replacement>> {
    let value = sluice_yaml::to_json(content, Duplicates::LastWins)?.unwrap_or_default();
    let read = |value: &Value| {
        let fields = Fields::converting(value, "Replacement", Unknown::Ignored)?;
        Replacement::read(&fields)
    };
    let kind = match &value {
        Value::Array(items) => return items.iter().map(read).collect(),
        Value::Object(_) => return Ok(vec![read(&value)?]),
        Value::Null => "invalid",
        Value::Bool(_) => "bool",
        Value::Number(_) => "float64",
        Value::String(_) => "string",
    };
    Err(Failure::new(format!(
        "unsupported replacement type encountered within replacement path: {kind}"
    )))
}

/// The current and former ids of each resource, the current one first, without scope.
struct Ids(Vec<Vec<ResourceId>>);

impl Ids {
    fn of(list: &[Resource]) -> Self {
        Self(list.iter().map(Self::of_one).collect())
    }

    fn of_one(resource: &Resource) -> Vec<ResourceId> {
        let mut ids = vec![Resource::describe(&resource.node)];
        ids.extend(resource.previous_ids());
        ids
    }

    fn get(&self, position: usize) -> &[ResourceId] {
        self.0.get(position).map(Vec::as_slice).unwrap_or_default()
    }

    /// Updates a changed resource.
    fn follow(&mut self, position: usize, resource: &Resource) {
        if let Some(ids) = self.0.get_mut(position) {
            *ids = Self::of_one(resource);
        }
    }
}

impl Transformer for Replacements {
    fn transform(&self, resources: &mut Resources, _: &Schema) -> Result<()> {
        if self.list.is_empty() {
            return Ok(());
        }
        let changing = resources.changing();
        let list = resources.list_mut();
        let mut ids = Ids::of(list);
        for replacement in &self.list {
            let targets = match &replacement.targets {
                Some(targets)
                    if replacement.source.is_some() || replacement.source_value.is_some() =>
                {
                    targets
                }
                _ => {
                    return Err(Failure::new(
                        "replacements must specify a source and at least one target",
                    ));
                }
            };
            let mut value = Copied::of(replacement, list, &ids)?;
            for target in targets {
                target.apply(list, &mut ids, &mut value, changing.as_ref())?;
            }
        }
        resources.drop_empty();
        Ok(())
    }
}

/// The copied value. It is the source's own field unless a part of it was selected, so that a change of the source is
/// visible in later copies.
struct Copied {
    node: Node,
    /// The object and the path of the field in it, which is valid even if the value was part of its path.
    from: Option<(usize, Vec<usize>)>,
}

impl Copied {
    fn of(replacement: &Replacement, list: &[Resource], ids: &Ids) -> Result<Self> {
        match (&replacement.source, &replacement.source_value) {
            (Some(_), Some(_)) => {
                Err(Failure::new("value and resource selectors are mutually exclusive"))
            }
            (None, text) => {
                let text = text.clone().unwrap_or_default();
                Ok(Self { node: access::untagged(text), from: None })
            }
            (Some(source), None) => Self::from_source(source, list, ids),
        }
    }

    fn from_source(source: &Source, list: &[Resource], ids: &Ids) -> Result<Self> {
        let fits =
            |position: &usize| ids.get(*position).iter().any(|id| id.is_selected_by(&source.id));
        let mut found = (0..list.len()).filter(fits);
        let Some((position, resource)) =
            found.next().and_then(|position| Some((position, list.get(position)?)))
        else {
            return Err(Failure::new(format!("nothing selected by {}", source.describe()))
                .hint("no object has or had that kind, name and namespace"));
        };
        if found.next().is_some() {
            return Err(Failure::new(format!(
                "multiple matches for selector {}",
                source.describe()
            ))
            .hint("say more about the source: kind, name or namespace"));
        }
        let path =
            if source.field_path.is_empty() { DEFAULT_FIELD_PATH } else { &source.field_path };
        let parts = split_path_with_brackets(path, '.');
        let node = look_up(&resource.node, &parts).map_err(|failure| {
            resource.located(failure.context("error looking up replacement source"))
        })?;
        let Some(node) = node.filter(|node| !access::is_empty(node)) else {
            return Err(resource.located(Failure::new(format!(
                "fieldPath `{path}` is missing for replacement source {}",
                source.id
            ))));
        };
        match &source.options {
            Some(options) if !options.delimiter.is_empty() => {
                Ok(Self { node: part(node, options)?, from: None })
            }
            _ => {
                let trail = path::trail_to(&resource.node, node);
                Ok(Self { node: node.clone(), from: trail.map(|trail| (position, trail)) })
            }
        }
    }

    /// Updates the value if its source was changed.
    fn follow(&mut self, position: usize, object: &Node) {
        if let Some((from, trail)) = &self.from
            && *from == position
            && let Some(node) = path::at(object, trail)
        {
            self.node = node.clone();
        }
    }

    /// Replacing a parent of the source leaves the value unchanged.
    fn let_go(&mut self, position: usize, replaced: &[usize]) {
        self.from.take_if(|(from, trail)| {
            *from == position && trail.len() > replaced.len() && trail.starts_with(replaced)
        });
    }
}

fn look_up<'n>(node: &'n Node, parts: &[String]) -> Result<Option<&'n Node>> {
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    access::lookup(node, &parts)
}

/// One part of a string.
fn part(node: &Node, options: &Options) -> Result<Node> {
    let Content::Scalar { value, .. } = &node.content else {
        return Err(
            Failure::new("delimiter option can only be used with scalar nodes").at(node.position)
        );
    };
    let mut parts = value.split(&options.delimiter);
    let part = usize::try_from(options.index).ok().and_then(|index| parts.nth(index));
    let Some(part) = part else {
        return Err(Failure::new(format!(
            "options.index {} is out of bounds for value {value}",
            options.index
        ))
        .at(node.position));
    };
    let mut copy = node.clone();
    set_text(&mut copy, part);
    Ok(copy)
}

/// Changes only the text of a scalar.
fn set_text(node: &mut Node, text: &str) {
    if let Content::Scalar { value, .. } = &mut node.content {
        text.clone_into(value);
        sharing::touch(node);
    }
}

#[cfg(test)]
mod tests;
