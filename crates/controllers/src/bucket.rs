//! Buckets: from the objects of an object store to an artifact in the store.
//!
//! ```text
//! credentials ─▶ what is there ─▶ nothing new, or fetch ─▶ pack and store
//! ```
//!
//! Start reading at `reconcile.rs`; what is before and after is in [`crate::sourcing`].

mod credentials;
mod reconcile;

use std::sync::Arc;
use std::time::Duration;

use sluice_api::crd::CustomResource as _;
use sluice_api::names::conditions::{
    ARTIFACT_IN_STORAGE, ARTIFACT_OUTDATED, FETCH_FAILED, RECONCILING, STALLED,
    STORAGE_OPERATION_FAILED,
};
use sluice_api::source::bucket::Bucket;
use sluice_runtime::index::Reference;
use sluice_runtime::key::Key;
use sluice_runtime::outcome::Stop;
use sluice_runtime::pass::Pass;

use crate::rights::TOKENS;
use crate::sourcing::{SECRETS, SourceController, SourceKind};
use crate::table::{Controller, ReconciledKind};

/// The controller of Buckets.
pub type Buckets = SourceController<Bucket>;

type BucketPass<'c> = Pass<'c, Bucket>;

/// The kind in the table.
pub(crate) const KIND: ReconciledKind = ReconciledKind {
    definition: Bucket::DEFINITION,
    controller: Controller::Source,
    rights: &[SECRETS, TOKENS],
    wire: |wiring| wiring.source(&KIND, &Arc::clone(&wiring.sources.bucket)),
};

impl SourceKind for Bucket {
    const WEIGHED: &'static [(&'static str, bool)] = &[
        (STORAGE_OPERATION_FAILED, true),
        (FETCH_FAILED, true),
        (ARTIFACT_OUTDATED, true),
        (ARTIFACT_IN_STORAGE, false),
        (STALLED, true),
        (RECONCILING, true),
    ];
    const FAILURES: &'static [&'static str] = &[FETCH_FAILED, STORAGE_OPERATION_FAILED];

    fn interval(&self) -> Duration {
        self.spec.interval.to_std()
    }

    fn is_suspended(&self) -> bool {
        self.spec.suspend.unwrap_or(false)
    }

    fn references(&self) -> Vec<Reference> {
        let namespace = self.metadata.namespace.clone().unwrap_or_default();
        let (spec, sts) = (&self.spec, self.spec.sts.as_ref());
        let secrets = [
            spec.secret_ref.as_ref(),
            spec.cert_secret_ref.as_ref(),
            spec.proxy_secret_ref.as_ref(),
            sts.and_then(|sts| sts.secret_ref.as_ref()),
            sts.and_then(|sts| sts.cert_secret_ref.as_ref()),
        ];
        let key = |name: &str| Key::new(namespace.clone(), name);
        let secrets = secrets.into_iter().flatten();
        secrets.map(|secret| Reference::new("Secret", key(&secret.name))).collect()
    }

    async fn produce(controller: &Buckets, pass: &mut BucketPass<'_>) -> Result<String, Stop> {
        controller.make_artifact(pass).await
    }
}
