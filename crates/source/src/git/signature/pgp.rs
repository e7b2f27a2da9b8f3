//! Signatures by PGP keys: the primary key or a subkey that may sign, neither revoked nor expired.

use jiff::Timestamp;
use pgp::composed::{Deserializable as _, DetachedSignature, SignedPublicKey, SignedPublicSubKey};
use pgp::packet::{KeyFlags, Signature, SignatureType};
use pgp::types::{KeyDetails, Tag, VerifyingKey};

/// The id of the key that signed, if its ring is one of the given.
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
        let Ok((signature, _)) = DetachedSignature::from_string(signature) else { continue };
        if is_expired(&signature.signature, now) {
            continue;
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
        _ => {
            Err("unable to verify payload with any of the given key rings: no matching key"
                .to_owned())
        }
    }
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
    if outlived(primary, own, now) {
        return false;
    }
    if is_issuer(signature, primary) {
        return may_sign(own) && signature.verify(primary, payload).is_ok();
    }
    key.public_subkeys.iter().any(|subkey| {
        is_issuer(signature, &subkey.key)
            && is_usable(subkey, primary, now)
            && signature.verify(&subkey.key, payload).is_ok()
    })
}

/// The latest signature that the key made about itself.
fn own_signature(key: &SignedPublicKey) -> Option<&Signature> {
    let primary = &key.primary_key;
    let about_users = key.details.users.iter().flat_map(|user| {
        let is_own = |signature: &&Signature| {
            signature.typ() != Some(SignatureType::CertRevocation)
                && signature.verify_certification(primary, Tag::UserId, &user.id).is_ok()
        };
        user.signatures.iter().filter(is_own)
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
        && latest.is_some_and(|binding| may_sign(binding) && !outlived(&subkey.key, binding, now))
}

/// A key that says nothing of what it is for may sign.
fn may_sign(binding: &Signature) -> bool {
    let flags = binding.key_flags();
    flags.sign() || flags == KeyFlags::default()
}

fn is_issuer(signature: &DetachedSignature, key: &impl KeyDetails) -> bool {
    let ids = signature.signature.issuer_key_id();
    let prints = signature.signature.issuer_fingerprint();
    ids.contains(&&key.legacy_key_id()) || prints.contains(&&key.fingerprint())
}

/// Whether a key is older than its owner wanted it to become.
fn outlived(key: &impl KeyDetails, own: &Signature, now: Timestamp) -> bool {
    let born = i64::from(key.created_at().as_secs());
    let life = own.key_expiration_time().map_or(0, |life| i64::from(life.as_secs()));
    born > now.as_second() || (life > 0 && born + life < now.as_second())
}

fn is_expired(signature: &Signature, now: Timestamp) -> bool {
    let made = signature.created().map_or(0, |made| i64::from(made.as_secs()));
    let life = signature.signature_expiration_time().map_or(0, |life| i64::from(life.as_secs()));
    life > 0 && made + life < now.as_second()
}
