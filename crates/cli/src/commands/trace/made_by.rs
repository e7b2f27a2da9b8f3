//! The owner of an object: from its labels, or those of its owner references.

use serde_json::Value;

use super::report::{Report, source_report};
use crate::kinds::{self, condition, text_at};
use crate::outcome::Failure;
use crate::session::{Session, find_kind};

/// The maximum depth of owner references, which also ends cycles.
const MOST_OWNERS: usize = 32;

/// The origin of an object.
pub(super) async fn report(session: &Session, object: &Value) -> Result<String, Failure> {
    for (group, is_helm) in
        [("kustomize.toolkit.fluxcd.io", false), ("helm.toolkit.fluxcd.io", true)]
    {
        if let Some((namespace, name)) = maker(session, object, group).await {
            return if is_helm {
                helm_release(session, object, &namespace, &name).await
            } else {
                kustomization(session, object, &namespace, &name).await
            };
        }
    }
    Err(Failure::flux("object not managed by Flux"))
}

/// Namespace and name from the labels of a group, on the object or on one of its owners.
async fn maker(session: &Session, object: &Value, group: &str) -> Option<(String, String)> {
    let mut object = object.clone();
    for _ in 0..MOST_OWNERS {
        if let Some(found) = labelled(&object, group) {
            return Some(found);
        }
        let owners = object.pointer("/metadata/ownerReferences")?.as_array()?.clone();
        let namespace = text_at(&object, "/metadata/namespace").to_owned();
        let mut next = None;
        for owner in &owners {
            let (api_version, kind) = (text_at(owner, "/apiVersion"), text_at(owner, "/kind"));
            let found = find_kind(&session.client, api_version, kind).await.ok()??;
            let place = found.namespaced.then_some(namespace.as_str());
            let read =
                session.get_resource(&found.resource, place, text_at(owner, "/name")).await.ok()?;
            if let Some(found) = labelled(&read, group) {
                return Some(found);
            }
            if read
                .pointer("/metadata/ownerReferences")
                .and_then(Value::as_array)
                .is_some_and(|all| !all.is_empty())
            {
                next = Some(read);
                break;
            }
        }
        object = next?;
    }
    None
}

fn labelled(object: &Value, group: &str) -> Option<(String, String)> {
    let labels = object.pointer("/metadata/labels")?;
    let label = |name: &str| labels.get(format!("{group}/{name}")).and_then(Value::as_str);
    let name = label("name").filter(|name| !name.is_empty())?;
    Some((label("namespace").unwrap_or_default().to_owned(), name.to_owned()))
}

async fn find(
    session: &Session,
    kind: &str,
    shown: &str,
    namespace: &str,
    name: &str,
) -> Result<Value, Failure> {
    let kind =
        kinds::named(kind).ok_or_else(|| Failure::flux(format!("{kind} is no kind of Flux")))?;
    let object = session.get(kind, namespace, name).await;
    object.map_err(|error| Failure::flux(format!("failed to find {shown}: {error}")))
}

/// The target of a reference. An external artifact must have an origin.
async fn source(
    session: &Session,
    reference: &Value,
    own: &str,
    known: &[&str],
) -> Result<Option<Value>, Failure> {
    let kind = text_at(reference, "/kind");
    if !known.contains(&kind) {
        return Ok(None);
    }
    let namespace = match text_at(reference, "/namespace") {
        "" => own,
        namespace => namespace,
    };
    let object = find(session, kind, kind, namespace, text_at(reference, "/name")).await?;
    if kind == "ExternalArtifact" && object.pointer("/spec/sourceRef").is_none() {
        return Err(Failure::flux(format!(
            "ExternalArtifact {}/{} is missing spec.sourceRef",
            text_at(&object, "/metadata/namespace"),
            text_at(&object, "/metadata/name")
        )));
    }
    Ok(Some(object))
}

async fn kustomization(
    session: &Session,
    object: &Value,
    namespace: &str,
    name: &str,
) -> Result<String, Failure> {
    let maker = find(session, "Kustomization", "kustomization", namespace, name).await?;
    let reference = maker.pointer("/spec/sourceRef").unwrap_or(&Value::Null);
    let known = ["GitRepository", "OCIRepository", "ExternalArtifact"];
    let source = source(session, reference, text_at(&maker, "/metadata/namespace"), &known).await?;
    let mut report = Report::about(object, 17);
    report.section("Kustomization", &maker);
    report.line_if("Target", text_at(&maker, "/spec/targetNamespace"));
    report.line("Path", text_at(&maker, "/spec/path"));
    report.line("Revision", text_at(&maker, "/status/lastAppliedRevision"));
    report.reconciled(condition(&maker, "Ready"));
    if let Some(source) = &source {
        source_report(&mut report, source, true);
    }
    Ok(report.finish())
}

async fn helm_release(
    session: &Session,
    object: &Value,
    namespace: &str,
    name: &str,
) -> Result<String, Failure> {
    let maker = find(session, "HelmRelease", "HelmRelease", namespace, name).await?;
    let own = text_at(&maker, "/metadata/namespace");
    let chart = match text_at(&maker, "/status/helmChart").split_once('/') {
        Some((namespace, name)) => {
            Some(find(session, "HelmChart", "HelmChart", namespace, name).await?)
        }
        None => None,
    };
    let source = match (maker.pointer("/spec/chart"), maker.pointer("/spec/chartRef")) {
        (None, Some(reference)) => {
            source(session, reference, own, &["OCIRepository", "ExternalArtifact"]).await?
        }
        (Some(chart), _) => {
            let reference = chart.pointer("/spec/sourceRef").unwrap_or(&Value::Null);
            source(session, reference, own, &["GitRepository", "HelmRepository"]).await?
        }
        (None, None) => None,
    };
    let mut report = Report::about(object, 16);
    report.section("HelmRelease", &maker);
    report.line_if("Target", text_at(&maker, "/spec/targetNamespace"));
    report.line("Revision", text_at(&maker, "/status/lastAttemptedRevision"));
    report.reconciled(condition(&maker, "Ready"));
    if let Some(chart) = &chart {
        report.section("HelmChart", chart);
        report.line("Chart", text_at(chart, "/spec/chart"));
        report.line("Version", text_at(chart, "/spec/version"));
        report.revision(chart);
        report.reconciled(condition(chart, "Ready"));
    }
    if let Some(source) = &source {
        source_report(&mut report, source, false);
    }
    Ok(report.finish())
}
