//! What a tenant may try, and what comes of it: the list in `docs/tenancy.md`, attack by attack.
//!
//! The platform has a Secret in `kube-system` and a ConfigMap in `platform`. The tenant owns the namespace
//! `apps`, may write Kustomizations there, and its service account may do everything with ConfigMaps of
//! `apps`. Whatever it writes into its Kustomization, it gets no further.

use std::time::Duration;

use serde_json::{Value, json};

use crate::ground::{Ground, config_map, config_map_file, kustomization, said};

fn object(kind: &str, namespace: &str, name: &str, more: Value) -> Value {
    let api = if kind.starts_with("Role") { "rbac.authorization.k8s.io/v1" } else { "v1" };
    let metadata = json!({"name": name, "namespace": namespace});
    let mut object = json!({"apiVersion": api, "kind": kind, "metadata": metadata});
    crate::ground::merge(&mut object, more);
    object
}

fn victim() -> Value {
    object("ConfigMap", "platform", "victim", json!({"data": {"value": "ours"}}))
}

fn password() -> Value {
    object("Secret", "kube-system", "password", json!({"stringData": {"password": "hunter2"}}))
}

/// The platform and its tenant, locked down as Flux's documentation says.
async fn platform(files: &[(&str, &str)]) -> Ground {
    let ground = Ground::with(files, |settings| {
        settings.no_cross_namespace_refs = true;
        settings.default_service_account = Some("tenant".to_owned());
    })
    .await;
    for name in ["platform", "kube-system"] {
        let space = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
        ground.apply(space).await;
    }
    ground.apply(victim()).await;
    ground.apply(password()).await;
    let mut home = password();
    home["metadata"]["namespace"] = json!("apps");
    ground.apply(home).await;
    let mut own = kustomization("own", "nowhere", json!({"suspend": true}));
    own["metadata"]["namespace"] = json!("platform");
    ground.apply(own).await;
    ground.apply(object("ServiceAccount", "apps", "tenant", json!({}))).await;
    let rules = json!([{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["*"]}]);
    ground.apply(object("Role", "apps", "tenant", json!({"rules": rules}))).await;
    let role = json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "tenant"});
    let subject = json!({"kind": "ServiceAccount", "name": "tenant", "namespace": "apps"});
    let binding = json!({"roleRef": role, "subjects": [subject]});
    ground.apply(object("RoleBinding", "apps", "tenant", binding)).await;
    ground
}

/// A spec, an annotation or files that a tenant tries, and what Ready says about it.
struct Attack {
    name: &'static str,
    files: &'static [(&'static str, &'static str)],
    spec: Value,
    annotations: Value,
    says: &'static str,
}

impl Attack {
    fn new(
        name: &'static str,
        files: &'static [(&'static str, &'static str)],
        spec: Value,
        says: &'static str,
    ) -> Self {
        Self { name, files, spec, annotations: json!({}), says }
    }
}

const MAP: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: m, namespace: apps}\n";
const THEFT: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: victim, namespace: platform}\ndata: {value: theirs}\n";
const ADMIN: &str = "apiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\nmetadata: {name: admin, namespace: apps}\nroleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}\nsubjects: [{kind: ServiceAccount, name: tenant, namespace: apps}]\n";

/// Attacks that end in a condition.
fn attacks() -> Vec<Attack> {
    let peek = "- {apiVersion: v1, kind: Secret, name: password, namespace: kube-system, readyExpr: \"dep.data.password == 'aHVudGVyMg=='\"}";
    let user = "User \"system:serviceaccount:apps:tenant\" cannot";
    vec![
        Attack::new("another-namespace", &[("a.yaml", THEFT)], json!({}), user),
        Attack::new("role-binding", &[("a.yaml", ADMIN)], json!({}), user),
        Attack::new(
            "another-account",
            &[("a.yaml", THEFT)],
            json!({"serviceAccountName": "kube-system:admin"}),
            "cannot",
        ),
        Attack::new(
            "source",
            &[],
            json!({"sourceRef": {"kind": "GitRepository", "name": "platform", "namespace": "platform"}}),
            "False AccessDenied: can't access 'GitRepository/platform/platform', cross-namespace references have been blocked",
        ),
        Attack::new(
            "artifact-url",
            &[],
            json!({"sourceRef": {"kind": "ExternalArtifact", "name": "x"}}),
            "False AccessDenied: can't access 'ExternalArtifact/apps/x', ExternalArtifact feature gate is disabled",
        ),
        Attack {
            annotations: json!({"sluice.dev/depends-on": peek}),
            ..Attack::new(
                "peeking-elsewhere",
                &[("a.yaml", MAP)],
                json!({}),
                "False AccessDenied: can't access 'Secret/kube-system/password', cross-namespace references have been blocked",
            )
        },
        Attack {
            annotations: json!({"sluice.dev/depends-on": peek.replace("kube-system", "apps")}),
            ..Attack::new(
                "peeking-at-home",
                &[("a.yaml", MAP)],
                json!({}),
                "False DependencyNotReady: dependency 'Secret/apps/password' cannot be looked at: ",
            )
        },
        Attack::new(
            "peeking-at-kustomizations",
            &[("a.yaml", MAP)],
            json!({"dependsOn": [{"name": "own", "namespace": "platform", "readyExpr": "dep.spec.prune"}]}),
            "False AccessDenied: can't access 'Kustomization/platform/own', cross-namespace references have been blocked",
        ),
        Attack::new(
            "variables-of-others",
            &[("a.yaml", MAP)],
            json!({"postBuild": {"substituteFrom": [{"kind": "Secret", "name": "../../kube-system/secrets/password"}]}}),
            "False BuildFailed: ",
        ),
        Attack::new(
            "keys-of-others",
            &[("a.yaml", MAP)],
            json!({"decryption": {"provider": "sops", "secretRef": {"name": "../../kube-system/secrets/password"}}}),
            "False BuildFailed: ",
        ),
        Attack::new(
            "kubeconfig-of-others",
            &[("a.yaml", MAP)],
            json!({"kubeConfig": {"secretRef": {"name": "../../kube-system/secrets/password", "key": "password"}}}),
            "False ReconciliationFailed: ",
        ),
        Attack::new(
            "health-of-others",
            &[("a.yaml", MAP)],
            json!({"timeout": "30s", "healthChecks": [{"apiVersion": "v1", "kind": "Secret", "name": "password", "namespace": "kube-system"}]}),
            "False HealthCheckFailed: ",
        ),
        Attack::new(
            "path",
            &[("a.yaml", MAP)],
            json!({"path": "../../../../etc"}),
            "False ArtifactFailed: kustomization path not found: ",
        ),
        Attack::new(
            "file",
            &[("kustomization.yaml", "resources: ['file:///etc//passwd']")],
            json!({}),
            "False BuildFailed: ",
        ),
        Attack::new(
            "metadata-server",
            &[("kustomization.yaml", "resources: ['http://169.254.169.254/latest/meta-data']")],
            json!({}),
            "False BuildFailed: ",
        ),
        Attack::new(
            "plugin",
            &[
                ("kustomization.yaml", "generators: [g.yaml]"),
                (
                    "g.yaml",
                    "apiVersion: x/v1\nkind: X\nmetadata: {name: x, annotations: {config.kubernetes.io/function: 'exec: {path: /bin/sh}'}}",
                ),
            ],
            json!({}),
            "False BuildFailed: ",
        ),
        Attack::new(
            "object-name",
            &[(
                "a.yaml",
                "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ../../../platform/configmaps/victim, namespace: apps}\ndata: {value: theirs}\n",
            )],
            json!({}),
            "False ",
        ),
        Attack::new(
            "object-namespace",
            &[(
                "a.yaml",
                "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: victim, namespace: apps/../platform}\ndata: {value: theirs}\n",
            )],
            json!({}),
            "False ",
        ),
    ]
}

#[tokio::test(start_paused = true)]
async fn what_a_tenant_writes_gets_it_no_further() {
    let attacks = attacks();
    let mut files = Vec::new();
    for attack in &attacks {
        for (path, content) in attack.files {
            files.push((format!("{}/{path}", attack.name), *content));
        }
    }
    let files: Vec<(&str, &str)> = files.iter().map(|(path, it)| (path.as_str(), *it)).collect();
    let ground = platform(&files).await;
    for Attack { name, spec, annotations, says, .. } in attacks {
        let mut app = kustomization(name, name, spec);
        app["metadata"]["annotations"] = annotations;
        ground.apply(app.clone()).await;
        let ended = |it: &Value| {
            let ready = said(it, "Ready");
            !ready.is_empty()
                && !ready.starts_with("Unknown")
                && !ready.contains("artifact not found")
        };
        let end = ground.until(&app, ended).await;
        let ready = said(&end, "Ready");
        assert!(ready.contains(says), "{name}: {ready}");
        assert!(ready.starts_with("False"), "{name}: {ready}");
        assert!(!ready.contains("hunter2") && !ready.contains("root:"), "{name}: {ready}");
        // Whether a guess about a Secret is right must not show either.
        assert!(!ready.contains("readyExpr eval"), "{name}: {ready}");
    }
    assert_eq!(ground.get(&victim()).await.unwrap()["data"]["value"], "ours");
    assert!(ground.get(&config_map("m")).await.is_none_or(|map| map["data"].is_null()));
}

#[tokio::test(start_paused = true)]
async fn a_forged_inventory_deletes_nothing_of_others() {
    let (a, b) = (config_map_file("a", "1"), config_map_file("b", "1"));
    let ground = platform(&[("app/a.yaml", &a), ("app/b.yaml", &b)]).await;
    ground.apply(object("ConfigMap", "apps", "foreign", json!({}))).await;
    let app = kustomization("app", "app", json!({}));
    ground.apply(app.clone()).await;
    let ready = ground.until(&app, |it| said(it, "Ready").starts_with("True")).await;
    let mut entries = ready["status"]["inventory"]["entries"].as_array().unwrap().clone();
    for id in
        ["platform_victim__ConfigMap", "apps_foreign__ConfigMap", "kube-system_password__Secret"]
    {
        entries.push(json!({"id": id, "v": "v1"}));
    }
    ground.set_status(&app, json!({"inventory": {"entries": entries}})).await;
    ground.commit("only a", &[("app/a.yaml", &a)]);
    tokio::time::sleep(Duration::from_mins(15)).await;
    assert!(ground.get(&config_map("b")).await.is_none(), "its own goes");
    for kept in [victim(), password(), config_map("foreign")] {
        assert!(ground.get(&kept).await.is_some(), "{kept}");
    }
    ground.delete(&app).await;
    tokio::time::sleep(Duration::from_mins(15)).await;
    for kept in [victim(), password(), config_map("foreign")] {
        assert!(ground.get(&kept).await.is_some(), "{kept}");
    }
}

#[tokio::test(start_paused = true)]
async fn one_tenant_cannot_take_what_another_may_not_give() {
    // The platform owns an object in its namespace; the tenant's Kustomization of the same name does not.
    let file = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: shared, namespace: platform}\ndata: {value: platform}\n";
    let ground = platform(&[
        ("own/a.yaml", file),
        ("theft/a.yaml", &file.replace("value: platform", "value: tenant")),
    ])
    .await;
    ground.apply(object("ServiceAccount", "platform", "tenant", json!({}))).await;
    let rules = json!([{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["*"]}]);
    ground.apply(object("Role", "platform", "own", json!({"rules": rules}))).await;
    let role = json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "own"});
    let subject = json!({"kind": "ServiceAccount", "name": "tenant", "namespace": "platform"});
    ground
        .apply(object(
            "RoleBinding",
            "platform",
            "own",
            json!({"roleRef": role, "subjects": [subject]}),
        ))
        .await;
    let mut source = crate::ground::repository();
    source["metadata"]["namespace"] = json!("platform");
    ground.apply(source).await;
    let mut own = kustomization("app", "own", json!({}));
    own["metadata"]["namespace"] = json!("platform");
    ground.apply(own.clone()).await;
    ground.until(&own, |it| said(it, "Ready").starts_with("True")).await;
    let theft = kustomization("app", "theft", json!({}));
    ground.apply(theft.clone()).await;
    let denied = "User \"system:serviceaccount:apps:tenant\" cannot";
    ground.until(&theft, |it| said(it, "Ready").contains(denied)).await;
    ground.delete(&theft).await;
    tokio::time::sleep(Duration::from_secs(5)).await;
    let shared = object("ConfigMap", "platform", "shared", json!({}));
    assert_eq!(ground.get(&shared).await.unwrap()["data"]["value"], "platform");
}
