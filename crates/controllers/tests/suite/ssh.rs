//! GitRepositories over SSH: a small server that runs the real `git upload-pack`. Time is real here; without
//! git and ssh-keygen there is nothing to do.

use std::sync::Arc;

use serde_json::json;
use sluice_source::git::{GitLimits, GitOverNetwork, SshOptions};
use sluice_source::network::Network;
use sluice_testkit::git::repository;
use sluice_testkit::programs::need;
use sluice_testkit::ssh::{Rules, SshServer, key};

use crate::ground::{Ground, namespace, repository_with, said, secret};

#[tokio::test]
async fn a_host_has_to_be_known_and_a_key_wanted() {
    if !need(&["git", "ssh-keygen"]) {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    repository(root, "app", &[("a.yaml", "a")]);
    let user = key(root, "user", &["ed25519"], "");
    let stranger = key(root, "stranger", &["ed25519"], "").private;
    let host = key(root, "host", &["ed25519"], "");
    let other_public = key(root, "other", &["ed25519"], "").public;
    let (identity, host_public) = (user.private, host.public.clone());
    let rules = Rules { root: root.to_owned(), host_keys: vec![host], only_version_zero: false };
    let server = SshServer::start(rules).await;
    server.authorise(&user.public);
    let mut ground = Ground::idle().await;
    let network = GitOverNetwork::new(Network::new(), SshOptions::default(), GitLimits::default());
    ground.backends().transport = Arc::new(network);
    ground.start();
    ground.apply(namespace()).await;
    let name = server.name();
    let good = format!("{name} {host_public}");
    let url = server.url("app/.git");
    let data = |identity: &str, hosts: &str| json!({"identity": identity, "known_hosts": hosts});
    let object = repository_with("app", json!({"url": url, "secretRef": {"name": "key"}}));
    ground.apply(object.clone()).await;
    for (data, words) in [
        (data(&identity, &format!("{name} {other_public}")), "knownhosts: key mismatch"),
        (data(&identity, &format!("elsewhere.test {host_public}")), "knownhosts: key is unknown"),
        (data(&stranger, &good), "ssh: unable to authenticate"),
    ] {
        ground.apply(secret("key", &data)).await;
        let failed = ground.until(&object, |it| said(it, "Ready").contains(words)).await;
        let start = "False GitOperationFailed: failed to checkout and determine revision: ";
        assert!(said(&failed, "Ready").starts_with(start), "{}", said(&failed, "Ready"));
    }
    let bare = secret("key", &json!({"identity": identity, "known_hosts": ""}));
    ground.apply(bare).await;
    let words = "False AuthenticationFailed: failed to configure authentication options: invalid 'ssh' auth option: 'known_hosts' is required";
    ground.until_ready_says(&object, words).await;
    // The right Secret is enough: nobody has to ask.
    ground.apply(secret("key", &data(&identity, &good))).await;
    let ready = ground.until(&object, |it| said(it, "Ready").starts_with("True Succeeded")).await;
    assert_eq!(said(&ready, "FetchFailed"), "");
    ground.stop().await;
}
