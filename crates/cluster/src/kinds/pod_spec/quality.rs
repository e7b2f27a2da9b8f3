//! The QoS class, from requests and limits.

use serde_json::Value;

use crate::validation::quantity;
use crate::value::{entries, list};

/// `Guaranteed`, `Burstable` or `BestEffort`.
pub(crate) fn quality_of_service(spec: &Value) -> &'static str {
    let pod = spec.get("resources").filter(|resources| !resources.is_null());
    let holders: Vec<&Value> = match pod {
        Some(resources) => vec![resources],
        None => ["containers", "initContainers"]
            .iter()
            .flat_map(|field| list(spec, field))
            .filter_map(|container| container.get("resources"))
            .collect(),
    };
    let containers = if pod.is_some() {
        1
    } else {
        list(spec, "containers").len() + list(spec, "initContainers").len()
    };
    let amount = |holder: &Value, list: &str, name: &str| {
        entries(holder, list).get(name).and_then(quantity::nanos).filter(|nanos| *nanos > 0)
    };
    let mut best_effort = true;
    let mut guaranteed = holders.len() == containers;
    for holder in holders {
        for name in ["cpu", "memory"] {
            let request = amount(holder, "requests", name);
            let limit = amount(holder, "limits", name);
            best_effort &= request.is_none() && limit.is_none();
            guaranteed &= limit.is_some() && (request.is_none() || request == limit);
        }
    }
    if best_effort {
        "BestEffort"
    } else if guaranteed {
        "Guaranteed"
    } else {
        "Burstable"
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_class_follows_from_requests_and_limits() {
        let both = json!({"cpu": "1", "memory": "1Gi"});
        let cases = [
            (json!({}), "BestEffort"),
            (json!({"requests": {"cpu": "100m"}}), "Burstable"),
            (json!({"requests": both, "limits": both}), "Guaranteed"),
            (json!({"limits": {"cpu": "1"}, "requests": {"cpu": "1"}}), "Burstable"),
        ];
        for (resources, expected) in cases {
            let spec = json!({"containers": [{"resources": resources}]});
            assert_eq!(quality_of_service(&spec), expected, "{spec}");
        }
    }
}
