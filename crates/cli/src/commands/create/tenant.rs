//! `sluice create tenant`: namespaces, a service account and its rights in them.

use k8s_openapi::api::core::v1::{Namespace, ServiceAccount};
use k8s_openapi::api::rbac::v1::RoleBinding;
use kube::discovery::ApiResource;
use serde_json::{Value, json};

use super::made::Maker;
use crate::globals::is_dns_label;
use crate::outcome::Failure;
use crate::tell;

/// The label of all objects of a tenant.
const TENANT: &str = "toolkit.fluxcd.io/tenant";

/// Creates a tenant.
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// The name.
    name: Option<String>,
    /// A namespace of the tenant.
    #[arg(long, value_delimiter = ',')]
    with_namespace: Vec<String>,
    /// The cluster role of the tenant in its namespaces.
    #[arg(long, default_value = "cluster-admin")]
    cluster_role: String,
    /// The tenant's service account; the tenant's name by default.
    #[arg(long)]
    with_service_account: Option<String>,
    /// Does not create the namespaces.
    #[arg(long)]
    skip_namespace: bool,
}

/// Runs the command.
pub(super) fn run(wanted: &Arguments, maker: &Maker<'_>) -> Result<(), Failure> {
    let tenant = Maker::name(wanted.name.as_deref())?;
    if wanted.cluster_role.is_empty() {
        return Err(Failure::flux("cluster-role is required"));
    }
    if wanted.with_namespace.is_empty() {
        return Err(Failure::flux("with-namespace is required"));
    }
    let mut labels = maker.labels()?;
    labels.insert(TENANT.to_owned(), tenant.into());
    let labels = Value::Object(labels);
    let account = wanted.with_service_account.as_deref().unwrap_or(tenant);
    let mut objects = Vec::new();
    for namespace in &wanted.with_namespace {
        if !is_dns_label(namespace) {
            return Err(Failure::flux(format!("invalid namespace '{namespace}'")));
        }
        if !wanted.skip_namespace {
            objects.push((
                Some(format!("applying namespace {namespace}")),
                ApiResource::erase::<Namespace>(&()),
                json!({
                    "apiVersion": "v1", "kind": "Namespace",
                    "metadata": {"name": namespace, "labels": labels},
                }),
            ));
        }
        objects.push((
            Some(format!("applying service account {account}")),
            ApiResource::erase::<ServiceAccount>(&()),
            json!({
                "apiVersion": "v1", "kind": "ServiceAccount",
                "metadata": {"name": account, "namespace": namespace, "labels": labels},
            }),
        ));
        let group = "rbac.authorization.k8s.io";
        objects.push((
            Some(format!("applying role binding {tenant}-reconciler")),
            ApiResource::erase::<RoleBinding>(&()),
            json!({
                "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding",
                "metadata": {"name": format!("{tenant}-reconciler"), "namespace": namespace, "labels": labels},
                "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": wanted.cluster_role},
                "subjects": [
                    {"apiGroup": group, "kind": "User", "name": format!("gotk:{namespace}:reconciler")},
                    {"kind": "ServiceAccount", "name": account, "namespace": namespace},
                ],
            }),
        ));
    }
    if maker.export {
        return objects.iter().try_for_each(|(_, _, object)| Maker::print(object));
    }
    maker.write_all(&objects)?;
    tell::success("tenant setup completed");
    Ok(())
}
