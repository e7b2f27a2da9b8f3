//! Flux's normalisation of objects before applying, so that the dry run's result can be compared.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use sluice_schema::gotypes::Types;

use crate::failure::Failure;
use crate::object::{ObjectKey, split_api_version};
use sluice_runtime::class::ErrorClass;

/// Normalises an object for applying: through its Go type if it is a built-in kind, with the protocol of ports
/// and the data of Secrets filled in, without a status.
pub fn normalise(object: &mut Value) {
    let api_version = object.get("apiVersion").and_then(Value::as_str).unwrap_or_default();
    let kind = object.get("kind").and_then(Value::as_str).unwrap_or_default();
    // Flux skips roles, because their Go type loses rules that are null.
    if api_version == "rbac.authorization.k8s.io/v1" && matches!(kind, "Role" | "ClusterRole") {
        return;
    }
    if has_client_type(api_version, kind) {
        let (api_version, kind) = (api_version.to_owned(), kind.to_owned());
        if let Ok(decoded) = Types::recorded().restore(&api_version, &kind, object.clone()) {
            *object = decoded.value;
            spell_out(&api_version, &kind, object);
        }
    }
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.insert("creationTimestamp".to_owned(), Value::Null);
    }
    if !is_definition(object)
        && let Some(fields) = object.as_object_mut()
    {
        fields.remove("status");
    }
}

/// Whether Flux's Go client knows the type. It does not know CRDs and APIServices.
fn has_client_type(api_version: &str, kind: &str) -> bool {
    let (group, _) = split_api_version(api_version);
    !matches!(group, "apiextensions.k8s.io" | "apiregistration.k8s.io")
        && Types::recorded().knows(api_version, kind)
}

fn spell_out(api_version: &str, kind: &str, object: &mut Value) {
    let pod_spec = match (api_version, kind) {
        ("v1", "Pod") => "/spec",
        ("apps/v1", "Deployment" | "StatefulSet" | "DaemonSet" | "ReplicaSet")
        | ("batch/v1", "Job") => "/spec/template/spec",
        ("batch/v1", "CronJob") => "/spec/jobTemplate/spec/template/spec",
        ("v1", "Service") => {
            return default_protocol(object.pointer_mut("/spec/ports"));
        }
        ("v1", "Secret") => return merge_string_data(object),
        _ => return,
    };
    let containers = object
        .pointer_mut(&format!("{pod_spec}/containers"))
        .and_then(Value::as_array_mut)
        .into_iter()
        .flatten();
    for container in containers {
        default_protocol(container.get_mut("ports"));
    }
}

fn default_protocol(ports: Option<&mut Value>) {
    for port in ports.and_then(Value::as_array_mut).into_iter().flatten() {
        if let Some(port) = port.as_object_mut()
            && port.get("protocol").and_then(Value::as_str).unwrap_or_default().is_empty()
        {
            port.insert("protocol".to_owned(), Value::from("TCP"));
        }
    }
}

fn merge_string_data(secret: &mut Value) {
    let Some(fields) = secret.as_object_mut() else { return };
    let Some(Value::Object(plain)) = fields.remove("stringData") else { return };
    if plain.is_empty() {
        return;
    }
    let data = fields.entry("data").or_insert_with(|| Value::Object(serde_json::Map::new()));
    if !data.is_object() {
        *data = Value::Object(serde_json::Map::new());
    }
    for (key, value) in plain {
        let text = value.as_str().unwrap_or_default();
        data[key] = Value::from(STANDARD.encode(text));
    }
}

/// Whether an object is a CustomResourceDefinition.
pub(crate) fn is_definition(object: &Value) -> bool {
    let key = ObjectKey::of(object);
    key.id.group == "apiextensions.k8s.io"
        && key.id.kind.eq_ignore_ascii_case("customresourcedefinition")
}

/// Whether an object is a Secret.
pub(crate) fn is_secret(object: &Value) -> bool {
    let key = ObjectKey::of(object);
    key.id.group.is_empty() && key.version == "v1" && key.id.kind.eq_ignore_ascii_case("secret")
}

/// Removes invalid CA certificates from a CRD's conversion webhook: the server rejects them, and the program
/// that injects them will do so again.
pub(crate) fn drop_invalid_bundle(object: &mut Value) {
    const BUNDLE: &str = "/spec/conversion/webhook/clientConfig";
    if !is_definition(object) {
        return;
    }
    let Some(config) = object.pointer_mut(BUNDLE).and_then(Value::as_object_mut) else { return };
    let Some(bundle) = config.get("caBundle").and_then(Value::as_str) else { return };
    let valid = bundle.is_empty() || STANDARD.decode(bundle).is_ok_and(|pem| has_certificate(&pem));
    if !valid {
        config.remove("caBundle");
    }
}

/// Whether a PEM text has at least one certificate.
fn has_certificate(pem: &[u8]) -> bool {
    const BEGIN: &str = "-----BEGIN CERTIFICATE-----";
    const END: &str = "-----END CERTIFICATE-----";
    let text = String::from_utf8_lossy(pem);
    text.split(BEGIN).skip(1).any(|block| {
        let Some((body, _)) = block.split_once(END) else { return false };
        let body: String = body.split_whitespace().collect();
        // A certificate is a DER sequence; the server checks the rest.
        STANDARD.decode(body).is_ok_and(|der| der.first() == Some(&0x30) && der.len() > 64)
    })
}

/// The failure of a Secret that is still encrypted: it must not reach the cluster.
pub fn still_encrypted(object: &Value) -> Option<Failure> {
    const DECRYPT: (&str, &str) = ("kustomize.toolkit.fluxcd.io/decrypt", "disabled");
    let is_encrypted = object.pointer("/sops/mac").is_some();
    let opted_out = object
        .pointer("/metadata/annotations")
        .and_then(|annotations| annotations.get(DECRYPT.0))
        .and_then(Value::as_str)
        .is_some_and(|value| value.eq_ignore_ascii_case(DECRYPT.1));
    if !is_secret(object) || !is_encrypted || opted_out {
        return None;
    }
    let key = ObjectKey::of(object);
    Some(Failure {
        message: format!(
            "{key} is SOPS encrypted, configuring decryption is required for this secret to be \
             reconciled"
        ),
        object: Some(key),
        class: ErrorClass::DesiredState,
        place: None,
    })
}

#[cfg(test)]
mod tests;
