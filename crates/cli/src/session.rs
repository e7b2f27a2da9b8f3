//! A command's access to a cluster: objects as JSON, errors with the messages of Kubernetes' Go client.

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
pub(crate) use reach::message as unreached;

use crate::globals::Globals;
use crate::kinds::Kind;
use crate::outcome::Failure;

/// Go's message for an exceeded deadline.
pub(crate) const DEADLINE: &str = "context deadline exceeded";

/// The poll interval.
const POLL: Duration = Duration::from_millis(250);

/// The additional time of a command after its timeout, to report the result.
const GRACE: Duration = Duration::from_secs(1);

/// A client, a namespace and a deadline.
pub(crate) struct Session {
    pub(crate) client: Client,
    pub(crate) namespace: String,
    deadline: Instant,
}

/// Runs a command on the cluster of the flags.
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
        let (client, mut lost) = reach::reporting(&client, &address);
        let session = Session { client, namespace, deadline };
        let work = tokio::time::timeout_at(deadline + GRACE, work(&session));
        tokio::select! {
            biased;
            lost = lost.failure() => Err(lost),
            done = work => done.unwrap_or_else(|_| Err(late())),
        }
    })
}

/// The failure after the timeout.
fn late() -> Failure {
    Failure::flux(DEADLINE)
        .hint("`sluice check` shows whether the controllers run; --timeout waits longer")
}

/// Runs a command without a cluster.
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

    /// Applies a merge patch to an object; returns the result.
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

    /// Polls until `look` has a result or the deadline is exceeded.
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

/// Fails for a name that would change the path, with the message of Kubernetes' Go client.
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
    /// The kind is unknown.
    #[error("{0}")]
    NoKind(String),
    /// An error status.
    #[error("{message}")]
    Refused {
        /// The status code.
        code: u16,
        /// The API server's message.
        message: String,
    },
    /// Another error.
    #[error(transparent)]
    Other(kube::Error),
}

impl ApiFailure {
    /// Whether the object does not exist.
    pub(crate) fn is_not_found(&self) -> bool {
        matches!(self, Self::Refused { code: 404, .. })
    }

    /// Whether the kind is unknown.
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
        // List items lack their kind.
        fields.insert("apiVersion".to_owned(), resource.api_version.clone().into());
        fields.insert("kind".to_owned(), resource.kind.clone().into());
    }
    value
}

/// The current time.
pub(crate) fn now() -> Timestamp {
    Timestamp::now()
}
