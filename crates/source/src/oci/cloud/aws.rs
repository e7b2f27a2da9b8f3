//! Amazon: keys from the environment, a role, the pod or the machine sign a question to ECR, which gives
//! a password.

mod keys;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use http::Method;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use regex::Regex;
use ring::{digest, hmac};
use serde_json::Value;

use super::{Asking, CloudError, Login};
use crate::artifact::hex;
use crate::git::AwsCredentials;
use crate::oci::credentials::Credentials;

const REGISTRY: &str = r"^([0-9]{12})\.dkr[.-]ecr(?:-fips)?\.([a-zA-Z0-9][a-zA-Z0-9_-]{0,99})\.(amazonaws\.(?:com(?:\.cn)?|eu)|on\.(?:aws|amazonwebservices\.com\.cn)|sc2s\.sgov\.gov|c2s\.ic\.gov|cloud\.adc-e\.uk|csp\.hci\.ic\.gov)$";
/// The hosts of public repositories, and the region that issues passwords for them.
const PUBLIC: [&str; 2] = ["public.ecr.aws", "ecr-public.aws.com"];
const PUBLIC_REGION: &str = "us-east-1";
const JSON: &str = "application/x-amz-json-1.1";

/// Logs in with the identity of this pod or machine.
pub(super) async fn log_in(
    asking: &Asking<'_>,
    registry: &str,
    now: Timestamp,
) -> Result<Login, CloudError> {
    let is_public = PUBLIC.contains(&registry);
    let region = if is_public { PUBLIC_REGION.to_owned() } else { region_of(registry)? };
    let keys = keys::find(asking, &region).await.map_err(|error| {
        CloudError(format!(
            "failed to get access token for artifact registry: failed to create provider access token for the controller: {error}"
        ))
    })?;
    let failed = |error: CloudError| {
        CloudError(format!("failed to create artifact registry credentials: {error}"))
    };
    let (service, target, variable) = if is_public {
        (
            "ecr-public",
            "SpencerFrontendService.GetAuthorizationToken",
            "AWS_ENDPOINT_URL_ECR_PUBLIC",
        )
    } else {
        (
            "ecr",
            "AmazonEC2ContainerRegistry_V20150921.GetAuthorizationToken",
            "AWS_ENDPOINT_URL_ECR",
        )
    };
    let suffix = if region.starts_with("cn-") { "amazonaws.com.cn" } else { "amazonaws.com" };
    let endpoint = format!("https://api.{service}.{region}.{suffix}");
    let endpoint = asking.environment().address(variable, &endpoint);
    let question = Question { service, region: &region, target, body: "{}" };
    let answer = question.send(asking, &endpoint, &keys, now).await.map_err(failed)?;
    read(&answer).map_err(failed)
}

fn region_of(registry: &str) -> Result<String, CloudError> {
    let expression = Regex::new(REGISTRY).map_err(|error| CloudError(error.to_string()))?;
    let found = expression.captures(registry).and_then(|found| found.get(2));
    found.map(|region| region.as_str().to_owned()).ok_or_else(|| {
        CloudError(format!("invalid AWS registry: '{registry}'. must match {REGISTRY}"))
    })
}

/// The password in an answer; for public repositories there is no list around it.
fn read(answer: &Value) -> Result<Login, CloudError> {
    let bad = |message: &str| CloudError(message.to_owned());
    let data =
        answer.get("authorizationData").ok_or_else(|| bad("no authorization data returned"))?;
    let data = data.get(0).unwrap_or(data);
    let token = data.get("authorizationToken").and_then(Value::as_str);
    let token = token.ok_or_else(|| bad("authorization token is nil"))?;
    let decoded = BASE64_STANDARD.decode(token).ok().and_then(|it| String::from_utf8(it).ok());
    let decoded = decoded.ok_or_else(|| bad("failed to parse authorization token"))?;
    let (username, password) = decoded
        .split_once(':')
        .filter(|(_, password)| !password.contains(':'))
        .ok_or_else(|| bad("invalid authorization token format"))?;
    let until = data.get("expiresAt").and_then(|it| match it {
        Value::Number(seconds) => {
            seconds.as_f64().and_then(|it| Timestamp::from_second(whole(it)).ok())
        }
        Value::String(text) => text.parse().ok(),
        _ => None,
    });
    let until = until.ok_or_else(|| bad("authorization token expiration is nil"))?;
    let credentials = Credentials {
        username: username.to_owned(),
        password: password.to_owned(),
        ..Credentials::default()
    };
    Ok(Login { credentials, until })
}

/// Seconds without their fraction.
#[expect(clippy::cast_possible_truncation, reason = "a fraction is what is to be cut off")]
fn whole(seconds: f64) -> i64 {
    seconds as i64
}

/// A question in JSON to a service.
struct Question<'a> {
    service: &'a str,
    region: &'a str,
    target: &'a str,
    body: &'a str,
}

impl Question<'_> {
    async fn send(
        &self,
        asking: &Asking<'_>,
        endpoint: &str,
        keys: &AwsCredentials,
        now: Timestamp,
    ) -> Result<Value, CloudError> {
        let host = endpoint.split_once("://").map_or(endpoint, |(_, host)| host).to_owned();
        let moment = TimeZone::UTC.to_datetime(now).strftime("%Y%m%dT%H%M%SZ").to_string();
        let signature = self.signature(keys, &host, &moment);
        let mut headers = vec![
            ("content-type", JSON),
            ("x-amz-date", moment.as_str()),
            ("x-amz-target", self.target),
            ("authorization", signature.as_str()),
        ];
        if !keys.session_token.is_empty() {
            headers.push(("x-amz-security-token", keys.session_token.as_str()));
        }
        let url = format!("{endpoint}/");
        asking.json(Method::POST, &url, &headers, self.body.to_owned()).await
    }

    /// The header that shows that we have the keys (Signature Version 4).
    fn signature(&self, keys: &AwsCredentials, host: &str, moment: &str) -> String {
        let hashed = |text: &str| hex(digest::digest(&digest::SHA256, text.as_bytes()).as_ref());
        let token = &keys.session_token;
        let (session, signed) = if token.is_empty() {
            (String::new(), "content-type;host;x-amz-date;x-amz-target")
        } else {
            (
                format!("x-amz-security-token:{token}\n"),
                "content-type;host;x-amz-date;x-amz-security-token;x-amz-target",
            )
        };
        let target = self.target;
        let request = format!(
            "POST\n/\n\ncontent-type:{JSON}\nhost:{host}\nx-amz-date:{moment}\n{session}x-amz-target:{target}\n\n{signed}\n{}",
            hashed(self.body)
        );
        let date = moment.get(..8).unwrap_or_default();
        let scope = format!("{date}/{}/{}/aws4_request", self.region, self.service);
        let statement = format!("AWS4-HMAC-SHA256\n{moment}\n{scope}\n{}", hashed(&request));
        let mut key = format!("AWS4{}", keys.secret_key).into_bytes();
        for part in [date, self.region, self.service, "aws4_request", &statement] {
            let signing = hmac::Key::new(hmac::HMAC_SHA256, &key);
            key = hmac::sign(&signing, part.as_bytes()).as_ref().to_vec();
        }
        format!(
            "AWS4-HMAC-SHA256 Credential={}/{scope}, SignedHeaders={signed}, Signature={}",
            keys.access_key,
            hex(&key)
        )
    }
}
