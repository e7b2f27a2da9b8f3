//! Role and ClusterRole.

use serde_json::Value;
use sluice_schema::field::{FieldError, Path};

use crate::kind::{Context, Kind, NameRule};
use crate::validation::{Errors, labels};
use crate::value::{at, list, present, set};

/// The hooks of Role and ClusterRole.
pub(super) struct Role {
    /// Whether this is Role.
    pub(super) namespaced: bool,
}

impl Kind for Role {
    fn default(&self, object: &mut Value) {
        // `rules` is always shown, null if there are none.
        if !present(object, "rules") {
            set(object, "rules", Value::Null);
        }
    }

    fn validate(&self, _context: &Context<'_>, object: &Value) -> Errors {
        let mut errors = Vec::new();
        for (index, rule) in list(object, "rules").iter().enumerate() {
            errors.extend(self.rule(rule, &Path::new("rules").index(index)));
        }
        let aggregation = at(object, "aggregationRule");
        if !self.namespaced && !aggregation.is_null() {
            let path = Path::new("aggregationRule").child("clusterRoleSelectors");
            let selectors = list(aggregation, "clusterRoleSelectors");
            if selectors.is_empty() {
                let detail =
                    "at least one clusterRoleSelector required if aggregationRule is non-nil";
                errors.push(FieldError::required(&path, detail));
            }
            for (index, selector) in selectors.iter().enumerate() {
                let path = path.index(index);
                let wrong = labels::selector(selector, &path);
                let unreadable = !wrong.is_empty();
                errors.extend(wrong);
                if unreadable {
                    let detail = "invalid label selector.";
                    errors.push(FieldError::invalid(&path, Value::Null, detail));
                }
            }
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

impl Role {
    fn rule(&self, rule: &Value, path: &Path) -> Errors {
        let mut errors = Vec::new();
        let none = |name: &str| list(rule, name).is_empty();
        if none("verbs") {
            let detail = "verbs must contain at least one value";
            errors.push(FieldError::required(&path.child("verbs"), detail));
        }
        if !none("nonResourceURLs") {
            let place = path.child("nonResourceURLs");
            let mut wrong = |detail: &str| {
                let shown = at(rule, "nonResourceURLs").clone();
                errors.push(FieldError::invalid(&place, shown, detail));
            };
            if self.namespaced {
                wrong("namespaced rules cannot apply to non-resource URLs");
            }
            if !none("apiGroups") || !none("resources") || !none("resourceNames") {
                wrong("rules cannot apply to both regular resources and non-resource URLs");
            }
            return errors;
        }
        if none("apiGroups") {
            let detail = "resource rules must supply at least one api group";
            errors.push(FieldError::required(&path.child("apiGroups"), detail));
        }
        if none("resources") {
            let detail = "resource rules must supply at least one resource";
            errors.push(FieldError::required(&path.child("resources"), detail));
        }
        errors
    }
}
