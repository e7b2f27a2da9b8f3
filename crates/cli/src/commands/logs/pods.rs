//! The pods with logs: one of each of Flux's deployments.

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Pod;
use kube::api::{Api, ListParams};

use crate::commands::version::PART_OF_FLUX;
use crate::outcome::Failure;
use crate::session::Session;

/// A pod, for reading its log.
pub(super) struct Chosen {
    pub(super) name: String,
    pub(super) containers: usize,
}

/// The pods of Flux in a namespace.
pub(super) async fn of_flux(session: &Session, namespace: &str) -> Result<Vec<Chosen>, Failure> {
    let failed = |error: kube::Error| match error {
        kube::Error::Api(status) => Failure::flux(status.message),
        other => Failure::flux(other.to_string()),
    };
    let deployments: Api<Deployment> = Api::namespaced(session.client.clone(), namespace);
    let pods: Api<Pod> = Api::namespaced(session.client.clone(), namespace);
    let listed = deployments.list(&ListParams::default().labels(PART_OF_FLUX)).await;
    let mut chosen = Vec::new();
    for deployment in listed.map_err(failed)? {
        let template = deployment.spec.and_then(|spec| spec.template.metadata);
        let labels = template.and_then(|metadata| metadata.labels).unwrap_or_default();
        let labels: Vec<String> =
            labels.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let listed = pods.list(&ListParams::default().labels(&labels.join(","))).await;
        let best = listed.map_err(failed)?.items.into_iter().min_by_key(rank);
        chosen.extend(best.map(|pod| Chosen {
            name: pod.metadata.name.unwrap_or_default(),
            containers: pod.spec.map_or(0, |spec| spec.containers.len()),
        }));
    }
    if chosen.is_empty() {
        return Err(Failure::flux(format!("no Flux pods found in namespace {namespace:?}")));
    }
    Ok(chosen)
}

/// The pod that kubectl would choose: on a node, running, ready, for the longest time, with the most restarts, the
/// oldest.
fn rank(pod: &Pod) -> impl Ord + use<> {
    let status = pod.status.as_ref();
    let on_node = pod.spec.as_ref().is_some_and(|spec| spec.node_name.is_some());
    let phase = match status.and_then(|status| status.phase.as_deref()) {
        Some("Running") => 0,
        Some("Unknown") => 1,
        Some("Pending") => 2,
        _ => 3,
    };
    let conditions = status.and_then(|status| status.conditions.as_ref());
    let ready =
        conditions.into_iter().flatten().find(|one| one.type_ == "Ready" && one.status == "True");
    let since = ready.and_then(|one| one.last_transition_time.as_ref()).map(|time| time.0);
    let containers = status.and_then(|status| status.container_statuses.as_ref());
    let restarts = containers.into_iter().flatten().map(|one| one.restart_count).max();
    let created = pod.metadata.creation_timestamp.as_ref().map(|time| time.0);
    (
        !on_node,
        phase,
        ready.is_none(),
        (since.is_none(), since),
        std::cmp::Reverse(restarts),
        (created.is_none(), created),
    )
}
