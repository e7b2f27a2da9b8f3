//! What becomes of Buckets.

use std::time::Duration;

use serde_json::{Value, json};
use sluice_base::fault::{Fault, Rule, Scope};
use sluice_source::artifact::{ArtifactPath, DigestAlgorithm};
use sluice_source::bucket::{BucketAuth, BucketHost, MemoryBucket};
use sluice_source::store::ArtifactStore as _;

use crate::ground::{
    Ground, certificate, config_map_file, kustomization, namespace, said, secret, source_with,
};

fn bucket(spec: Value) -> Value {
    let mut object = source_with(
        "Bucket",
        "things",
        &json!({"interval": "1m", "bucketName": "things", "endpoint": "s3.test"}),
    );
    if let (Value::Object(into), Value::Object(more)) = (&mut object["spec"], spec) {
        into.extend(more);
    }
    object
}

#[tokio::test(start_paused = true)]
async fn objects_become_an_artifact_and_the_same_objects_no_other() {
    let ground = Ground::new().await;
    let file = config_map_file("a", "1");
    ground
        .sandbox
        .buckets
        .insert("things", MemoryBucket::of(&[("deploy/a.yaml", &file), ("notes.md", "x")]));
    ground.apply(namespace()).await;
    let object = bucket(json!({"ignore": "*.md\n", "prefix": ""}));
    ground.apply(object.clone()).await;
    let ready = ground.until(&object, |it| said(it, "Ready").starts_with("True Succeeded")).await;
    let artifact = &ready["status"]["artifact"];
    let revision = artifact["revision"].as_str().unwrap();
    assert_eq!(
        said(&ready, "Ready"),
        format!("True Succeeded: stored artifact: revision '{revision}'")
    );
    assert_eq!(said(&ready, "ArtifactInStorage"), said(&ready, "Ready"));
    assert_eq!(ready["status"]["observedIgnore"], "*.md\n");
    assert_eq!(ready["status"]["observedGeneration"], 1);
    let hex = revision.strip_prefix("sha256:").unwrap();
    assert_eq!(artifact["path"], format!("bucket/apps/things/{hex}.tar.gz"));
    assert_eq!(ready["status"]["url"], "http://source.test/bucket/apps/things/latest.tar.gz");
    let message = "Normal NewArtifact: stored artifact with 1 fetched files from 'things' bucket";
    assert!(ground.events("things").await.contains(&message.to_owned()));

    let reads = || ground.sandbox.buckets.change("things", |it| it.reads).unwrap();
    let before = reads();
    tokio::time::sleep(Duration::from_mins(5)).await;
    assert_eq!(reads(), before, "nothing is fetched while nothing changes");
    let still = ground.get(&object).await.unwrap();
    assert_eq!(still["metadata"]["resourceVersion"], ready["metadata"]["resourceVersion"]);

    // A Kustomization builds from it, and follows.
    let source = json!({"sourceRef": {"kind": "Bucket", "name": "things"}});
    let applied = kustomization("all", "./deploy", source);
    ground.apply(applied.clone()).await;
    ground.until(&applied, |it| it["status"]["lastAppliedRevision"] == revision).await;
    let file = config_map_file("a", "2");
    ground
        .sandbox
        .buckets
        .change("things", |it| it.objects.insert("deploy/a.yaml".to_owned(), file.into()));
    let next = ground.until(&object, |it| it["status"]["artifact"]["revision"] != revision).await;
    let revision = next["status"]["artifact"]["revision"].clone();
    ground.until(&applied, |it| it["status"]["lastAppliedRevision"] == revision).await;

    // An artifact that is lost is made anew.
    let path = next["status"]["artifact"]["path"].as_str().unwrap();
    let place = ArtifactPath::of_path(path).unwrap();
    ground.sandbox.artifacts.put(&place, "something else".into()).await.unwrap();
    tokio::time::sleep(Duration::from_mins(2)).await;
    let events = ground.events("things").await;
    let corrupt = "Warning ArtifactVerificationFailed: failed to verify integrity of artifact: ";
    assert!(events.iter().any(|it| it.starts_with(corrupt)), "{events:?}");
    let whole = ground.until(&object, |it| said(it, "Ready").starts_with("True Succeeded")).await;
    assert_eq!(whole["status"]["artifact"]["revision"], revision);
    let suspended = bucket(json!({"suspend": true}));
    ground.apply(suspended.clone()).await;
    tokio::time::sleep(Duration::from_secs(5)).await;
    let before = reads();
    ground.sandbox.buckets.change("things", |it| it.objects.clear());
    tokio::time::sleep(Duration::from_mins(5)).await;
    assert_eq!(reads(), before, "a suspended one is left alone");
    ground.delete(&object).await;
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert!(ground.get(&object).await.is_none());
    assert!(!ground.sandbox.artifacts.paths().iter().any(|path| path.starts_with("bucket/")));
}

#[tokio::test(start_paused = true)]
async fn refusals_have_their_reason_and_pass() {
    let ground = Ground::new().await;
    ground.apply(namespace()).await;
    let object = bucket(json!({"timeout": "20s"}));
    ground.apply(object.clone()).await;
    let missing = "False BucketOperationFailed: bucket 'things' not found";
    let failed = ground.until_ready_says(&object, missing).await;
    assert_eq!(said(&failed, "FetchFailed"), missing.replace("False", "True"));
    assert!(said(&failed, "Reconciling").starts_with("True ProgressingWithRetry: "));
    let existence = "failed to confirm existence of 'things' bucket: ";
    let listing = "indexation of objects from bucket 'things' failed: listing objects from bucket 'things' failed: ";
    let reading = "fetch from bucket 'things' failed: failed to get 'a' object: ";
    let well = || MemoryBucket::of(&[("a", "b")]);
    let all = Scope::default;
    for (scope, fault, expected) in [
        (all(), Fault::refuse(401), format!("{existence}401 Unauthorized")),
        (all(), Fault::refuse_saying(403, "Access Denied."), format!("{existence}Access Denied.")),
        (all(), Fault::throttle(1), format!("{existence}429 Too Many Requests")),
        (all(), Fault::refuse(500), format!("{existence}500 Internal Server Error")),
        (all(), Fault::Stall, format!("{existence}context deadline exceeded")),
        (all().verbs(["list"]), Fault::Cut, format!("{listing}unexpected EOF")),
        (all().address("things/a"), Fault::Cut, format!("{reading}unexpected EOF")),
    ] {
        ground.sandbox.buckets.insert("things", well());
        ground.sandbox.buckets.faults().install(Rule::new(scope, fault)).unwrap();
        ground.apply(object.clone()).await;
        let failed = format!("False BucketOperationFailed: {expected}");
        let failed = ground.until_ready_says(&object, &failed).await;
        assert!(said(&failed, "FetchFailed").starts_with("True"), "{expected}");
        ground.sandbox.clear_faults();
        ground.until(&object, |it| said(it, "Ready").starts_with("True Succeeded")).await;
        ground.delete(&object).await;
        tokio::time::sleep(Duration::from_secs(5)).await;
    }
    ground.apply(object.clone()).await;
    ground.sandbox.buckets.insert("things", MemoryBucket::of(&[("a", "b")]));
    let ready = ground.until(&object, |it| said(it, "Ready").starts_with("True Succeeded")).await;
    assert_eq!(said(&ready, "FetchFailed"), "");
    assert!(
        ground.events("things").await.iter().any(|it| it == &format!("Warning {}", &missing[6..]))
    );
}

#[tokio::test(start_paused = true)]
async fn credentials_are_checked_and_handed_on() {
    let ground = Ground::new().await;
    ground.apply(namespace()).await;
    ground.sandbox.buckets.insert("things", MemoryBucket::of(&[("a", "b")]));
    let named = |name: &str| json!({"name": name});
    let cases = [
        (
            json!({"secretRef": named("none")}),
            "AuthenticationFailed: failed to get secret 'apps/none': secrets \"none\" not found",
        ),
        (
            json!({"secretRef": named("some")}),
            "AuthenticationFailed: invalid 'some' secret data: required fields 'accesskey' and 'secretkey'",
        ),
        (
            json!({"secretRef": named("some"), "provider": "gcp"}),
            "AuthenticationFailed: invalid 'some' secret data: required fields 'serviceaccount'",
        ),
        (
            json!({"secretRef": named("some"), "provider": "azure"}),
            "AuthenticationFailed: invalid 'some' secret data: requires a 'clientId' or 'accountKey' field, a combination of 'tenantId', 'clientId' and 'clientSecret', or 'tenantId', 'clientId' and 'clientCertificate'",
        ),
        (
            json!({"proxySecretRef": named("none")}),
            "AuthenticationFailed: failed to get proxy URL: secret 'apps/none' not found",
        ),
        (
            json!({"proxySecretRef": named("some")}),
            "AuthenticationFailed: failed to get proxy URL: secret 'apps/some': key 'address' not found",
        ),
        (
            json!({"certSecretRef": named("some")}),
            "AuthenticationFailed: failed to get TLS config: secret 'apps/some' must contain either 'ca.crt' or both 'tls.crt' and 'tls.key'",
        ),
        (
            json!({"sts": {"provider": "ldap", "endpoint": "https://sts.test", "secretRef": named("some")}}),
            "AuthenticationFailed: invalid 'some' secret data for 'ldap' STS provider: required fields username, password",
        ),
        (
            json!({"sts": {"provider": "ldap", "endpoint": "https://sts.test", "certSecretRef": named("some")}}),
            "AuthenticationFailed: failed to get STS TLS config: secret 'apps/some' must contain either 'ca.crt' or both 'tls.crt' and 'tls.key'",
        ),
    ];
    ground.apply(secret("some", &json!({"other": "x"}))).await;
    for (spec, expected) in cases {
        let object = bucket(spec);
        ground.apply(object.clone()).await;
        ground.until_ready_says(&object, &format!("False {expected}")).await;
        ground.delete(&object).await;
        tokio::time::sleep(Duration::from_secs(5)).await;
    }
    let gated = bucket(json!({"provider": "aws", "serviceAccountName": "me"}));
    ground.apply(gated.clone()).await;
    let words = "True FeatureGateDisabled: to use spec.serviceAccountName for provider authentication please enable the ObjectLevelWorkloadIdentity feature gate in the controller";
    ground.until(&gated, |it| said(it, "Stalled") == words).await;
    ground.delete(&gated).await;
    tokio::time::sleep(Duration::from_secs(5)).await;

    ground.apply(secret("keys", &json!({"accesskey": "id", "secretkey": "s"}))).await;
    ground
        .apply(secret(
            "proxy",
            &json!({"address": "http://proxy.test", "username": "u", "password": "p"}),
        ))
        .await;
    ground.apply(secret("trust", &json!({"ca.crt": certificate()}))).await;
    let object = bucket(json!({
        "provider": "aws", "region": "eu-1", "insecure": true, "secretRef": named("keys"),
        "proxySecretRef": named("proxy"), "certSecretRef": named("trust"),
        "sts": {"provider": "aws", "endpoint": "https://sts.test"},
    }));
    ground.apply(object.clone()).await;
    ground.until(&object, |it| said(it, "Ready").starts_with("True Succeeded")).await;
    let opened = ground.sandbox.buckets.opened().pop().unwrap();
    assert_eq!(
        (opened.host, opened.region.as_str(), opened.insecure),
        (BucketHost::Aws, "eu-1", true)
    );
    assert_eq!(
        (opened.endpoint.as_str(), opened.sts_endpoint.as_str()),
        ("s3.test", "https://sts.test")
    );
    let BucketAuth::Secret { data, .. } = &opened.auth else { panic!("{opened:?}") };
    assert_eq!(data["accesskey"], b"id");
    assert!(opened.http.tls.authorities.starts_with(b"-----BEGIN CERTIFICATE-----"));
    assert_eq!(opened.http.proxy.unwrap().address, "http://proxy.test");
}

#[tokio::test(start_paused = true)]
async fn revisions_are_computed_with_the_digest_of_the_installation() {
    let mut ground = Ground::idle().await;
    ground.backends().digests = DigestAlgorithm::Sha512;
    ground.start();
    ground.sandbox.buckets.insert("things", MemoryBucket::of(&[("a.yaml", "a")]));
    ground.apply(namespace()).await;
    let object = bucket(json!({}));
    ground.apply(object.clone()).await;
    let ready = ground.until(&object, |it| said(it, "Ready").starts_with("True Succeeded")).await;
    let revision = ready["status"]["artifact"]["revision"].as_str().unwrap();
    assert_eq!(revision.strip_prefix("sha512:").map(str::len), Some(128), "{revision}");
    // The same revision is known again, so that nothing is made anew.
    tokio::time::sleep(Duration::from_mins(5)).await;
    let still = ground.get(&object).await.unwrap();
    assert_eq!(still["metadata"]["resourceVersion"], ready["metadata"]["resourceVersion"]);
}
