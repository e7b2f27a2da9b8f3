//! What becomes of OCIRepositories.

use std::time::Duration;

use serde_json::{Value, json};
use sluice_api::shared::artifact::Artifact;
use sluice_base::fault::{Fault, Rule, Scope};
use sluice_source::archive::{ArchiveLimits, Modes, pack_with, unpack};
use sluice_source::oci::{Descriptor, Doorkeeper, Manifest, SOURCE, media};
use sluice_source::tree::SourceTree;

use crate::ground::{
    Ground, certificate, config_map, config_map_file, kustomization, namespace, said,
};

const APP: &str = "org/app";
const URL: &str = "oci://r.test/org/app";

/// An OCIRepository with more in its spec.
fn repository(spec: Value) -> Value {
    let mut object = json!({
        "apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "OCIRepository",
        "metadata": {"name": "app", "namespace": "apps"},
        "spec": {"interval": "1m", "url": URL},
    });
    if let (Value::Object(into), Value::Object(more)) = (&mut object["spec"], spec) {
        into.extend(more);
    }
    object
}

fn packed(files: &[(&str, &str)]) -> Vec<u8> {
    let mut tree = SourceTree::default();
    for (path, content) in files {
        tree.insert_file(path, content.as_bytes().to_vec()).unwrap();
    }
    pack_with(&tree, |_, _| false, Modes::PUSHED).unwrap().to_vec()
}

/// Pushes an artifact of these files under a tag; gives its digest.
pub(crate) fn push(ground: &Ground, tag: &str, files: &[(&str, &str)]) -> String {
    let layer = ground.sandbox.registries.put_blob(APP, media::FLUX_CONTENT, packed(files));
    push_layers(ground, tag, vec![layer])
}

fn push_layers(ground: &Ground, tag: &str, layers: Vec<Descriptor>) -> String {
    let config = ground.sandbox.registries.put_blob(APP, media::FLUX_CONFIG, "{}");
    let annotations = [
        (SOURCE.to_owned(), "https://git.test/app".to_owned()),
        ("org.opencontainers.image.revision".to_owned(), "main@sha1:abc".to_owned()),
    ];
    let manifest =
        Manifest { config, layers, annotations: Some(annotations.into()), ..Manifest::default() };
    ground.sandbox.registries.put_manifest(APP, Some(tag), &manifest).digest
}

fn stored(revision: &str) -> String {
    format!("True Succeeded: stored artifact for digest '{revision}'")
}

async fn ground() -> Ground {
    let ground = Ground::new().await;
    ground.apply(namespace()).await;
    ground
}

async fn artifact(ground: &Ground, object: &Value) -> (Artifact, bytes::Bytes) {
    let found = ground.get(object).await.unwrap();
    let artifact: Artifact = serde_json::from_value(found["status"]["artifact"].clone()).unwrap();
    (artifact, ground.packed(&found).await)
}

async fn paths(ground: &Ground, object: &Value) -> Vec<String> {
    let (_, content) = artifact(ground, object).await;
    let tree = unpack(&content, ArchiveLimits::default()).unwrap();
    tree.iter().map(|(path, _)| path.to_owned()).collect()
}

#[tokio::test(start_paused = true)]
async fn a_tag_becomes_an_artifact_and_is_followed() {
    let ground = ground().await;
    let first = push(&ground, "latest", &[("a.yaml", "a: 1\n"), ("logo.png", "x")]);
    let object = repository(json!({}));
    ground.apply(object.clone()).await;
    let revision = format!("latest@{first}");
    let ready = ground.until_ready_says(&object, &stored(&revision)).await;
    assert_eq!(said(&ready, "ArtifactInStorage"), stored(&revision));
    assert_eq!(said(&ready, "Reconciling"), "");
    let status = &ready["status"];
    assert_eq!(status["observedGeneration"], 1);
    assert_eq!(status["artifact"]["revision"], revision);
    assert_eq!(status["artifact"]["path"], format!("ocirepository/apps/app/{first}.tar.gz"));
    assert_eq!(status["url"], "http://source.test/ocirepository/apps/app/latest.tar.gz");
    assert_eq!(status["artifact"]["metadata"][SOURCE], "https://git.test/app");
    assert_eq!(paths(&ground, &object).await, ["a.yaml"]);
    let told = format!(
        "Normal NewArtifact: stored artifact with revision '{revision}' from '{URL}', origin source 'https://git.test/app', origin revision 'main@sha1:abc'"
    );
    assert!(ground.events("app").await.contains(&told), "{:?}", ground.events("app").await);

    ground.sandbox.registries.requests();
    tokio::time::sleep(Duration::from_mins(5)).await;
    let still = ground.get(&object).await.unwrap();
    assert_eq!(still["metadata"]["resourceVersion"], ready["metadata"]["resourceVersion"], "no-op");
    let requests = ground.sandbox.registries.requests();
    assert!(
        requests.iter().all(|line| line == "GET /v2/" || line.starts_with("HEAD ")),
        "{requests:?}"
    );

    let second = push(&ground, "latest", &[("b.yaml", "b: 1\n")]);
    ground.until_ready_says(&object, &stored(&format!("latest@{second}"))).await;
    assert_eq!(paths(&ground, &object).await, ["b.yaml"]);

    ground.delete(&object).await;
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert!(ground.get(&object).await.is_none());
    assert_eq!(ground.sandbox.artifacts.paths(), Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn a_kustomization_is_built_from_it() {
    let ground = ground().await;
    push(&ground, "latest", &[("apps/a.yaml", &config_map_file("from-oci", "1"))]);
    ground.apply(repository(json!({}))).await;
    let source = json!({"sourceRef": {"kind": "OCIRepository", "name": "app"}});
    ground.apply(kustomization("web", "./apps", source)).await;
    ground.until(&config_map("from-oci"), |_| true).await;
}

#[tokio::test(start_paused = true)]
async fn references_have_their_order() {
    let ground = ground().await;
    let mut digests = Vec::new();
    for (tag, content) in
        [("latest", "0"), ("1.0.0", "1"), ("1.1.0-rc.1", "2"), ("1.0.1", "3"), ("2.0.0", "4")]
    {
        digests.push(push(&ground, tag, &[("a.yaml", content)]));
    }
    let digest = digests[4].clone();
    for (reference, expected) in [
        (json!({"digest": digest, "semver": "1.x", "tag": "1.0.0"}), digest.clone()),
        (json!({"semver": "1.x", "tag": "2.0.0"}), format!("1.0.1@{}", digests[3])),
        (
            json!({"semver": ">=1.0.0-0", "semverFilter": ".*-rc.*"}),
            format!("1.1.0-rc.1@{}", digests[2]),
        ),
        (json!({"tag": "1.0.0"}), format!("1.0.0@{}", digests[1])),
        (json!({}), format!("latest@{}", digests[0])),
    ] {
        let object = repository(json!({"ref": reference}));
        ground.apply(object.clone()).await;
        ground.until_ready_says(&object, &stored(&expected)).await;
    }
    for (reference, expected) in [
        (
            json!({"semver": ">9"}),
            "False ReadOperationFailed: failed to determine the artifact tag for 'oci://r.test/org/app': no match found for semver: >9",
        ),
        (
            json!({"semver": "what"}),
            "False ReadOperationFailed: failed to determine the artifact tag for 'oci://r.test/org/app': semver 'what' parse error: improper constraint: \"what\"",
        ),
        (
            json!({"tag": "nope"}),
            "False OCIArtifactPullFailed: failed to determine artifact digest: GET https://r.test/v2/org/app/manifests/nope: MANIFEST_UNKNOWN: manifest unknown; unknown tag=nope",
        ),
        (
            json!({"digest": "nope"}),
            "False OCIArtifactPullFailed: failed to determine artifact digest: cannot parse hash: \"nope\"",
        ),
    ] {
        let object = repository(json!({"ref": reference}));
        ground.apply(object.clone()).await;
        let failed = ground.until_ready_says(&object, expected).await;
        assert_eq!(said(&failed, "FetchFailed"), expected.replacen("False", "True", 1));
        assert!(said(&failed, "Reconciling").starts_with("True ProgressingWithRetry: "));
    }
}

#[tokio::test(start_paused = true)]
async fn layers_are_selected_unpacked_or_kept() {
    let ground = ground().await;
    let chart = packed(&[("chart/Chart.yaml", "name: web\n")]);
    let layers = vec![
        ground.sandbox.registries.put_blob(APP, "text/plain", "not an archive"),
        ground.sandbox.registries.put_blob(APP, media::HELM_CHART, chart.clone()),
    ];
    let digest = push_layers(&ground, "1.0.0_build", layers);
    let object = repository(json!({
        "ref": {"semver": "*"}, "layerSelector": {"mediaType": media::HELM_CHART},
    }));
    ground.apply(object.clone()).await;
    let ready = ground.until_ready_says(&object, &stored(&format!("1.0.0_build@{digest}"))).await;
    assert_eq!(ready["status"]["observedLayerSelector"]["mediaType"], media::HELM_CHART);
    assert_eq!(paths(&ground, &object).await, ["chart", "chart/Chart.yaml"]);

    let copy = json!({"mediaType": media::HELM_CHART, "operation": "copy"});
    let object = repository(json!({"ref": {"semver": "*"}, "layerSelector": copy}));
    ground.apply(object.clone()).await;
    ground.until(&object, |it| it["status"]["observedLayerSelector"]["operation"] == "copy").await;
    let (_, content) = artifact(&ground, &object).await;
    assert_eq!(content, chart);

    let reason = "False OCIArtifactLayerOperationFailed";
    let at_first = format!(
        "{reason}: failed to extract layer contents from artifact: requires gzip-compressed body: gzip: invalid header"
    );
    let missing = format!("{reason}: failed to find layer with media type 'x/y' in artifact");
    push_layers(&ground, "empty", Vec::new());
    let none = format!("{reason}: no layers found in artifact");
    for (spec, expected) in [
        (json!({"ref": {"tag": "1.0.0_build"}}), at_first),
        (json!({"ref": {"tag": "1.0.0_build"}, "layerSelector": {"mediaType": "x/y"}}), missing),
        (json!({"ref": {"tag": "empty"}}), none),
    ] {
        let mut object = repository(spec);
        object["metadata"]["name"] = json!("bad");
        ground.apply(object.clone()).await;
        ground.until(&object, |it| said(it, "Ready").starts_with(&expected)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn what_the_spec_ignores_is_left_out() {
    let ground = ground().await;
    push(
        &ground,
        "latest",
        &[("a.yaml", "a: 1"), ("docs/b.md", "b"), (".sourceignore", "*.txt"), ("c.txt", "c")],
    );
    let object = repository(json!({}));
    ground.apply(object.clone()).await;
    ground.until(&object, |it| said(it, "Ready").starts_with("True")).await;
    assert_eq!(paths(&ground, &object).await, [".sourceignore", "a.yaml", "docs", "docs/b.md"]);
    ground.apply(repository(json!({"ignore": "docs/\n"}))).await;
    ground.until(&object, |it| it["status"]["observedIgnore"] == "docs/\n").await;
    assert_eq!(paths(&ground, &object).await, [".sourceignore", "a.yaml"]);
}

#[tokio::test(start_paused = true)]
async fn addresses_that_are_none_stall() {
    let ground = ground().await;
    for (url, message) in [
        (
            "oci://r.test/org/app:v1",
            "repository can only contain the characters `abcdefghijklmnopqrstuvwxyz0123456789_-./`: org/app:v1",
        ),
        ("oci://r.test/a", "repository must be between 2 and 255 characters in length: a"),
    ] {
        let object = repository(json!({"url": url}));
        ground.apply(object.clone()).await;
        let expected = format!("False URLInvalid: URL validation failed for '{url}': {message}");
        let stalled = ground.until_ready_says(&object, &expected).await;
        assert_eq!(said(&stalled, "Stalled"), expected.replacen("False", "True", 1));
        assert_eq!(said(&stalled, "Reconciling"), "");
    }
    push(&ground, "latest", &[("a.yaml", "a: 1")]);
    ground.apply(repository(json!({}))).await;
    let ready =
        ground.until(&repository(json!({})), |it| said(it, "Ready").starts_with("True")).await;
    assert_eq!(said(&ready, "Stalled"), "");
}

fn secret(name: &str, kind: &str, data: &Value) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Secret", "type": kind,
        "metadata": {"name": name, "namespace": "apps"}, "stringData": data,
    })
}

fn docker_config(name: &str, password: &str) -> Value {
    let config = json!({"auths": {"r.test": {"username": "ada", "password": password}}});
    let data = json!({".dockerconfigjson": config.to_string()});
    secret(name, "kubernetes.io/dockerconfigjson", &data)
}

#[tokio::test(start_paused = true)]
async fn credentials_come_from_secrets_and_service_accounts() {
    let ground = ground().await;
    let digest = push(&ground, "latest", &[("a.yaml", "a: 1")]);
    let ready = stored(&format!("latest@{digest}"));
    ground.sandbox.registries.guard(Doorkeeper::Bearer("ada".into(), "right".into()));
    let failed =
        |message: &str| format!("False AuthenticationFailed: failed to get credential: {message}");

    let object = repository(json!({}));
    ground.apply(object.clone()).await;
    ground
        .until(&object, |it| said(it, "Ready").contains("UNAUTHORIZED: authentication required"))
        .await;

    let object = repository(json!({"secretRef": {"name": "login"}}));
    ground.apply(object.clone()).await;
    let missing = failed("failed to get secret 'apps/login': secrets \"login\" not found");
    ground.until_ready_says(&object, &missing).await;
    ground.apply(docker_config("login", "wrong")).await;
    ground
        .until(&object, |it| said(it, "Ready").contains("UNAUTHORIZED: authentication required"))
        .await;
    ground.apply(docker_config("login", "right")).await;
    ground.until_ready_says(&object, &ready).await;

    let mut object = repository(json!({"serviceAccountName": "puller"}));
    object["metadata"]["name"] = json!("by-account");
    ground.apply(object.clone()).await;
    ground.until_ready_says(&object, &failed("serviceaccount 'apps/puller' not found")).await;
    let account = |secret: &str| {
        json!({
            "apiVersion": "v1", "kind": "ServiceAccount",
            "metadata": {"name": "puller", "namespace": "apps"}, "imagePullSecrets": [{"name": secret}],
        })
    };
    ground.apply(account("nope")).await;
    let missing = failed(
        "failed to get image pull secret for serviceaccount 'apps/puller': secret 'apps/nope' not found",
    );
    ground.until_ready_says(&object, &missing).await;
    ground.apply(account("login")).await;
    ground.until_ready_says(&object, &ready).await;
}

#[tokio::test(start_paused = true)]
async fn certificates_and_proxies_are_read_from_secrets() {
    let ground = ground().await;
    let digest = push(&ground, "latest", &[("a.yaml", "a: 1")]);
    let object = repository(json!({"certSecretRef": {"name": "tls"}}));
    ground.apply(object.clone()).await;
    let failed = |message: &str| {
        format!(
            "False AuthenticationFailed: failed to generate transport for '{URL}': secret 'apps/tls' {message}"
        )
    };
    ground.until_ready_says(&object, &failed("not found")).await;
    for (data, message) in [
        (json!({"x": "y"}), "must contain either 'ca.crt' or both 'tls.crt' and 'tls.key'"),
        (json!({"x": "", "tls.crt": "y"}), "contains 'tls.crt' but missing 'tls.key'"),
    ] {
        ground.apply(secret("tls", "Opaque", &data)).await;
        ground.until_ready_says(&object, &failed(message)).await;
    }
    for (data, message) in [
        (json!({"ca.crt": "y", "tls.crt": ""}), "failed to parse CA certificate"),
        (
            json!({"ca.crt": "", "tls.crt": "y", "tls.key": "z"}),
            "failed to parse TLS certificate and key: tls: failed to find any PEM data in certificate input",
        ),
    ] {
        ground.apply(secret("tls", "Opaque", &data)).await;
        ground.until(&object, |it| said(it, "Ready").ends_with(message)).await;
    }
    let trusted = json!({"ca.crt": certificate(), "tls.crt": "", "tls.key": ""});
    ground.apply(secret("tls", "Opaque", &trusted)).await;
    ground.until_ready_says(&object, &stored(&format!("latest@{digest}"))).await;

    let object = repository(json!({"proxySecretRef": {"name": "proxy"}}));
    ground.apply(object.clone()).await;
    let missing = "False AuthenticationFailed: failed to get proxy address: ";
    ground.until(&object, |it| said(it, "Ready").starts_with(missing)).await;
    ground.apply(secret("proxy", "Opaque", &json!({"address": "http://proxy.test:3128"}))).await;
    ground.until(&object, |it| said(it, "Ready").starts_with("True")).await;
}

/// Lets all requests to addresses with a text in them meet a fault.
fn fail(ground: &Ground, part: &str, fault: Fault) {
    let rule = Rule::new(Scope::default().address(part), fault);
    ground.sandbox.registries.faults().install(rule).unwrap();
}

#[tokio::test(start_paused = true)]
async fn what_a_registry_refuses_is_told_and_passes() {
    let ground = ground().await;
    let digest = push(&ground, "latest", &[("a.yaml", "a: 1")]);
    let at = "https://r.test/v2/org/app/manifests/latest";
    let code = |code: &str, message: &str| {
        json!({"errors": [{"code": code, "message": message}]}).to_string()
    };
    let unresolved = "False OCIArtifactPullFailed: failed to determine artifact digest: ";
    let unpulled = format!("False OCIArtifactPullFailed: failed to pull artifact from '{URL}': ");
    let unread =
        "False OCIArtifactLayerOperationFailed: failed to extract layer contents from artifact: ";
    let unbegun =
        "False OCIArtifactLayerOperationFailed: failed to extract the first layer from artifact: ";
    let object = repository(json!({"timeout": "20s"}));
    for (path, fault, expected) in [
        (
            "/manifests/",
            Fault::refuse_saying(401, &code("UNAUTHORIZED", "who are you")),
            format!("{unresolved}GET {at}: UNAUTHORIZED: who are you"),
        ),
        (
            "/manifests/",
            Fault::refuse_saying(403, &code("DENIED", "no")),
            format!("{unresolved}GET {at}: DENIED: no"),
        ),
        (
            "/manifests/",
            Fault::refuse_saying(404, &code("NAME_UNKNOWN", "no")),
            format!("{unresolved}GET {at}: NAME_UNKNOWN: no"),
        ),
        (
            "/manifests/",
            Fault::refuse_saying(429, &code("TOOMANYREQUESTS", "slow")),
            format!("{unresolved}GET {at}: TOOMANYREQUESTS: slow"),
        ),
        (
            "/manifests/",
            Fault::refuse(500),
            format!("{unresolved}GET {at}: unexpected status code 500 Internal Server Error"),
        ),
        ("/manifests/", Fault::Stall, format!("{unresolved}context deadline exceeded")),
        ("/manifests/sha256", Fault::Garble, format!("{unpulled}manifest digest: \"sha256:")),
        ("/manifests/sha256", Fault::Truncate, format!("{unpulled}manifest digest: \"sha256:")),
        ("/blobs/", Fault::Truncate, format!("{unread}error verifying size; got ")),
        (
            "/blobs/",
            Fault::Garble,
            format!("{unread}error verifying sha256 checksum after reading "),
        ),
        ("/blobs/", Fault::Stall, format!("{unbegun}context deadline exceeded")),
        ("/blobs/", Fault::Cut, format!("{unread}tar error: unexpected EOF")),
        ("/blobs/", Fault::refuse(404), format!("{unbegun}GET https://r.test/v2/")),
        ("/manifests/sha256", Fault::Cut, format!("{unpulled}unexpected EOF")),
        (
            "/v2/",
            Fault::Reset,
            format!("{unresolved}Get \"https://r.test/v2/\": connection reset by peer"),
        ),
    ] {
        fail(&ground, path, fault.clone());
        ground.apply(object.clone()).await;
        let failed = ground.until(&object, |it| said(it, "Ready").starts_with(&expected)).await;
        assert!(said(&failed, "FetchFailed").starts_with("True"), "{fault:?}");
        ground.sandbox.clear_faults();
        ground.until_ready_says(&object, &stored(&format!("latest@{digest}"))).await;
        ground.delete(&object).await;
        tokio::time::sleep(Duration::from_secs(5)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_failure_after_a_new_revision_keeps_the_old_artifact() {
    let ground = ground().await;
    let first = push(&ground, "latest", &[("a.yaml", "a: 1")]);
    let object = repository(json!({}));
    ground.apply(object.clone()).await;
    ground.until_ready_says(&object, &stored(&format!("latest@{first}"))).await;
    let second = push(&ground, "latest", &[("a.yaml", "a: 2")]);
    fail(&ground, "/blobs/", Fault::Truncate);
    let failed = ground.until(&object, |it| said(it, "Ready").starts_with("False")).await;
    let news = format!("new revision 'latest@{second}' for 'r.test/org/app:latest'");
    assert_eq!(said(&failed, "ArtifactOutdated"), format!("True NewRevision: {news}"));
    assert_eq!(
        said(&failed, "Reconciling"),
        format!("True ProgressingWithRetry: building artifact: {news}")
    );
    assert_eq!(failed["status"]["artifact"]["revision"], format!("latest@{first}"));
    assert_eq!(paths(&ground, &object).await, ["a.yaml"]);
    ground.sandbox.clear_faults();
    let ready = ground.until_ready_says(&object, &stored(&format!("latest@{second}"))).await;
    assert_eq!(said(&ready, "ArtifactOutdated"), "");
    let events = ground.events("app").await;
    assert!(
        events.iter().any(|event| event.starts_with("Warning OCIArtifactLayerOperationFailed: "))
    );
}

#[tokio::test(start_paused = true)]
async fn who_is_suspended_is_left_alone_and_what_is_lost_is_made_anew() {
    let ground = ground().await;
    let digest = push(&ground, "latest", &[("a.yaml", "a: 1")]);
    let object = repository(json!({"suspend": true}));
    ground.apply(object.clone()).await;
    tokio::time::sleep(Duration::from_mins(3)).await;
    assert_eq!(said(&ground.get(&object).await.unwrap(), "Ready"), "");
    assert_eq!(ground.sandbox.registries.requests(), Vec::<String>::new());
    let object = repository(json!({"suspend": false}));
    ground.apply(object.clone()).await;
    ground.until_ready_says(&object, &stored(&format!("latest@{digest}"))).await;
    let (artifact, _) = artifact(&ground, &object).await;
    let place = sluice_source::artifact::ArtifactPath::of_path(&artifact.path).unwrap();
    sluice_source::store::ArtifactStore::remove(&*ground.sandbox.artifacts, &place).await.unwrap();
    assert_eq!(ground.sandbox.artifacts.paths(), Vec::<String>::new());
    tokio::time::sleep(Duration::from_mins(2)).await;
    assert!(!ground.sandbox.artifacts.paths().is_empty());
    assert_eq!(paths(&ground, &object).await, ["a.yaml"]);
}
