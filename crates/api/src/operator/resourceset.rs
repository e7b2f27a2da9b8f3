//! ResourceSet: a group of objects made from templates and inputs.

use std::collections::BTreeMap;

use serde_json::{Map, Value};
use sluice_base::duration::GoDuration;

use crate::crd::{Column, Definition, kind};
use crate::schema::{DURATION, choice, object};
use crate::shared::condition::Condition;
use crate::shared::inventory::{ResourceInventory, Snapshot};
use crate::shared::kustomize::CommonMetadata;
use crate::shared::selector::LabelSelector;

kind! {
    /// A group of objects made from templates and inputs.
    pub struct ResourceSet {
        pub spec: ResourceSetSpec,
        pub status: Option<ResourceSetStatus>,
    }

    Definition {
        group: super::GROUP,
        version: "v1",
        kind: "ResourceSet",
        plural: "resourcesets",
        short_names: &["rset"],
        categories: &["all", "fluxcd", "fluxcd-appliers"],
        columns: &[
            Column::AGE,
            Column::READY,
            Column::MESSAGE,
        ],
        status: true,
        substitute: true,
    }
}

object! {
    /// Templates, inputs, and how to apply the result.
    #[schema(
        rules = [
            (
                "!has(self.steps) || (!has(self.resources) && !has(self.resourcesTemplate))",
                "steps is mutually exclusive with resources and resourcesTemplate",
            ),
            (
                "has(self.steps) || has(self.resources) || has(self.resourcesTemplate)",
                "at least one of steps, resources or resourcesTemplate must be set",
            ),
        ],
    )]
    pub struct ResourceSetSpec {
        /// Labels and annotations for every object that is applied.
        pub common_metadata: Option<CommonMetadata>,
        /// Objects that must be ready first.
        pub depends_on: Option<Vec<ResourceDependency>>,
        /// How inputs of several providers are combined.
        pub input_strategy: Option<InputStrategy>,
        /// Sets of inputs, as they are.
        pub inputs: Option<Vec<BTreeMap<String, Value>>>,
        /// Providers of inputs.
        pub inputs_from: Option<Vec<InputProviderReference>>,
        /// Objects to apply, as templates.
        pub resources: Option<Vec<Map<String, Value>>>,
        /// A template of a YAML stream of objects to apply.
        pub resources_template: Option<String>,
        /// Service account to act as.
        pub service_account_name: Option<String>,
        /// Steps, each applied and healthy before the next.
        #[schema(
            min_items = 1,
            max_items = 20,
            rules = [
                (
                    "self.all(s, self.exists_one(t, t.name == s.name))",
                    "step names must be unique",
                ),
            ],
        )]
        pub steps: Option<Vec<ResourceSetStep>>,
        /// Whether to wait until everything applied is healthy.
        pub wait: Option<bool>,
    }
}

object! {
    /// How inputs are combined.
    #[schema(
        rules = [
            (
                "!has(self.includeEmptyProviders) || self.name == 'Permute'",
                "includeEmptyProviders only applies when name is Permute",
            ),
        ],
    )]
    pub struct InputStrategy {
        /// Whether a provider without inputs leaves no combination at all.
        pub include_empty_providers: Option<bool>,
        /// The strategy.
        pub name: InputStrategyName,
    }
}

object! {
    /// A provider of inputs, by name or by labels.
    #[schema(
        rules = [
            (
                "has(self.name) || has(self.selector)",
                "at least one of name or selector must be set for input provider references",
            ),
            (
                "!has(self.name) || !has(self.selector)",
                "cannot set both name and selector for input provider references",
            ),
        ],
    )]
    pub struct InputProviderReference {
        /// Group and version of the object.
        pub api_version: Option<InputProviderApiVersion>,
        /// Kind of the object.
        pub kind: Option<InputProviderKind>,
        /// Name of the provider.
        pub name: Option<String>,
        /// Labels of the providers.
        pub selector: Option<LabelSelector>,
    }
}

object! {
    /// A step.
    #[schema(
        rules = [
            (
                "has(self.resources) || has(self.resourcesTemplate)",
                "at least one of resources or resourcesTemplate must be set",
            ),
        ],
    )]
    pub struct ResourceSetStep {
        /// Name of the step.
        #[schema(pattern = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", max_length = 63)]
        pub name: String,
        /// Objects to apply, as templates.
        pub resources: Option<Vec<Map<String, Value>>>,
        /// A template of a YAML stream of objects to apply.
        pub resources_template: Option<String>,
        /// How long the step may take.
        #[schema(pattern = DURATION)]
        pub timeout: Option<GoDuration>,
    }
}

object! {
    /// An object that must be there, or ready, first.
    pub struct ResourceDependency {
        /// Group and version of the object.
        pub api_version: String,
        /// Kind of the object.
        pub kind: String,
        /// Name of the object.
        pub name: String,
        /// Namespace of the object; the referrer's own when absent.
        pub namespace: Option<String>,
        /// Whether it must be ready and not only there.
        pub ready: Option<bool>,
        /// CEL expression that decides readiness.
        pub ready_expr: Option<String>,
    }
}

object! {
    /// Observed state.
    pub struct ResourceSetStatus {
        /// The conditions, one per type.
        pub conditions: Option<Vec<Condition>>,
        /// ConfigMaps and Secrets of others that checksums were made of.
        pub external_checksum_refs: Option<Vec<String>>,
        /// The last distinct reconciliations, newest first.
        pub history: Option<Vec<Snapshot>>,
        /// The objects that were applied last.
        pub inventory: Option<ResourceInventory>,
        /// Digest of what was last applied.
        pub last_applied_revision: Option<String>,
        /// Last handled value of the reconcile request annotation.
        pub last_handled_reconcile_at: Option<String>,
    }
}

choice! {
    /// How inputs are combined.
    pub enum InputStrategyName {
        Flatten = "Flatten",
        Permute = "Permute",
    }
}

choice! {
    /// The API version of input providers.
    pub enum InputProviderApiVersion {
        V1 = "fluxcd.controlplane.io/v1",
    }
}

choice! {
    /// The kind of input providers.
    pub enum InputProviderKind {
        ResourceSetInputProvider = "ResourceSetInputProvider",
    }
}
