//! Git errors, with Flux's messages.

use crate::http::HttpError;

/// The step that failed. Joined with their sources by `: `, these are Flux's condition messages.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    /// Listing refs failed while checking for changes.
    #[error("unable to list remote for '{url}'")]
    List {
        /// The repository.
        url: String,
        /// Why not.
        #[source]
        source: Cause,
    },
    /// The repository could not be fetched.
    #[error("unable to clone '{url}'")]
    Clone {
        /// The repository.
        url: String,
        /// Why not.
        #[source]
        source: Cause,
    },
    /// The repository is empty, and a tag or a commit was requested.
    #[error("unable to clone: remote repository is empty: git repository: '{url}'")]
    Empty {
        /// The repository.
        url: String,
    },
    /// An invalid ref name.
    #[error("ref {0} is invalid; Git refs cannot begin or end with a slash '/'")]
    InvalidRef(String),
    /// The ref does not exist.
    #[error("unable to resolve ref '{0}' to a specific commit")]
    UnresolvedRef(String),
    /// An invalid version range.
    #[error("semver parse error")]
    Semver(#[source] sluice_base::semver::SemverError),
    /// No tag is in the range.
    #[error("no match found for semver: {0}")]
    NoVersion(String),
    /// The commit is not in the history of the reference.
    #[error("unable to resolve commit object for '{commit}'")]
    Commit {
        /// The commit.
        commit: String,
        /// Why not.
        #[source]
        source: Cause,
    },
    /// A directory of a sparse checkout does not exist.
    #[error(
        "sparse checkout dir '{0}' does not exist in repository: lstat /{0}: no such file or directory"
    )]
    SparseDirectory(String),
    /// The credentials are invalid.
    #[error(transparent)]
    Auth(#[from] super::auth::AuthError),
}

/// The cause: network, protocol or objects.
#[derive(Debug, thiserror::Error)]
pub enum Cause {
    /// 401.
    #[error("authentication required: {0}")]
    AuthenticationRequired(String),
    /// 403.
    #[error("authorization failed: {0}")]
    AuthorizationFailed(String),
    /// 404.
    #[error("repository not found: {0}")]
    RepositoryNotFound(String),
    /// Another status.
    #[error("unexpected client error: unexpected requesting {url:?} status code: {status}")]
    Status {
        /// The URL.
        url: String,
        /// The status.
        status: u16,
    },
    /// There are no refs.
    #[error("remote repository is empty")]
    EmptyRepository,
    /// The ref does not exist.
    #[error("couldn't find remote ref {0:?}")]
    RefNotFound(String),
    /// A required object was not sent.
    #[error("object not found")]
    ObjectNotFound(String),
    /// An error that the remote reported.
    #[error("remote error: {0}")]
    Remote(String),
    /// A pkt-line with an invalid length.
    #[error("invalid pkt-len found")]
    Frame,
    /// The same in the response to a fetch.
    #[error("error decoding upload-pack response: invalid pkt-len found")]
    AnswerFrame,
    /// An object with a wrong checksum.
    #[error("zlib: invalid checksum")]
    Checksum,
    /// An object that is part of a SHA-1 collision.
    #[error("object {0} is part of a SHA-1 collision")]
    Collision(String),
    /// The connection was closed early.
    #[error("unexpected EOF")]
    HungUp,
    /// A timeout, with the pending request.
    #[error("{0}context deadline exceeded")]
    Late(String),
    /// Invalid protocol data or objects.
    #[error("malformed: {0}")]
    Malformed(String),
    /// A limit is exceeded.
    #[error("the repository exceeds the limit of {limit} {what}")]
    TooLarge {
        /// The limited quantity.
        what: &'static str,
        /// The limit.
        limit: u64,
    },
    /// The tree of files exceeds its limits.
    #[error("the repository is too large: {0}")]
    Tree(#[from] sluice_base::limits::LimitError),
    /// An HTTP error.
    #[error(transparent)]
    Http(#[from] HttpError),
    /// An SSH error.
    #[error("ssh: {0}")]
    Ssh(String),
    /// An invalid URL.
    #[error("cannot parse url: {0}")]
    Url(String),
}

pub(crate) fn malformed(what: impl Into<String>) -> Cause {
    Cause::Malformed(what.into())
}

/// The maximum length of a server's text in messages.
const SHOWN: usize = 1000;

/// Makes a server's text safe for a condition, an event or a terminal: without control characters except newlines,
/// without bidirectional overrides, bounded in length. Final newlines stay, as in Flux.
pub(crate) fn shown(text: &str) -> String {
    let is_plain = |sign: &char| {
        let turns = matches!(sign, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        (*sign == '\n' || !sign.is_control()) && !turns
    };
    let mut signs = text.chars().filter(is_plain);
    let mut out: String = signs.by_ref().take(SHOWN).collect();
    if signs.next().is_some() {
        out.push_str("...");
    }
    out
}
