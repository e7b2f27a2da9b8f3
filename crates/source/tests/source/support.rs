//! What the tests share.

use std::time::Duration;

use bytes::Bytes;
use jiff::Timestamp;
use sluice_source::git::{
    Checkout, CloneRequest, Cloned, GitAuth, GitError, GitLimits, GitOverNetwork, GitTransport,
    Identity, Reference, SshOptions,
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

pub(crate) fn network() -> GitOverNetwork {
    GitOverNetwork::new(Network::new(), SshOptions::default(), GitLimits::default())
}

pub(crate) fn request(url: &str, reference: Reference) -> CloneRequest {
    CloneRequest {
        url: url.to_owned(),
        reference,
        last_observed: None,
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
