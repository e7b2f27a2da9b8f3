//! Masks over what is encrypted, so that a build neither needs keys nor shows secrets.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};

use crate::kinds::text_at;
use crate::outcome::Failure;

/// What is shown in place of an encrypted value.
pub(crate) const MASK: &str = "**SOPS**";

/// The same where the value has to be a registry's configuration.
const MASK_JSON: &str = r#"{"mask":"**SOPS**"}"#;

/// Masks an object, if it is a Secret with something encrypted in it.
pub(super) fn encrypted(object: &mut Value) -> Result<(), Failure> {
    if text_at(object, "/kind") != "Secret" {
        return Ok(());
    }
    let mac = object.pointer("/sops/mac").and_then(Value::as_str).unwrap_or_default();
    let is_encrypted = mac.starts_with("ENC[");
    let is_registry = text_at(object, "/type") == "kubernetes.io/dockerconfigjson";
    if is_encrypted && let Some(fields) = object.as_object_mut() {
        fields.remove("sops");
    }
    let name = text_at(object, "/metadata/name").to_owned();
    for (field, encodes) in [("data", true), ("stringData", false)] {
        let Some(values) = object.get_mut(field).and_then(Value::as_object_mut) else { continue };
        if is_encrypted {
            let mask = if is_registry { MASK_JSON } else { MASK };
            let mask = if encodes { STANDARD.encode(mask) } else { mask.to_owned() };
            values.values_mut().for_each(|value| *value = mask.clone().into());
        } else {
            inside(values, encodes).map_err(|why| {
                Failure::flux(format!("failed to mask secret {name} sops data: {why}"))
            })?;
        }
    }
    Ok(())
}

/// Masks values that are encrypted documents themselves.
fn inside(values: &mut Map<String, Value>, encoded: bool) -> Result<(), String> {
    for value in values.values_mut() {
        let text = value.as_str().unwrap_or_default();
        let plain = if encoded {
            // Where it is broken is not said: the value is secret.
            STANDARD.decode(text).map_err(|_| "illegal base64 data".to_owned())?
        } else {
            text.as_bytes().to_vec()
        };
        let plain = String::from_utf8_lossy(&plain);
        if plain.contains("sops") && plain.contains("ENC[") {
            // Flux puts the encoded mask into both.
            *value = STANDARD.encode(MASK).into();
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::encrypted;

    #[test]
    fn encrypted_secrets_lose_their_values_and_their_metadata() {
        let mut secret = json!({
            "kind": "Secret", "metadata": {"name": "s"}, "data": {"a": "ENC[x]"},
            "stringData": {"b": "ENC[y]"}, "sops": {"mac": "ENC[z]"},
        });
        encrypted(&mut secret).expect("it is masked");
        assert_eq!(
            secret,
            json!({
                "kind": "Secret", "metadata": {"name": "s"}, "data": {"a": "KipTT1BTKio="},
                "stringData": {"b": "**SOPS**"},
            })
        );
    }

    #[test]
    fn other_objects_and_plain_values_are_left_alone() {
        for object in [
            json!({"kind": "ConfigMap", "data": {"a": "sops ENC["}}),
            json!({"kind": "Secret", "metadata": {"name": "s"}, "data": {"a": "YQ=="}}),
        ] {
            let mut masked = object.clone();
            encrypted(&mut masked).expect("there is nothing to mask");
            assert_eq!(masked, object);
        }
    }
}
