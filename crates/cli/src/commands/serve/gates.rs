//! Feature gates: Flux's names and defaults, and their meaning here.

use sluice_controllers::context::Settings;

use crate::outcome::Failure;

/// A gate of Flux 2.9: its name, its default, and its setting; `None` if it has no effect here.
struct Gate {
    name: &'static str,
    default: bool,
    set: Option<fn(&mut Settings, bool)>,
}

const GATES: [Gate; 12] = [
    gate("AdditiveCELDependencyCheck", false, |it, on| it.additive_cel_dependency_check = on),
    gate("DisableFailFastBehavior", false, |it, on| it.fail_fast = !on),
    gate("ExternalArtifact", false, |it, on| it.external_artifacts = on),
    gate("StrictPostBuildSubstitutions", true, |it, on| it.strict_substitutions = on),
    // Only metadata of ConfigMaps and Secrets is watched; they are read when needed.
    idle("CacheSecretsAndConfigMaps", false),
    // A new revision always cancels the wait for the old one.
    idle("CancelHealthCheckOnNewRevision", false),
    // Sources are watched, so their changes are known as soon as a direct read would show them.
    idle("DirectSourceFetch", false),
    idle("DisableConfigWatchers", false),
    // There is no polling: health is watched.
    idle("DisableStatusPollerCache", true),
    idle("GroupChangeLog", false),
    idle("MigrateAPIVersion", false),
    gate("ObjectLevelWorkloadIdentity", false, |it, on| it.object_level_workload_identity = on),
];

const fn gate(name: &'static str, default: bool, set: fn(&mut Settings, bool)) -> Gate {
    Gate { name, default, set: Some(set) }
}

const fn idle(name: &'static str, default: bool) -> Gate {
    Gate { name, default, set: None }
}

/// Applies gates, written as `Name=true`; returns changed ones without effect.
pub(super) fn apply(
    given: &[String],
    settings: &mut Settings,
) -> Result<Vec<&'static str>, Failure> {
    for gate in &GATES {
        if let Some(set) = gate.set {
            set(settings, gate.default);
        }
    }
    let mut without_effect = Vec::new();
    for text in given.iter().map(|text| text.trim()).filter(|text| !text.is_empty()) {
        let (name, value) = text.split_once('=').unwrap_or((text, ""));
        let on: bool = value.trim().parse().map_err(|_| {
            Failure::new(format!("feature gate {text:?} is neither true nor false"))
                .hint("write it as Name=true or Name=false")
        })?;
        let Some(gate) = GATES.iter().find(|gate| gate.name == name.trim()) else {
            let known: Vec<&str> = GATES.iter().map(|gate| gate.name).collect();
            return Err(Failure::new(format!("feature-gate '{}' not supported", name.trim()))
                .hint(format!("choose among {}", known.join(", "))));
        };
        match gate.set {
            Some(set) => set(settings, on),
            None if on != gate.default => without_effect.push(gate.name),
            None => {}
        }
    }
    Ok(without_effect)
}

#[cfg(test)]
mod tests {
    use sluice_controllers::context::Settings;

    use super::apply;

    #[test]
    fn gates_have_fluxs_names_and_defaults() {
        let mut settings = Settings::default();
        let defaults = settings.clone();
        assert!(apply(&[], &mut settings).unwrap().is_empty());
        assert_eq!(format!("{settings:?}"), format!("{defaults:?}"));
        let given = [
            "StrictPostBuildSubstitutions=false",
            " DisableFailFastBehavior=true",
            "GroupChangeLog=true",
        ];
        let given = given.map(str::to_owned);
        assert_eq!(apply(&given, &mut settings).unwrap(), ["GroupChangeLog"]);
        assert!(!settings.strict_substitutions && !settings.fail_fast);
        assert!(apply(&["Nothing=true".to_owned()], &mut settings).is_err());
        assert!(apply(&["GroupChangeLog=maybe".to_owned()], &mut settings).is_err());
    }
}
