//! The envelope of a signature, as JSON Web Signatures have it.

use base64::Engine as _;
use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD};
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::oci::certificate::Certificate;
use crate::oci::keys::{Jws, Scheme};
use crate::oci::manifest::Descriptor;

const PAYLOAD: &str = "application/vnd.cncf.notary.payload.v1+json";
const SCHEME: &str = "io.cncf.notary.signingScheme";
const EXPIRY: &str = "io.cncf.notary.expiry";
const AUTHENTIC_TIME: &str = "io.cncf.notary.authenticSigningTime";
const SIGNING_TIME: &str = "io.cncf.notary.signingTime";
/// By the signer's own certificate, and by that of somebody who vouches for the time.
const X509: &str = "notary.x509";
const AUTHORITY: &str = "notary.x509.signingAuthority";

#[derive(Deserialize)]
struct Json {
    payload: String,
    protected: String,
    header: Unprotected,
    signature: String,
}

#[derive(Deserialize)]
struct Unprotected {
    x5c: Vec<String>,
}

/// What is in an envelope whose signature is that of its first certificate.
pub(super) struct Envelope {
    pub(super) chain: Vec<Certificate>,
    pub(super) expiry: Option<Timestamp>,
    /// When it was signed, if somebody vouches for it.
    pub(super) authentic_time: Option<Timestamp>,
    target: Descriptor,
}

impl Envelope {
    /// Reads an envelope and checks its signature.
    pub(super) fn verified(content: &[u8]) -> Result<Self, String> {
        let unreadable =
            |what: &str| format!("unable to parse the digital signature, error : {what}");
        let json: Json =
            serde_json::from_slice(content).map_err(|_| unreadable("not a JWS in JSON"))?;
        let chain: Option<Vec<Certificate>> = json
            .header
            .x5c
            .iter()
            .map(|text| Certificate::parse(&BASE64_STANDARD.decode(text).ok()?))
            .collect();
        let chain = chain.ok_or("malformed certificate")?;
        let leaf = chain.first().ok_or("certificate chain is not present")?;
        let decode = |text: &str| BASE64_URL_SAFE_NO_PAD.decode(text).ok();
        let protected = decode(&json.protected).and_then(|it| serde_json::from_slice(&it).ok());
        let protected: Map<String, Value> =
            protected.ok_or_else(|| unreadable("the protected header can't be decoded"))?;
        let algorithm = match protected.get("alg").and_then(Value::as_str) {
            Some("ES256") => Jws::Es256,
            Some("ES384") => Jws::Es384,
            Some("PS256") => Jws::Ps256,
            Some("PS384") => Jws::Ps384,
            Some("PS512") => Jws::Ps512,
            other => {
                let name = other.unwrap_or_default();
                return Err(format!("signature algorithm {name:?} is not supported"));
            }
        };
        let message = format!("{}.{}", json.protected, json.payload);
        let signature = decode(&json.signature).ok_or_else(|| unreadable("no signature"))?;
        let key = leaf.key().ok_or("the signing key is of a kind that is not supported")?;
        if !key.verifies(Scheme::Jws(algorithm), message.as_bytes(), &signature) {
            return Err(
                "signature is invalid. Error: crypto/ecdsa or rsa: verification error".to_owned()
            );
        }
        let payload = decode(&json.payload).ok_or_else(|| unreadable("payload error"))?;
        Self::of(chain, &protected, &payload)
    }

    /// Takes what the signature covers.
    fn of(
        chain: Vec<Certificate>,
        protected: &Map<String, Value>,
        payload: &[u8],
    ) -> Result<Self, String> {
        let text = |name: &str| protected.get(name).and_then(Value::as_str);
        let critical: Vec<&str> = protected
            .get("crit")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        let scheme = text(SCHEME).unwrap_or_default();
        let mut required = vec![SCHEME];
        match scheme {
            X509 if protected.contains_key(AUTHENTIC_TIME) => {
                return Err(format!(
                    "{AUTHENTIC_TIME:?} header must not be present for {X509} signing scheme"
                ));
            }
            X509 => {}
            AUTHORITY if protected.contains_key(SIGNING_TIME) => {
                return Err(format!(
                    "{SIGNING_TIME:?} header must not be present for {AUTHORITY} signing scheme"
                ));
            }
            AUTHORITY => required.push(AUTHENTIC_TIME),
            other => return Err(format!("unsupported SigningScheme: `{other}`")),
        }
        if protected.contains_key(EXPIRY) {
            required.push(EXPIRY);
        }
        if let Some(missing) = required.iter().find(|name| !critical.contains(name)) {
            return Err(format!("these required headers are not marked as critical: [{missing}]"));
        }
        // What is critical and unknown could mean anything, as with notation without its plugin.
        if let Some(unknown) = critical.iter().find(|name| !required.contains(name)) {
            return Err(format!("{unknown:?} header is marked critical but is not supported"));
        }
        if text("cty") != Some(PAYLOAD) {
            let kind = text("cty").unwrap_or_default();
            return Err(format!("payload content type {kind:?} not supported"));
        }
        let moment = |name: &str| match text(name) {
            None => Ok(None),
            Some(text) => {
                text.parse::<Timestamp>().map(Some).map_err(|_| format!("{name:?} is no time"))
            }
        };
        let authentic_time = if scheme == AUTHORITY { moment(AUTHENTIC_TIME)? } else { None };
        let read: Value = serde_json::from_slice(payload)
            .map_err(|_| "the signed payload cannot be read".to_owned())?;
        let target = read.get("targetArtifact").cloned().unwrap_or_default();
        let target = serde_json::from_value(target)
            .map_err(|_| "the signed payload cannot be read".to_owned())?;
        Ok(Self { chain, expiry: moment(EXPIRY)?, authentic_time, target })
    }

    /// Whether what was signed is this artifact.
    pub(super) fn is_of(&self, artifact: &Descriptor) -> bool {
        self.target.media_type == artifact.media_type
            && self.target.digest == artifact.digest
            && self.target.size == artifact.size
    }
}
