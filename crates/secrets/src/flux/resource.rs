//! Objects of a build: encrypted as a whole, or Secrets with encrypted documents in their data.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value as Json;

use super::{CheckError, Checked, DECRYPT_ANNOTATION, Decryptor, Finding};
use crate::document::{Error, decrypt_document};
use crate::formats::Format;

/// Why an object could not be decrypted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ResourceError {
    /// The whole object.
    #[error("failed to decrypt and format '{namespace}/{name}' {kind} data: {source}")]
    Object {
        /// Its namespace.
        namespace: String,
        /// Its name.
        name: String,
        /// Its kind.
        kind: String,
        /// The cause.
        source: Error,
    },
    /// An entry of a Secret.
    #[error("failed to decrypt and format '{namespace}/{name}' Secret field '{field}': {source}")]
    Field {
        /// The Secret's namespace.
        namespace: String,
        /// The Secret's name.
        name: String,
        /// The entry.
        field: String,
        /// The cause.
        source: Error,
    },
    /// The object does not come from a valid file.
    #[error(transparent)]
    Altered(#[from] CheckError),
    /// The result is not JSON.
    #[error("failed to unmarshal decrypted '{namespace}/{name}' {kind} to JSON")]
    NotJson {
        /// Its namespace.
        namespace: String,
        /// Its name.
        name: String,
        /// Its kind.
        kind: String,
    },
}

impl ResourceError {
    /// Whether it failed only because a remote key service has to be asked first.
    pub const fn is_unasked(&self) -> bool {
        match self {
            Self::Object { source, .. } | Self::Field { source, .. } => source.is_unasked(),
            Self::Altered(_) | Self::NotJson { .. } => false,
        }
    }
}

/// Whether an annotation disables decryption.
pub fn is_decryption_disabled(object: &Json) -> bool {
    object
        .pointer("/metadata/annotations")
        .and_then(|annotations| annotations.get(DECRYPT_ANNOTATION))
        .and_then(Json::as_str)
        .is_some_and(|value| value.eq_ignore_ascii_case("disabled"))
}

/// Whether an object is encrypted as a whole: it has metadata of SOPS with a MAC.
pub fn is_encrypted(object: &Json) -> bool {
    match object.pointer("/sops/mac") {
        None | Some(Json::Null) => false,
        Some(Json::Object(fields)) => !fields.is_empty(),
        Some(Json::Array(items)) => !items.is_empty(),
        Some(_) => true,
    }
}

fn text<'o>(object: &'o Json, pointer: &str) -> &'o str {
    object.pointer(pointer).and_then(Json::as_str).unwrap_or_default()
}

impl Decryptor<'_> {
    /// Decrypts an object of a build in place; returns whether it was encrypted.
    ///
    /// The MAC of an object that is encrypted as a whole never matches, because a build sorts and adds fields. So its
    /// encrypted values must be those of a file that was checked. Entries of a Secret are unchanged documents with a
    /// MAC of their own.
    pub fn decrypt_resource(
        &self,
        object: &mut Json,
        checked: &Checked,
        findings: &mut Vec<Finding>,
    ) -> Result<bool, ResourceError> {
        if is_decryption_disabled(object) {
            return Ok(false);
        }
        if is_encrypted(object) {
            let plain = self.decrypt_object(object)?;
            let (namespace, name) =
                (text(object, "/metadata/namespace"), text(object, "/metadata/name"));
            let place = format!("{}/{namespace}/{name}", text(object, "/kind"));
            self.check_object(object, &place, checked, findings)?;
            *object = plain;
            return Ok(true);
        }
        if text(object, "/kind") == "Secret" {
            return self.decrypt_entries(object, findings);
        }
        Ok(false)
    }

    fn decrypt_object(&self, object: &Json) -> Result<Json, ResourceError> {
        let namespace = text(object, "/metadata/namespace").to_owned();
        let name = text(object, "/metadata/name").to_owned();
        let kind = text(object, "/kind").to_owned();
        let plain = decrypt_document(object.to_string().as_bytes(), Format::Json, self.keys)
            .and_then(|decrypted| decrypted.emit(Format::Json));
        match plain {
            Ok(plain) => serde_json::from_slice(plain.expose())
                .map_err(|_| ResourceError::NotJson { namespace, name, kind }),
            Err(source) => Err(ResourceError::Object { namespace, name, kind, source }),
        }
    }

    fn decrypt_entries(
        &self,
        secret: &mut Json,
        findings: &mut Vec<Finding>,
    ) -> Result<bool, ResourceError> {
        let namespace = text(secret, "/metadata/namespace").to_owned();
        let name = text(secret, "/metadata/name").to_owned();
        let Some(data) = secret.get_mut("data").and_then(Json::as_object_mut) else {
            return Ok(false);
        };
        let mut any = false;
        for (field, value) in data {
            // The API server reports invalid base64.
            let Some(letters) = value.as_str() else { continue };
            let Ok(content) = STANDARD.decode(letters.replace(['\n', '\r'], "")) else { continue };
            let Some(format) = Format::detect(&content) else { continue };
            let place = format!("Secret/{namespace}/{name} {field}");
            let formats = (format, Format::of_path(field));
            let plain = self.document(&content, formats, &place, findings).map_err(|source| {
                let (namespace, name) = (namespace.clone(), name.clone());
                ResourceError::Field { namespace, name, field: field.clone(), source }
            })?;
            *value = Json::String(STANDARD.encode(plain.expose()));
            any = true;
        }
        Ok(any)
    }
}
