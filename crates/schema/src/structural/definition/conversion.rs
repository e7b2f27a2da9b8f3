//! `spec.conversion`: none, or a webhook.

use serde_json::Value;

use super::spec::validate_choice;
use super::{list, text};
use sluice_base::names;

use crate::field::{FieldError, Path};

pub(super) fn validate(conversion: &Value, recognized: bool, path: &Path) -> Vec<FieldError> {
    if conversion.is_null() {
        return Vec::new();
    }
    let null = Value::Null;
    let mut errors: Vec<FieldError> = validate_choice(
        &path.child("strategy"),
        text(conversion, "strategy"),
        &["None", "Webhook"],
    )
    .into_iter()
    .collect();
    let webhook = conversion.get("webhook").unwrap_or(&null);
    let config = webhook.get("clientConfig").unwrap_or(&null);
    let versions = list(webhook, "conversionReviewVersions");
    let config_path = path.child("webhookClientConfig");
    let versions_path = path.child("conversionReviewVersions");
    if text(conversion, "strategy") != "Webhook" {
        let why = "should not be set when strategy is not set to Webhook";
        if !config.is_null() {
            errors.push(FieldError::forbidden(&config_path, why));
        }
        if !versions.is_empty() {
            errors.push(FieldError::forbidden(&versions_path, why));
        }
        return errors;
    }
    if config.is_null() {
        let why = "required when strategy is set to Webhook";
        errors.push(FieldError::required(&config_path, why));
    } else {
        let url = config.get("url").and_then(Value::as_str);
        let service = config.get("service").filter(|service| !service.is_null());
        match (url, service) {
            (Some(url), None) => errors.extend(validate_url(url, &config_path.child("url"))),
            (None, Some(service)) => {
                errors.extend(validate_service(service, &config_path.child("service")));
            }
            _ => {
                let why = "exactly one of url or service is required";
                errors.push(FieldError::required(&config_path, why));
            }
        }
    }
    errors.extend(validate_review_versions(versions, recognized, &versions_path));
    errors
}

fn validate_review_versions(versions: &[Value], recognized: bool, path: &Path) -> Vec<FieldError> {
    if versions.is_empty() {
        return vec![FieldError::required(path, "")];
    }
    let mut errors = Vec::new();
    for (index, version) in versions.iter().enumerate() {
        let at = path.index(index);
        let name = version.as_str().unwrap_or_default();
        if versions[..index].contains(version) {
            errors.push(FieldError::invalid(&at, name, "duplicate version"));
            continue;
        }
        errors.extend(
            names::dns1035_label(name).into_iter().map(|why| FieldError::invalid(&at, name, why)),
        );
    }
    if recognized && !versions.iter().any(|version| version == "v1" || version == "v1beta1") {
        let why = "must include at least one of v1, v1beta1";
        errors.push(FieldError::invalid(path, versions.to_vec(), why));
    }
    errors
}

fn validate_url(url: &str, path: &Path) -> Vec<FieldError> {
    const FORM: &str = "; desired format: https://host[/path]";
    let mut errors = Vec::new();
    let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
    let (rest, fragment) = rest.split_once('#').unwrap_or((rest, ""));
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    let authority = if scheme.is_empty() { "" } else { rest.split('/').next().unwrap_or_default() };
    let (user, host) = match authority.rsplit_once('@') {
        Some((user, host)) => (Some(user), host),
        None => (None, authority),
    };
    if scheme != "https" {
        let why = format!("'https' is the only allowed URL scheme{FORM}");
        errors.push(FieldError::invalid(path, scheme, why));
    }
    if host.is_empty() {
        errors.push(FieldError::invalid(path, host, format!("host must be specified{FORM}")));
    }
    if let Some(user) = user {
        let why = "user information is not permitted in the URL";
        errors.push(FieldError::invalid(path, user, why));
    }
    if !fragment.is_empty() {
        let why = "fragments are not permitted in the URL";
        errors.push(FieldError::invalid(path, fragment, why));
    }
    if !query.is_empty() {
        let why = "query parameters are not permitted in the URL";
        errors.push(FieldError::invalid(path, query, why));
    }
    errors
}

fn validate_service(service: &Value, path: &Path) -> Vec<FieldError> {
    let mut errors = Vec::new();
    // Upstream passes name and namespace in the wrong order, so each is reported as the other.
    for (field, reported) in [("namespace", "name"), ("name", "namespace")] {
        if text(service, field).is_empty() {
            errors.push(FieldError::required(&path.child(reported), ""));
        }
    }
    let port = service.get("port").and_then(Value::as_i64).unwrap_or_default();
    if !(1..=65535).contains(&port) {
        let why = "port is not valid: must be between 1 and 65535, inclusive";
        errors.push(FieldError::invalid(&path.child("port"), port, why));
    }
    let at = path.child("path");
    let url_path = text(service, "path");
    if matches!(url_path, "" | "/") {
        return errors;
    }
    if url_path == "//" {
        errors.push(FieldError::invalid(&at, url_path, "segment[0] may not be empty"));
        return errors;
    }
    if !url_path.starts_with('/') {
        errors.push(FieldError::invalid(&at, url_path, "must start with a '/'"));
    }
    let mut checked = url_path.chars();
    checked.next();
    let checked = checked.as_str();
    let checked = checked.strip_suffix('/').unwrap_or(checked);
    for (index, step) in checked.split('/').enumerate() {
        if step.is_empty() {
            let why = format!("segment[{index}] may not be empty");
            errors.push(FieldError::invalid(&at, url_path, why));
            continue;
        }
        for why in names::dns1123_subdomain(step) {
            let why = format!("segment[{index}]: {why}");
            errors.push(FieldError::invalid(&at, url_path, why));
        }
    }
    errors
}
