//! From a URL to a verified artifact.
//!
//! ```text
//! git::clone ──▶ Checkout { commit, tag, revision, files: SourceTree }
//!                                    │
//!            ignore::Rules ──────────┤
//!                                    ▼
//!                   archive::pack ──▶ bytes ──▶ ArtifactStore::put ──▶ Artifact (status.artifact)
//!                                                   │
//!                        server (Flux's paths) ◀────┘────▶ store::fetch (in process, by reference)
//!                              ▲
//!                        client::fetch (another process) ──▶ archive::unpack ──▶ SourceTree
//! ```
//!
//! Start reading at [`git`] for fetching, at [`store`] for keeping, at [`archive`] for the bytes.
//!
//! **Invariants:** no artifact is handed on whose digest was not computed from its bytes; nothing
//! that comes from outside (archive, packfile, answer of a server) is trusted in size, path or
//! link; what talks to a network or a disk is behind a trait ([`git::GitTransport`],
//! [`store::ArtifactStore`]), so that simulations have neither.

pub mod archive;
pub mod artifact;
pub mod client;
pub mod git;
pub mod http;
pub mod ignore;
mod listen;
pub mod semver;
pub mod server;
pub mod store;
pub mod tree;
