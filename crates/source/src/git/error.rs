//! Why a repository could not be fetched, in the words that users of Flux know.

use crate::http::HttpError;

/// What went wrong, and at which step. Joined with their sources by `: `, these are the messages
/// that Flux shows in a condition.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    /// Refs could not be listed while looking for changes.
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
    /// It holds nothing yet, and a tag or a commit was asked for.
    #[error("unable to clone: remote repository is empty: git repository: '{url}'")]
    Empty {
        /// The repository.
        url: String,
    },
    /// A ref's name can be none.
    #[error("ref {0} is invalid; Git refs cannot begin or end with a slash '/'")]
    InvalidRef(String),
    /// No such ref.
    #[error("unable to resolve ref '{0}' to a specific commit")]
    UnresolvedRef(String),
    /// The range cannot be read.
    #[error("semver parse error")]
    Semver(#[source] crate::semver::SemverError),
    /// No tag is in the range.
    #[error("no match found for semver: {0}")]
    NoVersion(String),
    /// The commit is not in the history that was asked for.
    #[error("unable to resolve commit object for '{commit}'")]
    Commit {
        /// The commit.
        commit: String,
        /// Why not.
        #[source]
        source: Cause,
    },
    /// A directory of a sparse checkout is not there.
    #[error(
        "sparse checkout dir '{0}' does not exist in repository: lstat /{0}: no such file or directory"
    )]
    SparseDirectory(String),
    /// The credentials make no sense.
    #[error(transparent)]
    Auth(#[from] super::auth::AuthError),
}

/// What lies below: the network, the protocol, the objects.
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
        /// What was asked.
        url: String,
        /// The answer.
        status: u16,
    },
    /// No refs at all.
    #[error("remote repository is empty")]
    EmptyRepository,
    /// The remote has no such ref.
    #[error("couldn't find remote ref {0:?}")]
    RefNotFound(String),
    /// An object that should have come did not; its name is in here.
    #[error("object not found")]
    ObjectNotFound(String),
    /// The remote said an error itself.
    #[error("remote error: {0}")]
    Remote(String),
    /// A frame whose length is none.
    #[error("invalid pkt-len found")]
    Frame,
    /// The same in the answer to a request for objects.
    #[error("error decoding upload-pack response: invalid pkt-len found")]
    AnswerFrame,
    /// An object is not what its checksum says.
    #[error("zlib: invalid checksum")]
    Checksum,
    /// An object was made to have the name of another one; its name is in here.
    #[error("object {0} is part of a SHA-1 collision")]
    Collision(String),
    /// The remote hung up before it was done.
    #[error("unexpected EOF")]
    HungUp,
    /// It took too long; what was waited for is in here.
    #[error("{0}context deadline exceeded")]
    Late(String),
    /// What came is not git's protocol, or its objects are not as they must be.
    #[error("malformed: {0}")]
    Malformed(String),
    /// More came than is taken.
    #[error("the repository exceeds the limit of {limit} {what}")]
    TooLarge {
        /// What there is too much of.
        what: &'static str,
        /// How much there may be.
        limit: u64,
    },
    /// The tree of files is larger than any may be.
    #[error("the repository is too large: {0}")]
    Tree(#[from] sluice_base::limits::LimitError),
    /// HTTP did not work.
    #[error(transparent)]
    Http(#[from] HttpError),
    /// SSH did not work.
    #[error("ssh: {0}")]
    Ssh(String),
    /// The address cannot be used.
    #[error("cannot parse url: {0}")]
    Url(String),
}

pub(crate) fn malformed(what: impl Into<String>) -> Cause {
    Cause::Malformed(what.into())
}

/// Characters of a server's text that are shown at most.
const SHOWN: usize = 1000;

/// A server's text as a condition, an event or a terminal may show it: no control characters but newlines,
/// nothing that turns the direction of writing, bounded in length. Newlines at the end stay: Flux shows them.
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
