//! SOPS documents: read, decrypted, verified and written.

use ring::digest::{Context, SHA512};

use crate::cipher::{CipherError, DataKey, decrypt};
use crate::formats::{Format, Metadatas};
use crate::keys::{DataKeyError, KeyService, data_key};
use crate::metadata::Metadata;
use crate::rules::Above;
use crate::tree::{Branch, Comment, Item, Value};
use sluice_base::redacted::Redacted;

/// The initial hash state with `mac_only_encrypted`, so that the two kinds of MAC never collide: sha256 of
/// `sops`.
const ONLY_ENCRYPTED_START: [u8; 32] = [
    0x8a, 0x3f, 0xd2, 0xad, 0x54, 0xce, 0x66, 0x52, 0x7b, 0x10, 0x34, 0xf3, 0xd1, 0x47, 0xbe, 0x0b,
    0x0b, 0x97, 0x5b, 0x3b, 0xf4, 0x4f, 0x72, 0xc6, 0xfd, 0xad, 0xec, 0x81, 0x76, 0xf2, 0x7d, 0x69,
];

/// Why a document could not be decrypted, with SOPS's messages.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Not a document of its format, or not one of SOPS.
    #[error("failed to load encrypted {format} data: {reason}")]
    Load {
        /// The format.
        format: Format,
        /// The cause.
        reason: String,
    },
    /// No master key decrypted the data key.
    #[error("cannot get sops data key: {0}")]
    DataKey(#[from] DataKeyError),
    /// A value could not be decrypted.
    #[error("error decrypting sops tree: Error walking tree: {0}")]
    Walk(WalkError),
    /// The decrypted document cannot be written in the requested format.
    #[error("failed to emit encrypted {from} file as decrypted {to}: {reason}")]
    Emit {
        /// The format of the document.
        from: Format,
        /// The requested format.
        to: Format,
        /// The cause.
        reason: String,
    },
    /// The MAC is wrong, and the caller requires a valid one.
    #[error("failed to verify sops data integrity: {0}")]
    Integrity(Tampering),
}

impl Error {
    /// Whether it failed only because a remote key service has to be asked first.
    pub const fn is_unasked(&self) -> bool {
        matches!(self, Self::DataKey(DataKeyError::Unasked))
    }
}

/// Why a value in the tree could not be decrypted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WalkError {
    /// The value itself.
    #[error("Could not decrypt value: {0}")]
    Value(CipherError),
    /// It should be encrypted, and is not a string.
    #[error("Expected encrypted value as string, but got {0}")]
    NotText(&'static str),
    /// A comment was decrypted to another type.
    #[error("walkValue of Comment should be either Comment or string, was {0}")]
    Comment(&'static str),
}

/// The result of checking the MAC.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Integrity {
    /// The values are those that were encrypted.
    Whole,
    /// They are not, or it cannot be determined. Flux accepts the document nevertheless.
    Broken(Tampering),
}

/// How the document was changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Tampering {
    /// There is no MAC.
    #[error("the document has no MAC")]
    Missing(String),
    /// The MAC itself cannot be decrypted.
    #[error("{0}")]
    Unreadable(CipherError),
    /// It has encrypted values, but no metadata of SOPS to decrypt them.
    #[error("it has encrypted values and no sops metadata")]
    Stripped,
    /// It contains something that SOPS does not write.
    #[error("it has {0}, which sops does not write there")]
    Foreign(&'static str),
    /// It consists of parts of several documents, or is in a form that SOPS does not write; no MAC covers it.
    #[error("its values are not those of a file with a verified MAC")]
    Unverified,
    /// A wrong MAC. The hashes are not shown: the hash of a short value reveals it.
    #[error("the MAC is that of other values")]
    Mismatch {
        /// The MAC of the document.
        expected: String,
        /// The MAC of its values.
        found: String,
    },
}

/// A decrypted document.
#[derive(Debug, Clone)]
pub struct Decrypted {
    format: Format,
    branches: Redacted<Vec<Branch>>,
    integrity: Integrity,
}

impl Decrypted {
    /// The result of checking the MAC.
    pub const fn integrity(&self) -> &Integrity {
        &self.integrity
    }

    /// The plaintext document.
    pub fn emit(&self, format: Format) -> Result<Redacted<Vec<u8>>, Error> {
        format.emit(self.branches.expose()).map(Redacted::new).map_err(|reason| Error::Emit {
            from: self.format,
            to: format,
            reason,
        })
    }
}

/// Decrypts a document with a key service.
pub fn decrypt_document(
    text: &[u8],
    format: Format,
    keys: &dyn KeyService,
) -> Result<Decrypted, Error> {
    let load = |reason| Error::Load { format, reason };
    let branches = format.load(text).map_err(load)?;
    decrypt_branches(branches, format, keys)
}

/// Decrypts parsed documents; the first of them has the metadata.
pub(crate) fn decrypt_branches(
    mut branches: Vec<Branch>,
    format: Format,
    keys: &dyn KeyService,
) -> Result<Decrypted, Error> {
    let load = |reason| Error::Load { format, reason };
    let metadata = take_metadata(&mut branches, format.metadatas()).map_err(load)?;
    let metadata = Metadata::read(&metadata).map_err(load)?;
    let key = data_key(&metadata.key_groups, metadata.shamir_threshold, keys)?;

    let mut walk = Walk::new(&metadata, &key);
    for branch in &mut branches {
        walk.branch(branch).map_err(Error::Walk)?;
    }
    let found = walk.mac();
    let integrity = integrity(&metadata, &key, found);
    Ok(Decrypted { format, branches: Redacted::new(branches), integrity })
}

fn integrity(metadata: &Metadata, key: &DataKey, found: String) -> Integrity {
    let stored = decrypt(metadata.mac.as_bytes(), key, &metadata.last_modified);
    let tampering = match stored {
        Err(error) => Tampering::Unreadable(error),
        Ok(Value::Text(expected)) if expected.is_empty() => Tampering::Missing(found),
        Ok(Value::Text(expected)) if expected == found.as_bytes() => return Integrity::Whole,
        Ok(Value::Text(expected)) => {
            Tampering::Mismatch { expected: String::from_utf8_lossy(&expected).into_owned(), found }
        }
        Ok(_) => Tampering::Unreadable(CipherError::NotOfType("str")),
    };
    Integrity::Broken(tampering)
}

/// Removes the metadata from the tree.
fn take_metadata(branches: &mut [Branch], form: Metadatas) -> Result<Branch, String> {
    let mut found = None;
    match form {
        Metadatas::Nested | Metadatas::FlatInside => {
            for (index, branch) in branches.iter_mut().enumerate() {
                let all = std::mem::take(branch);
                for item in all {
                    match item {
                        Item::Field(name, value) if name == "sops" => {
                            if index > 0 {
                                continue;
                            }
                            let Value::Branch(tree) = value else {
                                return Err("Found sops entry that is not a mapping".to_owned());
                            };
                            if found.replace(tree).is_some() {
                                return Err("Found duplicate sops entry".to_owned());
                            }
                        }
                        item => branch.push(item),
                    }
                }
            }
        }
        Metadatas::FlatAtTop => {
            if let Some(branch) = branches.first_mut() {
                let all = std::mem::take(branch);
                let mut flat = Branch::new();
                for item in all {
                    match item {
                        Item::Field(name, value) if name.starts_with("sops_") => {
                            flat.push(Item::Field(name["sops_".len()..].to_owned(), value));
                        }
                        item => branch.push(item),
                    }
                }
                found = (!flat.is_empty()).then_some(flat);
            }
        }
    }
    let mut found = found.ok_or("sops metadata not found")?;
    if form == Metadatas::FlatInside {
        for item in &mut found {
            if let Item::Field(_, Value::Text(text)) = item {
                *text = String::from_utf8_lossy(text).replace("\\n", "\n").into_bytes();
            }
        }
    }
    if form == Metadatas::Nested { Ok(found) } else { crate::flatten::unflatten(found) }
}

/// A walk over all values: decrypts them in place and hashes them.
struct Walk<'d> {
    metadata: &'d Metadata,
    key: &'d DataKey,
    hash: Context,
    path: Vec<String>,
    above: Above,
}

impl<'d> Walk<'d> {
    fn new(metadata: &'d Metadata, key: &'d DataKey) -> Self {
        let mut hash = Context::new(&SHA512);
        if metadata.mac_only_encrypted {
            hash.update(&ONLY_ENCRYPTED_START);
        }
        Self { metadata, key, hash, path: Vec::new(), above: Above::default() }
    }

    /// The MAC of the visited values.
    fn mac(self) -> String {
        use std::fmt::Write as _;
        self.hash.finish().as_ref().iter().fold(String::new(), |mut out, byte| {
            let _ = write!(out, "{byte:02X}");
            out
        })
    }

    fn branch(&mut self, branch: &mut Branch) -> Result<(), WalkError> {
        self.above.enter();
        for item in branch {
            match item {
                Item::Comment(comment) => {
                    self.above.comment(&self.metadata.rule, &comment.text);
                    let inline = comment.inline;
                    match self.leaf(Value::Comment(comment.clone()))? {
                        Value::Comment(plain) => *comment = plain,
                        Value::Text(text) => *comment = Comment { text, inline },
                        other => return Err(WalkError::Comment(other.type_name())),
                    }
                }
                Item::Field(name, value) => {
                    self.path.push(std::mem::take(name));
                    let walked = self.value(value);
                    *name = self.path.pop().unwrap_or_default();
                    walked?;
                }
            }
        }
        self.above.leave();
        Ok(())
    }

    /// Visits a value of a field or of a list; the comments above it end with it.
    fn value(&mut self, value: &mut Value) -> Result<(), WalkError> {
        let is_comment = if let Value::Comment(comment) = value {
            self.above.comment(&self.metadata.rule, &comment.text);
            true
        } else {
            false
        };
        match value {
            Value::Null => {}
            Value::Branch(branch) => self.branch(branch)?,
            Value::List(items) => {
                self.above.enter();
                for item in items {
                    self.value(item)?;
                }
                self.above.leave();
            }
            leaf => *leaf = self.leaf(std::mem::replace(leaf, Value::Null))?,
        }
        if !is_comment {
            self.above.value();
        }
        Ok(())
    }

    fn leaf(&mut self, value: Value) -> Result<Value, WalkError> {
        let is_comment = matches!(value, Value::Comment(_));
        let encrypted = self.metadata.rule.encrypts(&self.path, &self.above, is_comment);
        let value = if encrypted { self.decrypted(value)? } else { value };
        if encrypted || !self.metadata.mac_only_encrypted {
            self.hash.update(&value.mac_bytes().unwrap_or_default());
        }
        Ok(value)
    }

    fn decrypted(&self, value: Value) -> Result<Value, WalkError> {
        let path = self.path.join(":") + ":";
        match value {
            // An old version of SOPS did not encrypt comments.
            Value::Comment(comment) => {
                Ok(decrypt(&comment.text, self.key, &path).unwrap_or(Value::Comment(comment)))
            }
            Value::Text(text) => decrypt(&text, self.key, &path).map_err(WalkError::Value),
            other => Err(WalkError::NotText(other.type_name())),
        }
    }
}
