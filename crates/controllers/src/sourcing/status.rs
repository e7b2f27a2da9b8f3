//! What the status of every kind of sources has.

use serde::Serialize;
use serde::de::DeserializeOwned;
use sluice_api::shared::artifact::Artifact;
use sluice_api::shared::condition::Condition;
use sluice_api::source::bucket::BucketStatus;
use sluice_api::source::gitrepository::GitRepositoryStatus;
use sluice_api::source::ocirepository::OCIRepositoryStatus;

/// The fields that all have in common.
pub struct Common<'s> {
    /// What it made last.
    pub artifact: &'s mut Option<Artifact>,
    /// Its conditions.
    pub conditions: &'s mut Option<Vec<Condition>>,
    /// The generation that was last reconciled.
    pub observed_generation: &'s mut Option<i64>,
    /// The request that was last acted upon.
    pub last_handled_reconcile_at: &'s mut Option<String>,
    /// The address of the newest artifact, in kinds that show it.
    pub url: Option<&'s mut Option<String>>,
}

/// The status of a source.
pub trait SourceStatus:
    Clone + Default + DeserializeOwned + Serialize + Send + Sync + 'static
{
    /// The common fields, to be changed.
    fn common(&mut self) -> Common<'_>;

    /// What it made last.
    fn artifact(&self) -> Option<&Artifact>;
}

macro_rules! statuses {
    ($($status:ident $(with $url:ident)?),+ $(,)?) => {
        $(impl SourceStatus for $status {
            fn common(&mut self) -> Common<'_> {
                Common {
                    artifact: &mut self.artifact,
                    conditions: &mut self.conditions,
                    observed_generation: &mut self.observed_generation,
                    last_handled_reconcile_at: &mut self.last_handled_reconcile_at,
                    url: statuses!(@url self $($url)?),
                }
            }

            fn artifact(&self) -> Option<&Artifact> {
                self.artifact.as_ref()
            }
        })+
    };
    (@url $this:ident) => { None };
    (@url $this:ident $url:ident) => { Some(&mut $this.$url) };
}

statuses!(BucketStatus with url, GitRepositoryStatus, OCIRepositoryStatus with url);
