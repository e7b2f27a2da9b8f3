//! PodTemplate.

use serde_json::Value;
use sluice_schema::field::Path;

use crate::kind::{Context, Kind};
use crate::kinds::pod_spec;
use crate::validation::Errors;
use crate::value::{at, slot};

/// The hooks of PodTemplate.
pub(super) struct PodTemplate;

impl Kind for PodTemplate {
    fn default(&self, object: &mut Value) {
        if let Some(template) = slot(object, "template") {
            pod_spec::template_defaults(template);
        }
    }

    fn validate(&self, _context: &Context<'_>, object: &Value) -> Errors {
        pod_spec::validate_template(at(object, "template"), &Path::new("template"))
    }

    fn warnings(&self, object: &Value, old: Option<&Value>) -> Vec<String> {
        if old.is_some_and(|old| !self.changes_generation(object, old)) {
            return Vec::new();
        }
        pod_spec::template_warnings(at(object, "template"), &Path::new("template"))
    }

    fn has_generation(&self) -> bool {
        true
    }
}
