//! One command's dealings with a cluster: objects as JSON, failures in the words of Kubernetes' Go client.

mod discovery;
mod reach;

use std::time::Duration;

use jiff::Timestamp;
use kube::Client;
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams};
use kube::core::DynamicObject;
use kube::discovery::ApiResource;
use serde_json::Value;
use sluice_runtime::status::api_resource;
use tokio::time::Instant;

pub(crate) use discovery::{find_kind, find_resource, namespaced};
pub(crate) use reach::words as unreached;

use crate::globals::Globals;
use crate::kinds::Kind;
use crate::outcome::Failure;

/// What Go says when time is up.
pub(crate) const DEADLINE: &str = "context deadline exceeded";

/// How long to wait before looking again.
const POLL: Duration = Duration::from_millis(250);

/// How much longer a command may take than it may wait, to say how that ended.
const GRACE: Duration = Duration::from_secs(1);

/// A cluster, a namespace in it, and how long there is.
pub(crate) struct Session {
    pub(crate) client: Client,
    pub(crate) namespace: String,
    deadline: Instant,
}

/// Runs the work of a command against the cluster that the flags name.
pub(crate) fn with<T>(
    globals: &Globals,
    work: impl AsyncFnOnce(&Session) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let namespace = globals.namespace()?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::caused("cannot start the runtime", error))?;
    runtime.block_on(async {
        let deadline = Instant::now() + globals.timeout();
        let (client, address) = globals.client().await?;
        let (client, mut lost) = reach::telling(&client, &address);
        let session = Session { client, namespace, deadline };
        let work = tokio::time::timeout_at(deadline + GRACE, work(&session));
        tokio::select! {
            biased;
            lost = lost.told() => Err(lost),
            done = work => done.unwrap_or_else(|_| Err(late())),
        }
    })
}

/// Time is up.
fn late() -> Failure {
    Failure::flux(DEADLINE)
        .hint("`sluice check` shows whether the controllers run; --timeout waits longer")
}

/// Runs work that asks no cluster.
pub(crate) fn without_cluster<T>(
    work: impl Future<Output = Result<T, Failure>>,
) -> Result<T, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::caused("cannot start the runtime", error))?;
    runtime.block_on(work)
}

impl Session {
    /// Objects of a kind, in the session's namespace or in all.
    pub(crate) async fn list(
        &self,
        kind: &Kind,
        everywhere: bool,
        params: &ListParams,
    ) -> Result<Vec<Value>, ApiFailure> {
        let namespace = (!everywhere).then_some(self.namespace.as_str());
        self.list_resource(&api_resource(&kind.definition), namespace, params).await
    }

    /// Objects of a resource, in a namespace or in all.
    pub(crate) async fn list_resource(
        &self,
        resource: &ApiResource,
        namespace: Option<&str>,
        params: &ListParams,
    ) -> Result<Vec<Value>, ApiFailure> {
        let api: Api<DynamicObject> = match namespace {
            Some(namespace) => Api::namespaced_with(self.client.clone(), namespace, resource),
            None => Api::all_with(self.client.clone(), resource),
        };
        let mut params = params.clone();
        let mut all = Vec::new();
        loop {
            let page = api.list(&params).await;
            let page = match page {
                Ok(page) => page,
                Err(error) => return Err(self.explain(error, resource).await),
            };
            params.continue_token.clone_from(&page.metadata.continue_);
            all.extend(page.items.into_iter().map(|object| to_value(object, resource)));
            if params.continue_token.as_deref().is_none_or(str::is_empty) {
                return Ok(all);
            }
        }
    }

    /// The object of a kind with a name, in a namespace.
    pub(crate) async fn get(
        &self,
        kind: &Kind,
        namespace: &str,
        name: &str,
    ) -> Result<Value, ApiFailure> {
        self.get_resource(&api_resource(&kind.definition), Some(namespace), name).await
    }

    /// The object of a resource with a name.
    pub(crate) async fn get_resource(
        &self,
        resource: &ApiResource,
        namespace: Option<&str>,
        name: &str,
    ) -> Result<Value, ApiFailure> {
        check_name(name)?;
        match self.api(resource, namespace).get(name).await {
            Ok(object) => Ok(to_value(object, resource)),
            Err(error) => Err(self.explain(error, resource).await),
        }
    }

    /// Changes an object by a merge patch; gives it as it is then.
    pub(crate) async fn patch(
        &self,
        kind: &Kind,
        name: &str,
        patch: &Value,
    ) -> Result<Value, ApiFailure> {
        check_name(name)?;
        let resource = api_resource(&kind.definition);
        let params =
            PatchParams { field_manager: Some("flux".to_owned()), ..PatchParams::default() };
        let api = self.api(&resource, Some(&self.namespace));
        match api.patch(name, &params, &Patch::Merge(patch)).await {
            Ok(object) => Ok(to_value(object, &resource)),
            Err(error) => Err(self.explain(error, &resource).await),
        }
    }

    /// Deletes an object.
    pub(crate) async fn delete(&self, kind: &Kind, name: &str) -> Result<(), ApiFailure> {
        check_name(name)?;
        let resource = api_resource(&kind.definition);
        let api = self.api(&resource, Some(&self.namespace));
        match api.delete(name, &DeleteParams::default()).await {
            Ok(_) => Ok(()),
            Err(error) => Err(self.explain(error, &resource).await),
        }
    }

    /// Objects of a resource, in a namespace or in none.
    pub(crate) fn api(
        &self,
        resource: &ApiResource,
        namespace: Option<&str>,
    ) -> Api<DynamicObject> {
        match namespace {
            Some(namespace) => Api::namespaced_with(self.client.clone(), namespace, resource),
            None => Api::all_with(self.client.clone(), resource),
        }
    }

    /// The same cluster, another namespace.
    pub(crate) fn in_namespace(&self, namespace: &str) -> Self {
        let namespace = namespace.to_owned();
        Self { client: self.client.clone(), namespace, deadline: self.deadline }
    }

    /// Looks again and again until `look` has something or time is up.
    pub(crate) async fn poll<T>(
        &self,
        mut look: impl AsyncFnMut() -> Result<Option<T>, Failure>,
    ) -> Result<T, Failure> {
        loop {
            if let Some(seen) = look().await? {
                return Ok(seen);
            }
            if Instant::now() + POLL > self.deadline {
                tokio::time::sleep_until(self.deadline).await;
                return Err(late());
            }
            tokio::time::sleep(POLL).await;
        }
    }

    /// An error, classified: an unknown kind differs from a missing object.
    async fn explain(&self, error: kube::Error, resource: &ApiResource) -> ApiFailure {
        let kube::Error::Api(status) = error else { return ApiFailure::Other(error) };
        let names_object = status.details.as_ref().is_some_and(|details| !details.name.is_empty());
        if status.code != 404 || names_object {
            return ApiFailure::Refused { code: status.code, message: status.message };
        }
        let (kind, version) = (&resource.kind, &resource.api_version);
        let is_group_there = discovery::resources(&self.client, resource).await.is_ok();
        ApiFailure::NoKind(if is_group_there {
            format!("no matches for kind \"{kind}\" in version \"{version}\"")
        } else {
            format!(
                "unable to retrieve the complete list of server APIs: {version}: \
                 no matches for {version}, Resource="
            )
        })
    }
}

/// Refuses what would lead elsewhere as a part of a path, in the words of Kubernetes' Go client.
fn check_name(name: &str) -> Result<(), ApiFailure> {
    let mut wrong = Vec::new();
    if matches!(name, "." | "..") {
        wrong.push(format!("may not be '{name}'"));
    }
    wrong.extend(
        ["/", "%"].iter().filter(|c| name.contains(**c)).map(|c| format!("may not contain '{c}'")),
    );
    if wrong.is_empty() {
        return Ok(());
    }
    let message = format!("invalid resource name {name:?}: [{}]", wrong.join(" "));
    Err(ApiFailure::Refused { code: 400, message })
}

/// Why a request failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ApiFailure {
    /// The cluster does not know the kind.
    #[error("{0}")]
    NoKind(String),
    /// The API server said no.
    #[error("{message}")]
    Refused {
        /// The status code.
        code: u16,
        /// The API server's words.
        message: String,
    },
    /// Something else went wrong.
    #[error(transparent)]
    Other(kube::Error),
}

impl ApiFailure {
    /// Whether the object is not there.
    pub(crate) fn is_not_found(&self) -> bool {
        matches!(self, Self::Refused { code: 404, .. })
    }

    /// Whether the kind is not there.
    pub(crate) fn is_no_kind(&self) -> bool {
        matches!(self, Self::NoKind(_))
    }
}

impl From<ApiFailure> for Failure {
    fn from(failure: ApiFailure) -> Self {
        Self::flux(failure.to_string())
    }
}

fn to_value(object: DynamicObject, resource: &ApiResource) -> Value {
    let mut value = serde_json::to_value(object).unwrap_or_default();
    if let Some(fields) = value.as_object_mut() {
        // Items of a list do not name their kind.
        fields.insert("apiVersion".to_owned(), resource.api_version.clone().into());
        fields.insert("kind".to_owned(), resource.kind.clone().into());
    }
    value
}

/// What time it is.
pub(crate) fn now() -> Timestamp {
    Timestamp::now()
}
