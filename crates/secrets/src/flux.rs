//! Decryption for a Kustomization, as Flux does it.
//!
//! - Resources of a build with `sops.mac`, as JSON ([`Decryptor::decrypt_resource`]).
//! - Entries of a Secret's `data` that are whole encrypted documents.
//! - Before the build: files that `secretGenerator` and `patches` name ([`Decryptor::decrypt_sources`]).
//!
//! The MAC is checked on files ([`Decryptor::check_files`]), because a build splits them into objects.

mod build;
mod intact;
mod key_ring;
mod resource;
mod sources;

pub use build::BuildDecryption;
pub use intact::{CheckError, Checked, may_be_sealed};
pub use key_ring::{AzureVault, Given, Identity, ImportError, KeyRing, Wanted};
pub use resource::{ResourceError, is_decryption_disabled, is_encrypted};
pub use sources::{Sources, SourcesError};

use crate::document::{Error, Integrity, Tampering, decrypt_document};
use crate::formats::Format;
use crate::keys::KeyService;
use sluice_base::redacted::Redacted;

/// The annotation that keeps an object encrypted, with the value `disabled`.
pub const DECRYPT_ANNOTATION: &str = "kustomize.toolkit.fluxcd.io/decrypt";

/// The maximum size of a file that is decrypted.
pub const MAX_FILE_SIZE: usize = 5 << 20;

/// The handling of a wrong MAC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnBrokenMac {
    /// The values are used, and a finding is reported. Flux does the same without a report.
    #[default]
    Report,
    /// Decryption fails.
    Refuse,
}

/// A document with a wrong MAC.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The file, or the entry of a Secret.
    pub place: String,
    /// How it was changed.
    pub tampering: Tampering,
}

/// Decrypts for one Kustomization.
#[derive(Clone, Copy)]
pub struct Decryptor<'k> {
    keys: &'k dyn KeyService,
    on_broken_mac: OnBrokenMac,
}

impl<'k> Decryptor<'k> {
    /// A decryptor with a key service.
    pub fn new(keys: &'k dyn KeyService, on_broken_mac: OnBrokenMac) -> Self {
        Self { keys, on_broken_mac }
    }

    /// Decrypts a whole document from one format to another.
    fn document(
        &self,
        text: &[u8],
        (from, to): (Format, Format),
        place: &str,
        findings: &mut Vec<Finding>,
    ) -> Result<Redacted<Vec<u8>>, Error> {
        let decrypted = decrypt_document(text, from, self.keys)?;
        if let Integrity::Broken(tampering) = decrypted.integrity() {
            if self.on_broken_mac == OnBrokenMac::Refuse {
                return Err(Error::Integrity(tampering.clone()));
            }
            findings.push(Finding { place: place.to_owned(), tampering: tampering.clone() });
        }
        decrypted.emit(to)
    }
}
