//! CSIDriver.

use serde_json::{Value, json};
use sluice_schema::field::{FieldError, Path};

use crate::kind::{Context, Kind};
use crate::validation::{Errors, immutable, one_of_or_unset};
use crate::value::{at, fill, fill_absent, fill_zero, int, list, present, text, texts};

/// The hooks of CSIDriver.
pub(super) struct CsiDriver;

impl Kind for CsiDriver {
    fn default(&self, object: &mut Value) {
        fill(object, "spec.attachRequired", true);
        fill(object, "spec.podInfoOnMount", false);
        fill(object, "spec.storageCapacity", false);
        fill_absent(object, "spec.fsGroupPolicy", "ReadWriteOnceWithFSType");
        fill_zero(object, "spec.volumeLifecycleModes", json!(["Persistent"]));
        fill(object, "spec.requiresRepublish", false);
        fill(object, "spec.seLinuxMount", false);
    }

    fn validate(&self, _context: &Context<'_>, object: &Value) -> Errors {
        let path = Path::new("spec");
        let spec = at(object, "spec");
        let policies = ["File", "None", "ReadWriteOnceWithFSType"];
        let mut errors = one_of_or_unset(spec, "fsGroupPolicy", &policies, &path);
        errors.extend(token_requests(spec, &path.child("tokenRequests")));
        for mode in texts(spec, "volumeLifecycleModes") {
            let modes = ["Persistent", "Ephemeral"];
            if !modes.contains(&mode) {
                let path = path.child("volumeLifecycleModes");
                errors.push(FieldError::not_supported(&path, mode, &modes));
            }
        }
        let period = "nodeAllocatableUpdatePeriodSeconds";
        if let Some(seconds) = int(spec, period).filter(|seconds| *seconds < 10) {
            let detail = "must be greater than or equal to 10 seconds";
            errors.push(FieldError::invalid(&path.child(period), seconds, detail));
        }
        let secrets = "serviceAccountTokenInSecrets";
        if present(spec, secrets) && list(spec, "tokenRequests").is_empty() {
            let detail = "serviceAccountTokenInSecrets is set but no tokenRequests are specified";
            let shown = at(spec, secrets).clone();
            errors.push(FieldError::invalid(&path.child(secrets), shown, detail));
        }
        errors
    }

    fn validate_update(&self, context: &Context<'_>, object: &Value, old: &Value) -> Errors {
        let path = Path::new("spec");
        let mut errors = self.validate(context, object);
        for (name, shown) in [
            ("spec.attachRequired", "attachedRequired"),
            ("spec.volumeLifecycleModes", "volumeLifecycleModes"),
        ] {
            errors.extend(immutable(at(object, name), at(old, name), &path.child(shown)));
        }
        errors
    }

    fn allows_unconditional_update(&self) -> bool {
        false
    }
}

fn token_requests(spec: &Value, path: &Path) -> Errors {
    let mut errors = Vec::new();
    let mut seen = Vec::new();
    for (index, request) in list(spec, "tokenRequests").iter().enumerate() {
        let path = path.index(index);
        let audience = text(request, "audience");
        if seen.contains(&audience) {
            errors.push(FieldError::duplicate(&path.child("audience"), audience));
            continue;
        }
        seen.push(audience);
        let Some(seconds) = int(request, "expirationSeconds") else { continue };
        let path = path.child("expirationSeconds");
        if seconds < 600 {
            let detail = "may not specify a duration less than 10 minutes";
            errors.push(FieldError::invalid(&path, seconds, detail));
        }
        if seconds > 1 << 32 {
            let detail = "may not specify a duration larger than 2^32 seconds";
            errors.push(FieldError::invalid(&path, seconds, detail));
        }
    }
    errors
}
