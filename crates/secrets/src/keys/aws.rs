//! AWS KMS, and its keys in a Secret.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::Request;
use serde_json::{Value as Json, json};
use sluice_base::redacted::Redacted;
use sluice_cloud::Asking;
use sluice_cloud::aws::{AwsKeys, Signer, endpoint};

use crate::cipher::DataKey;

/// The session name of assumed roles, which AWS' logs show.
const SESSION: &str = "sops@sluice";

/// Parses `sops.aws-kms` of a decryption Secret.
pub(crate) fn aws_keys(text: &[u8]) -> Result<AwsKeys, String> {
    let wrong = |reason: String| format!("failed to unmarshal AWS credentials file: {reason}");
    let value = sluice_yaml::to_json(text, sluice_yaml::Duplicates::LastWins);
    let value = value.map_err(|error| wrong(error.to_string()))?.unwrap_or_default();
    if !value.is_object() && !value.is_null() {
        return Err(wrong("it is no mapping".to_owned()));
    }
    let field = |name: &str| value.get(name).and_then(Json::as_str).unwrap_or_default();
    Ok(AwsKeys::new(
        field("aws_access_key_id"),
        field("aws_secret_access_key"),
        field("aws_session_token"),
    ))
}

/// A KMS key with the encrypted data key.
pub(crate) struct AwsKmsKey<'k> {
    pub(crate) arn: &'k str,
    pub(crate) role: &'k str,
    pub(crate) context: &'k [(String, String)],
    pub(crate) enc: &'k str,
}

impl AwsKmsKey<'_> {
    /// The region in the key's ARN.
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

    /// Decrypts with the service of the key's region.
    pub(crate) async fn decrypt(
        &self,
        keys: &AwsKeys,
        asking: &Asking<'_>,
    ) -> Result<DataKey, String> {
        let sealed = STANDARD
            .decode(self.enc)
            .map_err(|error| format!("error base64-decoding encrypted data key: {error}"))?;
        let region = self.region()?;
        let taken;
        let keys = if self.role.is_empty() {
            keys
        } else {
            taken = keys
                .assume(asking, region, self.role, SESSION)
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
        let request = Request::post(format!("{}/", endpoint(asking, "kms", "KMS", region)?))
            .header("Content-Type", "application/x-amz-json-1.1")
            .header("X-Amz-Target", "TrentService.Decrypt")
            .body(body.to_string().into_bytes())
            .map_err(|error| error.to_string())?;
        self.ask(request, region, keys, asking)
            .await
            .map_err(|problem| format!("failed to decrypt sops data key with AWS KMS: {problem}"))
    }

    async fn ask(
        &self,
        request: Request<Vec<u8>>,
        region: &str,
        keys: &AwsKeys,
        asking: &Asking<'_>,
    ) -> Result<DataKey, String> {
        let signer = Signer { keys, region, service: "kms", now: asking.now };
        let response = asking.http.send(signer.sign(request)?).await?;
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
}

#[cfg(test)]
mod tests;
