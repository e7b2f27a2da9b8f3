//! The rights of the controllers' accounts, as data: roles are written from it, `docs/rights.md` is, and a test runs
//! every kind with exactly these rights and finds each of them used.

use serde_json::{Value, json};

use super::plan::{Component, Plan};

/// Verbs on resources of a group, and their purpose.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Right {
    /// The API group; empty for the core group.
    pub(crate) group: &'static str,
    pub(crate) resources: &'static [&'static str],
    pub(crate) verbs: &'static [&'static str],
    /// The purpose.
    #[cfg_attr(not(test), expect(dead_code, reason = "a test writes it into docs/rights.md"))]
    pub(crate) why: &'static str,
    /// The installations that have it.
    pub(crate) when: When,
    pub(crate) place: Place,
}

/// The installations that have a right.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum When {
    /// Those that run this component.
    Runs(Component),
    /// Those that run this component, and source-watcher anywhere.
    RunsWithWatcher(Component),
    /// Those that run this component with `--workload-identity`.
    RunsWithTokens(Component),
}

/// The scope of a right.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// In all watched namespaces.
    Watched,
    /// In the namespace of the controllers.
    Own,
}

use Component::{Kustomize, Source, Watcher};

const FLUX_SOURCES: &str = "source.toolkit.fluxcd.io";
const FLUX_EXTENSIONS: &str = "source.extensions.fluxcd.io";
const FLUX_KUSTOMIZE: &str = "kustomize.toolkit.fluxcd.io";

const READ: &[&str] = &["get", "list", "watch"];

/// Every right of every controller.
pub(crate) const RIGHTS: &[Right] = &[
    // Fetching.
    right(
        FLUX_SOURCES,
        &["buckets", "gitrepositories", "ocirepositories"],
        &["get", "list", "patch", "watch"],
        "the sources; patch for finalizers, get after a lost race",
        When::Runs(Source),
    ),
    right(
        FLUX_SOURCES,
        &["buckets/status", "gitrepositories/status", "ocirepositories/status"],
        &["patch"],
        "conditions and artifacts of the sources",
        When::Runs(Source),
    ),
    right(
        "",
        &["secrets"],
        READ,
        "credentials and keys that a source names; only metadata is watched",
        When::Runs(Source),
    ),
    right(
        "",
        &["serviceaccounts"],
        &["get"],
        "image pull secrets of the account that an OCIRepository names",
        When::Runs(Source),
    ),
    // Composing.
    right(
        FLUX_EXTENSIONS,
        &["artifactgenerators"],
        &["get", "list", "patch", "watch"],
        "the generators; patch for finalizers, get after a lost race",
        When::Runs(Watcher),
    ),
    right(
        FLUX_EXTENSIONS,
        &["artifactgenerators/status"],
        &["patch"],
        "conditions and inventories of the generators",
        When::Runs(Watcher),
    ),
    right(
        FLUX_SOURCES,
        &["externalartifacts"],
        &["create", "delete", "get", "list", "patch", "watch"],
        "what the generators make",
        When::Runs(Watcher),
    ),
    right(
        FLUX_SOURCES,
        &["externalartifacts/status"],
        &["patch"],
        "the artifacts that the generators made",
        When::Runs(Watcher),
    ),
    right(
        FLUX_SOURCES,
        &["buckets", "gitrepositories", "helmcharts", "ocirepositories"],
        &["list", "watch"],
        "the sources that artifacts are composed of",
        When::Runs(Watcher),
    ),
    // Applying.
    right(
        FLUX_KUSTOMIZE,
        &["kustomizations"],
        &["get", "list", "patch", "watch"],
        "the Kustomizations; patch for finalizers, get after a lost race",
        When::Runs(Kustomize),
    ),
    right(
        FLUX_KUSTOMIZE,
        &["kustomizations/status"],
        &["patch"],
        "conditions and inventories of Kustomizations",
        When::Runs(Kustomize),
    ),
    right(
        FLUX_SOURCES,
        &["buckets", "gitrepositories", "ocirepositories"],
        &["list", "watch"],
        "the sources that Kustomizations build from",
        When::Runs(Kustomize),
    ),
    right(
        FLUX_SOURCES,
        &["externalartifacts"],
        &["list", "watch"],
        "the composed artifacts that Kustomizations build from",
        When::RunsWithWatcher(Kustomize),
    ),
    right(
        "",
        &["configmaps", "secrets"],
        READ,
        "values to substitute, decryption keys, kubeconfigs; only metadata is watched",
        When::Runs(Kustomize),
    ),
    right(
        "",
        &["serviceaccounts"],
        &["get", "impersonate"],
        "applying as the account of a Kustomization, and whether it is still there",
        When::Runs(Kustomize),
    ),
    // All controllers.
    right(
        "",
        &["events"],
        &["create", "patch"],
        "events; patch counts repetitions",
        When::Runs(Source),
    ),
    right(
        "",
        &["events"],
        &["create", "patch"],
        "events; patch counts repetitions",
        When::Runs(Watcher),
    ),
    right(
        "",
        &["events"],
        &["create", "patch"],
        "events; patch counts repetitions",
        When::Runs(Kustomize),
    ),
    Right {
        place: Place::Own,
        ..right(
            "coordination.k8s.io",
            &["leases"],
            &["create", "get", "update"],
            "leader election",
            When::Runs(Source),
        )
    },
    Right {
        place: Place::Own,
        ..right(
            "coordination.k8s.io",
            &["leases"],
            &["create", "get", "update"],
            "leader election",
            When::Runs(Watcher),
        )
    },
    Right {
        place: Place::Own,
        ..right(
            "coordination.k8s.io",
            &["leases"],
            &["create", "get", "update"],
            "leader election",
            When::Runs(Kustomize),
        )
    },
    // Tokens, if they are requested.
    right(
        "",
        &["serviceaccounts/token"],
        &["create"],
        "tokens of accounts that objects name, for clouds and other clusters",
        When::RunsWithTokens(Source),
    ),
    right(
        "",
        &["serviceaccounts/token"],
        &["create"],
        "tokens of accounts that objects name, for clouds and other clusters",
        When::RunsWithTokens(Kustomize),
    ),
];

const fn right(
    group: &'static str,
    resources: &'static [&'static str],
    verbs: &'static [&'static str],
    why: &'static str,
    when: When,
) -> Right {
    Right { group, resources, verbs, why, when, place: Place::Watched }
}

impl When {
    /// The component that has the right.
    pub(crate) fn component(self) -> Component {
        match self {
            Self::Runs(component)
            | Self::RunsWithWatcher(component)
            | Self::RunsWithTokens(component) => component,
        }
    }

    fn holds(self, plan: &Plan) -> bool {
        match self {
            Self::Runs(_) => true,
            Self::RunsWithWatcher(_) => plan.watches_sources(),
            Self::RunsWithTokens(_) => plan.workload_identity,
        }
    }
}

/// The rights of these components in an installation, in one scope.
pub(crate) fn rights<'a>(
    plan: &'a Plan,
    components: &'a [Component],
    place: Place,
) -> impl Iterator<Item = &'static Right> + 'a {
    RIGHTS.iter().filter(move |right| {
        right.place == place
            && components.contains(&right.when.component())
            && right.when.holds(plan)
    })
}

/// Rights as the rules of a role: one for each group and resource, with all verbs, in order.
pub(super) fn rules<'a>(rights: impl Iterator<Item = &'a Right>) -> Value {
    let mut verbs: std::collections::BTreeMap<(&str, &str), std::collections::BTreeSet<&str>> =
        std::collections::BTreeMap::new();
    for right in rights {
        for resource in right.resources {
            verbs.entry((right.group, resource)).or_default().extend(right.verbs);
        }
    }
    let rule = |((group, resource), verbs)| json!({"apiGroups": [group], "resources": [resource], "verbs": verbs});
    verbs.into_iter().map(rule).collect()
}
