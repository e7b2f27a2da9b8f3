//! Security contexts of pods and containers.

use serde_json::Value;
use sluice_schema::field::{FieldError, Path};

use super::mounts::relative_path;
use crate::validation::{Errors, one_of_or_unset, range_message, required_text};
use crate::value::{at, flag, int, list, present, text, texts};

fn identifier(id: i64, path: &Path) -> Errors {
    let limit = i64::from(i32::MAX);
    if (0..=limit).contains(&id) {
        return Vec::new();
    }
    vec![FieldError::invalid(path, id, range_message(0, limit))]
}

fn identifiers(context: &Value, names: &[&str], path: &Path) -> Errors {
    names
        .iter()
        .filter_map(|name| Some((name, int(context, name)?)))
        .flat_map(|(name, id)| identifier(id, &path.child(name)))
        .collect()
}

/// Validates the pod-level context.
pub(super) fn pod_context(spec: &Value, path: &Path) -> Errors {
    let context = at(spec, "securityContext");
    let mut errors = identifiers(context, &["fsGroup", "runAsUser", "runAsGroup"], path);
    for (index, group) in list(context, "supplementalGroups").iter().enumerate() {
        let path = path.child("supplementalGroups").index(index);
        errors.extend(identifier(group.as_i64().unwrap_or_default(), &path));
    }
    if flag(spec, "shareProcessNamespace") && flag(spec, "hostPID") {
        errors.push(FieldError::invalid(
            &path.child("shareProcessNamespace"),
            true,
            "ShareProcessNamespace and HostPID cannot both be enabled",
        ));
    }
    errors.extend(system_controls(context, &path.child("sysctls")));
    errors.extend(one_of_or_unset(
        context,
        "fsGroupChangePolicy",
        &["Always", "OnRootMismatch"],
        path,
    ));
    errors.extend(seccomp(at(context, "seccompProfile"), &path.child("seccompProfile")));
    errors.extend(app_armor(at(context, "appArmorProfile"), &path.child("appArmorProfile")));
    errors.extend(one_of_or_unset(context, "supplementalGroupsPolicy", &["Merge", "Strict"], path));
    errors.extend(one_of_or_unset(
        context,
        "seLinuxChangePolicy",
        &["MountOption", "Recursive"],
        path,
    ));
    errors
}

fn system_controls(context: &Value, path: &Path) -> Errors {
    let mut errors = Vec::new();
    let mut seen = Vec::new();
    let segment = |part: &str| {
        let inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        let bytes = part.as_bytes();
        bytes.first().copied().is_some_and(inner)
            && bytes.last().copied().is_some_and(inner)
            && bytes.iter().all(|&byte| inner(byte) || byte == b'-' || byte == b'_')
    };
    for (index, control) in list(context, "sysctls").iter().enumerate() {
        let path = path.index(index).child("name");
        let name = text(control, "name");
        if name.is_empty() {
            errors.push(FieldError::required(&path, ""));
        } else if name.len() > 253 || !name.split(['.', '/']).all(segment) {
            errors.push(FieldError::invalid(
                &path,
                name,
                "must have at most 253 characters and match regex ^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$",
            ));
        } else if seen.contains(&name) {
            errors.push(FieldError::duplicate(&path, name));
        }
        seen.push(name);
    }
    errors
}

fn seccomp(profile: &Value, path: &Path) -> Errors {
    if profile.is_null() {
        return Vec::new();
    }
    let mut errors = profile_type(profile, "seccompProfile", path);
    if text(profile, "type") == "Localhost" {
        if present(profile, "localhostProfile") {
            errors.extend(relative_path(
                text(profile, "localhostProfile"),
                &path.child("localhostProfile"),
            ));
        } else {
            let detail = "must be set when seccomp type is Localhost";
            errors.push(FieldError::required(&path.child("localhostProfile"), detail));
        }
    } else if present(profile, "localhostProfile") {
        let printed = format!(
            "{{\"Type\":\"{}\",\"LocalhostProfile\":\"{}\"}}",
            text(profile, "type"),
            text(profile, "localhostProfile")
        );
        errors.push(crate::validation::invalid_raw(
            &path.child("localhostProfile"),
            &printed,
            "can only be set when seccomp type is Localhost",
        ));
    }
    errors
}

fn profile_type(profile: &Value, field: &str, path: &Path) -> Errors {
    let allowed = ["Localhost", "RuntimeDefault", "Unconfined"];
    let mut errors = required_text(profile, "type", path);
    if errors.is_empty() {
        return one_of_or_unset(profile, "type", &allowed, path);
    }
    for error in &mut errors {
        error.detail = format!("type is required when {field} is set");
    }
    errors
}

fn app_armor(profile: &Value, path: &Path) -> Errors {
    if profile.is_null() {
        return Vec::new();
    }
    let place = path.child("localhostProfile");
    let name = at(profile, "localhostProfile").as_str();
    match text(profile, "type") {
        "Localhost" => match name {
            Some(name) if name.trim() != name => {
                vec![FieldError::invalid(&place, name, "must not be padded with whitespace")]
            }
            Some(name) if name.len() > 4095 => vec![FieldError::too_long(&place, 4095)],
            None | Some("") => {
                vec![FieldError::required(&place, "must be set when AppArmor type is Localhost")]
            }
            Some(_) => Vec::new(),
        },
        "RuntimeDefault" | "Unconfined" => name.map_or_else(Vec::new, |name| {
            let detail = "can only be set when AppArmor type is Localhost";
            vec![FieldError::invalid(&place, name, detail)]
        }),
        _ => profile_type(profile, "appArmorProfile", path),
    }
}

/// Validates the context of one container.
pub(super) fn container_context(context: &Value, host_users: bool, path: &Path) -> Errors {
    if context.is_null() {
        return Vec::new();
    }
    let mut errors = identifiers(context, &["runAsUser", "runAsGroup"], path);
    errors.extend(one_of_or_unset(context, "procMount", &["Default", "Unmasked"], path));
    if host_users && text(context, "procMount") == "Unmasked" {
        errors.push(FieldError::invalid(
            &path.child("procMount"),
            "Unmasked",
            "`hostUsers` must be false to use `Unmasked`",
        ));
    }
    errors.extend(seccomp(at(context, "seccompProfile"), &path.child("seccompProfile")));
    if at(context, "allowPrivilegeEscalation").as_bool() == Some(false) {
        let mut conflict = |with: &str| {
            let detail = format!("cannot set `allowPrivilegeEscalation` to false and {with}");
            let printed = super::super::internal::print("SecurityContext", context);
            errors.push(crate::validation::invalid_raw(path, &printed, &detail));
        };
        if flag(context, "privileged") {
            conflict("`privileged` to true");
        }
        if texts(context, "capabilities.add").contains(&"CAP_SYS_ADMIN") {
            conflict("`capabilities.Add` CAP_SYS_ADMIN");
        }
    }
    errors.extend(app_armor(at(context, "appArmorProfile"), &path.child("appArmorProfile")));
    errors
}
