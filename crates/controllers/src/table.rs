//! The kinds that are reconciled, one line each, and the controllers that reconcile them.
//!
//! `serve` wires the kinds in this order; `install` writes Deployments, roles and definitions from the table; leases,
//! events and metrics take their names from it. A new kind is a folder with a [`ReconciledKind`] and a line in [`KINDS`].

use sluice_api::crd::Definition;

use crate::rights::Right;
use crate::run::wiring::Wiring;
use crate::{artifactgenerator, bucket, gitrepository, kustomization, ocirepository};

/// The kinds, those that build from artifacts before those that make them: a source that is watched has to know its
/// users.
pub static KINDS: &[ReconciledKind] = &[
    kustomization::KIND,
    artifactgenerator::KIND,
    gitrepository::KIND,
    ocirepository::KIND,
    bucket::KIND,
];

/// A kind that is reconciled here.
pub struct ReconciledKind {
    /// Its names in the API.
    pub definition: Definition,
    /// The controller that it belongs to.
    pub controller: Controller,
    /// The rights that it needs beside those on its own objects.
    pub rights: &'static [Right],
    /// Starts its watch and, if the controller runs here, its workers.
    pub(crate) wire: fn(&mut Wiring<'_>),
}

/// A controller as Flux ships them: the unit of `--controllers`, of leases, and of the names in events. The order is
/// that of Flux's manifests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Controller {
    /// Makes artifacts of sources.
    Source,
    /// Makes artifacts of artifacts, for ArtifactGenerators.
    Watcher,
    /// Applies Kustomizations.
    Kustomize,
}

/// What is known of a controller.
struct About {
    name: &'static str,
    makes_artifacts: bool,
    applies: bool,
}

impl Controller {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Source, Self::Watcher, Self::Kustomize];

    /// The ones that run by default, as `--controllers` and `--components` take them.
    pub const DEFAULT: &'static str = "source-controller,kustomize-controller";

    const fn about(self) -> About {
        let (name, makes_artifacts, applies) = match self {
            Self::Source => ("source-controller", true, false),
            Self::Watcher => ("source-watcher", true, false),
            Self::Kustomize => ("kustomize-controller", false, true),
        };
        About { name, makes_artifacts, applies }
    }

    /// The name that Flux gives it.
    pub const fn name(self) -> &'static str {
        self.about().name
    }

    /// The controller of that name.
    pub fn find(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|controller| controller.name() == name)
    }

    /// Whether it stores artifacts, so that the process has to serve them.
    pub const fn makes_artifacts(self) -> bool {
        self.about().makes_artifacts
    }

    /// Whether it writes objects of users, so that it needs an account of its own.
    pub const fn applies(self) -> bool {
        self.about().applies
    }

    /// The controller of the kinds of a group.
    pub fn of_group(group: &str) -> Option<Self> {
        KINDS.iter().find(|kind| kind.definition.group == group).map(|kind| kind.controller)
    }
}
