//! Repositories that the real git wrote, read over its own server. Without git, nothing to do.

use std::path::Path;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use sluice_source::git::{Cloned, GitAuth, Reference};
use sluice_testkit::git::git;
use sluice_testkit::programs::need;

use crate::git_backend::{Rules, serve};
use crate::support::{branch, chain, checkout, clone, listing, network, request};

/// `app.git` with forty commits, tags, a submodule `lib.git`, a link and a script; `empty.git`.
fn repositories(root: &Path) {
    let write = |path: &str, text: &str| {
        let path = root.join(path);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("made");
        std::fs::write(path, text).expect("written");
    };
    git(root, &["init", "-q", "lib"]);
    write("lib/lib.txt", "library");
    git(&root.join("lib"), &["add", "."]);
    git(&root.join("lib"), &["commit", "-qm", "lib"]);
    git(root, &["clone", "-q", "--bare", "lib", "lib.git"]);
    git(root, &["init", "-q", "app"]);
    let app = root.join("app");
    let numbers: Vec<String> = (0..3000).map(|number| number.to_string()).collect();
    for round in 0..40 {
        // A large file that changes a little: the server sends it as differences.
        write("app/large.txt", &format!("round {round}\n{}", numbers.join("\n")));
        write("app/deploy/app.yaml", &format!("round: {round}\n"));
        git(&app, &["add", "."]);
        git(&app, &["commit", "-qm", &format!("round {round}")]);
        if round % 10 == 0 {
            git(&app, &["tag", "-a", &format!("v0.{round}.0"), "-m", "a release"]);
        }
    }
    write("app/run.sh", "#!/bin/sh\n");
    #[cfg(unix)]
    std::os::unix::fs::symlink("deploy/app.yaml", app.join("link")).expect("linked");
    git(&app, &["submodule", "--quiet", "add", "../lib", "vendor/lib"]);
    git(&app, &["config", "-f", ".gitmodules", "submodule.vendor/lib.url", "../lib.git"]);
    git(&app, &["add", "."]);
    git(&app, &["add", "--chmod=+x", "run.sh"]);
    git(&app, &["commit", "-qm", "a link, a script and a submodule"]);
    git(root, &["clone", "-q", "--bare", "app", "app.git"]);
    git(&root.join("app.git"), &["config", "uploadpack.allowFilter", "true"]);
    git(&root.join("app.git"), &["repack", "-qadf"]);
    git(root, &["init", "-q", "--bare", "empty.git"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_real_server_serves_our_client() {
    if !need(&["git"]) {
        return;
    }
    let directory = tempfile::tempdir().expect("a directory");
    let root = directory.path();
    repositories(root);
    let head = git(&root.join("app"), &["rev-parse", "HEAD"]);
    let old = git(&root.join("app"), &["rev-parse", "HEAD~20"]);
    for hides_version in [false, true] {
        let backend = serve(root, Rules { hides_version, ..Rules::default() }).await;
        let url = format!("http://{}/app.git", backend.address);
        let mut main = request(&url, branch("main"));
        let found = checkout(&network(), &main).await;
        assert_eq!(found.revision.as_str(), format!("main@sha1:{head}"));
        let expected = [
            ".gitmodules [submodule \"vendor/lib\"]",
            "deploy/",
            "deploy/app.yaml round: 39",
            "large.txt round 39",
            "link -> deploy/app.yaml",
            "run.sh* #!/bin/sh",
            "vendor/",
            "vendor/lib/",
        ];
        assert_eq!(listing(&found.files), expected);
        main.recurse_submodules = true;
        let found = checkout(&network(), &main).await;
        assert_eq!(
            listing(&found.files).last().map(String::as_str),
            Some("vendor/lib/lib.txt library")
        );

        let mut sparse = request(&url, branch("main"));
        sparse.sparse = vec!["deploy".into()];
        let found = checkout(&network(), &sparse).await;
        assert_eq!(listing(&found.files), ["deploy/", "deploy/app.yaml round: 39"]);

        let semver = Reference { semver: "<0.30".into(), ..Reference::default() };
        let found = checkout(&network(), &request(&url, semver)).await;
        assert!(found.revision.as_str().starts_with("v0.20.0@sha1:"), "{}", found.revision);
        assert_eq!(
            found.tag.and_then(|tag| tag.object).map(|tag| tag.message).as_deref(),
            Some("a release\n")
        );

        // A commit that is no tip, out of the packed history.
        let commit = Reference { commit: old.clone(), ..branch("main") };
        let found = checkout(&network(), &request(&url, commit)).await;
        assert_eq!(found.revision.as_str(), format!("main@sha1:{old}"));
        assert_eq!(found.commit.short_message(), "round 20");
        let large = found.files.read("large.txt").expect("a file");
        assert!(large.starts_with(b"round 20\n") && large.ends_with(b"2999"));

        let empty = format!("http://{}/empty.git", backend.address);
        let empty = clone(&network(), &request(&empty, branch("main"))).await;
        assert!(matches!(empty, Ok(Cloned::Empty)), "{empty:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn credentials_are_sent_and_refusals_are_said() {
    if !need(&["git"]) {
        return;
    }
    let directory = tempfile::tempdir().expect("a directory");
    let root = directory.path();
    git(root, &["init", "-q", "app"]);
    git(&root.join("app"), &["commit", "-qm", "nothing", "--allow-empty"]);
    let basic = format!("Basic {}", BASE64_STANDARD.encode("me:secret"));
    for (expected, auth) in [
        (basic, GitAuth { username: "me".into(), password: "secret".into(), ..GitAuth::default() }),
        ("Bearer token".to_owned(), GitAuth { bearer_token: "token".into(), ..GitAuth::default() }),
    ] {
        let rules = Rules { authorization: Some(expected), ..Rules::default() };
        let backend = serve(root, rules).await;
        let url = format!("http://{}/app/.git", backend.address);
        let request = request(&url, branch("main"));
        let found = sluice_source::git::clone(&network(), &request, &auth).await;
        assert!(matches!(found, Ok(Cloned::Checkout(_))), "{found:?}");
        let error = clone(&network(), &request).await.expect_err("refused");
        let message = format!("unable to clone '{url}': authentication required: who are you?");
        assert_eq!(chain(&error), message);
    }
}
