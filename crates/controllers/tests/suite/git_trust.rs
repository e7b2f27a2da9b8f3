//! GitRepositories and what they are told: by a status, by keys that change, by history that is rewritten.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt as _;
use futures::future::{BoxFuture, ready};
use serde_json::{Value, json};
use sluice_source::git::{
    Budget, Cause, FetchRequest, GitAuth, GitRemote, GitTransport, MemoryTransport, ObjectId,
    ObjectKind, Objects, RemoteRef, Repository,
};

use crate::ground::{Ground, URL, namespace, repository_with, said, secret};

/// An SSH key on a disk.
struct Signer {
    directory: tempfile::TempDir,
}

impl Signer {
    /// `None` without ssh-keygen.
    fn new() -> Option<Self> {
        if !sluice_testkit::programs::need(&["ssh-keygen"]) {
            return None;
        }
        let directory = tempfile::tempdir().unwrap();
        let key = directory.path().join("key").display().to_string();
        let made =
            Command::new("ssh-keygen").args(["-q", "-t", "ed25519", "-N", "", "-f", &key]).status();
        assert!(made.unwrap().success());
        Some(Self { directory })
    }

    fn path(&self, name: &str) -> String {
        self.directory.path().join(name).display().to_string()
    }

    fn public(&self) -> String {
        std::fs::read_to_string(self.path("key.pub")).unwrap()
    }

    fn sign(&self, text: &str) -> String {
        let file = self.path("text");
        std::fs::write(&file, text).unwrap();
        let signed = self.path("text.sig");
        if Path::new(&signed).exists() {
            std::fs::remove_file(&signed).unwrap();
        }
        let done = Command::new("ssh-keygen")
            .args(["-q", "-Y", "sign", "-n", "git", "-f", &self.path("key"), &file])
            .status();
        assert!(done.unwrap().success());
        std::fs::read_to_string(signed).unwrap()
    }

    /// A signed commit of an empty tree, on a branch.
    fn commit(&self, ground: &Ground, branch: &str) -> ObjectId {
        let by = "Ada <ada@git.test> 1767225600 +0000";
        let change = |repository: &mut Repository| {
            let tree = repository.add_object(ObjectKind::Tree, Vec::new());
            let head = format!("tree {tree}\nauthor {by}\ncommitter {by}\n");
            let signature = self.sign(&format!("{head}\nsigned\n"));
            let lines: Vec<&str> = signature.trim_end().lines().collect();
            let text = format!("{head}gpgsig {}\n\nsigned\n", lines.join("\n "));
            let id = repository.add_object(ObjectKind::Commit, text);
            repository.set_ref(&format!("refs/heads/{branch}"), Some(id));
            id
        };
        ground.sandbox.git.change(URL, change).unwrap()
    }

    /// A signed tag that says a name of its own, listed under another one.
    fn tag(&self, ground: &Ground, listed: &str, name: &str, target: ObjectId) {
        let tagger = "tagger Ada <ada@git.test> 1767225600 +0000";
        let text = format!("object {target}\ntype commit\ntag {name}\n{tagger}\n\na release\n");
        let text = format!("{text}{}", self.sign(&text));
        let change = |repository: &mut Repository| {
            let id = repository.add_object(ObjectKind::Tag, text.clone());
            repository.set_ref(&format!("refs/tags/{listed}"), Some(id));
        };
        ground.sandbox.git.change(URL, change).unwrap();
    }
}

fn verifying(name: &str, reference: &Value, mode: &str) -> Value {
    let verify = json!({"mode": mode, "secretRef": {"name": "keys"}});
    repository_with(name, json!({"url": URL, "ref": reference, "verify": verify}))
}

fn annotated(mut object: Value, name: &str, value: &str) -> Value {
    object["metadata"]["annotations"] = json!({(name): value});
    object
}

/// Asks for a pass at once: failures are tried again with growing pauses.
async fn ask(ground: &Ground, object: &Value, history: &str, time: &str) {
    let mut object = object.clone();
    object["metadata"]["annotations"] =
        json!({"sluice.dev/rewritten-history": history, "reconcile.fluxcd.io/requestedAt": time});
    ground.apply(object).await;
}

fn is_ready(it: &Value) -> bool {
    said(it, "Ready").starts_with("True Succeeded")
}

#[tokio::test(start_paused = true)]
async fn other_keys_in_the_secret_verify_again() {
    let (Some(ada), Some(eve)) = (Signer::new(), Signer::new()) else { return };
    let ground = Ground::new().await;
    ground.apply(namespace()).await;
    ground.commit("first", &[("a", "1")]);
    ada.commit(&ground, "signed");
    ground.apply(secret("keys", &json!({"ada.sshpub": ada.public()}))).await;
    let object = verifying("signed", &json!({"branch": "signed"}), "HEAD");
    ground.apply(object.clone()).await;
    let first = ground.until(&object, is_ready).await;
    // The same revision is looked at again and again, and fetched once.
    tokio::time::sleep(Duration::from_mins(5)).await;
    let still = ground.get(&object).await.unwrap();
    assert_eq!(still["metadata"]["resourceVersion"], first["metadata"]["resourceVersion"]);
    // The key was stolen, and taken out of the Secret.
    ground.apply(secret("keys", &json!({"ada.sshpub": eve.public()}))).await;
    let words = "False InvalidCommitSignature: signature verification of commit '";
    ground.until(&object, |it| said(it, "Ready").starts_with(words)).await;
    ground.apply(secret("keys", &json!({"ada.sshpub": ada.public()}))).await;
    ground.until(&object, is_ready).await;
}

#[tokio::test(start_paused = true)]
async fn a_status_that_says_verified_is_not_believed() {
    let Some(ada) = Signer::new() else { return };
    let ground = Ground::new().await;
    ground.apply(namespace()).await;
    ground.commit("unsigned", &[("a", "1")]);
    ground.apply(secret("keys", &json!({"ada.sshpub": ada.public()}))).await;
    let object = repository_with("unsigned", json!({"url": URL}));
    ground.apply(object.clone()).await;
    ground.until(&object, is_ready).await;
    // From now on it has to be signed. Somebody who may write statuses says that it is.
    let object = verifying("unsigned", &json!({"branch": "main"}), "HEAD");
    ground.apply(object.clone()).await;
    let words = "False InvalidCommitSignature: signature verification of commit '";
    let refused = ground.until(&object, |it| said(it, "Ready").starts_with(words)).await;
    let mut status = refused["status"].clone();
    status["sourceVerificationMode"] = json!("HEAD");
    for condition in status["conditions"].as_array_mut().unwrap() {
        if ["Ready", "SourceVerified"].contains(&condition["type"].as_str().unwrap()) {
            condition["status"] = json!("True");
            condition["reason"] = json!("Succeeded");
        }
    }
    ground.set_status(&object, status).await;
    tokio::time::sleep(Duration::from_mins(30)).await;
    let after = ground.get(&object).await.unwrap();
    assert!(said(&after, "Ready").starts_with(words), "{}", said(&after, "Ready"));
}

#[tokio::test(start_paused = true)]
async fn a_signed_tag_under_another_name_needs_an_annotation() {
    let Some(ada) = Signer::new() else { return };
    let ground = Ground::new().await;
    ground.apply(namespace()).await;
    ground.commit("first", &[("a", "1")]);
    let id = ada.commit(&ground, "main");
    ada.tag(&ground, "v1.0.0", "v1.0.0", id);
    ada.tag(&ground, "v9.0.0", "v1.0.0", id);
    ground.apply(secret("keys", &json!({"ada.sshpub": ada.public()}))).await;
    let honest = verifying("honest", &json!({"tag": "v1.0.0"}), "TagAndHEAD");
    ground.apply(honest.clone()).await;
    ground.until(&honest, is_ready).await;
    let words = "failed: the tag object was signed as 'v1.0.0', not as 'v9.0.0'";
    for (name, reference) in
        [("tag", json!({"tag": "v9.0.0"})), ("range", json!({"semver": ">=1.0.0"}))]
    {
        let object = verifying(name, &reference, "Tag");
        ground.apply(object.clone()).await;
        let failed = ground
            .until(&object, |it| said(it, "Ready").starts_with("False InvalidTagSignature: "))
            .await;
        assert!(said(&failed, "Ready").ends_with(words), "{}", said(&failed, "Ready"));
        assert!(failed["status"].get("artifact").is_none());
        let allowed = annotated(object.clone(), "sluice.dev/verify-tag-name", "ignore");
        ground.apply(allowed).await;
        ground.until(&object, is_ready).await;
    }
    let wrong = verifying("wrong", &json!({"tag": "v1.0.0"}), "Tag");
    let wrong = annotated(wrong, "sluice.dev/verify-tag-name", "maybe");
    ground.apply(wrong.clone()).await;
    let words = "False VerificationError: annotation sluice.dev/verify-tag-name: \"maybe\" is neither exact nor ignore";
    ground.until_ready_says(&wrong, words).await;
}

/// The events about an object that tell of its history.
async fn about_history(ground: &Ground, name: &str) -> Vec<String> {
    let events = ground.events(name).await;
    events.into_iter().filter(|it| it.contains("History")).collect()
}

#[tokio::test(start_paused = true)]
async fn rewritten_history_is_refused_where_that_is_asked_for() {
    let ground = Ground::new().await;
    ground.apply(namespace()).await;
    let hash = |revision: &str| revision.rsplit_once(':').unwrap().1.to_owned();
    let first = ground.commit("one", &[("a", "1")]);
    let object = repository_with("strict", json!({"url": URL}));
    let object = annotated(object, "sluice.dev/rewritten-history", "refuse");
    ground.apply(object.clone()).await;
    let stored =
        |revision: &str| format!("True Succeeded: stored artifact for revision '{revision}'");
    ground.until_ready_says(&object, &stored(&first)).await;
    // Commits on top, several at once among them, are no news.
    ground.commit("two", &[("a", "2")]);
    ground.commit("three", &[("a", "3")]);
    let good = ground.commit("four", &[("a", "4")]);
    ground.until_ready_says(&object, &stored(&good)).await;
    assert_eq!(about_history(&ground, "strict").await, Vec::<String>::new());

    let before = ground.sandbox.git.get(URL).unwrap();
    let back: ObjectId = hash(&first).parse().unwrap();
    ground.sandbox.git.change(URL, |it| it.set_ref("refs/heads/main", Some(back)));
    let forced = ground.commit("by force", &[("a", "evil")]);
    let words = format!(
        "history of 'main' was rewritten: commit '{}' does not descend from commit '{}' of the last artifact (annotation sluice.dev/rewritten-history: report follows it)",
        hash(&forced),
        hash(&good)
    );
    let refused =
        ground.until_ready_says(&object, &format!("False HistoryRewritten: {words}")).await;
    assert_eq!(refused["status"]["artifact"]["revision"], good, "the artifact stays");
    tokio::time::sleep(Duration::from_mins(30)).await;
    let still = ground.get(&object).await.unwrap();
    assert_eq!(still["status"]["artifact"]["revision"], good);
    // An older commit of the same branch is no descendant either.
    ground.sandbox.git.change(URL, |it| it.set_ref("refs/heads/main", Some(back)));
    ask(&ground, &object, "refuse", "1").await;
    ground.until(&object, |it| said(it, "Ready").contains(&hash(&first))).await;
    // It passes when the branch is back, or when somebody decides to follow it.
    ground.sandbox.git.insert(URL, before);
    ask(&ground, &object, "refuse", "2").await;
    ground.until_ready_says(&object, &stored(&good)).await;
    ground.sandbox.git.change(URL, |it| it.set_ref("refs/heads/main", Some(back)));
    let forced = ground.commit("by force", &[("a", "evil")]);
    ground.until(&object, |it| said(it, "Ready").starts_with("False HistoryRewritten")).await;
    ask(&ground, &object, "report", "3").await;
    ground.until_ready_says(&object, &stored(&forced)).await;
    let events = about_history(&ground, "strict").await;
    assert!(events.iter().all(|it| it.starts_with("Warning HistoryRewritten: ")), "{events:?}");
    ask(&ground, &object, "never", "4").await;
    let next = ground.commit("next", &[("a", "5")]);
    let words = "False GitOperationFailed: annotation sluice.dev/rewritten-history: \"never\" is neither report nor refuse";
    ground.until_ready_says(&object, words).await;
    ask(&ground, &object, "refuse", "5").await;
    ground.until_ready_says(&object, &stored(&next)).await;
}

/// Repositories whose history cannot be had.
struct Forgetful {
    inner: MemoryTransport,
}

struct ForgetfulRemote {
    inner: Arc<dyn GitRemote>,
}

impl GitTransport for Forgetful {
    fn open(&self, url: &str, auth: &GitAuth) -> Result<Arc<dyn GitRemote>, Cause> {
        Ok(Arc::new(ForgetfulRemote { inner: self.inner.open(url, auth)? }))
    }
}

impl GitRemote for ForgetfulRemote {
    fn list_refs<'a>(
        &'a self,
        prefixes: &'a [String],
    ) -> BoxFuture<'a, Result<Vec<RemoteRef>, Cause>> {
        self.inner.list_refs(prefixes)
    }

    fn can_filter(&self) -> BoxFuture<'_, Result<bool, Cause>> {
        self.inner.can_filter()
    }

    fn can_want_any(&self) -> BoxFuture<'_, Result<bool, Cause>> {
        self.inner.can_want_any()
    }

    fn fetch(&self, request: FetchRequest) -> BoxFuture<'_, Result<Objects, Cause>> {
        if request.budget == Budget::History {
            let cause = Cause::TooLarge { what: "objects", limit: 100_000 };
            return ready(Err(cause)).boxed();
        }
        self.inner.fetch(request)
    }
}

#[tokio::test(start_paused = true)]
async fn history_that_cannot_be_told_is_said_and_refused_where_that_is_asked_for() {
    let mut ground = Ground::idle().await;
    ground.backends().transport = Arc::new(Forgetful { inner: ground.sandbox.git.clone() });
    ground.start();
    ground.apply(namespace()).await;
    let first = ground.commit("one", &[("a", "1")]);
    let lenient = repository_with("lenient", json!({"url": URL}));
    let strict = repository_with("strict", json!({"url": URL}));
    let strict = annotated(strict, "sluice.dev/rewritten-history", "refuse");
    let stored =
        |revision: &str| format!("True Succeeded: stored artifact for revision '{revision}'");
    for object in [&lenient, &strict] {
        ground.apply(object.clone()).await;
        ground.until_ready_says(object, &stored(&first)).await;
    }
    // A single commit on top names its parent: nothing has to be asked for.
    let second = ground.commit("two", &[("a", "2")]);
    for object in [&lenient, &strict] {
        ground.until_ready_says(object, &stored(&second)).await;
    }
    ground.commit("three", &[("a", "3")]);
    let fourth = ground.commit("four", &[("a", "4")]);
    ground.until_ready_says(&lenient, &stored(&fourth)).await;
    let events = about_history(&ground, "lenient").await;
    let [event] = events.as_slice() else { panic!("{events:?}") };
    let words = "of the last artifact: the repository exceeds the limit of 100000 objects";
    assert!(event.starts_with("Normal HistoryUnknown: cannot tell whether commit '"), "{event}");
    assert!(event.ends_with(words), "{event}");
    let refused = ground
        .until(&strict, |it| said(it, "Ready").starts_with("False HistoryUnknown: cannot tell"))
        .await;
    assert_eq!(refused["status"]["artifact"]["revision"], second);
}
