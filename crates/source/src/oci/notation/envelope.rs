//! JWS envelopes of signatures.

use base64::Engine as _;
use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD};
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{chain, unambiguous};
use crate::oci::certificate::Certificate;
use crate::oci::keys::{Jws, Scheme};
use crate::oci::manifest::Descriptor;

const PAYLOAD: &str = "application/vnd.cncf.notary.payload.v1+json";
const SCHEME: &str = "io.cncf.notary.signingScheme";
const EXPIRY: &str = "io.cncf.notary.expiry";
const AUTHENTIC_TIME: &str = "io.cncf.notary.authenticSigningTime";
const SIGNING_TIME: &str = "io.cncf.notary.signingTime";
const PLUGIN: &str = "io.cncf.notary.verificationPlugin";
/// The signing schemes: by the signer's certificate, and by a signing authority with a trusted time.
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

/// A verified envelope: signed with its first certificate, with a chain that meets notation's requirements.
pub(super) struct Envelope {
    pub(super) chain: Vec<Certificate>,
    /// The type of trust store that its anchor must be in.
    pub(super) store: &'static str,
    pub(super) expiry: Option<Timestamp>,
    /// The signing time, if it is trusted.
    pub(super) authentic_time: Option<Timestamp>,
    target: Descriptor,
}

impl Envelope {
    /// Parses an envelope and verifies its signature.
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
        let Some(Value::Object(protected)) =
            decode(&json.protected).and_then(|it| unambiguous::parse(&it))
        else {
            return Err(unreadable("the protected header can't be decoded"));
        };
        let name = protected.get("alg").and_then(Value::as_str).unwrap_or_default();
        let algorithm = Jws::of(name)
            .ok_or_else(|| format!("signature algorithm {name:?} is not supported"))?;
        let message = format!("{}.{}", json.protected, json.payload);
        let signature = decode(&json.signature).ok_or_else(|| unreadable("no signature"))?;
        let key = leaf.key().ok_or("the signing key is of a kind that is not supported")?;
        if key.jws() != Some(algorithm) {
            return Err(format!(
                "mismatch between signature algorithm derived from signing certificate and signing algorithm specified ({name})"
            ));
        }
        if !key.verifies(Scheme::Jws(algorithm), message.as_bytes(), &signature) {
            return Err(
                "signature is invalid. Error: crypto/ecdsa or rsa: verification error".to_owned()
            );
        }
        chain::check(&chain)?;
        let payload = decode(&json.payload).ok_or_else(|| unreadable("payload error"))?;
        Self::of(chain, &protected, &payload)
    }

    /// Reads the signed attributes.
    fn of(
        chain: Vec<Certificate>,
        protected: &Map<String, Value>,
        payload: &[u8],
    ) -> Result<Self, String> {
        let text = |name: &str| protected.get(name).and_then(Value::as_str);
        let scheme = text(SCHEME).unwrap_or_default();
        let mut required = vec![SCHEME];
        let store = match scheme {
            X509 if protected.contains_key(AUTHENTIC_TIME) => {
                return Err(format!(
                    "{AUTHENTIC_TIME:?} header must not be present for {X509} signing scheme"
                ));
            }
            X509 => "ca",
            AUTHORITY if protected.contains_key(SIGNING_TIME) => {
                return Err(format!(
                    "{SIGNING_TIME:?} header must not be present for {AUTHORITY} signing scheme"
                ));
            }
            AUTHORITY => {
                required.push(AUTHENTIC_TIME);
                "signingAuthority"
            }
            other => return Err(format!("unsupported SigningScheme: `{other}`")),
        };
        if protected.contains_key(EXPIRY) {
            required.push(EXPIRY);
        }
        check_critical(protected, &required)?;
        if text("cty") != Some(PAYLOAD) {
            let kind = text("cty").unwrap_or_default();
            return Err(format!("payload content type {kind:?} not supported"));
        }
        let moment = |name: &str| match protected.get(name) {
            None => Ok(None),
            Some(value) => {
                let read = value.as_str().and_then(|text| text.parse::<Timestamp>().ok());
                read.map(Some).ok_or_else(|| format!("{name:?} is no time"))
            }
        };
        let expiry = moment(EXPIRY)?;
        let authentic_time = moment(AUTHENTIC_TIME)?;
        let signed = authentic_time.or(moment(SIGNING_TIME)?).ok_or("signing-time not present")?;
        if expiry.is_some_and(|expiry| expiry <= signed) {
            return Err("expiry cannot be equal or before the signing time".to_owned());
        }
        let unreadable = || "the signed payload cannot be read".to_owned();
        let read = unambiguous::parse(payload).ok_or_else(unreadable)?;
        let target = read.get("targetArtifact").cloned().unwrap_or_default();
        let target = serde_json::from_value(target).map_err(|_| unreadable())?;
        Ok(Self { chain, store, expiry, authentic_time, target })
    }

    /// Whether the signature is of this artifact.
    pub(super) fn is_of(&self, artifact: &Descriptor) -> bool {
        self.target.media_type == artifact.media_type
            && self.target.digest == artifact.digest
            && self.target.size == artifact.size
    }
}

/// Checks that exactly the required headers are critical: an unknown critical one could mean anything, as
/// for notation without its plugin.
fn check_critical(protected: &Map<String, Value>, required: &[&str]) -> Result<(), String> {
    let listed = protected.get("crit").and_then(Value::as_array);
    let critical: Option<Vec<&str>> =
        listed.map_or(Some(Vec::new()), |all| all.iter().map(Value::as_str).collect());
    let critical = critical.ok_or("the list of critical headers has more than names in it")?;
    if let Some(missing) = required.iter().find(|name| !critical.contains(name)) {
        return Err(format!("these required headers are not marked as critical: [{missing}]"));
    }
    if let Some(unknown) = critical.iter().find(|name| !required.contains(name)) {
        return Err(format!("{unknown:?} header is marked critical but is not supported"));
    }
    if critical.len() != required.len() {
        return Err("a header is marked critical twice".to_owned());
    }
    if protected.contains_key(PLUGIN) {
        return Err(format!("{PLUGIN:?} header asks for a plugin, and plugins are not supported"));
    }
    Ok(())
}
