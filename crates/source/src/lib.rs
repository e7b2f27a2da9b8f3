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
//! What a controller does for a GitRepository, without its conditions and events:
//!
//! ```no_run
//! use sluice_base::time::Time;
//! use sluice_source::artifact::{Artifact, ArtifactPath};
//! use sluice_source::git::{CloneRequest, Cloned, GitAuth, GitTransport, TrustedKeys, VerifyMode};
//! use sluice_source::ignore::Rules;
//! use sluice_source::store::{ArtifactStore, Retention};
//! # type Failure = Box<dyn std::error::Error>;
//!
//! async fn produce(
//!     transport: &dyn GitTransport,
//!     store: &dyn ArtifactStore,
//!     request: &CloneRequest,
//!     auth: &GitAuth,
//!     keys: &TrustedKeys,
//!     now: jiff::Timestamp,
//! ) -> Result<Option<Artifact>, Failure> {
//!     let Cloned::Checkout(found) = sluice_source::git::clone(transport, request, auth).await? else {
//!         return Ok(None); // unchanged, or empty
//!     };
//!     let _message = sluice_source::git::verify(&found, VerifyMode::Head, keys, now)?;
//!     let rules = Rules::of_source(&found.files, None);
//!     let skip = |path: &str, is_directory: bool| rules.excludes(path, is_directory);
//!     let packed = sluice_source::archive::pack(&found.files, skip)?;
//!     let file = format!("{}.tar.gz", found.commit.id);
//!     let place = ArtifactPath::new("GitRepository", "apps", "web", &file)?;
//!     let stored = store.put(&place, packed).await?;
//!     store.collect(&place, Retention::default()).await?;
//!     let made = Time(now);
//!     Ok(Some(place.artifact("source.test", &found.revision, &stored.digest, stored.size, made)))
//! }
//! ```
//!
//! Start reading at [`git`] and [`oci`] for fetching, at [`store`] for keeping, at [`archive`] for the bytes.
//!
//! **Invariants:** no artifact is returned unless its digest was computed from its bytes; no external input
//! (archive, packfile, response) is trusted in size, path or link; everything that uses a network or a disk
//! is behind a trait ([`git::GitTransport`], [`store::ArtifactStore`]), so that simulations need neither.

pub mod archive;
pub mod artifact;
pub mod backends;
pub mod bucket;
pub mod client;
pub mod compose;
pub mod dial;
pub mod faults;
pub mod git;
pub mod http;
pub mod ignore;
pub mod listen;
pub mod network;
pub mod oci;
#[doc(hidden)]
pub mod probe;
pub mod server;
pub mod store;
pub mod tree;
