//! From a bucket to an artifact, step by step, in the order of Flux's controller.

use std::time::Duration;

use sluice_api::names::conditions::{ARTIFACT_OUTDATED, FETCH_FAILED};
use sluice_api::names::reasons::{
    ARTIFACT_UP_TO_DATE, AUTHENTICATION_FAILED, BUCKET_OPERATION_FAILED,
};
use sluice_api::shared::condition::ConditionStatus;
use sluice_base::duration::GoDuration;
use sluice_runtime::events::Severity;
use sluice_runtime::outcome::Stop;
use sluice_source::artifact::Revision;
use sluice_source::bucket::{BucketQuery, FetchedBucket, fetch};
use sluice_source::ignore::Rules;

use super::{BucketPass, Buckets};
use crate::sourcing::{SourcePass as _, fetch_failed};

/// How long looking and fetching may take where the spec does not say.
const TIMEOUT: Duration = Duration::from_mins(1);

impl Buckets {
    /// From a bucket to an artifact; says what an event about it says.
    pub(super) async fn make_artifact(&self, pass: &mut BucketPass<'_>) -> Result<String, Stop> {
        let address = self.address(pass).await?;
        let refused =
            |error: &dyn std::fmt::Display| fetch_failed(AUTHENTICATION_FAILED, error.to_string());
        let reader = self.backends.buckets.open(&address).await.map_err(|error| refused(&error))?;
        let spec = &pass.object.spec;
        let query = BucketQuery {
            bucket: spec.bucket_name.clone(),
            prefix: spec.prefix.clone().unwrap_or_default(),
            ignore: spec.ignore.clone(),
            known: pass.artifact().map(|artifact| artifact.revision.clone()),
            timeout: spec.timeout.map_or(TIMEOUT, GoDuration::to_std),
        };
        let fetched = fetch(&*reader, &query)
            .await
            .map_err(|error| fetch_failed(BUCKET_OPERATION_FAILED, error.to_string()))?;
        let message = format!(
            "stored artifact with {} fetched files from '{}' bucket",
            fetched.index.len(),
            spec.bucket_name
        );
        let revision = fetched.index.digest(self.backends.digests);
        if fetched.files.is_some() {
            if pass.artifact().is_some() {
                let news = format!("new upstream revision '{revision}'");
                let outdated = ConditionStatus::True;
                pass.conditions.set(ARTIFACT_OUTDATED, outdated, "NewRevision", &news);
            }
            pass.progress(&format!("building artifact: new upstream revision '{revision}'"), true);
        }
        pass.conditions.remove(FETCH_FAILED);
        self.make(pass, fetched).await?;
        pass.conditions.remove(ARTIFACT_OUTDATED);
        pass.stored(&format!("stored artifact: revision '{revision}'"));
        Ok(message)
    }

    /// Packs the files and keeps them, unless they are there already.
    async fn make(&self, pass: &mut BucketPass<'_>, fetched: FetchedBucket) -> Result<(), Stop> {
        let revision = fetched.index.digest(self.backends.digests);
        // What was read may turn out to be what is there, though the listing said otherwise.
        let is_current =
            pass.artifact().is_some_and(|artifact| fetched.index.is_at(&artifact.revision));
        let files = match fetched.files {
            Some(files) if !is_current => files,
            _ => {
                let message = format!("artifact up-to-date with remote revision: '{revision}'");
                pass.event(Severity::Trace, ARTIFACT_UP_TO_DATE, &message);
                return Ok(());
            }
        };
        // What is ignored was not fetched.
        let packed = self.pack(files, |_| Rules::new(Vec::new())).await?;
        let file = format!("{}.tar.gz", revision.hex());
        self.keep(pass, &file, &Revision::new(revision.to_string()), packed).await?;
        pass.status.observed_ignore.clone_from(&pass.object.spec.ignore);
        Ok(())
    }
}
