//! ArtifactGenerator: composes artifacts from other artifacts.

use crate::crd::{Column, Definition, kind};
use crate::schema::{choice, object};
use crate::shared::condition::Condition;
use crate::shared::kustomize::CommonMetadata;

kind! {
    /// Composes artifacts from other artifacts.
    pub struct ArtifactGenerator {
        pub spec: ArtifactGeneratorSpec,
        pub status: Option<ArtifactGeneratorStatus>,
    }

    Definition {
        group: super::GROUP,
        version: "v1beta1",
        kind: "ArtifactGenerator",
        plural: "artifactgenerators",
        short_names: &["ag"],
        categories: &["all", "fluxcd", "fluxcd-sources"],
        columns: &[
            Column::AGE,
            Column::READY,
            Column::MESSAGE,
        ],
        status: true,
        substitute: false,
    }
}

object! {
    /// Artifacts to compose, and their sources.
    #[schema(
        rules = [
            (
                r"has(self.pathPattern) && size(self.pathPattern) > 0 || self.artifacts.all(a, a.name.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$'))",
                "artifact names must be valid Kubernetes object names when pathPattern is not set",
            ),
        ],
    )]
    pub struct ArtifactGeneratorSpec {
        /// Artifacts to compose.
        #[schema(min_items = 1, max_items = 1000)]
        pub artifacts: Vec<OutputArtifact>,
        /// Labels and annotations for every artifact.
        pub common_metadata: Option<CommonMetadata>,
        /// Pattern of directories in a source; one artifact is composed for each.
        #[schema(pattern = "^@([a-z0-9]([a-z0-9_-]*[a-z0-9])?)/(.*)$", max_length = 1024)]
        pub path_pattern: Option<String>,
        /// The sources to take from.
        #[schema(min_items = 1, max_items = 1000)]
        pub sources: Vec<ArtifactSourceReference>,
    }
}

object! {
    /// A source to take from.
    pub struct ArtifactSourceReference {
        /// The name to use for it here.
        #[schema(pattern = "^[a-z0-9]([a-z0-9_-]*[a-z0-9])?$", max_length = 63)]
        pub alias: String,
        /// Kind of the object.
        pub kind: ArtifactSourceKind,
        /// Name of the object.
        #[schema(pattern = "^[a-z0-9]([a-z0-9-]*[a-z0-9])?$", max_length = 253)]
        pub name: String,
        /// Namespace of the object; the referrer's own when absent.
        #[schema(pattern = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", min_length = 1, max_length = 63)]
        pub namespace: Option<String>,
    }
}

object! {
    /// An artifact to compose.
    pub struct OutputArtifact {
        /// What to copy into it, in order.
        #[schema(min_items = 1)]
        pub copy: Vec<CopyOperation>,
        /// Name of the artifact.
        #[schema(min_length = 1, max_length = 253)]
        pub name: String,
        /// Source of the artifact's origin revision, as `@alias`.
        #[schema(pattern = "^@([a-z0-9]([a-z0-9_-]*[a-z0-9])?)$", max_length = 64)]
        pub origin_revision: Option<String>,
        /// Source of the artifact's revision, as `@alias`; a digest when absent.
        #[schema(pattern = "^@([a-z0-9]([a-z0-9_-]*[a-z0-9])?)$", max_length = 64)]
        pub revision: Option<String>,
    }
}

object! {
    /// Something to copy.
    pub struct CopyOperation {
        /// Patterns of what to leave out.
        #[schema(max_items = 100, items.max_length = 1024)]
        pub exclude: Option<Vec<String>>,
        /// What to copy, as `@alias/pattern`.
        #[schema(
            pattern = "^@([a-z0-9]([a-z0-9_-]*[a-z0-9])?)/(.*)$",
            min_length = 1,
            max_length = 1024,
        )]
        pub from: String,
        /// How to treat existing files.
        pub strategy: Option<CopyStrategy>,
        /// Where to copy to, as `@artifact/path`.
        #[schema(
            pattern = "^@artifact/([^/]{0,1}|[^./][^/]|[.][^./]|[^/]{3,})(/([^/]{0,1}|[^./][^/]|[.][^./]|[^/]{3,}))*$",
            min_length = 1,
            max_length = 1024,
        )]
        pub to: String,
    }
}

object! {
    /// Composed artifacts.
    pub struct ArtifactGeneratorStatus {
        /// The conditions, one per type.
        pub conditions: Option<Vec<Condition>>,
        /// The artifacts that were made.
        pub inventory: Option<Vec<ExternalArtifactReference>>,
        /// Last handled value of the reconcile request annotation.
        pub last_handled_reconcile_at: Option<String>,
        /// Digest over the state of the sources.
        pub observed_sources_digest: Option<String>,
    }
}

object! {
    /// An artifact that was made.
    pub struct ExternalArtifactReference {
        /// Digest of the artifact.
        pub digest: String,
        /// Name of the artifact's file.
        pub filename: String,
        /// Name of the ExternalArtifact.
        pub name: String,
        /// Namespace of the ExternalArtifact.
        pub namespace: String,
    }
}

choice! {
    /// What copying does with what is there.
    pub enum CopyStrategy {
        Overwrite = "Overwrite",
        Merge = "Merge",
        Extract = "Extract",
    }
}

choice! {
    /// Kinds that artifacts are made of.
    pub enum ArtifactSourceKind {
        Bucket = "Bucket",
        GitRepository = "GitRepository",
        OCIRepository = "OCIRepository",
        HelmChart = "HelmChart",
        ExternalArtifact = "ExternalArtifact",
    }
}
