//! Verifies that a commit or a tag was signed with a trusted key, with Flux's messages.
//!
//! **Invariant:** a signature is valid for the bytes that were signed: the object without its one signature.
//! A tag is verified for the name in its header, not for the name that a server lists it under.

mod pgp;
mod ssh;

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::clone::Checkout;
use super::error::shown;

/// The objects that must be signed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VerifyMode {
    /// The commit.
    Head,
    /// The tag it was found by.
    Tag,
    /// Both.
    TagAndHead,
}

impl VerifyMode {
    /// Parses `spec.verify.mode`; `head` is an old spelling.
    pub fn of_name(name: &str) -> Option<Self> {
        match name {
            "HEAD" | "head" => Some(Self::Head),
            "Tag" => Some(Self::Tag),
            "TagAndHEAD" => Some(Self::TagAndHead),
            _ => None,
        }
    }
}

/// Whether a signed tag must have the name of the reference that led to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TagName {
    /// It must: otherwise a server could list an old release under a new name.
    #[default]
    Exact,
    /// It need not.
    Ignored,
}

/// What must be signed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VerifyRules {
    /// The objects.
    pub mode: VerifyMode,
    /// Whether the name of a tag is checked.
    pub tag_name: TagName,
}

impl From<VerifyMode> for VerifyRules {
    fn from(mode: VerifyMode) -> Self {
        Self { mode, tag_name: TagName::Exact }
    }
}

/// The public keys of a Secret.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TrustedKeys {
    /// Armored PGP key rings.
    pub pgp: Vec<String>,
    /// Texts in the format of `authorized_keys`.
    pub ssh: Vec<String>,
}

impl TrustedKeys {
    /// Reads keys: `*.sshpub` are SSH keys, all others are PGP.
    pub fn from_secret(data: &BTreeMap<String, Vec<u8>>) -> Self {
        let mut keys = Self::default();
        for (name, value) in data {
            let list = if name.ends_with(".sshpub") { &mut keys.ssh } else { &mut keys.pgp };
            list.push(String::from_utf8_lossy(value).into_owned());
        }
        keys
    }
}

/// Why a checkout is not verified.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum VerifyError {
    /// A tag must be verified, and the reference is not a tag. A retry does not help.
    #[error("cannot verify tag object's signature if a tag reference is not specified")]
    NoTag,
    /// The tag is not signed.
    #[error("cannot verify signature of tag '{0}' since it is not signed")]
    UnsignedTag(String),
    /// The tag's signature is not by a trusted key.
    #[error("signature verification of tag '{tag}' failed: {problem}")]
    Tag {
        /// The tag.
        tag: String,
        /// The cause.
        problem: String,
    },
    /// The signed tag has another name.
    #[error(
        "signature verification of tag '{tag}' failed: the tag object was signed as '{signed}', not as '{asked}'"
    )]
    TagName {
        /// The tag.
        tag: String,
        /// The name in its header.
        signed: String,
        /// The requested name.
        asked: String,
    },
    /// The commit's signature is not by a trusted key.
    #[error("signature verification of commit '{commit}' failed: {problem}")]
    Commit {
        /// The commit.
        commit: String,
        /// The cause.
        problem: String,
    },
}

impl VerifyError {
    /// The reason of the condition.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::NoTag => "InvalidVerificationMode",
            Self::UnsignedTag(_) => "InvalidGitObject",
            Self::Tag { .. } | Self::TagName { .. } => "InvalidTagSignature",
            Self::Commit { .. } => "InvalidCommitSignature",
        }
    }

    /// Whether only a change of the spec helps.
    pub fn is_stalling(&self) -> bool {
        matches!(self, Self::NoTag)
    }
}

/// Verifies a checkout; returns the message of the condition. Keys and signatures that have expired are
/// not accepted.
pub fn verify(
    checkout: &Checkout,
    rules: impl Into<VerifyRules>,
    keys: &TrustedKeys,
    now: Timestamp,
) -> Result<String, VerifyError> {
    let rules: VerifyRules = rules.into();
    let mode = rules.mode;
    let mut message = "verified signature of".to_owned();
    if mode != VerifyMode::Head {
        let tag = checkout.tag.as_ref().ok_or(VerifyError::NoTag)?;
        let signed = tag.object.as_ref().filter(|object| !object.signature.is_empty());
        let signed = signed.ok_or_else(|| VerifyError::UnsignedTag(tag.to_string()))?;
        let subject =
            Subject { name: "tag", signature: &signed.signature, payload: &signed.payload };
        let by = subject
            .verify(keys, now)
            .map_err(|problem| VerifyError::Tag { tag: tag.to_string(), problem })?;
        if rules.tag_name == TagName::Exact && signed.name != tag.name {
            return Err(VerifyError::TagName {
                tag: tag.to_string(),
                signed: shown(&signed.name),
                asked: tag.name.clone(),
            });
        }
        message = format!("{message}\n\t- tag '{tag}' with key '{by}'");
    }
    if mode != VerifyMode::Tag {
        let commit = &checkout.commit;
        if commit.signatures > 1 {
            let problem = "the commit has more than one signature".to_owned();
            return Err(VerifyError::Commit { commit: commit.id.to_string(), problem });
        }
        let subject =
            Subject { name: "commit", signature: &commit.signature, payload: &commit.payload };
        let by = subject
            .verify(keys, now)
            .map_err(|problem| VerifyError::Commit { commit: commit.id.to_string(), problem })?;
        message = format!("{message}\n\t- commit '{}' with key '{by}'", commit.id);
    }
    Ok(message)
}

/// A signed object.
struct Subject<'a> {
    name: &'static str,
    signature: &'a str,
    payload: &'a [u8],
}

impl Subject<'_> {
    /// The key that made the signature.
    fn verify(&self, keys: &TrustedKeys, now: Timestamp) -> Result<String, String> {
        let name = self.name;
        let signature = self.signature.trim();
        if signature.starts_with("-----BEGIN PGP SIGNATURE-----") {
            if keys.pgp.is_empty() {
                return Err("PGP signature detected but no PGP public keys found in secret \
                            (keys with .asc suffix)"
                    .to_owned());
            }
            return pgp::verify(signature, self.payload, &keys.pgp, now)
                .map_err(|problem| format!("unable to verify Git {name}: {problem}"));
        }
        if signature.starts_with("-----BEGIN SSH SIGNATURE-----") {
            if keys.ssh.is_empty() {
                return Err("SSH signature detected but no SSH public keys found in secret \
                            (keys with .sshpub suffix)"
                    .to_owned());
            }
            return ssh::verify(signature, self.payload, &keys.ssh, now).map_err(|problem| {
                format!("unable to verify Git {name} SSH signature: {problem}")
            });
        }
        let kind = if signature.starts_with("-----BEGIN SIGNED MESSAGE-----") {
            "x509"
        } else if self.signature.is_empty() {
            "empty"
        } else {
            "unknown"
        };
        Err(format!("unsupported signature type: {kind}"))
    }
}
