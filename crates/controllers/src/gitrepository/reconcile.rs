//! From an address to an artifact, step by step, in the order of Flux's controller.

use sluice_api::names::conditions::{
    ARTIFACT_OUTDATED, FETCH_FAILED, INCLUDE_UNAVAILABLE, SOURCE_VERIFIED,
};
use sluice_api::names::reasons::{ARTIFACT_UP_TO_DATE, GIT_OPERATION_SUCCEEDED};
use sluice_api::shared::artifact::Artifact;
use sluice_api::shared::condition::ConditionStatus;
use sluice_runtime::events::Severity;
use sluice_runtime::outcome::Stop;
use sluice_source::artifact::Revision;
use sluice_source::git::{Checkout, Cloned};
use sluice_source::ignore::Rules;

use super::fetch::{content_changed, included_changed};
use super::{GitPass, GitRepositories, history};
use crate::sources::SourceArtifact;
use crate::sourcing::{SourcePass as _, fetch_failed};

impl GitRepositories {
    /// From an address to an artifact; says what an event about it says.
    pub(super) async fn make_artifact(&self, pass: &mut GitPass<'_>) -> Result<String, Stop> {
        if pass.conditions.is_false(SOURCE_VERIFIED) {
            pass.conditions.remove(SOURCE_VERIFIED);
        }
        let auth = self.credentials(pass).await?;
        let sources = self.included(pass)?;
        let included: Vec<Artifact> = sources.iter().map(|it| it.artifact.clone()).collect();
        pass.conditions.remove(INCLUDE_UNAVAILABLE);
        let before = pass.status.included_artifacts.as_deref().unwrap_or_default();
        if included_changed(before, &included) {
            let message =
                "building artifact: included artifacts differ from last observed includes";
            pass.progress(message, true);
        }
        pass.conditions.remove(ARTIFACT_OUTDATED);
        let checkout = match self.check_out(pass, &auth, &included).await? {
            Cloned::Checkout(checkout) => checkout,
            Cloned::Unchanged { revision, .. } => {
                pass.conditions.remove(FETCH_FAILED);
                pass.stored(&format!("stored artifact for revision '{revision}'"));
                let message =
                    format!("no changes since last reconciliation: observed revision '{revision}'");
                pass.event(Severity::Trace, GIT_OPERATION_SUCCEEDED, &message);
                return Ok(format!("stored artifact for commit '{revision}'"));
            }
            // Told as a failure already.
            Cloned::Empty => {
                return Err(fetch_failed("EmptyGitRepository", "git repository is empty"));
            }
        };
        pass.conditions.remove(FETCH_FAILED);
        self.verify(pass, &checkout).await?;
        history::judge(pass, &checkout)?;
        if !has_revision(pass, &checkout.revision) {
            let message = format!("new upstream revision '{}'", checkout.revision);
            if pass.artifact().is_some() {
                pass.conditions.set(
                    ARTIFACT_OUTDATED,
                    ConditionStatus::True,
                    "NewRevision",
                    &message,
                );
            }
            pass.progress(&format!("building artifact: {message}"), true);
        }
        self.make(pass, &checkout, &sources, included).await?;
        pass.conditions.remove(ARTIFACT_OUTDATED);
        Ok(format!("stored artifact for commit '{}'", checkout.commit.short_message()))
    }

    /// Packs the files and keeps them, unless they are there already.
    async fn make(
        &self,
        pass: &mut GitPass<'_>,
        checkout: &Checkout,
        sources: &[SourceArtifact],
        included: Vec<Artifact>,
    ) -> Result<(), Stop> {
        let spec = pass.object.spec.clone();
        let stored = format!("stored artifact for revision '{}'", checkout.revision);
        let is_current = has_revision(pass, &checkout.revision);
        let before = pass.status.included_artifacts.as_deref().unwrap_or_default();
        if is_current
            && !included_changed(before, &included)
            && !content_changed(&spec, &pass.status, &included)
        {
            let message =
                format!("artifact up-to-date with remote revision: '{}'", checkout.revision);
            pass.event(Severity::Trace, ARTIFACT_UP_TO_DATE, &message);
            pass.stored(&stored);
            return Ok(());
        }
        let mut files = checkout.files.clone();
        self.mix_in(pass, sources, &mut files).await?;
        let ignore = spec.ignore.clone();
        let packed =
            self.pack(files, move |files| Rules::of_source(files, ignore.as_deref())).await?;
        let file = format!("{}.tar.gz", checkout.commit.id);
        self.keep(pass, &file, &checkout.revision, packed).await?;
        pass.status.included_artifacts = Some(included).filter(|list| !list.is_empty());
        pass.status.observed_ignore = spec.ignore;
        pass.status.observed_recurse_submodules = spec.recurse_submodules;
        pass.status.observed_include = spec.include;
        pass.status.observed_sparse_checkout = spec.sparse_checkout;
        pass.stored(&stored);
        Ok(())
    }
}

fn has_revision(pass: &GitPass<'_>, revision: &Revision) -> bool {
    pass.artifact().is_some_and(|it| Revision::new(it.revision.clone()).is_same(revision))
}
