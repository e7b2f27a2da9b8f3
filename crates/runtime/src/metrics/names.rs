//! Everything that is counted or measured: what Flux's controllers call it, and what only we have.

use super::{Buckets, Kind, Metric};

const OBJECT: &[&str] = &["kind", "name", "namespace"];
const QUEUE: &[&str] = &["controller", "name"];

/// How long a pass over an object took, as Flux measures it.
pub static RECONCILE_DURATION: Metric = Metric {
    name: "gotk_reconcile_duration_seconds",
    help: "The duration in seconds of a GitOps Toolkit resource reconciliation.",
    kind: Kind::Histogram(Buckets::Reconciliation),
    labels: OBJECT,
};

/// Whether an object is suspended.
pub static SUSPENDED: Metric = Metric {
    name: "gotk_suspend_status",
    help: "The current suspend status of a GitOps Toolkit resource.",
    kind: Kind::Gauge,
    labels: OBJECT,
};

/// Passes by their result.
pub static RECONCILIATIONS: Metric = Metric {
    name: "controller_runtime_reconcile_total",
    help: "Total number of reconciliations per controller",
    kind: Kind::Counter,
    labels: &["controller", "result"],
};

/// Passes that failed.
pub static RECONCILE_ERRORS: Metric = Metric {
    name: "controller_runtime_reconcile_errors_total",
    help: "Total number of reconciliation errors per controller",
    kind: Kind::Counter,
    labels: &["controller"],
};

/// Passes that panicked.
pub static RECONCILE_PANICS: Metric = Metric {
    name: "controller_runtime_reconcile_panics_total",
    help: "Total number of reconciliation panics per controller",
    kind: Kind::Counter,
    labels: &["controller"],
};

/// How long passes took.
pub static RECONCILE_TIME: Metric = Metric {
    name: "controller_runtime_reconcile_time_seconds",
    help: "Length of time per reconciliation per controller",
    kind: Kind::Histogram(Buckets::Pass),
    labels: &["controller"],
};

/// How many passes may run at a time.
pub static MAX_CONCURRENT: Metric = Metric {
    name: "controller_runtime_max_concurrent_reconciles",
    help: "Maximum number of concurrent reconciles per controller",
    kind: Kind::Gauge,
    labels: &["controller"],
};

/// How many passes run now.
pub static ACTIVE_WORKERS: Metric = Metric {
    name: "controller_runtime_active_workers",
    help: "Number of currently used workers per controller",
    kind: Kind::Gauge,
    labels: &["controller"],
};

/// Keys that are due and wait.
pub static QUEUE_DEPTH: Metric = Metric {
    name: "workqueue_depth",
    help: "Current depth of workqueue by workqueue and priority",
    kind: Kind::Gauge,
    labels: &["controller", "name", "priority"],
};

/// Keys that were put into a queue.
pub static QUEUE_ADDS: Metric = Metric {
    name: "workqueue_adds_total",
    help: "Total number of adds handled by workqueue",
    kind: Kind::Counter,
    labels: QUEUE,
};

/// Keys that came back after a failure.
pub static QUEUE_RETRIES: Metric = Metric {
    name: "workqueue_retries_total",
    help: "Total number of retries handled by workqueue",
    kind: Kind::Counter,
    labels: QUEUE,
};

/// How long keys that were due waited.
pub static QUEUE_DURATION: Metric = Metric {
    name: "workqueue_queue_duration_seconds",
    help: "How long in seconds an item stays in workqueue before being requested",
    kind: Kind::Histogram(Buckets::Work),
    labels: QUEUE,
};

/// How long keys were worked on.
pub static WORK_DURATION: Metric = Metric {
    name: "workqueue_work_duration_seconds",
    help: "How long in seconds processing an item from workqueue takes.",
    kind: Kind::Histogram(Buckets::Work),
    labels: QUEUE,
};

/// Requests to the API server, by what came of them.
pub static API_REQUESTS: Metric = Metric {
    name: "rest_client_requests_total",
    help: "Number of HTTP requests, partitioned by status code, method, and host.",
    kind: Kind::Counter,
    labels: &["code", "host", "method"],
};

/// Whether this process holds a lease.
pub static LEADER: Metric = Metric {
    name: "leader_election_master_status",
    help: "Gauge of if the reporting system is master of the relevant lease, 0 indicates backup, 1 indicates master. 'name' is the string used to identify the lease. Please make sure to group by name.",
    kind: Kind::Gauge,
    labels: &["name"],
};

/// How long each phase of a pass took.
pub static PHASE_DURATION: Metric = Metric {
    name: "sluice_phase_duration_seconds",
    help: "How long the phases of a reconciliation took: fetch, build, apply, health.",
    kind: Kind::Histogram(Buckets::Pass),
    labels: &["kind", "phase"],
};

/// Passes that ended without success, by whose job it is to fix that.
pub static FAILURES: Metric = Metric {
    name: "sluice_reconcile_failures_total",
    help: "Reconciliations that ended without success: source, desired-state, policy, rbac, dependency, quota, health, transient.",
    kind: Kind::Counter,
    labels: &["class", "kind"],
};

/// How late passes began.
pub static LAG: Metric = Metric {
    name: "sluice_reconcile_lag_seconds",
    help: "How long after it was due, by its interval or an event, a reconciliation began.",
    kind: Kind::Histogram(Buckets::Pass),
    labels: &["controller"],
};

/// The size of the artifact that a source has.
pub static ARTIFACT_SIZE: Metric = Metric {
    name: "sluice_artifact_size_bytes",
    help: "The size of the current artifact of a source.",
    kind: Kind::Gauge,
    labels: OBJECT,
};

/// Requests that the API server put off.
pub static THROTTLED: Metric = Metric {
    name: "sluice_api_throttled_total",
    help: "Requests that the API server answered with 429 Too Many Requests.",
    kind: Kind::Counter,
    labels: &["host"],
};

/// What the network policy decided about connections.
pub static NETWORK_DECISIONS: Metric = Metric {
    name: "sluice_network_decisions_total",
    help: "Connections and requests that the network policy allowed or refused, by purpose and rule.",
    kind: Kind::Counter,
    labels: &["decision", "purpose", "rule"],
};
