//! Which artifact a spec means, and what is in it.

use std::collections::BTreeMap;
use std::time::Duration;

use bytes::Bytes;
use sluice_api::names::reasons::{
    OCI_ARTIFACT_LAYER_OPERATION_FAILED, OCI_ARTIFACT_PULL_FAILED, READ_OPERATION_FAILED,
    URL_INVALID,
};
use sluice_api::source::ocirepository::{LayerOperation, OCIRepositorySpec, OCIRepositoryStatus};
use sluice_base::go::regexp;
use sluice_runtime::outcome::Stop;
use sluice_source::archive::{ArchiveLimits, unpack};
use sluice_source::artifact::{Digest, Revision};
use sluice_source::oci::{
    Identifier, OciError, Reference, RemoteRepository, Repository, layer, newest_tag,
};
use sluice_source::tree::SourceTree;
use tokio::time::{Instant, timeout_at};

use super::{OciPass, OciRepositories};
use crate::sourcing::{fetch_failed, stalled};

/// How long a fetch may take where the spec does not say.
const TIMEOUT: Duration = Duration::from_mins(1);
/// What is said where the layer does not begin to come.
const FIRST_LAYER: &str = "failed to extract the first layer from artifact";
/// What is said where it takes too long.
const LATE: &str = "context deadline exceeded";

/// What is in an artifact.
pub(super) struct Pulled {
    pub(super) annotations: Option<BTreeMap<String, String>>,
    pub(super) content: Content,
}

/// The layer that the spec selects.
pub(super) enum Content {
    /// Its files.
    Files(SourceTree),
    /// As it is.
    Packed(Bytes),
}

/// The moment at which a fetch has taken too long. Flux lets a registry that stalls hold a worker
/// for ever; the limit of the spec holds for everything here.
#[derive(Clone, Copy)]
pub(super) struct Deadline(Instant);

impl Deadline {
    pub(super) fn of(spec: &OCIRepositorySpec) -> Self {
        let timeout = spec.timeout.as_ref().map_or(TIMEOUT, |timeout| timeout.to_std());
        Self(Instant::now() + timeout)
    }

    /// What comes of it before then.
    pub(super) async fn hold<T, E: std::fmt::Display>(
        self,
        work: impl Future<Output = Result<T, E>>,
    ) -> Result<T, String> {
        match timeout_at(self.0, work).await {
            Ok(outcome) => outcome.map_err(|error| error.to_string()),
            Err(_) => Err(LATE.to_owned()),
        }
    }
}

/// The repository that a spec names.
pub(super) fn repository(spec: &OCIRepositorySpec) -> Result<Repository, Stop> {
    let parsed = Repository::of_url(&spec.url).map_err(|error| {
        let message = format!("URL validation failed for '{}': {error}", spec.url);
        stalled(URL_INVALID, message)
    })?;
    Ok(parsed.insecure(spec.insecure.unwrap_or(false)))
}

/// The artifact that a spec means, and its revision.
pub(super) async fn resolve(
    remote: &RemoteRepository,
    spec: &OCIRepositorySpec,
    deadline: Deadline,
) -> Result<(Reference, Digest, Revision), Stop> {
    let reference = deadline.hold(selected(remote, spec)).await.map_err(|error| {
        let url = &spec.url;
        let message = format!("failed to determine the artifact tag for '{url}': {error}");
        fetch_failed(READ_OPERATION_FAILED, message)
    })?;
    let digest = deadline.hold(remote.resolve(&reference)).await.map_err(|error| {
        let message = format!("failed to determine artifact digest: {error}");
        fetch_failed(OCI_ARTIFACT_PULL_FAILED, message)
    })?;
    let tag = match reference.identifier() {
        Identifier::Tag(tag) => tag.as_str(),
        Identifier::Digest(_) => "",
    };
    let revision = Revision::of(tag, &digest.to_string());
    Ok((reference, digest, revision))
}

/// The digest, else the newest tag of a range, else the tag, else `latest`.
async fn selected(
    remote: &RemoteRepository,
    spec: &OCIRepositorySpec,
) -> Result<Reference, String> {
    let repository = remote.repository();
    let wanted = spec.r#ref.clone().unwrap_or_default();
    let given = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
    if let Some(digest) = given(&wanted.digest) {
        return Ok(repository.digest(&digest));
    }
    if let Some(range) = given(&wanted.semver) {
        let tags = remote.tags().await.map_err(|error: OciError| error.to_string())?;
        let filter = given(&wanted.semver_filter).map(|filter| regexp::compile(&filter));
        let filter = filter.transpose().map_err(|error| error.to_string())?;
        let tag = newest_tag(&tags, &range, filter.as_ref(), media_type(spec));
        return tag.map(|tag| repository.tag(&tag)).map_err(|error| error.to_string());
    }
    Ok(repository.tag(given(&wanted.tag).as_deref().unwrap_or("latest")))
}

impl OciRepositories {
    /// Pulls the layer that the spec selects.
    pub(super) async fn pull(
        &self,
        pass: &OciPass<'_>,
        remote: &RemoteRepository,
        digest: &Digest,
        deadline: Deadline,
    ) -> Result<Pulled, Stop> {
        let spec = &pass.object.spec;
        let unusable = |message: String| fetch_failed(OCI_ARTIFACT_LAYER_OPERATION_FAILED, message);
        let reference = remote.repository().digest(&digest.to_string());
        let image = deadline.hold(remote.image(&reference)).await.map_err(|error| {
            let message = format!("failed to pull artifact from '{}': {error}", spec.url);
            fetch_failed(OCI_ARTIFACT_PULL_FAILED, message)
        })?;
        let chosen =
            layer(&image, media_type(spec)).map_err(|error| unusable(error.to_string()))?;
        let is_copy = operation(spec) == LayerOperation::Copy;
        let doing = if is_copy {
            "failed to copy layer from artifact"
        } else {
            "failed to extract layer contents from artifact"
        };
        let packed = match timeout_at(deadline.0, remote.blob(chosen)).await {
            Ok(Ok(packed)) => packed,
            // What has begun to come is being unpacked already, where Flux is.
            Ok(Err(error @ OciError::Cut)) if !is_copy => {
                return Err(unusable(format!("{doing}: tar error: {error}")));
            }
            Ok(Err(error @ (OciError::Cut | OciError::Altered(_)))) => {
                return Err(unusable(format!("{doing}: {error}")));
            }
            Ok(Err(error)) => return Err(unusable(format!("{FIRST_LAYER}: {error}"))),
            Err(_) => return Err(unusable(format!("{FIRST_LAYER}: {LATE}"))),
        };
        let content = if is_copy {
            Content::Packed(packed)
        } else {
            let unpacked = self.context.compute.run(move || {
                unpack(&packed, ArchiveLimits::default()).map_err(|error| chain(&error))
            });
            let files = unpacked.await.map_err(|error| unusable(format!("{doing}: {error}")))?;
            Content::Files(files)
        };
        Ok(Pulled { annotations: image.manifest.annotations, content })
    }
}

/// Whether what decides on the content of the artifact is another than before.
pub(super) fn content_changed(spec: &OCIRepositorySpec, status: &OCIRepositoryStatus) -> bool {
    spec.ignore != status.observed_ignore || spec.layer_selector != status.observed_layer_selector
}

fn media_type(spec: &OCIRepositorySpec) -> &str {
    let selector = spec.layer_selector.as_ref();
    selector.and_then(|selector| selector.media_type.as_deref()).unwrap_or_default()
}

fn operation(spec: &OCIRepositorySpec) -> LayerOperation {
    let selector = spec.layer_selector.as_ref();
    selector.and_then(|selector| selector.operation.clone()).unwrap_or(LayerOperation::Extract)
}

fn chain(error: &dyn std::error::Error) -> String {
    match error.source() {
        Some(source) => format!("{error}: {}", chain(source)),
        None => error.to_string(),
    }
}
