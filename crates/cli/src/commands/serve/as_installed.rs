//! The installation of `sluice install`, run as it is written: the Deployments' flags through the flags of `serve`, with
//! the Deployments' service accounts and roles, on an embedded cluster that enforces them and audits every request. Each
//! kind is reconciled once.

mod rights;
mod scene;

use scene::{Installation, ready};
use serde_json::{Value, json};

/// All combinations of options that change flags or rights.
const WAYS: [&[&str]; 7] = [
    &[],
    &["--components-extra=source-watcher"],
    &["--components-extra=source-watcher", "--profile=single"],
    &["--components-extra=source-watcher", "--lockdown"],
    &["--components-extra=source-watcher", "--lockdown", "--profile=single"],
    &["--components-extra=source-watcher", "--lockdown", "--watch-all-namespaces=false"],
    &["--components-extra=source-watcher", "--lockdown", "--workload-identity"],
];

/// With each of them, an object of each kind becomes ready, and no request of a controller is denied.
#[tokio::test(start_paused = true)]
async fn what_is_installed_reconciles_each_kind() {
    for flags in WAYS {
        let installation = Installation::start(flags).await;
        installation.drive().await;
        let refused = installation.refused();
        let refused: Vec<&String> =
            refused.iter().filter(|line| !is_expected(flags, line)).collect();
        assert!(refused.is_empty(), "{flags:?}: {refused:#?}");
    }
}

/// Drift detection by watches needs the right to read applied objects, which a lock-down leaves to the operator.
fn is_expected(flags: &[&str], line: &str) -> bool {
    flags.contains(&"--lockdown")
        && line.starts_with("system:serviceaccount:flux-system:")
        && (line.contains("labelSelector=kustomize.toolkit.fluxcd.io")
            || line.contains("/customresourcedefinitions")
            || line.contains("admissionregistration"))
}

/// A tenant with flux-edit can write its objects, but no status: artifacts and inventories come from controllers only.
#[tokio::test(start_paused = true)]
async fn who_may_edit_flux_objects_may_not_write_their_status() {
    let installation = Installation::start(&[]).await;
    let binding = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding",
        "metadata": {"name": "eve", "namespace": "apps"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "edit"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "eve"}],
    });
    installation.apply(&binding).await;
    let kinds = [
        ("source.toolkit.fluxcd.io/v1", "gitrepositories"),
        ("source.toolkit.fluxcd.io/v1", "externalartifacts"),
        ("source.extensions.fluxcd.io/v1beta1", "artifactgenerators"),
        ("kustomize.toolkit.fluxcd.io/v1", "kustomizations"),
        ("helm.toolkit.fluxcd.io/v2", "helmreleases"),
        ("notification.toolkit.fluxcd.io/v1", "receivers"),
        ("image.toolkit.fluxcd.io/v1", "imagepolicies"),
    ];
    for (version, plural) in kinds {
        let path = format!("/apis/{version}/namespaces/apps/{plural}");
        let patch = json!({"status": {"artifact": {"path": "gitrepository/victim/x/y.tar.gz"}}});
        let code =
            installation.send_as("eve", "PATCH", &format!("{path}/any/status"), &patch).await;
        assert_eq!(code, 403, "{plural}/status");
        assert_eq!(installation.send_as("eve", "GET", &path, &Value::Null).await, 200, "{plural}");
        let code = installation.send_as("eve", "PATCH", &format!("{path}/any"), &json!({})).await;
        assert_eq!(code, 404, "{plural} may be written, and is not there");
    }
}

/// With `--lockdown` a Kustomization without a service account impersonates `default` of its namespace, which has no rights.
#[tokio::test(start_paused = true)]
async fn a_locked_in_tenant_cannot_use_the_controllers_rights() {
    let installation = Installation::start(&["--lockdown"]).await;
    installation.commit(&[(
        "grab/role.yaml",
        "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata: {name: mine}\nroleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}\nsubjects: [{kind: ServiceAccount, name: default, namespace: apps}]\n",
    )]);
    installation.apply(&scene::repository()).await;
    let grab = scene::kustomization("grab", "./grab", json!({}));
    installation.apply(&grab).await;
    let found = installation
        .until(&grab, |it| !ready(it).is_empty() && !ready(it).starts_with("Unknown"))
        .await;
    let said = ready(&found);
    assert!(
        said.starts_with("False") && said.contains("system:serviceaccount:apps:default"),
        "{said}"
    );
    let path = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/mine";
    assert_eq!(installation.send_as("", "GET", path, &Value::Null).await, 404);
}
