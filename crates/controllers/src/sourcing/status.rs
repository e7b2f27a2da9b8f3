//! The fields that the status of every kind of sources has.

use sluice_api::shared::artifact::Artifact;
use sluice_api::source::bucket::BucketStatus;
use sluice_api::source::gitrepository::GitRepositoryStatus;
use sluice_api::source::ocirepository::OCIRepositoryStatus;

/// The artifact and its address, to be changed.
pub struct Common<'s> {
    /// What it made last.
    pub artifact: &'s mut Option<Artifact>,
    /// The address of the newest artifact, in kinds that show it.
    pub url: Option<&'s mut Option<String>>,
}

/// The status of a source.
pub trait SourceStatus {
    /// The artifact and its address, to be changed.
    fn common(&mut self) -> Common<'_>;

    /// What it made last.
    fn artifact(&self) -> Option<&Artifact>;

    /// The generation that was last reconciled.
    fn observed_generation(&self) -> Option<i64>;
}

macro_rules! statuses {
    ($($status:ident $(with $url:ident)?),+ $(,)?) => {
        $(impl SourceStatus for $status {
            fn common(&mut self) -> Common<'_> {
                Common {
                    artifact: &mut self.artifact,
                    url: statuses!(@url self $($url)?),
                }
            }

            fn artifact(&self) -> Option<&Artifact> {
                self.artifact.as_ref()
            }

            fn observed_generation(&self) -> Option<i64> {
                self.observed_generation
            }
        })+
    };
    (@url $this:ident) => { None };
    (@url $this:ident $url:ident) => { Some(&mut $this.$url) };
}

statuses!(BucketStatus with url, GitRepositoryStatus, OCIRepositoryStatus with url);
