//! Server-side apply as Flux does it, on any cluster a [`kube::Client`] reaches.
//!
//! ```text
//!   objects ── normalise    Flux's form for applying
//!           ── stages       definitions, classes, custom kinds, the rest
//!   stage   ── check        get, skip?, dry run, drift?         all objects, concurrently
//!           ── apply        clean up, recreate, apply           only if no dry run failed
//!           ── wait         definitions and classes must be ready
//!   set     ── inventory    applied objects; stale ones are pruned if they are still ours
//!           ── wait         until all are healthy, or one has failed
//! ```
//!
//! Start reading at [`Applier`]. **Invariant:** an object without drift is not written.
//! **Invariant:** in a stage nothing is written before every dry run of it has passed. **Invariant:**
//! dropping a future stops at the next request; doing it all again does the rest.

mod apply;
mod causes;
mod change;
mod contest;
mod discovery;
mod drift;
mod failure;
mod health;
mod ignore;
mod imprint;
mod inventory;
mod managers;
mod metadata;
mod normalise;
mod object;
mod order;
pub mod outdated;
mod prune;
mod resource;
mod wait;

pub use apply::{Applier, ApplyOptions, Desired, Knowledge, Planned};
pub use change::{Action, Change, ChangeSet};
pub use contest::Contest;
pub use discovery::Discovery;
pub use drift::{Difference, differences, has_drifted, mask_secrets, render};
pub use failure::{ApiError, ApplyError, Failure};
pub use health::{HealthCheckError, HealthChecks, Seen};
pub use ignore::{IgnoreError, IgnoreRules};
pub use imprint::{Imprint, digest};
pub use inventory::Inventory;
pub use managers::{Cleanup, FieldManager, Operation};
pub use metadata::{Marks, Owner, set_metadata};
pub use normalise::{normalise, still_encrypted};
pub use object::{IdError, ObjectId, ObjectKey};
pub use order::{GroupKind, Stage, parse_group_kinds};
pub use prune::{DeleteError, DeleteOptions, Propagation, Removal};
pub use resource::Resource;
pub use sluice_runtime::class::ErrorClass;
pub use wait::{Unhealthy, WaitError, WaitOptions, WaitTarget, jobs_with_ttl};
