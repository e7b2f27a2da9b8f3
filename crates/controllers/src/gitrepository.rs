//! GitRepositories: from an address to an artifact in the store.
//!
//! ```text
//! credentials ─▶ includes ─▶ clone, or nothing new ─▶ verify ─▶ history ─▶ pack and store
//! ```
//!
//! Start reading at `reconcile.rs`; what is before and after is in [`crate::sourcing`].

mod credentials;
mod fetch;
mod history;
mod includes;
mod reconcile;
mod verification;

use std::sync::Arc;
use std::time::Duration;

use sluice_api::crd::CustomResource as _;
use sluice_api::names::conditions::{
    ARTIFACT_IN_STORAGE, ARTIFACT_OUTDATED, FETCH_FAILED, INCLUDE_UNAVAILABLE, RECONCILING,
    SOURCE_VERIFIED, STALLED, STORAGE_OPERATION_FAILED,
};
use sluice_api::source::gitrepository::GitRepository;
use sluice_runtime::index::Reference;
use sluice_runtime::key::Key;
use sluice_runtime::outcome::Stop;
use sluice_runtime::pass::Pass;

use crate::rights::TOKENS;
use crate::sourcing::{SECRETS, SourceController, SourceKind};
use crate::table::{Controller, ReconciledKind};

/// The controller of GitRepositories.
pub type GitRepositories = SourceController<GitRepository>;

type GitPass<'c> = Pass<'c, GitRepository>;

/// The kind in the table.
pub(crate) const KIND: ReconciledKind = ReconciledKind {
    definition: GitRepository::DEFINITION,
    controller: Controller::Source,
    rights: &[SECRETS, TOKENS],
    wire: |wiring| wiring.source(&KIND, &Arc::clone(&wiring.sources.git)),
};

impl SourceKind for GitRepository {
    const WEIGHED: &'static [(&'static str, bool)] = &[
        (STORAGE_OPERATION_FAILED, true),
        (FETCH_FAILED, true),
        (INCLUDE_UNAVAILABLE, true),
        (ARTIFACT_OUTDATED, true),
        (ARTIFACT_IN_STORAGE, false),
        (SOURCE_VERIFIED, false),
        (STALLED, true),
        (RECONCILING, true),
    ];
    const FAILURES: &'static [&'static str] =
        &[FETCH_FAILED, INCLUDE_UNAVAILABLE, STORAGE_OPERATION_FAILED];

    fn interval(&self) -> Duration {
        self.spec.interval.to_std()
    }

    fn is_suspended(&self) -> bool {
        self.spec.suspend.unwrap_or(false)
    }

    fn references(&self) -> Vec<Reference> {
        let namespace = self.metadata.namespace.clone().unwrap_or_default();
        let local =
            |kind: &str, name: &str| Reference::new(kind, Key::new(namespace.clone(), name));
        let spec = &self.spec;
        let includes = spec.include.iter().flatten();
        let mut all: Vec<Reference> =
            includes.map(|include| local("GitRepository", &include.repository.name)).collect();
        let secrets = [
            spec.secret_ref.as_ref(),
            spec.proxy_secret_ref.as_ref(),
            spec.verify.as_ref().map(|verify| &verify.secret_ref),
        ];
        all.extend(secrets.into_iter().flatten().map(|secret| local("Secret", &secret.name)));
        all
    }

    async fn produce(controller: &GitRepositories, pass: &mut GitPass<'_>) -> Result<String, Stop> {
        controller.make_artifact(pass).await
    }
}
