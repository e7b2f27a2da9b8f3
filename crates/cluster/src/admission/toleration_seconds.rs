//! DefaultTolerationSeconds: pods tolerate an unreachable or unready node for five minutes.

use serde_json::{Value, json};

const SECONDS: i64 = 300;

pub(super) fn admit(pod: &mut Value) {
    let mut tolerations = pod["spec"]["tolerations"].as_array().cloned().unwrap_or_default();
    let before = tolerations.len();
    for key in ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"] {
        let tolerated = tolerations.iter().any(|toleration| {
            let (its_key, effect) = (
                toleration["key"].as_str().unwrap_or(""),
                toleration["effect"].as_str().unwrap_or(""),
            );
            (its_key == key || its_key.is_empty()) && (effect == "NoExecute" || effect.is_empty())
        });
        if !tolerated {
            tolerations.push(json!({
                "key": key, "operator": "Exists", "effect": "NoExecute",
                "tolerationSeconds": SECONDS,
            }));
        }
    }
    if tolerations.len() != before {
        pod["spec"]["tolerations"] = tolerations.into();
    }
}
