//! SOPS decryption, as Flux does it.
//!
//! ```text
//! bytes ─ formats ─► tree + metadata ─ keys ─► data key ─ document ─► plaintext tree ─ formats ─► bytes
//! flux: which parts of a build are decrypted: resources, entries of Secrets, files of generators and patches
//! ```
//!
//! - A wrong MAC is a value ([`Integrity`]), not an error: Flux ignores it, because a build adds fields to an
//!   object, which changes the MAC. Callers can request an error.
//! - No error and no debug output shows a value or a key; plaintext is [`Redacted`].
//! - No input causes a panic. This crate reads no file, no clock and no environment.
//! - Decrypting never waits. Remote keys are recorded when they are needed, asked in between through
//!   [`sluice_cloud::Http`], and the document is decrypted again ([`flux::KeyRing::ask`]).
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
