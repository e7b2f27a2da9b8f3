//! `sluice reconcile`: requests a reconciliation, and waits for it.

use serde_json::{Map, Value, json};
use sluice_api::names::annotations::{FORCE_AT, REQUESTED_AT, RESET_AT};

use crate::error_class::Classes;
use crate::globals::Globals;
use crate::kinds::{self, Kind, Reconcile, Target, What, condition, text_at};
use crate::outcome::{Failure, Outcome};
use crate::session::{self, Session};
use crate::{readiness, tell};

/// Reconciles an object now and waits for the result.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    target: Target<Reconcile>,
    /// Reconciles the source first.
    #[arg(long, global = true)]
    with_source: bool,
    /// Forces one install or upgrade of a HelmRelease.
    #[arg(long, global = true)]
    force: bool,
    /// Resets the failure counts of a HelmRelease.
    #[arg(long, global = true)]
    reset: bool,
}

/// Runs `sluice reconcile`.
pub(crate) fn run(arguments: &Arguments, globals: &Globals) -> Result<Outcome, Failure> {
    let What::One(kind) = arguments.target.what else { return Ok(Outcome::Fine) };
    let Some(name) = arguments.target.names.first() else {
        return Err(Failure::flux(format!("{} name is required", kind.name())));
    };
    let request =
        Request { source: arguments.with_source, force: arguments.force, reset: arguments.reset };
    session::with(globals, async |session| reconcile(session, kind, name, request).await)?;
    Ok(Outcome::Fine)
}

/// The annotations of a reconciliation request.
#[derive(Debug, Clone, Copy)]
struct Request {
    source: bool,
    force: bool,
    reset: bool,
}

async fn reconcile(
    session: &Session,
    kind: &Kind,
    name: &str,
    request: Request,
) -> Result<(), Failure> {
    let namespace = &session.namespace;
    let object = session.get(kind, namespace, name).await?;
    if kind.is_static(&object) {
        tell::success("reconciliation not supported by the object");
        return Ok(());
    }
    if kind.is_suspended(&object) {
        return Err(Failure::flux("resource is suspended"));
    }
    if request.source && has_source(kind) {
        Box::pin(reconcile_source(session, kind, &object)).await?;
    }
    let before = text_at(&object, "/status/lastHandledReconcileAt").to_owned();
    tell::action(&format!("annotating {} {name} in {namespace} namespace", kind.name()));
    session.patch(kind, name, &annotation(kind, request)).await?;
    tell::success(&format!("{} annotated", kind.name()));
    tell::waiting(&format!("waiting for {} reconciliation", kind.name()));
    let object = session
        .poll(async || {
            let object = session.get(kind, namespace, name).await?;
            let is_handled = text_at(&object, "/status/lastHandledReconcileAt") != before;
            Ok(if is_handled && readiness::settled(&object)? { Some(object) } else { None })
        })
        .await;
    let object = match object {
        Ok(object) => object,
        Err(failure) => {
            let object = session.get(kind, namespace, name).await?;
            return Err(placed(session, &object, failure).await);
        }
    };
    let ready =
        condition(&object, "Ready").ok_or_else(|| Failure::flux("status can't be determined"))?;
    if text_at(ready, "/status") != "True" {
        let message = text_at(ready, "/message");
        let quoted = if has_source(kind) { message.to_owned() } else { format!("'{message}'") };
        let failure = Failure::flux(format!("{} reconciliation failed: {quoted}", kind.name()));
        return Err(placed(session, &object, failure).await);
    }
    tell::success(&(kind.success)(&object));
    Ok(())
}

/// A failure with causes and places of the objects that failed, if an event names them.
async fn placed(session: &Session, object: &Value, failure: Failure) -> Failure {
    let classes = Classes::read(session, Some(&session.namespace), [object]).await;
    let known: Vec<&str> =
        [classes.causes(object), classes.places(object)].into_iter().flatten().collect();
    if known.is_empty() { failure } else { failure.hint(known.join("\n")) }
}

/// Kinds with a source.
fn has_source(kind: &Kind) -> bool {
    matches!(kind.name(), "Kustomization" | "HelmRelease" | "HelmChart")
}

fn annotation(kind: &Kind, request: Request) -> Value {
    let moment = session::now().to_string();
    let mut annotations = Map::new();
    annotations.insert(REQUESTED_AT.to_owned(), moment.clone().into());
    if kind.name() == "HelmRelease" {
        for (name, wanted) in [(FORCE_AT, request.force), (RESET_AT, request.reset)] {
            if wanted {
                annotations.insert(name.to_owned(), moment.clone().into());
            }
        }
    }
    json!({"metadata": {"annotations": annotations}})
}

/// Reconciles the source of an object. The chart of a HelmRelease reconciles its own source.
async fn reconcile_source(session: &Session, kind: &Kind, object: &Value) -> Result<(), Failure> {
    let own = text_at(object, "/metadata/namespace");
    let (reference, chart) = match kind.name() {
        "HelmRelease" => {
            if let Some(reference) = object.pointer("/spec/chartRef") {
                (reference, None)
            } else {
                let chart = format!("{own}-{}", text_at(object, "/metadata/name"));
                (object.pointer("/spec/chart/spec/sourceRef").unwrap_or(&Value::Null), Some(chart))
            }
        }
        _ => (object.pointer("/spec/sourceRef").unwrap_or(&Value::Null), None),
    };
    let of_kind = if chart.is_some() { "HelmChart" } else { text_at(reference, "/kind") };
    let takes = match kind.name() {
        "Kustomization" => ["OCIRepository", "GitRepository", "Bucket"].contains(&of_kind),
        "HelmChart" => ["HelmRepository", "GitRepository", "Bucket"].contains(&of_kind),
        _ => ["HelmChart", "OCIRepository"].contains(&of_kind),
    };
    let Some(source) = kinds::named(of_kind).filter(|_| takes) else {
        return Err(Failure::flux(format!("cannot reconcile source of kind {of_kind}")));
    };
    let name = chart.unwrap_or_else(|| text_at(reference, "/name").to_owned());
    let namespace = match text_at(reference, "/namespace") {
        "" => own,
        namespace => namespace,
    };
    let there = session.in_namespace(namespace);
    let request = Request { source: kind.name() == "HelmRelease", force: false, reset: false };
    reconcile(&there, source, &name, request).await
}
