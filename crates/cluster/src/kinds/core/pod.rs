//! Pod.

use std::borrow::Cow;

use serde_json::{Value, json};
use sluice_schema::field::{FieldError, Path};

use crate::kind::{Context, Kind};
use crate::kinds::pod_spec;
use crate::status::Status;
use crate::validation::{self, Errors, immutable_text, named, names};
use crate::value::{at, flag, int, list, present, restore, set, slot, text};

/// The hooks of Pod.
pub(super) struct Pod;

impl Kind for Pod {
    fn default(&self, object: &mut Value) {
        if let Some(spec) = slot(object, "spec") {
            pod_spec::spec_defaults(spec);
            pod_spec::pod_defaults(spec);
        }
    }

    fn prepare_create(&self, context: &Context<'_>, object: &mut Value) -> Result<(), Status> {
        let _ = context;
        let class = pod_spec::quality_of_service(at(object, "spec"));
        let mut status = json!({"phase": "Pending", "qosClass": class});
        if !list(object, "spec.schedulingGates").is_empty() {
            status["conditions"] = json!([{
                "type": "PodScheduled",
                "status": "False",
                "reason": "SchedulingGated",
                "message": "Scheduling is blocked due to non-empty scheduling gates",
                "lastProbeTime": null,
                "lastTransitionTime": context.now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
            }]);
        }
        set(object, "status", status);
        pod_spec::merge_label_keys(object);
        Ok(())
    }

    fn prepare_update(
        &self,
        context: &Context<'_>,
        object: &mut Value,
        old: &Value,
    ) -> Result<(), Status> {
        match context.subresource {
            "ephemeralcontainers" => pod_spec::keep_all_but_ephemeral(object, old),
            "resize" => pod_spec::keep_all_but_resources(object, old),
            // Fields that admission set at creation stay, although updates do not repeat them.
            _ => {
                for path in ["spec.priority", "spec.preemptionPolicy"] {
                    if !present(object, path) {
                        restore(object, old, path);
                    }
                }
            }
        }
        Ok(())
    }

    fn prepare_status_update(&self, _context: &Context<'_>, object: &mut Value, old: &Value) {
        restore(object, old, "metadata.ownerReferences");
        if text(object, "status.qosClass").is_empty() {
            restore(object, old, "status.qosClass");
        }
    }

    fn validate(&self, _context: &Context<'_>, object: &Value) -> Errors {
        pod_spec::validate_pod_create(object)
    }

    fn validate_update(&self, context: &Context<'_>, object: &Value, old: &Value) -> Errors {
        match context.subresource {
            "ephemeralcontainers" => pod_spec::validate_ephemeral(object, old),
            "resize" => pod_spec::validate_resize(object, old),
            _ => pod_spec::validate_pod_update(object, old),
        }
    }

    fn validate_status_update(
        &self,
        _context: &Context<'_>,
        object: &Value,
        old: &Value,
    ) -> Errors {
        let path = Path::new("status");
        let mut errors = Vec::new();
        let node = text(object, "status.nominatedNodeName");
        if node != text(old, "status.nominatedNodeName") && !node.is_empty() {
            let path = path.child("nominatedNodeName");
            errors.extend(named(names::dns_subdomain, node, &path));
            if !text(old, "spec.nodeName").is_empty() {
                let detail = "may not be set on pods that are already bound to a node";
                errors.push(FieldError::forbidden(&path, detail));
            }
        }
        errors.extend(immutable_text(object, old, "status.qosClass", &path.child("qosClass")));
        for (index, address) in list(object, "status.podIPs").iter().enumerate() {
            let path = path.child("podIPs").index(index);
            errors.extend(validation::addresses::address(text(address, "ip"), &path));
        }
        errors
    }

    fn warnings(&self, object: &Value, old: Option<&Value>) -> Vec<String> {
        if old.is_some() { Vec::new() } else { pod_spec::pod_warnings(object) }
    }

    fn has_status(&self) -> bool {
        true
    }

    fn has_generation(&self) -> bool {
        true
    }

    fn grace_period(&self, object: &Value) -> Option<i64> {
        // No process runs in a pod without a node or in a finished one.
        let finished = matches!(text(object, "status.phase"), "Failed" | "Succeeded");
        if text(object, "spec.nodeName").is_empty() || finished {
            return Some(0);
        }
        let seconds = int(object, "spec.terminationGracePeriodSeconds").unwrap_or(30);
        Some(if seconds < 0 { 1 } else { seconds })
    }

    fn selectable_fields(&self, object: &Value) -> Vec<(Cow<'static, str>, String)> {
        let addresses: Vec<_> =
            list(object, "status.podIPs").iter().map(|address| text(address, "ip")).collect();
        let mut fields: Vec<_> = [
            "spec.nodeName",
            "spec.restartPolicy",
            "spec.schedulerName",
            "spec.serviceAccountName",
            "status.phase",
            "status.nominatedNodeName",
        ]
        .into_iter()
        .map(|name| (name.into(), text(object, name).to_owned()))
        .collect();
        fields.push(("spec.hostNetwork".into(), flag(object, "spec.hostNetwork").to_string()));
        fields.push((
            "status.podIP".into(),
            addresses.first().copied().unwrap_or_default().to_owned(),
        ));
        fields.push((
            "status.podIPs".into(),
            addresses.first().copied().unwrap_or_default().to_owned(),
        ));
        fields
    }
}
