//! Whether a branch still leads back to the last artifact: asked of the real git's server in both versions,
//! with and without filters, and of our own.

use sluice_source::artifact::Revision;
use sluice_source::git::{
    Checkout, CloneRequest, GitServer, GitTransport, History, MemoryTransport, NewCommit, ObjectId,
    Reference, Repository,
};
use sluice_testkit::git::git;
use sluice_testkit::programs::need;

use crate::git_backend::{Rules, serve};
use crate::hostile::Liar;
use crate::support::{branch, checkout, network, request, somebody, tree};

/// A checkout after an artifact of some commit.
async fn after(
    transport: &dyn GitTransport,
    (url, reference): (&str, Reference),
    previous: &str,
) -> Checkout {
    let previous = Some(Revision::new(previous));
    let request = CloneRequest { previous, ..request(url, reference) };
    checkout(transport, &request).await
}

#[tokio::test(flavor = "multi_thread")]
async fn the_real_server_tells_of_pushes_by_force() {
    if !need(&["git"]) {
        return;
    }
    for (hides_version, allows_filter) in
        [(false, true), (false, false), (true, true), (true, false)]
    {
        let directory = tempfile::tempdir().expect("a directory");
        let root = directory.path();
        git(root, &["init", "-q", "app"]);
        let app = root.join("app");
        git(&app, &["config", "uploadpack.allowFilter", &allows_filter.to_string()]);
        let commit = |message: &str| {
            std::fs::write(app.join("file"), message).expect("written");
            git(&app, &["add", "."]);
            git(&app, &["commit", "-qm", message]);
            git(&app, &["rev-parse", "HEAD"])
        };
        let commits: Vec<String> = (0..6).map(|number| commit(&number.to_string())).collect();
        let backend = serve(root, Rules { hides_version, ..Rules::default() }).await;
        let url = format!("http://{}/app/.git", backend.address);
        let from = |id: &str| format!("main@sha1:{id}");
        let network = network();
        let found =
            async |previous: &str| after(&network, (&url, branch("main")), previous).await.history;
        let case = format!("version hidden: {hides_version}, filter: {allows_filter}");
        for id in &commits[..5] {
            assert_eq!(found(&from(id)).await, History::Continued, "{case}");
        }
        for previous in [from(&commits[5]), format!("other@sha1:{}", commits[0]), "junk".into()] {
            assert_eq!(found(&previous).await, History::Unasked, "{case}: {previous}");
        }
        // A merge leads back to both of its sides.
        git(&app, &["checkout", "-q", "-b", "side", &commits[1]]);
        let side = commit("side");
        git(&app, &["checkout", "-q", "main"]);
        git(&app, &["merge", "-q", "-X", "ours", "-m", "merged", "side"]);
        for id in [&commits[0], &commits[4], &side] {
            assert_eq!(found(&from(id)).await, History::Continued, "{case}");
        }
        // A push by force, an older commit, and a history without anything in common.
        let rewritten = |id: &str| History::Rewritten { from: id.parse().expect("a name") };
        git(&app, &["reset", "-q", "--hard", &commits[2]]);
        commit("by force");
        assert_eq!(found(&from(&commits[5])).await, rewritten(&commits[5]), "{case}");
        assert_eq!(found(&from(&commits[2])).await, History::Continued, "{case}");
        git(&app, &["reset", "-q", "--hard", &commits[1]]);
        assert_eq!(found(&from(&commits[5])).await, rewritten(&commits[5]), "{case}");
        git(&app, &["checkout", "-q", "--orphan", "fresh"]);
        commit("fresh");
        git(&app, &["branch", "-q", "-f", "main", "fresh"]);
        assert_eq!(found(&from(&commits[5])).await, rewritten(&commits[5]), "{case}");
        // A commit that the server has forgotten, or never had.
        let gone = "1".repeat(40);
        assert_eq!(found(&from(&gone)).await, rewritten(&gone), "{case}");
    }
}

#[tokio::test]
async fn our_server_and_memory_tell_the_same() {
    let repositories = MemoryTransport::default();
    let mut repository = Repository::new("main");
    let mut commit = |branch: &str, text: &str| {
        let files = tree(&[("file", text)]);
        let new = NewCommit { branch, message: text, files: &files, by: somebody(1) };
        repository.commit(&new)
    };
    let first = commit("main", "one");
    commit("main", "two");
    let third = commit("main", "three");
    let aside = commit("aside", "aside");
    repository.tag("moved", third);
    repositories.insert("app.git", repository);
    let any = "127.0.0.1:0".parse().expect("an address");
    let listening = GitServer::new(repositories.clone()).listen(any).await;
    let (address, serving) = listening.expect("a loopback port");
    let server = tokio::spawn(serving);
    let tag = || Reference { tag: "moved".into(), ..Reference::default() };
    let network = network();
    let transports: [(&dyn GitTransport, String); 2] =
        [(&repositories, "app.git".to_owned()), (&network, format!("http://{address}/app.git"))];
    for (transport, url) in transports {
        let of = |name: &str, id: ObjectId| format!("{name}@sha1:{id}");
        let main = (url.as_str(), branch("main"));
        let found = after(transport, main.clone(), &of("main", first)).await;
        assert_eq!(found.history, History::Continued, "{url}");
        let found = after(transport, main, &of("main", aside)).await;
        assert_eq!(found.history, History::Rewritten { from: aside }, "{url}");
        let found = after(transport, (&url, tag()), &of("moved", aside)).await;
        assert_eq!(found.history, History::Rewritten { from: aside }, "{url}: a tag that moved");
    }
    server.abort();
}

#[tokio::test]
async fn a_server_cannot_make_up_an_ancestor() {
    let mut repository = Repository::new("main");
    let mut commit = |branch: &str, text: &str| {
        let files = tree(&[("file", text)]);
        let new = NewCommit { branch, message: text, files: &files, by: somebody(1) };
        repository.commit(&new)
    };
    let old = commit("main", "old");
    commit("evil", "one");
    let evil = commit("evil", "two");
    // It sends the old commit along, which nothing leads to.
    let mut server = Liar::with(&repository);
    server.claim("refs/heads/main", evil, None);
    let previous = format!("main@sha1:{old}");
    let found = after(&server, ("https://git.test/app", branch("main")), &previous).await;
    assert_eq!(found.history, History::Rewritten { from: old });
}
