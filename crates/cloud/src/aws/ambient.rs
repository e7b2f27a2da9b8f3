//! The default credential chain, in the order of Amazon's libraries: variables, a role for a token (IRSA), the
//! pod's agent (Pod Identity), the machine.

use http::Method;

use super::{AwsKeys, sts, sts_endpoint};
use crate::web::Marking;
use crate::{Asking, CloudError, Lasting};

/// The lifetime of the metadata service's session token, in seconds.
const MACHINE_TOKEN: &str = "300";
/// The error without a region.
const NO_REGION: &str = "AWS_REGION environment variable is not set in the Flux controller. if you have properly configured IAM Roles for Service Accounts (IRSA) or EKS Pod Identity, please delete/replace the controller pod so the EKS admission controllers can inject this environment variable, or set it manually if the cluster is not EKS";

/// Keys of this process.
pub(crate) async fn find(
    asking: &Asking<'_>,
    region: &str,
    endpoint: &str,
) -> Result<Lasting<AwsKeys>, CloudError> {
    let environment = asking.environment;
    let region = if region.is_empty() { environment.get("AWS_REGION") } else { Some(region) };
    let region = region.ok_or_else(|| CloudError(NO_REGION.to_owned()))?;
    // Validated even if it is not needed, as upstream does.
    let sts = sts_endpoint(asking, region, endpoint)?;
    let both = (environment.get("AWS_ACCESS_KEY_ID"), environment.get("AWS_SECRET_ACCESS_KEY"));
    if let (Some(access), Some(secret)) = both {
        let session = environment.get("AWS_SESSION_TOKEN").unwrap_or_default();
        // Their expiry is not known; they are read anew each time.
        return Ok(Lasting { value: AwsKeys::new(access, secret, session), until: asking.now });
    }
    let role = (environment.get("AWS_ROLE_ARN"), environment.get("AWS_WEB_IDENTITY_TOKEN_FILE"));
    if let (Some(role), Some(file)) = role {
        let token = environment.file(file)?;
        let session = environment.get("AWS_ROLE_SESSION_NAME").unwrap_or("sluice");
        return sts::with_web_identity(asking, &sts, role, session, token.trim()).await;
    }
    let relative = environment.get("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
    let full = environment.get("AWS_CONTAINER_CREDENTIALS_FULL_URI").map(ToOwned::to_owned);
    if let Some(url) = relative.map(|path| format!("http://169.254.170.2{path}")).or(full) {
        return of_pod(asking, &url).await;
    }
    of_machine(asking).await
}

/// Keys from the pod's agent.
async fn of_pod(asking: &Asking<'_>, url: &str) -> Result<Lasting<AwsKeys>, CloudError> {
    let marking = Marking(asking.http);
    let asking = &asking.of_machine(&marking);
    let environment = asking.environment;
    let token = match environment.get("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE") {
        Some(file) => environment.file(file)?.trim().to_owned(),
        None => environment.get("AWS_CONTAINER_AUTHORIZATION_TOKEN").unwrap_or_default().to_owned(),
    };
    let headers = [("authorization", token.as_str())];
    let headers = if token.is_empty() { &[][..] } else { &headers[..] };
    AwsKeys::of_agent(&asking.json(Method::GET, url, headers).await?, asking.now)
}

/// Keys from the metadata service.
async fn of_machine(asking: &Asking<'_>) -> Result<Lasting<AwsKeys>, CloudError> {
    let marking = Marking(asking.http);
    let asking = &asking.of_machine(&marking);
    let host =
        asking.environment.address("AWS_EC2_METADATA_SERVICE_ENDPOINT", "http://169.254.169.254");
    let lifetime = [("x-aws-ec2-metadata-token-ttl-seconds", MACHINE_TOKEN)];
    let token = asking.text(Method::PUT, &format!("{host}/latest/api/token"), &lifetime).await?;
    let headers = [("x-aws-ec2-metadata-token", token.trim())];
    let list = format!("{host}/latest/meta-data/iam/security-credentials/");
    let roles = asking.text(Method::GET, &list, &headers).await?;
    let role = roles.lines().next().unwrap_or_default().trim();
    let answer = asking.json(Method::GET, &format!("{list}{role}"), &headers).await?;
    AwsKeys::of_agent(&answer, asking.now)
}
