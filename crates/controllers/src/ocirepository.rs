//! OCIRepositories: from a repository of a registry to an artifact in the store.
//!
//! ```text
//! credentials ─▶ which tag, which digest ─▶ verify ─▶ pull, or nothing new ─▶ unpack or keep as it is ─▶ store
//! ```
//!
//! Start reading at `reconcile.rs`; what is before and after is in [`crate::sourcing`].

mod credentials;
mod fetch;
mod reconcile;
mod verify;

use std::sync::Arc;
use std::time::Duration;

use sluice_api::crd::CustomResource as _;
use sluice_api::names::conditions::{
    ARTIFACT_IN_STORAGE, ARTIFACT_OUTDATED, FETCH_FAILED, RECONCILING, SOURCE_VERIFIED, STALLED,
    STORAGE_OPERATION_FAILED,
};
use sluice_api::source::ocirepository::OCIRepository;
use sluice_runtime::index::Reference;
use sluice_runtime::key::Key;
use sluice_runtime::outcome::Stop;
use sluice_runtime::pass::Pass;

use crate::rights::{Right, TOKENS};
use crate::sourcing::{SECRETS, SourceController, SourceKind};
use crate::table::{Controller, ReconciledKind};

/// The controller of OCIRepositories.
pub type OciRepositories = SourceController<OCIRepository>;

type OciPass<'c> = Pass<'c, OCIRepository>;

/// The kind in the table.
pub(crate) const KIND: ReconciledKind = ReconciledKind {
    definition: OCIRepository::DEFINITION,
    controller: Controller::Source,
    rights: &[
        SECRETS,
        Right::new(
            "",
            &["serviceaccounts"],
            &["get"],
            "image pull secrets of the account that an OCIRepository names",
        ),
        TOKENS,
    ],
    wire: |wiring| wiring.source(&KIND, &Arc::clone(&wiring.sources.oci)),
};

impl SourceKind for OCIRepository {
    const WEIGHED: &'static [(&'static str, bool)] = &[
        (STORAGE_OPERATION_FAILED, true),
        (FETCH_FAILED, true),
        (ARTIFACT_OUTDATED, true),
        (ARTIFACT_IN_STORAGE, false),
        (SOURCE_VERIFIED, false),
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
        let spec = &self.spec;
        let verify = spec.verify.as_ref();
        let secrets = [
            spec.secret_ref.as_ref(),
            spec.cert_secret_ref.as_ref(),
            spec.proxy_secret_ref.as_ref(),
            verify.and_then(|verify| verify.secret_ref.as_ref()),
            verify.and_then(|verify| verify.trusted_root_secret_ref.as_ref()),
        ];
        let secrets = secrets.into_iter().flatten();
        secrets
            .map(|secret| Reference::new("Secret", Key::new(namespace.clone(), &secret.name)))
            .collect()
    }

    async fn produce(controller: &OciRepositories, pass: &mut OciPass<'_>) -> Result<String, Stop> {
        Box::pin(controller.make_artifact(pass)).await
    }
}
