//! `sluice evidence`: the evidence of what was applied, as one JSON document for an archive or an auditor.

use serde_json::{Value, json};

use crate::error_class::Classes;
use crate::globals::Globals;
use crate::kinds::{self, Kind, condition, text_at};
use crate::outcome::{Failure, Outcome};
use crate::session::{self, Session};
use crate::tell;

/// Prints revision, digest, verification, inventory and health of a Kustomization as one JSON document.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The object, as ks/NAME.
    #[arg(value_name = "ks/NAME")]
    object: String,
}

/// Runs `sluice evidence`. An object that is not ready is a finding.
pub(crate) fn run(arguments: &Arguments, globals: &Globals) -> Result<Outcome, Failure> {
    let named = arguments.object.split_once('/').and_then(|(word, name)| {
        kinds::worded(word).filter(|kind| kind.name() == "Kustomization").map(|kind| (kind, name))
    });
    let (kind, name) = named.ok_or_else(|| {
        Failure::new(format!("there is no evidence for {:?}", arguments.object))
            .hint("name a Kustomization, as ks/NAME")
    })?;
    let evidence = session::with(globals, async |session| gather(session, kind, name).await)
        .map_err(Failure::in_own_style)?;
    tell::data(&format!("{evidence:#}\n"))?;
    let ready = evidence.pointer("/health/ready") == Some(&Value::Bool(true));
    Ok(if ready { Outcome::Fine } else { Outcome::Findings })
}

async fn gather(session: &Session, kind: &'static Kind, name: &str) -> Result<Value, Failure> {
    let object = session.get(kind, &session.namespace, name).await?;
    let source = source(session, &object).await?;
    let conditions = object.pointer("/status/conditions").cloned().unwrap_or_else(|| json!([]));
    let is_ready = condition(&object, "Ready").is_some_and(|one| text_at(one, "/status") == "True");
    let classes = Classes::read(session, Some(&session.namespace), [&object]).await;
    let generation = object.pointer("/metadata/generation");
    let is_current =
        generation.is_some() && generation == object.pointer("/status/observedGeneration");
    Ok(json!({
        "evidenceFor": {
            "apiVersion": kind.definition.api_version(),
            "kind": kind.name(),
            "namespace": session.namespace,
            "name": name,
            "uid": object.pointer("/metadata/uid"),
            "generation": generation,
        },
        "gatheredAt": sluice_base::time::format_seconds(session::now()),
        "suspended": kind.is_suspended(&object),
        "revision": {
            "applied": object.pointer("/status/lastAppliedRevision"),
            "attempted": object.pointer("/status/lastAttemptedRevision"),
            "origin": object.pointer("/status/lastAppliedOriginRevision"),
        },
        "digest": object.pointer("/status/history/0/digest"),
        "source": source,
        "inventory": object.pointer("/status/inventory/entries").cloned().unwrap_or_else(|| json!([])),
        "health": {
            "ready": is_ready && is_current,
            "errorClass": classes.of(&object),
            "errors": classes.each(&object),
            "causes": classes.causes(&object).map(|causes| causes.lines().collect::<Vec<_>>()),
            "places": classes.places(&object).map(|places| places.lines().collect::<Vec<_>>()),
            "conditions": conditions,
        },
        "history": object.pointer("/status/history").cloned().unwrap_or_else(|| json!([])),
    }))
}

/// The source: its URL, its artifact, and whether its signature was verified.
async fn source(session: &Session, object: &Value) -> Result<Value, Failure> {
    let reference = object.pointer("/spec/sourceRef").unwrap_or(&Value::Null);
    let Some(kind) = kinds::named(text_at(reference, "/kind")) else { return Ok(Value::Null) };
    let namespace = match text_at(reference, "/namespace") {
        "" => session.namespace.as_str(),
        namespace => namespace,
    };
    let name = text_at(reference, "/name");
    let source = match session.get(kind, namespace, name).await {
        Ok(source) => source,
        Err(error) if error.is_not_found() => {
            return Ok(
                json!({"kind": kind.name(), "namespace": namespace, "name": name, "missing": true}),
            );
        }
        Err(error) => return Err(error.into()),
    };
    let verified = condition(&source, "SourceVerified");
    Ok(json!({
        "kind": kind.name(),
        "namespace": namespace,
        "name": name,
        "url": source.pointer("/spec/url"),
        "artifact": source.pointer("/status/artifact"),
        "verification": {
            "wanted": source.pointer("/spec/verify"),
            "verified": verified.is_some_and(|one| text_at(one, "/status") == "True"),
            "message": verified.map(|one| text_at(one, "/message")),
        },
        "ready": condition(&source, "Ready").is_some_and(|one| text_at(one, "/status") == "True"),
    }))
}
