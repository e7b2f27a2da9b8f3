//! ServiceAccount: a pod gets a service account, and its containers get that account's token.

use serde_json::{Value, json};
use sluice_base::go::quote;

use crate::kind::ClusterView as _;
use crate::metadata;
use crate::status::Status;
use crate::write::Writer;

const MOUNT_PATH: &str = "/var/run/secrets/kubernetes.io/serviceaccount";
/// An hour and 7 seconds: this value marks tokens for projected volumes.
const TOKEN_SECONDS: i64 = 3607;

pub(super) fn admit(writer: &Writer<'_>, pod: &mut Value) -> Result<(), Status> {
    // Mirror pods have no service account.
    if metadata::entry(pod, "annotations", "kubernetes.io/config.mirror").is_some() {
        return Ok(());
    }
    if pod["spec"]["serviceAccountName"].as_str().unwrap_or_default().is_empty() {
        pod["spec"]["serviceAccountName"] = "default".into();
    }
    let account_name = pod["spec"]["serviceAccountName"].as_str().unwrap_or_default().to_owned();
    pod["spec"]["serviceAccount"] = account_name.as_str().into();
    let namespace = writer.namespace;
    let Some(account) = writer.state.get("", "serviceaccounts", namespace, &account_name) else {
        let why = format!(
            "error looking up service account {namespace}/{account_name}: serviceaccount {} not found",
            quote(&account_name)
        );
        return Err(Status::forbidden("", "pods", metadata::name(pod), &why));
    };
    let mounts = pod["spec"]["automountServiceAccountToken"]
        .as_bool()
        .or_else(|| account["automountServiceAccountToken"].as_bool())
        .unwrap_or(true);
    if mounts {
        mount_token(writer, pod);
    }
    let has_secrets =
        pod["spec"]["imagePullSecrets"].as_array().is_some_and(|secrets| !secrets.is_empty());
    if !has_secrets && account["imagePullSecrets"].is_array() {
        pod["spec"]["imagePullSecrets"] = account["imagePullSecrets"].clone();
    }
    Ok(())
}

fn mount_token(writer: &Writer<'_>, pod: &mut Value) {
    let known = pod["spec"]["volumes"].as_array().into_iter().flatten().find_map(|volume| {
        let name = volume["name"].as_str()?;
        name.starts_with("kube-api-access-").then(|| name.to_owned())
    });
    let volume = known
        .clone()
        .unwrap_or_else(|| format!("kube-api-access-{}", writer.state.random.suffix()));
    let mut mounted = false;
    for list in ["initContainers", "containers"] {
        for container in pod["spec"][list].as_array_mut().into_iter().flatten() {
            let mut mounts = container["volumeMounts"].as_array().cloned().unwrap_or_default();
            if mounts.iter().any(|mount| mount["mountPath"] == MOUNT_PATH) {
                continue;
            }
            mounts.push(json!({"name": volume, "readOnly": true, "mountPath": MOUNT_PATH}));
            container["volumeMounts"] = mounts.into();
            mounted = true;
        }
    }
    if !mounted || known.is_some() {
        return;
    }
    let mut volumes = pod["spec"]["volumes"].as_array().cloned().unwrap_or_default();
    volumes.push(json!({
        "name": volume,
        "projected": {
            "defaultMode": 0o644,
            "sources": [
                {"serviceAccountToken": {"expirationSeconds": TOKEN_SECONDS, "path": "token"}},
                {"configMap": {
                    "name": "kube-root-ca.crt",
                    "items": [{"key": "ca.crt", "path": "ca.crt"}],
                }},
                {"downwardAPI": {"items": [{
                    "path": "namespace",
                    "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"},
                }]}},
            ],
        },
    }));
    pod["spec"]["volumes"] = volumes.into();
}
