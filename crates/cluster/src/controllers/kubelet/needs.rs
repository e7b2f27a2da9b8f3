//! ConfigMaps and Secrets that a pod needs to start.

use serde_json::Value;

use crate::controllers::Key;
use crate::controllers::control::Control;
use crate::{metadata, value};

/// Why a volume of the pod cannot be mounted.
pub(super) fn missing_volume(control: &Control, pod: &Value) -> Option<String> {
    let namespace = metadata::namespace(pod);
    value::list(pod, "spec.volumes").iter().find_map(|volume| {
        let sources = value::list(volume, "projected.sources").iter();
        let lack = [volume].into_iter().chain(sources).find_map(|source| {
            let map = &source["configMap"];
            let secret = &source["secret"];
            let secret_name = match value::text(secret, "secretName") {
                "" => value::text(secret, "name"),
                name => name,
            };
            absent(control, "configmaps", namespace, value::text(map, "name"), map)
                .or_else(|| absent(control, "secrets", namespace, secret_name, secret))
        })?;
        let name = value::text(volume, "name");
        Some(format!("MountVolume.SetUp failed for volume \"{name}\" : {lack}"))
    })
}

/// Why the environment of a container cannot be built.
pub(super) fn missing_environment(
    control: &Control,
    pod: &Value,
    container: &Value,
) -> Option<String> {
    let namespace = metadata::namespace(pod);
    let whole = value::list(container, "envFrom").iter().find_map(|source| {
        let (map, secret) = (&source["configMapRef"], &source["secretRef"]);
        absent(control, "configmaps", namespace, value::text(map, "name"), map)
            .or_else(|| absent(control, "secrets", namespace, value::text(secret, "name"), secret))
    });
    whole.or_else(|| {
        value::list(container, "env").iter().find_map(|variable| {
            let map = value::at(variable, "valueFrom.configMapKeyRef");
            let secret = value::at(variable, "valueFrom.secretKeyRef");
            absent_key(control, "configmaps", "ConfigMap", namespace, map)
                .or_else(|| absent_key(control, "secrets", "Secret", namespace, secret))
        })
    })
}

fn absent(
    control: &Control,
    plural: &str,
    namespace: &str,
    name: &str,
    reference: &Value,
) -> Option<String> {
    if reference.is_null() || value::flag(reference, "optional") {
        return None;
    }
    let found = control.object(&Key::new("", plural, namespace, name));
    let singular = plural.trim_end_matches('s');
    found.is_none().then(|| format!("{singular} \"{name}\" not found"))
}

fn absent_key(
    control: &Control,
    plural: &str,
    kind: &str,
    namespace: &str,
    reference: &Value,
) -> Option<String> {
    let name = value::text(reference, "name");
    let lack = absent(control, plural, namespace, name, reference);
    if lack.is_some() || reference.is_null() || value::flag(reference, "optional") {
        return lack;
    }
    let object = control.object(&Key::new("", plural, namespace, name))?;
    let key = value::text(reference, "key");
    let there = object["data"].get(key).or_else(|| object["binaryData"].get(key)).is_some();
    (!there).then(|| format!("couldn't find key {key} in {kind} {namespace}/{name}"))
}
