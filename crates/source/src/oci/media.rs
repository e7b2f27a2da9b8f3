//! The media types that matter here.

/// An image or artifact, as OCI has it.
pub const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
/// A list of them, as OCI has it.
pub const INDEX: &str = "application/vnd.oci.image.index.v1+json";
/// An image, as Docker has it.
pub const DOCKER_MANIFEST: &str = "application/vnd.docker.distribution.manifest.v2+json";
/// A list of them, as Docker has it.
pub const DOCKER_LIST: &str = "application/vnd.docker.distribution.manifest.list.v2+json";
/// The forms before these, which nobody reads any more.
pub const DOCKER_SCHEMA_1: [&str; 2] = [
    "application/vnd.docker.distribution.manifest.v1+json",
    "application/vnd.docker.distribution.manifest.v1+prettyjws",
];

/// The configuration of an artifact that Flux made.
pub const FLUX_CONFIG: &str = "application/vnd.cncf.flux.config.v1+json";
/// The files of an artifact that Flux made, packed.
pub const FLUX_CONTENT: &str = "application/vnd.cncf.flux.content.v1.tar+gzip";
/// A Helm chart, packed.
pub const HELM_CHART: &str = "application/vnd.cncf.helm.chart.content.v1.tar+gzip";

/// A payload that cosign signed.
pub const COSIGN_PAYLOAD: &str = "application/vnd.dev.cosign.simplesigning.v1+json";
/// What the types of Sigstore's bundles begin with, whatever their version.
pub const SIGSTORE_BUNDLE: &str = "application/vnd.dev.sigstore.bundle";
/// A signature by notation.
pub const NOTATION_SIGNATURE: &str = "application/vnd.cncf.notary.signature";

/// What is asked for where a manifest of any kind will do.
pub(crate) const ANY_MANIFEST: &str = "application/vnd.docker.distribution.manifest.v1+json,\
application/vnd.docker.distribution.manifest.v1+prettyjws,\
application/vnd.docker.distribution.manifest.v2+json,\
application/vnd.oci.image.manifest.v1+json,\
application/vnd.docker.distribution.manifest.list.v2+json,\
application/vnd.oci.image.index.v1+json";
