//! Which OCIRepositories are verified, and what is said of those that are not.

use base64::Engine as _;
use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD};
use rcgen::{
    CertificateParams, DnType, ExtendedKeyUsagePurpose, KeyPair, KeyUsagePurpose,
    PublicKeyData as _, date_time_ymd,
};
use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_ASN1_SIGNING, ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair,
    EcdsaSigningAlgorithm,
};
use serde_json::{Value, json};
use sluice_source::oci::{Descriptor, Manifest, media};

use crate::ground::{Ground, namespace, said};

const APP: &str = "org/app";
const NAME: &str = "r.test/org/app";

fn repository(verify: &Value) -> Value {
    json!({
        "apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "OCIRepository",
        "metadata": {"name": "app", "namespace": "apps"},
        "spec": {"interval": "1m", "url": format!("oci://{NAME}"), "verify": verify, "layerSelector": {"operation": "copy"}},
    })
}

fn secret(name: &str, data: &Value) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": "apps"},
        "stringData": data,
    })
}

async fn ground() -> Ground {
    let ground = Ground::new().await;
    ground.apply(namespace()).await;
    ground
}

/// Pushes an artifact under `latest`.
fn push(ground: &Ground, content: &str) -> Descriptor {
    let layer = ground.sandbox.registries.put_blob(APP, media::FLUX_CONTENT, content.to_owned());
    let manifest = Manifest { layers: vec![layer], ..Manifest::default() };
    ground.sandbox.registries.put_manifest(APP, Some("latest"), &manifest)
}

fn sign(key: &KeyPair, how: &'static EcdsaSigningAlgorithm, message: &str) -> Vec<u8> {
    let random = SystemRandom::new();
    let pair = EcdsaKeyPair::from_pkcs8(how, &key.serialize_der(), &random).unwrap();
    pair.sign(&random, message.as_bytes()).unwrap().as_ref().to_vec()
}

/// Signs an artifact as cosign does with a key.
fn cosign(ground: &Ground, key: &KeyPair, subject: &Descriptor) {
    let payload =
        json!({"critical": {"image": {"docker-manifest-digest": subject.digest}}}).to_string();
    let signature = sign(key, &ECDSA_P256_SHA256_ASN1_SIGNING, &payload);
    let mut layer = ground.sandbox.registries.put_blob(APP, media::COSIGN_PAYLOAD, payload);
    let name = "dev.cosignproject.cosign/signature".to_owned();
    layer.annotations = Some([(name, BASE64_STANDARD.encode(signature))].into());
    let manifest = Manifest { layers: vec![layer], ..Manifest::default() };
    let tag = format!("{}.sig", subject.digest.replace(':', "-"));
    ground.sandbox.registries.put_manifest(APP, Some(&tag), &manifest);
}

/// Signs an artifact as notation does; gives the certificate.
fn notation(ground: &Ground, subject: &Descriptor) -> String {
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, "signer");
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::CodeSigning];
    params.not_before = date_time_ymd(2025, 1, 1);
    params.not_after = date_time_ymd(2030, 1, 1);
    let certificate = params.self_signed(&key).unwrap();
    let protected = json!({
        "alg": "ES256", "cty": "application/vnd.cncf.notary.payload.v1+json",
        "crit": ["io.cncf.notary.signingScheme"], "io.cncf.notary.signingScheme": "notary.x509",
        "io.cncf.notary.signingTime": "2026-01-01T00:00:00Z",
    });
    let payload = json!({"targetArtifact": {
        "mediaType": subject.media_type, "digest": subject.digest, "size": subject.size,
    }});
    let encode = |value: &Value| BASE64_URL_SAFE_NO_PAD.encode(value.to_string());
    let (protected, payload) = (encode(&protected), encode(&payload));
    let message = format!("{protected}.{payload}");
    let signature = sign(&key, &ECDSA_P256_SHA256_FIXED_SIGNING, &message);
    let envelope = json!({
        "payload": payload, "protected": protected, "signature": BASE64_URL_SAFE_NO_PAD.encode(signature),
        "header": {"x5c": [BASE64_STANDARD.encode(certificate.der())]},
    });
    let layer =
        ground.sandbox.registries.put_blob(APP, "application/jose+json", envelope.to_string());
    let manifest = Manifest {
        layers: vec![layer],
        artifact_type: Some(media::NOTATION_SIGNATURE.to_owned()),
        subject: Some(subject.clone()),
        ..Manifest::default()
    };
    ground.sandbox.registries.put_manifest(APP, None, &manifest);
    certificate.pem()
}

fn failed(provider: &str, message: &str) -> String {
    format!(
        "False VerificationError: failed to verify the signature using provider '{provider}': {message}"
    )
}

#[tokio::test(start_paused = true)]
async fn a_key_of_the_secret_has_to_have_signed() {
    let ground = ground().await;
    let (key, other) = (KeyPair::generate().unwrap(), KeyPair::generate().unwrap());
    let first = push(&ground, "one");
    let object = repository(&json!({"provider": "cosign", "secretRef": {"name": "keys"}}));
    ground.apply(object.clone()).await;
    let missing = failed("cosign", "secrets \"keys\" not found");
    let unverified = ground.until_ready_says(&object, &missing).await;
    assert_eq!(said(&unverified, "SourceVerified"), missing);
    assert!(unverified["status"]["artifact"].is_null());

    ground.apply(secret("keys", &json!({"a.pub": "no key"}))).await;
    ground.until_ready_says(&object, &failed("cosign", "PEM decoding failed")).await;

    let keys =
        json!({"a.pub": other.public_key_pem(), "b.pub": key.public_key_pem(), "c": "ignored"});
    ground.apply(secret("keys", &keys)).await;
    let none = |subject: &Descriptor| {
        failed(
            "cosign",
            &format!("no matching signatures were found for '{NAME}@{}'", subject.digest),
        )
    };
    ground.until_ready_says(&object, &none(&first)).await;
    assert!(
        ground.events("app").await.iter().any(|it| it.starts_with("Warning VerificationError: "))
    );
    cosign(&ground, &KeyPair::generate().unwrap(), &first);
    tokio::time::sleep(std::time::Duration::from_mins(5)).await;
    ground.until_ready_says(&object, &none(&first)).await;
    cosign(&ground, &key, &first);
    let ready = ground.until(&object, |it| said(it, "Ready").starts_with("True")).await;
    let revision = format!("latest@{}", first.digest);
    let verified =
        |revision: &str| format!("True Succeeded: verified signature of revision {revision}");
    assert_eq!(said(&ready, "SourceVerified"), verified(&revision));

    // What follows has to be signed too; until it is, what is there stays.
    let second = push(&ground, "two");
    let unverified = ground.until_ready_says(&object, &none(&second)).await;
    assert_eq!(unverified["status"]["artifact"]["revision"], revision);
    cosign(&ground, &key, &second);
    let ready = ground.until(&object, |it| said(it, "Ready").starts_with("True")).await;
    assert_eq!(said(&ready, "SourceVerified"), verified(&format!("latest@{}", second.digest)));

    let mut without = object.clone();
    without["spec"].as_object_mut().unwrap().remove("verify");
    ground.apply(without.clone()).await;
    ground.until(&without, |it| said(it, "SourceVerified").is_empty()).await;
}

/// A tenant who can write the status claims that the newest artifact is known and verified, and that only what
/// is ignored has changed: then it would be pulled anew without a look at its signature.
#[tokio::test(start_paused = true)]
async fn a_forged_status_does_not_skip_the_verification() {
    let ground = ground().await;
    let key = KeyPair::generate().unwrap();
    let first = push(&ground, "one");
    cosign(&ground, &key, &first);
    ground.apply(secret("keys", &json!({"a.pub": key.public_key_pem()}))).await;
    let object = repository(&json!({"provider": "cosign", "secretRef": {"name": "keys"}}));
    ground.apply(object.clone()).await;
    let ready = ground.until(&object, |it| said(it, "Ready").starts_with("True")).await;
    let digest = ready["status"]["artifact"]["digest"].clone();
    let second = push(&ground, "two");
    let revision = format!("latest@{}", second.digest);
    let forged = json!({"artifact": {"revision": revision}, "observedIgnore": "x"});
    ground.set_status(&object, forged).await;
    let words = format!("no matching signatures were found for '{NAME}@{}'", second.digest);
    let refused = ground.until_ready_says(&object, &failed("cosign", &words)).await;
    assert_eq!(refused["status"]["artifact"]["digest"], digest, "what was signed stays");
}

#[tokio::test(start_paused = true)]
async fn identities_need_a_trusted_root() {
    let ground = ground().await;
    push(&ground, "one");
    let object = repository(&json!({"provider": "cosign"}));
    ground.apply(object.clone()).await;
    let none = failed(
        "cosign keyless",
        "unable to initialize trusted root: none is given; name one with spec.verify.trustedRootSecretRef",
    );
    ground.until_ready_says(&object, &none).await;

    let object = repository(&json!({
        "provider": "cosign", "trustedRootSecretRef": {"name": "root"},
        "matchOIDCIdentity": [{"issuer": "^https://accounts", "subject": "ada"}],
    }));
    ground.apply(object.clone()).await;
    let unread = |message: &str| {
        failed(
            "cosign keyless",
            &format!("failed to read trusted root from secret 'apps/root': {message}"),
        )
    };
    ground.until_ready_says(&object, &unread("secrets \"root\" not found")).await;
    ground.apply(secret("root", &json!({"x": "y"}))).await;
    ground
        .until_ready_says(&object, &unread("'trusted_root.json' not found in secret 'apps/root'"))
        .await;
    ground.apply(secret("root", &json!({"trusted_root.json": "{}"}))).await;
    let empty = failed(
        "cosign keyless",
        "unable to parse trusted root: no transparency log entries found in trusted root",
    );
    ground.until_ready_says(&object, &empty).await;
    let key = KeyPair::generate().unwrap();
    let root = json!({"tlogs": [{"publicKey": {"rawBytes": BASE64_STANDARD.encode(key.subject_public_key_info())}}]});
    ground.apply(secret("root", &json!({"trusted_root.json": root.to_string()}))).await;
    ground.until_ready_says(&object, &failed("cosign keyless", "no signatures found")).await;
}

#[tokio::test(start_paused = true)]
async fn notation_asks_its_policy() {
    let ground = ground().await;
    let subject = push(&ground, "one");
    let object = repository(&json!({"provider": "notation"}));
    ground.apply(object.clone()).await;
    let empty = failed(
        "notation",
        &format!("verification secret cannot be empty: '{NAME}@{}'", subject.digest),
    );
    ground.until_ready_says(&object, &empty).await;

    let object = repository(&json!({"provider": "notation", "secretRef": {"name": "trust"}}));
    ground.apply(object.clone()).await;
    ground.until_ready_says(&object, &failed("notation", "secrets \"trust\" not found")).await;
    let policy = |level: &str| {
        json!({"version": "1.0", "trustPolicies": [{
            "name": "test", "registryScopes": ["*"], "trustStores": ["ca:store"],
            "signatureVerification": {"level": level}, "trustedIdentities": ["*"],
        }]})
        .to_string()
    };
    ground.apply(secret("trust", &json!({"x": "y"}))).await;
    ground
        .until_ready_says(
            &object,
            &failed("notation", "'trustpolicy.json' not found in secret 'apps/trust'"),
        )
        .await;
    ground.apply(secret("trust", &json!({"trustpolicy.json": policy("strict")}))).await;
    ground
        .until_ready_says(
            &object,
            &failed("notation", "no certificates found in secret 'apps/trust'"),
        )
        .await;
    let certificate = notation(&ground, &subject);
    let other = notation(&ground, &push(&ground, "another"));
    let subject = push(&ground, "one");
    ground
        .apply(secret("trust", &json!({"trustpolicy.json": policy("strict"), "ca.crt": other})))
        .await;
    ground
        .until(&object, |it| said(it, "Ready").contains("does not contain any trusted certificate"))
        .await;
    let trusted = json!({"trustpolicy.json": policy("strict"), "ca.crt": certificate});
    ground.apply(secret("trust", &trusted)).await;
    let ready = ground.until(&object, |it| said(it, "Ready").starts_with("True")).await;
    let revision = format!("latest@{}", subject.digest);
    assert_eq!(
        said(&ready, "SourceVerified"),
        format!("True Succeeded: verified signature of revision {revision}")
    );

    // Who skips is not told of as verified.
    let mut skipping = object.clone();
    skipping["metadata"]["name"] = json!("skipping");
    skipping["spec"]["verify"]["secretRef"]["name"] = json!("skip");
    ground
        .apply(secret("skip", &json!({"trustpolicy.json": policy("skip"), "ca.crt": "unused"})))
        .await;
    ground.apply(skipping.clone()).await;
    let ready = ground.until(&skipping, |it| said(it, "Ready").starts_with("True")).await;
    assert_eq!(said(&ready, "SourceVerified"), "");
}

#[tokio::test(start_paused = true)]
async fn clouds_are_asked_where_no_secret_is_given() {
    let ground = ground().await;
    push(&ground, "one");
    let mut object = repository(&json!({}));
    object["spec"].as_object_mut().unwrap().remove("verify");
    object["spec"]["provider"] = json!("aws");
    ground.apply(object.clone()).await;
    let foreign = "False AuthenticationFailed: failed to get credential from aws: invalid AWS registry: 'r.test'. must match ";
    ground.until(&object, |it| said(it, "Ready").starts_with(foreign)).await;

    let account = json!({
        "apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "puller", "namespace": "apps"},
    });
    ground.apply(account).await;
    let mut by_account = object.clone();
    by_account["metadata"]["name"] = json!("by-account");
    by_account["spec"]["serviceAccountName"] = json!("puller");
    ground.apply(by_account.clone()).await;
    let gate = "FeatureGateDisabled: to use spec.serviceAccountName for provider authentication please enable the ObjectLevelWorkloadIdentity feature gate in the controller";
    let stalled = ground.until_ready_says(&by_account, &format!("False {gate}")).await;
    assert_eq!(said(&stalled, "Stalled"), format!("True {gate}"));

    // A secret is stronger than a cloud.
    ground.apply(secret("login", &json!({"x": "y"}))).await;
    object["spec"]["secretRef"] = json!({"name": "login"});
    ground.apply(object.clone()).await;
    ground.until(&object, |it| said(it, "Ready").starts_with("True")).await;
}
