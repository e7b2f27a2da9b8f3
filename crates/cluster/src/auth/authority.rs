//! The keys of a cluster: the certificate authority, the administrator's token, the signer of
//! service account tokens.
//!
//! All come from one secret. By default that is the cluster's seed, so that runs can be compared
//! byte for byte (the root certificate is an object of every namespace); a cluster that others can
//! reach takes its secret from the system.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use ring::digest::{SHA256, digest};
use ring::hmac;
use ring::rand::{SecureRandom as _, SystemRandom};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use serde_json::{Value, json};

use super::User;
use super::jwt::Signer;

/// The issuer of service account tokens, and their default audience.
pub(crate) const ISSUER: &str = "https://kubernetes.default.svc.cluster.local";

/// The PKCS #8 prefix of a 32-byte Ed25519 key.
const PKCS8_HEAD: [u8; 16] = [
    0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20,
];

/// The secret that all keys of a cluster are derived from.
#[derive(Clone)]
pub(crate) struct Secret([u8; 32]);

impl Secret {
    /// The secret of a seed, which is no secret to anybody with the seed.
    pub(crate) fn of_seed(seed: u64) -> Self {
        let mut out = [0; 32];
        out.copy_from_slice(digest(&SHA256, format!("sluice cluster {seed}").as_bytes()).as_ref());
        Self(out)
    }

    /// A random secret.
    pub(crate) fn private() -> Self {
        let mut out = [0; 32];
        SystemRandom::new().fill(&mut out).expect("the system has a source of randomness");
        Self(out)
    }

    /// Derives the key for one purpose.
    fn derive(&self, purpose: &str) -> [u8; 32] {
        let mut out = [0; 32];
        let key = hmac::Key::new(hmac::HMAC_SHA256, &self.0);
        out.copy_from_slice(hmac::sign(&key, purpose.as_bytes()).as_ref());
        out
    }
}

/// The tokens and keys of a cluster.
pub(crate) struct Authority {
    certificates: CertifiedIssuer<'static, KeyPair>,
    root_certificate: String,
    admin_token: String,
    /// Users by the digest of their token, so that timing of a lookup reveals no token.
    tokens: BTreeMap<Vec<u8>, User>,
    pub(super) signer: Signer,
}

impl Authority {
    /// The authority of a secret, with users that have tokens of their own.
    pub(crate) fn new(secret: &Secret, static_tokens: &[(String, User)]) -> Self {
        let certificates = root(&secret.derive("certificate authority"));
        let admin_token = URL_SAFE_NO_PAD.encode(secret.derive("administrator"));
        let mut tokens = BTreeMap::new();
        let admin = (admin_token.clone(), User::admin());
        for (token, user) in std::iter::once(&admin).chain(static_tokens) {
            let mut user = user.clone();
            if !user.is_in(super::AUTHENTICATED) && !user.is_in(super::UNAUTHENTICATED) {
                user.groups.push(super::AUTHENTICATED.to_owned());
            }
            tokens.insert(fingerprint(token), user);
        }
        Self {
            root_certificate: certificates.pem(),
            certificates,
            admin_token,
            tokens,
            signer: Signer::new(&secret.derive("service account tokens")),
        }
    }

    /// The root certificate, as PEM.
    pub(crate) fn root_certificate(&self) -> &str {
        &self.root_certificate
    }

    /// The token of the administrator.
    pub(crate) fn admin_token(&self) -> &str {
        &self.admin_token
    }

    /// The user of a static token.
    pub(super) fn user_of(&self, token: &str) -> Option<&User> {
        self.tokens.get(&fingerprint(token))
    }

    /// A server certificate for `names` with a fresh key.
    pub(crate) fn server_certificate(
        &self,
        names: Vec<String>,
    ) -> Result<(CertificateDer<'static>, PrivateKeyDer<'static>), rcgen::Error> {
        let key = KeyPair::generate()?;
        let mut server = CertificateParams::new(names)?;
        server.distinguished_name.push(DnType::CommonName, "kube-apiserver");
        let certificate = server.signed_by(&key, &self.certificates)?;
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
        Ok((certificate.der().clone(), key))
    }

    /// A signed token with these claims.
    pub(crate) fn sign(&self, claims: &Value) -> String {
        self.signer.sign(claims)
    }

    /// The document at `/.well-known/openid-configuration`.
    pub(crate) fn openid_configuration() -> Value {
        json!({
            "issuer": ISSUER,
            "jwks_uri": format!("{ISSUER}/openid/v1/jwks"),
            "response_types_supported": ["id_token"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": [super::jwt::ALGORITHM],
        })
    }

    /// The document at `/openid/v1/jwks`.
    pub(crate) fn key_set(&self) -> Value {
        json!({"keys": [self.signer.public_key()]})
    }
}

fn fingerprint(token: &str) -> Vec<u8> {
    digest(&SHA256, token.as_bytes()).as_ref().to_vec()
}

/// The certificate authority of a key. Ed25519 signatures are deterministic.
fn root(seed: &[u8; 32]) -> CertifiedIssuer<'static, KeyPair> {
    let key = PrivatePkcs8KeyDer::from([PKCS8_HEAD.as_slice(), seed].concat());
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.distinguished_name.push(DnType::CommonName, "sluice-cluster");
    KeyPair::from_pkcs8_der_and_sign_algo(&key, &rcgen::PKCS_ED25519)
        .and_then(|key| CertifiedIssuer::self_signed(params, key))
        .expect("any 32 bytes are an Ed25519 key, and the parameters are fixed")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_its_keys_and_private_keys_are_always_others() {
        let keys = |secret: &Secret| {
            let authority = Authority::new(secret, &[]);
            (
                authority.root_certificate().to_owned(),
                authority.admin_token().to_owned(),
                authority.key_set().to_string(),
                authority.sign(&json!({"sub": "x"})),
            )
        };
        assert_eq!(keys(&Secret::of_seed(7)), keys(&Secret::of_seed(7)));
        let (seven, eight) = (keys(&Secret::of_seed(7)), keys(&Secret::of_seed(8)));
        let private = [keys(&Secret::private()), keys(&Secret::private())];
        for (one, other) in [(&seven, &eight), (&private[0], &private[1]), (&seven, &private[0])] {
            assert_ne!(one.0, other.0);
            assert_ne!(one.1, other.1);
            assert_ne!(one.2, other.2);
            assert_ne!(one.3, other.3);
        }
    }
}
