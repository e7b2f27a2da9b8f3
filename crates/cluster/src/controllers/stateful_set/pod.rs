//! The pods of a StatefulSet and the claims that go with them.

use serde_json::{Value, json};

use crate::controllers::{history, pods};
use crate::{metadata, value};

/// The ordinal of a pod, from its name.
pub(super) fn ordinal(set: &Value, pod: &Value) -> Option<i64> {
    let (owner, number) = metadata::name(pod).rsplit_once('-')?;
    if owner == metadata::name(set) { number.parse().ok() } else { None }
}

fn name(set: &Value, place: i64) -> String {
    format!("{}-{place}", metadata::name(set))
}

fn claim_name(template: &Value, set: &Value, place: i64) -> String {
    format!("{}-{}", metadata::name(template), name(set, place))
}

/// The pod with an ordinal.
pub(super) fn new(set: &Value, template: &Value, revision: &str, place: i64) -> Value {
    let mut pod = pods::from_template(set, template);
    let name = name(set, place);
    metadata::set(&mut pod, "name", name.as_str());
    let labels = [
        ("statefulset.kubernetes.io/pod-name", name.clone()),
        ("apps.kubernetes.io/pod-index", place.to_string()),
        (history::HASH_LABEL, revision.to_owned()),
    ];
    for (key, text) in labels {
        pod["metadata"]["labels"][key] = text.into();
    }
    pod["spec"]["hostname"] = name.into();
    let service = value::text(set, "spec.serviceName");
    if !service.is_empty() {
        pod["spec"]["subdomain"] = service.into();
    }
    let claims = value::list(set, "spec.volumeClaimTemplates");
    if !claims.is_empty() {
        let mut volumes: Vec<Value> = claims
            .iter()
            .map(|claim| {
                json!({
                    "name": metadata::name(claim),
                    "persistentVolumeClaim": {"claimName": claim_name(claim, set, place)},
                })
            })
            .collect();
        let kept = value::list(&pod, "spec.volumes")
            .iter()
            .filter(|volume| claims.iter().all(|claim| volume["name"] != metadata::name(claim)));
        volumes.extend(kept.cloned());
        pod["spec"]["volumes"] = volumes.into();
    }
    pod
}

/// The claims of the pod with an ordinal.
pub(super) fn claims(set: &Value, place: i64) -> Vec<Value> {
    let selected = value::entries(set, "spec.selector.matchLabels");
    let retention = value::at(set, "spec.persistentVolumeClaimRetentionPolicy");
    value::list(set, "spec.volumeClaimTemplates")
        .iter()
        .map(|template| {
            let mut claim = json!({
                "metadata": {
                    "name": claim_name(template, set, place),
                    "namespace": metadata::namespace(set),
                },
                "spec": template["spec"],
            });
            let mut labels =
                template["metadata"]["labels"].as_object().cloned().unwrap_or_default();
            labels.extend(selected.clone());
            claim["metadata"]["labels"] = labels.into();
            if let Some(annotations) = metadata::of(template).get("annotations") {
                claim["metadata"]["annotations"] = annotations.clone();
            }
            if retention["whenDeleted"] == "Delete" {
                claim["metadata"]["ownerReferences"] = json!([pods::controller_reference(set)]);
            }
            claim
        })
        .collect()
}
