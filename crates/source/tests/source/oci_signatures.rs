//! Signatures of artifacts: made here, put into a registry in memory, verified or not.

use std::sync::Arc;

use base64::Engine as _;
use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD};
use jiff::Timestamp;
use rcgen::{
    BasicConstraints, CertificateParams, CustomExtension, DnType, ExtendedKeyUsagePurpose, IsCa,
    Issuer, KeyPair, KeyUsagePurpose, PublicKeyData as _, SanType, SerialNumber, date_time_ymd,
};
use ring::digest::{SHA256, digest};
use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_ASN1_SIGNING, ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair,
    EcdsaSigningAlgorithm,
};
use serde_json::{Value, json};
use sluice_source::artifact::Digest;
use sluice_source::http::HttpOptions;
use sluice_source::oci::cosign::{IdentityMatch, TrustedRoot, verify_keyless, verify_with_key};
use sluice_source::oci::notation::{self, TrustPolicy, Verdict};
use sluice_source::oci::{
    Access, Credentials, Descriptor, Manifest, MemoryRegistry, PublicKey, PullLimits,
    RegistryAccess, RemoteRepository, Repository, TokenRealms, media,
};

const APP: &str = "org/app";

/// A registry with an artifact, and the digest of it.
pub(super) struct Place {
    pub(super) registry: MemoryRegistry,
    pub(super) subject: Descriptor,
}

impl Place {
    pub(super) fn new() -> Self {
        let registry = MemoryRegistry::new();
        let layer = registry.put_blob(APP, media::FLUX_CONTENT, "content");
        let manifest = Manifest { layers: vec![layer], ..Manifest::default() };
        let subject = registry.put_manifest(APP, Some("v1"), &manifest);
        Self { registry, subject }
    }

    pub(super) fn digest(&self) -> Digest {
        self.subject.digest.parse().expect("a digest")
    }

    pub(super) fn remote(&self) -> RemoteRepository {
        let access = RegistryAccess {
            wire: Arc::new(self.registry.clone()),
            connection: HttpOptions::default(),
            credentials: Credentials::default(),
            realms: TokenRealms::default(),
        };
        let repository = Repository::parse("r.test/org/app").expect("a name");
        RemoteRepository::new(access, repository, Access::Pull, PullLimits::default())
    }

    /// Puts a signature beside the artifact, as cosign 2 does.
    fn put_legacy(&self, payload: &str, annotations: &[(&str, String)]) {
        let mut layer = self.registry.put_blob(APP, media::COSIGN_PAYLOAD, payload.to_owned());
        let pairs = annotations.iter().map(|(name, text)| ((*name).to_owned(), text.clone()));
        layer.annotations = Some(pairs.collect());
        let manifest = Manifest { layers: vec![layer], ..Manifest::default() };
        let tag = format!("{}.sig", self.subject.digest.replace(':', "-"));
        self.registry.put_manifest(APP, Some(&tag), &manifest);
    }

    /// Puts something about the artifact.
    pub(super) fn refer(&self, artifact_type: &str, media_type: &str, content: &Value) {
        let layer = self.registry.put_blob(APP, media_type, content.to_string());
        let manifest = Manifest {
            layers: vec![layer],
            artifact_type: Some(artifact_type.to_owned()),
            subject: Some(self.subject.clone()),
            ..Manifest::default()
        };
        self.registry.put_manifest(APP, None, &manifest);
    }

    fn put_bundle(&self, bundle: &Value) {
        let kind = "application/vnd.dev.sigstore.bundle.v0.3+json";
        self.refer(kind, kind, bundle);
    }
}

pub(super) fn sign_with(
    key: &KeyPair,
    how: &'static EcdsaSigningAlgorithm,
    message: &[u8],
) -> Vec<u8> {
    let random = SystemRandom::new();
    let pair = EcdsaKeyPair::from_pkcs8(how, &key.serialize_der(), &random).expect("a key");
    pair.sign(&random, message).expect("signed").as_ref().to_vec()
}

fn sign(key: &KeyPair, message: &[u8]) -> Vec<u8> {
    sign_with(key, &ECDSA_P256_SHA256_ASN1_SIGNING, message)
}

pub(super) fn base64(bytes: &[u8]) -> String {
    BASE64_STANDARD.encode(bytes)
}

pub(super) fn key() -> KeyPair {
    KeyPair::generate().expect("a key")
}

pub(super) fn public(key: &KeyPair) -> PublicKey {
    PublicKey::of_pem(key.public_key_pem().as_bytes()).expect("a key")
}

/// What cosign signs for an artifact.
fn payload(digest: &str) -> String {
    json!({"critical": {"image": {"docker-manifest-digest": digest}}}).to_string()
}

/// A statement about an artifact in an envelope; the statement, the signature and the envelope.
fn envelope(key: &KeyPair, digest: &str) -> (Vec<u8>, Vec<u8>, Value) {
    let hex = digest.trim_start_matches("sha256:");
    let statement = json!({"_type": "x", "subject": [{"name": "", "digest": {"sha256": hex}}]});
    let statement = statement.to_string().into_bytes();
    let kind = "application/vnd.in-toto+json";
    let mut message = format!("DSSEv1 {} {kind} {} ", kind.len(), statement.len()).into_bytes();
    message.extend_from_slice(&statement);
    let signature = sign(key, &message);
    let envelope = json!({
        "payload": base64(&statement), "payloadType": kind, "signatures": [{"sig": base64(&signature)}],
    });
    (statement, signature, envelope)
}

#[tokio::test]
async fn a_key_verifies_its_own_signatures_of_this_artifact_only() {
    let (right, wrong) = (key(), key());
    let other = format!("sha256:{}", "0".repeat(64));
    for (signer, about_other, expected) in
        [(&right, false, true), (&wrong, false, false), (&right, true, false)]
    {
        for as_bundle in [false, true] {
            let place = Place::new();
            let claimed = if about_other { &other } else { &place.subject.digest };
            if as_bundle {
                let (_, _, envelope) = envelope(signer, claimed);
                let material = json!({"publicKey": {"hint": "x"}});
                place.put_bundle(
                    &json!({"verificationMaterial": material, "dsseEnvelope": envelope}),
                );
            } else {
                let text = payload(claimed);
                let signature = base64(&sign(signer, text.as_bytes()));
                place.put_legacy(&text, &[("dev.cosignproject.cosign/signature", signature)]);
            }
            let outcome = verify_with_key(&place.remote(), &place.digest(), &public(&right)).await;
            assert_eq!(outcome.is_ok(), expected, "bundle {as_bundle}: {outcome:?}");
            place.registry.list_referrers(false);
            if as_bundle {
                let outcome =
                    verify_with_key(&place.remote(), &place.digest(), &public(&right)).await;
                assert_eq!(outcome.expect_err("gone").to_string(), "no signatures found");
            }
        }
    }
}

#[test]
fn what_is_no_key_is_refused() {
    for (text, message) in [
        ("", "PEM decoding failed"),
        (
            "-----BEGIN X-----\nYQ==\n-----END X-----",
            "unknown Public key PEM file type: X. Are you passing the correct public key?",
        ),
        (
            "-----BEGIN PUBLIC KEY-----\nYQ==\n-----END PUBLIC KEY-----",
            "unsupported public key type",
        ),
    ] {
        assert_eq!(PublicKey::of_pem(text.as_bytes()).expect_err("none").to_string(), message);
    }
}

/// The parties of keyless signing: an authority, a log of certificates and one of
/// signatures.
struct Sigstore {
    root: (CertificateParams, KeyPair),
    certificates: KeyPair,
    signatures: KeyPair,
}

const SUBJECT: &str = "ada@git.test";
const ISSUER: &str = "https://accounts.test";
/// 2026-01-01, in the middle of the leaf's two days.
const SIGNED_AT: i64 = 1_767_225_600;

/// Spoils one thing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Flaw {
    None,
    OtherAuthority,
    OtherCertificateLog,
    NoCertificateLog,
    OtherSignatureLog,
    WrongTime,
    OtherSignature,
    OtherArtifact,
    Proof,
    Expired,
}

impl Sigstore {
    fn new() -> Self {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, "authority");
        params.not_before = date_time_ymd(2020, 1, 1);
        params.not_after = date_time_ymd(2040, 1, 1);
        Self { root: (params, key()), certificates: key(), signatures: key() }
    }

    fn authority(&self) -> Vec<u8> {
        self.root.0.self_signed(&self.root.1).expect("signed").der().to_vec()
    }

    fn log_id(key: &KeyPair) -> Vec<u8> {
        digest(&SHA256, &key.subject_public_key_info()).as_ref().to_vec()
    }

    fn trusted(&self) -> TrustedRoot {
        let log = |key: &KeyPair| {
            json!({
                "baseUrl": "https://log.test", "hashAlgorithm": "SHA2_256",
                "publicKey": {"rawBytes": base64(&key.subject_public_key_info()), "keyDetails": "PKIX_ECDSA_P256_SHA_256",
                    "validFor": {"start": "2021-01-12T11:53:27Z"}},
                "logId": {"keyId": base64(&Self::log_id(key))},
            })
        };
        let document = json!({
            "mediaType": "application/vnd.dev.sigstore.trustedroot+json;version=0.1",
            "tlogs": [log(&self.signatures)], "ctlogs": [log(&self.certificates)],
            "certificateAuthorities": [{
                "certChain": {"certificates": [{"rawBytes": base64(&self.authority())}]},
                "validFor": {"start": "2021-01-12T11:53:27Z"},
            }],
        });
        TrustedRoot::parse(document.to_string().as_bytes()).expect("a root")
    }

    /// A certificate for a signer, with what the log of certificates says of it.
    fn issue(&self, signer: &KeyPair, flaw: Flaw) -> Vec<u8> {
        let mut params = CertificateParams::default();
        params.serial_number = Some(SerialNumber::from(7));
        params.not_before = date_time_ymd(2025, 12, if flaw == Flaw::Expired { 1 } else { 31 });
        params.not_after = if flaw == Flaw::Expired {
            date_time_ymd(2025, 12, 2)
        } else {
            date_time_ymd(2026, 1, 2)
        };
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::CodeSigning];
        params.subject_alt_names = vec![SanType::Rfc822Name(SUBJECT.try_into().expect("ASCII"))];
        let mut issuer = vec![0x0c, u8::try_from(ISSUER.len()).expect("short")];
        issuer.extend_from_slice(ISSUER.as_bytes());
        let oid = [1, 3, 6, 1, 4, 1, 57264, 1, 8];
        params.custom_extensions = vec![CustomExtension::from_oid_content(&oid, issuer)];
        let by = if flaw == Flaw::OtherAuthority {
            Self::new().root
        } else {
            (self.root.0.clone(), KeyPair::from_pem(&self.root.1.serialize_pem()).expect("a key"))
        };
        let spki = by.1.subject_public_key_info();
        let by = Issuer::new(by.0, by.1);
        if flaw == Flaw::NoCertificateLog {
            return params.signed_by(signer, &by).expect("signed").der().to_vec();
        }
        let before = params.signed_by(signer, &by).expect("signed");
        let signed = first_inside(before.der());
        let mut message = vec![0, 0];
        let milliseconds = (SIGNED_AT * 1000).to_be_bytes();
        message.extend_from_slice(&milliseconds);
        message.extend_from_slice(&[0, 1]);
        message.extend_from_slice(digest(&SHA256, &spki).as_ref());
        message.extend_from_slice(&u32::try_from(signed.len()).expect("short").to_be_bytes()[1..]);
        message.extend_from_slice(signed);
        message.extend_from_slice(&[0, 0]);
        let stranger = key();
        let log = if flaw == Flaw::OtherCertificateLog { &stranger } else { &self.certificates };
        let signature = sign(log, &message);
        let mut stamp = vec![0];
        stamp.extend(Self::log_id(&self.certificates));
        stamp.extend_from_slice(&milliseconds);
        stamp.extend_from_slice(&[0, 0, 4, 3]);
        stamp.extend_from_slice(&u16::try_from(signature.len()).expect("short").to_be_bytes());
        stamp.extend(signature);
        let length = u16::try_from(stamp.len()).expect("short");
        let mut list = (length + 2).to_be_bytes().to_vec();
        list.extend_from_slice(&length.to_be_bytes());
        list.extend(stamp);
        let mut wrapped = vec![0x04, 0x81, u8::try_from(list.len()).expect("short")];
        if list.len() < 0x80 {
            wrapped.remove(1);
        }
        wrapped.extend(list);
        let oid = [1, 3, 6, 1, 4, 1, 11129, 2, 4, 2];
        params.custom_extensions.push(CustomExtension::from_oid_content(&oid, wrapped));
        params.signed_by(signer, &by).expect("signed").der().to_vec()
    }

    /// What the log of signatures says of an entry: its promise.
    fn promise(&self, body: &str, flaw: Flaw) -> Vec<u8> {
        let time = if flaw == Flaw::WrongTime { SIGNED_AT + 1 } else { SIGNED_AT };
        let said = json!({
            "body": base64(body.as_bytes()), "integratedTime": time,
            "logID": hex(&Self::log_id(&self.signatures)), "logIndex": 1,
        });
        let stranger = key();
        let log = if flaw == Flaw::OtherSignatureLog { &stranger } else { &self.signatures };
        sign(log, said.to_string().as_bytes())
    }

    /// Signs an artifact as cosign 2 does, and puts it beside it.
    fn sign_legacy(&self, place: &Place, flaw: Flaw) {
        let signer = key();
        let certificate = pem(&self.issue(&signer, flaw));
        let other = format!("sha256:{}", "0".repeat(64));
        let text =
            payload(if flaw == Flaw::OtherArtifact { &other } else { &place.subject.digest });
        let signature = sign(&signer, text.as_bytes());
        let logged =
            if flaw == Flaw::OtherSignature { sign(&signer, b"x") } else { signature.clone() };
        let body = json!({"apiVersion": "0.0.1", "kind": "hashedrekord", "spec": {
            "data": {"hash": {"algorithm": "sha256", "value": hex(digest(&SHA256, text.as_bytes()).as_ref())}},
            "signature": {"content": base64(&logged), "publicKey": {"content": base64(certificate.as_bytes())}},
        }}).to_string();
        let bundle = json!({
            "SignedEntryTimestamp": base64(&self.promise(&body, flaw)),
            "Payload": {"body": base64(body.as_bytes()), "integratedTime": SIGNED_AT, "logIndex": 1,
                "logID": hex(&Self::log_id(&self.signatures))},
        });
        place.put_legacy(
            &text,
            &[
                ("dev.cosignproject.cosign/signature", base64(&signature)),
                ("dev.sigstore.cosign/certificate", certificate),
                ("dev.sigstore.cosign/bundle", bundle.to_string()),
            ],
        );
    }

    /// Signs an artifact as cosign 3 does, and lets it refer to it.
    fn sign_bundle(&self, place: &Place, flaw: Flaw) {
        let signer = key();
        let certificate = self.issue(&signer, flaw);
        let other = format!("sha256:{}", "0".repeat(64));
        let about = if flaw == Flaw::OtherArtifact { &other } else { &place.subject.digest };
        let (statement, signature, envelope) = envelope(&signer, about);
        let logged = if flaw == Flaw::OtherSignature { sign(&signer, b"x") } else { signature };
        let body = json!({"apiVersion": "0.0.1", "kind": "dsse", "spec": {
            "payloadHash": {"algorithm": "sha256", "value": hex(digest(&SHA256, &statement).as_ref())},
            "signatures": [{"signature": base64(&logged), "verifier": base64(pem(&certificate).as_bytes())}],
        }}).to_string();
        // A tree of two: the entry is the second leaf.
        let neighbour = digest(&SHA256, b"neighbour").as_ref().to_vec();
        let leaf = digest(&SHA256, &[&[0], body.as_bytes()].concat()).as_ref().to_vec();
        let root = digest(&SHA256, &[&[1][..], &neighbour, &leaf].concat()).as_ref().to_vec();
        let note = format!("log.test - 1\n2\n{}\n", base64(&root));
        let mut signed = vec![0; 4];
        signed.extend(sign(&self.signatures, note.as_bytes()));
        let shown =
            if flaw == Flaw::Proof { digest(&SHA256, b"x").as_ref().to_vec() } else { neighbour };
        let entry = json!({
            "logIndex": "1", "logId": {"keyId": base64(&Self::log_id(&self.signatures))},
            "kindVersion": {"kind": "dsse", "version": "0.0.1"}, "integratedTime": SIGNED_AT.to_string(),
            "inclusionPromise": {"signedEntryTimestamp": base64(&self.promise(&body, flaw))},
            "inclusionProof": {"logIndex": "1", "treeSize": "2", "rootHash": base64(&root),
                "hashes": [base64(&shown)],
                "checkpoint": {"envelope": format!("{note}\n\u{2014} log.test {}\n", base64(&signed))}},
            "canonicalizedBody": base64(body.as_bytes()),
        });
        place.put_bundle(&json!({
            "mediaType": "application/vnd.dev.sigstore.bundle.v0.3+json",
            "verificationMaterial": {"certificate": {"rawBytes": base64(&certificate)}, "tlogEntries": [entry]},
            "dsseEnvelope": envelope,
        }));
    }
}

fn pem(der: &[u8]) -> String {
    format!("-----BEGIN CERTIFICATE-----\n{}\n-----END CERTIFICATE-----\n", base64(der))
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    let mut out = String::new();
    for byte in bytes {
        write!(out, "{byte:02x}").expect("memory takes it");
    }
    out
}

/// The first value inside a value of DER, with its head.
fn first_inside(der: &[u8]) -> &[u8] {
    let head = |bytes: &[u8]| match bytes[1] {
        0x82 => (4, usize::from(bytes[2]) << 8 | usize::from(bytes[3])),
        0x81 => (3, usize::from(bytes[2])),
        length => (2, usize::from(length)),
    };
    let inside = &der[head(der).0..];
    let (start, length) = head(inside);
    &inside[..start + length]
}

fn identity(issuer: &str, subject: &str) -> IdentityMatch {
    IdentityMatch { issuer: issuer.to_owned(), subject: subject.to_owned() }
}

#[tokio::test]
async fn an_identity_is_verified_offline_and_every_flaw_is_seen() {
    let sigstore = Sigstore::new();
    let wanted = [identity("^https://accounts\\.test$", "@git\\.test$")];
    for as_bundle in [false, true] {
        for (flaw, expected) in [
            (Flaw::None, ""),
            (
                Flaw::OtherAuthority,
                "leaf certificate verification failed: cert verification failed",
            ),
            (Flaw::OtherCertificateLog, "unable to verify embedded SCT"),
            (Flaw::NoCertificateLog, "certificate does not include required embedded SCT"),
            (Flaw::OtherSignatureLog, "unable to verify SET"),
            (Flaw::WrongTime, "unable to verify SET"),
            (Flaw::OtherSignature, "signature in bundle does not match signature being verified"),
            (
                Flaw::OtherArtifact,
                if as_bundle {
                    "does not match any digest in statement"
                } else {
                    "invalid or missing digest in claim"
                },
            ),
            (Flaw::Proof, if as_bundle { "does not lead to its root" } else { "" }),
            (Flaw::Expired, "cert verification failed"),
        ] {
            let place = Place::new();
            if as_bundle {
                sigstore.sign_bundle(&place, flaw);
            } else {
                sigstore.sign_legacy(&place, flaw);
            }
            let outcome =
                verify_keyless(&place.remote(), &place.digest(), &sigstore.trusted(), &wanted)
                    .await;
            let said = outcome.err().map(|error| error.to_string()).unwrap_or_default();
            assert!(
                said.contains(expected) && said.is_empty() == expected.is_empty(),
                "{flaw:?}, bundle {as_bundle}: {said}"
            );
        }
    }
}

#[tokio::test]
async fn only_wanted_identities_count() {
    let sigstore = Sigstore::new();
    let place = Place::new();
    sigstore.sign_bundle(&place, Flaw::None);
    for (wanted, expected) in [
        (vec![], true),
        (vec![identity("x", "y"), identity("accounts", "ada")], true),
        (vec![identity("accounts", "bob")], false),
        (vec![identity("other", "ada")], false),
    ] {
        let outcome =
            verify_keyless(&place.remote(), &place.digest(), &sigstore.trusted(), &wanted).await;
        assert_eq!(outcome.is_ok(), expected, "{wanted:?}: {outcome:?}");
        if let Err(error) = outcome {
            assert_eq!(
                error.to_string(),
                format!(
                    "no matching attestations: none of the expected identities matched what was in the certificate, got subjects [{SUBJECT}] with issuer {ISSUER}"
                )
            );
        }
    }
    let strangers = Sigstore::new().trusted();
    assert!(verify_keyless(&place.remote(), &place.digest(), &strangers, &[]).await.is_err());
}

/// Signs an artifact as notation does: a chain of a root and a leaf, an envelope of JWS.
struct Notation {
    root: (CertificateParams, KeyPair),
    /// Made once: each time it would be another.
    certificate: rcgen::Certificate,
}

impl Notation {
    fn new() -> Self {
        let mut root = Sigstore::new().root;
        root.0.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        let certificate = root.0.self_signed(&root.1).expect("signed");
        Self { root, certificate }
    }

    fn root_pem(&self) -> String {
        self.certificate.pem()
    }

    fn sign(&self, place: &Place, target: &Value, header: &[(&str, Value)]) {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, "signer");
        params.distinguished_name.push(DnType::OrganizationName, "acme");
        params.distinguished_name.push(DnType::CountryName, "US");
        params.distinguished_name.push(DnType::StateOrProvinceName, "WA");
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::CodeSigning];
        params.not_before = date_time_ymd(2025, 1, 1);
        params.not_after = date_time_ymd(2027, 1, 1);
        let signer = key();
        let root_key = KeyPair::from_pem(&self.root.1.serialize_pem()).expect("a key");
        let by = Issuer::new(self.root.0.clone(), root_key);
        let leaf = params.signed_by(&signer, &by).expect("signed");
        let root = &self.certificate;
        let mut protected = json!({
            "alg": "ES256", "cty": "application/vnd.cncf.notary.payload.v1+json",
            "crit": ["io.cncf.notary.signingScheme"], "io.cncf.notary.signingScheme": "notary.x509",
            "io.cncf.notary.signingTime": "2026-01-01T00:00:00Z",
        });
        for (name, value) in header {
            protected[*name] = value.clone();
        }
        let protected = BASE64_URL_SAFE_NO_PAD.encode(protected.to_string());
        let payload = json!({"targetArtifact": target}).to_string();
        let payload = BASE64_URL_SAFE_NO_PAD.encode(payload);
        let message = format!("{protected}.{payload}");
        let signature = sign_with(&signer, &ECDSA_P256_SHA256_FIXED_SIGNING, message.as_bytes());
        place.refer(media::NOTATION_SIGNATURE, "application/jose+json", &json!({
            "payload": payload, "protected": protected, "signature": BASE64_URL_SAFE_NO_PAD.encode(signature),
            "header": {"x5c": [base64(leaf.der()), base64(root.der())]},
        }));
    }
}

fn policy(level: &str, identities: &[&str]) -> TrustPolicy {
    let document = json!({"version": "1.0", "trustPolicies": [{
        "name": "test", "registryScopes": ["*"], "trustStores": ["ca:store"],
        "signatureVerification": {"level": level}, "trustedIdentities": identities,
    }]});
    TrustPolicy::parse(document.to_string().as_bytes()).expect("a policy")
}

#[tokio::test]
async fn notation_is_as_strict_as_its_policy() {
    let (notation, stranger) = (Notation::new(), Notation::new());
    let now = |text: &str| text.parse::<Timestamp>().expect("a moment");
    let (today, later) = (now("2026-02-01T00:00:00Z"), now("2030-01-01T00:00:00Z"));
    let expired = [
        ("crit", json!(["io.cncf.notary.signingScheme", "io.cncf.notary.expiry"])),
        ("io.cncf.notary.expiry", json!("2026-01-15T00:00:00Z")),
    ];
    let critical =
        [("crit", json!(["io.cncf.notary.signingScheme", "unknown"])), ("unknown", json!(1))];
    let all = &["*"][..];
    let named = &["x509.subject: C=US, ST=WA, O=acme"][..];
    let misnamed = &["x509.subject: C=US, ST=WA, O=other"][..];
    for (store, header, level, identities, at, expected) in [
        (&notation, &[][..], "strict", all, today, Ok(Verdict::Verified)),
        (&notation, &[], "strict", named, today, Ok(Verdict::Verified)),
        (
            &notation,
            &[],
            "strict",
            misnamed,
            today,
            Err("does not match the X.509 trusted identities"),
        ),
        (&notation, &[], "audit", misnamed, today, Ok(Verdict::Ignored)),
        (&stranger, &[], "strict", all, today, Err("does not contain any trusted certificate")),
        (&stranger, &[], "audit", all, today, Ok(Verdict::Ignored)),
        (&notation, &[], "strict", all, later, Err("outside of a certificate's validity period")),
        (&notation, &[], "permissive", all, later, Ok(Verdict::Verified)),
        (&notation, &expired[..], "strict", all, today, Err("digital signature has expired on")),
        (&notation, &expired[..], "permissive", all, today, Ok(Verdict::Verified)),
        (
            &notation,
            &critical[..],
            "audit",
            all,
            today,
            Err("is marked critical but is not supported"),
        ),
        (&notation, &[], "skip", all, today, Ok(Verdict::Ignored)),
    ] {
        let place = Place::new();
        let target = json!({"mediaType": media::MANIFEST, "digest": place.subject.digest, "size": place.subject.size});
        notation.sign(&place, &target, header);
        let pem = store.root_pem();
        let policy = policy(level, identities);
        let outcome =
            notation::verify(&place.remote(), &place.digest(), &policy, &[pem.as_bytes()], at)
                .await;
        match (&outcome, expected) {
            (Ok(verdict), Ok(expected)) => assert_eq!(*verdict, expected),
            (Err(error), Err(expected)) => assert!(error.to_string().contains(expected), "{error}"),
            _ => panic!("{level} {identities:?}: {outcome:?} and not {expected:?}"),
        }
    }
}

#[tokio::test]
async fn notation_looks_at_what_was_signed() {
    let notation = Notation::new();
    let place = Place::new();
    let (pem, policy) = (notation.root_pem(), policy("strict", &["*"]));
    let at = "2026-02-01T00:00:00Z".parse().expect("a moment");
    let remote = place.remote();
    let check = async || {
        let digest = place.digest();
        let outcome = notation::verify(&remote, &digest, &policy, &[pem.as_bytes()], at).await;
        outcome.map_err(|error| error.to_string())
    };
    let unsigned = check().await.expect_err("unsigned");
    assert!(
        unsigned.starts_with("no signature is associated with \"r.test/org/app@sha256:"),
        "{unsigned}"
    );
    let other = json!({"mediaType": media::MANIFEST, "digest": format!("sha256:{}", "0".repeat(64)), "size": 1});
    notation.sign(&place, &other, &[]);
    let mismatch = check().await.expect_err("another artifact");
    assert!(mismatch.ends_with("content descriptor mismatch"), "{mismatch}");
    let target = json!({"mediaType": media::MANIFEST, "digest": place.subject.digest, "size": place.subject.size});
    notation.sign(&place, &target, &[]);
    assert_eq!(check().await, Ok(Verdict::Verified));
}
