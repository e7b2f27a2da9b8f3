//! What a git server claims is input: commits are peeled from the objects, and a signature counts for
//! what was signed.

use sluice_source::git::{
    Checkout, Cloned, MemoryTransport, NewCommit, ObjectId, ObjectKind, Reference, Repository,
    TagName, TrustedKeys, VerifyMode, VerifyRules,
};

use crate::hostile::{Liar, key, signed_commit, signed_tag, trust};
use crate::support::{
    branch, chain, checkout, clone, later, listing, request, somebody, tree, verified,
};

const URL: &str = "https://git.test/app";

/// A repository with a commit that was released, and one of an attacker.
struct Scene {
    repository: Repository,
    released: ObjectId,
    planted: ObjectId,
}

fn scene() -> Scene {
    let mut repository = Repository::new("main");
    let mut commit = |branch: &str, text: &str| {
        let files = tree(&[("app.yaml", text)]);
        let new = NewCommit { branch, message: text, files: &files, by: somebody(1) };
        repository.commit(&new)
    };
    let released = commit("main", "released");
    let planted = commit("evil", "planted");
    Scene { repository, released, planted }
}

fn tag(name: &str) -> Reference {
    Reference { tag: name.to_owned(), ..Reference::default() }
}

fn semver(range: &str) -> Reference {
    Reference { semver: range.to_owned(), ..Reference::default() }
}

/// What is deployed when a tag has to be signed: a checkout that passed, or why there is none.
async fn deployed(
    server: &Liar,
    reference: Reference,
    keys: &TrustedKeys,
) -> Result<Checkout, String> {
    match clone(server, &request(URL, reference)).await {
        Ok(Cloned::Checkout(found)) => {
            verified(&found, VerifyMode::Tag, keys, later(0)).map(|_| *found)
        }
        Ok(other) => Err(format!("{other:?}")),
        Err(error) => Err(chain(&error)),
    }
}

#[tokio::test]
async fn a_signed_tag_leads_where_its_object_says() {
    let (ada, mut scene) = (key(1), scene());
    let good = signed_tag(&mut scene.repository, &ada, "v1.0.0", ("commit", scene.released));
    let mut server = Liar::with(&scene.repository);
    server.claim("refs/tags/v1.0.0", good, Some(scene.planted));
    for reference in [
        tag("v1.0.0"),
        Reference { name: "refs/tags/v1.0.0".into(), ..Reference::default() },
        semver("*"),
    ] {
        let found = deployed(&server, reference.clone(), &trust(&ada)).await;
        let error = found.expect_err("the server says another commit than the tag");
        assert!(error.contains("leads to commit"), "{reference:?}: {error}");
    }
    let mut honest = Liar::with(&scene.repository);
    honest.claim("refs/tags/v1.0.0", good, Some(scene.released));
    let found = deployed(&honest, tag("v1.0.0"), &trust(&ada)).await.expect("a true claim");
    assert_eq!(found.commit.id, scene.released);
    // A server that says nothing of it is no worse.
    let mut silent = Liar::with(&scene.repository);
    silent.claim("refs/tags/v1.0.0", good, None);
    let found = deployed(&silent, tag("v1.0.0"), &trust(&ada)).await.expect("no claim");
    assert_eq!(found.revision.to_string(), format!("v1.0.0@sha1:{}", scene.released));
}

#[tokio::test]
async fn an_old_signed_tag_under_another_name_is_refused() {
    let (ada, mut scene) = (key(1), scene());
    let old = signed_tag(&mut scene.repository, &ada, "v1.0.0", ("commit", scene.planted));
    let new = signed_tag(&mut scene.repository, &ada, "v1.5.0", ("commit", scene.released));
    let mut server = Liar::with(&scene.repository);
    server.claim("refs/tags/v1.5.0", new, Some(scene.released));
    server.claim("refs/tags/v2.0.0", old, Some(scene.planted));
    for reference in [tag("v2.0.0"), semver(">=1.0.0")] {
        let error = deployed(&server, reference, &trust(&ada)).await.expect_err("an old release");
        assert!(error.contains("'v1.0.0'") && error.contains("'v2.0.0'"), "{error}");
    }
    let found = deployed(&server, semver("1.x"), &trust(&ada)).await.expect("its own name");
    assert_eq!(found.commit.id, scene.released);
    // A tag made by `git tag v2.0.0 v1.0.0` is taken where that is allowed.
    let found = checkout(&server, &request(URL, tag("v2.0.0"))).await;
    let rules = VerifyRules { mode: VerifyMode::Tag, tag_name: TagName::Ignored };
    verified(&found, rules, &trust(&ada), later(0)).expect("allowed");
}

#[tokio::test]
async fn tags_of_tags_are_peeled_to_the_commit() {
    let (ada, mut scene) = (key(1), scene());
    let inner = signed_tag(&mut scene.repository, &key(2), "inner", ("commit", scene.released));
    let outer = signed_tag(&mut scene.repository, &ada, "v1", ("tag", inner));
    let mut server = Liar::with(&scene.repository);
    server.claim("refs/tags/v1", outer, Some(scene.released));
    let found = deployed(&server, tag("v1"), &trust(&ada)).await.expect("the outer tag is signed");
    assert_eq!(found.commit.id, scene.released);
    // The inner one is not the tag that was asked for.
    let error = deployed(&server, tag("v1"), &trust(&key(2))).await.expect_err("not by this key");
    assert!(error.contains("no matching key"), "{error}");

    let mut last = inner;
    for _ in 0..100 {
        last = signed_tag(&mut scene.repository, &ada, "v1", ("tag", last));
    }
    let mut server = Liar::with(&scene.repository);
    server.claim("refs/tags/v1", last, Some(scene.released));
    let error = deployed(&server, tag("v1"), &trust(&ada)).await.expect_err("too many");
    assert!(error.contains("tags in each other"), "{error}");
}

#[tokio::test]
async fn a_tag_that_lies_about_the_type_of_its_object_is_refused() {
    let (ada, mut scene) = (key(1), scene());
    let files = scene.repository.add_tree(&tree(&[("x", "x")]));
    for (kind, target, words) in [
        ("tree", scene.released, "is a commit, not a tree"),
        ("commit", files, "is a tree, not a commit"),
        ("tree", files, "leads to a tree"),
    ] {
        let lying = signed_tag(&mut scene.repository, &ada, "v1", (kind, target));
        let mut server = Liar::with(&scene.repository);
        server.claim("refs/tags/v1", lying, Some(scene.released));
        let error = deployed(&server, tag("v1"), &trust(&ada)).await.expect_err("a lie");
        assert!(error.contains(words), "{kind}: {error}");
    }
}

#[tokio::test]
async fn header_lines_that_come_twice_are_refused() {
    let (ada, mut scene) = (key(1), scene());
    let tree_of =
        |files: &[(&str, &str)], repository: &mut Repository| repository.add_tree(&tree(files));
    let seen = tree_of(&[("app.yaml", "reviewed")], &mut scene.repository);
    let hidden = tree_of(&[("app.yaml", "hidden")], &mut scene.repository);
    let by = "author A <a@b> 1 +0000\ncommitter A <a@b> 1 +0000\n";
    // `git show` takes the first tree, so a reviewer never sees the second one.
    let cases = [
        format!("tree {seen}\n{by}tree {hidden}\n"),
        format!("tree {seen}\ntree {hidden}\n{by}"),
        format!("author A <a@b> 1 +0000\ntree {seen}\ncommitter A <a@b> 1 +0000\n"),
        format!("tree {seen}\n{by}parent {}\n", scene.planted),
        format!("tree {seen}\n{by}author B <b@b> 1 +0000\n"),
    ];
    for headers in cases {
        let two = signed_commit(&mut scene.repository, &ada, &headers);
        let signed = signed_tag(&mut scene.repository, &ada, "v1", ("commit", two));
        let mut server = Liar::with(&scene.repository);
        server.claim("refs/tags/v1", signed, Some(two));
        server.claim("refs/heads/main", two, None);
        let found = deployed(&server, tag("v1"), &trust(&ada)).await;
        let error = found.map(|it| listing(&it.files)).expect_err("git reads it otherwise");
        assert!(error.contains("malformed: commit"), "{headers}: {error}");
        assert!(clone(&server, &request(URL, branch("main"))).await.is_err(), "{headers}");
    }
    let by = "tagger A <a@b> 1 +0000\n";
    for headers in [
        format!("object {0}\ntype commit\ntag v1\nobject {1}\n{by}", scene.released, scene.planted),
        format!("object {}\ntype commit\ntag v0\ntag v1\n{by}", scene.planted),
        format!("type commit\nobject {}\ntag v1\n{by}", scene.planted),
    ] {
        let payload = format!("{headers}\nx\n");
        let text = format!("{payload}{}", crate::hostile::signature(&ada, &payload));
        let id = scene.repository.add_object(ObjectKind::Tag, text);
        let mut server = Liar::with(&scene.repository);
        server.claim("refs/tags/v1", id, None);
        server.refs[0].peeled = Some(scene.planted);
        let error = deployed(&server, tag("v1"), &trust(&ada)).await.expect_err("two meanings");
        assert!(error.contains("malformed: tag"), "{headers}: {error}");
    }
}

#[tokio::test]
async fn a_commit_with_two_signatures_is_not_verified_by_the_first() {
    let (ada, mut scene) = (key(1), scene());
    let files = scene.repository.add_tree(&tree(&[("x", "x")]));
    let headers = format!("tree {files}\nauthor A <a@b> 1 +0000\ncommitter A <a@b> 1 +0000\n");
    let payload = format!("{headers}\nsigned\n");
    let block = |key| {
        let armored = crate::hostile::signature(&key, &payload);
        armored.trim_end().lines().collect::<Vec<_>>().join("\n ")
    };
    let text = format!("{headers}gpgsig {}\ngpgsig {}\n\nsigned\n", block(key(1)), block(key(2)));
    let id = scene.repository.add_object(ObjectKind::Commit, text);
    let mut server = Liar::with(&scene.repository);
    server.claim("refs/heads/main", id, None);
    let Ok(Cloned::Checkout(found)) = clone(&server, &request(URL, branch("main"))).await else {
        return;
    };
    let error = verified(&found, VerifyMode::Head, &trust(&ada), later(0));
    let error = error.expect_err("which of both counts is anybody's guess");
    assert!(error.contains("more than one signature"), "{error}");
}

#[tokio::test]
async fn a_pinned_commit_has_to_be_in_the_history_of_the_branch() {
    let scene = scene();
    let mut server = Liar::with(&scene.repository);
    server.claim("refs/heads/main", scene.released, None);
    let pinned = |commit: ObjectId| Reference { commit: commit.to_string(), ..branch("main") };
    let found = checkout(&server, &request(URL, pinned(scene.released))).await;
    assert_eq!(found.commit.id, scene.released);
    // The server sends the object along, but no commit of the branch leads to it.
    let error = clone(&server, &request(URL, pinned(scene.planted))).await;
    let error = chain(&error.map(|_| ()).expect_err("not on the branch"));
    assert!(error.contains("object not found"), "{error}");
}

#[tokio::test]
async fn a_pinned_commit_and_a_branch_are_what_their_name_says() {
    let scene = scene();
    // The server answers with objects of another commit only.
    let mut other = Repository::new("main");
    let files = tree(&[("app.yaml", "swapped")]);
    let new = NewCommit { branch: "main", message: "x", files: &files, by: somebody(2) };
    other.commit(&new);
    let mut server = Liar::with(&other);
    server.claim("refs/heads/main", scene.released, None);
    for reference in
        [branch("main"), Reference { commit: scene.released.to_string(), ..branch("main") }]
    {
        let error = clone(&server, &request(URL, reference)).await.expect_err("another commit");
        assert!(chain(&error).contains("object not found"), "{}", chain(&error));
    }
}

/// A commit with submodules at the given paths, all of one repository.
fn with_submodules(
    repository: &mut Repository,
    name: &str,
    paths: &[String],
    url: &str,
    commit: ObjectId,
) -> ObjectId {
    let mut text = String::new();
    let mut data = Vec::new();
    for path in paths {
        let section = format!("[submodule \"{name}{path}\"]\n\tpath = {path}\n\turl = {url}\n");
        text.push_str(&section);
    }
    let modules = repository.add_object(ObjectKind::Blob, text);
    let mut entry = |mode: &str, path: &str, id: ObjectId| {
        data.extend_from_slice(format!("{mode} {path}\0").as_bytes());
        data.extend_from_slice(id.as_bytes());
    };
    entry("100644", ".gitmodules", modules);
    for path in paths {
        entry("160000", path, commit);
    }
    let root = repository.add_object(ObjectKind::Tree, data);
    let by = "A <a@b> 1 +0000";
    let text = format!("tree {root}\nauthor {by}\ncommitter {by}\n\nx\n");
    let id = repository.add_object(ObjectKind::Commit, text);
    repository.set_ref("refs/heads/main", Some(id));
    id
}

#[tokio::test]
async fn submodules_in_submodules_do_not_multiply_without_end() {
    let transport = MemoryTransport::default();
    let mut leaf = Repository::new("main");
    let files = tree(&[("lib", "inner")]);
    let new = NewCommit { branch: "main", message: "x", files: &files, by: somebody(1) };
    let mut commit = leaf.commit(&new);
    transport.insert("https://git.test/level0", leaf);
    let paths: Vec<String> = (0..20).map(|number| format!("s{number:02}")).collect();
    for level in 1..4 {
        let mut repository = Repository::new("main");
        let url = format!("https://git.test/level{}", level - 1);
        commit = with_submodules(&mut repository, "", &paths, &url, commit);
        transport.insert(&format!("https://git.test/level{level}"), repository);
    }
    let mut deep = request("https://git.test/level3", branch("main"));
    deep.recurse_submodules = true;
    let error = clone(&transport, &deep).await.map(|_| ()).expect_err("8420 submodules");
    assert!(chain(&error).contains("submodules"), "{}", chain(&error));
}

#[tokio::test]
async fn names_of_submodules_stay_inside_the_repository() {
    let transport = MemoryTransport::default();
    let mut leaf = Repository::new("main");
    let files = tree(&[("lib", "inner")]);
    let new = NewCommit { branch: "main", message: "x", files: &files, by: somebody(1) };
    let commit = leaf.commit(&new);
    transport.insert("https://git.test/lib", leaf);
    for name in ["../../hooks", "..", "a/../../b", "/etc"] {
        let mut outer = Repository::new("main");
        let paths = [String::from("sub")];
        let url = "https://git.test/lib";
        with_submodules(&mut outer, &format!("{name}/"), &paths, url, commit);
        transport.insert("https://git.test/outer", outer);
        let mut main = request("https://git.test/outer", branch("main"));
        main.recurse_submodules = true;
        let found = clone(&transport, &main).await;
        let error = chain(&found.map(|_| ()).expect_err(name));
        assert!(error.contains("submodule name"), "{name}: {error}");
    }
}

#[tokio::test]
async fn a_submodule_is_the_commit_that_its_link_names() {
    let scene = scene();
    let mut outer = Repository::new("main");
    let paths = [String::from("sub")];
    let mut server = Liar::with(&scene.repository);
    // The link names a commit that the server does not send.
    let absent: ObjectId = "1".repeat(40).parse().expect("a name");
    let main = with_submodules(&mut outer, "", &paths, "https://git.test/lib", absent);
    server.objects.extend(outer.objects().clone());
    server.claim("refs/heads/main", main, None);
    let mut recursive = request(URL, branch("main"));
    recursive.recurse_submodules = true;
    let error = clone(&server, &recursive).await.map(|_| ()).expect_err("another commit");
    assert!(chain(&error).contains("object not found"), "{}", chain(&error));
}

#[tokio::test]
async fn two_files_of_one_name_are_refused() {
    let mut repository = Repository::new("main");
    let shown = repository.add_object(ObjectKind::Blob, "shown");
    let hidden = repository.add_object(ObjectKind::Blob, "hidden");
    let inner = repository.add_tree(&tree(&[("x", "x")]));
    for entries in [
        [("100644", "app.yaml", shown), ("100644", "app.yaml", hidden)],
        [("100644", "app", shown), ("40000", "app", inner)],
        [("40000", "app", inner), ("40000", "app", inner)],
    ] {
        let mut data = Vec::new();
        for (mode, name, id) in entries {
            data.extend_from_slice(format!("{mode} {name}\0").as_bytes());
            data.extend_from_slice(id.as_bytes());
        }
        let root = repository.add_object(ObjectKind::Tree, data);
        let by = "A <a@b> 1 +0000";
        let text = format!("tree {root}\nauthor {by}\ncommitter {by}\n\nx\n");
        let id = repository.add_object(ObjectKind::Commit, text);
        let mut server = Liar::with(&repository);
        server.claim("refs/heads/main", id, None);
        let found = clone(&server, &request(URL, branch("main"))).await;
        assert!(found.is_err(), "{entries:?}: {found:?}");
    }
}

#[tokio::test]
async fn passwords_in_an_address_are_in_no_error() {
    let url = "https://me:hunter2@git.test/app";
    let transport = MemoryTransport::default();
    let mut outer = Repository::new("main");
    let paths = [String::from("sub")];
    let absent: ObjectId = "1".repeat(40).parse().expect("a name");
    with_submodules(&mut outer, "", &paths, "../gone", absent);
    transport.insert(url, outer);
    let mut recursive = request(url, branch("main"));
    recursive.recurse_submodules = true;
    let references = [branch("none"), tag("none"), semver(">9"), branch("main")];
    for reference in references {
        let asked = sluice_source::git::CloneRequest { reference, ..recursive.clone() };
        let error = clone(&transport, &asked).await.map(|_| ()).expect_err("not there");
        assert!(!chain(&error).contains("hunter2"), "{}", chain(&error));
    }
    let gone = request("https://me:hunter2@git.test/gone", branch("main"));
    let error = chain(&clone(&transport, &gone).await.expect_err("gone"));
    assert_eq!(error, "unable to clone 'https://me:xxxxx@git.test/gone': repository not found: ");
}
