//! Media types.

/// An OCI manifest.
pub const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
/// An OCI index.
pub const INDEX: &str = "application/vnd.oci.image.index.v1+json";
/// A Docker manifest.
pub const DOCKER_MANIFEST: &str = "application/vnd.docker.distribution.manifest.v2+json";
/// A Docker manifest list.
pub const DOCKER_LIST: &str = "application/vnd.docker.distribution.manifest.list.v2+json";
/// Older Docker formats, which are not supported.
pub const DOCKER_SCHEMA_1: [&str; 2] = [
    "application/vnd.docker.distribution.manifest.v1+json",
    "application/vnd.docker.distribution.manifest.v1+prettyjws",
];

/// The configuration of a Flux artifact.
pub const FLUX_CONFIG: &str = "application/vnd.cncf.flux.config.v1+json";
/// The packed files of a Flux artifact.
pub const FLUX_CONTENT: &str = "application/vnd.cncf.flux.content.v1.tar+gzip";
/// A Helm chart, packed.
pub const HELM_CHART: &str = "application/vnd.cncf.helm.chart.content.v1.tar+gzip";

/// A payload signed by cosign.
pub const COSIGN_PAYLOAD: &str = "application/vnd.dev.cosign.simplesigning.v1+json";
/// The prefix of the types of Sigstore bundles, of all versions.
pub const SIGSTORE_BUNDLE: &str = "application/vnd.dev.sigstore.bundle";
/// A notation signature.
pub const NOTATION_SIGNATURE: &str = "application/vnd.cncf.notary.signature";

/// The `Accept` header for any manifest.
pub(crate) const ANY_MANIFEST: &str = "application/vnd.docker.distribution.manifest.v1+json,\
application/vnd.docker.distribution.manifest.v1+prettyjws,\
application/vnd.docker.distribution.manifest.v2+json,\
application/vnd.oci.image.manifest.v1+json,\
application/vnd.docker.distribution.manifest.list.v2+json,\
application/vnd.oci.image.index.v1+json";
