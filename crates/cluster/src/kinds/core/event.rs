//! Event, of the core group and of events.k8s.io: one storage, two sets of rules.

use std::borrow::Cow;

use serde_json::Value;
use sluice_schema::field::{FieldError, Path};

use crate::kind::{Context, Kind, NameRule};
use crate::kinds::internal;
use crate::validation::{Errors, IMMUTABLE, immutable, immutable_text, invalid_raw, named, names};
use crate::value::{at, is_zero, number, same, text};

/// The hooks of Event, by API group.
pub(crate) enum Event {
    /// `v1`.
    Core,
    /// `events.k8s.io/v1`.
    Events,
}

impl Event {
    fn is_core(&self) -> bool {
        matches!(self, Self::Core)
    }

    /// The names of the two versions for what upstream stores as `involvedObject`, `message`,
    /// `reportingController`.
    fn names(&self) -> (&'static str, &'static str, &'static str) {
        if self.is_core() {
            ("involvedObject", "message", "reportingComponent")
        } else {
            ("regarding", "note", "reportingController")
        }
    }
}

impl Kind for Event {
    fn name_rule(&self) -> NameRule {
        // The core group does not validate the name beyond what a path allows.
        if self.is_core() { NameRule::PathSegment } else { NameRule::Subdomain }
    }

    fn validate(&self, _context: &Context<'_>, object: &Value) -> Errors {
        let mut errors = self.legacy(object);
        if self.is_core() {
            return errors;
        }
        errors.extend(series(object));
        if is_zero(at(object, "eventTime")) {
            errors.push(FieldError::required(&Path::new("eventTime"), ""));
        }
        let kind = text(object, "type");
        if !["Normal", "Warning"].contains(&kind) {
            let detail = format!("has invalid value: {kind}");
            errors.push(FieldError::invalid(&Path::new("type"), "", detail));
        }
        let unset = [
            ("deprecatedFirstTimestamp", "firstTimestamp"),
            ("deprecatedLastTimestamp", "lastTimestamp"),
            ("deprecatedCount", "count"),
            ("deprecatedSource", "source"),
        ];
        for (field, shown) in unset {
            if !is_zero(at(object, field)) {
                errors.push(FieldError::invalid(&Path::new(shown), "", "needs to be unset"));
            }
        }
        errors
    }

    fn validate_update(&self, _context: &Context<'_>, object: &Value, old: &Value) -> Errors {
        let mut errors = self.legacy(object);
        if self.is_core() {
            return errors;
        }
        errors.extend(series(object));
        let (about, before) = (at(object, "regarding"), at(old, "regarding"));
        if !same(about, before) {
            let printed = internal::print("ObjectReference", about);
            errors.push(invalid_raw(&Path::new("involvedObject"), &printed, IMMUTABLE));
        }
        let fixed =
            |field: &str, shown: &str| immutable_text(object, old, field, &Path::new(shown));
        errors.extend(fixed("reason", "reason"));
        errors.extend(fixed("note", "message"));
        // Upstream validates the reason twice.
        errors.extend(fixed("reason", "reason"));
        errors.extend(fixed("type", "type"));
        for name in ["eventTime", "related"] {
            errors.extend(immutable(at(object, name), at(old, name), &Path::new(name)));
        }
        for name in ["action", "reportingController", "reportingInstance"] {
            errors.extend(fixed(name, name));
        }
        errors
    }

    fn allows_create_on_update(&self) -> bool {
        true
    }

    fn selectable_fields(&self, object: &Value) -> Vec<(Cow<'static, str>, String)> {
        let (involved, _, controller) = self.names();
        let mut fields: Vec<(Cow<'static, str>, String)> = Vec::new();
        for name in
            ["kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath"]
        {
            let value = text(object, &format!("{involved}.{name}")).to_owned();
            fields.push((format!("{involved}.{name}").into(), value));
        }
        let component = text(
            object,
            if self.is_core() { "source.component" } else { "deprecatedSource.component" },
        );
        let reporting = text(object, controller);
        let source = if component.is_empty() { reporting } else { component };
        fields.push(("reason".into(), text(object, "reason").to_owned()));
        fields.push((controller.into(), reporting.to_owned()));
        fields.push(("source".into(), source.to_owned()));
        fields.push(("type".into(), text(object, "type").to_owned()));
        fields
    }
}

impl Event {
    fn legacy(&self, object: &Value) -> Errors {
        let (involved, note, controller) = self.names();
        let mut errors = Vec::new();
        let namespace = text(object, "metadata.namespace");
        let about = text(object, &format!("{involved}.namespace"));
        let place = Path::new("involvedObject").child("namespace");
        let stray = FieldError::invalid(&place, about, "does not match event.namespace");
        if is_zero(at(object, "eventTime")) {
            let fits = if about.is_empty() { namespace == "default" } else { about == namespace };
            if !fits {
                errors.push(stray);
            }
            return errors;
        }
        if about.is_empty() && !["default", "kube-system"].contains(&namespace) {
            errors.push(stray);
        }
        let reporting = text(object, controller);
        let place = Path::new(controller);
        if reporting.is_empty() {
            errors.push(FieldError::required(&place, ""));
        }
        errors.extend(named(names::qualified_name, reporting, &place));
        for (name, limit) in [("reportingInstance", 128), ("action", 128), ("reason", 128)] {
            let value = text(object, name);
            let place = Path::new(name);
            if value.is_empty() {
                errors.push(FieldError::required(&place, ""));
            }
            if value.len() > limit {
                let detail = format!("can have at most {limit} characters");
                errors.push(FieldError::invalid(&place, "", detail));
            }
        }
        if text(object, note).len() > 1024 {
            let detail = "can have at most 1024 characters";
            errors.push(FieldError::invalid(&Path::new("message"), "", detail));
        }
        errors
    }
}

fn series(object: &Value) -> Errors {
    let mut errors = Vec::new();
    let series = at(object, "series");
    if series.is_null() {
        return errors;
    }
    if number(series, "count") < 2 {
        let detail = "should be at least 2";
        errors.push(FieldError::invalid(&Path::new("series.count"), "", detail));
    }
    if is_zero(at(series, "lastObservedTime")) {
        errors.push(FieldError::required(&Path::new("series.lastObservedTime"), ""));
    }
    errors
}
