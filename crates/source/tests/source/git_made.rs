//! Repositories made on the spot: in memory, over our own server, and read by the real git.

use std::net::SocketAddr;
use std::process::Command;

use serde::Deserialize;
use sluice_source::artifact::Revision;
use sluice_source::git::{
    Cloned, GitServer, GitTransport, MemoryTransport, NewCommit, ObjectId, ObjectKind, Reference,
    Repository,
};
use sluice_source::tree::Node;

use crate::support::{branch, chain, checkout, clone, listing, network, request, somebody, tree};

struct Made {
    repository: Repository,
    first: ObjectId,
    second: ObjectId,
    aside: ObjectId,
}

/// Two commits on `main` with tags, and one on `feature/x`.
fn made() -> Made {
    let mut repository = Repository::new("main");
    let mut commit = |branch: &str, text: &str, seconds: i64| {
        let mut files =
            tree(&[("deploy/app.yaml", text), ("deploy-old/x", "old"), ("README", "r")]);
        let script = Node::File { content: "#!".into(), executable: true };
        files.insert("run", script).expect("inside");
        files.insert("link", Node::Link { target: "README".into() }).expect("inside");
        repository.commit(&NewCommit {
            branch,
            message: text,
            files: &files,
            by: somebody(seconds),
        })
    };
    let first = commit("main", "one", 100);
    let second = commit("main", "two", 200);
    let aside = commit("feature/x", "aside", 300);
    repository.tag("v1.0.0", first);
    repository.annotated_tag("v1.1.0", second, "release", &somebody(250));
    repository.tag("v1.1.0+later", aside);
    repository.tag("nightly", second);
    repository.set_ref("refs/pull/7/head", Some(aside));
    Made { repository, first, second, aside }
}

fn reference(name: &str, value: &str) -> Reference {
    let mut reference = Reference::default();
    let field = match name {
        "branch" => &mut reference.branch,
        "tag" => &mut reference.tag,
        "semver" => &mut reference.semver,
        "name" => &mut reference.name,
        _ => &mut reference.commit,
    };
    value.clone_into(field);
    reference
}

async fn every_form_of_reference(transport: &dyn GitTransport, url: &str, made: &Made) {
    let Made { first, second, aside, .. } = made;
    let cases = [
        (reference("branch", "main"), format!("main@sha1:{second}")),
        (reference("branch", "feature/x"), format!("feature/x@sha1:{aside}")),
        (reference("tag", "v1.0.0"), format!("v1.0.0@sha1:{first}")),
        (reference("tag", "v1.1.0"), format!("v1.1.0@sha1:{second}")),
        (reference("semver", "~1.0"), format!("v1.0.0@sha1:{first}")),
        (reference("semver", ">=1.0.0"), format!("v1.1.0+later@sha1:{aside}")),
        (reference("name", "refs/heads/main"), format!("refs/heads/main@sha1:{second}")),
        (reference("name", "refs/tags/v1.1.0"), format!("refs/tags/v1.1.0@sha1:{second}")),
        (reference("name", "refs/tags/v1.1.0^{}"), format!("refs/tags/v1.1.0^{{}}@sha1:{second}")),
        (reference("name", "refs/pull/7/head"), format!("refs/pull/7/head@sha1:{aside}")),
        (reference("commit", &first.to_string()), format!("sha1:{first}")),
        (
            Reference { branch: "main".into(), ..reference("commit", &first.to_string()) },
            format!("main@sha1:{first}"),
        ),
        // The tag wins over the range, and the name over both.
        (
            Reference { semver: "*".into(), ..reference("tag", "v1.0.0") },
            format!("v1.0.0@sha1:{first}"),
        ),
        (
            Reference { tag: "v1.0.0".into(), ..reference("name", "refs/heads/main") },
            format!("refs/heads/main@sha1:{second}"),
        ),
    ];
    for (reference, revision) in cases {
        let mut request = request(url, reference);
        let found = checkout(transport, &request).await;
        assert_eq!(found.revision, Revision::new(revision.clone()), "{request:?}");
        assert_eq!(found.tag.is_some(), found.reference.starts_with("refs/tags/"), "{request:?}");
        request.last_observed = Some(Revision::new(revision));
        let again = clone(transport, &request).await;
        assert!(matches!(again, Ok(Cloned::Unchanged { .. })), "{request:?}: {again:?}");
    }
}

async fn what_is_not_there_is_said_in_flux_words(
    transport: &dyn GitTransport,
    url: &str,
    made: &Made,
) {
    let aside = made.aside.to_string();
    let cases = [
        (
            reference("branch", "nope"),
            format!("unable to clone '{url}': couldn't find remote ref \"refs/heads/nope\""),
        ),
        (
            reference("tag", "nope"),
            format!("unable to clone '{url}': couldn't find remote ref \"refs/tags/nope\""),
        ),
        (
            reference("commit", "abc"),
            "unable to resolve commit object for 'abc': object not found".to_owned(),
        ),
        (
            reference("semver", "nonsense"),
            "semver parse error: improper constraint: \"nonsense\"".to_owned(),
        ),
        (reference("semver", ">9"), "no match found for semver: >9".to_owned()),
        (
            reference("name", "refs/heads/nope"),
            "unable to resolve ref 'refs/heads/nope' to a specific commit".to_owned(),
        ),
        (
            reference("name", "/refs"),
            "ref /refs is invalid; Git refs cannot begin or end with a slash '/'".to_owned(),
        ),
        (
            Reference { branch: "main".into(), ..reference("commit", &aside) },
            format!("unable to resolve commit object for '{aside}': object not found"),
        ),
    ];
    for (reference, message) in cases {
        let error = clone(transport, &request(url, reference)).await.expect_err("not there");
        assert_eq!(chain(&error), message);
    }
}

async fn a_sparse_checkout(transport: &dyn GitTransport, url: &str) {
    let mut sparse = request(url, branch("main"));
    sparse.sparse = vec!["./deploy/".into()];
    let found = checkout(transport, &sparse).await;
    assert_eq!(listing(&found.files), ["deploy/", "deploy/app.yaml two"]);
    sparse.sparse = vec!["nope".into()];
    let error = clone(transport, &sparse).await.expect_err("no such directory");
    let words = "sparse checkout dir 'nope' does not exist in repository: lstat /nope: no such file or directory";
    assert_eq!(chain(&error), words);
}

async fn everything(transport: &dyn GitTransport, url: &str, made: &Made) {
    let found = checkout(transport, &request(url, branch("main"))).await;
    let expected = [
        "README r",
        "deploy/",
        "deploy/app.yaml two",
        "deploy-old/",
        "deploy-old/x old",
        "link -> README",
        "run* #!",
    ];
    assert_eq!(listing(&found.files), expected);
    assert_eq!(found.commit.message, "two\n");
    every_form_of_reference(transport, url, made).await;
    what_is_not_there_is_said_in_flux_words(transport, url, made).await;
    a_sparse_checkout(transport, url).await;
}

#[tokio::test]
async fn a_repository_in_memory_is_a_remote() {
    let transport = MemoryTransport::default();
    let made = made();
    transport.insert("https://git.test/app", made.repository.clone());
    everything(&transport, "https://git.test/app", &made).await;
    transport.insert("https://git.test/empty", Repository::new("main"));
    let empty = clone(&transport, &request("https://git.test/empty", branch("main"))).await;
    assert!(matches!(empty, Ok(Cloned::Empty)), "{empty:?}");
    let url = "https://git.test/empty";
    let error = clone(&transport, &request(url, reference("tag", "x"))).await.expect_err("empty");
    let message = format!("unable to clone: remote repository is empty: git repository: '{url}'");
    assert_eq!(chain(&error), message);
}

/// A commit with a submodule at `sub`.
fn with_submodule(repository: &mut Repository, url: &str, commit: ObjectId) -> ObjectId {
    let text = format!("[submodule \"sub\"]\n\tpath = sub\n\turl = {url}\n");
    let modules = repository.add_object(ObjectKind::Blob, text);
    let mut data = Vec::new();
    for (entry, id) in [("100644 .gitmodules\0", modules), ("160000 sub\0", commit)] {
        data.extend_from_slice(entry.as_bytes());
        data.extend_from_slice(id.as_bytes());
    }
    let root = repository.add_object(ObjectKind::Tree, data);
    let by = "A <a@b> 1 +0000";
    let text = format!("tree {root}\nauthor {by}\ncommitter {by}\n\nx\n");
    let id = repository.add_object(ObjectKind::Commit, text);
    repository.set_ref("refs/heads/main", Some(id));
    id
}

#[tokio::test]
async fn submodules_come_along_when_asked_for_and_not_for_ever() {
    let transport = MemoryTransport::default();
    let mut inner = Repository::new("main");
    let files = tree(&[("lib", "inner")]);
    let new = NewCommit { branch: "main", message: "x", files: &files, by: somebody(1) };
    let commit = inner.commit(&new);
    transport.insert("https://git.test/org/inner", inner);
    let mut middle = Repository::new("main");
    let commit = with_submodule(&mut middle, "../inner", commit);
    transport.insert("https://git.test/org/middle", middle);
    let mut outer = Repository::new("main");
    with_submodule(&mut outer, "https://git.test/org/middle", commit);
    transport.insert("https://git.test/outer", outer.clone());
    let mut main = request("https://git.test/outer", branch("main"));
    let found = checkout(&transport, &main).await;
    assert_eq!(listing(&found.files), [".gitmodules [submodule \"sub\"]", "sub/"]);
    main.recurse_submodules = true;
    let found = checkout(&transport, &main).await;
    assert_eq!(listing(&found.files).last().map(String::as_str), Some("sub/sub/lib inner"));

    // A long row of repositories that each hold the one before ends at a depth.
    let mut last = commit;
    for number in 0..15 {
        let mut repository = Repository::new("main");
        let before = if number == 0 { "middle".to_owned() } else { format!("r{}", number - 1) };
        last = with_submodule(&mut repository, &format!("https://git.test/org/{before}"), last);
        transport.insert(&format!("https://git.test/org/r{number}"), repository);
    }
    let mut deep = request("https://git.test/org/r14", branch("main"));
    deep.recurse_submodules = true;
    let found = checkout(&transport, &deep).await;
    assert_eq!(found.files.iter().filter(|(path, _)| path.ends_with("sub")).count(), 11);

    // What cannot be fetched is a failure of the repository that it belongs to.
    with_submodule(&mut outer, "https://git.test/gone", commit);
    transport.insert("https://git.test/outer", outer);
    let error = clone(&transport, &main).await.expect_err("gone");
    assert_eq!(chain(&error), "unable to clone 'https://git.test/outer': repository not found: ");
}

#[tokio::test]
async fn our_server_serves_our_client() {
    let (repositories, made) = (MemoryTransport::default(), made());
    repositories.insert("app.git", made.repository.clone());
    repositories.insert("empty.git", Repository::new("main"));
    let (address, serving) = listen(repositories).await;
    let server = tokio::spawn(serving);
    everything(&network(), &format!("http://{address}/app.git"), &made).await;
    let url = format!("http://{address}/empty.git");
    let empty = clone(&network(), &request(&url, branch("main"))).await;
    assert!(matches!(empty, Ok(Cloned::Empty)), "{empty:?}");
    let url = format!("http://{address}/nope.git");
    let error = clone(&network(), &request(&url, branch("main"))).await.expect_err("absent");
    assert_eq!(chain(&error), format!("unable to clone '{url}': repository not found: not found"));
    server.abort();
}

#[tokio::test(flavor = "multi_thread")]
async fn our_server_serves_the_real_git() {
    if !sluice_testkit::programs::need(&["git"]) {
        return;
    }
    let (repositories, made) = (MemoryTransport::default(), made());
    repositories.insert("app.git", made.repository.clone());
    let (address, serving) = listen(repositories).await;
    let server = tokio::spawn(serving);
    let directory = tempfile::tempdir().expect("a directory");
    let cases = [
        ("full", "2", &[][..]),
        ("shallow", "2", &["--depth=1", "--branch=v1.1.0"]),
        ("full-0", "0", &[]),
        ("shallow-0", "0", &["--depth=1", "--branch=v1.1.0"]),
    ];
    for (into, version, options) in cases {
        let target = directory.path().join(into);
        let mut command = Command::new("git");
        command.env("GIT_CONFIG_GLOBAL", "/dev/null");
        command.args(["-c", &format!("protocol.version={version}"), "clone"]).args(options);
        command.arg(format!("http://{address}/app.git")).arg(&target);
        let output = tokio::task::spawn_blocking(move || command.output()).await;
        let output = output.expect("finished").expect("git runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let text = std::fs::read_to_string(target.join("deploy/app.yaml")).expect("a file");
        assert_eq!(text, "two");
        let fsck = Command::new("git").arg("-C").arg(&target).args(["fsck", "--strict"]).output();
        let fsck = fsck.expect("git runs");
        assert!(fsck.status.success(), "{}", String::from_utf8_lossy(&fsck.stderr));
    }
    server.abort();
}

/// A line that `conformance/git` prints. (Its library names one field of a reference in lower case.)
#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Answer {
    reference: Strategy,
    error: String,
    empty: bool,
    revision: String,
    absolute: String,
    tag: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Strategy {
    branch: String,
    tag: String,
    #[serde(rename = "semver", default)]
    semver: String,
    ref_name: String,
    commit: String,
}

async fn answer(transport: &dyn GitTransport, url: &str, strategy: &Strategy) -> Answer {
    let Strategy { branch, tag, semver, ref_name, commit } = strategy.clone();
    let reference = Reference { branch, tag, semver, name: ref_name, commit };
    let found = clone(transport, &request(url, reference)).await;
    let mut answer = Answer {
        reference: strategy.clone(),
        error: String::new(),
        empty: matches!(found, Ok(Cloned::Empty)),
        revision: String::new(),
        absolute: String::new(),
        tag: String::new(),
    };
    match found {
        Ok(Cloned::Checkout(found)) => {
            answer.revision = found.revision.to_string();
            // Flux shows the whole name only where the reference is a name.
            answer.absolute = format!("{}@sha1:{}", found.reference, found.commit.id);
            answer.tag = found.tag.map(|tag| tag.to_string()).unwrap_or_default();
        }
        Ok(_) => {}
        Err(error) => answer.error = chain(&error).replace(url, "{url}"),
    }
    answer
}

#[tokio::test(flavor = "multi_thread")]
async fn every_reference_is_answered_as_go_git_answers_it() {
    let (repositories, made) = (MemoryTransport::default(), made());
    repositories.insert("app.git", made.repository.clone());
    repositories.insert("empty.git", Repository::new("main"));
    let (address, serving) = listen(repositories).await;
    let server = tokio::spawn(serving);
    let mut compared = 0;
    for path in ["app", "empty", "nope"] {
        let url = format!("http://{address}/{path}.git");
        let golden = format!("{}/tests/golden/git-{path}.jsonl", env!("CARGO_MANIFEST_DIR"));
        if let Some(program) = std::env::var_os("SLUICE_GO_GIT") {
            let mut command = Command::new(program);
            command.args([&url, &made.first.to_string(), &made.aside.to_string()]);
            let output = tokio::task::spawn_blocking(move || command.output()).await;
            let output = output.expect("finished").expect("it runs");
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            std::fs::write(&golden, output.stdout).expect("recorded");
        }
        let text = std::fs::read_to_string(&golden).expect("a table");
        for line in text.lines() {
            let expected: Answer = serde_json::from_str(line).expect("a line");
            let mut found = answer(&network(), &url, &expected.reference).await;
            // With a name as reference the artifact's revision has the whole name, as Flux's controller
            // chooses it; the library gives both.
            if !expected.reference.ref_name.is_empty() {
                assert_eq!(found.revision, expected.absolute, "{path}");
                found.revision = expected.revision.clone();
            }
            // A bare commit has no ref here; go-git calls it HEAD, which no revision shows.
            if expected.absolute.starts_with("HEAD@") {
                found.absolute = expected.absolute.clone();
            }
            assert_eq!(found, expected, "{path}");
            compared += 1;
        }
    }
    assert_eq!(compared, 69);
    server.abort();
}

async fn listen(repositories: MemoryTransport) -> (SocketAddr, impl Future<Output = ()>) {
    let any = SocketAddr::from(([127, 0, 0, 1], 0));
    GitServer::new(repositories).listen(any).await.expect("a loopback port")
}
