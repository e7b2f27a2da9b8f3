//! Bad input: what is said of it, that nothing grows while it lasts, and that all is well once it is gone,
//! without anybody's help. The table in `docs/compat.md` lists these cases.

use std::io::Write as _;
use std::sync::Arc;
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};
use sluice_source::archive::pack;
use sluice_source::artifact::{ArtifactPath, Digest, DigestAlgorithm};
use sluice_source::git::Repository;
use sluice_source::oci::{Manifest, media};
use sluice_source::store::ArtifactStore as _;
use sluice_source::tree::SourceTree;

use crate::ground::{
    Ground, URL, config_map, config_map_file, kustomization, merge, namespace, repository,
    repository_with, said, secret, source_with,
};

/// Something that happens in the world.
enum Act {
    /// A commit of these files, and nothing else.
    Commit(Vec<(&'static str, String)>),
    /// A history takes the place of the one that was there.
    Push(Box<Repository>),
    /// A user applies an object.
    Apply(Value),
    /// Somebody offers an archive as a revision of an ExternalArtifact, and says that it has this digest.
    Offer { revision: &'static str, packed: Vec<u8>, digest: Digest },
    /// Somebody pushes an image whose only layer is this.
    Image(Vec<u8>),
}

/// One kind of bad input: how it comes about, who says what about it, and how it passes.
struct Bad {
    name: &'static str,
    spoil: Vec<Act>,
    object: Value,
    says: &'static str,
    mend: Vec<Act>,
}

impl Act {
    async fn happen(self, ground: &Ground) {
        match self {
            Self::Commit(files) => {
                let files: Vec<(&str, &str)> =
                    files.iter().map(|(path, text)| (*path, text.as_str())).collect();
                ground.commit("files", &files);
            }
            Self::Push(history) => ground.sandbox.git.insert(URL, *history),
            Self::Apply(object) => ground.apply(object).await,
            Self::Offer { revision, packed, digest } => {
                let place =
                    ArtifactPath::new("ExternalArtifact", "apps", "foreign", revision).unwrap();
                let size = packed.len();
                ground.sandbox.artifacts.put(&place, packed.into()).await.unwrap();
                let status = json!({"artifact": {
                    "url": format!("http://source.test/{}", place.path()), "path": place.path(),
                    "revision": revision, "digest": digest.to_string(), "size": size,
                    "lastUpdateTime": "2026-01-01T00:00:00Z",
                }});
                ground
                    .set_status(&source_with("ExternalArtifact", "foreign", &json!({})), status)
                    .await;
            }
            Self::Image(layer) => {
                let layers =
                    vec![ground.sandbox.registries.put_blob("org/app", media::FLUX_CONTENT, layer)];
                let config =
                    ground.sandbox.registries.put_blob("org/app", media::FLUX_CONFIG, "{}");
                let manifest = Manifest { config, layers, ..Manifest::default() };
                ground.sandbox.registries.put_manifest("org/app", Some("latest"), &manifest);
            }
        }
    }
}

/// How much there is of what bad input could make more of: the status of the object, events about it, artifacts.
async fn size(ground: &Ground, object: &Value) -> (usize, usize, usize) {
    let status = ground.get(object).await.unwrap()["status"].to_string().len();
    let name = object["metadata"]["name"].as_str().unwrap();
    (status, ground.events(name).await.len(), ground.sandbox.artifacts.paths().len())
}

async fn endure(Bad { name, spoil, object, says, mend }: Bad) {
    let mut ground = Ground::idle().await;
    ground.settings().external_artifacts = true;
    ground.apply(namespace()).await;
    ground.apply(repository()).await;
    ground.start();
    for act in spoil {
        act.happen(&ground).await;
    }
    let found = ground.until(&object, |it| said(it, "Ready").starts_with("False")).await;
    let first = said(&found, "Ready");
    let failed = ground.until(&object, |it| said(it, "Ready").starts_with(says));
    let failed = tokio::time::timeout(Duration::from_mins(5), failed).await;
    assert!(failed.is_ok(), "{name}: says {first}");

    tokio::time::sleep(Duration::from_mins(20)).await;
    let before = size(&ground, &object).await;
    tokio::time::sleep(Duration::from_hours(1)).await;
    let still = ground.get(&object).await.unwrap();
    assert!(said(&still, "Ready").starts_with(says), "{name}: says {}", said(&still, "Ready"));
    let after = size(&ground, &object).await;
    // A counter has more digits; a message with a duration in it may be another one.
    assert!(after.0 <= before.0 + 16, "{name}: the status grows: {before:?} {after:?}");
    assert!(after.1 <= before.1 + 1, "{name}: there are more events: {before:?} {after:?}");
    assert_eq!(after.2, before.2, "{name}: there are more artifacts");
    let counted = Arc::clone(&ground.operation().metrics).render();
    assert!(!counted.contains("panics_total"), "{name}: {counted}");

    for act in mend {
        act.happen(&ground).await;
    }
    // The longest pause between two tries.
    tokio::time::sleep(Duration::from_mins(17)).await;
    let ready = ground.until(&object, |it| said(it, "Ready").starts_with("True ")).await;
    assert_eq!(said(&ready, "Stalled"), "", "{name}");
    assert_eq!(said(&ready, "Reconciling"), "", "{name}");
    ground.stop().await;
}

fn archive(files: &[(&str, &str)]) -> Vec<u8> {
    let mut tree = SourceTree::default();
    for (path, content) in files {
        tree.insert_file(path, content.as_bytes().to_vec()).unwrap();
    }
    pack(&tree, |_, _| false).unwrap().to_vec()
}

/// An archive with one entry, whose name is written as it is.
fn hostile(name: &str, kind: tar::EntryType, content: &[u8]) -> Vec<u8> {
    let mut header = tar::Header::new_ustar();
    header.as_mut_bytes()[..name.len()].copy_from_slice(name.as_bytes());
    header.set_entry_type(kind);
    header.set_mode(0o644);
    header.set_size(content.len() as u64);
    header.set_cksum();
    let mut builder = tar::Builder::new(Vec::new());
    builder.append(&header, content).unwrap();
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(&builder.into_inner().unwrap()).unwrap();
    encoder.finish().unwrap()
}

fn sha256(content: &[u8]) -> Digest {
    Digest::of(DigestAlgorithm::Sha256, content)
}

/// An artifact that somebody else made, and a Kustomization of it.
fn offered(name: &'static str, packed: Vec<u8>, digest: Digest, says: &'static str) -> Bad {
    let good = archive(&[("app/a.yaml", &config_map_file("a", "1"))]);
    let source = json!({"sourceRef": {"kind": "ExternalArtifact", "name": "foreign"}, "retryInterval": "5m"});
    let object = kustomization("app", "app", source);
    Bad {
        name,
        spoil: vec![
            Act::Apply(source_with("ExternalArtifact", "foreign", &json!({}))),
            Act::Offer { revision: "bad", packed, digest },
            Act::Apply(object.clone()),
        ],
        object,
        says,
        mend: vec![Act::Offer { revision: "good", digest: sha256(&good), packed: good }],
    }
}

#[tokio::test(start_paused = true)]
async fn archives_that_are_cut_off_or_hostile() {
    let good = archive(&[("app/a.yaml", &config_map_file("a", "1"))]);
    let half = good[..good.len() / 2].to_vec();
    let file = tar::EntryType::Regular;
    let out = hostile("../../etc/cron.d/evil", file, b"x");
    let root = hostile("/etc/cron.d/evil", file, b"x");
    let bomb = hostile("app/zeros.yaml", file, &vec![0; 20 << 20]);
    let cut = "False ArtifactFailed: tar error: unexpected EOF";
    let none = "False ArtifactFailed: requires gzip-compressed body: ";
    let leaves = "False ArtifactFailed: tar contained invalid name error ";
    let large = "False ArtifactFailed: the archive exceeds the limit of ";
    for (name, packed, says) in [
        ("cut off", half, cut),
        ("no archive", b"GIF89a".to_vec(), none),
        ("a path that leaves it", out, leaves),
        ("an absolute path", root, leaves),
        ("a bomb", bomb, large),
    ] {
        let digest = sha256(&packed);
        endure(offered(name, packed, digest, says)).await;
    }
    let corrupt = "False ArtifactFailed: ";
    endure(offered("another digest", good, sha256(b"other"), corrupt)).await;
}

#[tokio::test(start_paused = true)]
async fn layers_that_are_cut_off_or_hostile() {
    let good = archive(&[("a.yaml", "a: 1\n")]);
    let half = good[..good.len() / 2].to_vec();
    let out = hostile("../evil", tar::EntryType::Regular, b"x");
    let spec = json!({"interval": "1m", "url": "oci://r.test/org/app"});
    for (name, layer) in [("cut off", half), ("a path that leaves it", out)] {
        let object = source_with("OCIRepository", "app", &spec);
        endure(Bad {
            name,
            spoil: vec![Act::Image(layer), Act::Apply(object.clone())],
            object,
            says: "False OCIArtifactLayerOperationFailed: ",
            mend: vec![Act::Image(good.clone())],
        })
        .await;
    }
}

/// A commit that cannot be used, and one that can.
fn committed(name: &'static str, path: &'static str, text: &str, says: &'static str) -> Bad {
    let object = kustomization("app", "app", json!({"retryInterval": "5m"}));
    let good = config_map_file("a", "1");
    Bad {
        name,
        spoil: vec![Act::Commit(vec![(path, text.to_owned())]), Act::Apply(object.clone())],
        object,
        says,
        mend: vec![Act::Commit(vec![("app/a.yaml", good)])],
    }
}

#[tokio::test(start_paused = true)]
async fn commits_that_cannot_be_built() {
    let unreadable = "False BuildFailed: failed to decode Kubernetes YAML from /app/a.yaml: ";
    let leaves = "False BuildFailed: kustomize build failed: accumulating resources: ";
    let file = "app/kustomization.yaml";
    for bad in [
        committed("invalid YAML", "app/a.yaml", "a: [", unreadable),
        committed("a path that leaves the root", file, "resources: [../../../etc]", leaves),
        committed("itself", file, "resources: [../app]", leaves),
        committed(
            "a path that is not there",
            "other/a.yaml",
            "a: 1",
            "False ArtifactFailed: kustomization path not found: ",
        ),
    ] {
        endure(bad).await;
    }
}

/// A Kustomization that says something of no use, and then something else.
fn specified(name: &'static str, bad: Value, says: &'static str, good: Value) -> Bad {
    let with = |mut spec: Value| {
        merge(&mut spec, json!({"retryInterval": "5m", "timeout": "30s"}));
        kustomization("app", "app", spec)
    };
    let object = with(bad);
    let file = config_map_file("a", "1");
    Bad {
        name,
        spoil: vec![Act::Commit(vec![("app/a.yaml", file)]), Act::Apply(object.clone())],
        object,
        says,
        mend: vec![Act::Apply(with(good))],
    }
}

#[tokio::test(start_paused = true)]
async fn specs_that_lead_nowhere() {
    let loops = "[1,2,3,4,5,6,7,8,9,10]";
    let endless = ["a", "b", "c", "d", "e", "f", "g", "h", "i"]
        .iter()
        .fold("true".to_owned(), |inner, name| format!("{loops}.all({name}, {inner})"));
    let healthy = |current: &str| json!({"wait": true, "healthCheckExprs": [{"apiVersion": "v1", "kind": "ConfigMap", "current": current}]});
    endure(specified(
        "endless CEL",
        healthy(&endless),
        "False HealthCheckFailed: ",
        healthy("data.value == '1'"),
    ))
    .await;
    endure(specified(
        "CEL that is none",
        healthy("data.value =="),
        "False InvalidCELExpression: ",
        healthy("data.value == '1'"),
    ))
    .await;
    endure(specified(
        "a path above the root",
        json!({"path": "../../etc"}),
        "False ArtifactFailed: kustomization path not found: stat /etc: no such file or directory",
        json!({"path": "../../app"}),
    ))
    .await;
    let after = |names: &[&str]| {
        let names: Vec<Value> = names.iter().map(|name| json!({"name": name})).collect();
        json!({"dependsOn": names})
    };
    let mut circle = specified(
        "a circle of dependencies",
        after(&["other"]),
        "False DependencyNotReady: dependency 'apps/other' is not ready: a cycle of dependencies: apps/app -> apps/other -> apps/app",
        after(&["other"]),
    );
    let other = |names: &[&str]| Act::Apply(kustomization("other", "app", after(names)));
    circle.spoil.push(other(&["app"]));
    circle.mend = vec![other(&[])];
    endure(circle).await;
    endure(specified("a circle of one", after(&["app"]), "False DependencyNotReady: ", after(&[])))
        .await;
}

#[tokio::test(start_paused = true)]
async fn keys_that_open_nothing() {
    let golden = |path: &str| {
        let root =
            std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../secrets/tests/goldens");
        std::fs::read_to_string(root.join(path)).unwrap()
    };
    let keys = |name: &str| {
        Act::Apply(secret("sops", &json!({"key.agekey": golden(&format!("keys/{name}.agekey"))})))
    };
    let spec = json!({"decryption": {"provider": "sops", "secretRef": {"name": "sops"}}, "retryInterval": "5m"});
    let object = kustomization("app", "app", spec);
    let encrypted = golden("sops-3.13.3/secret/encrypted.yaml");
    endure(Bad {
        name: "another key",
        spoil: vec![
            Act::Commit(vec![("app/s.yaml", encrypted)]),
            keys("two"),
            Act::Apply(object.clone()),
        ],
        object,
        says: "False BuildFailed: decryption failed for 'Secret.v1.[noGrp]/database': ",
        mend: vec![keys("one")],
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn histories_that_are_empty_or_gone() {
    let file = config_map_file("a", "1");
    endure(Bad {
        name: "no commits",
        spoil: Vec::new(),
        object: repository(),
        says: "False EmptyGitRepository: git repository is empty",
        mend: vec![Act::Commit(vec![("app/a.yaml", file.clone())])],
    })
    .await;
    // A commit that somebody pins, and that a push by force took away.
    let ground = Ground::idle().await;
    let revision = ground.commit("first", &[("app/a.yaml", &file)]);
    let commit = revision.rsplit_once(':').unwrap().1;
    let history = ground.sandbox.git.get(URL).unwrap();
    let pinned = repository_with("pinned", json!({"url": URL, "ref": {"commit": commit}}));
    endure(Bad {
        name: "a commit that is gone",
        spoil: vec![
            Act::Commit(vec![("app/b.yaml", config_map_file("b", "1"))]),
            Act::Apply(pinned.clone()),
        ],
        object: pinned,
        says: "False GitOperationFailed: failed to checkout and determine revision: ",
        mend: vec![Act::Push(Box::new(history))],
    })
    .await;
}

/// A push by force is a commit like any other: what it no longer holds goes. It is reported.
#[tokio::test(start_paused = true)]
async fn history_that_is_rewritten_is_followed_and_reported() {
    let (a, b) = (config_map_file("a", "1"), config_map_file("b", "1"));
    let ground = Ground::with(&[("app/a.yaml", &a)], |_| {}).await;
    let app = kustomization("app", "app", json!({}));
    ground.apply(app.clone()).await;
    ground.until(&app, |it| said(it, "Ready").starts_with("True")).await;
    let before = ground.sandbox.git.get(URL).unwrap();
    let first = before.get_ref("refs/heads/main").unwrap();
    ground.sandbox.git.insert(URL, Repository::new("main"));
    let rewritten = ground.commit("from the beginning", &[("app/b.yaml", &b)]);
    let applied =
        |revision: &str| format!("True ReconciliationSucceeded: Applied revision: {revision}");
    ground.until_ready_says(&app, &applied(&rewritten)).await;
    assert!(ground.get(&config_map("a")).await.is_none());
    assert!(ground.get(&config_map("b")).await.is_some());
    let source = ground.get(&repository()).await.unwrap();
    assert_eq!(said(&source, "FetchFailed"), "");
    let new = rewritten.rsplit_once(':').unwrap().1;
    let words = format!(
        "Warning HistoryRewritten: history of 'main' was rewritten: commit '{new}' does not descend from commit '{first}' of the last artifact"
    );
    let events = ground.events("platform").await;
    assert_eq!(events.iter().filter(|it| **it == words).count(), 1, "{events:?}");
    ground.sandbox.git.insert(URL, before);
    ground
        .until(&app, |it| {
            said(it, "Ready").starts_with("True")
                && it["status"]["lastAppliedRevision"] != rewritten.as_str()
        })
        .await;
    assert!(ground.get(&config_map("a")).await.is_some());
    assert!(ground.get(&config_map("b")).await.is_none());
}
