//! Signatures beside an artifact: bundles and payloads of cosign, JWS envelopes of notation, and what verifies them.
//! The first line of an input says which it is.

use std::sync::Arc;

use base64::Engine as _;
use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD};
use jiff::Timestamp;
use sluice_source::http::HttpOptions;
use sluice_source::oci::cosign::{TrustedRoot, verify_keyless, verify_with_key};
use sluice_source::oci::notation::{self, TrustPolicy};
use sluice_source::oci::{
    Access, Credentials, Manifest, MemoryRegistry, PublicKey, PullLimits, RegistryAccess,
    RemoteRepository, Repository, TokenRealms, media,
};

use super::certificate::self_signed;
use crate::make::{block_on, join, nested, numbered, reason, times};
use crate::{Format, Hostile, Outcome};

pub(super) const FORMAT: Format = Format { name: "OCI signatures", parse, seeds, hostile };

const APP: &str = "org/app";
const POLICY: &str = r#"{"version":"1.0","trustPolicies":[{"name":"p","registryScopes":["*"],
"signatureVerification":{"level":"strict"},"trustStores":["ca:x"],"trustedIdentities":["*"]}]}"#;
const JWS: &str = "application/jose+json";

fn parse(input: &[u8]) -> Outcome {
    let end = input.iter().position(|byte| *byte == b'\n').ok_or("no kind")?;
    let (kind, body) = input.split_at(end);
    let body = body.get(1..).unwrap_or_default();
    match kind {
        b"root" => return TrustedRoot::parse(body).map(drop).map_err(reason),
        b"policy" => return TrustPolicy::parse(body).map(drop).map_err(reason),
        b"key" => return PublicKey::of_pem(body).map(drop).map_err(reason),
        _ => {}
    }
    let registry = MemoryRegistry::new();
    let content = registry.put_blob(APP, media::FLUX_CONTENT, "content");
    let manifest = Manifest { layers: vec![content], ..Manifest::default() };
    let subject = registry.put_manifest(APP, Some("v1"), &manifest);
    let (artifact, media_type) = match kind {
        b"bundle" => (media::SIGSTORE_BUNDLE, media::SIGSTORE_BUNDLE),
        b"notation" => (media::NOTATION_SIGNATURE, JWS),
        _ => ("payload", media::COSIGN_PAYLOAD),
    };
    let mut layer = registry.put_blob(APP, media_type, body.to_vec());
    let text = String::from_utf8_lossy(body).into_owned();
    let annotations = ["signature", "certificate", "bundle"].map(|name| match name {
        "signature" => ("dev.cosignproject.cosign/signature".to_owned(), "AAAA".to_owned()),
        name => (format!("dev.sigstore.cosign/{name}"), text.clone()),
    });
    layer.annotations = Some(annotations.into_iter().collect());
    let about = Manifest {
        layers: vec![layer],
        artifact_type: Some(artifact.to_owned()),
        subject: Some(subject.clone()),
        ..Manifest::default()
    };
    let tag = format!("{}.sig", subject.digest.replace(':', "-"));
    registry.put_manifest(APP, Some(&tag), &about);
    let access = RegistryAccess {
        wire: Arc::new(registry),
        connection: HttpOptions::default(),
        credentials: Credentials::default(),
        realms: TokenRealms::default(),
    };
    let repository = Repository::parse("r.test/org/app").map_err(reason)?;
    let remote = RemoteRepository::new(access, repository, Access::Pull, PullLimits::default());
    let digest = subject.digest.parse().map_err(reason)?;
    let (certificate, key) = self_signed();
    let root = TrustedRoot::parse(
        br#"{"mediaType":"application/vnd.dev.sigstore.trustedroot+json;version=0.1"}"#,
    );
    block_on(async {
        if kind == b"notation" {
            let policy = TrustPolicy::parse(POLICY.as_bytes()).map_err(reason)?;
            let anchors = [certificate.as_bytes()];
            let verdict =
                notation::verify(&remote, &digest, &policy, &anchors, Timestamp::UNIX_EPOCH);
            return verdict.await.map(drop).map_err(reason);
        }
        let key = PublicKey::of_pem(key.as_bytes()).map_err(reason)?;
        let by_key = verify_with_key(&remote, &digest, &key).await.map_err(reason);
        match &root {
            Ok(root) => {
                by_key.or(verify_keyless(&remote, &digest, root, &[]).await.map_err(reason))
            }
            Err(_) => by_key,
        }
    })?
}

fn of(kind: &str, body: impl AsRef<[u8]>) -> Vec<u8> {
    join(&[kind.as_bytes(), b"\n", body.as_ref()])
}

fn bundle(payload: &str, signatures: &str, entries: &str) -> String {
    let payload = BASE64_STANDARD.encode(payload);
    format!(
        r#"{{"mediaType":"application/vnd.dev.sigstore.bundle.v0.3+json","verificationMaterial":{{"publicKey":{{"hint":"h"}},"tlogEntries":[{entries}]}},"dsseEnvelope":{{"payload":"{payload}","payloadType":"application/vnd.in-toto+json","signatures":[{signatures}]}}}}"#
    )
}

fn envelope(header: &str, chain: &str) -> String {
    let encode = |text: &str| BASE64_URL_SAFE_NO_PAD.encode(text);
    let (protected, payload) = (encode(header), encode(r#"{"targetArtifact":{"digest":"x"}}"#));
    format!(
        r#"{{"payload":"{payload}","protected":"{protected}","header":{{"x5c":[{chain}]}},"signature":"AAAA"}}"#
    )
}

const HEADER: &str = r#"{"alg":"ES256","cty":"application/vnd.cncf.notary.payload.v1+json","crit":["io.cncf.notary.signingScheme"],"io.cncf.notary.signingScheme":"notary.x509","io.cncf.notary.signingTime":"2024-01-01T00:00:00Z"}"#;

fn in_chain() -> String {
    let (pem, _) = self_signed();
    let body: String = pem.lines().filter(|line| !line.starts_with("-----")).collect();
    format!("\"{body}\"")
}

fn seeds() -> Vec<Vec<u8>> {
    let (certificate, key) = self_signed();
    vec![
        of("bundle", bundle(r#"{"subject":[{"digest":{"sha256":"x"}}]}"#, r#"{"sig":"AAAA"}"#, "")),
        of("payload", r#"{"critical":{"image":{"docker-manifest-digest":"sha256:x"}}}"#),
        of("payload", certificate),
        of("notation", envelope(HEADER, &in_chain())),
        of("policy", POLICY),
        of("key", key),
        of("root", r#"{"mediaType":"m","tlogs":[],"ctlogs":[],"certificateAuthorities":[]}"#),
    ]
}

fn hostile() -> Vec<Hostile> {
    let chain = vec![in_chain(); 1500].join(",");
    let entry = r#"{"logIndex":"1","logId":{"keyId":"AA=="},"integratedTime":"1","inclusionProof":{"logIndex":"1","rootHash":"AA==","treeSize":"2","hashes":[]},"canonicalizedBody":"AA=="}"#;
    let hashes = vec!["\"AAAA\""; 80_000].join(",");
    let proof = entry.replace(r#""hashes":[]"#, &format!(r#""hashes":[{hashes}]"#));
    let subjects =
        format!(r#"{{"subject":[{}{{}}]}}"#, r#"{"digest":{"sha256":"x"}},"#.repeat(20_000));
    let identity =
        |text: &str| POLICY.replace(r#"["*"]}]"#, &format!(r#"["x509.subject: {text}"]}}]"#));
    vec![
        (
            "20,000 signatures",
            of("bundle", bundle("{}", &vec![r#"{"sig":"AAAA"}"#; 20_000].join(","), "")),
        ),
        ("20,000 subjects", of("bundle", bundle(&subjects, r#"{"sig":"AAAA"}"#, ""))),
        ("5000 log entries", of("bundle", bundle("{}", "", &vec![entry; 4000].join(",")))),
        ("80,000 hashes of a proof", of("bundle", bundle("{}", "", &proof))),
        (
            "a payload of a mebibyte",
            of("bundle", bundle(&"x".repeat(1 << 19), r#"{"sig":"AAAA"}"#, "")),
        ),
        ("a bundle that is nested", of("bundle", nested("{\"a\":", "1", "}", 100_000))),
        ("a payload that is nested", of("payload", nested("[", "1", "]", 200_000))),
        ("1500 certificates", of("notation", envelope(HEADER, &chain))),
        (
            "a header of a mebibyte",
            of(
                "notation",
                envelope(&format!(r#"{{"alg":"{}"}}"#, "a".repeat(1 << 19)), &in_chain()),
            ),
        ),
        ("a header that is nested", of("notation", envelope(&"[".repeat(1 << 19), &in_chain()))),
        (
            "100,000 critical headers",
            of(
                "notation",
                envelope(
                    &format!(r#"{{"alg":"ES256","crit":[{}"a"]}}"#, numbered("\"c{n}\",", 60_000)),
                    &in_chain(),
                ),
            ),
        ),
        (
            "no signature and no chain",
            of("notation", r#"{"payload":"","protected":"","header":{"x5c":[]},"signature":""}"#),
        ),
        (
            "a policy of 10,000 statements",
            of(
                "policy",
                format!(
                    r#"{{"version":"1.0","trustPolicies":[{}{{}}]}}"#,
                    numbered(r#"{"name":"p{n}","registryScopes":["s{n}"]},"#, 10_000)
                ),
            ),
        ),
        ("an identity of commas", of("policy", identity(&"CN=a,".repeat(50_000)))),
        ("an identity of escapes", of("policy", identity(&"\\\\,".repeat(100_000)))),
        (
            "20,000 certificate authorities",
            of("root", format!(r#"{{"certificateAuthorities":[{}{{}}]}}"#, "{},".repeat(100_000))),
        ),
        (
            "a key of a mebibyte",
            of(
                "key",
                times("-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n", 15_000),
            ),
        ),
    ]
}
