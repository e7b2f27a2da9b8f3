//! Moving an object from one Kustomization to another across commits.
//!
//! A move within one commit needs no help: the old owner keeps the object until the new one has it. Across
//! commits, or sources that do not change together, there is a time at which nobody wants the object. For that
//! time it is marked: `kustomize.toolkit.fluxcd.io/prune: disabled`, which upstream's controllers heed as well,
//! and `sluice.dev/move`, which says for which move. Whoever stops in the middle leaves a marked object behind
//! and nothing worse; doing it again goes on from where things are. That the mark is still there in the end
//! proves that it is the same object and was never deleted.

use kube::Client;
use kube::api::{Api, DynamicObject, Patch, PatchParams};
use kube::discovery::ApiResource;
use serde_json::{Value, json};
use sluice_api::crd::CustomResource as _;
use sluice_api::kustomize::kustomization::Kustomization;
use sluice_api::names::DISABLED;
use sluice_api::names::annotations::KUSTOMIZE_PRUNE;
use sluice_api::names::sluice::MOVE;
use sluice_runtime::key::Key;
use sluice_runtime::status::api_resource;
use sluice_ssa::{Inventory, ObjectId, Owner};

/// The field manager of the marks.
const MANAGER: &str = "sluice-move";

/// A move.
#[derive(Debug, Clone)]
pub struct Move {
    /// Where the object's kind is served.
    pub resource: ApiResource,
    /// The object; without a namespace if its kind has none.
    pub object: Key,
    /// The old owner.
    pub from: Key,
    /// The new owner.
    pub to: Key,
}

/// Why a move cannot be done.
#[derive(Debug, thiserror::Error)]
pub enum MoveError {
    /// Old and new owner are the same.
    #[error("Kustomization {0} is both where it moves from and where it moves to")]
    SameOwner(Key),
    /// Something is not there.
    #[error("{0} not found")]
    NotFound(String),
    /// The object belongs to somebody else.
    #[error("{object} is {owner}, not of Kustomization {from}")]
    NotOwned {
        /// The object.
        object: String,
        /// Whose it is.
        owner: String,
        /// Whose it should be.
        from: Key,
    },
    /// The object is in the middle of another move.
    #[error("{object} is being moved already: {other}")]
    OtherMove {
        /// The object.
        object: String,
        /// The other move.
        other: String,
    },
    /// One of them applies to another cluster.
    #[error("Kustomization {0} applies to another cluster (spec.kubeConfig)")]
    Elsewhere(Key),
    /// The API server said no.
    #[error("cannot {verb} {object}")]
    Api {
        /// What was to be done.
        verb: &'static str,
        /// With what.
        object: String,
        /// What the API server said.
        source: Box<kube::Error>,
    },
}

/// How far a move has come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Progress {
    /// The object bears our marks.
    pub is_marked: bool,
    /// It was kept from pruning by somebody else before.
    pub is_kept_by_others: bool,
    /// The old owner no longer has it in its inventory.
    pub has_left: bool,
    /// The new owner has it in its inventory, and the object bears its labels.
    pub has_arrived: bool,
    /// The new owner is suspended.
    pub is_awaited_suspended: bool,
    /// Where the old owner's manifests are: its source and path.
    pub source: String,
    /// Where the new owner's are.
    pub target: String,
}

impl Progress {
    /// Whether nothing is left to do.
    pub fn is_done(&self) -> bool {
        self.has_left && self.has_arrived && !self.is_marked
    }

    /// Whether both owners have done their part.
    pub fn has_moved(&self) -> bool {
        self.has_left && self.has_arrived
    }
}

impl Move {
    fn name(&self) -> String {
        format!("{}/{}", self.resource.kind, self.object)
    }

    fn text(&self) -> String {
        format!("{} -> {}", self.from, self.to)
    }

    fn id(&self) -> ObjectId {
        ObjectId {
            group: self.resource.group.clone(),
            kind: self.resource.kind.clone(),
            namespace: self.object.namespace.clone(),
            name: self.object.name.clone(),
        }
    }

    fn api(&self, client: &Client) -> Api<DynamicObject> {
        if self.object.namespace.is_empty() {
            Api::all_with(client.clone(), &self.resource)
        } else {
            Api::namespaced_with(client.clone(), &self.object.namespace, &self.resource)
        }
    }

    fn failed(&self, verb: &'static str, error: kube::Error) -> MoveError {
        MoveError::Api { verb, object: self.name(), source: Box::new(error) }
    }

    /// Looks at how things are. Changes nothing.
    pub async fn look(&self, client: &Client) -> Result<Progress, MoveError> {
        if self.from == self.to {
            return Err(MoveError::SameOwner(self.from.clone()));
        }
        let (from, to) = (owner(client, &self.from).await?, owner(client, &self.to).await?);
        for (key, found) in [(&self.from, from.as_ref()), (&self.to, to.as_ref())] {
            if found.is_some_and(|found| found.spec.kube_config.is_some()) {
                return Err(MoveError::Elsewhere(key.clone()));
            }
        }
        // The old owner may be gone by the end of the move; the new one has to be there.
        let to = to.ok_or_else(|| MoveError::NotFound(format!("Kustomization {}", self.to)))?;
        let found = self.api(client).get_opt(&self.object.name).await;
        let found = found.map_err(|error| self.failed("read", error))?;
        let found = found.ok_or_else(|| MoveError::NotFound(self.name()))?;
        let value = serde_json::to_value(&found).unwrap_or(Value::Null);
        let marked = Owner::kustomize().marked(&value).map(|(space, name)| Key::new(space, name));
        let annotations = found.metadata.annotations.unwrap_or_default();
        let mark = annotations.get(MOVE);
        if let Some(other) = mark.filter(|other| **other != self.text()) {
            return Err(MoveError::OtherMove { object: self.name(), other: other.clone() });
        }
        let is_known = [&self.from, &self.to].into_iter().any(|key| marked.as_ref() == Some(key));
        if !is_known {
            return Err(MoveError::NotOwned {
                object: self.name(),
                owner: marked
                    .map_or("nobody's".to_owned(), |key| format!("of Kustomization {key}")),
                from: self.from.clone(),
            });
        }
        let keeps =
            annotations.get(KUSTOMIZE_PRUNE).is_some_and(|it| it.eq_ignore_ascii_case(DISABLED));
        let id = self.id();
        Ok(Progress {
            is_marked: mark.is_some(),
            is_kept_by_others: keeps && mark.is_none(),
            has_left: from.as_ref().is_none_or(|from| !holds(from, &id)),
            has_arrived: holds(&to, &id) && marked.as_ref() == Some(&self.to),
            is_awaited_suspended: to.spec.suspend.unwrap_or(false),
            source: from.as_ref().map(manifests).unwrap_or_default(),
            target: manifests(&to),
        })
    }

    /// Keeps the object from being pruned by anybody. Doing it twice is doing it once.
    pub async fn mark(&self, client: &Client, progress: &Progress) -> Result<(), MoveError> {
        let mut annotations = json!({MOVE: self.text()});
        if !progress.is_kept_by_others {
            annotations[KUSTOMIZE_PRUNE] = DISABLED.into();
        }
        self.annotate(client, "mark", Some(&annotations)).await
    }

    /// Takes the marks away, and only those.
    pub async fn unmark(&self, client: &Client) -> Result<(), MoveError> {
        self.annotate(client, "unmark", None).await
    }

    /// The marks are a field manager's own: applying none takes back what it set, and nothing else.
    async fn annotate(
        &self,
        client: &Client,
        verb: &'static str,
        annotations: Option<&Value>,
    ) -> Result<(), MoveError> {
        let mut object = json!({
            "apiVersion": self.resource.api_version, "kind": self.resource.kind,
            "metadata": {"name": self.object.name},
        });
        if !self.object.namespace.is_empty() {
            object["metadata"]["namespace"] = self.object.namespace.clone().into();
        }
        if let Some(annotations) = annotations {
            object["metadata"]["annotations"] = annotations.clone();
        }
        let params = PatchParams::apply(MANAGER).force();
        let sent = self.api(client).patch(&self.object.name, &params, &Patch::Apply(&object)).await;
        sent.map(drop).map_err(|error| self.failed(verb, error))
    }
}

async fn owner(client: &Client, key: &Key) -> Result<Option<Kustomization>, MoveError> {
    let resource = api_resource(&Kustomization::DEFINITION);
    let api: Api<DynamicObject> = Api::namespaced_with(client.clone(), &key.namespace, &resource);
    let found = api.get_opt(&key.name).await.map_err(|error| MoveError::Api {
        verb: "read",
        object: format!("Kustomization {key}"),
        source: Box::new(error),
    })?;
    Ok(found.and_then(|found| serde_json::from_value(serde_json::to_value(found).ok()?).ok()))
}

fn holds(object: &Kustomization, id: &ObjectId) -> bool {
    let stored = object.status.as_ref().and_then(|status| status.inventory.as_ref());
    let read = stored.and_then(|stored| Inventory::read(stored).ok());
    read.is_some_and(|inventory| inventory.contains(id))
}

fn manifests(object: &Kustomization) -> String {
    let from = &object.spec.source_ref;
    let path = object.spec.path.as_deref().filter(|path| !path.is_empty()).unwrap_or("./");
    format!("{path} in {}/{}", from.kind.as_str(), from.name)
}
