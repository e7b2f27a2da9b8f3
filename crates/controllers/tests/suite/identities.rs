//! Attacks on identities: tokens of the controllers and of clouds stay where the operator wants them.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use k8s_openapi::api::core::v1::Namespace;
use kube::Api;
use kube::api::PostParams;
use serde_json::{Value, json};
use sluice_cloud::Environment;
use sluice_source::git::GitTransport;

use crate::egress::{Noting, small_repository};
use crate::ground::{
    Ground, certificate, config_map, config_map_file, kustomization, namespace, repository,
    repository_with, said, secret, source_with,
};

/// The token that the controllers find in their pod; its audience is the API server's own.
fn pod_token() -> String {
    let claims = json!({
        "sub": "system:serviceaccount:flux-system:kustomize-controller",
        "iss": ISSUER, "aud": [ISSUER, "custom.api.test"],
    });
    format!("e30.{}.x", BASE64_URL_SAFE_NO_PAD.encode(claims.to_string()))
}

/// The issuer of the embedded cluster, and its one audience.
const ISSUER: &str = "https://kubernetes.default.svc.cluster.local";
/// The API server of the tenant who attacks.
const EVIL: &str = "https://evil.test:443/";

/// An environment in which every cloud knows the controllers.
fn known_everywhere() -> Environment {
    let variables = [("AWS_ACCESS_KEY_ID", "AKID"), ("AWS_SECRET_ACCESS_KEY", "secret")];
    let variables = variables.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let read = |path: &str| match path {
        "/var/run/secrets/kubernetes.io/serviceaccount/token" => Ok(pod_token()),
        _ => Err(std::io::ErrorKind::NotFound.into()),
    };
    Environment { variables: variables.into(), read: Arc::new(read) }
}

/// Controllers that clouds know, with a repository and a tenant's API server.
async fn ground(change: impl FnOnce(&mut Ground)) -> Ground {
    let mut ground = Ground::idle().await;
    ground.egress().environment = known_everywhere();
    change(&mut ground);
    ground.sandbox.endpoints.put("http://169.254.169.254/metadata/identity/oauth2/token", |_| {
        (200, json!({"access_token": "azure-of-controllers", "expires_in": 3600}).to_string())
    });
    ground.sandbox.endpoints.put("http://169.254.169.254/computeMetadata/v1/", |_| {
        (200, json!({"access_token": "google-of-controllers", "expires_in": 3600}).to_string())
    });
    ground.start();
    ground.apply(namespace()).await;
    ground.apply(space("flux-system")).await;
    ground.apply(account("flux-system", "kustomize-controller")).await;
    ground.apply(account("apps", "deployer")).await;
    ground.commit("one", &[("app/a.yaml", &config_map_file("a", "1"))]);
    ground.apply(repository()).await;
    let remote = ground.neighbours.put(EVIL);
    let spaces: Api<Namespace> = Api::all(remote);
    let apps = serde_json::from_value(namespace()).unwrap();
    spaces.create(&PostParams::default(), &apps).await.unwrap();
    ground
}

fn space(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
}

fn account(namespace: &str, name: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "ServiceAccount",
        "metadata": {"name": name, "namespace": namespace},
    })
}

fn remote_map(data: &Value) -> Value {
    let mut map = config_map("remote");
    map["data"] = data.clone();
    map
}

fn applied_elsewhere() -> Value {
    let way = json!({"configMapRef": {"name": "remote"}});
    kustomization("app", "app", json!({"kubeConfig": way, "retryInterval": "30s"}))
}

/// What the tenant's API server was shown after a while, and what Ready says.
async fn shown_to_tenant(ground: &Ground, data: &Value) -> (Vec<String>, String) {
    let app = applied_elsewhere();
    ground.apply(remote_map(data)).await;
    ground.apply(app.clone()).await;
    let settled =
        |it: &Value| said(it, "Ready").starts_with("True") || said(it, "Ready").starts_with("Fals");
    let found = ground.until(&app, settled).await;
    tokio::time::sleep(Duration::from_mins(2)).await;
    (ground.neighbours.guests().into_iter().collect(), said(&found, "Ready"))
}

/// Finding 3: a ConfigMap of a tenant names no service account, and an address of the tenant.
#[tokio::test(start_paused = true)]
async fn the_controllers_own_tokens_do_not_go_where_a_tenant_says() {
    let certificate = certificate();
    for data in [
        json!({"provider": "generic", "address": "evil.test"}),
        json!({"provider": "generic", "address": "evil.test", "audiences": ISSUER}),
        json!({"provider": "azure", "cluster": "c", "address": "evil.test", "ca.crt": certificate}),
        json!({"provider": "gcp", "cluster": "c", "address": "https://evil.test:443", "ca.crt": certificate}),
        json!({"provider": "aws", "cluster": "arn:aws:eks:eu-west-1:1:cluster/prod", "address": "https://evil.test:443", "ca.crt": certificate}),
    ] {
        let ground = ground(|_| {}).await;
        let (shown, ready) = shown_to_tenant(&ground, &data).await;
        assert!(shown.is_empty(), "{data}: {shown:?}");
        let words = "the controllers' own identity is not used for kubeconfig 'apps/remote'";
        assert!(ready.contains(words), "{ready}");
        assert_eq!(ground.asked("/serviceaccounts/kustomize-controller/token"), 0);
    }
}

/// Finding 3: a token that the local API server takes does not leave, whoever's it is.
#[tokio::test(start_paused = true)]
async fn tokens_for_the_local_api_server_do_not_leave() {
    for audiences in
        [ISSUER, "custom.api.test", "fine\n https://kubernetes.default.svc.cluster.local \n"]
    {
        let ground = ground(|it| it.settings().object_level_workload_identity = true).await;
        let data = json!({"provider": "generic", "address": "evil.test", "serviceAccountName": "deployer", "audiences": audiences});
        let (shown, ready) = shown_to_tenant(&ground, &data).await;
        assert!(shown.is_empty(), "{audiences}: {shown:?}");
        assert!(ready.contains("is one of this cluster's own API server"), "{ready}");
        assert_eq!(ground.asked("/serviceaccounts/deployer/token"), 0, "it is not asked for");
    }
}

/// The same where the pod's token is not there to say which audiences those are.
#[tokio::test(start_paused = true)]
async fn without_a_token_of_the_pod_the_api_server_is_asked() {
    let ground = ground(|it| {
        it.settings().object_level_workload_identity = true;
        it.egress().environment = Environment::default();
    })
    .await;
    let data = json!({"provider": "generic", "address": "evil.test", "serviceAccountName": "deployer", "audiences": "x\ny"});
    let (shown, _) = shown_to_tenant(&ground, &data).await;
    assert!(!shown.is_empty(), "another audience may leave");
    assert!(ground.asked("/tokenreviews") > 0, "after the API server was asked");
}

/// An address that is itself an audience of the API server becomes the audience where none is given.
#[tokio::test(start_paused = true)]
async fn an_address_is_no_way_to_an_audience() {
    let ground = ground(|it| it.settings().object_level_workload_identity = true).await;
    let remote = ground.neighbours.put(&format!("{ISSUER}:443/"));
    let spaces: Api<Namespace> = Api::all(remote);
    let apps = serde_json::from_value(namespace()).unwrap();
    spaces.create(&PostParams::default(), &apps).await.unwrap();
    for address in [ISSUER, ""] {
        let data =
            json!({"provider": "generic", "address": address, "serviceAccountName": "deployer"});
        let (shown, _) = shown_to_tenant(&ground, &data).await;
        assert!(shown.is_empty(), "{address}: {shown:?}");
        assert_eq!(ground.asked("/serviceaccounts/deployer/token"), 0, "'{address}'");
    }
}

/// Finding 4: Azure's tokens for repositories go to Azure's hosts.
#[tokio::test(start_paused = true)]
async fn tokens_of_azure_go_to_its_repositories_only() {
    let noting = Arc::new(Noting::default());
    let transport = Arc::clone(&noting) as Arc<dyn GitTransport>;
    let ground = ground(|it| it.backends().transport = transport).await;
    for (index, url) in [
        "https://evil.test/o/p/_git/r",
        "http://dev.azure.com/o/p/_git/r",
        "https://dev.azure.com@evil.test/o/p/_git/r",
        "https://dev.azure.com.evil.test/o/p/_git/r",
        "https://dev.azure.com./o/p/_git/r",
        "https://evil.test/dev.azure.com/p/_git/r",
        "https://evil.test#dev.azure.com",
        "https://evil.test\\dev.azure.com/p",
        "https://evilvisualstudio.com/p",
        "https://a.b.visualstudio.com.evil.test/p",
        "https://dev.azure.com%2eevil.test/p",
    ]
    .into_iter()
    .enumerate()
    {
        noting.inner.insert(url, small_repository());
        let object =
            repository_with(&format!("r{index}"), json!({"url": url, "provider": "azure"}));
        ground.apply(object.clone()).await;
        let found = ground
            .until(&object, |it| {
                !said(it, "Ready").starts_with("Unkn") && !said(it, "Ready").is_empty()
            })
            .await;
        let tokens = noting.tokens();
        assert!(tokens.is_empty(), "{url}: {tokens:?} {}", said(&found, "Ready"));
    }
}

/// A tenant's certificate authority and a tenant's proxy would read the tokens of a cloud.
#[tokio::test(start_paused = true)]
async fn trust_of_a_tenant_does_not_cover_tokens_of_clouds() {
    let noting = Arc::new(Noting::default());
    let transport = Arc::clone(&noting) as Arc<dyn GitTransport>;
    let ground = ground(|it| it.backends().transport = transport).await;
    ground.apply(secret("trust", &json!({"ca.crt": certificate()}))).await;
    let words = "is not sent over a connection that trusts the certificates of a Secret";
    for (name, url) in [
        ("azure", "https://dev.azure.com/o/p/_git/r"),
        ("aws", "https://git-codecommit.eu-west-1.amazonaws.com/v1/repos/r"),
    ] {
        noting.inner.insert(url, small_repository());
        let spec = json!({"url": url, "provider": name, "secretRef": {"name": "trust"}});
        let object = repository_with(name, spec);
        ground.apply(object.clone()).await;
        let found = ground.until(&object, |it| said(it, "Ready").len() > 30).await;
        assert!(noting.tokens().is_empty(), "{name}: {:?}", noting.tokens());
        assert!(said(&found, "Ready").contains(words), "{}", said(&found, "Ready"));
    }
    for (name, more) in [
        ("ca", json!({"certSecretRef": {"name": "trust"}})),
        ("insecure", json!({"insecure": true})),
    ] {
        let mut spec =
            json!({"interval": "1m", "url": "oci://eu.gcr.io/org/app", "provider": "gcp"});
        crate::ground::merge(&mut spec, more);
        let object = source_with("OCIRepository", name, &spec);
        crate::oci::push(&ground, "latest", &[("a.yaml", "a: 1")]);
        ground.apply(object.clone()).await;
        let found = ground.until(&object, |it| said(it, "Ready").len() > 30).await;
        assert!(said(&found, "Ready").contains("is not sent over"), "{}", said(&found, "Ready"));
    }
}

/// Finding 11: what logs in at a cloud does not pass the proxy of a tenant.
#[tokio::test(start_paused = true)]
async fn cloud_log_ins_do_not_pass_a_tenants_proxy() {
    let noting = Arc::new(Noting::default());
    let url = "https://dev.azure.com/o/p/_git/r";
    noting.inner.insert(url, small_repository());
    let transport = Arc::clone(&noting) as Arc<dyn GitTransport>;
    let ground = ground(|it| it.backends().transport = transport).await;
    ground.apply(secret("proxy", &json!({"address": "http://proxy.evil.test"}))).await;
    let proxied = json!({"proxySecretRef": {"name": "proxy"}});
    let mut git = repository_with("r", json!({"url": url, "provider": "azure"}));
    crate::ground::merge(&mut git["spec"], proxied.clone());
    ground.apply(git.clone()).await;
    ground.until(&git, |it| said(it, "Ready").starts_with("True")).await;
    assert_eq!(noting.tokens(), ["azure-of-controllers"]);
    let proxy = noting.auth(url).proxy.map(|proxy| proxy.address);
    assert_eq!(proxy.as_deref(), Some("http://proxy.evil.test"), "the fetch itself may");
    // Who logs in has no way through a proxy at all: `Http` has none.
    let account = json!({"interval": "1m", "url": "oci://eu.gcr.io/org/app", "provider": "gcp"});
    let mut object = source_with("OCIRepository", "proxied", &account);
    crate::ground::merge(&mut object["spec"], proxied);
    crate::oci::push(&ground, "latest", &[("a.yaml", "a: 1")]);
    ground.apply(object.clone()).await;
    ground.until(&object, |it| said(it, "Ready").starts_with("True")).await;
}

/// Under lock-down a Secret that names one of the machine's identities does not bring it back.
#[tokio::test(start_paused = true)]
async fn a_secret_does_not_name_the_machines_identity_under_lock_down() {
    let asked: Arc<Mutex<Vec<String>>> = Arc::default();
    let ground = ground(|it| {
        it.settings().object_level_workload_identity = true;
        it.settings().default_decryption_service_account = Some("deployer".to_owned());
    })
    .await;
    let log = Arc::clone(&asked);
    ground.sandbox.endpoints.put(
        "http://169.254.169.254/metadata/identity/oauth2/token",
        move |request| {
            log.lock().unwrap().push(request.uri().to_string());
            (200, json!({"access_token": "azure-of-controllers", "expires_in": 3600}).to_string())
        },
    );
    let held = "apiVersion: v1\nkind: Secret\nmetadata: {name: s, namespace: apps}\nstringData: {a: 'ENC[AES256_GCM,data:eA==,iv:eA==,tag:eA==,type:str]'}\nsops: {azure_kv: [{vault_url: 'https://platform.vault.azure.net', name: k, version: v, created_at: '2026-01-01T00:00:00Z', enc: c2VhbGVk}], lastmodified: '2026-01-01T00:00:00Z', mac: x, version: 3.13.3}\n";
    ground.commit("two", &[("app/s.yaml", held)]);
    ground.apply(secret("keys", &json!({"sops.azure-kv": "clientId: kubelet"}))).await;
    let app = kustomization(
        "app",
        "app",
        json!({"retryInterval": "30s", "decryption": {"provider": "sops", "secretRef": {"name": "keys"}}}),
    );
    ground.apply(app.clone()).await;
    let found = ground.until(&app, |it| said(it, "Ready").contains("BuildFailed")).await;
    assert!(asked.lock().unwrap().is_empty(), "{:?}", asked.lock().unwrap());
    let words = "names only an identity of the machine";
    let ready = said(&found, "Ready").replace("\n      | ", " ");
    assert!(ready.contains(words), "{ready}");
}

/// The name of a service account is no user and no group.
#[tokio::test(start_paused = true)]
async fn names_of_accounts_are_no_users() {
    let ground = ground(|_| {}).await;
    for (index, name) in
        ["kube-system:admin", "a/../b", "x\ny", "deployer ", "system:masters", "..", "ä"]
            .into_iter()
            .enumerate()
    {
        let app = kustomization(&format!("app{index}"), "app", json!({"serviceAccountName": name}));
        ground.apply(app.clone()).await;
        let found = ground.until(&app, |it| said(it, "Ready").starts_with("False")).await;
        let words = format!("service account {name:?} cannot be written into a request");
        assert!(said(&found, "Ready").contains(&words), "{}", said(&found, "Ready"));
    }
    assert!(ground.get(&config_map("a")).await.is_none());
}
