//! AWS: keys of an account, roles it takes on, and the Key Management Service.

mod signature;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::Request;
use jiff::Timestamp;
use serde_json::{Value as Json, json};

use super::web::{Http, form};
use crate::cipher::DataKey;
use crate::redacted::Redacted;
use signature::Signer;

/// The name of sessions in which a role is taken on, as it shows in AWS' own logs.
const SESSION: &str = "sops@sluice";

/// The keys of an account or of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AwsKeys {
    access_key: String,
    secret_key: Redacted<String>,
    session_token: Redacted<String>,
}

impl AwsKeys {
    /// Keys; the token of an account's own keys is empty.
    pub fn new(access_key: &str, secret_key: &str, session_token: &str) -> Self {
        Self {
            access_key: access_key.to_owned(),
            secret_key: Redacted::new(secret_key.to_owned()),
            session_token: Redacted::new(session_token.to_owned()),
        }
    }

    /// Reads `sops.aws-kms` of a decryption Secret.
    pub(crate) fn read(text: &[u8]) -> Result<Self, String> {
        let wrong = |reason: String| format!("failed to unmarshal AWS credentials file: {reason}");
        let value = sluice_yaml::to_json(text, sluice_yaml::Duplicates::LastWins);
        let value = value.map_err(|error| wrong(error.to_string()))?.unwrap_or_default();
        if !value.is_object() && !value.is_null() {
            return Err(wrong("it is no mapping".to_owned()));
        }
        let field = |name: &str| value.get(name).and_then(Json::as_str).unwrap_or_default();
        Ok(Self::new(
            field("aws_access_key_id"),
            field("aws_secret_access_key"),
            field("aws_session_token"),
        ))
    }

    /// The keys in an answer of the token service.
    fn of_session(answer: &str) -> Option<Self> {
        let field = |name: &str| {
            let (_, after) = answer.split_once(&format!("<{name}>"))?;
            after.split_once(&format!("</{name}>")).map(|(value, _)| value)
        };
        Some(Self::new(field("AccessKeyId")?, field("SecretAccessKey")?, field("SessionToken")?))
    }

    /// The keys of the session in which somebody with a token of a cluster takes on a role. Such a request
    /// needs no signature.
    pub async fn with_web_identity(
        http: &dyn Http,
        region: &str,
        role: &str,
        session: &str,
        token: &str,
    ) -> Result<Self, String> {
        let fields = [
            ("Action", "AssumeRoleWithWebIdentity"),
            ("RoleArn", role),
            ("RoleSessionName", session),
            ("Version", "2011-06-15"),
            ("WebIdentityToken", token),
        ];
        let request = Request::post(endpoint("sts", region)?)
            .header("Content-Type", "application/x-www-form-urlencoded")
            .body(form(&fields))
            .map_err(|error| error.to_string())?;
        ask_sts(http, "AssumeRoleWithWebIdentity", request).await
    }
}

/// A key of the service, with the data key that it encrypts.
pub(crate) struct AwsKmsKey<'k> {
    pub(crate) arn: &'k str,
    pub(crate) role: &'k str,
    pub(crate) context: &'k [(String, String)],
    pub(crate) enc: &'k str,
}

impl AwsKmsKey<'_> {
    /// The region that the key's name says.
    pub(crate) fn region(&self) -> Result<&str, String> {
        let wrong = || format!("no valid ARN found in '{}'", self.arn);
        let mut parts = self.arn.splitn(6, ':');
        let mut part = || parts.next().unwrap_or_default();
        let (arn, partition, service, region, account, resource) =
            (part(), part(), part(), part(), part(), part());
        let is_name = |text: &str| {
            !text.is_empty()
                && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
        };
        let is_key = ["key/", "alias/"]
            .iter()
            .any(|start| resource.strip_prefix(start).is_some_and(|rest| !rest.is_empty()));
        let is_number = !account.is_empty() && account.bytes().all(|byte| byte.is_ascii_digit());
        let fits = arn == "arn"
            && partition.starts_with("aws")
            && is_name(partition)
            && service == "kms"
            // It becomes part of a host's name.
            && is_name(region)
            && is_number
            && is_key;
        if fits { Ok(region) } else { Err(wrong()) }
    }

    /// Asks the service of the key's region.
    pub(crate) async fn decrypt(
        &self,
        keys: &AwsKeys,
        http: &dyn Http,
        now: Timestamp,
    ) -> Result<DataKey, String> {
        let sealed = STANDARD
            .decode(self.enc)
            .map_err(|error| format!("error base64-decoding encrypted data key: {error}"))?;
        let region = self.region()?;
        let taken;
        let keys = if self.role.is_empty() {
            keys
        } else {
            taken = self
                .assume(region, keys, http, now)
                .await
                .map_err(|problem| format!("failed to assume role '{}': {problem}", self.role))?;
            &taken
        };
        let context: serde_json::Map<String, Json> =
            self.context.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
        let mut body = json!({"CiphertextBlob": STANDARD.encode(sealed), "KeyId": self.arn});
        if !context.is_empty() {
            body["EncryptionContext"] = Json::Object(context);
        }
        let request = Request::post(endpoint("kms", region)?)
            .header("Content-Type", "application/x-amz-json-1.1")
            .header("X-Amz-Target", "TrentService.Decrypt")
            .body(body.to_string().into_bytes())
            .map_err(|error| error.to_string())?;
        self.ask(request, region, keys, http, now)
            .await
            .map_err(|problem| format!("failed to decrypt sops data key with AWS KMS: {problem}"))
    }

    async fn ask(
        &self,
        request: Request<Vec<u8>>,
        region: &str,
        keys: &AwsKeys,
        http: &dyn Http,
        now: Timestamp,
    ) -> Result<DataKey, String> {
        let signer = Signer { keys, region, service: "kms", now };
        let response = http.send(signer.sign(request)?).await?;
        let body: Json = serde_json::from_slice(response.body()).unwrap_or_default();
        let text = |field: &str| body.get(field).and_then(Json::as_str).unwrap_or_default();
        if !response.status().is_success() {
            let kind = text("__type").rsplit('#').next().unwrap_or_default();
            let message = [text("message"), text("Message")].concat();
            let id = response.headers().get("x-amzn-requestid");
            let id = id.and_then(|id| id.to_str().ok()).unwrap_or_default();
            return Err(format!(
                "operation error KMS: Decrypt, https response error StatusCode: {}, RequestID: {id}, {kind}: {message}",
                response.status().as_u16()
            ));
        }
        let plain = STANDARD.decode(text("Plaintext")).ok().filter(|plain| !plain.is_empty());
        plain.map(Redacted::new).ok_or_else(|| "the answer holds no plaintext".to_owned())
    }

    async fn assume(
        &self,
        region: &str,
        keys: &AwsKeys,
        http: &dyn Http,
        now: Timestamp,
    ) -> Result<AwsKeys, String> {
        let fields = [
            ("Action", "AssumeRole"),
            ("RoleArn", self.role),
            ("RoleSessionName", SESSION),
            ("Version", "2011-06-15"),
        ];
        let request = Request::post(endpoint("sts", region)?)
            .header("Content-Type", "application/x-www-form-urlencoded")
            .body(form(&fields))
            .map_err(|error| error.to_string())?;
        let signer = Signer { keys, region, service: "sts", now };
        ask_sts(http, "AssumeRole", signer.sign(request)?).await
    }
}

/// Where a service of a region listens.
fn endpoint(service: &str, region: &str) -> Result<String, String> {
    let is_region = !region.is_empty()
        && region.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    if !is_region {
        return Err(format!("'{region}' is no AWS region"));
    }
    let domain = match region.split('-').next() {
        Some("cn") => "amazonaws.com.cn",
        Some("eusc") => "amazonaws.eu",
        _ => "amazonaws.com",
    };
    Ok(format!("https://{service}.{region}.{domain}/"))
}

async fn ask_sts(
    http: &dyn Http,
    operation: &str,
    request: Request<Vec<u8>>,
) -> Result<AwsKeys, String> {
    let response = http.send(request).await?;
    let body = String::from_utf8_lossy(response.body());
    let field = |name: &str| {
        let after = body.split_once(&format!("<{name}>")).map(|(_, after)| after);
        after.and_then(|after| after.split_once('<')).map_or("", |(value, _)| value).to_owned()
    };
    if !response.status().is_success() {
        return Err(format!(
            "operation error STS: {operation}, https response error StatusCode: {}, RequestID: {}, api error {}: {}",
            response.status().as_u16(),
            field("RequestId"),
            field("Code"),
            field("Message")
        ));
    }
    AwsKeys::of_session(&body).ok_or_else(|| "the answer holds no credentials".to_owned())
}

#[cfg(test)]
mod tests;
