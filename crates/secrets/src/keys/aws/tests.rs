//! A key management service that verifies signatures.

use http::{Request, Response};
use jiff::Timestamp;
use sluice_base::redacted::Redacted;
use sluice_cloud::aws::{AwsKeys, Signer};
use sluice_cloud::{Answer, Asking, Environment, Http};

use super::{AwsKmsKey, aws_keys};
use crate::testing::at_once;

const ARN: &str = "arn:aws:kms:eu-west-1:123456789012:key/a";

fn now() -> Timestamp {
    "2026-01-01T00:00:00Z".parse().expect("a moment")
}

/// Has two pairs of keys: an account's, and those of a session with an assumed role.
struct Service;

impl Service {
    /// Whether a request is signed correctly: signing it again gives the same signature.
    fn is_signed(request: &Request<Vec<u8>>, keys: &AwsKeys, service: &str) -> bool {
        let mut bare =
            Request::post(request.uri()).body(request.body().clone()).expect("a request");
        for name in ["content-type", "x-amz-target"] {
            if let Some(value) = request.headers().get(name) {
                bare.headers_mut().insert(name, value.clone());
            }
        }
        let signer = Signer { keys, region: "eu-west-1", service, now: now() };
        let again = signer.sign(bare).expect("it can be signed");
        again.headers().get("authorization") == request.headers().get("authorization")
    }
}

impl Http for Service {
    fn send(&self, request: Request<Vec<u8>>) -> Answer<'_> {
        let account = AwsKeys::new("AKID", "right", "");
        let session = AwsKeys::new("ASIA", "role", "session");
        let body = String::from_utf8_lossy(request.body()).into_owned();
        let (status, answer) = match request.uri().to_string().as_str() {
            "https://sts.eu-west-1.amazonaws.com/"
                if Self::is_signed(&request, &account, "sts") =>
            {
                assert_eq!(
                    body,
                    "Action=AssumeRole&RoleArn=arn%3Aaws%3Aiam%3A%3A1%3Arole%2Fr&RoleSessionName=sops%40sluice&Version=2011-06-15"
                );
                (
                    200,
                    "<R><AccessKeyId>ASIA</AccessKeyId><SecretAccessKey>role</SecretAccessKey><SessionToken>session</SessionToken></R>",
                )
            }
            "https://kms.eu-west-1.amazonaws.com/"
                if Self::is_signed(&request, &account, "kms")
                    || Self::is_signed(&request, &session, "kms") =>
            {
                assert_eq!(request.headers()["x-amz-target"], "TrentService.Decrypt");
                let plain = serde_json::json!({"CiphertextBlob": "c2VhbGVk", "KeyId": ARN});
                let bound = serde_json::json!({"CiphertextBlob": "c2VhbGVk", "KeyId": ARN, "EncryptionContext": {"app": "web"}});
                let sent: serde_json::Value = serde_json::from_str(&body).expect("JSON");
                if sent == plain || sent == bound {
                    (200, r#"{"Plaintext":"a2V5"}"#)
                } else {
                    (400, r#"{"__type":"InvalidCiphertextException"}"#)
                }
            }
            _ => (
                400,
                r#"{"__type":"com.amazon.coral.service#InvalidSignatureException","message":"The request signature we calculated does not match"}"#,
            ),
        };
        let response = Response::builder()
            .status(status)
            .header("x-amzn-requestid", "1")
            .body(answer.as_bytes().to_vec());
        Box::pin(std::future::ready(Ok(response.expect("the status is one"))))
    }
}

fn ask(secret: &str, role: &str, context: &[(String, String)]) -> Result<Vec<u8>, String> {
    let key = AwsKmsKey { arn: ARN, role, context, enc: "c2VhbGVk" };
    let keys = AwsKeys::new("AKID", secret, "");
    let environment = Environment::default();
    let asking = Asking { http: &Service, environment: &environment, now: now() };
    at_once(key.decrypt(&keys, &asking)).map(Redacted::into_exposed)
}

#[test]
fn the_service_decrypts_if_the_signature_is_right() {
    assert_eq!(ask("right", "", &[]), Ok(b"key".to_vec()));
    assert_eq!(ask("right", "", &[("app".to_owned(), "web".to_owned())]), Ok(b"key".to_vec()));
    assert_eq!(ask("right", "arn:aws:iam::1:role/r", &[]), Ok(b"key".to_vec()));
    let wrong = ask("wrong", "", &[]).expect_err("the signature is wrong");
    assert_eq!(
        wrong,
        "failed to decrypt sops data key with AWS KMS: operation error KMS: Decrypt, https response error StatusCode: 400, RequestID: 1, InvalidSignatureException: The request signature we calculated does not match"
    );
    let other = ask("right", "", &[("app".to_owned(), "other".to_owned())]);
    assert!(other.expect_err("another context").contains("InvalidCiphertextException"));
}

#[test]
fn only_names_of_keys_lead_anywhere() {
    for (arn, region) in [
        (ARN, Some("eu-west-1")),
        ("arn:aws-cn:kms:cn-north-1:1:alias/a", Some("cn-north-1")),
        ("arn:aws:kms:evil.test/#:1:key/a", None),
        ("arn:aws:kms:eu-west-1:x:key/a", None),
        ("arn:aws:s3:eu-west-1:1:key/a", None),
        ("arn:aws:kms:eu-west-1:1:key/", None),
        ("", None),
    ] {
        let key = AwsKmsKey { arn, role: "", context: &[], enc: "" };
        assert_eq!(key.region().ok(), region, "{arn}");
    }
}

#[test]
fn credentials_are_read_as_flux_reads_them() {
    let text = b"aws_access_key_id: a\naws_secret_access_key: s\naws_session_token: t\n";
    assert_eq!(aws_keys(text), Ok(AwsKeys::new("a", "s", "t")));
    let error = aws_keys(b"[").expect_err("no YAML");
    assert!(error.starts_with("failed to unmarshal AWS credentials file: "), "{error}");
    assert!(!format!("{:?}", AwsKeys::new("a", "hunter2", "t")).contains("hunter2"));
}
