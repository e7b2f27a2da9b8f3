//! Decodes JSON into fields as Go's `encoding/json` does: names match case-insensitively, null leaves a field
//! unchanged, and a value of the wrong type is an error that names the field.

use std::cell::RefCell;
use std::collections::BTreeMap;

use serde_json::{Map, Value};
use sluice_yaml::{Node, Position};

use crate::failure::{Failure, Gathered, Result};

/// Whether unknown fields are errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unknown {
    Refused,
    Ignored,
}

/// The fields of one object, taken by name.
pub(crate) struct Fields<'v> {
    entries: &'v Map<String, Value>,
    /// The node they were parsed from, if known.
    node: Option<&'v Node>,
    /// The name of the Go struct, for messages.
    owner: String,
    unknown: Unknown,
    converts: Converts,
    asked: RefCell<Vec<&'static str>>,
}

/// Whether a number or boolean is accepted as a string.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Converts {
    Nowhere,
    /// In the struct itself, but not in one that it embeds.
    Here,
    Everywhere,
}

static EMPTY: std::sync::LazyLock<Map<String, Value>> = std::sync::LazyLock::new(Map::new);

impl<'v> Fields<'v> {
    /// The fields of `value`; null has none. `owner` is the Go struct for messages.
    pub(crate) fn of(value: &'v Value, owner: &str, unknown: Unknown) -> Result<Self> {
        Self::located(value, None, owner, unknown)
    }

    /// Like [`Fields::of`]; errors get the position of the node that the value was parsed from.
    pub(crate) fn located(
        value: &'v Value,
        node: Option<&'v Node>,
        owner: &str,
        unknown: Unknown,
    ) -> Result<Self> {
        let entries = match value {
            Value::Object(entries) => entries,
            Value::Null => &*EMPTY,
            other => {
                let kind = kind(other);
                return Err(Failure::new(format!(
                    "json: cannot unmarshal {kind} into Go value of type {owner}"
                ))
                .at(node.map_or_else(Position::default, |node| node.position)));
            }
        };
        let owner = owner.to_owned();
        Ok(Self {
            entries,
            node,
            owner,
            unknown,
            converts: Converts::Nowhere,
            asked: RefCell::default(),
        })
    }

    /// Decodes as `sigs.k8s.io/yaml` does: a number or boolean in place of a string is converted. Not for kustomization
    /// files, but for transformer configurations.
    pub(crate) fn converting(value: &'v Value, owner: &str, unknown: Unknown) -> Result<Self> {
        Ok(Self { converts: Converts::Here, ..Self::of(value, owner, unknown)? })
    }

    /// Decodes as go-yaml does, which converts in embedded structs too.
    pub(crate) fn converting_all(value: &'v Value, owner: &str, unknown: Unknown) -> Result<Self> {
        Ok(Self { converts: Converts::Everywhere, ..Self::of(value, owner, unknown)? })
    }

    /// Decodes the fields of an embedded Go struct. `sigs.k8s.io/yaml` looks up their types wrongly, so that nothing is
    /// converted in them.
    pub(crate) fn embedded<T>(&self, read: impl FnOnce(&Self) -> Result<T>) -> Result<T> {
        let converts = match self.converts {
            Converts::Here => Converts::Nowhere,
            other => other,
        };
        let owner = self.owner.clone();
        let Self { entries, node, unknown, .. } = *self;
        let inside = Self { entries, node, owner, unknown, converts, asked: RefCell::default() };
        let result = read(&inside);
        self.asked.borrow_mut().append(&mut inside.asked.into_inner());
        result
    }

    fn as_text(&self, value: &Value) -> Option<String> {
        match value {
            Value::String(text) => Some(text.clone()),
            _ if self.converts == Converts::Nowhere => None,
            Value::Bool(truth) => Some(truth.to_string()),
            Value::Number(number) => Some(number.to_string()),
            _ => None,
        }
    }

    /// All values that Go would assign to the field, in order.
    fn values(&self, name: &'static str) -> impl Iterator<Item = &'v Value> {
        self.asked.borrow_mut().push(name);
        let entries = self.entries.iter();
        entries.filter(move |(key, _)| matches(key, name)).map(|(_, value)| value)
    }

    fn value(&self, name: &'static str) -> Option<&'v Value> {
        self.values(name).filter(|value| !value.is_null()).last()
    }

    fn wrong(&self, value: &Value, name: &str, wanted: &str) -> Failure {
        let (kind, owner) = (kind(value), &self.owner);
        let failure = Failure::new(format!(
            "json: cannot unmarshal {kind} into Go struct field {owner}.{name} of type {wanted}"
        ));
        self.place(failure, name)
    }

    /// The node of a field, unless it comes from a merge key.
    fn node(&self, name: &str) -> Option<&'v Node> {
        let mut fields = self.node?.fields().iter().rev();
        let has_name = |key: &Node| key.as_text().is_some_and(|key| matches(key, name));
        fields.find(|(key, _)| has_name(key)).map(|(_, value)| value)
    }

    fn place(&self, failure: Failure, name: &str) -> Failure {
        match self.node(name) {
            Some(node) => failure.at(node.position),
            None => failure,
        }
    }

    /// A string, empty if absent.
    pub(crate) fn text(&self, name: &'static str) -> Result<String> {
        Ok(self.optional_text(name)?.unwrap_or_default())
    }

    /// A string.
    pub(crate) fn optional_text(&self, name: &'static str) -> Result<Option<String>> {
        match self.value(name) {
            None => Ok(None),
            Some(value) => match self.as_text(value) {
                Some(text) => Ok(Some(text)),
                None => Err(self.wrong(value, name, "string")),
            },
        }
    }

    /// A boolean, false if absent.
    pub(crate) fn flag(&self, name: &'static str) -> Result<bool> {
        match self.value(name) {
            None => Ok(false),
            Some(Value::Bool(truth)) => Ok(*truth),
            Some(other) => Err(self.wrong(other, name, "bool")),
        }
    }

    /// An integer, zero if absent.
    pub(crate) fn integer(&self, name: &'static str) -> Result<i64> {
        match self.value(name) {
            None => Ok(0),
            // A float without a fraction is written as an integer when YAML becomes JSON.
            Some(value) => match value.as_i64().or_else(|| whole(value)) {
                Some(number) => Ok(number),
                None if value.is_number() => {
                    let owner = &self.owner;
                    let failure = Failure::new(format!(
                        "json: cannot unmarshal number {value} into Go struct field {owner}.{name} of type int64"
                    ));
                    Err(self.place(failure, name))
                }
                None => Err(self.wrong(value, name, "int64")),
            },
        }
    }

    /// A list of strings; null in it is an empty one.
    pub(crate) fn texts(&self, name: &'static str) -> Result<Vec<String>> {
        let owner = &self.owner;
        self.list(name, |item| match item {
            Value::Null => Ok(String::new()),
            value => self.as_text(value).ok_or_else(|| {
                Failure::new(format!(
                    "json: cannot unmarshal {} into Go struct field {owner}.{name} of type string",
                    kind(value)
                ))
            }),
        })
    }

    /// A map of strings, if present.
    pub(crate) fn map(&self, name: &'static str) -> Result<Option<BTreeMap<String, String>>> {
        let mut all: Option<BTreeMap<String, String>> = None;
        for value in self.values(name) {
            let entries = match value {
                Value::Null => continue,
                Value::Object(entries) => entries,
                other => return Err(self.wrong(other, name, "map[string]string")),
            };
            let map = all.get_or_insert_default();
            for (key, value) in entries {
                let text = match value {
                    Value::Null => String::new(),
                    value => {
                        self.as_text(value).ok_or_else(|| self.wrong(value, name, "string"))?
                    }
                };
                map.insert(key.clone(), text);
            }
        }
        Ok(all)
    }

    /// A list, each item decoded by `read`; all errors are reported.
    pub(crate) fn list<T>(
        &self,
        name: &'static str,
        read: impl Fn(&'v Value) -> Result<T>,
    ) -> Result<Vec<T>> {
        self.located_list(name, |item, _| read(item))
    }

    fn located_list<T>(
        &self,
        name: &'static str,
        read: impl Fn(&'v Value, Option<&'v Node>) -> Result<T>,
    ) -> Result<Vec<T>> {
        let items = match self.value(name) {
            None => return Ok(Vec::new()),
            Some(Value::Array(items)) => items,
            Some(other) => return Err(self.wrong(other, name, "[]")),
        };
        let nodes = self.node(name).map(Node::items).unwrap_or_default();
        let mut wrong = Gathered::default();
        let read = items.iter().enumerate().filter_map(|(index, item)| {
            let node = nodes.get(index);
            let place = |failure: Failure| match node {
                Some(node) => failure.at(node.position),
                None => failure,
            };
            wrong.take(read(item, node).map_err(place))
        });
        let read = read.collect();
        wrong.finish()?;
        Ok(read)
    }

    /// A list of objects.
    pub(crate) fn objects<T>(
        &self,
        name: &'static str,
        owner: &str,
        read: impl Fn(&Fields<'v>) -> Result<T>,
    ) -> Result<Vec<T>> {
        self.located_list(name, |item, node| self.read(item, node, owner, &read))
    }

    /// An object, if present.
    pub(crate) fn object<T>(
        &self,
        name: &'static str,
        owner: &str,
        read: impl Fn(&Fields<'v>) -> Result<T>,
    ) -> Result<Option<T>> {
        let node = self.node(name);
        self.value(name).map(|value| self.read(value, node, owner, &read)).transpose()
    }

    /// The value itself, for fields of any type.
    pub(crate) fn any(&self, name: &'static str) -> Option<&'v Value> {
        self.value(name)
    }

    fn read<T>(
        &self,
        value: &'v Value,
        node: Option<&'v Node>,
        owner: &str,
        read: &impl Fn(&Fields<'v>) -> Result<T>,
    ) -> Result<T> {
        let fields = Fields::located(value, node, owner, self.unknown)?;
        let fields = Fields { converts: self.converts, ..fields };
        let result = read(&fields)?;
        fields.finish()?;
        Ok(result)
    }

    /// Fails for unknown fields, if they are errors.
    pub(crate) fn finish(&self) -> Result<()> {
        if self.unknown == Unknown::Ignored {
            return Ok(());
        }
        let asked = self.asked.borrow();
        let mut wrong = Gathered::default();
        for key in self.entries.keys() {
            if !asked.iter().any(|name| matches(key, name)) {
                let failure = Failure::new(format!("json: unknown field \"{key}\""));
                let mut fields = self.node.map(Node::fields).unwrap_or_default().iter();
                let written = fields.find(|(name, _)| name.as_text() == Some(key));
                wrong.add(match written {
                    Some((name, _)) => failure.at(name.position),
                    None => failure,
                });
            }
        }
        wrong.finish()
    }
}

/// The whole number that a float is.
fn whole(value: &Value) -> Option<i64> {
    let float = value.as_f64().filter(|float| float.fract() == 0.0)?;
    format!("{float:.0}").parse().ok()
}

/// Go folds case; keys of kustomization files are ASCII.
fn matches(key: &str, name: &str) -> bool {
    key.eq_ignore_ascii_case(name)
}

/// The name of a JSON type in Go's messages.
pub(crate) fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Fields, Unknown};

    #[test]
    fn numbers_become_texts_outside_of_embedded_structs() {
        let value = json!({"own": 5, "kind": 5, "inner": {"kind": 5}});
        let kind = |fields: &Fields<'_>| fields.embedded(|inside| inside.text("kind"));
        let fields = Fields::converting(&value, "Thing", Unknown::Refused).unwrap();
        assert_eq!(fields.text("own").unwrap(), "5");
        assert!(kind(&fields).is_err() && fields.object("inner", "Inner", kind).is_err());
        fields.finish().unwrap();
        let fields = Fields::converting_all(&value, "Thing", Unknown::Ignored).unwrap();
        assert_eq!(kind(&fields).unwrap(), "5");
        let fields = Fields::of(&value, "Thing", Unknown::Ignored).unwrap();
        assert!(fields.text("own").is_err());
    }

    #[test]
    fn fields_are_read_as_go_reads_them() {
        let value = json!({"NAME": "a", "count": 2, "on": null, "list": ["x", null]});
        let fields = Fields::of(&value, "Thing", Unknown::Refused).unwrap();
        assert_eq!(fields.text("name").unwrap(), "a");
        assert_eq!(fields.integer("count").unwrap(), 2);
        assert!(!fields.flag("on").unwrap());
        assert_eq!(fields.texts("list").unwrap(), ["x", ""]);
        fields.finish().unwrap();
        let wrong = fields.flag("count").expect_err("a number");
        assert_eq!(
            wrong.to_string(),
            "json: cannot unmarshal number into Go struct field Thing.count of type bool"
        );
    }

    #[test]
    fn numbers_become_texts_where_files_are_read_by_type() {
        let value = json!({"tag": 1.25, "list": [1, true], "map": {"a": 2}});
        let fields = Fields::converting(&value, "Thing", Unknown::Ignored).unwrap();
        assert_eq!(fields.text("tag").unwrap(), "1.25");
        assert_eq!(fields.texts("list").unwrap(), ["1", "true"]);
        assert_eq!(fields.map("map").unwrap().unwrap()["a"], "2");
        let exact = Fields::of(&value, "Thing", Unknown::Ignored).unwrap();
        assert!(exact.text("tag").is_err() && exact.map("map").is_err());
    }

    #[test]
    fn unknown_fields_are_reported_together() {
        let value = json!({"a": 1, "b": 2});
        let fields = Fields::of(&value, "Thing", Unknown::Refused).unwrap();
        let wrong = fields.finish().expect_err("two fields");
        assert_eq!(wrong.to_string(), "json: unknown field \"a\"\njson: unknown field \"b\"");
        Fields::of(&value, "Thing", Unknown::Ignored).unwrap().finish().unwrap();
    }
}
