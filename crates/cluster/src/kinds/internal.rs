//! Values printed as upstream's *internal* types.
//!
//! A few errors quote a value that upstream holds in an internal Go type: structs without JSON tags,
//! so field names are Go's, fields come in the order of declaration and absent ones show as zero
//! values. `internal/types.txt` lists those types; it is written by `conformance/kinds/internal`
//! from the Go sources. Each line is a type name and its fields, `Shown?=source:type`: `?` marks
//! fields left out when empty, `source` is the name in the served version where it differs.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde_json::{Map, Value};
use sluice_base::gojson;

use crate::value::{at, is_zero, set};

struct Field {
    shown: &'static str,
    source: &'static str,
    omits_empty: bool,
    kind: &'static str,
}

static TYPES: LazyLock<BTreeMap<&'static str, Vec<Field>>> = LazyLock::new(|| {
    include_str!("internal/types.txt")
        .lines()
        .filter_map(|line| line.split_once(' '))
        .map(|(name, fields)| (name, fields.split(' ').filter_map(field).collect()))
        .collect()
});

fn field(text: &'static str) -> Option<Field> {
    let (name, rest) = text.split_once('=')?;
    let (source, kind) = rest.split_once(':')?;
    let shown = name.trim_end_matches('?');
    let source = if source.is_empty() { shown } else { source };
    Some(Field { shown, source, omits_empty: name.ends_with('?'), kind })
}

/// `value`, of the served type, as one line of the internal type `kind`.
pub(crate) fn print(kind: &str, value: &Value) -> String {
    let mut out = String::new();
    write(&mut out, kind, &arranged(kind, value), None);
    out
}

/// The same over many lines, as `json.MarshalIndent` with one space has it.
pub(crate) fn print_lines(kind: &str, value: &Value) -> String {
    let mut out = String::new();
    write(&mut out, kind, &arranged(kind, value), Some(0));
    out
}

/// Moves fields to their internal place: what a pod shares with its host is in its security context,
/// and a template's metadata is in the template itself.
fn arranged(kind: &str, value: &Value) -> Value {
    let mut value = value.clone();
    match kind {
        "PodTemplateSpec" => {
            if let Some(spec) = value.get_mut("spec") {
                *spec = arranged("PodSpec", spec);
            }
            if let Some(Value::Object(meta)) = value.get("metadata").cloned()
                && let Some(fields) = value.as_object_mut()
            {
                fields.extend(meta);
            }
        }
        "PodSpec" => {
            for name in ["hostNetwork", "hostPID", "hostIPC", "shareProcessNamespace", "hostUsers"]
            {
                if let Some(shared) = value.get(name).cloned() {
                    set(&mut value, &format!("securityContext.{name}"), shared);
                }
            }
        }
        _ => {}
    }
    value
}

fn write(out: &mut String, kind: &str, value: &Value, depth: Option<usize>) {
    let inner = depth.map(|depth| depth + 1);
    if let Some(target) = kind.strip_prefix('*') {
        if value.is_null() {
            out.push_str("null");
        } else {
            write(out, target, value, depth);
        }
        return;
    }
    if let Some(item) = kind.strip_prefix("[]") {
        let Some(items) = value.as_array() else { return out.push_str("null") };
        let mut list = Container::open(out, '[', depth);
        for value in items {
            list.item();
            write(list.out, item, value, inner);
        }
        return list.close(']');
    }
    if let Some(item) = kind.strip_prefix("{}") {
        let Some(entries) = value.as_object() else { return out.push_str("null") };
        let mut map = Container::open(out, '{', depth);
        for (name, value) in entries {
            map.name(name);
            write(map.out, item, value, inner);
        }
        return map.close('}');
    }
    match kind {
        "s" if value.is_null() => out.push_str("\"\""),
        "i" | "x" if value.is_null() => out.push('0'),
        "b" if value.is_null() => out.push_str("false"),
        "q" if value.is_null() => out.push_str("\"0\""),
        "s" | "i" | "x" | "b" | "q" | "t" => gojson::write(out, value),
        _ => match TYPES.get(kind) {
            Some(fields) => write_struct(out, fields, value, depth),
            None => gojson::write(out, value),
        },
    }
}

fn write_struct(out: &mut String, fields: &[Field], value: &Value, depth: Option<usize>) {
    let inner = depth.map(|depth| depth + 1);
    let empty = Value::Object(Map::new());
    let value = if value.is_null() { &empty } else { value };
    let mut object = Container::open(out, '{', depth);
    for field in fields {
        let value = at(value, field.source);
        if field.omits_empty && is_zero(value) {
            continue;
        }
        object.name(field.shown);
        write(object.out, field.kind, value, inner);
    }
    object.close('}');
}

struct Container<'a> {
    out: &'a mut String,
    depth: Option<usize>,
    empty: bool,
}

impl<'a> Container<'a> {
    fn open(out: &'a mut String, bracket: char, depth: Option<usize>) -> Self {
        out.push(bracket);
        Self { out, depth, empty: true }
    }

    fn line(&mut self, extra: usize) {
        if let Some(depth) = self.depth {
            self.out.push('\n');
            self.out.extend(std::iter::repeat_n(' ', depth + extra));
        }
    }

    fn item(&mut self) {
        if !self.empty {
            self.out.push(',');
        }
        self.empty = false;
        self.line(1);
    }

    fn name(&mut self, name: &str) {
        self.item();
        gojson::write_text(self.out, name);
        self.out.push_str(if self.depth.is_some() { ": " } else { ":" });
    }

    fn close(mut self, bracket: char) {
        if !self.empty {
            self.line(0);
        }
        self.out.push(bracket);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn internal_types_print_with_go_names_in_declared_order() {
        assert_eq!(
            print("RoleRef", &json!({"kind": "Role", "name": "a", "apiGroup": "g"})),
            r#"{"APIGroup":"g","Kind":"Role","Name":"a"}"#
        );
        assert_eq!(
            print_lines("DeploymentStrategy", &json!({"type": "Recreate"})),
            "{\n \"Type\": \"Recreate\",\n \"RollingUpdate\": null\n}"
        );
    }
}
