//! Where Amazon's keys come from, in the order in which its libraries look: variables, a role for a token
//! (IRSA), the pod's agent (Pod Identity), the machine.

use http::Method;
use serde_json::Value;

use crate::git::AwsCredentials;
use crate::oci::cloud::{Asking, CloudError, text};
use crate::oci::session::encoded;

/// How long the machine's token for its own keys is good, in seconds.
const MACHINE_TOKEN: &str = "300";

/// Keys of who runs here.
pub(super) async fn find(asking: &Asking<'_>, region: &str) -> Result<AwsCredentials, CloudError> {
    let environment = asking.environment();
    if let (Some(access), Some(secret)) =
        (environment.get("AWS_ACCESS_KEY_ID"), environment.get("AWS_SECRET_ACCESS_KEY"))
    {
        return Ok(AwsCredentials {
            access_key: access.to_owned(),
            secret_key: secret.to_owned(),
            session_token: environment.get("AWS_SESSION_TOKEN").unwrap_or_default().to_owned(),
        });
    }
    if let (Some(role), Some(file)) =
        (environment.get("AWS_ROLE_ARN"), environment.get("AWS_WEB_IDENTITY_TOKEN_FILE"))
    {
        return of_role(asking, region, role, file).await;
    }
    let relative = environment.get("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
    let full = environment.get("AWS_CONTAINER_CREDENTIALS_FULL_URI").map(ToOwned::to_owned);
    if let Some(url) = relative.map(|path| format!("http://169.254.170.2{path}")).or(full) {
        return of_pod(asking, &url).await;
    }
    of_machine(asking).await
}

/// The keys of a role, for a token that Kubernetes gave.
async fn of_role(
    asking: &Asking<'_>,
    region: &str,
    role: &str,
    file: &str,
) -> Result<AwsCredentials, CloudError> {
    let environment = asking.environment();
    let token = environment.file(file)?;
    let session = environment.get("AWS_ROLE_SESSION_NAME").unwrap_or("sluice");
    let suffix = if region.starts_with("cn-") { "amazonaws.com.cn" } else { "amazonaws.com" };
    let endpoint = format!("https://sts.{region}.{suffix}");
    let endpoint = environment.address("AWS_ENDPOINT_URL_STS", &endpoint);
    let form = format!(
        "Action=AssumeRoleWithWebIdentity&Version=2011-06-15&RoleArn={}&RoleSessionName={}&WebIdentityToken={}",
        encoded(role),
        encoded(session),
        encoded(token.trim())
    );
    let headers =
        [("content-type", "application/x-www-form-urlencoded"), ("accept", "application/json")];
    let answer = asking.send(Method::POST, &format!("{endpoint}/"), &headers, form).await?;
    let answer = String::from_utf8_lossy(&answer).into_owned();
    let part = |name: &str| {
        // The answer is XML, or JSON where the server heeds what we accept.
        let xml =
            answer.split_once(&format!("<{name}>")).and_then(|(_, rest)| rest.split_once("</"));
        let xml = xml.map(|(value, _)| value.to_owned());
        let json = || {
            let read: Value = serde_json::from_str(&answer).ok()?;
            let at = format!(
                "/AssumeRoleWithWebIdentityResponse/AssumeRoleWithWebIdentityResult/Credentials/{name}"
            );
            Some(read.pointer(&at)?.as_str()?.to_owned())
        };
        xml.or_else(json).ok_or_else(|| CloudError(format!("the answer lacks {name}")))
    };
    Ok(AwsCredentials {
        access_key: part("AccessKeyId")?,
        secret_key: part("SecretAccessKey")?,
        session_token: part("SessionToken")?,
    })
}

/// The keys that the agent of the pod gives.
async fn of_pod(asking: &Asking<'_>, url: &str) -> Result<AwsCredentials, CloudError> {
    let environment = asking.environment();
    let file = environment.get("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
    let token = match file {
        Some(file) => environment.file(file)?.trim().to_owned(),
        None => environment.get("AWS_CONTAINER_AUTHORIZATION_TOKEN").unwrap_or_default().to_owned(),
    };
    let headers = [("authorization", token.as_str())];
    let headers = if token.is_empty() { &[][..] } else { &headers[..] };
    read(&asking.json(Method::GET, url, headers, String::new()).await?)
}

/// The keys that the machine gives.
async fn of_machine(asking: &Asking<'_>) -> Result<AwsCredentials, CloudError> {
    let host =
        asking.environment().address("AWS_EC2_METADATA_SERVICE_ENDPOINT", "http://169.254.169.254");
    let lifetime = [("x-aws-ec2-metadata-token-ttl-seconds", MACHINE_TOKEN)];
    let url = format!("{host}/latest/api/token");
    let token = asking.send(Method::PUT, &url, &lifetime, String::new()).await?;
    let token = String::from_utf8_lossy(&token).into_owned();
    let headers = [("x-aws-ec2-metadata-token", token.trim())];
    let list = format!("{host}/latest/meta-data/iam/security-credentials/");
    let roles = asking.send(Method::GET, &list, &headers, String::new()).await?;
    let roles = String::from_utf8_lossy(&roles).into_owned();
    let role = roles.lines().next().unwrap_or_default().trim();
    let url = format!("{list}{role}");
    read(&asking.json(Method::GET, &url, &headers, String::new()).await?)
}

fn read(answer: &Value) -> Result<AwsCredentials, CloudError> {
    Ok(AwsCredentials {
        access_key: text(answer, "/AccessKeyId")?.to_owned(),
        secret_key: text(answer, "/SecretAccessKey")?.to_owned(),
        session_token: text(answer, "/Token")?.to_owned(),
    })
}
