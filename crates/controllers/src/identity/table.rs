//! Which request to an API server is made with which identity, as data.
//!
//! `docs/identities.md` is made from it, and `tests/suite/audit.rs` holds every request of a scenario with
//! tenants against it: a request that no row covers fails, and so does a row that is never seen.

use std::fmt::Write as _;

/// Whose rights decide about a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Actor {
    /// The controllers' own service account.
    Controllers,
    /// The service account that a Kustomization acts as, by impersonation: `spec.serviceAccountName`, or else
    /// `--default-service-account`. Where neither is set, the controllers.
    Applier,
    /// Either: what is asked for is no secret, and the answer is shared.
    Anyone,
}

impl Actor {
    const fn name(self) -> &'static str {
        match self {
            Self::Controllers => "controllers",
            Self::Applier => "applying account, by impersonation",
            Self::Anyone => "controllers, or the applying account",
        }
    }
}

/// What a request is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// Resources as `group/resource` or `group/resource/subresource`; the core group is empty.
    Resources(&'static [&'static str]),
    /// One object that a Kustomization applies, or did, whatever its kind.
    AppliedObject,
    /// Objects of a kind that a Kustomization applies, and their pods, in one namespace.
    AppliedKindInNamespace,
    /// Metadata of all objects of a kind that a Kustomization applies.
    AppliedKindEverywhere,
    /// One object that `sluice.dev/depends-on` names, whatever its kind.
    Dependency,
    /// Paths that are no resources: which kinds there are.
    Discovery,
}

/// A row of the table.
#[derive(Debug, Clone, Copy)]
pub struct Row {
    /// What the request is made for.
    pub purpose: &'static str,
    /// Verbs of the API.
    pub verbs: &'static [&'static str],
    /// What it is about.
    pub target: Target,
    /// Whose rights decide.
    pub actor: Actor,
}

const SOURCES: &str = "source.toolkit.fluxcd.io";

/// Every request that the controllers make to the cluster that they run on, and to those that they apply to.
pub const TABLE: &[Row] = &[
    Row {
        purpose: "watch the objects that are reconciled",
        verbs: &["list", "watch"],
        target: Target::Resources(&[
            "source.toolkit.fluxcd.io/gitrepositories",
            "source.toolkit.fluxcd.io/ocirepositories",
            "source.toolkit.fluxcd.io/buckets",
            "source.toolkit.fluxcd.io/helmcharts",
            "source.toolkit.fluxcd.io/externalartifacts",
            "source.extensions.fluxcd.io/artifactgenerators",
            "kustomize.toolkit.fluxcd.io/kustomizations",
        ]),
        actor: Actor::Controllers,
    },
    Row {
        purpose: "write their status",
        verbs: &["patch"],
        target: Target::Resources(&[
            "source.toolkit.fluxcd.io/gitrepositories/status",
            "source.toolkit.fluxcd.io/ocirepositories/status",
            "source.toolkit.fluxcd.io/buckets/status",
            "source.toolkit.fluxcd.io/externalartifacts/status",
            "source.extensions.fluxcd.io/artifactgenerators/status",
            "kustomize.toolkit.fluxcd.io/kustomizations/status",
        ]),
        actor: Actor::Controllers,
    },
    Row {
        purpose: "add and remove their finalizers",
        verbs: &["patch"],
        target: Target::Resources(&[
            "source.toolkit.fluxcd.io/gitrepositories",
            "source.toolkit.fluxcd.io/ocirepositories",
            "source.toolkit.fluxcd.io/buckets",
            "source.extensions.fluxcd.io/artifactgenerators",
            "kustomize.toolkit.fluxcd.io/kustomizations",
        ]),
        actor: Actor::Controllers,
    },
    Row {
        purpose: "offer what an ArtifactGenerator makes",
        verbs: &["get", "create", "patch", "delete"],
        target: Target::Resources(&["source.toolkit.fluxcd.io/externalartifacts"]),
        actor: Actor::Controllers,
    },
    Row {
        purpose: "watch the metadata of ConfigMaps and Secrets, to wake objects that refer to them",
        verbs: &["list", "watch"],
        target: Target::Resources(&["/configmaps", "/secrets"]),
        actor: Actor::Controllers,
    },
    Row {
        purpose: "read what an object refers to in its own namespace: credentials, keys, variables, kubeconfigs",
        verbs: &["get"],
        target: Target::Resources(&["/configmaps", "/secrets"]),
        actor: Actor::Controllers,
    },
    Row {
        purpose: "read service accounts: whether one is there, its annotations, its pull secrets",
        verbs: &["get"],
        target: Target::Resources(&["/serviceaccounts"]),
        actor: Actor::Controllers,
    },
    Row {
        purpose: "get a token of a service account for another cluster, a cloud or a Vault",
        verbs: &["create"],
        target: Target::Resources(&["/serviceaccounts/token"]),
        actor: Actor::Controllers,
    },
    Row {
        purpose: "make sure that such a token is not good for this cluster's own API server",
        verbs: &["create"],
        target: Target::Resources(&["authentication.k8s.io/tokenreviews"]),
        actor: Actor::Controllers,
    },
    Row {
        purpose: "report events",
        verbs: &["create", "patch"],
        target: Target::Resources(&["/events"]),
        actor: Actor::Controllers,
    },
    Row {
        purpose: "elect a leader",
        verbs: &["get", "create", "update"],
        target: Target::Resources(&["coordination.k8s.io/leases"]),
        actor: Actor::Controllers,
    },
    Row {
        purpose: "watch what changes the answer of a dry run: definitions and webhooks",
        verbs: &["list", "watch"],
        target: Target::Resources(&[
            "apiextensions.k8s.io/customresourcedefinitions",
            "admissionregistration.k8s.io/mutatingwebhookconfigurations",
            "admissionregistration.k8s.io/validatingwebhookconfigurations",
        ]),
        actor: Actor::Controllers,
    },
    Row {
        purpose: "find out which kinds there are",
        verbs: &["get"],
        target: Target::Discovery,
        actor: Actor::Anyone,
    },
    Row {
        purpose: "read, apply and prune the objects of a Kustomization, dry runs included",
        verbs: &["get", "patch", "delete"],
        target: Target::AppliedObject,
        actor: Actor::Applier,
    },
    Row {
        purpose: "wait for the health of applied objects",
        verbs: &["list", "watch"],
        target: Target::AppliedKindInNamespace,
        actor: Actor::Applier,
    },
    Row {
        purpose: "watch applied objects for drift, on the own cluster",
        verbs: &["list", "watch"],
        target: Target::AppliedKindEverywhere,
        actor: Actor::Controllers,
    },
    Row {
        purpose: "look at dependencies by annotation",
        verbs: &["get"],
        target: Target::Dependency,
        actor: Actor::Applier,
    },
    Row {
        purpose: "ask whether another Kustomization may apply an object, before it is handed over",
        verbs: &["create"],
        target: Target::Resources(&["authorization.k8s.io/selfsubjectaccessreviews"]),
        actor: Actor::Applier,
    },
];

impl Row {
    /// Whether the row is about a request for a resource by its group and name.
    pub fn covers(&self, verb: &str, target: Target, resource: &str) -> bool {
        let is_target = match (self.target, target) {
            (Target::Resources(all), Target::Resources(_)) => all.contains(&resource),
            (own, asked) => own == asked,
        };
        is_target && self.verbs.contains(&verb)
    }
}

/// The table as Markdown.
pub fn markdown() -> String {
    let mut out = String::from("| what for | verbs | of what | identity |\n|---|---|---|---|\n");
    for row in TABLE {
        let target = match row.target {
            Target::Resources(all) => {
                let shown = all.iter().map(|it| format!("`{}`", it.trim_start_matches('/')));
                shown.collect::<Vec<_>>().join(", ").replace(&format!("{SOURCES}/"), "")
            }
            Target::AppliedObject => "an applied object of any kind".to_owned(),
            Target::AppliedKindInNamespace => {
                "a kind that is applied, and pods, in one namespace".to_owned()
            }
            Target::AppliedKindEverywhere => {
                "metadata of a kind that is applied, in all namespaces".to_owned()
            }
            Target::Dependency => "an object of any kind".to_owned(),
            Target::Discovery => "`/api`, `/apis`, …".to_owned(),
        };
        let (purpose, verbs, actor) = (row.purpose, row.verbs.join(", "), row.actor.name());
        let _ = writeln!(out, "| {purpose} | {verbs} | {target} | {actor} |");
    }
    out
}
