//! Probes and lifecycle handlers.

use serde_json::Value;
use sluice_schema::field::{FieldError, Path};

use crate::validation::{
    Errors, named, names, non_negative_fields, one_of_or_unset, port_number, required_text,
};
use crate::value::{at, int, list, number, present, text};

/// Validates the three probes of a container.
pub(super) fn probes(container: &Value, grace: Option<i64>, path: &Path) -> Errors {
    let mut errors = Vec::new();
    for name in ["livenessProbe", "readinessProbe", "startupProbe"] {
        let probe = at(container, name);
        if probe.is_null() {
            continue;
        }
        let path = path.child(name);
        errors.extend(probe_itself(probe, grace, &path));
        let grace_path = path.child("terminationGracePeriodSeconds");
        if name == "readinessProbe" {
            if let Some(seconds) = int(probe, "terminationGracePeriodSeconds") {
                let detail = "must not be set for readinessProbes";
                errors.push(FieldError::invalid(&grace_path, seconds, detail));
            }
        } else if number(probe, "successThreshold") != 1 {
            errors.push(FieldError::invalid(
                &path.child("successThreshold"),
                number(probe, "successThreshold"),
                "must be 1",
            ));
        }
    }
    errors
}

fn probe_itself(probe: &Value, grace: Option<i64>, path: &Path) -> Errors {
    let mut errors = handler(probe, grace, path);
    errors.extend(non_negative_fields(
        probe,
        &[
            "initialDelaySeconds",
            "timeoutSeconds",
            "periodSeconds",
            "successThreshold",
            "failureThreshold",
        ],
        path,
    ));
    if let Some(seconds) = int(probe, "terminationGracePeriodSeconds")
        && seconds <= 0
    {
        errors.push(FieldError::invalid(
            &path.child("terminationGracePeriodSeconds"),
            seconds,
            "must be greater than 0",
        ));
    }
    errors
}

/// Validates lifecycle handlers.
pub(super) fn lifecycle(
    lifecycle: &Value,
    grace: Option<i64>,
    system: &str,
    path: &Path,
) -> Errors {
    let mut errors = Vec::new();
    for name in ["postStart", "preStop"] {
        if present(lifecycle, name) {
            errors.extend(handler(at(lifecycle, name), grace, &path.child(name)));
        }
    }
    if present(lifecycle, "stopSignal") && system.is_empty() {
        errors.push(FieldError::forbidden(
            &path.child("stopSignal"),
            "may not be set for containers with empty `spec.os.name`",
        ));
    }
    errors
}

fn handler(handler: &Value, grace: Option<i64>, path: &Path) -> Errors {
    let mut errors = Vec::new();
    let mut handlers = 0;
    for name in ["exec", "httpGet", "tcpSocket", "grpc", "sleep"] {
        let action = at(handler, name);
        if action.is_null() {
            continue;
        }
        let path = path.child(name);
        handlers += 1;
        if handlers > 1 {
            errors.push(FieldError::forbidden(&path, "may not specify more than 1 handler type"));
            continue;
        }
        match name {
            "exec" if list(action, "command").is_empty() => {
                errors.push(FieldError::required(&path.child("command"), ""));
            }
            "httpGet" => errors.extend(http_get(action, &path)),
            "tcpSocket" | "grpc" => {
                errors.extend(port_number_or_name(at(action, "port"), &path.child("port")));
            }
            "sleep" => {
                let seconds = number(action, "seconds");
                if let Some(grace) = grace
                    && !(0..=grace).contains(&seconds)
                {
                    errors.push(FieldError::invalid(
                        &path,
                        seconds,
                        format!(
                            "must be non-negative and less than terminationGracePeriodSeconds ({grace})"
                        ),
                    ));
                }
            }
            _ => {}
        }
    }
    if handlers == 0 {
        errors.push(FieldError::required(path, "must specify a handler type"));
    }
    errors
}

fn http_get(action: &Value, path: &Path) -> Errors {
    let mut errors = required_text(action, "path", path);
    errors.extend(port_number_or_name(at(action, "port"), &path.child("port")));
    errors.extend(one_of_or_unset(action, "scheme", &["HTTP", "HTTPS"], path));
    for header in list(action, "httpHeaders") {
        let path = path.child("httpHeaders");
        errors.extend(named(names::http_header_name, text(header, "name"), &path));
    }
    errors
}

/// Validates a port given by number or name.
pub(crate) fn port_number_or_name(port: &Value, path: &Path) -> Errors {
    match port.as_str() {
        Some(name) => named(names::port_name, name, path),
        None => port_number(port.as_i64().unwrap_or_default(), path),
    }
}
