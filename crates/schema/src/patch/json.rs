//! JSON patches (RFC 6902) the way evanphx/json-patch v4 applies them.
//!
//! It departs from the RFC: `replace` adds a missing key of an object, `copy` of a missing key
//! copies null, negative indices count from the end, and a null on the way is a missing path.

use serde_json::{Map, Value};
use sluice_base::{go, gojson};

use super::PatchError;

/// Upstream refuses patches with more operations.
const MAX_OPERATIONS: usize = 10_000;

/// How many bytes all `copy` operations together may add.
const MAX_COPIED: usize = 3 * 1024 * 1024;

/// Applies the list of operations `patch` to `document`.
pub fn json_patch(document: &Value, patch: &Value) -> Result<Value, PatchError> {
    let operations = read(patch)?;
    if operations.len() > MAX_OPERATIONS {
        return Err(PatchError::TooLarge(format!(
            "The allowed maximum operations in a JSON patch is {MAX_OPERATIONS}, got {}",
            operations.len()
        )));
    }
    apply(document.clone(), operations, MAX_COPIED)
}

/// How deep a document may nest. No reader takes a deeper one, but operations can go on adding to the innermost value,
/// and what walks the document recurses.
const MAX_DEPTH: usize = 512;

/// Applies the list of operations `patch` to `document` in any number, as kustomize does. Upstream
/// has no limit of copies there; here it is that of an API server, as a copy into itself doubles a document.
pub fn json_patch_in_build(document: Value, patch: &Value) -> Result<Value, PatchError> {
    apply(document, read(patch)?, MAX_COPIED)
}

fn apply(
    document: Value,
    operations: Vec<Operation<'_>>,
    max_copied: usize,
) -> Result<Value, PatchError> {
    let mut target = Target { document, copied: 0, max_copied };
    for operation in operations {
        target.apply(operation).map_err(PatchError::NotApplicable)?;
    }
    Ok(target.document)
}

/// The operations; `null` is an empty patch or an empty operation, as in Go.
fn read(patch: &Value) -> Result<Vec<Operation<'_>>, PatchError> {
    let malformed = |value: &Value, wanted: &str| {
        let found = super::strict::go_kind(value);
        PatchError::Malformed(format!(
            "json: cannot unmarshal {found} into Go value of type jsonpatch.{wanted}"
        ))
    };
    let items = match patch {
        Value::Array(items) => items.as_slice(),
        Value::Null => &[],
        other => return Err(malformed(other, "Patch")),
    };
    items
        .iter()
        .map(|item| match item {
            Value::Object(members) => Ok(Operation(Some(members))),
            Value::Null => Ok(Operation(None)),
            other => Err(malformed(other, "Operation")),
        })
        .collect()
}

#[derive(Clone, Copy)]
struct Operation<'a>(Option<&'a Map<String, Value>>);

impl<'a> Operation<'a> {
    fn member(self, name: &str) -> Option<&'a Value> {
        self.0.and_then(|members| members.get(name)).filter(|value| !value.is_null())
    }

    fn kind(self) -> &'a str {
        self.member("op").and_then(Value::as_str).unwrap_or("unknown")
    }

    fn path(self) -> Result<&'a str, String> {
        self.pointer("path", "operation missing path field")
    }

    fn from(self) -> Result<&'a str, String> {
        self.pointer("from", "operation, missing from field")
    }

    fn pointer(self, name: &str, missing: &str) -> Result<&'a str, String> {
        match self.member(name) {
            None => Err(format!("{missing}: missing value")),
            Some(Value::String(path)) => Ok(path),
            Some(other) => Err(format!(
                "json: cannot unmarshal {} into Go value of type string",
                super::strict::go_kind(other)
            )),
        }
    }

    fn value(self) -> Value {
        self.member("value").cloned().unwrap_or_default()
    }
}

struct Target {
    document: Value,
    copied: usize,
    max_copied: usize,
}

impl Target {
    fn apply(&mut self, operation: Operation<'_>) -> Result<(), String> {
        match operation.kind() {
            "add" => self.add(operation),
            "remove" => self.remove(operation),
            "replace" => self.replace(operation),
            "move" => self.shift(operation),
            "test" => self.test(operation),
            "copy" => self.copy(operation),
            other => Err(format!("Unexpected kind: {other}")),
        }
    }

    fn add(&mut self, operation: Operation<'_>) -> Result<(), String> {
        let path = operation
            .path()
            .map_err(|_| "add operation failed to decode path: missing value".to_owned())?;
        let Some((holder, key)) = find(&mut self.document, path) else {
            return Err(format!(
                "add operation does not apply: doc is missing path: \"{path}\": missing value"
            ));
        };
        let value = operation.value();
        fits(path, &value)?;
        holder.add(&key, value).map_err(|error| format!("error in add for path: '{path}': {error}"))
    }

    fn remove(&mut self, operation: Operation<'_>) -> Result<(), String> {
        let path = operation
            .path()
            .map_err(|_| "remove operation failed to decode path: missing value".to_owned())?;
        let Some((holder, key)) = find(&mut self.document, path) else {
            return Err(format!(
                "remove operation does not apply: doc is missing path: \"{path}\": missing value"
            ));
        };
        match holder.remove(&key) {
            Ok(_) => Ok(()),
            Err(error) => Err(format!("error in remove for path: '{path}': {error}")),
        }
    }

    fn replace(&mut self, operation: Operation<'_>) -> Result<(), String> {
        let path = operation
            .path()
            .map_err(|error| format!("replace operation failed to decode path: {error}"))?;
        if path.is_empty() {
            let value = operation.value();
            if !value.is_object() && !value.is_array() {
                // The broken verb is upstream's.
                return Err(
                    "replace operation value must be object or array: %!w(<nil>)".to_owned()
                );
            }
            self.document = value;
            return Ok(());
        }
        let Some((holder, key)) = find(&mut self.document, path) else {
            return Err(format!(
                "replace operation does not apply: doc is missing path: {path}: missing value"
            ));
        };
        let value = operation.value();
        fits(path, &value)?;
        holder.set(&key, value).map_err(|_| {
            format!("replace operation does not apply: doc is missing key: {path}: missing value")
        })
    }

    fn shift(&mut self, operation: Operation<'_>) -> Result<(), String> {
        let from = operation
            .from()
            .map_err(|error| format!("move operation failed to decode from: {error}"))?;
        let Some((holder, key)) = find(&mut self.document, from) else {
            return Err(format!(
                "move operation does not apply: doc is missing from path: {from}: missing value"
            ));
        };
        let value = holder
            .remove(&key)
            .map_err(|error| format!("error in move for path: '{key}': {error}"))?;
        let path = operation
            .path()
            .map_err(|error| format!("move operation failed to decode path: {error}"))?;
        let Some((holder, key)) = find(&mut self.document, path) else {
            return Err(format!(
                "move operation does not apply: doc is missing destination path: {path}: missing value"
            ));
        };
        fits(path, &value)?;
        holder
            .add(&key, value)
            .map_err(|error| format!("error in move for path: '{path}': {error}"))
    }

    fn test(&mut self, operation: Operation<'_>) -> Result<(), String> {
        let path = operation
            .path()
            .map_err(|error| format!("test operation failed to decode path: {error}"))?;
        let wanted = operation.value();
        let found = if path.is_empty() {
            self.document.clone()
        } else {
            let Some((holder, key)) = find(&mut self.document, path) else {
                return Err(format!(
                    "test operation does not apply: is missing path: {path}: missing value"
                ));
            };
            holder
                .get(&key)
                .map_err(|error| format!("error in test for path: '{path}': {error}"))?
        };
        if found == wanted {
            Ok(())
        } else {
            Err(format!("testing value {path} failed: test failed"))
        }
    }

    fn copy(&mut self, operation: Operation<'_>) -> Result<(), String> {
        let from = operation
            .from()
            .map_err(|error| format!("copy operation failed to decode from: {error}"))?;
        let Some((holder, key)) = find(&mut self.document, from) else {
            return Err(format!(
                "copy operation does not apply: doc is missing from path: {from}: missing value"
            ));
        };
        let value = holder
            .get(&key)
            .map_err(|error| format!("error in copy for from: '{from}': {error}"))?;
        let path = operation
            .path()
            .map_err(|_| "copy operation failed to decode path: missing value".to_owned())?;
        let Some((holder, key)) = find(&mut self.document, path) else {
            return Err(format!(
                "copy operation does not apply: doc is missing destination path: {path}: missing value"
            ));
        };
        fits(path, &value)?;
        if !value.is_null() {
            self.copied += gojson::to_string(&value).len();
        }
        if self.copied > self.max_copied {
            return Err(format!(
                "Unable to complete the copy, the accumulated size increase of copy is {}, exceeding the limit {}",
                self.copied, self.max_copied
            ));
        }
        holder
            .add(&key, value)
            .map_err(|error| format!("error while adding value during copy: {error}"))
    }
}

/// Whether a value at a path keeps the document within its depth.
fn fits(path: &str, value: &Value) -> Result<(), String> {
    let steps = path.bytes().filter(|byte| *byte == b'/').count();
    if steps + depth(value) > MAX_DEPTH {
        return Err(format!("the document would nest more than {MAX_DEPTH} deep"));
    }
    Ok(())
}

fn depth(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Value::Object(members) => 1 + members.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

/// The object or list that holds the last step of `path`, and that step. What stands before the
/// first slash is not looked at.
fn find<'a>(document: &'a mut Value, path: &str) -> Option<(Holder<'a>, String)> {
    let mut steps: Vec<&str> = path.split('/').skip(1).collect();
    let last = steps.pop()?;
    let mut at = document;
    for step in steps {
        let step = unescape(step);
        at = match at {
            Value::Object(members) => members.get_mut(&step)?,
            Value::Array(items) => {
                let index = index(&step, items.len()).ok()?;
                items.get_mut(index)?
            }
            _ => return None,
        };
    }
    let holder = match at {
        Value::Object(members) => Holder::Object(members),
        Value::Array(items) => Holder::List(items),
        _ => return None,
    };
    Some((holder, unescape(last)))
}

fn unescape(step: &str) -> String {
    step.replace("~1", "/").replace("~0", "~")
}

enum Holder<'a> {
    Object(&'a mut Map<String, Value>),
    List(&'a mut Vec<Value>),
}

impl Holder<'_> {
    fn get(&self, key: &str) -> Result<Value, String> {
        match self {
            Self::Object(members) => Ok(members.get(key).cloned().unwrap_or_default()),
            Self::List(items) => Ok(items[index(key, items.len())?].clone()),
        }
    }

    fn set(self, key: &str, value: Value) -> Result<(), String> {
        match self {
            Self::Object(members) => {
                members.insert(key.to_owned(), value);
            }
            Self::List(items) => {
                let index = index(key, items.len())?;
                items[index] = value;
            }
        }
        Ok(())
    }

    fn add(self, key: &str, value: Value) -> Result<(), String> {
        match self {
            Self::Object(members) => {
                members.insert(key.to_owned(), value);
            }
            Self::List(items) if key == "-" => items.push(value),
            Self::List(items) => {
                let number = atoi(key).map_err(|error| {
                    format!("value was not a proper array index: '{key}': {error}")
                })?;
                let index = within(number, items.len() + 1)?;
                items.insert(index, value);
            }
        }
        Ok(())
    }

    fn remove(self, key: &str) -> Result<Value, String> {
        match self {
            Self::Object(members) => members
                .remove(key)
                .ok_or_else(|| format!("Unable to remove nonexistent key: {key}: missing value")),
            Self::List(items) => {
                let index = index(key, items.len())?;
                Ok(items.remove(index))
            }
        }
    }
}

/// The index of an existing item.
fn index(key: &str, length: usize) -> Result<usize, String> {
    within(atoi(key)?, length)
}

fn within(number: i64, length: usize) -> Result<usize, String> {
    let signed = i64::try_from(length).unwrap_or(i64::MAX);
    let index = if number < 0 { number + signed } else { number };
    usize::try_from(index).ok().filter(|index| *index < length).ok_or_else(|| {
        format!("Unable to access invalid index: {number}: invalid index referenced")
    })
}

/// Go's `strconv.Atoi`.
fn atoi(text: &str) -> Result<i64, String> {
    text.parse::<i64>().map_err(|error| {
        let cause = match error.kind() {
            std::num::IntErrorKind::PosOverflow | std::num::IntErrorKind::NegOverflow => {
                "value out of range"
            }
            _ => "invalid syntax",
        };
        format!("strconv.Atoi: parsing {}: {cause}", go::quote(text))
    })
}
