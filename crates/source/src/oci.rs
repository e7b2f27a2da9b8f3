//! OCI artifacts: a registry client, and signature verification.
//!
//! ```text
//! oci://registry/path ── Repository, Reference (name)
//!            │
//!            ▼
//! RemoteRepository (client) ── Session: ping, tokens, retries ── Wire ── the network, or a MemoryRegistry
//!   resolve, tags, image, blob, referrers, push                          (select: which tag, which layer)
//!            │
//!            ▼
//! cosign (by a key, or by an identity), notation: is it signed by a trusted signer?
//! ```
//!
//! **Invariants:** content that is requested by digest has that digest, or is an error; nothing that a
//! registry sends is trusted in size; credentials go to the registry and to an allowed token server only.

mod certificate;
mod challenge;
mod client;
mod cloud;
pub mod cosign;
mod credentials;
mod der;
mod error;
mod keys;
mod manifest;
pub mod media;
mod memory;
mod name;
pub mod notation;
pub(crate) mod probe;
mod push;
mod realms;
mod select;
mod session;
mod wire;

pub use client::{Fetched, Image, PullLimits, RemoteRepository};
pub use cloud::log_in;
pub use credentials::{Credentials, CredentialsError, DockerConfig, Keyring};
pub use error::{OciError, Refusal};
pub use keys::{KeyError, PublicKey};
pub use manifest::{CREATED, Descriptor, Index, Manifest, Platform, REVISION, SOURCE};
pub use memory::{Doorkeeper, MemoryRegistry};
pub use name::{Identifier, NameError, Reference, Repository, SCHEME};
pub use push::NewArtifact;
pub use realms::{TokenRealmError, TokenRealms};
pub use select::{SelectError, layer, newest_tag};
pub use session::{Access, RegistryAccess};
pub use wire::{NetworkWire, Wire, WireError};
