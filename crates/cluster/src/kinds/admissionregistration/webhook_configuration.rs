//! ValidatingWebhookConfiguration and MutatingWebhookConfiguration.

use serde_json::{Value, json};
use sluice_schema::field::{FieldError, Path};

use super::rules;
use crate::kind::{Context, Kind};
use crate::validation::{Errors, labels, named, names, one_of_or_unset, range_message};
use crate::value::{
    at, at_mut, fill, fill_absent, int, list, list_mut, number, present, text, texts,
};

/// The hooks of both webhook configurations.
pub(super) struct WebhookConfiguration {
    /// Whether it is MutatingWebhookConfiguration.
    pub(super) mutating: bool,
}

impl Kind for WebhookConfiguration {
    fn default(&self, object: &mut Value) {
        for hook in list_mut(object, "webhooks") {
            fill_absent(hook, "failurePolicy", "Fail");
            fill_absent(hook, "matchPolicy", "Equivalent");
            fill(hook, "namespaceSelector", json!({}));
            fill(hook, "objectSelector", json!({}));
            fill(hook, "timeoutSeconds", 10);
            if self.mutating {
                fill_absent(hook, "reinvocationPolicy", "Never");
            }
            rules::rule_defaults(list_mut(hook, "rules"));
            if let Some(service) = at_mut(hook, "clientConfig.service") {
                fill(service, "port", 443);
            }
        }
    }

    fn validate(&self, _context: &Context<'_>, object: &Value) -> Errors {
        let mut errors = Vec::new();
        let mut seen = Vec::new();
        for (index, hook) in list(object, "webhooks").iter().enumerate() {
            let path = Path::new("webhooks").index(index);
            errors.extend(self.hook(hook, &path));
            errors.extend(review_versions(hook, &path.child("admissionReviewVersions")));
            let name = text(hook, "name");
            if !name.is_empty() {
                if seen.contains(&name) {
                    errors.push(FieldError::duplicate(&path.child("name"), name));
                }
                seen.push(name);
            }
        }
        errors
    }

    fn allows_unconditional_update(&self) -> bool {
        false
    }

    fn has_generation(&self) -> bool {
        true
    }
}

impl WebhookConfiguration {
    fn hook(&self, hook: &Value, path: &Path) -> Errors {
        let mut errors = full_name(text(hook, "name"), &path.child("name"));
        for (index, rule) in list(hook, "rules").iter().enumerate() {
            errors.extend(rules::rule(rule, &path.child("rules").index(index)));
        }
        errors.extend(one_of_or_unset(hook, "failurePolicy", &["Fail", "Ignore"], path));
        errors.extend(one_of_or_unset(hook, "matchPolicy", &["Equivalent", "Exact"], path));
        let classes = ["None", "NoneOnDryRun"];
        if present(hook, "sideEffects") {
            errors.extend(one_of_or_unset(hook, "sideEffects", &classes, path));
        } else {
            let detail = "must specify one of None, NoneOnDryRun";
            errors.push(FieldError::required(&path.child("sideEffects"), detail));
        }
        if let Some(seconds) = int(hook, "timeoutSeconds").filter(|s| !(1..=30).contains(s)) {
            let detail = "the timeout value must be between 1 and 30 seconds";
            errors.push(FieldError::invalid(&path.child("timeoutSeconds"), seconds, detail));
        }
        for name in ["namespaceSelector", "objectSelector"] {
            errors.extend(labels::selector(at(hook, name), &path.child(name)));
        }
        if self.mutating {
            let policies = ["IfNeeded", "Never"];
            errors.extend(one_of_or_unset(hook, "reinvocationPolicy", &policies, path));
        }
        errors.extend(client_config(at(hook, "clientConfig"), &path.child("clientConfig")));
        errors.extend(rules::match_conditions(hook, path));
        errors
    }
}

fn full_name(name: &str, path: &Path) -> Errors {
    if name.is_empty() {
        return vec![FieldError::required(path, "")];
    }
    let wrong = names::dns_subdomain(name);
    if !wrong.is_empty() {
        return vec![FieldError::invalid(path, name, wrong.join(","))];
    }
    if name.split('.').count() < 3 {
        let detail = "should be a domain with at least three segments separated by dots";
        return vec![FieldError::invalid(path, name, detail)];
    }
    Vec::new()
}

fn review_versions(hook: &Value, path: &Path) -> Errors {
    let versions = texts(hook, "admissionReviewVersions");
    if versions.is_empty() {
        return vec![FieldError::required(path, "must specify one of v1, v1beta1")];
    }
    let mut errors = Vec::new();
    for (index, version) in versions.iter().enumerate() {
        let path = path.index(index);
        if versions[..index].contains(version) {
            errors.push(FieldError::invalid(&path, *version, "duplicate version"));
            continue;
        }
        errors.extend(named(names::dns_1035_label, version, &path));
    }
    if !versions.iter().any(|version| ["v1", "v1beta1"].contains(version)) {
        let shown = at(hook, "admissionReviewVersions").clone();
        let detail = "must include at least one of v1, v1beta1";
        errors.push(FieldError::invalid(path, shown, detail));
    }
    errors
}

fn client_config(config: &Value, path: &Path) -> Errors {
    match (at(config, "url").as_str(), present(config, "service")) {
        (None, false) | (Some(_), true) => {
            vec![FieldError::required(path, "exactly one of url or service is required")]
        }
        (Some(url), false) => web_address(url, &path.child("url")),
        (None, true) => service(at(config, "service"), &path.child("service")),
    }
}

fn web_address(url: &str, path: &Path) -> Errors {
    let form = "; desired format: https://host[/path]";
    let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
    let mut errors = Vec::new();
    if scheme != "https" {
        let detail = format!("'https' is the only allowed URL scheme{form}");
        errors.push(FieldError::invalid(path, scheme, detail));
    }
    let (rest, fragment) = rest.split_once('#').unwrap_or((rest, ""));
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    let authority = if scheme.is_empty() { "" } else { rest.split('/').next().unwrap_or_default() };
    let (user, host) = authority.rsplit_once('@').unwrap_or(("", authority));
    if host.is_empty() {
        errors.push(FieldError::invalid(path, "", format!("host must be specified{form}")));
    }
    let parts = [
        (user, "user information is not permitted in the URL"),
        (fragment, "fragments are not permitted in the URL"),
        (query, "query parameters are not permitted in the URL"),
    ];
    for (part, detail) in parts.into_iter().filter(|(part, _)| !part.is_empty()) {
        errors.push(FieldError::invalid(path, part, detail));
    }
    errors
}

/// Upstream passes name and namespace in the wrong order, so each is reported as the other.
fn service(service: &Value, path: &Path) -> Errors {
    let mut errors = Vec::new();
    for (given, missed) in [("namespace", "name"), ("name", "namespace")] {
        if text(service, given).is_empty() {
            errors.push(FieldError::required(&path.child(missed), ""));
        }
    }
    let port = number(service, "port");
    if !(1..=65535).contains(&port) {
        let detail = format!("port is not valid: {}", range_message(1, 65535));
        errors.push(FieldError::invalid(&path.child("port"), port, detail));
    }
    let route = text(service, "path");
    let place = path.child("path");
    if ["", "/"].contains(&route) {
        return errors;
    }
    if route == "//" {
        errors.push(FieldError::invalid(&place, route, "segment[0] may not be empty"));
        return errors;
    }
    if !route.starts_with('/') {
        errors.push(FieldError::invalid(&place, route, "must start with a '/'"));
    }
    let steps = route.get(1..).unwrap_or_default();
    let steps = steps.strip_suffix('/').unwrap_or(steps);
    for (index, step) in steps.split('/').enumerate() {
        if step.is_empty() {
            let detail = format!("segment[{index}] may not be empty");
            errors.push(FieldError::invalid(&place, route, detail));
            continue;
        }
        for message in names::dns_subdomain(step) {
            let detail = format!("segment[{index}]: {message}");
            errors.push(FieldError::invalid(&place, route, detail));
        }
    }
    errors
}
