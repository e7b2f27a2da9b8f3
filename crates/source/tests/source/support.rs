//! What the tests share.

use std::time::Duration;

use bytes::Bytes;
use jiff::{SignedDuration, Timestamp};
use sluice_source::artifact::Revision;
use sluice_source::git::{
    Checkout, CloneRequest, Cloned, Commit, GitAuth, GitError, GitLimits, GitOverNetwork,
    GitTransport, History, Identity, Reference, SshOptions, TrustedKeys, VerifyRules, verify,
};
use sluice_source::network::Network;
use sluice_source::tree::{Node, SourceTree};

pub(crate) fn tree(files: &[(&str, &str)]) -> SourceTree {
    files.iter().map(|(path, text)| ((*path).to_owned(), Bytes::from((*text).to_owned()))).collect()
}

pub(crate) fn somebody(seconds: i64) -> Identity {
    let when = Timestamp::from_second(seconds).expect("a moment");
    Identity::new("Some Body", "some@body.test", when)
}

pub(crate) fn later(days: i64) -> Timestamp {
    Timestamp::now() + SignedDuration::from_hours(24 * days)
}

/// What is said about a checkout that has to be signed.
pub(crate) fn verified(
    checkout: &Checkout,
    rules: impl Into<VerifyRules>,
    keys: &TrustedKeys,
    now: Timestamp,
) -> Result<String, String> {
    verify(checkout, rules, keys, now).map_err(|error| error.to_string())
}

/// A checkout of a commit without its files.
pub(crate) fn bare_checkout(commit: Commit) -> Checkout {
    Checkout {
        commit,
        reference: "refs/heads/main".to_owned(),
        tag: None,
        revision: Revision::default(),
        history: History::Unasked,
        files: SourceTree::default(),
    }
}

pub(crate) fn network() -> GitOverNetwork {
    GitOverNetwork::new(Network::new(), SshOptions::default(), GitLimits::default())
}

pub(crate) fn request(url: &str, reference: Reference) -> CloneRequest {
    CloneRequest {
        url: url.to_owned(),
        reference,
        last_observed: None,
        previous: None,
        recurse_submodules: false,
        sparse: Vec::new(),
        timeout: Duration::from_secs(20),
    }
}

pub(crate) fn branch(name: &str) -> Reference {
    Reference { branch: name.to_owned(), ..Reference::default() }
}

pub(crate) async fn clone(
    transport: &dyn GitTransport,
    request: &CloneRequest,
) -> Result<Cloned, GitError> {
    sluice_source::git::clone(transport, request, &GitAuth::default()).await
}

pub(crate) async fn checkout(transport: &dyn GitTransport, request: &CloneRequest) -> Checkout {
    match clone(transport, request).await.map_err(|error| chain(&error)) {
        Ok(Cloned::Checkout(checkout)) => *checkout,
        other => panic!("no checkout: {other:?}"),
    }
}

/// Paths with the first line of their content, links with their target.
pub(crate) fn listing(files: &SourceTree) -> Vec<String> {
    files
        .iter()
        .map(|(path, node)| match node {
            Node::File { content, executable } => {
                let text = String::from_utf8_lossy(content);
                let sign = if *executable { "*" } else { "" };
                format!("{path}{sign} {}", text.lines().next().unwrap_or_default())
            }
            Node::Link { target } => format!("{path} -> {target}"),
            Node::Directory => format!("{path}/"),
        })
        .collect()
}

pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(error) = next {
        text = format!("{text}: {error}");
        next = error.source();
    }
    text
}
