//! Reconciles everything that a directory declares once: sources first, then their users.

use std::time::Duration;

use serde_json::{Value, json};
use sluice_api::names::annotations::REQUESTED_AT;

use super::inputs::{Inputs, called};
use crate::commands::check::findings::{Area, Findings, Verdict};
use crate::kinds::{Kind, condition, named, text_at};
use crate::outcome::Failure;
use crate::session::{Session, now};

/// The poll interval.
const POLL: Duration = Duration::from_millis(500);
/// The timeout of all together; most end earlier by a Kustomization's own timeout.
const PATIENCE: Duration = Duration::from_mins(4);

/// Requests all reconciliations, then waits for each.
pub(super) async fn check(
    session: &Session,
    inputs: &Inputs,
    findings: &mut Findings,
) -> Result<(), Failure> {
    let ends = tokio::time::Instant::now() + PATIENCE;
    let sources: Vec<&Value> = inputs.sources().collect();
    all(session, &sources, ends, findings).await;
    let kustomizations: Vec<&Value> = inputs.kustomizations().collect();
    all(session, &kustomizations, ends, findings).await;
    Ok(())
}

async fn all(
    session: &Session,
    objects: &[&Value],
    ends: tokio::time::Instant,
    findings: &mut Findings,
) {
    let mut asked = Vec::new();
    for object in objects {
        let Some(kind) = named(text_at(object, "/kind")) else { continue };
        match ask(session, kind, object).await {
            Ok(token) => asked.push((kind, *object, token)),
            Err(message) => findings.add(Area::Reconcile, &called(object), Verdict::Bad, &message),
        }
    }
    for (kind, object, token) in asked {
        let (verdict, message) = outcome(session, kind, object, &token, ends).await;
        findings.add(Area::Reconcile, &called(object), verdict, &message);
    }
}

/// Requests a reconciliation, as `flux reconcile` does.
async fn ask(session: &Session, kind: &Kind, object: &Value) -> Result<String, String> {
    let (namespace, name) = place(object);
    let session = session.in_namespace(namespace);
    let found = session.get(kind, namespace, name).await.map_err(|failure| {
        if failure.is_not_found() {
            "declared here, not yet in the cluster".to_owned()
        } else {
            failure.to_string()
        }
    })?;
    if kind.is_suspended(&found) {
        return Err("resource is suspended".to_owned());
    }
    let token = now().to_string();
    let patch = json!({"metadata": {"annotations": {REQUESTED_AT: token}}});
    session.patch(kind, name, &patch).await.map_err(|failure| failure.to_string())?;
    Ok(token)
}

async fn outcome(
    session: &Session,
    kind: &Kind,
    object: &Value,
    token: &str,
    ends: tokio::time::Instant,
) -> (Verdict, String) {
    let (namespace, name) = place(object);
    loop {
        let found = match session.get(kind, namespace, name).await {
            Ok(found) => found,
            Err(failure) => return (Verdict::Bad, failure.to_string()),
        };
        let is_heard = text_at(&found, "/status/lastHandledReconcileAt") == token;
        let ready = condition(&found, "Ready");
        let status = ready.map_or("", |ready| text_at(ready, "/status"));
        let message = ready.map_or("", |ready| text_at(ready, "/message")).to_owned();
        match (is_heard, status) {
            (true, "True") => return (Verdict::Good, message),
            (true, "False") => return (Verdict::Bad, message),
            _ if tokio::time::Instant::now() > ends => {
                let message = if is_heard { message } else { "no controller answers".to_owned() };
                return (Verdict::Bad, message);
            }
            _ => tokio::time::sleep(POLL).await,
        }
    }
}

fn place(object: &Value) -> (&str, &str) {
    (text_at(object, "/metadata/namespace"), text_at(object, "/metadata/name"))
}
