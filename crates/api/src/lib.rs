//! The custom resources of Flux and Flux Operator, and the CRDs made from them.
//!
//! ```text
//! one file per kind   source/gitrepository.rs ...   object! choice! kind!
//!                              |
//!            +-----------------+------------------+
//!   typed objects (serde, kube)          schemas -> crds()
//! ```
//!
//! The types are Flux's contract: names, requirements, patterns, defaults and rules are those of the
//! CRDs that Flux 2.9.5 and Flux Operator 0.58.1 install, and `cargo xtask compare-crds` proves it.
//! Extras of Sluice are annotations (see [`names`]), never fields.
//!
//! Decoding is lenient: absent fields take their zero value, and unknown values and fields are kept. Validation is
//! the API server's task. `metadata` is Kubernetes' own type; the API server drops unknown fields there. Objects
//! are changed by patches, never by writing them whole.

pub mod crd;
pub mod extensions;
pub mod helm;
pub mod image;
pub mod kustomize;
pub mod names;
pub mod notification;
pub mod operator;
pub mod schema;
pub mod shared;
pub mod source;
pub mod versions;

use serde_json::Value;

use crate::crd::CustomResource;
pub use crate::extensions::artifactgenerator::ArtifactGenerator;
pub use crate::helm::helmrelease::HelmRelease;
pub use crate::image::imagepolicy::ImagePolicy;
pub use crate::image::imagerepository::ImageRepository;
pub use crate::image::imageupdateautomation::ImageUpdateAutomation;
pub use crate::kustomize::kustomization::Kustomization;
pub use crate::notification::alert::Alert;
pub use crate::notification::provider::Provider;
pub use crate::notification::receiver::Receiver;
pub use crate::operator::fluxinstance::FluxInstance;
pub use crate::operator::fluxreport::FluxReport;
pub use crate::operator::resourceset::ResourceSet;
pub use crate::operator::resourcesetinputprovider::ResourceSetInputProvider;
pub use crate::source::bucket::Bucket;
pub use crate::source::externalartifact::ExternalArtifact;
pub use crate::source::gitrepository::GitRepository;
pub use crate::source::helmchart::HelmChart;
pub use crate::source::helmrepository::HelmRepository;
pub use crate::source::ocirepository::OCIRepository;

/// The CustomResourceDefinitions of all kinds, ordered by group and plural.
pub fn crds() -> Vec<Value> {
    vec![
        FluxInstance::crd(),
        FluxReport::crd(),
        ResourceSetInputProvider::crd(),
        ResourceSet::crd(),
        HelmRelease::crd(),
        ImagePolicy::crd(),
        ImageRepository::crd(),
        ImageUpdateAutomation::crd(),
        Kustomization::crd(),
        Alert::crd(),
        Provider::crd(),
        Receiver::crd(),
        ArtifactGenerator::crd(),
        Bucket::crd(),
        ExternalArtifact::crd(),
        GitRepository::crd(),
        HelmChart::crd(),
        HelmRepository::crd(),
        OCIRepository::crd(),
    ]
}
