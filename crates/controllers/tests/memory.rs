//! What it costs to remember applied objects, measured on a process of its own.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;

use jiff::Timestamp;
use kube::core::ObjectMeta;
use sluice_base::clock::Frozen;
use sluice_controllers::drift::{Drift, DriftLimits, DriftMode};
use sluice_runtime::key::Key;
use sluice_runtime::watches::WatchEvent;
use sluice_ssa::{Action, ApplyOptions, Change, ChangeSet, Imprint, ObjectId, ObjectKey, Owner};

const OBJECTS: usize = 50_000;
const OF_EACH: usize = 100;

/// Memory of this process in kB.
fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

fn key(number: usize) -> ObjectKey {
    let id = ObjectId {
        group: "apps".to_owned(),
        kind: "Deployment".to_owned(),
        namespace: format!("team-{}", number / OF_EACH),
        name: format!("service-with-a-name-{number}"),
    };
    ObjectKey { id, version: "v1".to_owned() }
}

#[test]
fn fifty_thousand_objects_are_remembered_in_little_memory() {
    let owner = Owner::kustomize();
    let options = ApplyOptions::kustomize(&owner, &[]);
    let drift =
        Drift::new(Arc::new(Frozen(Timestamp::UNIX_EPOCH)), owner, options, DriftLimits::default());
    let before = resident();
    for first in (0..OBJECTS).step_by(OF_EACH) {
        let changes = (first..first + OF_EACH).map(|number| Change {
            imprint: Some((Imprint { version: 1, mark: 7 }, 1)),
            ..Change::new(key(number), Action::Unchanged)
        });
        let changes = ChangeSet { entries: changes.collect() };
        let of = Key::new("flux-system", format!("team-{}", first / OF_EACH));
        let learned = drift.learn(&of, DriftMode::Repair, "", &changes, true);
        assert!(learned.is_full);
    }
    let topic = Drift::topic("", &key(0).id);
    drift.observe(&topic, WatchEvent::Restarted);
    for number in 0..OBJECTS {
        let id = key(number).id;
        let metadata = ObjectMeta {
            name: Some(id.name),
            namespace: Some(id.namespace),
            resource_version: Some("1".to_owned()),
            ..ObjectMeta::default()
        };
        drift.observe(&topic, WatchEvent::Applied(metadata));
    }
    assert_eq!(drift.len(), OBJECTS);
    let grown = resident().saturating_sub(before);
    println!("{OBJECTS} objects: {grown} kB, {} bytes each", grown * 1024 / OBJECTS);
    assert!(grown < 40 * 1024, "{grown} kB");
}
