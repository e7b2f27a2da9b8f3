//! `sluice export`: prints objects as manifests for a repository.

use kube::api::ListParams;
use kube::discovery::ApiResource;
use serde_json::{Map, Value, json};

use crate::globals::Globals;
use crate::kinds::{Export, Kind, Target, What, text_at};
use crate::outcome::{Failure, Outcome};
use crate::session::{self, Session};
use crate::tell;

/// Prints objects as YAML.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    target: Target<Export>,
    /// All objects of the kind in the namespace.
    #[arg(long, global = true)]
    all: bool,
    /// Includes the secrets of sources.
    #[arg(long, global = true)]
    with_credentials: bool,
}

/// Runs `sluice export`.
pub(crate) fn run(arguments: &Arguments, globals: &Globals) -> Result<Outcome, Failure> {
    let What::One(kind) = arguments.target.what else { return Ok(Outcome::Fine) };
    let name = arguments.target.names.first().filter(|_| !arguments.all);
    if name.is_none() && !arguments.all {
        return Err(Failure::flux("name is required"));
    }
    session::with(globals, async |session| {
        let objects = match name {
            Some(name) => vec![session.get(kind, &session.namespace, name).await?],
            None => session.list(kind, false, &ListParams::default()).await?,
        };
        if objects.is_empty() {
            let namespace = &session.namespace;
            return Err(Failure::flux(format!("no objects found in {namespace} namespace")));
        }
        for object in &objects {
            tell::data(&document(&exported(kind, object)?))?;
            if !arguments.with_credentials || !kind.has_secret {
                continue;
            }
            let secret = text_at(object, "/spec/secretRef/name");
            if !secret.is_empty() {
                // Flux stops at the first object with credentials.
                return credentials(session, text_at(object, "/metadata/namespace"), secret).await;
            }
        }
        Ok(())
    })?;
    Ok(Outcome::Fine)
}

/// The parts of an object for a repository.
fn exported(kind: &Kind, object: &Value) -> Result<Value, Failure> {
    let mut bare = json!({
        "apiVersion": kind.definition.api_version(),
        "kind": kind.name(),
        "metadata": metadata(object),
    });
    if let Some(spec) = object.get("spec") {
        bare["spec"] = spec.clone();
    }
    (kind.retype)(&bare).map_err(|error| Failure::flux(error.to_string()))
}

fn metadata(object: &Value) -> Value {
    let fields = ["name", "namespace", "labels", "annotations"];
    let kept = fields.iter().filter_map(|field| {
        let value = object.pointer("/metadata")?.get(field)?;
        Some(((*field).to_owned(), value.clone()))
    });
    Value::Object(kept.collect::<Map<_, _>>())
}

/// A document after its separator.
pub(crate) fn document(object: &Value) -> String {
    format!("---\n{}\n", sluice_yaml::from_json(object).trim())
}

async fn credentials(session: &Session, namespace: &str, name: &str) -> Result<(), Failure> {
    let resource = secrets();
    let secret = session.get_resource(&resource, Some(namespace), name).await.map_err(|error| {
        Failure::flux(format!("failed to retrieve secret {name}, error: {error}"))
    })?;
    let mut bare = json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": name, "namespace": namespace},
    });
    for field in ["data", "type"] {
        if let Some(value) = secret.get(field) {
            bare[field] = value.clone();
        }
    }
    tell::data(&document(&bare))
}

fn secrets() -> ApiResource {
    ApiResource::erase::<k8s_openapi::api::core::v1::Secret>(&())
}
