//! `sluice resume`: resumes the reconciliation of objects.

use std::collections::BTreeSet;

use futures::future::join_all;
use kube::api::ListParams;
use serde_json::{Value, json};
use sluice_api::names::sluice::SUSPENDED_BY;

use crate::globals::Globals;
use crate::kinds::{Kind, Resume, Target, What, text_at};
use crate::outcome::{Failure, Outcome};
use crate::readiness;
use crate::session::{self, Session};
use crate::tell;

/// Resumes the reconciliation of objects.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    target: Target<Resume>,
    /// All objects of the kind in the namespace.
    #[arg(long, global = true)]
    all: bool,
    /// Waits until the objects are reconciled; by default only for a single object.
    #[arg(
        long,
        global = true,
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "true",
        value_name = "BOOL"
    )]
    wait: Option<bool>,
}

/// Runs `sluice resume`.
pub(crate) fn run(arguments: &Arguments, globals: &Globals) -> Result<Outcome, Failure> {
    let What::One(kind) = arguments.target.what else { return Ok(Outcome::Fine) };
    let names = &arguments.target.names;
    if names.is_empty() && !arguments.all {
        return Err(Failure::flux(format!("{} name is required", kind.human)));
    }
    let waits = arguments.wait.unwrap_or(names.len() == 1);
    session::with(globals, async |session| {
        let resumed = patch_all(session, kind, names).await?;
        if waits { wait(session, kind, &resumed).await } else { Ok(()) }
    })?;
    Ok(Outcome::Fine)
}

async fn patch_all(
    session: &Session,
    kind: &Kind,
    names: &[String],
) -> Result<Vec<String>, Failure> {
    if names.is_empty() {
        return patch(session, kind, names, &ListParams::default()).await.map_err(|failure| {
            Failure::flux(format!("failed patching objects: {}", failure.message()))
        });
    }
    let mut seen = BTreeSet::new();
    let mut resumed = Vec::new();
    for name in names.iter().filter(|name| seen.insert(*name)) {
        let params = ListParams::default().fields(&format!("metadata.name={name}"));
        resumed.extend(patch(session, kind, names, &params).await?);
    }
    Ok(resumed)
}

async fn patch(
    session: &Session,
    kind: &Kind,
    names: &[String],
    params: &ListParams,
) -> Result<Vec<String>, Failure> {
    let namespace = &session.namespace;
    let objects = session.list(kind, false, params).await?;
    if objects.is_empty() {
        // Flux names the first object here, whichever is missing.
        tell::failure(&match names.first() {
            None => format!("no {} objects found in {namespace} namespace", kind.name()),
            Some(name) => {
                format!("{} object '{name}' not found in {namespace} namespace", kind.name())
            }
        });
    }
    let mut resumed = Vec::new();
    for object in &objects {
        let name = text_at(object, "/metadata/name");
        tell::action(&format!("resuming {} {name} in {namespace} namespace", kind.human));
        session.patch(kind, name, &resumption(object)).await?;
        tell::success(&format!("{} resumed", kind.human));
        resumed.push(name.to_owned());
    }
    Ok(resumed)
}

/// The patch that resumes an object and removes the record of its suspension.
fn resumption(object: &Value) -> Value {
    let mut patch = json!({});
    if object.pointer("/spec/suspend").and_then(Value::as_bool).unwrap_or_default() {
        patch["spec"] = json!({"suspend": null});
    }
    let annotations = object.pointer("/metadata/annotations");
    if annotations.is_some_and(|annotations| annotations.get(SUSPENDED_BY).is_some()) {
        patch["metadata"] = json!({"annotations": {SUSPENDED_BY: null}});
    }
    patch
}

/// Waits for all objects, then prints the result of each, by name.
async fn wait(session: &Session, kind: &Kind, names: &[String]) -> Result<(), Failure> {
    let one = async |name: &String| {
        tell::waiting(&format!("waiting for {} reconciliation", kind.name()));
        let ready = session.poll(async || readiness::look(session, kind, name).await).await;
        (name.clone(), ready)
    };
    let mut ended = join_all(names.iter().map(one)).await;
    ended.sort_by(|(one, _), (other, _)| one.cmp(other));
    let mut failed = 0;
    for (name, ready) in &ended {
        match ready {
            Ok(object) => {
                tell::success(&format!("{} {name} reconciliation completed", kind.name()));
                tell::success(&(kind.success)(object));
            }
            Err(failure) => {
                failed += 1;
                tell::failure(&format!(
                    "{} {name} reconciliation failed: {}",
                    kind.name(),
                    failure.message()
                ));
            }
        }
    }
    if failed > 0 {
        return Err(Failure::flux(format!(
            "reconciliation failed for {failed} {}(s)",
            kind.name()
        )));
    }
    Ok(())
}
