//! SOPS decryption, as Flux does it.
//!
//! ```text
//! bytes ─ formats ─► tree + metadata ─ keys ─► data key ─ document ─► tree in the clear ─ formats ─► bytes
//! flux: what is decrypted, and where: resources, entries of Secrets, files that generators and patches read
//! ```
//!
//! - A wrong MAC is a value ([`Integrity`]), not an error: Flux does not look at it, because what a
//!   build adds to an object changes the MAC. Who wants it to be an error says so.
//! - No error and no debug print shows a value or a key; what is decrypted is [`Redacted`].
//! - Nothing panics on input. Nothing here reads a file, a clock or the environment.
//! - Decrypting never waits. Keys far away are noted when they are needed, asked in between over a seam
//!   ([`sluice_cloud::Http`]), and the document is tried again ([`flux::KeyRing::ask`]).
//!
//! Start reading at `document`.

mod cipher;
mod document;
mod flatten;
pub mod flux;
mod formats;
mod keys;
mod metadata;
mod rules;
#[cfg(test)]
mod testing;
mod time;
mod tree;

pub use cipher::{CipherError, DataKey};
pub use document::{Decrypted, Error, Integrity, Tampering, WalkError, decrypt_document};
pub use formats::Format;
pub use keys::{AgeIdentities, DataKeyError, KeyService, MasterKey, NoKey, PgpKeys, vault_token};
pub use sluice_base::redacted::Redacted;
