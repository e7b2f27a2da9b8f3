//! Applies an installation and waits for it.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::rbac::v1::{ClusterRoleBinding, RoleBinding};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::DeleteParams;
use kube::discovery::ApiResource;
use serde_json::Value;
use sluice_ssa::{
    Applier, ApplyOptions, ChangeSet, Desired, Discovery, Owner, WaitOptions, WaitTarget, normalise,
};

use super::plan::{PART_OF, Plan};
use super::{accounts, manifests};
use crate::commands::serve::Wall;
use crate::outcome::Failure;
use crate::session::Session;
use crate::tell;

/// The CRD with the labels by which Flux recognises an installation and its manager.
const WITNESS: &str = "gitrepositories.source.toolkit.fluxcd.io";

/// Applies everything and waits until the Deployments are ready.
pub(super) async fn install(
    session: &Session,
    plan: &Plan,
    force: bool,
    timeout: Duration,
) -> Result<(), Failure> {
    let found = Installed::find(session).await?;
    found.may_be_replaced(force)?;
    let owner = Owner { field_manager: "flux".to_owned(), group: PART_OF.to_owned() };
    let applier = Applier::new(session.client.clone(), Discovery::new(), owner, Arc::new(Wall));
    let objects = manifests(plan).into_iter().map(|mut object| {
        normalise(&mut object);
        Desired::from(object)
    });
    let options = ApplyOptions { wait_timeout: timeout, ..ApplyOptions::default() };
    let failed = |error: String| Failure::flux(format!("install failed: {error}"));
    let changes: ChangeSet = applier
        .apply(objects.collect(), &options)
        .await
        .map_err(|error| failed(error.to_string()))?;
    for change in &changes.entries {
        // Flux prints these as progress, not as data.
        tell::plain_error(&format!("{change}\n"));
    }
    take_back(session, plan).await?;
    tell::waiting("verifying installation");
    let mut is_ready = true;
    for change in changes.entries.iter().filter(|change| change.key.id.kind == "Deployment") {
        let options = WaitOptions { timeout, ..WaitOptions::default() };
        let waited = applier.wait(vec![WaitTarget::from(change.key.clone())], &options).await;
        let name = &change.key.id.name;
        match waited {
            Ok(()) => tell::success(&format!("{name}: deployment ready")),
            Err(error) => {
                is_ready = false;
                tell::failure(&format!("{name}: deployment not ready"));
                for object in error.objects() {
                    tell::failure(&format!("{name}: {}", object.seen.message));
                }
            }
        }
    }
    if is_ready { Ok(()) } else { Err(Failure::flux("install failed")) }
}

/// Removes bindings of an earlier installation that this one does not have: applying alone would keep their rights.
async fn take_back(session: &Session, plan: &Plan) -> Result<(), Failure> {
    for (kind, name) in accounts::left_over(plan) {
        let (resource, namespace) = match kind {
            "ClusterRoleBinding" => (ApiResource::erase::<ClusterRoleBinding>(&()), None),
            _ => (ApiResource::erase::<RoleBinding>(&()), Some(plan.namespace.as_str())),
        };
        let found = match session.get_resource(&resource, namespace, &name).await {
            Ok(found) => found,
            Err(failure) if failure.is_not_found() => continue,
            Err(failure) => return Err(failure.into()),
        };
        if found.pointer("/metadata/labels/app.kubernetes.io~1part-of") != Some(&"flux".into()) {
            continue;
        }
        let place = namespace.map_or_else(String::new, |namespace| format!("{namespace}/"));
        let api = session.api(&resource, namespace);
        api.delete(&name, &DeleteParams::default()).await.map_err(|error| {
            Failure::flux(format!("install failed: {kind}/{place}{name}: {error}"))
        })?;
        tell::plain_error(&format!("{kind}/{place}{name} deleted\n"));
    }
    Ok(())
}

/// An existing installation of Flux.
#[derive(Debug, Default)]
pub(crate) struct Installed {
    /// Whether there is one.
    pub(crate) is_there: bool,
    /// Whether it was bootstrapped by a Kustomization.
    pub(crate) bootstrapped: bool,
    /// The tool that manages it, if not Flux.
    pub(crate) managed_by: String,
    /// `flux-v2.9.5`
    pub(crate) distribution: String,
    version: String,
}

impl Installed {
    /// Looks for an existing installation.
    pub(crate) async fn find(session: &Session) -> Result<Self, Failure> {
        let definitions = ApiResource::erase::<CustomResourceDefinition>(&());
        let definition = match session.get_resource(&definitions, None, WITNESS).await {
            Ok(definition) => definition,
            Err(failure) if failure.is_not_found() => return Ok(Self::default()),
            Err(failure) => return Err(failure.into()),
        };
        Ok(Self::of(&definition))
    }

    fn of(definition: &Value) -> Self {
        let labels = definition.pointer("/metadata/labels");
        let label = |name: &str| {
            let value = labels.and_then(|labels| labels.get(name)).and_then(Value::as_str);
            value.unwrap_or_default().to_owned()
        };
        let version = label("app.kubernetes.io/version");
        let distribution = match label(PART_OF) {
            part_of if part_of.is_empty() => version.clone(),
            part_of => format!("{part_of}-{version}"),
        };
        let namespace = labels.and_then(|it| it.get("kustomize.toolkit.fluxcd.io/namespace"));
        Self {
            is_there: true,
            bootstrapped: namespace.is_some(),
            managed_by: label("app.kubernetes.io/managed-by"),
            distribution,
            version,
        }
    }

    /// Whether it may be overwritten.
    fn may_be_replaced(&self, force: bool) -> Result<(), Failure> {
        if self.bootstrapped {
            return Err(Failure::flux(format!(
                "this cluster has already been bootstrapped with Flux {}! Please use 'flux bootstrap' to upgrade",
                self.version
            )));
        }
        if self.is_managed_elsewhere() && !force {
            return Err(Failure::flux(format!(
                "Flux {} has been installed on this cluster with {}!",
                self.version, self.managed_by
            ))
            .hint("--force installs over it"));
        }
        Ok(())
    }

    /// Whether another tool manages it.
    pub(crate) fn is_managed_elsewhere(&self) -> bool {
        !matches!(self.managed_by.as_str(), "" | "flux")
    }
}
