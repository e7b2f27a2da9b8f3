//! A CRD taken apart into single facts, and two sets of them compared.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde_json::{Map, Value};

/// Where something is said, and what about.
type Key = (String, String);

/// Differences that are meant to be, with the reason.
const INTENDED: &[(&str, &str)] = &[(
    "annotation controller-gen.kubebuilder.io/version",
    "names the program that wrote upstream's file; ours was not written by it",
)];

/// What came out of comparing two sets of CRDs.
pub(super) struct Comparison {
    aspects: BTreeMap<String, Tally>,
    differences: Vec<String>,
    intended: BTreeMap<&'static str, usize>,
}

#[derive(Default)]
struct Tally {
    upstream: usize,
    same: usize,
    different: usize,
    missing: usize,
    extra: usize,
    intended: usize,
}

impl Comparison {
    pub(super) fn new(upstream: &[Value], ours: &[Value]) -> Self {
        let (upstream, ours) = (facts(upstream), facts(ours));
        let mut comparison =
            Self { aspects: BTreeMap::new(), differences: Vec::new(), intended: BTreeMap::new() };
        let keys: BTreeSet<&Key> = upstream.keys().chain(ours.keys()).collect();
        for key in keys {
            comparison.note(key, upstream.get(key), ours.get(key));
        }
        comparison
    }

    /// How many facts upstream states.
    pub(super) fn facts(&self) -> usize {
        self.aspects.values().map(|tally| tally.upstream).sum()
    }

    /// Whether every difference is meant to be.
    pub(super) fn is_clean(&self) -> bool {
        self.differences.is_empty()
    }

    fn note(&mut self, key: &Key, upstream: Option<&Value>, ours: Option<&Value>) {
        let (place, aspect) = key;
        let intended = INTENDED.iter().find(|(known, _)| known == aspect);
        let tally = self.aspects.entry(aspect.clone()).or_default();
        tally.upstream += usize::from(upstream.is_some());
        if upstream == ours {
            tally.same += 1;
            return;
        }
        if let Some((_, reason)) = intended {
            tally.intended += 1;
            *self.intended.entry(reason).or_default() += 1;
            return;
        }
        match (upstream, ours) {
            (Some(_), None) => tally.missing += 1,
            (None, _) => tally.extra += 1,
            _ => tally.different += 1,
        }
        let text = |value: Option<&Value>| value.map_or("nothing".to_owned(), Value::to_string);
        self.differences.push(format!(
            "{place}: {aspect}: upstream says {}, ours {}",
            text(upstream),
            text(ours)
        ));
    }
}

impl fmt::Display for Comparison {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            formatter,
            "{:<48} {:>8} {:>8} {:>8} {:>9} {:>6} {:>8}",
            "aspect", "upstream", "same", "missing", "different", "extra", "intended"
        )?;
        for (aspect, tally) in &self.aspects {
            writeln!(
                formatter,
                "{aspect:<48} {:>8} {:>8} {:>8} {:>9} {:>6} {:>8}",
                tally.upstream,
                tally.same,
                tally.missing,
                tally.different,
                tally.extra,
                tally.intended
            )?;
        }
        for (reason, count) in &self.intended {
            writeln!(formatter, "intended: {count} times: {reason}")?;
        }
        for difference in &self.differences {
            writeln!(formatter, "{difference}")?;
        }
        write!(formatter, "{} facts compared, {} differences", self.facts(), self.differences.len())
    }
}

/// Everything that the CRDs say.
fn facts(crds: &[Value]) -> BTreeMap<Key, Value> {
    let mut facts = Facts::default();
    for crd in crds {
        facts.crd(crd);
    }
    facts.0
}

#[derive(Default)]
struct Facts(BTreeMap<Key, Value>);

impl Facts {
    fn put(&mut self, place: &str, aspect: &str, value: &Value) {
        self.0.insert((place.to_owned(), aspect.to_owned()), value.clone());
    }

    fn crd(&mut self, crd: &Value) {
        let place = crd["spec"]["names"]["kind"].as_str().unwrap_or_default();
        for (name, value) in fields(crd) {
            match name.as_str() {
                "metadata" => self.metadata(place, value),
                "spec" => self.spec(place, value),
                _ => self.put(place, name, value),
            }
        }
    }

    fn metadata(&mut self, place: &str, metadata: &Value) {
        for (name, value) in fields(metadata) {
            if name != "annotations" {
                self.put(place, &format!("metadata {name}"), value);
                continue;
            }
            for (annotation, value) in fields(value) {
                self.put(place, &format!("annotation {annotation}"), value);
            }
        }
    }

    fn spec(&mut self, place: &str, spec: &Value) {
        for (name, value) in fields(spec) {
            match name.as_str() {
                "names" => {
                    for (name, value) in fields(value) {
                        self.put(place, &format!("names {name}"), value);
                    }
                }
                "versions" => {
                    for version in items(value) {
                        self.version(place, version);
                    }
                }
                _ => self.put(place, name, value),
            }
        }
    }

    fn version(&mut self, kind: &str, version: &Value) {
        let place = format!("{kind}/{}", version["name"].as_str().unwrap_or_default());
        for (name, value) in fields(version) {
            match name.as_str() {
                "additionalPrinterColumns" => {
                    for (index, column) in items(value).iter().enumerate() {
                        self.put(&format!("{place} column {index}"), "printer column", column);
                    }
                }
                "schema" => self.schema(&place, &value["openAPIV3Schema"]),
                _ => self.put(&place, &format!("version {name}"), value),
            }
        }
    }

    fn schema(&mut self, place: &str, schema: &Value) {
        for (name, value) in fields(schema) {
            match name.as_str() {
                // Descriptions are ours.
                "description" => {}
                "properties" => {
                    for (field, schema) in fields(value) {
                        let place = format!("{place}.{field}");
                        self.put(&place, "field", &Value::Bool(true));
                        self.schema(&place, schema);
                    }
                }
                "items" => self.schema(&format!("{place}[]"), value),
                "additionalProperties" if value.is_object() => {
                    self.schema(&format!("{place}{{}}"), value);
                }
                "required" => {
                    for field in items(value) {
                        let field = field.as_str().unwrap_or_default();
                        self.put(&format!("{place}.{field}"), "required", &Value::Bool(true));
                    }
                }
                "x-kubernetes-validations" => {
                    for (index, rule) in items(value).iter().enumerate() {
                        self.put(&format!("{place} rule {index}"), "CEL rule", rule);
                    }
                }
                _ => self.put(place, name, value),
            }
        }
    }
}

fn fields(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flat_map(Map::iter)
}

fn items(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}
