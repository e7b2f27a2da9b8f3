//! Sigstore's trusted root: authorities and logs with their validity.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use jiff::Timestamp;
use serde::Deserialize;

use crate::oci::certificate::Certificate;
use crate::oci::keys::PublicKey;

/// Why a root cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TrustedRootError {
    /// Invalid JSON.
    #[error("{0}")]
    Json(String),
    /// An invalid key or certificate.
    #[error("{0} cannot be read")]
    Unreadable(&'static str),
    /// Without logs the time of a signature cannot be proven.
    #[error("no transparency log entries found in trusted root")]
    NoLogs,
}

/// A trusted root.
#[derive(Debug, Clone)]
pub struct TrustedRoot {
    pub(super) authorities: Vec<Authority>,
    /// Transparency logs of signatures.
    pub(super) signature_logs: Vec<Log>,
    /// Certificate logs.
    pub(super) certificate_logs: Vec<Log>,
}

/// A certificate authority: its certificate, intermediate ones, the root last.
#[derive(Debug, Clone)]
pub(super) struct Authority {
    pub(super) chain: Vec<Certificate>,
    pub(super) valid: Period,
}

/// A log with its key.
#[derive(Debug, Clone)]
pub(super) struct Log {
    pub(super) id: Vec<u8>,
    pub(super) key: PublicKey,
    pub(super) valid: Period,
}

/// A validity period.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(super) struct Period {
    start: Option<Timestamp>,
    end: Option<Timestamp>,
}

impl Period {
    pub(super) fn holds(self, moment: Timestamp) -> bool {
        self.start.is_none_or(|start| start <= moment) && self.end.is_none_or(|end| moment <= end)
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Json {
    #[serde(default)]
    tlogs: Vec<JsonLog>,
    #[serde(default)]
    ctlogs: Vec<JsonLog>,
    #[serde(default)]
    certificate_authorities: Vec<JsonAuthority>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct JsonLog {
    public_key: JsonKey,
    #[serde(default)]
    log_id: JsonId,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct JsonKey {
    raw_bytes: String,
    #[serde(default)]
    valid_for: Period,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct JsonId {
    key_id: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct JsonAuthority {
    cert_chain: JsonChain,
    #[serde(default)]
    valid_for: Period,
}

/// A certificate chain in Sigstore's format.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct JsonChain {
    pub(super) certificates: Vec<JsonCertificate>,
}

/// A certificate in Sigstore's format.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct JsonCertificate {
    raw_bytes: String,
}

impl JsonCertificate {
    pub(super) fn read(&self) -> Option<Certificate> {
        Certificate::parse(&BASE64_STANDARD.decode(&self.raw_bytes).ok()?)
    }
}

impl JsonLog {
    fn read(&self) -> Option<Log> {
        let spki = BASE64_STANDARD.decode(&self.public_key.raw_bytes).ok()?;
        let key = PublicKey::of_spki(&spki)?;
        let id = BASE64_STANDARD.decode(&self.log_id.key_id).ok().filter(|id| !id.is_empty());
        let id = id.unwrap_or_else(|| {
            ring::digest::digest(&ring::digest::SHA256, &spki).as_ref().to_vec()
        });
        Some(Log { id, key, valid: self.public_key.valid_for })
    }
}

impl TrustedRoot {
    /// Parses a root in Sigstore's format.
    pub fn parse(json: &[u8]) -> Result<Self, TrustedRootError> {
        let read: Json = serde_json::from_slice(json)
            .map_err(|error| TrustedRootError::Json(error.to_string()))?;
        let logs = |list: &[JsonLog], what| {
            let read: Option<Vec<Log>> = list.iter().map(JsonLog::read).collect();
            read.ok_or(TrustedRootError::Unreadable(what))
        };
        let mut authorities = Vec::new();
        for authority in &read.certificate_authorities {
            let chain: Option<Vec<Certificate>> =
                authority.cert_chain.certificates.iter().map(JsonCertificate::read).collect();
            let chain = chain.ok_or(TrustedRootError::Unreadable("a certificate authority"))?;
            authorities.push(Authority { chain, valid: authority.valid_for });
        }
        if read.tlogs.is_empty() {
            return Err(TrustedRootError::NoLogs);
        }
        Ok(Self {
            authorities,
            signature_logs: logs(&read.tlogs, "the key of a transparency log")?,
            certificate_logs: logs(&read.ctlogs, "the key of a certificate log")?,
        })
    }
}
