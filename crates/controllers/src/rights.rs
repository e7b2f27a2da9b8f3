//! Rights of the controllers on the cluster, as data: roles and `docs/rights.md` are written from it, and a test runs
//! every kind with exactly these rights and finds each of them used.

use std::slice;

use crate::table::{Controller, KINDS, ReconciledKind};

/// Verbs on resources of a group, and what they are for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Right {
    /// The API group; empty for the core group.
    pub group: &'static str,
    /// Names of resources.
    pub resources: &'static [&'static str],
    /// The subresource of them; empty for the objects themselves.
    pub subresource: &'static str,
    /// What may be done with them.
    pub verbs: &'static [&'static str],
    /// What the controllers do with it.
    pub why: &'static str,
    /// Which installations have it, of those that run the controller.
    pub when: When,
    /// Where it counts.
    pub place: Place,
}

/// Which installations have a right.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// All that run the controller.
    Always,
    /// Those that run another controller too, in whatever Deployment.
    With(Controller),
    /// Those with `--workload-identity`.
    WithTokens,
}

/// Where a right counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// In all namespaces that are watched.
    Watched,
    /// In the namespace of the controllers.
    Own,
}

/// To read objects and to watch them.
pub(crate) const READ: &[&str] = &["get", "list", "watch"];
/// To watch objects that another controller writes.
pub(crate) const WATCH: &[&str] = &["list", "watch"];

/// Tokens of service accounts, for clouds and other clusters.
pub(crate) const TOKENS: Right = Right {
    subresource: "token",
    when: When::WithTokens,
    ..Right::new(
        "",
        &["serviceaccounts"],
        &["create"],
        "tokens of accounts that objects name, for clouds and other clusters",
    )
};

/// Rights that every controller has.
const SHARED: [Right; 2] = [
    Right::new("", &["events"], &["create", "patch"], "events; patch counts repetitions"),
    Right {
        place: Place::Own,
        ..Right::new(
            "coordination.k8s.io",
            &["leases"],
            &["create", "get", "update"],
            "leader election",
        )
    },
];

impl Right {
    /// A right in all namespaces that are watched.
    pub(crate) const fn new(
        group: &'static str,
        resources: &'static [&'static str],
        verbs: &'static [&'static str],
        why: &'static str,
    ) -> Self {
        let (subresource, when, place) = ("", When::Always, Place::Watched);
        Self { group, resources, subresource, verbs, why, when, place }
    }

    /// The resources as roles name them: `pods`, or `pods/status`.
    pub fn resource_names(&self) -> impl Iterator<Item = String> {
        let Self { resources, subresource, .. } = *self;
        resources.iter().map(move |resource| match subresource {
            "" => (*resource).to_owned(),
            subresource => format!("{resource}/{subresource}"),
        })
    }
}

/// Every right of a controller: on the kinds that it reconciles, what these need besides, events and leases.
pub fn rights_of(controller: Controller) -> Vec<Right> {
    let mut rights: Vec<Right> = Vec::new();
    for kind in KINDS.iter().filter(|kind| kind.controller == controller) {
        for right in own(kind).into_iter().chain(kind.rights.iter().copied()) {
            if !rights.contains(&right) {
                rights.push(right);
            }
        }
    }
    rights.extend(SHARED);
    rights
}

/// The rights on the objects that are reconciled.
fn own(kind: &'static ReconciledKind) -> [Right; 2] {
    let (group, plural) = (kind.definition.group, slice::from_ref(&kind.definition.plural));
    let objects = "its objects; patch for finalizers, get after a lost race";
    let status = Right::new(group, plural, &["patch"], "their conditions and what they made");
    [
        Right::new(group, plural, &["get", "list", "patch", "watch"], objects),
        Right { subresource: "status", ..status },
    ]
}
