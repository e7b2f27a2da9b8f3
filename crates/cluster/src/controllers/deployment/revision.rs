//! Revisions: the ReplicaSet of the current template, and its number.

use serde_json::{Map, Value, json};

use super::{Pass, SOURCE, Sets, key_of_set, replicas_of};
use crate::controllers::recorder::NewEvent;
use crate::controllers::{condition, hash, pods};
use crate::status::Status;
use crate::store::GroupResource;
use crate::{metadata, value};

pub(super) const HASH_LABEL: &str = "pod-template-hash";
const REVISION: &str = "deployment.kubernetes.io/revision";
const HISTORY: &str = "deployment.kubernetes.io/revision-history";
pub(super) const DESIRED: &str = "deployment.kubernetes.io/desired-replicas";
pub(super) const MAXIMUM: &str = "deployment.kubernetes.io/max-replicas";
/// The longest revision history annotation.
const HISTORY_LIMIT: usize = 2000;
/// The longest name of a ReplicaSet.
const NAME_LIMIT: usize = 253;
/// Annotations of a Deployment that are not copied to its ReplicaSets.
const KEPT_BACK: [&str; 6] = [
    "kubectl.kubernetes.io/last-applied-configuration",
    REVISION,
    HISTORY,
    DESIRED,
    MAXIMUM,
    "deprecated.deployment.rollback.to",
];

/// The revision of a ReplicaSet; 0 if it has none.
pub(super) fn number(set: &Value) -> i64 {
    metadata::entry(set, "annotations", REVISION)
        .and_then(|revision| revision.parse().ok())
        .unwrap_or_default()
}

impl Pass<'_> {
    /// Finds the ReplicaSet of the current template, or creates it if requested, and updates its
    /// revision and that of the Deployment.
    pub(super) async fn sync_revision(
        &mut self,
        sets: Vec<Value>,
        create: bool,
    ) -> Result<Sets, Status> {
        let template = bare(&self.deployment["spec"]["template"]);
        let place =
            sets.iter().position(|set| value::same(&bare(&set["spec"]["template"]), &template));
        let mut old = sets;
        let new = place.map(|place| old.remove(place));
        let next = old.iter().map(number).max().unwrap_or_default() + 1;
        let new = match new {
            Some(set) => Some(self.keep_up(set, next).await?),
            None if create => Some(self.create_set(&old, next).await?),
            None => None,
        };
        Ok(Sets { new, old })
    }

    /// Updates the annotations of the current ReplicaSet.
    async fn keep_up(&mut self, set: Value, next: i64) -> Result<Value, Status> {
        let mut wanted = set.clone();
        let least = value::number(&self.deployment, "spec.minReadySeconds");
        let annotated = self.annotate(&mut wanted, next);
        if annotated || value::number(&set, "spec.minReadySeconds") != least {
            let annotations = wanted["metadata"]["annotations"].clone();
            let written = self
                .control
                .update(SOURCE.actor, &key_of_set(&set), "", &mut |set| {
                    metadata::set(set, "annotations", annotations.clone());
                    set["spec"]["minReadySeconds"] = least.into();
                })
                .await?;
            wanted = written.as_ref().clone();
        }
        let revision = metadata::entry(&wanted, "annotations", REVISION).unwrap_or_default();
        let mut changed = self.set_revision(revision);
        let status = &mut self.deployment["status"];
        if condition::find(status, "Progressing").is_none() && self.has_deadline() {
            let message = format!("Found new replica set \"{}\"", metadata::name(&wanted));
            let now = self.control.now();
            let status = &mut self.deployment["status"];
            condition::set_progress(
                status,
                "Progressing",
                "True",
                "FoundNewReplicaSet",
                &message,
                &now,
            );
            changed = true;
        }
        if changed {
            self.write_status().await?;
        }
        Ok(wanted)
    }

    /// Creates the ReplicaSet of the current template.
    async fn create_set(&mut self, old: &[Value], next: i64) -> Result<Value, Status> {
        let deployment = &self.deployment;
        let name = metadata::name(deployment);
        let collisions = value::int(deployment, "status.collisionCount");
        let hash = hash::template(&deployment["spec"]["template"], collisions);
        let mut template = deployment["spec"]["template"].clone();
        let labels = with(&template["metadata"]["labels"], &hash);
        value::set(&mut template, "metadata.labels", labels);
        let mut selector = deployment["spec"]["selector"].clone();
        let labels = with(&selector["matchLabels"], &hash);
        value::set(&mut selector, "matchLabels", labels);
        let prefix: String = name.chars().take(NAME_LIMIT - hash.len() - 1).collect();
        let mut set = json!({
            "metadata": {
                "name": format!("{prefix}-{hash}"),
                "namespace": self.key.namespace,
                "ownerReferences": [pods::controller_reference(deployment)],
                "labels": template["metadata"]["labels"],
            },
            "spec": {
                "minReadySeconds": value::number(deployment, "spec.minReadySeconds"),
                "selector": selector,
                "template": template,
            },
        });
        let replicas = self.new_replicas(old.iter().map(replicas_of).sum(), 0);
        set["spec"]["replicas"] = replicas.into();
        self.annotate(&mut set, next);
        self.annotate_size(&mut set);
        let name = metadata::name(&set).to_owned();
        let sets = GroupResource::new("apps", "replicasets");
        let created =
            self.control.create(SOURCE.actor, &sets, &self.key.namespace, set.clone()).await;
        let created = match created {
            Ok(created) => created,
            Err(status) if status.reason == "AlreadyExists" => {
                let count = collisions.unwrap_or(0) + 1;
                self.deployment["status"]["collisionCount"] = count.into();
                self.write_status().await?;
                return Err(status);
            }
            Err(status) => {
                if !pods::namespace_ends(&status) {
                    self.record_failed_create(&name, &status).await;
                }
                return Err(status);
            }
        };
        if replicas > 0 {
            let message = format!("Scaled up replica set {name} from 0 to {replicas}");
            let event = NewEvent::normal("ScalingReplicaSet", &message);
            self.control.record(SOURCE, &self.deployment, event).await;
        }
        let mut changed = self.set_revision(&next.to_string());
        if self.has_deadline() {
            let message = format!("Created new replica set \"{name}\"");
            let now = self.control.now();
            let status = &mut self.deployment["status"];
            let reason = "NewReplicaSetCreated";
            condition::set_progress(status, "Progressing", "True", reason, &message, &now);
            changed = true;
        }
        if changed {
            self.write_status().await?;
        }
        Ok(created.as_ref().clone())
    }

    async fn record_failed_create(&mut self, name: &str, status: &Status) {
        let reason = "ReplicaSetCreateError";
        let message = format!("Failed to create new replica set \"{name}\": {status}");
        if self.has_deadline() {
            let now = self.control.now();
            let status = &mut self.deployment["status"];
            condition::set_progress(status, "Progressing", "False", reason, &message, &now);
            let _ = self.write_status().await;
        }
        self.control.record(SOURCE, &self.deployment, NewEvent::warning(reason, &message)).await;
    }

    /// Sets the revision annotation of the Deployment; returns whether it changed.
    fn set_revision(&mut self, revision: &str) -> bool {
        if metadata::entry(&self.deployment, "annotations", REVISION) == Some(revision) {
            return false;
        }
        annotate(&mut self.deployment, REVISION, revision);
        true
    }

    /// Copies the Deployment's annotations and its revision to a ReplicaSet.
    fn annotate(&self, set: &mut Value, next: i64) -> bool {
        let mut changed = false;
        for (key, text) in value::entries(&self.deployment, "metadata.annotations") {
            let text = text.as_str().unwrap_or_default();
            if KEPT_BACK.contains(&key.as_str())
                || metadata::entry(set, "annotations", key) == Some(text)
            {
                continue;
            }
            annotate(set, key, text);
            changed = true;
        }
        let known = metadata::entry(set, "annotations", REVISION).map(str::to_owned);
        let current = number(set);
        if current >= next {
            return changed;
        }
        annotate(set, REVISION, &next.to_string());
        if let Some(known) = known {
            let history = metadata::entry(set, "annotations", HISTORY).unwrap_or_default();
            let mut entries: Vec<&str> =
                history.split(',').filter(|entry| !entry.is_empty()).collect();
            entries.push(&known);
            while entries.iter().map(|entry| entry.len() + 1).sum::<usize>() > HISTORY_LIMIT {
                entries.remove(0);
            }
            let history = entries.join(",");
            annotate(set, HISTORY, &history);
        }
        true
    }

    /// Sets the annotations `desired-replicas` and `max-replicas` of a ReplicaSet.
    pub(super) fn annotate_size(&self, set: &mut Value) -> bool {
        let mut changed = false;
        let sizes = [(DESIRED, self.replicas()), (MAXIMUM, self.replicas() + self.max_surge())];
        for (key, size) in sizes {
            let size = size.to_string();
            if metadata::entry(set, "annotations", key) != Some(&size) {
                annotate(set, key, &size);
                changed = true;
            }
        }
        changed
    }
}

fn annotate(object: &mut Value, key: &str, text: &str) {
    let metadata = metadata::of_mut(object);
    let annotations = metadata.entry("annotations").or_insert_with(|| Value::Object(Map::new()));
    if let Some(annotations) = annotations.as_object_mut() {
        annotations.insert(key.to_owned(), text.into());
    }
}

/// The labels with the hash label added.
fn with(labels: &Value, hash: &str) -> Value {
    let mut labels = labels.as_object().cloned().unwrap_or_default();
    labels.insert(HASH_LABEL.to_owned(), hash.into());
    labels.into()
}

/// A template without the hash label.
fn bare(template: &Value) -> Value {
    let mut template = template.clone();
    if let Some(labels) = value::at_mut(&mut template, "metadata.labels")
        && let Some(labels) = labels.as_object_mut()
    {
        labels.remove(HASH_LABEL);
    }
    template
}
