//! The Deployments, and the Service of the artifact server.
//!
//! The first arguments are in the order of Flux's manifests, because installers patch them by index: events, namespaces,
//! log level, and the advertised address as the sixth.

use serde_json::{Value, json};

use super::plan::{Plan, Unit};

const ARTIFACTS: &str = "source-controller";
/// The default service account with `--lockdown`; it exists in every namespace, without rights.
const DEFAULT_ACCOUNT: &str = "default";

/// The Service in the URLs of artifacts, in every layout.
pub(super) fn services(plan: &Plan) -> Vec<Value> {
    let service = |unit: Unit<'_>| {
        let labels = plan.labels_and(&[
            ("app.kubernetes.io/component", ARTIFACTS),
            ("control-plane", "controller"),
        ]);
        json!({
            "apiVersion": "v1", "kind": "Service",
            "metadata": {"name": ARTIFACTS, "namespace": plan.namespace, "labels": labels},
            "spec": {
                "type": "ClusterIP",
                "selector": {"app": unit.name},
                "ports": [{"name": "http", "port": 80, "protocol": "TCP", "targetPort": "http"}],
            },
        })
    };
    plan.units().into_iter().filter(Unit::fetches).map(service).collect()
}

/// A Deployment for each unit.
pub(super) fn deployments(plan: &Plan) -> Vec<Value> {
    plan.units().iter().map(|unit| deployment(plan, unit)).collect()
}

fn deployment(plan: &Plan, unit: &Unit<'_>) -> Value {
    let component = ("app.kubernetes.io/component", unit.name);
    let mut spec = json!({
        "replicas": 1,
        "selector": {"matchLabels": {"app": unit.name}},
        "template": {
            "metadata": {
                "labels": plan.labels_and(&[component, ("app", unit.name)]),
                "annotations": {"prometheus.io/scrape": "true", "prometheus.io/port": "8080"},
            },
            "spec": pod(plan, unit),
        },
    });
    // Artifacts are on the pod's own disk: a second pod would not have them.
    if unit.fetches()
        && let Some(spec) = spec.as_object_mut()
    {
        spec.insert("strategy".to_owned(), json!({"type": "Recreate"}));
    }
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {
            "name": unit.name,
            "namespace": plan.namespace,
            "labels": plan.labels_and(&[component, ("control-plane", "controller")]),
        },
        "spec": spec,
    })
}

fn pod(plan: &Plan, unit: &Unit<'_>) -> Value {
    let mut volumes = vec![json!({"name": "tmp", "emptyDir": {}})];
    if unit.fetches() {
        volumes.insert(0, json!({"name": "data", "emptyDir": {}}));
    }
    let mut pod = json!({
        "serviceAccountName": unit.name,
        "priorityClassName": "system-cluster-critical",
        // Passes may continue for a while after the pod is asked to stop.
        "terminationGracePeriodSeconds": if unit.applies() { 60 } else { 10 },
        "nodeSelector": {"kubernetes.io/os": "linux"},
        "securityContext": {"fsGroup": 1337},
        "containers": [container(plan, unit)],
        "volumes": volumes,
    });
    if let Some(pod) = pod.as_object_mut() {
        if let Some(secret) = &plan.image_pull_secret {
            pod.insert("imagePullSecrets".to_owned(), json!([{"name": secret}]));
        }
        if !plan.toleration_keys.is_empty() {
            let toleration = |key: &String| json!({"key": key, "operator": "Exists"});
            let all = plan.toleration_keys.iter().map(toleration).collect();
            pod.insert("tolerations".to_owned(), all);
        }
    }
    pod
}

fn container(plan: &Plan, unit: &Unit<'_>) -> Value {
    let mut ports = vec![
        json!({"name": "http-prom", "containerPort": 8080, "protocol": "TCP"}),
        json!({"name": "healthz", "containerPort": 9440, "protocol": "TCP"}),
    ];
    let mut mounts = vec![json!({"name": "tmp", "mountPath": "/tmp"})];
    let mut ready = json!({"path": "/readyz", "port": "healthz"});
    if unit.fetches() {
        ports.insert(0, json!({"name": "http", "containerPort": 9090, "protocol": "TCP"}));
        mounts.insert(0, json!({"name": "data", "mountPath": "/data"}));
        // A pod is ready if it serves artifacts; of several replicas that is one.
        ready = json!({"path": "/", "port": "http"});
    }
    json!({
        "name": "manager",
        "image": plan.image,
        "imagePullPolicy": "IfNotPresent",
        "command": ["sluice", "serve"],
        "args": arguments(plan, unit),
        "env": [{
            "name": "RUNTIME_NAMESPACE",
            "valueFrom": {"fieldRef": {"fieldPath": "metadata.namespace"}},
        }],
        "ports": ports,
        "livenessProbe": {"httpGet": {"path": "/healthz", "port": "healthz"}},
        "readinessProbe": {"httpGet": ready},
        "resources": {
            "requests": {"cpu": if unit.applies() { "100m" } else { "50m" }, "memory": "64Mi"},
            "limits": {"cpu": "1000m", "memory": "1Gi"},
        },
        "securityContext": {
            "allowPrivilegeEscalation": false,
            "capabilities": {"drop": ["ALL"]},
            "readOnlyRootFilesystem": true,
            "runAsNonRoot": true,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "volumeMounts": mounts,
    })
}

/// The arguments of `sluice serve`.
pub(super) fn arguments(plan: &Plan, unit: &Unit<'_>) -> Vec<String> {
    let mut arguments = vec![
        format!("--events-addr={}", plan.events_addr),
        format!("--watch-all-namespaces={}", plan.watch_all_namespaces),
        format!("--log-level={}", plan.log_level),
        "--log-encoding=json".to_owned(),
        "--enable-leader-election".to_owned(),
    ];
    // The name of the Service is the same in every layout.
    let address = format!("{ARTIFACTS}.$(RUNTIME_NAMESPACE).svc.{}.", plan.cluster_domain);
    if unit.fetches() {
        arguments.push("--storage-path=/data".to_owned());
        arguments.push(format!("--storage-adv-addr={address}"));
    }
    let names: Vec<&str> = unit.controllers.iter().map(|controller| controller.name()).collect();
    arguments.push(format!("--controllers={}", names.join(",")));
    let mut gates = Vec::new();
    if unit.applies() && plan.watches_sources() {
        gates.push("ExternalArtifact=true");
        // Composed artifacts are served by the same server as all others.
        arguments.push(format!("--external-artifact-hosts={address}"));
    }
    if plan.workload_identity {
        gates.push("ObjectLevelWorkloadIdentity=true");
    }
    if !gates.is_empty() {
        arguments.push(format!("--feature-gates={}", gates.join(",")));
    }
    if plan.lockdown {
        arguments.push("--no-cross-namespace-refs=true".to_owned());
        if unit.applies() {
            arguments.push("--no-remote-bases=true".to_owned());
            arguments.push(format!("--default-service-account={DEFAULT_ACCOUNT}"));
        }
        let mut defaults = Vec::new();
        if plan.workload_identity && unit.applies() {
            defaults.push("--default-decryption-service-account");
            defaults.push("--default-kubeconfig-service-account");
        }
        if plan.workload_identity && unit.fetches() {
            defaults.push("--default-source-service-account");
        }
        arguments.extend(defaults.iter().map(|flag| format!("{flag}={DEFAULT_ACCOUNT}")));
    }
    arguments
}
