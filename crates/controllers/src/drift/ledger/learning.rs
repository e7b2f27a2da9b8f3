//! What passes leave: what is remembered of the objects they applied, and what need not be looked at again.

use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use sluice_runtime::key::Key;
use sluice_ssa::{Action, Change, ChangeSet, ObjectKey, digest};

use super::{Entry, Holder, Ledger, address};
use crate::drift::{Drift, DriftMode, Learned, Opponent, Repair};

/// How long a dry run is good for, whatever the watches say.
const GOOD_FOR: SignedDuration = SignedDuration::from_hours(1);

impl Ledger {
    pub(in crate::drift) fn settled(
        &self,
        owner: &Key,
        cluster: &str,
        key: &ObjectKey,
        desired: &Value,
        now: Timestamp,
    ) -> Option<Change> {
        let topic = Drift::topic(cluster, &key.id);
        let mut key = key.clone();
        let mut entry = self.objects.get(address(&topic, &key.id.namespace, &key.id.name).as_str());
        if entry.is_none() && !key.id.namespace.is_empty() {
            // Its kind may have no namespaces, whatever the source says.
            key.id.namespace.clear();
            entry = self.objects.get(address(&topic, "", &key.id.name).as_str());
        }
        let entry = entry?;
        let is_settled = *entry.owner == *owner
            && !entry.is_touched()
            && self.watched.get(&topic).is_some_and(|watched| watched.is_complete)
            && entry.age == self.age(&topic)
            && now.duration_since(entry.checked) < GOOD_FOR
            && entry.desired == digest(desired);
        if !is_settled {
            return None;
        }
        let state = entry.rests.then(|| {
            json!({
                "apiVersion": key.api_version(), "kind": key.id.kind,
                "metadata": {"name": key.id.name, "namespace": key.id.namespace},
            })
        });
        Some(Change { state, ..Change::new(key, Action::Unchanged) })
    }

    pub(in crate::drift) fn learn(
        &mut self,
        owner: &Key,
        mode: DriftMode,
        cluster: &str,
        changes: &ChangeSet,
        now: Timestamp,
    ) -> Learned {
        let holder = self.holders.entry(owner.clone()).or_insert_with(|| Holder {
            key: Arc::new(owner.clone()),
            mode,
            is_running: true,
            objects: BTreeSet::new(),
        });
        holder.mode = mode;
        let key = Arc::clone(&holder.key);
        let mut learned = Learned { repairs: Vec::new(), is_full: true };
        let mut held = Vec::new();
        for change in &changes.entries {
            let id = &change.key.id;
            let topic = Drift::topic(cluster, id);
            let at: Arc<str> = address(&topic, &id.namespace, &id.name).into();
            // Without one it is settled, and known already; or left alone, and none of our business.
            let Some((imprint, desired)) = change.imprint else { continue };
            let known = self.objects.get(&at).filter(|entry| *entry.owner == *owner);
            if let Some(repair) = repair(change, known, desired) {
                learned.repairs.push(repair);
            }
            if known.is_none() && self.objects.len() >= self.most {
                learned.is_full = false;
                continue;
            }
            let age = self.age(&topic);
            let seen = self.objects.get(&at).map(|entry| entry.seen);
            let foreign = self.objects.get_mut(&at).and_then(|entry| entry.foreign.take());
            let seen = seen.filter(|seen| seen.version > imprint.version).unwrap_or(imprint);
            let entry = Entry {
                owner: Arc::clone(&key),
                desired,
                applied: imprint,
                seen,
                foreign: foreign.filter(|_| seen.mark != imprint.mark),
                checked: now,
                age,
                rests: rests(change),
            };
            self.objects.insert(Arc::clone(&at), entry);
            held.push(at);
        }
        if let Some(holder) = self.holders.get_mut(owner) {
            holder.objects.extend(held);
        }
        learned
    }

    /// Forgets what an owner no longer applies, or leaves alone.
    pub(in crate::drift) fn keep_only(&mut self, owner: &Key, cluster: &str, changes: &ChangeSet) {
        let applied = changes.entries.iter().filter(|change| change.action != Action::Skipped);
        let applied: BTreeSet<String> = applied
            .map(|change| {
                let id = &change.key.id;
                address(&Drift::topic(cluster, id), &id.namespace, &id.name)
            })
            .collect();
        let Some(holder) = self.holders.get_mut(owner) else { return };
        let is_gone = |at: &Arc<str>| !applied.contains(&**at);
        let gone: Vec<Arc<str>> = holder.objects.iter().filter(|at| is_gone(at)).cloned().collect();
        for at in gone {
            holder.objects.remove(&at);
            if self.objects.get(&at).is_some_and(|entry| *entry.owner == *owner) {
                self.objects.remove(&at);
            }
        }
    }

    pub(in crate::drift) fn forget(&mut self, owner: &Key) {
        let Some(holder) = self.holders.remove(owner) else { return };
        for at in &holder.objects {
            if self.objects.get(at).is_some_and(|entry| *entry.owner == *owner) {
                self.objects.remove(at);
            }
        }
    }
}

/// Whether a change put something right that had been applied just so before, or took an object from
/// another owner.
fn repair(change: &Change, known: Option<&Entry>, desired: u64) -> Option<Repair> {
    if let Some(taken) = Repair::of_ownership(change) {
        return Some(taken);
    }
    let known = known.filter(|known| known.desired == desired)?;
    let opponent = match change.action {
        Action::Created => Opponent::Deleter,
        Action::Configured => {
            let managers = change.contest.as_ref().map(|it| it.managers.join(", "));
            let seen = || {
                let foreign = known.foreign.as_deref().map(|(foreign, _)| foreign);
                foreign.and_then(|foreign| foreign.hand.manager.clone())
            };
            let manager = managers.filter(|it| !it.is_empty()).or_else(seen);
            Opponent::Manager(manager.unwrap_or_else(|| "unknown".to_owned()))
        }
        _ => return None,
    };
    let fields = change.contest.as_ref().map(|it| it.fields.clone()).unwrap_or_default();
    Some(Repair { object: change.key.id.clone(), opponent, fields })
}

/// Whether an object is of a built-in kind and has no status.
fn rests(change: &Change) -> bool {
    let group = change.key.id.group.as_str();
    let built_in = !group.contains('.') || group.ends_with(".k8s.io");
    let has_status = change.state.as_ref().is_none_or(|state| state.get("status").is_some());
    built_in && !has_status
}
