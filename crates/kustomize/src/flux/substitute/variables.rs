//! Variables, read as text from where a Kustomization says they are.

use std::collections::BTreeMap;

use base64::Engine as _;
use serde_json::Value;

use crate::failure::{Failure, Gathered, Result};

/// What Flux says names must look like.
const NAMES: &str = "^[_[:alpha:]][_[:alpha:][:digit:]]*$";

/// Variables with their values. What is added later wins: first the ConfigMaps and Secrets of
/// `substituteFrom` in their order, then the map `substitute`.
///
/// Values are bytes, as those of Secrets are. Flux takes their newlines away, as they would break the
/// text that they are put into; what is put into strings keeps them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Variables {
    values: BTreeMap<String, Vec<u8>>,
    /// Those that have newlines, without them.
    flat: BTreeMap<String, Vec<u8>>,
}

impl Variables {
    /// Adds a variable.
    pub fn insert(&mut self, name: impl Into<String>, value: impl AsRef<[u8]>) {
        let (name, value) = (name.into(), value.as_ref());
        if value.contains(&b'\n') {
            let flat = value.iter().copied().filter(|byte| *byte != b'\n').collect();
            self.flat.insert(name.clone(), flat);
        } else {
            self.flat.remove(&name);
        }
        self.values.insert(name, value.to_vec());
    }

    /// Adds the `data` of a ConfigMap; its `binaryData` is not read.
    pub fn add_config_map(&mut self, object: &Value) {
        for (name, value) in object.get("data").and_then(Value::as_object).into_iter().flatten() {
            self.insert(name, value.as_str().unwrap_or_default());
        }
    }

    /// Adds the `data` of a Secret, decoded.
    pub fn add_secret(&mut self, object: &Value) -> Result<()> {
        for (name, value) in object.get("data").and_then(Value::as_object).into_iter().flatten() {
            let encoded = value.as_str().unwrap_or_default();
            let value = base64::prelude::BASE64_STANDARD.decode(encoded);
            // Nothing of the value may be said.
            self.insert(
                name,
                value.map_err(|_| Failure::new(format!("data.{name}: not in base64")))?,
            );
        }
        Ok(())
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// All variables, by name, without newlines.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &[u8])> {
        let flat = |name| self.get(name).unwrap_or_default();
        self.values.keys().map(move |name| (name.as_str(), flat(name)))
    }

    /// The value of a variable, without newlines.
    pub fn get(&self, name: &str) -> Option<&[u8]> {
        self.flat.get(name).or_else(|| self.values.get(name)).map(Vec::as_slice)
    }

    /// The value of a variable, as it is.
    pub(super) fn exact(&self, name: &str) -> Option<&[u8]> {
        self.values.get(name).map(Vec::as_slice)
    }

    /// Refuses names that could not be written in a substitution, all at once.
    pub(super) fn check_names(&self) -> Result<()> {
        let mut wrong = Gathered::default();
        for name in self.values.keys().filter(|name| !is_name(name)) {
            wrong.add(Failure::new(format!(
                "envsubst error: '{name}' var name is invalid, must match '{NAMES}'"
            )));
        }
        wrong.finish()
    }
}

fn is_name(name: &str) -> bool {
    let is_letter = |byte: &u8| byte.is_ascii_alphabetic() || *byte == b'_';
    name.as_bytes().first().is_some_and(is_letter)
        && name.bytes().all(|byte| is_letter(&byte) || byte.is_ascii_digit())
}
