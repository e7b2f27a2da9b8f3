//! `sluice uninstall`: removes the controllers, the finalizers of Flux's objects, the CRDs and the namespace; applied
//! objects stay.

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{Namespace, Service, ServiceAccount};
use k8s_openapi::api::networking::v1::NetworkPolicy;
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, Role, RoleBinding};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams};
use kube::discovery::ApiResource;
use serde_json::{Value, json};
use sluice_runtime::status::api_resource;

use super::install::{Installed, PART_OF};
use crate::ask::confirmed;
use crate::globals::Globals;
use crate::kinds::{KINDS, text_at};
use crate::outcome::{Failure, Outcome};
use crate::session::{self, Session};
use crate::tell;

/// What to remove.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Keeps the namespace.
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", default_value_t = false, action = clap::ArgAction::Set, value_name = "BOOL")]
    keep_namespace: bool,
    /// Prints what would be removed, and removes nothing.
    #[arg(long)]
    dry_run: bool,
    /// Does not ask for confirmation.
    #[arg(short, long)]
    silent: bool,
}

/// Runs `sluice uninstall`.
pub(crate) fn run(arguments: &Arguments, globals: &Globals) -> Result<Outcome, Failure> {
    session::with(globals, async |session| {
        if !arguments.dry_run && !arguments.silent {
            confirm(&Installed::find(session).await?)?;
        }
        let removal = Removal { session, dry_run: arguments.dry_run };
        tell::action(&format!("deleting components in {} namespace", session.namespace));
        removal.components().await;
        if arguments.keep_namespace {
            // They are deleted with the namespace; Flux has none of these.
            removal.labelled(&ApiResource::erase::<RoleBinding>(&()), true).await;
            removal.labelled(&ApiResource::erase::<Role>(&()), true).await;
        }
        tell::action("deleting toolkit.fluxcd.io finalizers in all namespaces");
        removal.finalizers().await;
        tell::action("deleting toolkit.fluxcd.io custom resource definitions");
        removal.labelled(&ApiResource::erase::<CustomResourceDefinition>(&()), false).await;
        if !arguments.keep_namespace {
            let resource = ApiResource::erase::<Namespace>(&());
            removal.delete(&resource, None, &session.namespace).await;
        }
        tell::success("uninstall finished");
        Ok(Outcome::Fine)
    })
}

/// Asks for confirmation. Without a terminal it is denied.
fn confirm(found: &Installed) -> Result<(), Failure> {
    let what = if found.is_managed_elsewhere() {
        format!("delete Flux, which {} manages, and its CRDs", found.managed_by)
    } else {
        "delete Flux and its custom resource definitions".to_owned()
    };
    if confirmed(&what) {
        return Ok(());
    }
    Err(Failure::flux("aborting").hint("--silent does it without asking"))
}

/// Removes objects, or only prints them. Failures are reported, and the rest continues.
struct Removal<'a> {
    session: &'a Session,
    dry_run: bool,
}

impl Removal<'_> {
    async fn components(&self) {
        self.labelled(&ApiResource::erase::<Deployment>(&()), true).await;
        self.labelled(&ApiResource::erase::<Service>(&()), true).await;
        self.labelled(&ApiResource::erase::<NetworkPolicy>(&()), true).await;
        self.labelled(&ApiResource::erase::<ServiceAccount>(&()), true).await;
        self.labelled(&ApiResource::erase::<ClusterRole>(&()), false).await;
        self.labelled(&ApiResource::erase::<ClusterRoleBinding>(&()), false).await;
    }

    /// All objects of a resource with Flux's label.
    async fn labelled(&self, resource: &ApiResource, namespaced: bool) {
        let namespace = namespaced.then_some(self.session.namespace.as_str());
        let params = ListParams::default().labels(&format!("{PART_OF}=flux"));
        // What cannot be listed cannot be removed.
        let found = self.session.list_resource(resource, namespace, &params).await;
        for object in found.unwrap_or_default() {
            self.delete(resource, namespace, text_at(&object, "/metadata/name")).await;
        }
    }

    async fn delete(&self, resource: &ApiResource, namespace: Option<&str>, name: &str) {
        let place = namespace.map_or_else(String::new, |namespace| format!("{namespace}/"));
        let called = format!("{}/{place}{name}", resource.kind);
        let params = DeleteParams { dry_run: self.dry_run, ..DeleteParams::default() };
        match self.session.api(resource, namespace).delete(name, &params).await {
            Ok(_) => tell::success(&format!("{called} deleted {}", self.mark())),
            Err(error) => tell::failure(&format!("{called} deletion failed: {}", message(&error))),
        }
    }

    /// Removes the finalizers of all objects of Flux, so that they are deleted with their CRDs although no controller runs
    /// any more.
    async fn finalizers(&self) {
        for kind in KINDS {
            let resource = api_resource(&kind.definition);
            let everything = self.session.list(kind, true, &ListParams::default()).await;
            for object in everything.unwrap_or_default() {
                self.free(&resource, &object).await;
            }
        }
    }

    async fn free(&self, resource: &ApiResource, object: &Value) {
        let name = text_at(object, "/metadata/name");
        let namespace = text_at(object, "/metadata/namespace");
        let called = format!("{}/{namespace}/{name}", resource.kind);
        let params = PatchParams { dry_run: self.dry_run, ..PatchParams::default() };
        let patch = Patch::Merge(json!({"metadata": {"finalizers": null}}));
        match self.session.api(resource, Some(namespace)).patch(name, &params, &patch).await {
            Ok(_) => tell::success(&format!("{called} finalizers deleted {}", self.mark())),
            Err(error) => {
                let text = format!("{called} removing finalizers failed: {}", message(&error));
                tell::failure(&text);
            }
        }
    }

    fn mark(&self) -> &'static str {
        if self.dry_run { "(dry run)" } else { "" }
    }
}

/// The API server's message.
fn message(error: &kube::Error) -> String {
    match error {
        kube::Error::Api(status) => status.message.clone(),
        other => other.to_string(),
    }
}
