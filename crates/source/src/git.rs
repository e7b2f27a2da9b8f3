//! A git client: it reads repositories over HTTP and SSH, and runs no program.
//!
//! ```text
//! CloneRequest ── clone() ──▶ GitTransport::open ──▶ GitRemote: list_refs, fetch
//!                    │                                  ├─ GitOverNetwork: http.rs, ssh.rs ── protocol.rs, pktline.rs, pack.rs
//!                    │                                  └─ MemoryTransport: make.rs (repositories made on the spot)
//!                    ▼
//!        Cloned::Checkout { commit, tag, revision, files } ──▶ verify (signature.rs) ──▶ archive::pack
//! ```
//!
//! **Invariants:** an object's name is computed from its content, and crafted SHA-1 collisions are rejected;
//! nothing that a remote sends is trusted in size or shape; commits are resolved from objects, never from
//! what a remote claims.

mod auth;
mod clone;
mod codecommit;
mod commit;
mod error;
mod github_app;
mod http;
mod incoming;
mod make;
mod memory;
mod network;
mod object;
pub mod pack;
mod peel;
mod pktline;
pub(crate) mod probe;
mod protocol;
mod ref_list;
mod remote;
mod serve;
mod signature;
mod ssh;
mod submodule;
mod tree;

pub(crate) use auth::percent_decoded;
pub use auth::{AuthError, GitAuth};
pub use clone::{Checkout, CloneRequest, Cloned, History, Reference, ReferencingTag, clone};
pub use codecommit::{CodeCommitError, codecommit_auth, codecommit_region};
pub use commit::{Commit, Identity, Tag};
pub use error::{Cause, GitError};
pub use github_app::{APP_USERNAME, AppToken, GitHubApp, GitHubAppError};
pub use make::{NewCommit, Repository, Selection};
pub use memory::MemoryTransport;
pub use network::GitOverNetwork;
pub use object::{Object, ObjectId, ObjectKind, Objects};
pub use pack::GitLimits;
pub use remote::{Budget, FetchRequest, GitRemote, GitTransport, ObjectFilter, RemoteRef};
pub use serve::GitServer;
pub use signature::{TagName, TrustedKeys, VerifyError, VerifyMode, VerifyRules, verify};
pub use ssh::{KeyAlgorithm, KeyPair, KeyPairError, ScanError, SshOptions, scan_host_key};
pub use tree::{Gitlink, Worktree, checkout};
