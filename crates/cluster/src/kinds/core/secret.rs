//! Secret.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use sluice_schema::field::{FieldError, Path};

use super::config_map::{LIMIT, decoded_length, frozen};
use crate::kind::{Context, Kind};
use crate::validation::{Errors, immutable, named, names};
use crate::value::{at, entries, fill, remove, slot, text};

/// The hooks of Secret.
pub(super) struct Secret;

impl Kind for Secret {
    fn default(&self, object: &mut Value) {
        fill(object, "type", "Opaque");
        // `stringData` is write-only: it is merged into `data` and never stored.
        let Some(Value::Object(plain)) = remove(object, "stringData") else { return };
        let Some(data) = slot(object, "data").filter(|_| !plain.is_empty()) else { return };
        if data.is_null() {
            *data = Value::Object(serde_json::Map::new());
        }
        if let Some(data) = data.as_object_mut() {
            for (key, value) in plain {
                let encoded = STANDARD.encode(value.as_str().unwrap_or_default());
                data.insert(key, encoded.into());
            }
        }
    }

    fn validate(&self, _context: &Context<'_>, object: &Value) -> Errors {
        let path = Path::new("data");
        let mut errors = Vec::new();
        let mut size = 0;
        for (key, value) in entries(object, "data") {
            errors.extend(named(names::config_key, key, &path.key(key)));
            size += decoded_length(value);
        }
        if size > LIMIT {
            errors.push(FieldError::too_long(&path, LIMIT));
        }
        errors.extend(type_rules(object, &path));
        errors
    }

    fn validate_update(&self, context: &Context<'_>, object: &Value, old: &Value) -> Errors {
        let mut errors = immutable(at(object, "type"), at(old, "type"), &Path::new("type"));
        errors.extend(frozen(object, old, &["data"]));
        errors.extend(self.validate(context, object));
        errors
    }

    fn warnings(&self, object: &Value, _old: Option<&Value>) -> Vec<String> {
        if text(object, "type") != "kubernetes.io/tls" {
            return Vec::new();
        }
        let has_pem = |key: &str| bytes(object, key).windows(11).any(|part| part == b"-----BEGIN ");
        for (key, what) in [("tls.crt", "certificate"), ("tls.key", "key")] {
            if !has_pem(key) {
                return vec![format!("tls: failed to find any PEM data in {what} input")];
            }
        }
        Vec::new()
    }

    fn selectable_fields(&self, object: &Value) -> Vec<(Cow<'static, str>, String)> {
        vec![("type".into(), text(object, "type").to_owned())]
    }
}

fn bytes(object: &Value, key: &str) -> Vec<u8> {
    let encoded = entries(object, "data").get(key).and_then(Value::as_str).unwrap_or_default();
    STANDARD.decode(encoded).unwrap_or_default()
}

fn type_rules(object: &Value, path: &Path) -> Errors {
    let data = entries(object, "data");
    let missing = |key: &str| FieldError::required(&path.key(key), "");
    let has = |key: &str| data.contains_key(key);
    match text(object, "type") {
        "kubernetes.io/service-account-token" => {
            let key = "kubernetes.io/service-account.name";
            let name = entries(object, "metadata.annotations").get(key).and_then(Value::as_str);
            if name.unwrap_or_default().is_empty() {
                let path = Path::new("metadata").child("annotations").key(key);
                return vec![FieldError::required(&path, "")];
            }
            Vec::new()
        }
        "kubernetes.io/dockercfg" => json_object(object, ".dockercfg", path),
        "kubernetes.io/dockerconfigjson" => json_object(object, ".dockerconfigjson", path),
        "kubernetes.io/basic-auth" if !has("username") && !has("password") => {
            vec![missing("username"), missing("password")]
        }
        "kubernetes.io/ssh-auth" if bytes(object, "ssh-privatekey").is_empty() => {
            vec![missing("ssh-privatekey")]
        }
        "kubernetes.io/tls" => {
            ["tls.crt", "tls.key"].into_iter().filter(|key| !has(key)).map(missing).collect()
        }
        _ => Vec::new(),
    }
}

fn json_object(object: &Value, key: &str, path: &Path) -> Errors {
    if !entries(object, "data").contains_key(key) {
        return vec![FieldError::required(&path.key(key), "")];
    }
    let content = bytes(object, key);
    let why = match serde_json::from_slice::<Value>(&content) {
        Ok(Value::Object(_) | Value::Null) => return Vec::new(),
        Ok(other) => {
            let kind = match other {
                Value::Bool(_) => "bool",
                Value::Number(_) => "number",
                Value::String(_) => "string",
                _ => "array",
            };
            format!("json: cannot unmarshal {kind} into Go value of type map[string]interface {{}}")
        }
        Err(error) if error.is_eof() => "unexpected end of JSON input".to_owned(),
        Err(_) => {
            let first = content.iter().find(|byte| !byte.is_ascii_whitespace());
            let first = char::from(first.copied().unwrap_or_default());
            format!("invalid character '{first}' looking for beginning of value")
        }
    };
    vec![FieldError::invalid(&path.key(key), "<secret contents redacted>", why)]
}
