//! The kinds of Flux, one row each: names on the command line, columns, supported commands.
//!
//! The commands use this table and know no kind by name, except where Flux treats one specially.

mod columns;
mod retype;
mod success;
mod target;

use serde_json::Value;
use sluice_api::crd::{CustomResource as _, Definition};

pub(crate) use columns::{Column, condition, shorten_digests, text_at};
pub(crate) use target::{Delete, Export, Get, Reconcile, Resume, Suspend, Target, What};

/// Kinds below a common name, as in `get sources git`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Family {
    Source,
    Image,
    Artifact,
}

impl Family {
    /// The name, in the plural of `get`, or in the singular of the other commands.
    fn word(self, plural: bool) -> &'static str {
        match (self, plural) {
            (Self::Source, true) => "sources",
            (Self::Source, false) => "source",
            (Self::Image, true) => "images",
            (Self::Image, false) => "image",
            (Self::Artifact, true) => "artifacts",
            (Self::Artifact, false) => "artifact",
        }
    }
}

/// The commands that a kind supports beside `get`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verb {
    Get,
    Export,
    Delete,
    Suspend,
    Resume,
    Reconcile,
}

/// How the readiness of an object is determined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Readiness {
    /// By its conditions.
    Conditions,
    /// Not at all: the kind has no controller, and this text is shown.
    Always(&'static str),
    /// Not at all for a registry, by its conditions otherwise.
    UnlessRegistry(&'static str),
}

/// What is shortened in tables: digests, to eight characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shorten {
    Nothing,
    Message,
    RevisionAndMessage,
}

/// A kind of Flux.
pub(crate) struct Kind {
    /// Group, version, kind and plural.
    pub(crate) definition: Definition,
    family: Option<Family>,
    /// The names on the command line: the first for one object, the second in `get`.
    words: &'static [&'static str],
    /// The name in messages.
    pub(crate) human: &'static str,
    /// The columns between name and readiness.
    pub(crate) columns: &'static [Column],
    shorten: Shorten,
    /// How the readiness of an object is determined.
    pub(crate) readiness: Readiness,
    verbs: &'static [Verb],
    /// Whether `export` finds its credentials.
    pub(crate) has_secret: bool,
    /// An object as Flux's Go types write it.
    pub(crate) retype: fn(&Value) -> Result<Value, serde_json::Error>,
    /// The message after a reconciliation.
    pub(crate) success: fn(&Value) -> String,
}

impl Kind {
    /// The kind's own name.
    pub(crate) fn name(&self) -> &'static str {
        self.definition.kind
    }

    /// The common name that it is below.
    pub(crate) fn family(&self) -> Option<Family> {
        self.family
    }

    /// Whether a command supports this kind.
    pub(crate) fn takes(&self, verb: Verb) -> bool {
        self.verbs.contains(&verb)
    }

    /// Whether the object has no controller.
    pub(crate) fn is_static(&self, object: &Value) -> bool {
        match self.readiness {
            Readiness::Conditions => false,
            Readiness::Always(_) => true,
            Readiness::UnlessRegistry(_) => text_at(object, "/spec/type") == "oci",
        }
    }

    /// The status of the Ready condition and its message, as tables show them.
    pub(crate) fn ready(&self, object: &Value) -> (String, String) {
        let (status, message) = match self.readiness {
            Readiness::Always(message) => ("True", message),
            Readiness::UnlessRegistry(message) if self.is_static(object) => ("True", message),
            _ => match condition(object, "Ready") {
                Some(ready) => (text_at(ready, "/status"), text_at(ready, "/message")),
                None => ("False", "waiting to be reconciled"),
            },
        };
        let message = match self.shorten {
            Shorten::Nothing => message.to_owned(),
            Shorten::Message | Shorten::RevisionAndMessage => shorten_digests(message),
        };
        (status.to_owned(), message)
    }

    /// Whether the object is suspended.
    pub(crate) fn is_suspended(&self, object: &Value) -> bool {
        if self.family == Some(Family::Artifact) {
            let annotation = object
                .pointer("/metadata/annotations")
                .and_then(|all| all.get(sluice_api::names::annotations::GENERATOR_RECONCILE));
            return annotation
                .and_then(Value::as_str)
                .is_some_and(|value| value.eq_ignore_ascii_case(sluice_api::names::DISABLED));
        }
        object.pointer("/spec/suspend").and_then(Value::as_bool).unwrap_or_default()
    }

    fn shortens_revision(&self) -> bool {
        self.shorten == Shorten::RevisionAndMessage
    }
}

/// The kind with a name, whatever its case.
pub(crate) fn named(name: &str) -> Option<&'static Kind> {
    KINDS.iter().find(|kind| kind.name().eq_ignore_ascii_case(name))
}

/// The kind with a name or an alias.
pub(crate) fn worded(word: &str) -> Option<&'static Kind> {
    let typed = |kind: &&Kind| kind.words.contains(&word);
    named(word).or_else(|| KINDS.iter().find(typed))
}

macro_rules! rows {
    ($($type:ident { $($field:ident: $value:expr),* $(,)? })*) => {
        &[$(Kind {
            definition: sluice_api::$type::DEFINITION,
            retype: retype::as_go::<sluice_api::$type>,
            $($field: $value),*
        }),*]
    };
}

use Column::{Image, LastRun, LastScan, Reference, Revision, Suspended, Tag};
use Verb::{Delete as D, Export as E, Get as G, Reconcile as C, Resume as R, Suspend as S};

const REVISION: &[Column] = &[Revision("/status/artifact/revision"), Suspended];

/// All kinds, in the order of `get all`.
pub(crate) static KINDS: &[Kind] = rows! {
    OCIRepository {
        family: Some(Family::Source),
        words: &["oci"],
        human: "source oci",
        columns: REVISION,
        shorten: Shorten::RevisionAndMessage,
        readiness: Readiness::Conditions,
        verbs: &[G, E, D, S, R, C],
        has_secret: true,
        success: success::fetched,
    }
    Bucket {
        family: Some(Family::Source),
        words: &["bucket"],
        human: "source bucket",
        columns: REVISION,
        shorten: Shorten::RevisionAndMessage,
        readiness: Readiness::Conditions,
        verbs: &[G, E, D, S, R, C],
        has_secret: true,
        success: success::fetched,
    }
    GitRepository {
        family: Some(Family::Source),
        words: &["git"],
        human: "source git",
        columns: REVISION,
        shorten: Shorten::RevisionAndMessage,
        readiness: Readiness::Conditions,
        verbs: &[G, E, D, S, R, C],
        has_secret: true,
        success: success::fetched,
    }
    HelmRepository {
        family: Some(Family::Source),
        words: &["helm"],
        human: "source helm",
        columns: REVISION,
        shorten: Shorten::RevisionAndMessage,
        readiness: Readiness::UnlessRegistry("Helm repository is Ready"),
        verbs: &[G, E, D, S, R, C],
        has_secret: true,
        success: success::helm_repository,
    }
    HelmChart {
        family: Some(Family::Source),
        words: &["chart"],
        human: "source chart",
        columns: REVISION,
        shorten: Shorten::Message,
        readiness: Readiness::Conditions,
        verbs: &[G, E, D, S, R, C],
        has_secret: false,
        success: success::fetched,
    }
    ExternalArtifact {
        family: Some(Family::Source),
        words: &["external"],
        human: "source external-artifact",
        columns: &[Revision("/status/artifact/revision"), Column::Origin],
        shorten: Shorten::RevisionAndMessage,
        readiness: Readiness::Conditions,
        verbs: &[G, E],
        has_secret: false,
        success: success::fetched,
    }
    ImageRepository {
        family: Some(Family::Image),
        words: &["repository"],
        human: "image repository",
        columns: &[LastScan, Suspended],
        shorten: Shorten::Nothing,
        readiness: Readiness::Conditions,
        verbs: &[G, E, D, S, R, C],
        has_secret: false,
        success: success::scanned,
    }
    ImagePolicy {
        family: Some(Family::Image),
        words: &["policy"],
        human: "image policy",
        columns: &[Image, Tag],
        shorten: Shorten::Nothing,
        readiness: Readiness::Conditions,
        verbs: &[G, E, D, S, R, C],
        has_secret: false,
        success: success::selected,
    }
    ImageUpdateAutomation {
        family: Some(Family::Image),
        words: &["update"],
        human: "image update automation",
        columns: &[LastRun, Suspended],
        shorten: Shorten::Nothing,
        readiness: Readiness::Conditions,
        verbs: &[G, E, D, S, R, C],
        has_secret: false,
        success: success::automated,
    }
    HelmRelease {
        family: None,
        words: &["helmrelease", "helmreleases", "hr"],
        human: "helmrelease",
        columns: &[Reference, Column::Release, Suspended],
        shorten: Shorten::Nothing,
        readiness: Readiness::Conditions,
        verbs: &[G, E, D, S, R, C],
        has_secret: false,
        success: success::released,
    }
    Kustomization {
        family: None,
        words: &["kustomization", "kustomizations", "ks"],
        human: "kustomization",
        columns: &[Reference, Revision("/status/lastAppliedRevision"), Suspended],
        shorten: Shorten::RevisionAndMessage,
        readiness: Readiness::Conditions,
        verbs: &[G, E, D, S, R, C],
        has_secret: false,
        success: success::applied,
    }
    Receiver {
        family: None,
        words: &["receiver", "receivers"],
        human: "receiver",
        columns: &[Suspended],
        shorten: Shorten::Nothing,
        readiness: Readiness::Conditions,
        verbs: &[G, E, D, S, R, C],
        has_secret: false,
        success: success::completed,
    }
    Provider {
        family: None,
        words: &["alert-provider", "alert-providers"],
        human: "alert provider",
        columns: &[],
        shorten: Shorten::Nothing,
        readiness: Readiness::Always("Provider is Ready"),
        verbs: &[G, E, D, S, R],
        has_secret: false,
        success: success::completed,
    }
    Alert {
        family: None,
        words: &["alert", "alerts"],
        human: "alert",
        columns: &[Suspended],
        shorten: Shorten::Nothing,
        readiness: Readiness::Always("Alert is Ready"),
        verbs: &[G, E, D, S, R],
        has_secret: false,
        success: success::completed,
    }
    ArtifactGenerator {
        family: Some(Family::Artifact),
        words: &["generator", "generators"],
        human: "artifactgenerator",
        columns: &[Suspended],
        shorten: Shorten::Nothing,
        readiness: Readiness::Conditions,
        verbs: &[G, E],
        has_secret: false,
        success: success::completed,
    }
};

#[cfg(test)]
mod tests {
    use super::{KINDS, named, worded};

    #[test]
    fn every_kind_is_found_by_its_name_and_its_words() {
        for kind in KINDS {
            assert_eq!(
                named(&kind.name().to_uppercase()).map(super::Kind::name),
                Some(kind.name())
            );
            for word in kind.words {
                assert_eq!(worded(word).map(super::Kind::name), Some(kind.name()), "{word}");
            }
        }
        assert!(worded("deployment").is_none());
    }
}
