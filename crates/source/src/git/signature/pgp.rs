//! PGP signatures of documents, by a primary key or a signing subkey that is neither revoked nor expired. Accepts
//! what go-crypto accepts, except text signatures, which git does not make.

use jiff::Timestamp;
use pgp::composed::{Deserializable as _, DetachedSignature, SignedPublicKey, SignedPublicSubKey};
use pgp::crypto::hash::HashAlgorithm;
use pgp::packet::{Signature, SignatureConfig, SignatureType, SubpacketData};
use pgp::types::{KeyDetails, Tag, VerifyingKey};

const NO_KEY: &str = "unable to verify payload with any of the given key rings: no matching key";

/// The id of the signing key, if its key ring is trusted.
pub(super) fn verify(
    signature: &str,
    payload: &[u8],
    rings: &[String],
    now: Timestamp,
) -> Result<String, String> {
    let mut unread = None;
    let mut is_read = false;
    for ring in rings {
        let keys = match parse(ring) {
            Ok(keys) => keys,
            Err(error) => {
                unread.get_or_insert(error);
                continue;
            }
        };
        is_read = true;
        let signature = only_signature(signature)?;
        if let Some(problem) = unusable(&signature.signature, now) {
            return Err(format!("{NO_KEY}: {problem}"));
        }
        for key in keys {
            if has_signed(&key, &signature, payload, now) {
                return Ok(
                    crate::artifact::hex(key.primary_key.legacy_key_id().as_ref()).to_uppercase()
                );
            }
        }
    }
    match unread {
        Some(error) if !is_read => Err(error),
        _ => Err(NO_KEY.to_owned()),
    }
}

/// The signature of a block. Several are an error, as in git: readers could pick different ones.
fn only_signature(text: &str) -> Result<DetachedSignature, String> {
    let Ok((mut found, _)) = DetachedSignature::from_string_many(text) else {
        return Err(NO_KEY.to_owned());
    };
    match (found.next(), found.next()) {
        (Some(Ok(signature)), None) => Ok(signature),
        (Some(_), Some(_)) => Err(format!("{NO_KEY}: more than one signature in a block")),
        _ => Err(NO_KEY.to_owned()),
    }
}

/// Why a signature is invalid for any key.
fn unusable(signature: &Signature, now: Timestamp) -> Option<&'static str> {
    // The library hashes less than the document for some of the other types.
    if signature.typ() != Some(SignatureType::Binary) {
        return Some("the signature is not of a binary document");
    }
    let is_strong = matches!(
        signature.hash_alg(),
        // SHA-1 is accepted as in Flux: the library detects collisions.
        Some(
            HashAlgorithm::Sha1
                | HashAlgorithm::Sha224
                | HashAlgorithm::Sha256
                | HashAlgorithm::Sha384
                | HashAlgorithm::Sha512
                | HashAlgorithm::Sha3_256
                | HashAlgorithm::Sha3_512
        )
    );
    if !is_strong {
        return Some("the signature has an unsupported hash function");
    }
    if !is_in_force(signature, now) {
        return Some("the signature is expired or of the future");
    }
    None
}

fn parse(ring: &str) -> Result<Vec<SignedPublicKey>, String> {
    let failed = |error: pgp::errors::Error| format!("unable to read armored key ring: {error}");
    if !ring.contains("-----BEGIN PGP") {
        return Err(
            "unable to read armored key ring: openpgp: invalid argument: no armored data found"
                .to_owned(),
        );
    }
    let (keys, _) = SignedPublicKey::from_string_many(ring.trim()).map_err(failed)?;
    let keys = keys.collect::<Result<Vec<_>, _>>().map_err(failed)?;
    if keys.is_empty() {
        return Err("unable to read armored key ring: no key found".to_owned());
    }
    Ok(keys)
}

fn has_signed(
    key: &SignedPublicKey,
    signature: &DetachedSignature,
    payload: &[u8],
    now: Timestamp,
) -> bool {
    let primary = &key.primary_key;
    let revoked = &key.details.revocation_signatures;
    if revoked.iter().any(|revocation| revocation.verify_key(primary).is_ok()) {
        return false;
    }
    let Some(own) = own_signature(key) else { return false };
    if outlived(primary, own, now) || !is_in_force(own, now) {
        return false;
    }
    let made = |by: &dyn KeyAge| by.born() <= seconds(signature.signature.created());
    if is_issuer(signature, primary) {
        return may_sign(own) && made(primary) && signature.verify(primary, payload).is_ok();
    }
    key.public_subkeys.iter().any(|subkey| {
        is_issuer(signature, &subkey.key)
            && is_usable(subkey, primary, now)
            && made(&subkey.key)
            && signature.verify(&subkey.key, payload).is_ok()
    })
}

/// The latest self-signature of the key, except those about revoked users.
fn own_signature(key: &SignedPublicKey) -> Option<&Signature> {
    let primary = &key.primary_key;
    let about_users = key.details.users.iter().flat_map(|user| {
        let is_own = |signature: &&Signature| {
            signature.verify_certification(primary, Tag::UserId, &user.id).is_ok()
        };
        let is_revocation =
            |signature: &&Signature| signature.typ() == Some(SignatureType::CertRevocation);
        let own: Vec<&Signature> = user.signatures.iter().filter(is_own).collect();
        if own.iter().any(is_revocation) { Vec::new() } else { own }
    });
    let direct = key.details.direct_signatures.iter();
    let direct = direct.filter(|signature| signature.verify_key(primary).is_ok());
    about_users.chain(direct).max_by_key(|signature| signature.created())
}

fn is_usable<V>(subkey: &SignedPublicSubKey, primary: &V, now: Timestamp) -> bool
where
    V: VerifyingKey + pgp::ser::Serialize,
{
    let is_binding = |signature: &&Signature| signature.typ() == Some(SignatureType::SubkeyBinding);
    // A revoked subkey has another kind of signature among its bindings.
    if subkey.signatures.iter().any(|signature| !is_binding(&signature)) {
        return false;
    }
    let latest = subkey.signatures.iter().max_by_key(|signature| signature.created());
    subkey.verify_bindings(primary).is_ok()
        && latest.is_some_and(|binding| {
            may_sign(binding) && !outlived(&subkey.key, binding, now) && is_in_force(binding, now)
        })
}

/// A key without key flags may not sign, as in Flux.
fn may_sign(binding: &Signature) -> bool {
    binding.key_flags().sign()
}

fn is_issuer(signature: &DetachedSignature, key: &impl KeyDetails) -> bool {
    let ids = signature.signature.issuer_key_id();
    let prints = signature.signature.issuer_fingerprint();
    ids.contains(&&key.legacy_key_id()) || prints.contains(&&key.fingerprint())
}

/// The creation time of a key.
trait KeyAge {
    fn born(&self) -> i64;
}

impl<K: KeyDetails> KeyAge for K {
    fn born(&self) -> i64 {
        i64::from(self.created_at().as_secs())
    }
}

/// Whether a key is expired, or created in the future.
fn outlived(key: &impl KeyDetails, own: &Signature, now: Timestamp) -> bool {
    let born = key.born();
    let life = own.key_expiration_time().map_or(0, |life| i64::from(life.as_secs()));
    born > now.as_second() || (life > 0 && born + life < now.as_second())
}

/// Whether a signature is neither from the future nor expired, and has no unknown critical subpacket.
fn is_in_force(signature: &Signature, now: Timestamp) -> bool {
    let made = seconds(signature.created());
    let life = signature.signature_expiration_time().map_or(0, |life| i64::from(life.as_secs()));
    let is_expired = life > 0 && made + life < now.as_second();
    let is_known = |data: &SubpacketData| {
        !matches!(
            data,
            SubpacketData::Notation(_) | SubpacketData::Experimental(..) | SubpacketData::Other(..)
        )
    };
    let config = signature.config();
    let mut conditions = config.into_iter().flat_map(SignatureConfig::hashed_subpackets);
    let is_unconditional = conditions.all(|part| !part.is_critical || is_known(&part.data));
    made <= now.as_second() && !is_expired && is_unconditional
}

fn seconds(time: Option<pgp::types::Timestamp>) -> i64 {
    time.map_or(0, |time| i64::from(time.as_secs()))
}
