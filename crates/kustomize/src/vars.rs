//! Vars: replace `$(NAME)` by the value of another object's field.

mod expand;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use sluice_yaml::{Content, Node, ScalarStyle};

use crate::access;
use crate::decode::Fields;
use crate::failure::{Diagnostic, Failure, Gathered, Result};
use crate::field_spec::{FieldSpec, SpecsByKind, split_path_with_brackets};
use crate::id::{Gvk, ResourceId};
use crate::openapi::Schema;
use crate::resource::Resource;
use crate::resources::Resources;
use crate::sharing;
use expand::Value;

/// The default field of a var.
const DEFAULT_FIELD_PATH: &str = "metadata.name";

/// A named value of a field.
#[derive(Debug, Clone, Default)]
pub(crate) struct Var {
    pub(crate) name: String,
    /// The object, by any current or former id; without a namespace, in any.
    object: ResourceId,
    field_path: String,
}

impl Var {
    pub(crate) fn read(fields: &Fields<'_>) -> Result<Self> {
        let object = fields.object("objref", "Target", |fields| {
            let mut gvk = Gvk::read(fields)?;
            let api_version = fields.text("apiVersion")?;
            let mut parts = api_version.split('/');
            match (parts.next(), parts.next(), parts.next()) {
                (Some(version), None, _) if !version.is_empty() => {
                    version.clone_into(&mut gvk.version);
                }
                (Some(group), Some(version), None) => {
                    group.clone_into(&mut gvk.group);
                    version.clone_into(&mut gvk.version);
                }
                _ => {}
            }
            Ok(ResourceId {
                gvk,
                name: fields.text("name")?,
                namespace: fields.text("namespace")?,
                cluster_scoped: false,
            })
        })?;
        let field_path =
            fields.object("fieldref", "FieldSelector", |fields| fields.text("fieldPath"))?;
        Ok(Self {
            name: fields.text("name")?,
            object: object.unwrap_or_default(),
            field_path: field_path
                .filter(|path| !path.is_empty())
                .unwrap_or_else(|| DEFAULT_FIELD_PATH.to_owned()),
        })
    }

    /// As kustomize prints it.
    fn describe(&self) -> String {
        format!("{{{} {} {{{}}}}}", self.name, self.object.gvk, self.field_path)
    }
}

/// The vars of a build, by name.
#[derive(Debug, Clone, Default)]
pub(crate) struct Vars(BTreeMap<String, Var>);

impl Vars {
    /// Adds the vars of a kustomization and marks their objects.
    pub(crate) fn add(
        &mut self,
        incoming: &[Var],
        resources: &mut Resources,
        schema: &Schema,
    ) -> Result<()> {
        if incoming.is_empty() {
            return Ok(());
        }
        let mut wrong = Gathered::default();
        let found = find(incoming, resources, schema);
        let mut list: Vec<&mut Resource> = resources.iter_mut_keeping_ids().collect();
        for (var, positions) in incoming.iter().zip(found) {
            match positions.as_slice() {
                [] => {}
                [one] => {
                    if let Some(resource) = list.get_mut(*one) {
                        resource.var_names.push(var.name.clone());
                    }
                }
                several => wrong.add(
                    Failure::new(format!(
                        "found {} resId matches for var {} (unable to disambiguate)",
                        several.len(),
                        var.describe()
                    ))
                    .hint("name the namespace of the object in `objref`"),
                ),
            }
        }
        for var in incoming {
            wrong.take(self.insert(var.clone()));
        }
        wrong.finish()
    }

    /// Adds the vars of another kustomization, with objects that are marked already.
    pub(crate) fn merge_all(&mut self, others: Self) -> Result<()> {
        let mut wrong = Gathered::default();
        for var in others.0.into_values() {
            wrong.take(self.insert(var));
        }
        wrong.finish()
    }

    fn insert(&mut self, var: Var) -> Result<()> {
        if self.0.contains_key(&var.name) {
            return Err(Failure::new(format!("var '{}' already encountered", var.name))
                .hint("vars of all layers share their names; rename one"));
        }
        self.0.insert(var.name.clone(), var);
        Ok(())
    }

    fn values(&self, resources: &Resources) -> Result<BTreeMap<String, Value>> {
        let mut marked: HashMap<&str, &Resource> = HashMap::new();
        if !self.0.is_empty() {
            for resource in resources.iter() {
                for name in &resource.var_names {
                    marked.entry(name).or_insert(resource);
                }
            }
        }
        let mut wrong = Gathered::default();
        let mut values = BTreeMap::new();
        for (name, var) in &self.0 {
            let value = match marked.get(name.as_str()) {
                None => Err(Failure::new(format!(
                    "var '{}' cannot be mapped to a field in the set of known resources",
                    var.describe()
                ))
                .hint("`objref` must give apiVersion, kind and the name as its file has it")),
                Some(resource) => field_value(&resource.node, &var.field_path).ok_or_else(|| {
                    resource.located(Failure::new(format!(
                        "field specified in var '{}' not found in corresponding resource",
                        var.describe()
                    )))
                }),
            };
            if let Some(value) = wrong.take(value) {
                values.insert(name.clone(), value);
            }
        }
        wrong.finish()?;
        Ok(values)
    }
}

/// Replaces all `$(NAME)`. Unused names are a warning.
pub(crate) fn resolve(
    resources: &mut Resources,
    vars: &Vars,
    var_reference: &[FieldSpec],
) -> Result<Option<Diagnostic>> {
    let values = vars.values(resources)?;
    if values.is_empty() {
        return Ok(None);
    }
    let mut places = SpecsByKind::new(var_reference);
    let mut used = BTreeSet::new();
    let mut wrong = Gathered::default();
    for resource in resources.iter_mut() {
        let mut set = |node: &mut Node| set(node, &values, &mut used);
        let replaced = places.apply(&mut resource.node, None, &mut set);
        wrong.take(replaced.map_err(|failure| resource.located(failure)));
        sharing::settle(resource);
    }
    wrong.finish()?;
    let unused: Vec<&str> =
        values.keys().map(String::as_str).filter(|name| !used.contains(*name)).collect();
    Ok((!unused.is_empty()).then(|| Diagnostic {
        message: format!("well-defined vars that were never replaced: {}", unused.join(",")),
        hint: Some(
            "only some fields are looked at; `varReference` in a configuration adds more"
                .to_owned(),
        ),
        ..Diagnostic::default()
    }))
}

/// Positions of the candidates of each var, in one pass.
fn find(vars: &[Var], resources: &Resources, schema: &Schema) -> Vec<Vec<usize>> {
    let mut wanted: HashMap<(&Gvk, &str), Vec<usize>> = HashMap::new();
    for (index, var) in vars.iter().enumerate() {
        let key = (&var.object.gvk, var.object.name.as_str());
        wanted.entry(key).or_default().push(index);
    }
    let mut found = vec![Vec::new(); vars.len()];
    for (position, resource) in resources.iter().enumerate() {
        if resource.is_empty() {
            continue;
        }
        let mut ids = resource.previous_ids();
        ids.push(resource.id(schema));
        for id in &ids {
            for &index in wanted.get(&(&id.gvk, id.name.as_str())).into_iter().flatten() {
                let (Some(var), Some(positions)) = (vars.get(index), found.get_mut(index)) else {
                    continue;
                };
                let is_there = var.object.namespace.is_empty()
                    || var.object.effective_namespace() == id.effective_namespace();
                if is_there && positions.last() != Some(&position) {
                    positions.push(position);
                }
            }
        }
    }
    found
}

/// The value of a field, typed by its tag.
fn field_value(node: &Node, path: &str) -> Option<Value> {
    let parts = split_path_with_brackets(path, '.');
    let parts: Vec<&str> = parts.iter().flat_map(|part| with_index(part)).collect();
    let field = access::lookup(node, &parts).ok().flatten()?;
    let Some(text) = field.as_text() else {
        return field.to_json().is_ok().then_some(Value::Other);
    };
    Some(match &*field.tag {
        "!!int" => Value::Integer(text.parse().ok()?),
        "!!float" => Value::Float(text.parse().ok().filter(|number: &f64| number.is_finite())?),
        "!!bool" => Value::Bool(match text {
            "true" | "True" | "TRUE" => true,
            "false" | "False" | "FALSE" => false,
            _ => return None,
        }),
        _ => Value::Text(text.to_owned()),
    })
}

/// `ports[0]` is two steps.
fn with_index(part: &str) -> Vec<&str> {
    let split = part.strip_suffix(']').and_then(|part| part.rsplit_once('['));
    match split {
        Some((name, index))
            if !index.is_empty() && index.bytes().all(|byte| byte.is_ascii_digit()) =>
        {
            if name.is_empty() { vec![index] } else { vec![name, index] }
        }
        _ => vec![part],
    }
}

fn set(
    node: &mut Node,
    values: &BTreeMap<String, Value>,
    used: &mut BTreeSet<String>,
) -> Result<()> {
    if access::is_null(node) {
        return Ok(());
    }
    match &mut node.content {
        Content::Scalar { .. } => {
            if is_text(node) {
                replace(node, values, used);
            }
        }
        Content::Mapping { fields, .. } => {
            for (key, value) in fields {
                if !is_text(key) {
                    return Err(Failure::new(format!(
                        "invalid map key: value='{}', tag='{}'",
                        key.as_text().unwrap_or_default(),
                        key.tag
                    ))
                    .at(key.position));
                }
                if is_text(value) {
                    replace(value, values, used);
                }
            }
        }
        Content::Sequence { items, .. } => {
            for item in items {
                if !is_text(item) {
                    return Err(
                        Failure::new("invalid value type expect a string").at(item.position)
                    );
                }
                replace(item, values, used);
            }
        }
        Content::Alias(_) => return Err(Failure::new("invalid type encountered")),
    }
    Ok(())
}

fn is_text(node: &Node) -> bool {
    node.as_text().is_some() && matches!(&*node.tag, "" | "!!str")
}

/// Replaces a scalar. It loses its quotes even without a var in it; its tag determines its type.
fn replace(node: &mut Node, values: &BTreeMap<String, Value>, used: &mut BTreeSet<String>) {
    let (value, tag) = match expand::expand(node.as_text().unwrap_or_default(), values, used) {
        Value::Integer(number) => (number.to_string(), "!!int"),
        Value::Bool(truth) => (truth.to_string(), "!!bool"),
        Value::Float(number) => (number.to_string(), "!!float"),
        Value::Text(text) => (text, "!!str"),
        Value::Other => return,
    };
    node.content = Content::Scalar { value, style: ScalarStyle::Plain };
    node.tag = tag.into();
    sharing::touch(node);
}

#[cfg(test)]
mod tests;
