//! What the Flux objects of a directory need from the cluster.

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::{ConfigMap, Secret, ServiceAccount};
use kube::discovery::ApiResource;
use serde_json::Value;

use super::inputs::{Inputs, called};
use crate::commands::check::findings::{Area, Findings, Verdict};
use crate::kinds::{condition, named, text_at};
use crate::session::Session;

/// Checks that the declared kinds are installed.
pub(super) async fn definitions(session: &Session, inputs: &Inputs, findings: &mut Findings) {
    let kinds: BTreeSet<&str> =
        inputs.declared.iter().map(|object| text_at(object, "/kind")).collect();
    for name in kinds {
        let Some(kind) = named(name) else { continue };
        let listed = session.list(kind, false, &kube::api::ListParams::default().limit(1)).await;
        match listed {
            Err(failure) => {
                findings.add(Area::Definition, name, Verdict::Bad, &failure.to_string());
            }
            Ok(_) => findings.add(Area::Definition, name, Verdict::Good, "served"),
        }
    }
}

/// Checks that the sources exist and have artifacts.
pub(super) async fn sources(session: &Session, inputs: &Inputs, findings: &mut Findings) {
    let mut wanted: BTreeSet<(String, String, String)> = BTreeSet::new();
    for object in inputs.kustomizations() {
        let reference = |field: &str| text_at(object, &format!("/spec/sourceRef/{field}"));
        let own = text_at(object, "/metadata/namespace");
        let namespace =
            if reference("namespace").is_empty() { own } else { reference("namespace") };
        let parts = [reference("kind"), namespace, reference("name")];
        let [kind, namespace, name] = parts.map(str::to_owned);
        wanted.insert((kind, namespace, name));
    }
    for (kind, namespace, name) in wanted {
        let object = format!("{kind}/{namespace}/{name}");
        let Some(known) = named(&kind) else {
            findings.add(Area::Source, &object, Verdict::Bad, "not a kind of source");
            continue;
        };
        match session.get(known, &namespace, &name).await {
            Ok(found) => {
                let (verdict, message) = fetched(&found);
                findings.add(Area::Source, &object, verdict, &message);
            }
            Err(failure) if failure.is_not_found() && inputs.declares(&kind, &namespace, &name) => {
                let message = "declared here, not yet in the cluster";
                findings.add(Area::Source, &object, Verdict::Bad, message);
            }
            Err(failure) => findings.add(Area::Source, &object, Verdict::Bad, &failure.to_string()),
        }
    }
}

fn fetched(source: &Value) -> (Verdict, String) {
    let revision = text_at(source, "/status/artifact/revision");
    let ready = condition(source, "Ready");
    let says = ready.map_or("not yet reconciled", |ready| text_at(ready, "/message"));
    match ready.map(|ready| text_at(ready, "/status")) {
        Some("True") if !revision.is_empty() => (Verdict::Good, revision.to_owned()),
        _ => (Verdict::Bad, says.to_owned()),
    }
}

/// An object that a Flux object requires.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Need {
    kind: &'static str,
    namespace: String,
    name: String,
    by: String,
    what_for: &'static str,
}

/// Checks that the required ConfigMaps, Secrets and service accounts exist.
pub(super) async fn config(session: &Session, inputs: &Inputs, findings: &mut Findings) {
    let needs: BTreeSet<Need> =
        inputs.kustomizations().chain(inputs.sources()).flat_map(needs_of).collect();
    for need in needs {
        let object = format!("{}/{}/{}", need.kind, need.namespace, need.name);
        let resource = match need.kind {
            "ConfigMap" => ApiResource::erase::<ConfigMap>(&()),
            "Secret" => ApiResource::erase::<Secret>(&()),
            _ => ApiResource::erase::<ServiceAccount>(&()),
        };
        let found = session.get_resource(&resource, Some(&need.namespace), &need.name).await;
        let purpose = format!("{} of {}", need.what_for, need.by);
        match found {
            Ok(_) => findings.add(Area::Config, &object, Verdict::Good, &purpose),
            Err(_) if inputs.declares(need.kind, &need.namespace, &need.name) => {
                let message = format!("{purpose}; declared here");
                findings.add(Area::Config, &object, Verdict::Good, &message);
            }
            Err(failure) => {
                let message = format!("{purpose}: {failure}");
                findings.add(Area::Config, &object, Verdict::Bad, &message);
            }
        }
    }
    for (kustomization, error) in &inputs.unbuilt {
        findings.add(Area::Config, kustomization, Verdict::Bad, error);
    }
}

fn needs_of(object: &Value) -> Vec<Need> {
    let mut needs = Vec::new();
    let mut need = |kind: &'static str, name: &str, what_for: &'static str| {
        if !name.is_empty() {
            needs.push(Need {
                kind,
                namespace: text_at(object, "/metadata/namespace").to_owned(),
                name: name.to_owned(),
                by: called(object),
                what_for,
            });
        }
    };
    for (pointer, what_for) in [
        ("/spec/secretRef/name", "credentials"),
        ("/spec/certSecretRef/name", "certificates"),
        ("/spec/proxySecretRef/name", "proxy"),
        ("/spec/verify/secretRef/name", "trusted keys"),
        ("/spec/decryption/secretRef/name", "decryption"),
        ("/spec/kubeConfig/secretRef/name", "remote cluster"),
    ] {
        need("Secret", text_at(object, pointer), what_for);
    }
    need("ConfigMap", text_at(object, "/spec/kubeConfig/configMapRef/name"), "remote cluster");
    need("ServiceAccount", text_at(object, "/spec/serviceAccountName"), "account");
    let variables = object.pointer("/spec/postBuild/substituteFrom").and_then(Value::as_array);
    for reference in variables.into_iter().flatten() {
        let is_optional = reference.get("optional").and_then(Value::as_bool).unwrap_or(false);
        let kind = match text_at(reference, "/kind") {
            "Secret" => "Secret",
            _ => "ConfigMap",
        };
        if !is_optional {
            need(kind, text_at(reference, "/name"), "variables");
        }
    }
    needs
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::needs_of;

    #[test]
    fn what_is_optional_is_not_needed() {
        let object = json!({
            "kind": "Kustomization",
            "metadata": {"name": "apps", "namespace": "flux-system"},
            "spec": {
                "serviceAccountName": "deployer",
                "decryption": {"secretRef": {"name": "age"}},
                "postBuild": {"substituteFrom": [
                    {"kind": "ConfigMap", "name": "settings"},
                    {"kind": "Secret", "name": "extras", "optional": true},
                ]},
            },
        });
        let needs: Vec<String> =
            needs_of(&object).iter().map(|need| format!("{} {}", need.kind, need.name)).collect();
        assert_eq!(needs, ["Secret age", "ServiceAccount deployer", "ConfigMap settings"]);
    }
}
