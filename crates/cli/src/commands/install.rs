//! `sluice install`: installs the controllers, or prints their manifests.
//!
//! Names, labels and the order of arguments are Flux's, so that `flux check`, `flux logs`, patches of a `flux-system`
//! folder and dashboards work. The layout differs: one image, in one Deployment (`single`) or in two (`split`); in the
//! latter, the one that fetches has no rights on the cluster.

mod accounts;
mod apply;
mod controllers;
mod definitions;
pub(crate) mod plan;
mod policies;
mod roles;

use clap::ValueEnum;
use serde_json::Value;
use sluice_controllers::table::Controller;

use crate::globals::Globals;
use crate::outcome::{Failure, Outcome};
use crate::{session, tell};
pub(crate) use apply::Installed;
use plan::Plan;
pub(crate) use plan::{PART_OF, Profile, VERSION};

/// The controllers to install, and their options.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Prints the manifests and applies nothing.
    #[arg(long)]
    export: bool,
    /// The layout of the controllers: split has one Deployment that fetches, without rights on the cluster, and
    /// one that applies; single has one for everything.
    #[arg(long, value_enum, default_value = "split", value_name = "PROFILE")]
    profile: Profile,
    /// The image of the controllers.
    #[arg(long, default_value_t = plan::default_image(), value_name = "IMAGE")]
    image: String,
    /// The controllers, by Flux's names.
    #[arg(
        long,
        value_delimiter = ',',
        default_value = Controller::DEFAULT,
        value_name = "NAMES"
    )]
    components: Vec<String>,
    /// Additional controllers, by Flux's names.
    #[arg(long, value_delimiter = ',', value_name = "NAMES")]
    components_extra: Vec<String>,
    /// Adds network policies that deny access from other namespaces.
    #[arg(long, default_value_t = true, action = clap::ArgAction::Set, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_name = "BOOL")]
    network_policy: bool,
    /// Watches all namespaces, not only that of the installation.
    #[arg(long, default_value_t = true, action = clap::ArgAction::Set, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_name = "BOOL")]
    watch_all_namespaces: bool,
    /// Lock-down for tenants: Kustomizations impersonate the service account that they name, or `default` of their
    /// namespace, never the controllers, which are not cluster admins then; cross-namespace references and remote bases are denied.
    #[arg(long)]
    lockdown: bool,
    /// Lets objects name service accounts for clouds and other clusters: enables the feature gate
    /// ObjectLevelWorkloadIdentity, and lets the controllers request tokens of service accounts.
    #[arg(long)]
    workload_identity: bool,
    /// The log level.
    #[arg(long, value_enum, default_value = "info", value_name = "LEVEL")]
    log_level: LogLevel,
    /// Keys of taints that the pods tolerate.
    #[arg(long, value_delimiter = ',', value_name = "KEYS")]
    toleration_keys: Vec<String>,
    /// The domain of the cluster.
    #[arg(long, default_value = "cluster.local", value_name = "DOMAIN")]
    cluster_domain: String,
    /// The image pull secret, of type dockerconfigjson.
    #[arg(long, value_name = "NAME")]
    image_pull_secret: Option<String>,
    /// The URL of the notification controller that events are posted to.
    #[arg(long, default_value = "", value_name = "URL")]
    events_addr: String,
    /// Takes over an installation of another tool without asking.
    #[arg(long)]
    force: bool,
}

/// Flux's log levels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogLevel {
    Debug,
    Info,
    Error,
}

impl LogLevel {
    fn as_str(self) -> &'static str {
        match self {
            Self::Debug => "debug",
            Self::Info => "info",
            Self::Error => "error",
        }
    }
}

/// Runs `sluice install`.
pub(crate) fn run(arguments: &Arguments, globals: &Globals) -> Result<Outcome, Failure> {
    let plan = plan(arguments, globals.namespace()?)?;
    if arguments.export {
        tell::data(&exported(&plan))?;
        return Ok(Outcome::Fine);
    }
    tell::generated("generating manifests");
    if globals.verbose {
        tell::data(&exported(&plan))?;
    }
    tell::success("manifests build completed");
    tell::action(&format!("installing components in {} namespace", plan.namespace));
    let timeout = globals.timeout();
    session::with(globals, async |session| {
        apply::install(session, &plan, arguments.force, timeout).await
    })?;
    tell::success("install finished");
    Ok(Outcome::Fine)
}

pub(crate) fn plan(arguments: &Arguments, namespace: String) -> Result<Plan, Failure> {
    let names = arguments.components.iter().chain(&arguments.components_extra);
    Ok(Plan {
        namespace,
        profile: arguments.profile,
        image: arguments.image.clone(),
        controllers: plan::controllers(names)?,
        network_policy: arguments.network_policy,
        watch_all_namespaces: arguments.watch_all_namespaces,
        lockdown: arguments.lockdown,
        workload_identity: arguments.workload_identity,
        log_level: arguments.log_level.as_str(),
        toleration_keys: arguments.toleration_keys.clone(),
        cluster_domain: arguments.cluster_domain.clone(),
        image_pull_secret: arguments.image_pull_secret.clone(),
        events_addr: arguments.events_addr.clone(),
    })
}

/// The manifests as one file.
fn exported(plan: &Plan) -> String {
    let names: Vec<&str> = plan.controllers.iter().map(|controller| controller.name()).collect();
    let mut text = format!(
        "---\n# Written by sluice install; changes are lost with the next one.\n# Flux version: {VERSION}\n# Components: {}\n",
        names.join(",")
    );
    for object in manifests(plan) {
        text.push_str("---\n");
        text.push_str(&sluice_yaml::from_json(&object));
    }
    text
}

/// All objects of an installation, in the order of Flux's own manifests.
pub(crate) fn manifests(plan: &Plan) -> Vec<Value> {
    let mut objects = vec![policies::namespace(plan)];
    if plan.network_policy {
        objects.extend(policies::network_policies(plan));
    }
    objects.push(policies::quota(plan));
    objects.extend(accounts::roles(plan));
    objects.extend(definitions::definitions(plan));
    objects.extend(accounts::service_accounts(plan));
    objects.extend(controllers::services(plan));
    objects.extend(controllers::deployments(plan));
    objects
}

#[cfg(test)]
mod tests;
