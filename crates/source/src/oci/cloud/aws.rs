//! Amazon: ECR issues a password for a signed request.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use http::Request;
use jiff::Timestamp;
use regex::Regex;
use serde_json::Value;
use sluice_cloud::aws::{AwsKeys, Signer};
use sluice_cloud::{CloudError, CloudIdentity, Lasting};

use super::{credentials, no_login, no_token};
use crate::oci::credentials::Credentials;

const REGISTRY: &str = r"^([0-9]{12})\.dkr[.-]ecr(?:-fips)?\.([a-zA-Z0-9][a-zA-Z0-9_-]{0,99})\.(amazonaws\.(?:com(?:\.cn)?|eu)|on\.(?:aws|amazonwebservices\.com\.cn)|sc2s\.sgov\.gov|c2s\.ic\.gov|cloud\.adc-e\.uk|csp\.hci\.ic\.gov)$";
/// The hosts of public repositories, and the region that issues passwords for them.
const PUBLIC: [&str; 2] = ["public.ecr.aws", "ecr-public.aws.com"];
const PUBLIC_REGION: &str = "us-east-1";
const JSON: &str = "application/x-amz-json-1.1";

/// The service that issues passwords.
struct Service {
    name: &'static str,
    target: &'static str,
    variable: &'static str,
}

const PRIVATE_SERVICE: Service = Service {
    name: "ecr",
    target: "AmazonEC2ContainerRegistry_V20150921.GetAuthorizationToken",
    variable: "AWS_ENDPOINT_URL_ECR",
};
const PUBLIC_SERVICE: Service = Service {
    name: "ecr-public",
    target: "SpencerFrontendService.GetAuthorizationToken",
    variable: "AWS_ENDPOINT_URL_ECR_PUBLIC",
};

pub(super) async fn log_in(
    identity: &CloudIdentity,
    registry: &str,
) -> Result<Credentials, CloudError> {
    let is_public = PUBLIC.contains(&registry);
    let region = if is_public { PUBLIC_REGION.to_owned() } else { region_of(registry)? };
    let keys = identity.aws(&region, "").await.map_err(no_token)?.value;
    let service = if is_public { PUBLIC_SERVICE } else { PRIVATE_SERVICE };
    let purpose = [
        (service.name, region.as_str()),
        ("key", keys.access_key()),
        ("token", keys.session_token()),
    ];
    let login = service.ask(identity, &keys, &region);
    identity.cached(&purpose, login).await.map_err(no_login)
}

impl Service {
    async fn ask(
        &self,
        identity: &CloudIdentity,
        keys: &AwsKeys,
        region: &str,
    ) -> Result<Lasting<Credentials>, CloudError> {
        let asking = identity.asking();
        let suffix = if region.starts_with("cn-") { "amazonaws.com.cn" } else { "amazonaws.com" };
        let usual = format!("https://api.{}.{region}.{suffix}", self.name);
        let url = format!("{}/", asking.environment.address(self.variable, &usual));
        let request = Request::post(&url)
            .header("content-type", JSON)
            .header("x-amz-target", self.target)
            .body(b"{}".to_vec())
            .map_err(|error| CloudError(format!("POST {url}: {error}")))?;
        let signer = Signer { keys, region, service: self.name, now: asking.now };
        let answer = asking.http.send(signer.sign(request)?).await;
        let answer = answer.map_err(|error| CloudError(format!("POST {url}: {error}")))?;
        if !answer.status().is_success() {
            let text = String::from_utf8_lossy(answer.body());
            let shown: String = text.chars().take(512).collect();
            return Err(CloudError(format!("POST {url}: {} {shown}", answer.status())));
        }
        read(&serde_json::from_slice(answer.body()).unwrap_or_default())
    }
}

fn region_of(registry: &str) -> Result<String, CloudError> {
    let expression = Regex::new(REGISTRY).map_err(|error| CloudError(error.to_string()))?;
    let found = expression.captures(registry).and_then(|found| found.get(2));
    found.map(|region| region.as_str().to_owned()).ok_or_else(|| {
        CloudError(format!("invalid AWS registry: '{registry}'. must match {REGISTRY}"))
    })
}

/// The password in a response; for public repositories it is not in a list.
fn read(answer: &Value) -> Result<Lasting<Credentials>, CloudError> {
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
    Ok(Lasting { value: credentials(username, password), until })
}

/// Whole seconds.
#[expect(clippy::cast_possible_truncation, reason = "a fraction is what is to be cut off")]
fn whole(seconds: f64) -> i64 {
    seconds as i64
}
