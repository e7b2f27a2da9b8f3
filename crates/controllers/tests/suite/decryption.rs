//! What is encrypted with the real sops, and what becomes of it.

use std::path::Path;

use serde_json::{Value, json};

use crate::ground::{Ground, kustomization, namespace, repository, said};

fn golden(path: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../secrets/tests/goldens");
    std::fs::read_to_string(root.join(path)).unwrap()
}

fn secret(name: &str, entries: Value) -> Value {
    let metadata = json!({"name": name, "namespace": "apps"});
    let mut secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": metadata});
    secret["stringData"] = entries;
    secret
}

fn decrypting(more: Value) -> Value {
    let mut spec = json!({"decryption": {"provider": "sops", "secretRef": {"name": "sops"}}, "retryInterval": "30s"});
    crate::ground::merge(&mut spec, more);
    kustomization("app", "app", spec)
}

async fn ground_with(files: &[(&str, &str)]) -> Ground {
    let ground = Ground::new().await;
    ground.commit("secrets", files);
    ground.apply(namespace()).await;
    ground.apply(repository()).await;
    ground
}

#[tokio::test(start_paused = true)]
async fn an_encrypted_secret_waits_for_its_key_and_is_applied_in_the_clear() {
    let ground = ground_with(&[("app/s.yaml", &golden("sops-3.13.3/secret/encrypted.yaml"))]).await;
    let app = kustomization("app", "app", json!({"retryInterval": "1h"}));
    ground.apply(app.clone()).await;
    let refused = "False ReconciliationFailed: Secret/apps/database is SOPS encrypted, configuring decryption is required for this secret to be reconciled";
    ground.until_ready_says(&app, refused).await;

    ground.apply(decrypting(json!({"retryInterval": "1h"}))).await;
    ground.until_ready_says(&app, "False BuildFailed: secrets \"sops\" not found").await;
    ground.apply(secret("sops", json!({"bad.agekey": "AGE-SECRET-KEY-NONSENSE"}))).await;
    let said_now = |it: &Value| said(it, "Ready");
    let bad = ground.until(&app, |it| said_now(it).contains("bad.agekey")).await;
    let words = "False BuildFailed: failed to import 'bad.agekey' data from sops decryption Secret 'apps/sops': failed to parse and add to age identities: ";
    assert!(said_now(&bad).starts_with(words), "{}", said_now(&bad));
    ground.delete(&secret("sops", json!({}))).await;
    ground.apply(secret("sops", json!({"two.agekey": golden("keys/two.agekey")}))).await;
    let wrong = ground.until(&app, |it| said_now(it).contains("identity did not match")).await;
    let words = "False BuildFailed: decryption failed for 'Secret.v1.[noGrp]/database': failed to decrypt and format 'apps/database' Secret data: cannot get sops data key: Failed to get the data key required to decrypt the SOPS file.";
    assert!(said_now(&wrong).starts_with(words), "{}", said_now(&wrong));

    // A new key wakes whoever decrypts with the Secret, long before the next try.
    let keys =
        json!({"two.agekey": golden("keys/two.agekey"), "one.agekey": golden("keys/one.agekey")});
    ground.apply(secret("sops", keys)).await;
    ground.until(&app, |it| said_now(it).starts_with("True")).await;
    let applied = ground.get(&secret("database", json!({}))).await.unwrap();
    assert_eq!(applied["data"]["password"], "aHVudGVyMg==");
    assert!(applied.get("sops").is_none());
}

#[tokio::test(start_paused = true)]
async fn files_of_generators_are_decrypted_and_opting_out_is_possible() {
    let kept = golden("sops-3.13.3/secret/encrypted.yaml").replace(
        "    name: database\n",
        "    name: kept\n    annotations: {kustomize.toolkit.fluxcd.io/decrypt: disabled, kustomize.toolkit.fluxcd.io/ssa: Ignore}\n",
    );
    let file = "resources: [kept.yaml]\nnamespace: apps\ngeneratorOptions: {disableNameSuffixHash: true}\nsecretGenerator:\n- name: env\n  envs: [app.env]\n- name: files\n  files: [config.ini=settings]\n";
    let ground = ground_with(&[
        ("app/kustomization.yaml", file),
        ("app/kept.yaml", &kept),
        ("app/app.env", &golden("sops-3.13.3/pgp-rsa/encrypted.env")),
        ("app/settings", &golden("sops-3.13.3/ini/encrypted.ini")),
    ])
    .await;
    let keys = json!({"rsa.asc": golden("keys/rsa.asc"), "one.agekey": golden("keys/one.agekey")});
    ground.apply(secret("sops", keys)).await;
    let app = decrypting(json!({}));
    ground.apply(app.clone()).await;
    ground.until(&app, |it| said(it, "Ready").starts_with("True")).await;
    let env = ground.get(&secret("env", json!({}))).await.unwrap();
    assert_eq!(env["data"]["USER"], "YWRtaW4=");
    let files = ground.get(&secret("files", json!({}))).await.unwrap();
    assert!(files["data"]["config.ini"].is_string());
    assert!(ground.get(&secret("kept", json!({}))).await.is_none());
}

#[tokio::test(start_paused = true)]
async fn the_secret_of_the_operator_serves_whoever_names_none() {
    let mut ground = Ground::idle().await;
    ground.settings().sops_age_secret =
        Some(sluice_runtime::key::Key::new("apps".to_owned(), "global".to_owned()));
    ground.start();
    ground.commit("a", &[("app/s.yaml", &golden("sops-3.13.3/secret/encrypted.yaml"))]);
    ground.apply(namespace()).await;
    ground.apply(repository()).await;
    ground.apply(secret("global", json!({"one.agekey": golden("keys/one.agekey")}))).await;
    let app = kustomization("app", "app", json!({"decryption": {"provider": "sops"}}));
    ground.apply(app.clone()).await;
    ground.until(&app, |it| said(it, "Ready").starts_with("True")).await;
}

#[tokio::test(start_paused = true)]
async fn a_wrong_mac_is_a_warning_or_by_annotation_an_error() {
    let patch = golden("sops-3.13.3/dotenv/encrypted.env")
        .replace("sops_mac=ENC[AES256_GCM,data:", "sops_mac=ENC[AES256_GCM,data:AAAA");
    let file = "namespace: apps\nsecretGenerator:\n- name: env\n  envs: [app.env]\n";
    let ground = ground_with(&[("app/kustomization.yaml", file), ("app/app.env", &patch)]).await;
    ground.apply(secret("sops", json!({"one.agekey": golden("keys/one.agekey")}))).await;
    let app = decrypting(json!({}));
    ground.apply(app.clone()).await;
    ground.until(&app, |it| said(it, "Ready").starts_with("True")).await;
    let warning = "Warning Progressing: sops data integrity is not given, applied nevertheless:\napp/app.env: ";
    let events = ground.events("app").await;
    assert!(events.iter().any(|event| event.starts_with(warning)), "{events:#?}");

    let mut strict = app.clone();
    strict["metadata"]["annotations"] =
        json!({"sluice.dev/sops-mac": "refuse", "reconcile.fluxcd.io/requestedAt": "1"});
    ground.apply(strict.clone()).await;
    let words = "False BuildFailed: error decrypting sources: app/app.env: failed to verify sops data integrity: ";
    ground.until(&app, |it| said(it, "Ready").starts_with(words)).await;
    strict["metadata"]["annotations"] =
        json!({"sluice.dev/sops-mac": "maybe", "reconcile.fluxcd.io/requestedAt": "2"});
    ground.apply(strict).await;
    let words =
        "False BuildFailed: annotation sluice.dev/sops-mac: \"maybe\" is neither report nor refuse";
    ground.until_ready_says(&app, words).await;
}

/// A document whose key a Vault holds. The real sops wrote it; only who holds the key is another.
fn held_by(holder: &str) -> String {
    let text = golden("sops-3.13.3/secret/encrypted.yaml");
    let (head, rest) = text.split_once("    age:\n").unwrap();
    let (_, tail) = rest.split_once("    encrypted_regex:").unwrap();
    format!("{head}    {holder}\n    encrypted_regex:{tail}")
}

/// The key of that document, as its own age key gives it.
fn data_key() -> String {
    use sluice_secrets::KeyService as _;
    let text = golden("sops-3.13.3/secret/encrypted.yaml");
    let (_, rest) = text.split_once("enc: |\n").unwrap();
    let lines = rest.lines().take_while(|line| line.starts_with("            "));
    let armored: Vec<&str> = lines.map(str::trim).collect();
    let mut ring = sluice_secrets::flux::KeyRing::default();
    ring.import("one.agekey", golden("keys/one.agekey").as_bytes()).unwrap();
    let key = sluice_secrets::MasterKey::Age { recipient: String::new(), enc: armored.join("\n") };
    let key = ring.decrypt(&key).unwrap();
    base64(key.expose())
}

fn base64(bytes: &[u8]) -> String {
    let encoded = k8s_openapi::ByteString(bytes.to_vec());
    serde_json::to_value(encoded).unwrap().as_str().unwrap().to_owned()
}

#[tokio::test(start_paused = true)]
async fn keys_of_vault_and_aws_are_asked() {
    let vault = held_by(
        "hc_vault: [{vault_address: 'https://vault.test', engine_path: sops, key_name: k, created_at: '2026-01-01T00:00:00Z', enc: 'vault:v1:x'}]",
    );
    let ground = ground_with(&[("app/s.yaml", &vault)]).await;
    let key = data_key();
    ground.sandbox.endpoints.put("https://vault.test/v1/sops/decrypt/k", move |request| {
        if request.headers()["x-vault-token"] == "right" {
            return (200, json!({"data": {"plaintext": key}}).to_string());
        }
        (403, json!({"errors": ["permission denied"]}).to_string())
    });
    ground.apply(secret("sops", json!({"sops.vault-token": "wrong\n"}))).await;
    let app = decrypting(json!({}));
    ground.apply(app.clone()).await;
    let refused = ground.until(&app, |it| said(it, "Ready").contains("permission denied")).await;
    assert!(!said(&refused, "Ready").contains("wrong"), "the token is not shown");
    ground.apply(secret("sops", json!({"sops.vault-token": "right\n"}))).await;
    ground.until(&app, |it| said(it, "Ready").starts_with("True")).await;

    let aws = held_by(
        "kms: [{arn: 'arn:aws:kms:eu-west-1:1:key/a', created_at: '2026-01-01T00:00:00Z', enc: c2VhbGVk}]",
    );
    let key = data_key();
    ground.sandbox.endpoints.put("https://kms.eu-west-1.amazonaws.com/", move |request| {
        let signed = request.headers()["authorization"].to_str().unwrap();
        assert!(
            signed.starts_with(
                "AWS4-HMAC-SHA256 Credential=AKID/20260101/eu-west-1/kms/aws4_request"
            ),
            "{signed}"
        );
        (200, json!({"Plaintext": key}).to_string())
    });
    let credentials = "aws_access_key_id: AKID\naws_secret_access_key: s\n";
    ground.apply(secret("sops", json!({"sops.aws-kms": credentials}))).await;
    let revision = ground.commit("another holder", &[("app/s.yaml", &aws)]);
    let expected = format!("True ReconciliationSucceeded: Applied revision: {revision}");
    ground.until_ready_says(&app, &expected).await;
}

/// What Ready says, without the layout that sops gives its failures.
fn flat(object: &Value) -> String {
    said(object, "Ready").replace("\n      | ", " ")
}

#[tokio::test(start_paused = true)]
async fn a_service_account_decrypts_if_the_operator_allows_it() {
    let aws = held_by(
        "kms: [{arn: 'arn:aws:kms:eu-west-1:1:key/a', created_at: '2026-01-01T00:00:00Z', enc: c2VhbGVk}]",
    );
    let mut ground = Ground::idle().await;
    ground.start();
    ground.commit("a", &[("app/s.yaml", &aws)]);
    ground.apply(namespace()).await;
    ground.apply(repository()).await;
    let app = kustomization(
        "app",
        "app",
        json!({"retryInterval": "30s", "decryption": {"provider": "sops", "serviceAccountName": "sops"}}),
    );
    ground.apply(app.clone()).await;
    let message = "FeatureGateDisabled: to use spec.decryption.serviceAccountName for decryption authentication please enable the ObjectLevelWorkloadIdentity feature gate in the controller";
    let stalled = ground.until_ready_says(&app, &format!("False {message}")).await;
    assert_eq!(said(&stalled, "Stalled"), format!("True {message}"));
    ground.stop().await;

    ground.settings().object_level_workload_identity = true;
    let key = data_key();
    ground.sandbox.endpoints.put("https://sts.eu-west-1.amazonaws.com/", |request| {
        let body = String::from_utf8_lossy(request.body()).into_owned();
        assert!(body.contains("RoleSessionName=sops.apps.eu-west-1.fluxcd.io&"), "{body}");
        (200, "<AccessKeyId>W</AccessKeyId><SecretAccessKey>s</SecretAccessKey><SessionToken>t</SessionToken>".to_owned())
    });
    ground.sandbox.endpoints.put("https://kms.eu-west-1.amazonaws.com/", move |request| {
        assert_eq!(request.headers()["x-amz-security-token"], "t");
        (200, json!({"Plaintext": key}).to_string())
    });
    ground.start();
    let missing = ground.until(&app, |it| said(it, "Ready").contains("BuildFailed")).await;
    let words = "failed to get service account 'apps/sops': ServiceAccount";
    assert!(flat(&missing).contains(words), "{}", flat(&missing));
    let mut account = json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "sops", "namespace": "apps"}});
    ground.apply(account.clone()).await;
    let words = "failed to get provider identity from service account 'apps/sops' annotations: invalid eks.amazonaws.com/role-arn annotation: ''";
    ground.until(&app, |it| flat(it).contains(words)).await;
    account["metadata"]["annotations"] =
        json!({"eks.amazonaws.com/role-arn": "arn:aws:iam::1:role/sops"});
    ground.apply(account).await;
    ground.until(&app, |it| said(it, "Ready").starts_with("True")).await;
}

#[tokio::test(start_paused = true)]
async fn a_service_account_logs_in_at_vaults_that_the_operator_trusts() {
    let held = |address: &str| {
        held_by(&format!(
            "hc_vault: [{{vault_address: '{address}', engine_path: sops, key_name: k, created_at: '2026-01-01T00:00:00Z', enc: 'vault:v1:x'}}]"
        ))
    };
    let ground = Ground::with(&[("app/s.yaml", &held("https://evil.test"))], |settings| {
        settings.object_level_workload_identity = true;
        settings.default_decryption_service_account = Some("sops".to_owned());
        settings.sops_vault_config_map =
            Some(sluice_runtime::key::Key::new("apps".to_owned(), "vaults".to_owned()));
    })
    .await;
    ground
        .sandbox
        .endpoints
        .put("https://evil.test", |request| panic!("{} is asked", request.uri()));
    let app = kustomization(
        "app",
        "app",
        json!({"retryInterval": "30s", "decryption": {"provider": "sops"}}),
    );
    ground.apply(app.clone()).await;
    let words = "failed to get Vault ConfigMap 'apps/vaults': configmaps \"vaults\" not found";
    ground.until(&app, |it| flat(it).contains(words)).await;
    let trusted = "instances: [{address: 'https://vault.test', loginPath: auth/kubernetes/login}]";
    let mut map = crate::ground::config_map("vaults");
    map["data"] = json!({"config.yaml": trusted});
    ground.apply(map).await;
    let words =
        "no Vault login path configured for address 'https://evil.test' in ConfigMap 'apps/vaults'";
    ground.until(&app, |it| flat(it).contains(words)).await;

    ground.sandbox.endpoints.put("https://vault.test/v1/auth/kubernetes/login", |request| {
        let body: Value = serde_json::from_slice(request.body()).unwrap();
        assert_eq!(body["role"], "apps_sops");
        assert!(body["jwt"].as_str().unwrap().starts_with("ey"));
        (200, json!({"auth": {"client_token": "right"}}).to_string())
    });
    let key = data_key();
    ground.sandbox.endpoints.put("https://vault.test/v1/sops/decrypt/k", move |request| {
        assert_eq!(request.headers()["x-vault-token"], "right");
        (200, json!({"data": {"plaintext": key}}).to_string())
    });
    let revision =
        ground.commit("a vault that is trusted", &[("app/s.yaml", &held("https://vault.test"))]);
    let words = "the specified default service account does not exist in the object namespace.";
    ground.until(&app, |it| flat(it).contains(words)).await;
    ground
        .apply(json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "sops", "namespace": "apps"}}))
        .await;
    let expected = format!("True ReconciliationSucceeded: Applied revision: {revision}");
    ground.until_ready_says(&app, &expected).await;
}
