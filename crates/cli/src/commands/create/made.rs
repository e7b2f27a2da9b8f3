//! Common parts of created objects: names, labels, applying.

use kube::api::{DeleteParams, DynamicObject, PostParams};
use kube::discovery::ApiResource;
use serde_json::{Map, Value, json};
use sluice_base::duration::GoDuration;
use sluice_runtime::status::api_resource;

use crate::commands::export::document;
use crate::globals::Globals;
use crate::kinds::{self, Kind, text_at};
use crate::outcome::Failure;
use crate::readiness;
use crate::session::{self, Session};
use crate::tell;

/// Creates objects according to the flags.
pub(super) struct Maker<'m> {
    pub(super) globals: &'m Globals,
    pub(super) namespace: String,
    pub(super) interval: GoDuration,
    pub(super) export: bool,
    pub(super) labels: &'m [String],
}

/// The texts while an object is applied.
pub(super) struct Words {
    /// While applying, as in `applying Bucket source`.
    pub(super) object: &'static str,
    /// Afterwards, as in `source created`.
    pub(super) written: &'static str,
}

impl Maker<'_> {
    /// Validates the name.
    pub(super) fn name(name: Option<&str>) -> Result<&str, Failure> {
        let name = name.ok_or_else(|| Failure::flux("name is required"))?;
        let inner = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit();
        let bytes = name.as_bytes();
        let is_valid = (2..=63).contains(&bytes.len())
            && bytes.iter().all(|c| inner(*c) || *c == b'-')
            && bytes.first().is_some_and(|c| inner(*c))
            && bytes.last().is_some_and(|c| inner(*c));
        if is_valid {
            return Ok(name);
        }
        let failure = Failure::flux(format!(
            "name '{name}' is invalid, it should adhere to standard defined in RFC 1123, the name can \
             only contain alphanumeric characters or '-'"
        ));
        if (2..=63).contains(&bytes.len()) {
            return Err(failure);
        }
        Err(failure.hint(format!("it has 2 to 63 characters, not {}", bytes.len())))
    }

    /// Parses the labels.
    pub(super) fn labels(&self) -> Result<Map<String, Value>, Failure> {
        let mut labels = Map::new();
        for label in self.labels {
            let [name, value] = label.split('=').collect::<Vec<_>>()[..] else {
                return Err(Failure::flux(format!(
                    "invalid label format '{label}', must be key=value"
                )));
            };
            let valid = |text: &str| {
                let outer = |c: u8| c.is_ascii_alphanumeric();
                let inner = |c: u8| outer(c) || matches!(c, b'-' | b'_' | b'.' | b'/');
                let bytes = text.as_bytes();
                bytes.iter().all(|c| inner(*c))
                    && bytes.first().is_none_or(|c| outer(*c))
                    && bytes.last().is_none_or(|c| outer(*c))
            };
            if name.is_empty() || !valid(name) {
                return Err(Failure::flux(format!("invalid label '{name}'")));
            }
            if value.len() > 63 || !valid(value) {
                return Err(Failure::flux(format!("invalid label value '{value}'")));
            }
            labels.insert(name.to_owned(), value.into());
        }
        Ok(labels)
    }

    /// An object of a kind, without empty fields.
    pub(super) fn object(&self, kind: &Kind, name: &str, spec: &Value) -> Result<Value, Failure> {
        let mut object = json!({
            "apiVersion": kind.definition.api_version(),
            "kind": kind.name(),
            "metadata": {"name": name, "namespace": self.namespace},
            "spec": spec,
        });
        let labels = self.labels()?;
        if !labels.is_empty() {
            object["metadata"]["labels"] = Value::Object(labels);
        }
        (kind.retype)(&object).map_err(|error| Failure::flux(error.to_string()))
    }

    /// Prints an object.
    pub(super) fn print(object: &Value) -> Result<(), Failure> {
        tell::data(&document(object))
    }

    /// Applies an object and waits until it is ready; returns it. A secret is applied before it.
    pub(super) fn apply(
        &self,
        kind: &'static Kind,
        mut object: Value,
        words: &Words,
        secret: Option<(Value, &str)>,
    ) -> Result<Value, Failure> {
        session::with(self.globals, async |session| {
            if let Some((secret, before)) = secret {
                tell::action(before);
                write(session, &secrets(), &secret).await?;
                object["spec"]["secretRef"] = json!({"name": text_at(&secret, "/metadata/name")});
                tell::success("authentication configured");
            }
            tell::action(&format!("applying {}", words.object));
            let is_new = write(session, &api_resource(&kind.definition), &object).await?;
            let done = if is_new { "created" } else { "updated" };
            tell::success(&format!("{} {done}", words.written));
            tell::waiting(&format!("waiting for {} reconciliation", words.object));
            let name = text_at(&object, "/metadata/name").to_owned();
            session.poll(async || readiness::look(session, kind, &name).await).await
        })
    }

    /// The same for a source, with its final message.
    pub(super) fn apply_source(
        &self,
        kind: &'static Kind,
        object: Value,
        words: &Words,
        secret: Option<(Value, &str)>,
    ) -> Result<(), Failure> {
        let made = self.apply(kind, object, words, secret)?;
        tell::success(&format!("{} reconciliation completed", words.object));
        if kind.is_static(&made) {
            return Ok(());
        }
        match text_at(&made, "/status/artifact/revision") {
            "" => Err(Failure::flux(format!(
                "{} reconciliation completed but no artifact was found",
                words.object
            ))),
            revision => {
                tell::success(&format!("fetched revision: {revision}"));
                Ok(())
            }
        }
    }

    /// Writes objects of Kubernetes itself.
    pub(super) fn write_all(
        &self,
        objects: &[(Option<String>, ApiResource, Value)],
    ) -> Result<(), Failure> {
        session::with(self.globals, async |session| {
            for (before, resource, object) in objects {
                if let Some(before) = before {
                    tell::action(before);
                }
                write(session, resource, object).await?;
            }
            Ok(())
        })
    }
}

/// The kind with a name that is in the table.
pub(super) fn kind(name: &str) -> Result<&'static Kind, Failure> {
    kinds::named(name).ok_or_else(|| Failure::flux(format!("{name} is no kind of Flux")))
}

/// Secrets.
pub(super) fn secrets() -> ApiResource {
    ApiResource::erase::<k8s_openapi::api::core::v1::Secret>(&())
}

/// Creates an object, or updates labels, annotations and content of an existing one; returns whether it was
/// created.
async fn write(session: &Session, resource: &ApiResource, object: &Value) -> Result<bool, Failure> {
    let namespace = Some(text_at(object, "/metadata/namespace")).filter(|name| !name.is_empty());
    let name = text_at(object, "/metadata/name");
    let api = session.api(resource, namespace);
    let typed = |value: &Value| {
        serde_json::from_value::<DynamicObject>(value.clone())
            .map_err(|error| Failure::flux(error.to_string()))
    };
    let refused = |error: kube::Error| match error {
        kube::Error::Api(status) => Failure::flux(status.message),
        other => Failure::flux(other.to_string()),
    };
    let params = PostParams { field_manager: Some("flux".to_owned()), ..PostParams::default() };
    let mut existing = match session.get_resource(resource, namespace, name).await {
        Ok(existing) => existing,
        Err(error) if error.is_not_found() => {
            api.create(&params, &typed(object)?).await.map_err(refused)?;
            return Ok(true);
        }
        Err(error) => return Err(error.into()),
    };
    if resource.kind == "RoleBinding" {
        // The role of a binding is immutable: it is recreated if anything differs.
        let same = |path: &str| existing.pointer(path) == object.pointer(path);
        if !["/subjects", "/roleRef", "/metadata/labels"].into_iter().all(same) {
            api.delete(name, &DeleteParams::default()).await.map_err(refused)?;
            api.create(&params, &typed(object)?).await.map_err(refused)?;
        }
        return Ok(false);
    }
    for field in ["spec", "stringData"] {
        if let Some(value) = object.get(field) {
            existing[field] = value.clone();
        }
    }
    for field in ["labels", "annotations"] {
        if let Some(value) = object.pointer("/metadata").and_then(|metadata| metadata.get(field)) {
            existing["metadata"][field] = value.clone();
        }
    }
    api.replace(name, &params, &typed(&existing)?).await.map_err(refused)?;
    Ok(false)
}
