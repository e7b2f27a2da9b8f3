//! Signatures that the real gpg and ssh-keygen made through git. Without them, nothing to do.

#![cfg(unix)]

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use jiff::{SignedDuration, Timestamp};
use sluice_source::artifact::Revision;
use sluice_source::git::{
    Checkout, Commit, History, ObjectId, ReferencingTag, Tag, TrustedKeys, VerifyMode, verify,
};
use sluice_source::tree::SourceTree;

use sluice_testkit::git::{git, git_bytes};
use sluice_testkit::programs::need;

/// The head of a repository and its tag `v1`, without the files.
fn checkout(repository: &Path) -> Checkout {
    let id = |name: &str| -> ObjectId {
        git(repository, &["rev-parse", name]).parse().expect("an object's name")
    };
    let commit = Commit::parse(id("HEAD"), &git_bytes(repository, &["cat-file", "commit", "HEAD"]));
    let tag = Tag::parse(id("v1"), &git_bytes(repository, &["cat-file", "tag", "v1"]));
    Checkout {
        commit: commit.expect("a commit"),
        reference: "refs/tags/v1".to_owned(),
        tag: Some(ReferencingTag { name: "v1".to_owned(), object: Some(tag.expect("a tag")) }),
        revision: Revision::default(),
        history: History::Unasked,
        files: SourceTree::default(),
    }
}

fn run(program: &str, home: &Path, arguments: &[&str]) -> String {
    let output =
        Command::new(program).env("GNUPGHOME", home).args(arguments).output().expect("it runs");
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn later(days: i64) -> Timestamp {
    Timestamp::now() + SignedDuration::from_hours(24 * days)
}

#[test]
fn commits_and_tags_signed_by_gpg_are_verified() {
    if !need(&["git", "gpg"]) {
        return;
    }
    for algorithm in ["rsa2048", "ed25519"] {
        let directory = tempfile::tempdir().expect("a directory");
        let home = directory.path().join("gpg");
        std::fs::create_dir(&home).expect("made");
        let private = std::fs::Permissions::from_mode(0o700);
        std::fs::set_permissions(&home, private).expect("made private");
        let make = |who: &str, usage: &str, life: &str| {
            let quiet = ["--batch", "--quiet", "--passphrase", "", "--pinentry-mode", "loopback"];
            let what = ["--quick-generate-key", who, algorithm, usage, life];
            run("gpg", &home, &[&quiet[..], &what[..]].concat());
        };
        make("signer@t.test", "sign", "10d");
        make("other@t.test", "sign", "never");
        let export = |who: &str| run("gpg", &home, &["--armor", "--export", who]);
        let (signer, other) = (export("signer@t.test"), export("other@t.test"));
        let repository = directory.path().join("repository");
        git(directory.path(), &["init", "-q", "repository"]);
        let program = format!("gpg.program={}", wrapper(directory.path(), &home));
        let key = ["-c", &program, "-c", "user.signingkey=signer@t.test"];
        let signed = |what: &[&str]| git(&repository, &[&key[..], what].concat());
        signed(&["commit", "-q", "-S", "--allow-empty", "-m", "signed\n\nwith a body"]);
        signed(&["tag", "-s", "v1", "-m", "a tag\n\nwith a body"]);
        let found = checkout(&repository);
        let trust = |rings: &[&String]| TrustedKeys {
            pgp: rings.iter().map(|ring| (*ring).clone()).collect(),
            ssh: Vec::new(),
        };
        let now = later(0);
        let message = verify(&found, VerifyMode::TagAndHead, &trust(&[&other, &signer]), now)
            .expect("signed by somebody trusted");
        let tag = found.tag.as_ref().expect("a tag");
        let commit = found.commit.id;
        let id = key_id(&home);
        assert_eq!(
            message,
            format!(
                "verified signature of\n\t- tag '{tag}' with key '{id}'\n\t- commit '{commit}' with key '{id}'"
            )
        );
        let refused = |mode, keys: &TrustedKeys, now| {
            let error = verify(&found, mode, keys, now).expect_err("not trusted");
            (error.reason(), error.to_string())
        };
        let nobody = "unable to verify payload with any of the given key rings: no matching key";
        assert_eq!(
            refused(VerifyMode::Head, &trust(&[&other]), now),
            (
                "InvalidCommitSignature",
                format!(
                    "signature verification of commit '{commit}' failed: unable to verify Git commit: {nobody}"
                )
            )
        );
        // The key has lived its ten days, or is not born yet.
        assert_eq!(
            refused(VerifyMode::Tag, &trust(&[&signer]), later(11)).0,
            "InvalidTagSignature"
        );
        assert_eq!(
            refused(VerifyMode::Tag, &trust(&[&signer]), later(-9)).0,
            "InvalidTagSignature"
        );
        let mut tampered = found.clone();
        tampered.commit.payload.push(b'!');
        assert!(verify(&tampered, VerifyMode::Head, &trust(&[&signer]), now).is_err());
        run("gpgconf", &home, &["--kill", "gpg-agent"]);
    }
}

/// A program that calls gpg with the test's own keys.
fn wrapper(directory: &Path, home: &Path) -> String {
    let path = directory.join("gpg-of-test");
    let text = format!(
        "#!/bin/sh\nexec gpg --homedir '{}' --batch --pinentry-mode loopback --passphrase '' \"$@\"\n",
        home.display()
    );
    std::fs::write(&path, text).expect("written");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("made runnable");
    path.display().to_string()
}

fn key_id(home: &Path) -> String {
    let text = run("gpg", home, &["--list-keys", "--with-colons", "signer@t.test"]);
    let line = text.lines().find(|line| line.starts_with("pub:")).expect("a key");
    line.split(':').nth(4).expect("an id").to_owned()
}

#[test]
fn commits_and_tags_signed_by_ssh_keys_are_verified() {
    if !need(&["git", "ssh-keygen"]) {
        return;
    }
    for algorithm in ["ed25519", "rsa", "ecdsa"] {
        let directory = tempfile::tempdir().expect("a directory");
        let key = directory.path().join("key").display().to_string();
        let other = directory.path().join("other").display().to_string();
        for path in [&key, &other] {
            run("ssh-keygen", directory.path(), &["-q", "-t", algorithm, "-N", "", "-f", path]);
        }
        let repository = directory.path().join("repository");
        git(directory.path(), &["init", "-q", "repository"]);
        let signing = format!("user.signingkey={key}");
        let options = ["-c", "gpg.format=ssh", "-c", &signing];
        let signed = |what: &[&str]| git(&repository, &[&options[..], what].concat());
        signed(&["commit", "-q", "-S", "--allow-empty", "-m", "signed"]);
        signed(&["tag", "-s", "v1", "-m", "a tag"]);
        let found = checkout(&repository);
        let read = |path: &str| std::fs::read_to_string(format!("{path}.pub")).expect("a key");
        let trust = |texts: &[String]| TrustedKeys { pgp: Vec::new(), ssh: texts.to_vec() };
        let listed = format!("# people\n\n{}{}", read(&other), read(&key));
        let message = verify(&found, VerifyMode::TagAndHead, &trust(&[listed]), later(0));
        let print = run("ssh-keygen", directory.path(), &["-l", "-f", &key]);
        let print = print.split(' ').nth(1).expect("a fingerprint");
        let message = message.expect("signed by somebody trusted");
        assert_eq!(message.matches(print).count(), 2, "{message}");
        let error = verify(&found, VerifyMode::Head, &trust(&[read(&other)]), later(0));
        assert_eq!(
            error.expect_err("not trusted").to_string(),
            format!(
                "signature verification of commit '{}' failed: unable to verify Git commit SSH signature: \
                 unable to verify payload with any of the given authorized keys: no matching key\n\
                 public key does not match",
                found.commit.id
            )
        );
        let mut tampered = found.clone();
        tampered.commit.payload.push(b'!');
        assert!(verify(&tampered, VerifyMode::Head, &trust(&[read(&key)]), later(0)).is_err());
    }
}

#[test]
fn what_is_not_signed_is_said_in_flux_words() {
    if !need(&["git"]) {
        return;
    }
    let directory = tempfile::tempdir().expect("a directory");
    let repository = directory.path().join("repository");
    git(directory.path(), &["init", "-q", "repository"]);
    git(&repository, &["commit", "-q", "--allow-empty", "-m", "plain"]);
    git(&repository, &["tag", "-a", "v1", "-m", "plain"]);
    let mut found = checkout(&repository);
    let keys = TrustedKeys::default();
    let refused = |found: &Checkout, mode| {
        let error = verify(found, mode, &keys, later(0)).expect_err("not signed");
        (error.reason(), error.to_string())
    };
    let commit = found.commit.id;
    assert_eq!(
        refused(&found, VerifyMode::Head),
        (
            "InvalidCommitSignature",
            format!(
                "signature verification of commit '{commit}' failed: unsupported signature type: empty"
            )
        )
    );
    let tag = found.tag.clone().expect("a tag");
    assert_eq!(
        refused(&found, VerifyMode::Tag),
        (
            "InvalidGitObject",
            format!("cannot verify signature of tag '{tag}' since it is not signed")
        )
    );
    found.tag = None;
    assert_eq!(refused(&found, VerifyMode::TagAndHead).0, "InvalidVerificationMode");
}
