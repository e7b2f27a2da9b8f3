//! ControllerRevisions: the past templates of StatefulSets and DaemonSets.

use serde_json::{Value, json};

use super::control::{Actor, Control, Object};
use super::{Key, hash, pods};
use crate::status::Status;
use crate::store::GroupResource;
use crate::write::DeleteOptions;
use crate::{metadata, value};

/// The label with the hash of a revision.
pub(super) const HASH_LABEL: &str = "controller-revision-hash";
/// The longest prefix of a revision's name.
const LONGEST_PREFIX: usize = 223;

/// The data of a revision: the template, as a patch that restores it.
fn patch(template: &Value) -> Value {
    let mut template = template.clone();
    template["$patch"] = "replace".into();
    json!({"spec": {"template": template}})
}

/// The revisions that an object controls, from the oldest to the newest.
pub(super) fn of(control: &Control, owner: &Value) -> Vec<Object> {
    let mut found = control.controlled("apps", "controllerrevisions", owner);
    found.sort_by_key(|revision| value::number(revision, "revision"));
    found
}

/// The revision of the current template: an old one again, or a new one named by `hash`.
pub(super) async fn current(
    control: &Control,
    actor: Actor,
    owner: &Value,
    hash: &str,
    hash_label: &str,
) -> Result<Value, Status> {
    let data = patch(&owner["spec"]["template"]);
    let known = of(control, owner);
    let newest = known.last().map_or(0, |revision| value::number(revision, "revision"));
    if let Some(same) = known.iter().rfind(|revision| value::same(&revision["data"], &data)) {
        if value::number(same, "revision") == newest {
            return Ok(same.to_value());
        }
        let written = control
            .update(actor, &key(same), "", &mut |revision| {
                revision["revision"] = (newest + 1).into();
            })
            .await?;
        return Ok(written.as_ref().clone());
    }
    let mut labels = value::entries(owner, "spec.template.metadata.labels").clone();
    labels.insert(hash_label.to_owned(), hash.into());
    let prefix: String = metadata::name(owner).chars().take(LONGEST_PREFIX).collect();
    let mut revision = json!({
        "metadata": {
            "name": format!("{prefix}-{hash}"),
            "namespace": metadata::namespace(owner),
            "labels": labels,
            "ownerReferences": [pods::controller_reference(owner)],
        },
        "data": data,
        "revision": newest + 1,
    });
    if let Some(annotations) = metadata::of(owner).get("annotations") {
        revision["metadata"]["annotations"] = annotations.clone();
    }
    let revisions = GroupResource::new("apps", "controllerrevisions");
    let made = control.create(actor, &revisions, metadata::namespace(owner), revision).await?;
    Ok(made.as_ref().clone())
}

/// Deletes the oldest revisions beyond the limit that no pod uses.
pub(super) async fn truncate(control: &Control, actor: Actor, owner: &Value, live: &[&str]) {
    let limit = value::int(owner, "spec.revisionHistoryLimit").unwrap_or(10);
    let dead: Vec<Object> = of(control, owner)
        .into_iter()
        .filter(|revision| {
            let name = metadata::name(revision);
            let hash = metadata::entry(revision, "labels", HASH_LABEL).unwrap_or(name);
            !live.contains(&name) && !live.contains(&hash)
        })
        .collect();
    let surplus = dead.len().saturating_sub(usize::try_from(limit).unwrap_or(0));
    for revision in dead.iter().take(surplus) {
        let options = DeleteOptions::default();
        let _ = control.delete(actor, &key(revision), options, metadata::uid(revision)).await;
    }
}

fn key(revision: &Value) -> Key {
    let (namespace, name) = (metadata::namespace(revision), metadata::name(revision));
    Key::new("apps", "controllerrevisions", namespace, name)
}

/// The hash of a StatefulSet's revision: over the bytes of its data, as upstream computes it.
pub(super) fn data_hash(template: &Value, collisions: i64) -> String {
    let mut bytes = serde_json::to_vec(&patch(template)).unwrap_or_default();
    bytes.extend(collisions.to_string().bytes());
    hash::safe(hash::fnv1(&bytes))
}
