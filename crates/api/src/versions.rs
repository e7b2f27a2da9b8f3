//! The served version of each kind, for objects of older versions.

use crate::crd::{CustomResource as _, Definition};
use crate::{
    Alert, ArtifactGenerator, Bucket, ExternalArtifact, GitRepository, HelmChart, HelmRelease,
    HelmRepository, ImagePolicy, ImageRepository, ImageUpdateAutomation, Kustomization,
    OCIRepository, Provider, Receiver,
};

/// The kinds that had other versions.
const KINDS: [&Definition; 15] = [
    &Alert::DEFINITION,
    &ArtifactGenerator::DEFINITION,
    &Bucket::DEFINITION,
    &ExternalArtifact::DEFINITION,
    &GitRepository::DEFINITION,
    &HelmChart::DEFINITION,
    &HelmRelease::DEFINITION,
    &HelmRepository::DEFINITION,
    &ImagePolicy::DEFINITION,
    &ImageRepository::DEFINITION,
    &ImageUpdateAutomation::DEFINITION,
    &Kustomization::DEFINITION,
    &OCIRepository::DEFINITION,
    &Provider::DEFINITION,
    &Receiver::DEFINITION,
];

/// The served version of a Flux kind, if `version` is another one.
pub fn successor(group: &str, version: &str, kind: &str) -> Option<&'static str> {
    let known = KINDS.iter().find(|known| known.group == group && known.kind == kind)?;
    (known.version != version).then_some(known.version)
}

#[cfg(test)]
mod tests {
    use super::successor;

    #[test]
    fn only_old_versions_of_flux_have_a_successor() {
        let table = [
            ("source.toolkit.fluxcd.io", "v1beta2", "OCIRepository", Some("v1")),
            ("source.toolkit.fluxcd.io", "v1", "OCIRepository", None),
            ("image.toolkit.fluxcd.io", "v1beta2", "ImagePolicy", Some("v1")),
            ("helm.toolkit.fluxcd.io", "v2beta1", "HelmRelease", Some("v2")),
            ("notification.toolkit.fluxcd.io", "v1beta3", "Alert", None),
            ("source.toolkit.fluxcd.io", "v1beta2", "Kustomization", None),
            ("extensions", "v1beta1", "Deployment", None),
        ];
        for (group, version, kind, expected) in table {
            assert_eq!(successor(group, version, kind), expected, "{kind} {group}/{version}");
        }
    }
}
