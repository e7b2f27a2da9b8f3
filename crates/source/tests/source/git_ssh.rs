//! Repositories over SSH: our client, and a small server that runs the real `git upload-pack`.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use sluice_base::redacted::Redacted;
use sluice_source::git::{
    AuthError, GitAuth, GitLimits, GitOverNetwork, KeyAlgorithm, KeyPair, SshOptions, scan_host_key,
};
use sluice_source::network::Network;
use sluice_testkit::git::repository;
use sluice_testkit::programs::need;
use sluice_testkit::ssh::{Rules, SshServer, key};
use tokio::io::AsyncReadExt as _;

use crate::support::{branch, chain, listing, network, request};

#[tokio::test(flavor = "multi_thread")]
async fn keys_of_every_kind_open_a_repository() {
    if !need(&["git", "ssh-keygen"]) {
        return;
    }
    let directory = tempfile::tempdir().expect("a directory");
    let root = directory.path();
    repository(root, "app", &[("file", "over ssh\n")]);
    let kinds: [(&[&str], &str, bool); 5] = [
        (&["ed25519"], "", true),
        (&["rsa", "-b", "2048"], "", true),
        (&["ecdsa"], "", false),
        (&["ed25519"], "secret", false),
        (&["rsa", "-b", "2048", "-m", "PEM"], "", true),
    ];
    for (index, (kind, passphrase, takes_version)) in kinds.into_iter().enumerate() {
        let user = key(root, &format!("user{index}"), kind, passphrase);
        let host = key(root, &format!("host{index}"), &["ed25519"], "");
        let known_hosts = host.public.clone();
        let rules = Rules {
            root: root.to_owned(),
            host_keys: vec![host],
            only_version_zero: !takes_version,
        };
        let server = SshServer::start(rules).await;
        server.authorise(&user.public);
        let url = server.url("app/.git");
        let auth = GitAuth {
            username: "git".into(),
            password: passphrase.into(),
            identity: user.private.into_bytes().into(),
            known_hosts: format!("{} {known_hosts}\n", server.name()).into_bytes(),
            ..GitAuth::default()
        };
        let main = request(&url, branch("main"));
        let found = sluice_source::git::clone(&network(), &main, &auth).await;
        let found = found.map_err(|error| chain(&error)).expect("cloned");
        let sluice_source::git::Cloned::Checkout(found) = found else { panic!("{found:?}") };
        assert_eq!(listing(&found.files), ["file over ssh"], "{kind:?}");
        // One login serves the refs and the objects.
        assert_eq!(server.logins(), 1, "{kind:?}");

        let absent = request(&server.url("nope"), branch("main"));
        let error =
            sluice_source::git::clone(&network(), &absent, &auth).await.expect_err("absent");
        assert!(chain(&error).contains("repository not found"), "{}", chain(&error));
        if !passphrase.is_empty() {
            let bare = GitAuth { password: Redacted::default(), ..auth.clone() };
            let url = url.parse().expect("an address");
            assert_eq!(bare.validate(&url), Err(AuthError::EncryptedIdentity));
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_is_not_known_and_a_key_that_is_not_wanted_are_refused() {
    if !need(&["git", "ssh-keygen"]) {
        return;
    }
    let directory = tempfile::tempdir().expect("a directory");
    let root = directory.path();
    repository(root, "app", &[("file", "over ssh\n")]);
    let user = key(root, "user", &["ed25519"], "");
    let stranger = key(root, "stranger", &["ed25519"], "").private;
    let host = key(root, "host", &["ed25519"], "");
    let other_public = key(root, "other", &["ed25519"], "").public;
    let (identity, host_public) = (user.private, host.public.clone());
    let rules = Rules { root: root.to_owned(), host_keys: vec![host], only_version_zero: false };
    let server = SshServer::start(rules).await;
    server.authorise(&user.public);
    let (url, name) = (server.url("app/.git"), server.name());
    let cases = [
        (
            &identity,
            format!("elsewhere.test {host_public}"),
            "ssh: handshake failed: knownhosts: key is unknown",
        ),
        (
            &identity,
            format!("{name} {other_public}"),
            "ssh: handshake failed: knownhosts: key mismatch",
        ),
        (
            &identity,
            format!("@revoked {name} {host_public}"),
            "ssh: handshake failed: knownhosts: key mismatch",
        ),
        (&stranger, format!("{name} {host_public}"), "ssh: unable to authenticate"),
    ];
    for (identity, known_hosts, message) in cases {
        let auth = GitAuth {
            username: "git".into(),
            identity: identity.clone().into_bytes().into(),
            known_hosts: known_hosts.into_bytes(),
            ..GitAuth::default()
        };
        let main = request(&url, branch("main"));
        let error = sluice_source::git::clone(&network(), &main, &auth).await.expect_err("refused");
        assert!(chain(&error).contains(message), "{} does not say {message}", chain(&error));
    }
    // Only the last got as far as showing its key.
    assert_eq!(server.logins(), 1);
    let strict = SshOptions {
        key_exchanges: vec!["curve25519-sha256".into()],
        host_keys: vec!["ssh-ed25519".into()],
    };
    let auth = GitAuth {
        username: "git".into(),
        identity: identity.into_bytes().into(),
        known_hosts: format!("{name} {host_public}").into_bytes(),
        ..GitAuth::default()
    };
    let transport = GitOverNetwork::new(Network::new(), strict, GitLimits::default());
    let main = request(&url, branch("main"));
    let found = sluice_source::git::clone(&transport, &main, &auth).await;
    assert!(found.is_ok(), "{found:?}");
    let unknown = SshOptions { key_exchanges: vec!["nothing".into()], ..SshOptions::default() };
    let transport = GitOverNetwork::new(Network::new(), unknown, GitLimits::default());
    let error = sluice_source::git::clone(&transport, &main, &auth).await.expect_err("refused");
    assert!(chain(&error).contains("unsupported key exchange"), "{}", chain(&error));
}

/// What ssh-keygen makes of a private key.
fn public_half(directory: &Path, private: &str) -> String {
    let path = directory.join("made");
    std::fs::write(&path, private).expect("written");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).expect("made private");
    let output = Command::new("ssh-keygen").arg("-y").arg("-f").arg(&path).output();
    let output = output.expect("ssh-keygen runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_that_is_made_and_a_host_that_was_scanned_are_enough() {
    if !need(&["git", "ssh-keygen"]) {
        return;
    }
    let directory = tempfile::tempdir().expect("a directory");
    let root = directory.path();
    repository(root, "app", &[("file", "over ssh\n")]);
    // Of several kinds of keys the host shows the one that flux keeps.
    let kinds: [(&[&str], &str); 3] = [
        (&["ed25519"], "ssh-ed25519"),
        (&["rsa", "-b", "2048"], "ssh-rsa"),
        (&["ecdsa"], "ecdsa-sha2-nistp256"),
    ];
    let mut host_keys = Vec::new();
    for (index, (kind, shown)) in kinds.into_iter().enumerate() {
        host_keys.push(key(root, &format!("host{index}"), kind, ""));
        let rules =
            Rules { root: root.to_owned(), host_keys: host_keys.clone(), ..Rules::default() };
        let server = SshServer::start(rules).await;
        let known = scan_host_key(&Network::new(), &format!("127.0.0.1:{}", server.port()))
            .await
            .expect("scanned");
        let public = host_keys.last().map(|pair| pair.public.clone()).unwrap_or_default();
        assert_eq!(known, format!("{} {public}", server.name()), "{shown}");
        assert!(known.contains(shown), "{known}");
        assert_eq!(server.logins(), 0);
    }
    let rules = Rules { root: root.to_owned(), host_keys, ..Rules::default() };
    let server = SshServer::start(rules).await;
    let known_hosts = scan_host_key(&Network::new(), &format!("127.0.0.1:{}", server.port()))
        .await
        .expect("a key");
    for (algorithm, kind) in [
        (KeyAlgorithm::Rsa(1024), "ssh-rsa "),
        (KeyAlgorithm::EcdsaP256, "ecdsa-sha2-nistp256 "),
        (KeyAlgorithm::EcdsaP384, "ecdsa-sha2-nistp384 "),
        (KeyAlgorithm::EcdsaP521, "ecdsa-sha2-nistp521 "),
        (KeyAlgorithm::Ed25519, "ssh-ed25519 "),
    ] {
        let made = KeyPair::generate(algorithm).expect("made");
        assert!(made.public.starts_with(kind), "{}", made.public);
        assert!(made.private.starts_with("-----BEGIN PRIVATE KEY-----\n"));
        // OpenSSH reads this form of Ed25519 since 9.6 only.
        if algorithm != KeyAlgorithm::Ed25519 {
            assert_eq!(public_half(root, &made.private), made.public);
        }
        assert_eq!(KeyPair::read(&made.private, "").expect("read").public, made.public);
        server.authorise(&made.public);
        let auth = GitAuth {
            username: "git".into(),
            identity: made.private.into_bytes().into(),
            known_hosts: known_hosts.clone().into_bytes(),
            ..GitAuth::default()
        };
        let main = request(&server.url("app/.git"), branch("main"));
        let found = sluice_source::git::clone(&network(), &main, &auth).await;
        assert!(found.is_ok(), "{kind}: {}", found.err().map(|e| chain(&e)).unwrap_or_default());
    }
}

#[test]
fn keys_are_read_from_files_in_every_form() {
    if !need(&["git", "ssh-keygen"]) {
        return;
    }
    let directory = tempfile::tempdir().expect("a directory");
    let root = directory.path();
    let plain = key(root, "plain", &["ed25519"], "");
    let locked = key(root, "locked", &["ed25519"], "secret");
    let pem = key(root, "pem", &["rsa", "-b", "2048", "-m", "PEM"], "");
    let locked_pem = key(root, "locked-pem", &["rsa", "-b", "2048", "-m", "PEM"], "secret");
    let modern = key(root, "modern", &["ecdsa", "-m", "PKCS8"], "");
    let locked_modern = key(root, "locked-modern", &["ecdsa", "-m", "PKCS8"], "secret");
    for (pair, passphrase) in
        [(&plain, ""), (&locked, "secret"), (&pem, ""), (&locked_pem, "secret"), (&modern, "")]
    {
        let read = KeyPair::read(&pair.private, passphrase).expect("read");
        assert_eq!((read.private, read.public.trim()), (pair.private.clone(), &*pair.public));
    }
    for (text, passphrase, words) in [
        ("junk", "", "ssh: no key found"),
        ("-----BEGIN OPENSSH PRIVATE KEY-----\n", "", "ssh: no key found"),
        (&*plain.private, "secret", "ssh: key is not password protected"),
        (&*pem.private, "secret", "ssh: not an encrypted key"),
        (&*locked.private, "", "ssh: this private key is passphrase protected"),
        (&*locked.private, "wrong", "x509: decryption password incorrect"),
        (&*locked_pem.private, "", "ssh: this private key is passphrase protected"),
        (&*locked_pem.private, "wrong", "x509: decryption password incorrect"),
        (&*locked_modern.private, "", "ssh: unsupported key type \"ENCRYPTED PRIVATE KEY\""),
        (&*locked_modern.private, "secret", "ssh: not an encrypted key"),
        ("-----BEGIN X-----\n-----END X-----\n", "", "ssh: unsupported key type \"X\""),
    ] {
        let error = KeyPair::read(text, passphrase).err().map(|error| error.to_string());
        assert_eq!(error.as_deref(), Some(words));
    }
}

#[tokio::test]
async fn a_host_that_cannot_be_asked_says_so_in_gos_words() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let asked = format!("127.0.0.1:{port}");
    let begin = format!("SSH key scan for host {asked} failed, error: ");
    let silent = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.expect("somebody comes");
        // What is left unread would make a reset of the end.
        let _ = stream.read(&mut [0; 4096]).await;
    });
    let error =
        scan_host_key(&Network::new(), &asked).await.expect_err("nobody speaks").to_string();
    assert_eq!(error, format!("{begin}ssh: handshake failed: EOF"));
    silent.await.expect("it ends");
    let error =
        scan_host_key(&Network::new(), &asked).await.expect_err("nobody listens").to_string();
    assert_eq!(error, format!("{begin}dial tcp {asked}: connect: connection refused"));
    let error =
        scan_host_key(&Network::new(), "127.0.0.1:99999").await.expect_err("no port").to_string();
    assert!(error.ends_with("dial tcp: address 99999: invalid port"), "{error}");
}
