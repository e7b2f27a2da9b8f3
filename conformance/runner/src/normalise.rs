//! Replaces what legitimately differs between two runs (ids, times, versions, addresses) by names that keep identity and order.
//!
//! Each rule is a row of [`rules::RULES`], with a pair that it makes equal and a pair that must still differ.
//! What a script says itself is never replaced, and every replacement is counted, so that equality means something.

mod rules;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use crate::golden::Answer;
use crate::play::{Exchange, Payload};

/// Turns the answers of one run into a form that another run can be compared with.
pub fn normalise(script_text: &str, exchanges: Vec<Exchange>) -> Vec<Answer> {
    let mut context = Context::new(script_text);
    for (step, exchange) in exchanges.iter().enumerate() {
        context.step = step;
        match &exchange.payload {
            Payload::Json(document) => context.survey(document),
            Payload::Events(events) => events.iter().for_each(|event| context.survey(event)),
            Payload::Empty | Payload::Text(_) => {}
        }
    }
    exchanges.into_iter().map(|exchange| context.answer(exchange)).filter(|a| !a.quiet).collect()
}

/// What is known of a whole run while its parts are rewritten.
struct Context {
    script_text: String,
    /// The step that is surveyed.
    step: usize,
    /// What stands for each uid: the name of its object and the step that first showed it, so that one surprise does not
    /// rename all that follow.
    uids: BTreeMap<String, String>,
    /// The resource versions of each object, by what stands for its uid; their rank is what is compared.
    versions: BTreeMap<String, BTreeSet<u64>>,
    /// Generated names and what stands for them.
    generated: BTreeMap<String, String>,
    /// Hashes of pod templates and what stands for them; another server may hash otherwise.
    hashes: BTreeMap<String, String>,
    /// Allocated cluster addresses and node ports, by the name of the service that has them.
    allocated: BTreeMap<String, String>,
    /// Values that only have to be the same where they were the same, by rule.
    seen: BTreeMap<&'static str, Vec<String>>,
    masked: BTreeMap<String, usize>,
}

/// A scalar and where it stands.
struct Leaf<'a> {
    path: &'a [String],
    /// Whether it belongs to the metadata of a list, not of an object.
    of_list: bool,
    value: &'a Value,
}

impl Context {
    fn new(script_text: &str) -> Self {
        Self {
            script_text: script_text.to_owned(),
            step: 0,
            uids: BTreeMap::new(),
            versions: BTreeMap::new(),
            generated: BTreeMap::new(),
            hashes: BTreeMap::new(),
            allocated: BTreeMap::new(),
            seen: BTreeMap::new(),
            masked: BTreeMap::new(),
        }
    }

    /// Finds the versions and generated names of a document before any is rewritten.
    fn survey(&mut self, value: &Value) {
        match value {
            Value::Array(items) => items.iter().for_each(|item| self.survey(item)),
            Value::Object(fields) => {
                if let Some(Value::Object(metadata)) = fields.get("metadata")
                    && !is_list(fields)
                {
                    self.survey_metadata(metadata);
                    self.survey_allocations(metadata, fields.get("spec"));
                }
                fields.values().for_each(|field| self.survey(field));
            }
            _ => {}
        }
    }

    fn survey_metadata(&mut self, metadata: &Map<String, Value>) {
        let text = |key: &str| metadata.get(key).and_then(Value::as_str);
        for label in ["pod-template-hash", "controller-revision-hash"] {
            let hash =
                metadata.get("labels").and_then(|labels| labels.get(label)).and_then(Value::as_str);
            if let Some(hash) = hash
                && !self.hashes.contains_key(hash)
            {
                let number = self.hashes.len() + 1;
                self.hashes.insert(hash.to_owned(), format!("<hash:{number}>"));
            }
        }
        let Some(name) = text("name") else { return };
        // The server cuts a prefix so that the suffix still fits into a label's length.
        if let Some(prefix) = text("generateName").map(|prefix| prefix.get(..58).unwrap_or(prefix))
            && let Some(suffix) = name.strip_prefix(prefix)
            && suffix.len() == 5
            && suffix.chars().all(|c| "bcdfghjklmnpqrstvwxz2456789".contains(c))
            && !self.generated.contains_key(name)
        {
            let number = self
                .generated
                .values()
                .filter(|known| known.starts_with(&format!("{prefix}<")))
                .count()
                + 1;
            self.generated.insert(name.to_owned(), format!("{prefix}<suffix:{number}>"));
        }
        let mut name = self.generated.get(name).cloned().unwrap_or_else(|| name.to_owned());
        for (hash, stand_in) in &self.hashes {
            name = name.replace(hash, stand_in);
        }
        let Some(uid) = text("uid") else { return };
        if !self.uids.contains_key(uid) {
            let name = format!("{name}@{}", self.step);
            let namesake =
                |known: &&String| **known == name || known.starts_with(&format!("{name}#"));
            let earlier = self.uids.values().filter(namesake).count();
            let stand_in = if earlier == 0 { name } else { format!("{name}#{}", earlier + 1) };
            self.uids.insert(uid.to_owned(), stand_in);
        }
        if let Some(version) = text("resourceVersion").and_then(|v| v.parse().ok()) {
            self.versions.entry(self.uids[uid].clone()).or_default().insert(version);
        }
    }

    fn survey_allocations(&mut self, metadata: &Map<String, Value>, spec: Option<&Value>) {
        let (Some(name), Some(spec)) = (metadata.get("name").and_then(Value::as_str), spec) else {
            return;
        };
        if let Some(address) = spec.get("clusterIP").and_then(Value::as_str) {
            self.allocated.entry(address.to_owned()).or_insert_with(|| format!("<address:{name}>"));
        }
        let ports = spec.get("ports").and_then(Value::as_array).into_iter().flatten();
        let ports = ports.map(|port| port.get("nodePort")).chain([spec.get("healthCheckNodePort")]);
        for (index, port) in ports.enumerate() {
            if let Some(port) = port {
                self.allocated
                    .entry(port.to_string())
                    .or_insert_with(|| format!("<port:{name}.{index}>"));
            }
        }
    }

    /// The object that has this version, and the version's rank among the object's versions.
    fn rank(&self, version: u64) -> Option<String> {
        let (object, versions) =
            self.versions.iter().find(|(_, versions)| versions.contains(&version))?;
        Some(format!("{object}.{}", versions.range(..=version).count()))
    }

    /// The last write that the run saw and that is not after this version.
    fn floor(&self, version: u64) -> String {
        let last =
            self.versions.values().filter_map(|versions| versions.range(..=version).next_back());
        last.max().and_then(|version| self.rank(*version)).unwrap_or_else(|| "0".to_owned())
    }

    fn answer(&mut self, exchange: Exchange) -> Answer {
        let mut answer = Answer {
            title: exchange.title,
            request: exchange.request,
            status: exchange.status,
            headers: exchange.headers,
            indented: exchange.indented,
            quiet: exchange.quiet,
            ..Answer::default()
        };
        self.masked.clear();
        for value in answer.headers.values_mut().flatten() {
            if let Value::String(text) =
                self.rewrite(Value::String(value.clone()), &mut Vec::new(), false)
            {
                *value = text;
            }
        }
        let mut finish = |mut value: Value| {
            order_managers(&mut value);
            for mask in &exchange.masks {
                let parts: Vec<&str> = mask.split('/').skip(1).collect();
                let hits = blank(&mut value, &parts);
                *self.masked.entry(format!("mask {mask}")).or_default() += hits;
            }
            for pointer in &exchange.unordered {
                if let Some(Value::Array(items)) = value.pointer_mut(pointer) {
                    items.sort_by_cached_key(Value::to_string);
                }
            }
            self.rewrite(value, &mut Vec::new(), false)
        };
        match exchange.payload {
            Payload::Empty => {}
            Payload::Json(document) => answer.body = Some(finish(document)),
            Payload::Text(text) => answer.text = Some(finish(Value::String(text))),
            Payload::Events(events) => {
                answer.events = Some(events.into_iter().map(&mut finish).collect());
            }
        }
        for text in exchange.unsorted_fields {
            answer.unsorted_fields.push(self.rewrite(Value::String(text), &mut Vec::new(), false));
        }
        answer.masked = std::mem::take(&mut self.masked);
        answer
    }

    fn rewrite(&mut self, value: Value, path: &mut Vec<String>, of_list: bool) -> Value {
        match value {
            Value::Object(fields) => {
                let list = is_list(&fields);
                let mut rewritten = Map::new();
                for (key, field) in fields {
                    let new_key = match self.apply(&Value::String(key.clone()), &[], false) {
                        Some(Value::String(new_key)) => new_key,
                        _ => key.clone(),
                    };
                    let inner = if key == "metadata" {
                        list
                    } else {
                        of_list && path.last().is_some_and(|p| p == "metadata")
                    };
                    path.push(key);
                    rewritten.insert(new_key, self.rewrite(field, path, inner));
                    path.pop();
                }
                Value::Object(rewritten)
            }
            Value::Array(items) => {
                path.push("*".to_owned());
                let items = items.into_iter().map(|item| self.rewrite(item, path, false)).collect();
                path.pop();
                Value::Array(items)
            }
            scalar => self.apply(&scalar, path, of_list).unwrap_or(scalar),
        }
    }

    fn apply(&mut self, value: &Value, path: &[String], of_list: bool) -> Option<Value> {
        let mut current: Option<Value> = None;
        for rule in rules::RULES {
            let leaf = Leaf { path, of_list, value: current.as_ref().unwrap_or(value) };
            if let Some(new) = (rule.rewrite)(self, &leaf) {
                *self.masked.entry(rule.name.to_owned()).or_default() += 1;
                current = Some(new);
            }
        }
        current
    }

    /// The number of a value among those of its rule, in order of first sight.
    fn number(&mut self, rule: &'static str, value: &str) -> usize {
        let seen = self.seen.entry(rule).or_default();
        if let Some(at) = seen.iter().position(|known| known == value) {
            return at + 1;
        }
        seen.push(value.to_owned());
        seen.len()
    }
}

/// Lists and tables have a version of the moment; a bookmark's object too.
fn is_list(fields: &Map<String, Value>) -> bool {
    let bookmark = fields
        .get("metadata")
        .and_then(Value::as_object)
        .is_some_and(|metadata| metadata.get("uid").is_none() && metadata.get("name").is_none());
    bookmark && fields.contains_key("kind")
}

/// Puts managers in an order that does not depend on whether two writes fell into the same second.
///
/// The server sorts them by operation, then time, then name; here time is left out.
fn order_managers(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(order_managers),
        Value::Object(fields) => {
            if let Some(Value::Array(entries)) = fields.get_mut("managedFields") {
                entries.sort_by_cached_key(|entry| {
                    ["operation", "manager", "apiVersion", "subresource"]
                        .map(|key| entry.get(key).map(Value::to_string))
                });
            }
            fields.values_mut().for_each(order_managers);
        }
        _ => {}
    }
}

fn blank(value: &mut Value, parts: &[&str]) -> usize {
    let Some((first, rest)) = parts.split_first() else {
        *value = Value::String("<masked>".to_owned());
        return 1;
    };
    match value {
        Value::Object(fields) if *first == "*" => {
            fields.values_mut().map(|field| blank(field, rest)).sum()
        }
        Value::Object(fields) => {
            let key = first.replace("~1", "/").replace("~0", "~");
            fields.get_mut(&key).map_or(0, |field| blank(field, rest))
        }
        Value::Array(items) if *first == "*" => {
            items.iter_mut().map(|item| blank(item, rest)).sum()
        }
        Value::Array(items) => first
            .parse::<usize>()
            .ok()
            .and_then(|index| items.get_mut(index))
            .map_or(0, |item| blank(item, rest)),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn managers_are_compared_whatever_the_second_of_their_writes() {
        let entry =
            |operation: &str, manager: &str| json!({"operation": operation, "manager": manager});
        let ordered = |entries: Vec<Value>| {
            let mut value = json!([{"metadata": {"managedFields": entries}}]);
            order_managers(&mut value);
            value
        };
        let (a, b) = (entry("Apply", "a"), entry("Apply", "b"));
        assert_eq!(ordered(vec![a.clone(), b.clone()]), ordered(vec![b.clone(), a.clone()]));
        assert_ne!(
            ordered(vec![a.clone(), b.clone()]),
            ordered(vec![a.clone(), entry("Update", "b")])
        );
        assert_ne!(ordered(vec![a.clone(), b]), ordered(vec![a]));
    }

    #[test]
    fn a_mask_hides_its_path_and_nothing_beside_it() {
        let mut value = json!({"a": [{"b": 1, "c": 2}, {"b": 3}], "d": 4});
        assert_eq!(blank(&mut value, &["a", "*", "b"]), 2);
        assert_eq!(value, json!({"a": [{"b": "<masked>", "c": 2}, {"b": "<masked>"}], "d": 4}));
        assert_eq!(blank(&mut value, &["absent"]), 0);
    }
}
