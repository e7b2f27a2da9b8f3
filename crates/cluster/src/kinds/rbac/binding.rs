//! RoleBinding and ClusterRoleBinding.

use serde_json::Value;
use sluice_schema::field::{FieldError, Path};

use super::GROUP;
use crate::kind::{Context, Kind, NameRule};
use crate::kinds::internal;
use crate::validation::{Errors, invalid_raw, named, names};
use crate::value::{at, fill, list, list_mut, same, text};

/// The hooks of RoleBinding and ClusterRoleBinding.
pub(super) struct Binding {
    /// Whether this is RoleBinding.
    pub(super) namespaced: bool,
}

impl Kind for Binding {
    fn default(&self, object: &mut Value) {
        fill(object, "roleRef.apiGroup", GROUP);
        for subject in list_mut(object, "subjects") {
            if ["User", "Group"].contains(&text(subject, "kind")) {
                fill(subject, "apiGroup", GROUP);
            }
        }
    }

    fn validate(&self, _context: &Context<'_>, object: &Value) -> Errors {
        let path = Path::new("roleRef");
        let role = at(object, "roleRef");
        let mut errors = Vec::new();
        if text(role, "apiGroup") != GROUP {
            let path = path.child("apiGroup");
            errors.push(FieldError::not_supported(&path, text(role, "apiGroup"), &[GROUP]));
        }
        let kinds: &[&str] =
            if self.namespaced { &["Role", "ClusterRole"] } else { &["ClusterRole"] };
        if !kinds.contains(&text(role, "kind")) {
            let path = path.child("kind");
            errors.push(FieldError::not_supported(&path, text(role, "kind"), kinds));
        }
        let name = text(role, "name");
        if name.is_empty() {
            errors.push(FieldError::required(&path.child("name"), ""));
        } else {
            errors.extend(named(names::path_segment, name, &path.child("name")));
        }
        for (index, subject) in list(object, "subjects").iter().enumerate() {
            errors.extend(self.subject(subject, &Path::new("subjects").index(index)));
        }
        errors
    }

    fn validate_update(&self, context: &Context<'_>, object: &Value, old: &Value) -> Errors {
        let mut errors = self.validate(context, object);
        let role = at(object, "roleRef");
        if !same(role, at(old, "roleRef")) {
            let printed = internal::print("RoleRef", role);
            errors.push(invalid_raw(&Path::new("roleRef"), &printed, "cannot change roleRef"));
        }
        errors
    }

    fn name_rule(&self) -> NameRule {
        NameRule::PathSegment
    }

    fn allows_create_on_update(&self) -> bool {
        true
    }
}

impl Binding {
    fn subject(&self, subject: &Value, path: &Path) -> Errors {
        let mut errors = Vec::new();
        let (name, group) = (text(subject, "name"), text(subject, "apiGroup"));
        if name.is_empty() {
            errors.push(FieldError::required(&path.child("name"), ""));
        }
        match text(subject, "kind") {
            "ServiceAccount" => {
                if !name.is_empty() {
                    errors.extend(named(names::dns_subdomain, name, &path.child("name")));
                }
                if !group.is_empty() {
                    let path = path.child("apiGroup");
                    errors.push(FieldError::not_supported(&path, group, &[""]));
                }
                if !self.namespaced && text(subject, "namespace").is_empty() {
                    errors.push(FieldError::required(&path.child("namespace"), ""));
                }
            }
            "User" | "Group" => {
                if group != GROUP {
                    let path = path.child("apiGroup");
                    errors.push(FieldError::not_supported(&path, group, &[GROUP]));
                }
            }
            other => errors.push(FieldError::not_supported(
                &path.child("kind"),
                other,
                &["ServiceAccount", "User", "Group"],
            )),
        }
        errors
    }
}
