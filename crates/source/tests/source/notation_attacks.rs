//! Attacks on signatures by notation: chains, headers and policies that must not pass.

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use jiff::Timestamp;
use rcgen::{
    BasicConstraints, CertificateParams, CustomExtension, DistinguishedName, DnType,
    ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, KeyUsagePurpose, date_time_ymd,
};
use ring::signature::ECDSA_P256_SHA256_FIXED_SIGNING;
use serde_json::{Value, json};
use sluice_source::oci::media;
use sluice_source::oci::notation::{self, TrustPolicy, Verdict};

use super::oci_signatures::{Place, base64, key, sign_with};

const SCHEME: &str = "io.cncf.notary.signingScheme";
const EXPIRY: &str = "io.cncf.notary.expiry";
const AUTHENTIC_TIME: &str = "io.cncf.notary.authenticSigningTime";
const SIGNING_TIME: &str = "io.cncf.notary.signingTime";
const TODAY: &str = "2026-02-01T00:00:00Z";

/// A certificate and its key.
struct Party {
    params: CertificateParams,
    key: KeyPair,
    der: Vec<u8>,
    pem: String,
}

/// Changes a certificate before it is signed.
type Change<'a> = &'a dyn Fn(&mut CertificateParams);

fn params(name: &str) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name = DistinguishedName::new();
    for (kind, value) in [
        (DnType::CommonName, name),
        (DnType::OrganizationName, "acme"),
        (DnType::CountryName, "US"),
        (DnType::StateOrProvinceName, "WA"),
    ] {
        params.distinguished_name.push(kind, value);
    }
    params.not_before = date_time_ymd(2025, 1, 1);
    params.not_after = date_time_ymd(2027, 1, 1);
    params
}

fn authority(params: &mut CertificateParams) {
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
}

fn signing(params: &mut CertificateParams) {
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::CodeSigning];
}

fn as_is(_: &mut CertificateParams) {}

impl Party {
    fn alone(params: CertificateParams) -> Self {
        let key = key();
        let made = params.self_signed(&key).expect("signed");
        Self { params, key, der: made.der().to_vec(), pem: made.pem() }
    }

    fn root(name: &str, change: Change<'_>) -> Self {
        let mut params = params(name);
        authority(&mut params);
        change(&mut params);
        Self::alone(params)
    }

    fn issue(&self, params: CertificateParams) -> Self {
        let own = KeyPair::from_pem(&self.key.serialize_pem()).expect("a key");
        let by = Issuer::new(self.params.clone(), own);
        let key = key();
        let made = params.signed_by(&key, &by).expect("signed");
        Self { params, key, der: made.der().to_vec(), pem: made.pem() }
    }

    fn authority(&self, name: &str) -> Self {
        let mut params = params(name);
        authority(&mut params);
        self.issue(params)
    }

    fn leaf(&self, change: Change<'_>) -> Self {
        let mut params = params("signer");
        signing(&mut params);
        change(&mut params);
        self.issue(params)
    }
}

/// An envelope as it is signed; every part can be forged.
struct Forgery<'a> {
    signer: &'a Party,
    chain: Vec<&'a Party>,
    protected: String,
    payload: Option<String>,
    unprotected: Value,
}

impl<'a> Forgery<'a> {
    fn new(chain: &[&'a Party], header: &[(&str, Value)]) -> Self {
        let mut protected = json!({
            "alg": "ES256", "cty": "application/vnd.cncf.notary.payload.v1+json",
            "crit": [SCHEME], SCHEME: "notary.x509", SIGNING_TIME: "2026-01-01T00:00:00Z",
        });
        for (name, value) in header {
            protected[*name] = value.clone();
            if value.is_null() {
                protected.as_object_mut().expect("an object").remove(*name);
            }
        }
        Self {
            signer: chain[0],
            chain: chain.to_vec(),
            protected: protected.to_string(),
            payload: None,
            unprotected: json!({}),
        }
    }

    fn put(self, place: &Place) {
        let subject = &place.subject;
        let payload = self.payload.unwrap_or_else(|| {
            json!({"targetArtifact": {
                "mediaType": media::MANIFEST, "digest": subject.digest, "size": subject.size,
            }})
            .to_string()
        });
        let protected = BASE64_URL_SAFE_NO_PAD.encode(self.protected);
        let payload = BASE64_URL_SAFE_NO_PAD.encode(payload);
        let message = format!("{protected}.{payload}");
        let key = &self.signer.key;
        let signature = sign_with(key, &ECDSA_P256_SHA256_FIXED_SIGNING, message.as_bytes());
        let mut header = self.unprotected;
        let chain: Vec<String> = self.chain.iter().map(|it| base64(&it.der)).collect();
        header["x5c"] = json!(chain);
        let envelope = json!({
            "payload": payload, "protected": protected, "header": header,
            "signature": BASE64_URL_SAFE_NO_PAD.encode(signature),
        });
        place.refer(media::NOTATION_SIGNATURE, "application/jose+json", &envelope);
    }
}

/// A trust policy at level `strict`.
fn policy(stores: &[&str], identities: &[&str], changed: &Value) -> TrustPolicy {
    let document = json!({"version": "1.0", "trustPolicies": [{
        "name": "test", "registryScopes": ["*"], "trustStores": stores,
        "signatureVerification": {"level": "strict", "override": changed},
        "trustedIdentities": identities,
    }]});
    TrustPolicy::parse(document.to_string().as_bytes()).expect("a policy")
}

fn anyone() -> TrustPolicy {
    policy(&["ca:store"], &["*"], &json!({}))
}

async fn judged_by(
    forgery: Forgery<'_>,
    store: &[&Party],
    policy: &TrustPolicy,
    place: &Place,
) -> Result<Verdict, String> {
    forgery.put(place);
    let store: Vec<&[u8]> = store.iter().map(|it| it.pem.as_bytes()).collect();
    let at: Timestamp = TODAY.parse().expect("a moment");
    let outcome = notation::verify(&place.remote(), &place.digest(), policy, &store, at).await;
    outcome.map_err(|error| error.to_string())
}

async fn judged(forgery: Forgery<'_>, store: &[&Party]) -> Result<Verdict, String> {
    judged_by(forgery, store, &anyone(), &Place::new()).await
}

#[track_caller]
fn refused(outcome: &Result<Verdict, String>, reason: &str) {
    match outcome {
        Err(said) => assert!(said.contains(reason), "refused for another reason: {said}"),
        Ok(verdict) => panic!("the attack succeeds: {verdict:?}, although {reason}"),
    }
}

#[tokio::test]
async fn honest_chains_pass_from_each_kind_of_anchor() {
    let root = Party::root("root", &as_is);
    let between = root.authority("between");
    let leaf = between.leaf(&as_is);
    let chain = [&leaf, &between, &root];
    for store in [&root, &between] {
        let outcome = judged(Forgery::new(&chain, &[]), &[store]).await;
        assert_eq!(outcome, Ok(Verdict::Verified));
    }
    let mut own = params("alone");
    signing(&mut own);
    let own = Party::alone(own);
    assert_eq!(judged(Forgery::new(&[&own], &[]), &[&own]).await, Ok(Verdict::Verified));
}

#[tokio::test]
async fn a_trusted_certificate_inside_a_foreign_chain_does_not_count() {
    let trusted = Party::root("root", &as_is);
    let attacker = Party::root("attacker", &as_is);
    let leaf = attacker.leaf(&as_is);
    let outcome = judged(Forgery::new(&[&leaf, &trusted, &attacker], &[]), &[&trusted]).await;
    refused(&outcome, "is not issued by");
    let twin = Party::root("root", &as_is);
    let leaf = twin.leaf(&as_is);
    let outcome = judged(Forgery::new(&[&leaf, &trusted], &[]), &[&trusted]).await;
    refused(&outcome, "is not issued by");
    let outcome = judged(Forgery::new(&[&leaf, &trusted, &twin], &[]), &[&trusted]).await;
    refused(&outcome, "");
}

#[tokio::test]
async fn certificates_out_of_order_do_not_count() {
    let root = Party::root("root", &as_is);
    let between = root.authority("between");
    let leaf = between.leaf(&as_is);
    for chain in [
        vec![&leaf, &root, &between],
        vec![&leaf, &root],
        vec![&leaf, &between],
        vec![&leaf],
        vec![&leaf, &between, &root, &root],
        vec![&leaf, &leaf, &between, &root],
    ] {
        let outcome = judged(Forgery::new(&chain, &[]), &[&root, &between]).await;
        refused(&outcome, "certificate-chain is invalid");
    }
}

#[tokio::test]
async fn a_trusted_signer_cannot_issue_certificates() {
    let root = Party::root("root", &as_is);
    let signer = root.leaf(&as_is);
    let minted = signer.leaf(&|params| {
        params.distinguished_name.push(DnType::CommonName, "administrator");
    });
    for (chain, store) in [
        (vec![&minted, &signer], &signer),
        (vec![&minted, &signer, &root], &root),
        (vec![&minted, &signer, &root], &signer),
    ] {
        let outcome = judged(Forgery::new(&chain, &[]), &[store]).await;
        refused(&outcome, "certificate-chain is invalid");
    }
    // A certificate that its holder signed itself is an anchor for itself alone.
    let mut own = params("alone");
    signing(&mut own);
    let own = Party::alone(own);
    let minted = own.leaf(&as_is);
    refused(&judged(Forgery::new(&[&minted, &own], &[]), &[&own]).await, "certificate-chain");
}

#[tokio::test]
async fn an_authority_cannot_sign_artifacts_itself() {
    let root = Party::root("root", &as_is);
    let outcome = judged(Forgery::new(&[&root], &[]), &[&root]).await;
    refused(&outcome, "certificate-chain is invalid");
    let between = root.authority("between");
    let outcome = judged(Forgery::new(&[&between, &root], &[]), &[&root]).await;
    refused(&outcome, "certificate-chain is invalid");
}

#[tokio::test]
async fn the_length_of_a_path_is_bounded_by_the_anchor() {
    let root = Party::root("root", &|params| {
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    });
    let between = root.authority("between");
    let leaf = between.leaf(&as_is);
    let outcome = judged(Forgery::new(&[&leaf, &between, &root], &[]), &[&root]).await;
    refused(&outcome, "expected path length of 1 but certificate has path length 0 instead");
    let leaf = root.leaf(&as_is);
    let outcome = judged(Forgery::new(&[&leaf, &root], &[]), &[&root]).await;
    assert_eq!(outcome, Ok(Verdict::Verified));
}

#[tokio::test]
async fn certificates_for_other_purposes_do_not_sign() {
    use ExtendedKeyUsagePurpose::{Any, ClientAuth, CodeSigning, ServerAuth, TimeStamping};
    use KeyUsagePurpose::{DigitalSignature, KeyAgreement, KeyCertSign, KeyEncipherment};
    let root = Party::root("root", &as_is);
    for extended in [
        vec![ServerAuth],
        vec![CodeSigning, ServerAuth],
        vec![CodeSigning, ClientAuth],
        vec![CodeSigning, TimeStamping],
        vec![Any],
    ] {
        let leaf = root.leaf(&|params| params.extended_key_usages.clone_from(&extended));
        let outcome = judged(Forgery::new(&[&leaf, &root], &[]), &[&root]).await;
        refused(&outcome, "");
    }
    for usages in [
        vec![],
        vec![KeyEncipherment],
        vec![DigitalSignature, KeyEncipherment],
        vec![DigitalSignature, KeyAgreement],
        vec![DigitalSignature, KeyCertSign],
    ] {
        let leaf = root.leaf(&|params| params.key_usages.clone_from(&usages));
        let outcome = judged(Forgery::new(&[&leaf, &root], &[]), &[&root]).await;
        refused(&outcome, "certificate-chain is invalid");
    }
    let lame = Party::root("lame", &|params| params.key_usages = vec![DigitalSignature]);
    let leaf = lame.leaf(&as_is);
    let outcome = judged(Forgery::new(&[&leaf, &lame], &[]), &[&lame]).await;
    refused(&outcome, "key usage must have the bit positions for key cert sign set");
}

#[tokio::test]
async fn an_expired_certificate_cannot_date_its_signature_back() {
    let root = Party::root("root", &as_is);
    let expired = root.leaf(&|params| params.not_after = date_time_ymd(2025, 6, 1));
    let by_authority = [
        ("crit", json!([SCHEME, AUTHENTIC_TIME])),
        (SCHEME, json!("notary.x509.signingAuthority")),
        (AUTHENTIC_TIME, json!("2025-05-01T00:00:00Z")),
        (SIGNING_TIME, Value::Null),
    ];
    let place = Place::new();
    let forged = Forgery::new(&[&expired, &root], &by_authority);
    refused(&judged(forged, &[&root]).await, "no trusted certificates are found");
    let forged = Forgery::new(&[&expired, &root], &by_authority);
    let vouched = policy(&["signingAuthority:store"], &["*"], &json!({}));
    let outcome = judged_by(forged, &[&root], &vouched, &place).await;
    assert_eq!(outcome, Ok(Verdict::Verified), "a signing authority vouches for the time");
    let plain = Forgery::new(&[&expired, &root], &[]);
    refused(&judged(plain, &[&root]).await, "outside of a certificate's validity period");
}

#[tokio::test]
async fn a_store_of_signing_authorities_does_not_vouch_for_signers() {
    let root = Party::root("root", &as_is);
    let leaf = root.leaf(&as_is);
    for stores in [&["signingAuthority:store"][..], &["tsa:store"], &["signingAuthority:ca"]] {
        let policy = policy(stores, &["*"], &json!({}));
        let forged = Forgery::new(&[&leaf, &root], &[]);
        let outcome = judged_by(forged, &[&root], &policy, &Place::new()).await;
        refused(&outcome, "no trusted certificates are found");
    }
}

#[tokio::test]
async fn a_subject_with_two_organisations_is_nobody() {
    let root = Party::root("root", &as_is);
    let both = root.leaf(&|params| {
        params.distinguished_name = DistinguishedName::new();
        for (kind, value) in [
            (DnType::CountryName, "US"),
            (DnType::StateOrProvinceName, "WA"),
            (DnType::OrganizationName, "evil"),
            (DnType::CustomDnType(vec![2, 5, 4, 10]), "acme"),
        ] {
            params.distinguished_name.push(kind, value);
        }
    });
    let named = policy(&["ca:store"], &["x509.subject: C=US, ST=WA, O=acme"], &json!({}));
    let forged = Forgery::new(&[&both, &root], &[]);
    let outcome = judged_by(forged, &[&root], &named, &Place::new()).await;
    refused(&outcome, "has duplicate RDN attribute for \"O\"");
    let issuer = policy(&["ca:store"], &["x509.subject: C=US, ST=WA, O=acme, CN=root"], &json!({}));
    let leaf = root.leaf(&as_is);
    let forged = Forgery::new(&[&leaf, &root], &[]);
    let outcome = judged_by(forged, &[&root], &issuer, &Place::new()).await;
    refused(&outcome, "does not match the X.509 trusted identities");
}

#[tokio::test]
async fn the_algorithm_is_the_keys_own() {
    let root = Party::root("root", &as_is);
    let leaf = root.leaf(&as_is);
    for algorithm in ["none", "HS256", "RS256", "PS256", "ES384", "ES512", "EdDSA", ""] {
        let forged = Forgery::new(&[&leaf, &root], &[("alg", json!(algorithm))]);
        refused(&judged(forged, &[&root]).await, "");
    }
}

#[tokio::test]
async fn what_is_not_signed_overrides_nothing() {
    let root = Party::root("root", &as_is);
    let leaf = root.leaf(&as_is);
    let expired = [("crit", json!([SCHEME, EXPIRY])), (EXPIRY, json!("2026-01-15T00:00:00Z"))];
    let mut forged = Forgery::new(&[&leaf, &root], &expired);
    forged.unprotected = json!({
        "alg": "none", "crit": [SCHEME], EXPIRY: "2040-01-01T00:00:00Z",
        SCHEME: "notary.x509.signingAuthority", AUTHENTIC_TIME: "2026-01-01T00:00:00Z",
    });
    refused(&judged(forged, &[&root]).await, "digital signature has expired on");
}

#[tokio::test]
async fn a_key_that_is_written_twice_is_refused() {
    let root = Party::root("root", &as_is);
    let leaf = root.leaf(&as_is);
    let place = Place::new();
    let other = format!("sha256:{}", "0".repeat(64));
    let one = |digest: &str, size: u64| {
        let kind = media::MANIFEST;
        format!(r#""targetArtifact":{{"mediaType":"{kind}","digest":"{digest}","size":{size}}}"#)
    };
    let real = one(&place.subject.digest, place.subject.size);
    let mut forged = Forgery::new(&[&leaf, &root], &[]);
    forged.payload = Some(format!("{{{},{real}}}", one(&other, 1)));
    refused(&judged_by(forged, &[&root], &anyone(), &place).await, "cannot be read");
    let expired = [("crit", json!([SCHEME, EXPIRY])), (EXPIRY, json!("2026-01-15T00:00:00Z"))];
    let mut forged = Forgery::new(&[&leaf, &root], &expired);
    let later = format!(r#"{{"{EXPIRY}":"2026-01-15T00:00:00Z","#);
    forged.protected = forged.protected.replacen('{', &later, 1).replacen(
        r#""io.cncf.notary.expiry":"2026-01-15T00:00:00Z","io.cncf.notary.signingScheme""#,
        r#""io.cncf.notary.expiry":"2040-01-15T00:00:00Z","io.cncf.notary.signingScheme""#,
        1,
    );
    refused(&judged(forged, &[&root]).await, "the protected header can't be decoded");
}

#[tokio::test]
async fn headers_of_another_type_do_not_read_as_absent() {
    let root = Party::root("root", &as_is);
    let leaf = root.leaf(&as_is);
    for header in [
        vec![("crit", json!([SCHEME, EXPIRY])), (EXPIRY, json!(1))],
        vec![("crit", json!([SCHEME, 7]))],
        vec![("crit", json!([SCHEME, SCHEME]))],
        vec![(SIGNING_TIME, Value::Null)],
        vec![
            (SIGNING_TIME, json!("2027-01-01T00:00:00Z")),
            ("crit", json!([SCHEME, EXPIRY])),
            (EXPIRY, json!("2026-12-01T00:00:00Z")),
        ],
        vec![("io.cncf.notary.verificationPlugin", json!("com.example.plugin"))],
        vec![("cty", json!(["application/vnd.cncf.notary.payload.v1+json"]))],
    ] {
        let forged = Forgery::new(&[&leaf, &root], &header);
        refused(&judged(forged, &[&root]).await, "");
    }
}

#[tokio::test]
async fn a_certificate_that_can_be_revoked_is_not_taken_unchecked() {
    let root = Party::root("root", &as_is);
    // The address of a list of revoked certificates, and the extension that names it.
    let list = b"\x30\x16\x30\x14\xa0\x12\xa0\x10\x86\x0ehttp://c.test/".to_vec();
    let leaf = root.leaf(&|params| {
        let extension = CustomExtension::from_oid_content(&[2, 5, 29, 31], list.clone());
        params.custom_extensions = vec![extension];
    });
    let forged = Forgery::new(&[&leaf, &root], &[]);
    refused(&judged(forged, &[&root]).await, "revocation");
    let lenient = policy(&["ca:store"], &["*"], &json!({"revocation": "log"}));
    let forged = Forgery::new(&[&leaf, &root], &[]);
    let outcome = judged_by(forged, &[&root], &lenient, &Place::new()).await;
    assert_eq!(outcome, Ok(Verdict::Verified));
}
