//! In whose name Kustomizations are applied, and where.

use serde_json::{Value, json};

use sluice_source::artifact::ArtifactPath;
use sluice_source::store::ArtifactStore as _;

use crate::ground::{Ground, config_map, config_map_file, kustomization, namespace, said};

fn object(kind: &str, name: &str, more: Value) -> Value {
    let api = match kind {
        "Role" | "RoleBinding" => "rbac.authorization.k8s.io/v1",
        _ => "v1",
    };
    let mut object =
        json!({"apiVersion": api, "kind": kind, "metadata": {"name": name, "namespace": "apps"}});
    crate::ground::merge(&mut object, more);
    object
}

/// Lets an account do everything with ConfigMaps of its namespace.
async fn grant(ground: &Ground, account: &str) {
    let rules = json!([{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["*"]}]);
    ground.apply(object("Role", "maps", json!({"rules": rules}))).await;
    ground
        .apply(object("RoleBinding", "maps", json!({
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "maps"},
            "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": "apps"}],
        })))
        .await;
}

#[tokio::test(start_paused = true)]
async fn a_service_account_does_what_it_may_and_nothing_else() {
    let file = config_map_file("a", "1");
    let ground = Ground::with(&[("app/a.yaml", &file)], |_| {}).await;
    ground.apply(object("ServiceAccount", "deployer", json!({}))).await;
    let spec = json!({"serviceAccountName": "deployer", "retryInterval": "30s"});
    let app = kustomization("app", "app", spec);
    ground.apply(app.clone()).await;
    let denied = "False ReconciliationFailed: ConfigMap/apps/a dry-run failed (Forbidden): configmaps \"a\" is forbidden: User \"system:serviceaccount:apps:deployer\" cannot";
    let failed = ground.until(&app, |it| said(it, "Ready").starts_with(denied)).await;
    assert_eq!(failed["status"]["history"][0]["lastReconciledStatus"], "ReconciliationFailed");
    assert!(ground.get(&config_map("a")).await.is_none());
    grant(&ground, "deployer").await;
    ground.until(&app, |it| said(it, "Ready").starts_with("True")).await;

    // Without its account nothing can be deleted, and that is said before it goes.
    ground.delete(&object("ServiceAccount", "deployer", json!({}))).await;
    ground.delete(&app).await;
    tokio::time::sleep(std::time::Duration::from_secs(5)).await;
    assert!(ground.get(&app).await.is_none());
    assert!(ground.get(&config_map("a")).await.is_some());
    let events = ground.events("app").await;
    let left = "Warning ReconciliationSucceeded: unable to prune objects: \nConfigMap/apps/a";
    assert!(events.iter().any(|event| event.starts_with(left)), "{events:#?}");
}

#[tokio::test(start_paused = true)]
async fn the_default_account_acts_for_whoever_names_none() {
    let (a, b) = (config_map_file("a", "1"), config_map_file("b", "1"));
    let files = [("app/a.yaml", a.as_str()), ("own/b.yaml", b.as_str())];
    let ground = Ground::with(&files, |settings| {
        settings.default_service_account = Some("tenant".to_owned());
    })
    .await;
    let app = kustomization("app", "app", json!({"retryInterval": "30s"}));
    ground.apply(app.clone()).await;
    let denied = "User \"system:serviceaccount:apps:tenant\" cannot";
    ground.until(&app, |it| said(it, "Ready").contains(denied)).await;
    let own = kustomization("own", "own", json!({"serviceAccountName": "other"}));
    ground.apply(own.clone()).await;
    let denied = "User \"system:serviceaccount:apps:other\" cannot";
    ground.until(&own, |it| said(it, "Ready").contains(denied)).await;
    grant(&ground, "tenant").await;
    ground.until(&app, |it| said(it, "Ready").starts_with("True")).await;
}

#[tokio::test(start_paused = true)]
async fn a_kubeconfig_leads_to_another_cluster() {
    let file = config_map_file("a", "1");
    let ground = Ground::with(&[("app/a.yaml", &file)], |_| {}).await;
    let remote = ground.neighbours.put("https://remote.test:6443/");
    let spaces: kube::Api<k8s_openapi::api::core::v1::Namespace> = kube::Api::all(remote.clone());
    let space = serde_json::from_value(namespace()).unwrap();
    spaces.create(&kube::api::PostParams::default(), &space).await.unwrap();
    let spec = |key: Value| json!({"kubeConfig": {"secretRef": key}, "serviceAccountName": "deployer", "retryInterval": "30s"});
    let app = kustomization("app", "app", spec(json!({"name": "remote"})));
    ground.apply(app.clone()).await;
    let failed = |message: &str| format!("False ReconciliationFailed: {message}");
    let missing =
        "unable to read KubeConfig secret 'apps/remote' error: secrets \"remote\" not found";
    ground.until_ready_says(&app, &failed(missing)).await;
    let told = format!("Warning ReconciliationFailed: failed to build kube client: {missing}");
    let events = ground.events("app").await;
    assert!(events.contains(&told), "{events:#?}");
    let secret = |entries: Value| object("Secret", "remote", json!({"stringData": entries}));
    ground.apply(secret(json!({"other": "x"}))).await;
    let words = "KubeConfig secret 'apps/remote' does not contain a 'value' key with a kubeconfig";
    ground.until_ready_says(&app, &failed(words)).await;
    ground.apply(kustomization("app", "app", spec(json!({"name": "remote", "key": "mine"})))).await;
    let words = "KubeConfig secret 'apps/remote' does not contain a 'mine' key with a kubeconfig";
    ground.until_ready_says(&app, &failed(words)).await;
    let kubeconfig = |user: &str| {
        format!(
            "apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts: [{{name: c, context: {{cluster: a, user: u}}}}]\nclusters: [{{name: a, cluster: {{server: 'https://remote.test:6443'}}}}]\nusers: [{{name: u, user: {{{user}}}}}]\n"
        )
    };
    ground.apply(secret(json!({"mine": kubeconfig("tokenFile: /var/run/secrets/token")}))).await;
    let words = "invalid KubeConfig in secret 'apps/remote': user 'u' references a tokenFile, only an inline token is supported";
    ground.until_ready_says(&app, &failed(words)).await;
    ground.apply(secret(json!({"mine": kubeconfig("username: guest, password: p")}))).await;
    let denied = "User \"system:serviceaccount:apps:deployer\" cannot";
    ground.until(&app, |it| said(it, "Ready").contains(denied)).await;
    // There, nobody knows the account; without it the kubeconfig's own user acts.
    let plain = json!({"kubeConfig": {"secretRef": {"name": "remote", "key": "mine"}}, "retryInterval": "30s"});
    ground.apply(kustomization("app", "app", json!({"serviceAccountName": null}))).await;
    ground.delete(&app).await;
    tokio::time::sleep(std::time::Duration::from_secs(5)).await;
    ground.apply(kustomization("app", "app", plain)).await;
    ground.until(&app, |it| said(it, "Ready").starts_with("True")).await;
    let maps: kube::Api<k8s_openapi::api::core::v1::ConfigMap> =
        kube::Api::namespaced(remote, "apps");
    assert!(maps.get_opt("a").await.unwrap().is_some(), "it is there");
    assert!(ground.get(&config_map("a")).await.is_none(), "and not here");
    let guests = ground.neighbours.guests();
    assert!(
        guests.contains("guest ") && guests.contains("guest system:serviceaccount:apps:deployer"),
        "{guests:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_cluster_that_trusts_ours_is_reached_with_tokens() {
    let file = config_map_file("a", "1");
    let mut ground = Ground::with(&[("app/a.yaml", &file)], |_| {}).await;
    let remote = ground.neighbours.put("https://remote.test:443/");
    let spaces: kube::Api<k8s_openapi::api::core::v1::Namespace> = kube::Api::all(remote.clone());
    let space = serde_json::from_value(namespace()).unwrap();
    spaces.create(&kube::api::PostParams::default(), &space).await.unwrap();
    let spec = json!({"kubeConfig": {"configMapRef": {"name": "remote"}}, "retryInterval": "30s"});
    let app = kustomization("app", "app", spec);
    ground.apply(app.clone()).await;
    let failed = |message: &str| format!("False ReconciliationFailed: {message}");
    let map = |data: Value| object("ConfigMap", "remote", json!({"data": data}));
    let words = "failed to get configmap apps/remote: configmaps \"remote\" not found";
    ground.until_ready_says(&app, &failed(words)).await;
    ground.apply(map(json!({"provider": "none"}))).await;
    ground.until_ready_says(&app, &failed("provider 'none' not implemented")).await;
    let data = json!({"provider": "generic", "address": "remote.test", "serviceAccountName": "deployer", "audiences": "one\n two\n"});
    ground.apply(map(data)).await;
    let words = "failed to get access token for cluster: failed to get service account 'apps/deployer': ServiceAccount \"deployer\" not found";
    ground.until_ready_says(&app, &failed(words)).await;
    ground.apply(object("ServiceAccount", "deployer", json!({}))).await;
    let words = "failed to get access token for cluster: ObjectLevelWorkloadIdentity feature gate is not enabled";
    ground.until_ready_says(&app, &failed(words)).await;
    ground.stop().await;
    ground.settings().object_level_workload_identity = true;
    ground.start();
    ground.until(&app, |it| said(it, "Ready").starts_with("True")).await;
    let maps: kube::Api<k8s_openapi::api::core::v1::ConfigMap> =
        kube::Api::namespaced(remote, "apps");
    assert!(maps.get_opt("a").await.unwrap().is_some(), "it is there");
    let guests = ground.neighbours.guests();
    assert!(guests.iter().all(|guest| guest.starts_with("Bearer ey")), "{guests:?}");
}

#[tokio::test(start_paused = true)]
async fn references_across_namespaces_are_the_operators_choice() {
    let file = config_map_file("a", "1");
    let ground =
        Ground::with(&[("app/a.yaml", &file)], |settings| settings.no_cross_namespace_refs = true)
            .await;
    let other = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "other"}});
    ground.apply(other).await;
    let mut app = kustomization(
        "app",
        "app",
        json!({"sourceRef": {"kind": "GitRepository", "name": "platform", "namespace": "apps"}}),
    );
    app["metadata"]["namespace"] = json!("other");
    ground.apply(app.clone()).await;
    let message = "AccessDenied: can't access 'GitRepository/apps/platform', cross-namespace references have been blocked";
    let denied = ground.until_ready_says(&app, &format!("False {message}")).await;
    assert_eq!(said(&denied, "Stalled"), format!("True {message}"));
    assert_eq!(denied["status"]["observedGeneration"], -1);
}

#[tokio::test(start_paused = true)]
async fn artifacts_of_others_need_a_gate_and_tell_their_origin() {
    let file = config_map_file("a", "1");
    let mut ground = Ground::with(&[("app/a.yaml", &file)], |_| {}).await;
    let git = crate::ground::repository();
    let made = ground.until(&git, |it| it["status"]["artifact"].is_object()).await;
    let mut artifact = made["status"]["artifact"].clone();
    artifact["metadata"] = json!({"org.opencontainers.image.revision": "origin@sha1:1"});
    let place = ArtifactPath::new("ExternalArtifact", "apps", "made", "a.tar.gz").unwrap();
    ground.sandbox.artifacts.put(&place, ground.packed(&made).await).await.unwrap();
    artifact["path"] = json!(place.path());
    artifact["url"] = json!(place.url("source.test"));
    let external = json!({"apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "ExternalArtifact", "metadata": {"name": "made", "namespace": "apps"}, "spec": {}});
    ground.apply(external.clone()).await;
    ground.set_status(&external, json!({"artifact": artifact})).await;
    let app = kustomization(
        "app",
        "app",
        json!({"sourceRef": {"kind": "ExternalArtifact", "name": "made"}}),
    );
    ground.apply(app.clone()).await;
    let words = "False AccessDenied: can't access 'ExternalArtifact/apps/made', ExternalArtifact feature gate is disabled";
    ground.until_ready_says(&app, words).await;
    ground.stop().await;
    ground.settings().external_artifacts = true;
    ground.start();
    let ready = ground.until(&app, |it| said(it, "Ready").starts_with("True")).await;
    assert_eq!(ready["status"]["lastAppliedOriginRevision"], "origin@sha1:1");
    assert_eq!(ready["status"]["history"][0]["metadata"]["originRevision"], "origin@sha1:1");
}

/// Over sockets: a port that nobody listens at, and a cluster with a certificate that nobody vouches for.
#[tokio::test]
async fn a_cluster_that_is_not_reached_says_where_and_why() {
    let far = sluice_cluster::Cluster::builder().seed(4).build();
    let served = far.listen(std::net::SocketAddr::from(([127, 0, 0, 1], 0))).await.unwrap();
    let address = served.address();
    let serving = tokio::spawn(served.run());
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let mut ground = Ground::idle().await;
    ground.egress().clusters = std::sync::Arc::new(sluice_controllers::egress::Reachable(
        sluice_source::network::Network::new(),
    ));
    ground.start();
    ground.apply(namespace()).await;
    ground.commit("one", &[("app/a.yaml", &config_map_file("a", "1"))]);
    ground.apply(crate::ground::repository()).await;
    let kubeconfig = |address: std::net::SocketAddr| {
        format!(
            "apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts: [{{name: c, context: {{cluster: a, user: u}}}}]\nclusters: [{{name: a, cluster: {{server: 'https://{address}', insecure-skip-tls-verify: true}}}}]\nusers: [{{name: u, user: {{token: t}}}}]\n"
        )
    };
    for (name, address, words) in [
        ("closed", closed, format!("dial tcp {closed}: connect: connection refused")),
        (
            "untrusted",
            address,
            "tls: failed to verify certificate: x509: certificate signed by unknown authority (insecure-skip-tls-verify of the kubeconfig is ignored: the controller runs without --insecure-kubeconfig-tls)".to_owned(),
        ),
    ] {
        let data = json!({"stringData": {"value": kubeconfig(address)}});
        ground.apply(object("Secret", name, data)).await;
        let spec = json!({"kubeConfig": {"secretRef": {"name": name}}, "retryInterval": "1h"});
        let app = kustomization(name, "app", spec);
        ground.apply(app.clone()).await;
        let failed = ground.until(&app, |it| said(it, "Ready").starts_with("False Recon")).await;
        let said = said(&failed, "Ready");
        assert!(said.contains(&format!("Get \"https://{address}/")), "{said}");
        assert!(said.contains(&words), "{said}");
    }
    ground.stop().await;
    serving.abort();
}
