//! GitRepositories: every way to name a commit, what is taken of it, who signed it, and remotes in trouble.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};
use sluice_base::fault::Fault;
use sluice_source::artifact::ArtifactPath;
use sluice_source::git::{Identity, ObjectId, ObjectKind, Repository};
use sluice_source::store::ArtifactStore as _;

use crate::ground::{Ground, URL, namespace, repository, repository_with, said, secret};

fn stored(revision: &str) -> String {
    format!("True Succeeded: stored artifact for revision '{revision}'")
}

/// The paths of the files in the artifact of an object.
async fn files(ground: &Ground, object: &Value) -> Vec<String> {
    let packed = ground.packed(object).await;
    let limits = sluice_source::archive::ArchiveLimits::default();
    let tree = sluice_source::archive::unpack(&packed, limits).unwrap();
    let files = tree.iter().filter(|(path, _)| tree.read(path).is_some());
    files.map(|(path, _)| path.to_owned()).collect()
}

#[tokio::test(start_paused = true)]
async fn a_reference_names_a_commit_in_every_way_flux_knows() {
    let ground = Ground::new().await;
    ground.apply(namespace()).await;
    let hash = |revision: String| revision.rsplit(':').next().unwrap().to_owned();
    let first = hash(ground.commit("one", &[("a", "1")]));
    let second = hash(ground.commit("two", &[("a", "2")]));
    let third = hash(ground.commit("three", &[("a", "3")]));
    let id = |text: &str| -> ObjectId { text.parse().unwrap() };
    let by = Identity::new("Ada", "ada@git.test", jiff::Timestamp::UNIX_EPOCH);
    ground.sandbox.git.change(URL, |repository: &mut Repository| {
        repository.tag("v1.0.0", id(&first));
        repository.annotated_tag("v1.1.0", id(&second), "a release", &by);
        repository.tag("v2.0.0-rc.1", id(&third));
        repository.set_ref("refs/heads/dev", Some(id(&second)));
        repository.set_ref("refs/pull/7/head", Some(id(&first)));
    });
    for (name, reference, revision) in [
        ("branch", json!({"branch": "dev"}), format!("dev@sha1:{second}")),
        ("tag", json!({"tag": "v1.0.0"}), format!("v1.0.0@sha1:{first}")),
        ("annotated", json!({"tag": "v1.1.0"}), format!("v1.1.0@sha1:{second}")),
        ("semver", json!({"semver": ">=1.0.0"}), format!("v1.1.0@sha1:{second}")),
        ("early", json!({"semver": ">=2.0.0-0"}), format!("v2.0.0-rc.1@sha1:{third}")),
        ("name", json!({"name": "refs/pull/7/head"}), format!("refs/pull/7/head@sha1:{first}")),
        ("commit", json!({"commit": first}), format!("sha1:{first}")),
        ("both", json!({"branch": "main", "commit": second}), format!("main@sha1:{second}")),
        (
            "tag-first",
            json!({"branch": "dev", "tag": "v1.0.0", "semver": "1.1.x"}),
            format!("v1.0.0@sha1:{first}"),
        ),
    ] {
        let object = repository_with(name, json!({"url": URL, "ref": reference}));
        ground.apply(object.clone()).await;
        let ready = ground.until_ready_says(&object, &stored(&revision)).await;
        assert_eq!(ready["status"]["artifact"]["revision"], revision, "{name}");
        let before = ready["metadata"]["resourceVersion"].clone();
        tokio::time::sleep(Duration::from_mins(3)).await;
        let after = ground.get(&object).await.unwrap();
        assert_eq!(
            after["metadata"]["resourceVersion"], before,
            "{name}: nothing new, nothing written"
        );
    }
    for (name, reference, words) in [
        ("none", json!({"branch": "none"}), "couldn't find remote ref \"refs/heads/none\""),
        ("untagged", json!({"tag": "v9"}), "couldn't find remote ref \"refs/tags/v9\""),
        ("range", json!({"semver": ">=9"}), "no match found for semver: >=9"),
        (
            "unnamed",
            json!({"name": "refs/heads/none"}),
            "unable to resolve ref 'refs/heads/none' to a specific commit",
        ),
        ("lost", json!({"commit": "0".repeat(40)}), "object not found"),
    ] {
        let object = repository_with(name, json!({"url": URL, "ref": reference}));
        ground.apply(object.clone()).await;
        let start = "False GitOperationFailed: failed to checkout and determine revision: ";
        let failed = ground.until(&object, |it| said(it, "Ready").starts_with(start)).await;
        assert!(said(&failed, "Ready").ends_with(words), "{}", said(&failed, "Ready"));
        assert_eq!(
            said(&failed, "FetchFailed"),
            said(&failed, "Ready").replacen("False", "True", 1)
        );
    }
    // A tag that moves, and history that is rewritten, are new revisions.
    let moving = repository_with("tag", json!({"url": URL, "ref": {"tag": "v1.0.0"}}));
    ground.sandbox.git.change(URL, |repository| repository.tag("v1.0.0", id(&third)));
    ground.until_ready_says(&moving, &stored(&format!("v1.0.0@sha1:{third}"))).await;
    ground.sandbox.git.insert(URL, Repository::new("main"));
    let rewritten = ground.commit("from the beginning", &[("b", "1")]);
    let both = repository_with("plain", json!({"url": URL}));
    ground.apply(both.clone()).await;
    ground.until_ready_says(&both, &stored(&rewritten)).await;
}

#[tokio::test(start_paused = true)]
async fn parts_and_submodules_are_taken_as_asked_for() {
    let ground = Ground::new().await;
    ground.apply(namespace()).await;
    let library = "https://git.test/library";
    let inner = ground.commit_to(library, "library", &[("l.yaml", "l")]);
    let inner: ObjectId = inner.rsplit(':').next().unwrap().parse().unwrap();
    ground.commit("one", &[("a/x", "1"), ("b/y", "2"), ("top", "3")]);
    // A tree with a link to a commit of another repository.
    ground.sandbox.git.change(URL, |repository| {
        let modules = "[submodule \"lib\"]\n\tpath = lib\n\turl = https://git.test/library\n";
        let modules = repository.add_object(ObjectKind::Blob, modules.to_owned());
        let mut tree = b"100644 .gitmodules\0".to_vec();
        tree.extend(modules.as_bytes());
        tree.extend(b"160000 lib\0");
        tree.extend(inner.as_bytes());
        let tree = repository.add_object(ObjectKind::Tree, tree);
        let by = "Ada <ada@git.test> 0 +0000";
        let text = format!("tree {tree}\nauthor {by}\ncommitter {by}\n\nlinked\n");
        let commit = repository.add_object(ObjectKind::Commit, text);
        repository.set_ref("refs/heads/linked", Some(commit));
    });
    let ready = |it: &Value| said(it, "Ready").starts_with("True Succeeded");
    let sparse = repository_with("sparse", json!({"url": URL, "sparseCheckout": ["./a"]}));
    ground.apply(sparse.clone()).await;
    let found = ground.until(&sparse, ready).await;
    assert_eq!(files(&ground, &found).await, ["a/x"]);
    assert_eq!(found["status"]["observedSparseCheckout"], json!(["./a"]));
    let wider = repository_with("sparse", json!({"url": URL, "sparseCheckout": ["a", "b"]}));
    ground.apply(wider.clone()).await;
    let found = ground
        .until(&wider, |it| it["status"]["observedSparseCheckout"] == json!(["a", "b"]))
        .await;
    assert_eq!(files(&ground, &found).await, ["a/x", "b/y"]);
    let missing = repository_with("sparse", json!({"url": URL, "sparseCheckout": ["none"]}));
    ground.apply(missing.clone()).await;
    let words = "False GitOperationFailed: failed to sparse checkout directories : sparse checkout dir 'none' does not exist in repository: lstat /none: no such file or directory";
    ground.until_ready_says(&missing, words).await;

    let spec =
        |recurse| json!({"url": URL, "ref": {"branch": "linked"}, "recurseSubmodules": recurse});
    let object = repository_with("linked", spec(false));
    ground.apply(object.clone()).await;
    let found = ground.until(&object, ready).await;
    assert_eq!(files(&ground, &found).await, Vec::<String>::new());
    ground.apply(repository_with("linked", spec(true))).await;
    let found = ground.until(&object, |it| it["status"]["observedRecurseSubmodules"] == true).await;
    assert_eq!(files(&ground, &found).await, ["lib/.git", "lib/l.yaml"]);
}

#[tokio::test(start_paused = true)]
async fn a_suspended_one_is_left_alone_and_a_broken_artifact_made_anew() {
    let ground = Ground::new().await;
    ground.apply(namespace()).await;
    let first = ground.commit("one", &[("a", "1")]);
    let object = repository();
    ground.apply(object.clone()).await;
    let ready = ground.until_ready_says(&object, &stored(&first)).await;
    let place =
        ArtifactPath::of_path(ready["status"]["artifact"]["path"].as_str().unwrap()).unwrap();
    let digest = ready["status"]["artifact"]["digest"].as_str().unwrap().parse().unwrap();
    ground.sandbox.artifacts.put(&place, "something else".into()).await.unwrap();
    tokio::time::sleep(Duration::from_mins(2)).await;
    assert!(ground.sandbox.artifacts.get(&place.path(), &digest).await.is_ok());
    let events = ground.events("platform").await;
    let words = "Warning ArtifactVerificationFailed: failed to verify integrity of artifact: ";
    assert!(events.iter().any(|it| it.starts_with(words)), "{events:?}");
    ground.sandbox.artifacts.remove(&place).await.unwrap();
    tokio::time::sleep(Duration::from_mins(2)).await;
    assert!(
        ground.sandbox.artifacts.get(&place.path(), &digest).await.is_ok(),
        "lost, and made anew"
    );

    let spec = |suspend| repository_with("platform", json!({"url": URL, "suspend": suspend}));
    ground.apply(spec(true)).await;
    let second = ground.commit("two", &[("a", "2")]);
    tokio::time::sleep(Duration::from_mins(10)).await;
    let still = ground.get(&object).await.unwrap();
    assert_eq!(still["status"]["artifact"]["revision"], first);
    assert_eq!(still["status"]["observedGeneration"], 2);
    ground.apply(spec(false)).await;
    ground.until_ready_says(&object, &stored(&second)).await;
}

#[tokio::test(start_paused = true)]
async fn remotes_in_trouble_have_their_reason_and_are_tried_again() {
    let ground = Ground::new().await;
    ground.apply(namespace()).await;
    let spec = |timeout: &str| repository_with("platform", json!({"url": URL, "timeout": timeout}));
    let object = spec("20s");
    ground.apply(object.clone()).await;
    let start = "False GitOperationFailed: failed to checkout and determine revision: ";
    for (round, (fault, words)) in [
        (Fault::refuse(401), "authentication required: "),
        (Fault::refuse(403), "authorization failed: "),
        (Fault::refuse(404), "repository not found: "),
        (Fault::refuse(429), "status code: 429"),
        (Fault::refuse(500), "status code: 500"),
        (Fault::Stall, "context deadline exceeded"),
        (Fault::Cut, "unexpected EOF"),
        (Fault::Garble, "invalid pkt-len found"),
    ]
    .into_iter()
    .enumerate()
    {
        ground.fail_git(URL, fault, Duration::from_mins(4));
        let next = ground.commit("another", &[("a", &round.to_string())]);
        let failed = ground
            .until(&object, |it| {
                said(it, "Ready").starts_with(start) && said(it, "Ready").contains(words)
            })
            .await;
        assert!(said(&failed, "Reconciling").starts_with("True ProgressingWithRetry: "));
        let ready = ground.until_ready_says(&object, &stored(&next)).await;
        assert_eq!(said(&ready, "FetchFailed"), "", "{words}");
    }
    let events = ground.events("platform").await;
    assert!(events.iter().any(|it| it.contains("Warning GitOperationFailed: ")), "{events:?}");
}

/// Signs a text, and gives the signature in armour.
fn signed(directory: &Path, program: &[&str], text: &str) -> String {
    let file = directory.join("text");
    std::fs::write(&file, text).unwrap();
    let output = Command::new(program[0]).args(&program[1..]).arg(&file).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let beside = directory.join("text.sig");
    std::fs::read_to_string(beside).unwrap_or_else(|_| String::from_utf8(output.stdout).unwrap())
}

/// A commit of an empty tree with a signature over it.
fn signed_commit(ground: &Ground, branch: &str, sign: impl Fn(&str) -> String) -> ObjectId {
    let by = "Ada <ada@git.test> 1767225600 +0000";
    let tree =
        ground.sandbox.git.change(URL, |it| it.add_object(ObjectKind::Tree, Vec::new())).unwrap();
    let (head, body) = (format!("tree {tree}\nauthor {by}\ncommitter {by}\n"), "\nsigned\n");
    let signature = sign(&format!("{head}{body}"));
    let lines: Vec<&str> = signature.trim_end().lines().collect();
    let text = format!("{head}gpgsig {}\n{body}", lines.join("\n "));
    ground
        .sandbox
        .git
        .change(URL, |repository| {
            let id = repository.add_object(ObjectKind::Commit, text);
            repository.set_ref(&format!("refs/heads/{branch}"), Some(id));
            id
        })
        .unwrap()
}

#[tokio::test(start_paused = true)]
async fn signatures_are_verified_with_the_keys_of_a_secret() {
    if !sluice_testkit::programs::need(&["ssh-keygen", "gpg"]) {
        return;
    }
    let ground = Ground::new().await;
    ground.apply(namespace()).await;
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    for name in ["ours", "theirs"] {
        let made = Command::new("ssh-keygen")
            .args(["-q", "-t", "ed25519", "-N", "", "-f", &path(name)])
            .status();
        assert!(made.unwrap().success());
    }
    let home = path("gpg");
    std::fs::create_dir(&home).unwrap();
    let gpg = |arguments: &[&str]| {
        let quiet = ["--homedir", &home, "--batch", "--quiet", "--passphrase", ""];
        let output = Command::new("gpg").args(quiet).args(arguments).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    // The key has to be older than the moment at which all tests begin.
    gpg(&[
        "--faked-system-time",
        "20250101T000000!",
        "--quick-generate-key",
        "ada@git.test",
        "ed25519",
        "sign",
        "never",
    ]);
    let pgp = gpg(&["--armor", "--export", "ada@git.test"]);
    let by_ssh = |key: &str| {
        let key = path(key);
        let inner = directory.path().to_owned();
        move |text: &str| {
            let _ = std::fs::remove_file(inner.join("text.sig"));
            signed(&inner, &["ssh-keygen", "-q", "-Y", "sign", "-n", "git", "-f", &key], text)
        }
    };
    let by_pgp = |text: &str| {
        let _ = std::fs::remove_file(directory.path().join("text.sig"));
        let quiet = ["gpg", "--homedir", &home, "--batch", "--quiet", "--passphrase", ""];
        let how = [
            "--faked-system-time",
            "20260101T000000!",
            "--armor",
            "--detach-sign",
            "--output",
            "-",
        ];
        signed(directory.path(), &[&quiet[..], &how[..]].concat(), text)
    };
    let ours = std::fs::read_to_string(path("ours.pub")).unwrap();
    ground.apply(secret("ssh", &json!({"ada.sshpub": ours}))).await;
    ground.apply(secret("pgp", &json!({"ada.asc": pgp}))).await;
    let good = signed_commit(&ground, "good", by_ssh("ours"));
    signed_commit(&ground, "bad", by_ssh("theirs"));
    let sealed = signed_commit(&ground, "sealed", by_pgp);
    ground.commit("unsigned", &[("a", "1")]);
    let spec = |branch: &str, keys: &str| {
        json!({
            "url": URL, "ref": {"branch": branch}, "verify": {"mode": "HEAD", "secretRef": {"name": keys}},
        })
    };
    for (name, keys, id) in [("good", "ssh", good), ("sealed", "pgp", sealed)] {
        let object = repository_with(name, spec(name, keys));
        ground.apply(object.clone()).await;
        let ready =
            ground.until(&object, |it| said(it, "Ready").starts_with("True Succeeded")).await;
        let verified = said(&ready, "SourceVerified");
        let start = format!("True Succeeded: verified signature of\n\t- commit '{id}' with key '");
        assert!(verified.starts_with(&start), "{verified}");
        assert_eq!(ready["status"]["sourceVerificationMode"], "HEAD");
    }
    for (name, branch, keys, words) in [
        ("wrong", "bad", "ssh", "False InvalidCommitSignature: signature verification of commit '"),
        (
            "other",
            "good",
            "pgp",
            "False InvalidCommitSignature: signature verification of commit '",
        ),
        (
            "plain",
            "main",
            "ssh",
            "False InvalidCommitSignature: signature verification of commit '",
        ),
        (
            "keyless",
            "good",
            "none",
            "False VerificationError: public keys secret error: secrets \"none\" not found",
        ),
    ] {
        let object = repository_with(name, spec(branch, keys));
        ground.apply(object.clone()).await;
        let failed = ground.until(&object, |it| said(it, "Ready").starts_with(words)).await;
        assert_eq!(said(&failed, "SourceVerified"), said(&failed, "Ready"));
        assert!(
            failed["status"].get("artifact").is_none(),
            "{name}: nothing unverified is handed on"
        );
    }
    // With the right key in the Secret it passes without help.
    let theirs = std::fs::read_to_string(path("theirs.pub")).unwrap();
    ground.apply(secret("ssh", &json!({"ada.sshpub": ours, "eve.sshpub": theirs}))).await;
    let object = repository_with("wrong", spec("bad", "ssh"));
    ground.until(&object, |it| said(it, "Ready").starts_with("True Succeeded")).await;
}
