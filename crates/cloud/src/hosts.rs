//! Hosts with names that belong to a cloud's services. A token is sent to no other host.
//!
//! Names are compared by labels after the URL was parsed as for connecting, so that neither
//! `dev.azure.com.evil.test` nor `https://dev.azure.com@evil.test` matches Azure.

use std::fmt;
use std::str::FromStr;

use crate::CloudError;

/// A service of a cloud at an address of a tenant's choice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CloudService {
    /// Repositories of Azure DevOps.
    AzureRepos,
    /// Azure Blob Storage.
    AzureBlobs,
    /// Azure Key Vault and managed HSMs.
    AzureKeyVault,
    /// Amazon S3.
    AmazonS3,
}

/// The domains of Azure storage accounts, public and sovereign.
const BLOBS: [&str; 5] = [
    "blob.core.windows.net",
    "blob.core.chinacloudapi.cn",
    "blob.core.usgovcloudapi.net",
    "blob.core.cloudapi.de",
    "blob.storage.azure.net",
];
/// The domains of Azure vaults.
const VAULTS: [&str; 7] = [
    "vault.azure.net",
    "vault.azure.cn",
    "vault.usgovcloudapi.net",
    "vault.microsoftazure.de",
    "managedhsm.azure.net",
    "managedhsm.azure.cn",
    "managedhsm.usgovcloudapi.net",
];
/// The domains of Amazon. Machines that anybody can rent have names below them too, so a suffix proves nothing.
const AMAZON: [&str; 3] = ["amazonaws.com", "amazonaws.com.cn", "amazonaws.eu"];

impl CloudService {
    const fn name(self) -> &'static str {
        match self {
            Self::AzureRepos => "Azure DevOps",
            Self::AzureBlobs => "Azure Blob Storage",
            Self::AzureKeyVault => "Azure Key Vault",
            Self::AmazonS3 => "Amazon S3",
        }
    }

    fn owns(self, host: &str) -> bool {
        match self {
            Self::AzureRepos => host == "dev.azure.com" || is_below(host, "visualstudio.com", 1),
            Self::AzureBlobs => BLOBS.iter().any(|domain| is_below(host, domain, 2)),
            Self::AzureKeyVault => VAULTS.iter().any(|domain| is_below(host, domain, 1)),
            Self::AmazonS3 => is_s3(host),
        }
    }

    /// Fails unless a host belongs to the service, or the operator trusts it.
    pub(crate) fn check(
        self,
        scheme: &str,
        host: &str,
        port: Option<u16>,
        trusted: &[TrustedHost],
    ) -> Result<(), CloudError> {
        let host = host.to_ascii_lowercase();
        let is_own = scheme == "https" && self.owns(&host);
        if is_own || trusted.iter().any(|it| it.is(scheme, &host, port)) {
            return Ok(());
        }
        Err(CloudError(format!(
            "{scheme}://{host} is not known as a host of {}: no token of the cloud is sent there. for a private endpoint ask your cluster administrator for --cloud-hosts",
            self.name()
        )))
    }
}

/// Whether a host has at least one and at most so many labels below a domain.
fn is_below(host: &str, domain: &str, most: usize) -> bool {
    let below = host.strip_suffix(domain).and_then(|rest| rest.strip_suffix('.'));
    below.is_some_and(|below| {
        let labels: Vec<&str> = below.split('.').collect();
        labels.len() <= most && labels.iter().all(|label| is_label(label))
    })
}

fn is_label(label: &str) -> bool {
    let is_sign = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    !label.is_empty() && label.bytes().all(is_sign)
}

/// `[…].s3[-…][.dualstack][.REGION][.vpce].amazonaws.com`
fn is_s3(host: &str) -> bool {
    let below = AMAZON
        .iter()
        .find_map(|domain| host.strip_suffix(domain).and_then(|rest| rest.strip_suffix('.')));
    let Some(below) = below else { return false };
    let mut labels: Vec<&str> = below.split('.').collect();
    if !labels.iter().all(|label| is_label(label)) {
        return false;
    }
    if labels.last() == Some(&"vpce") {
        labels.pop();
    }
    if labels.last().is_some_and(|label| is_region(label)) {
        labels.pop();
    }
    if labels.last() == Some(&"dualstack") {
        labels.pop();
    }
    labels.last().is_some_and(|label| *label == "s3" || label.starts_with("s3-"))
}

/// Whether it is a region, such as `eu-west-1`.
fn is_region(label: &str) -> bool {
    let parts: Vec<&str> = label.split('-').collect();
    let is_word = |part: &&str| part.bytes().all(|byte| byte.is_ascii_lowercase());
    parts.len() >= 3
        && parts.last().is_some_and(|last| last.bytes().all(|byte| byte.is_ascii_digit()))
        && parts.iter().rev().skip(1).all(is_word)
}

/// A trusted host of the operator: `host`, `host:port`, or with a scheme. The default scheme is https.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrustedHost {
    scheme: String,
    host: String,
    port: Option<u16>,
}

impl TrustedHost {
    fn is(&self, scheme: &str, host: &str, port: Option<u16>) -> bool {
        self.scheme == scheme && self.host == host && (self.port.is_none() || self.port == port)
    }
}

impl fmt::Display for TrustedHost {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}://{}", self.scheme, self.host)?;
        self.port.map_or(Ok(()), |port| write!(formatter, ":{port}"))
    }
}

impl FromStr for TrustedHost {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("'{text}' is no host: HOST, HOST:PORT or http://HOST:PORT");
        let (scheme, place) = text.split_once("://").unwrap_or(("https", text));
        if !["http", "https"].contains(&scheme) {
            return Err(wrong());
        }
        let (host, port) = match place.rsplit_once(':') {
            Some((host, port)) => (host, Some(port.parse().map_err(|_| wrong())?)),
            None => (place, None),
        };
        let host = host.to_ascii_lowercase();
        if !host.split('.').all(is_label) {
            return Err(wrong());
        }
        Ok(Self { scheme: scheme.to_owned(), host, port })
    }
}

#[cfg(test)]
mod tests {
    use super::CloudService::{self, AmazonS3, AzureBlobs, AzureKeyVault, AzureRepos};
    use super::TrustedHost;

    fn is_proved(service: CloudService, scheme: &str, host: &str) -> bool {
        service.check(scheme, host, None, &[]).is_ok()
    }

    #[test]
    fn hosts_of_clouds_prove_themselves() {
        for (service, host) in [
            (AzureRepos, "dev.azure.com"),
            (AzureRepos, "DEV.azure.com"),
            (AzureRepos, "org.visualstudio.com"),
            (AzureBlobs, "acme.blob.core.windows.net"),
            (AzureBlobs, "acme.privatelink.blob.core.windows.net"),
            (AzureBlobs, "acme.z01.blob.storage.azure.net"),
            (AzureBlobs, "acme.blob.core.chinacloudapi.cn"),
            (AzureKeyVault, "acme.vault.azure.net"),
            (AzureKeyVault, "acme.managedhsm.azure.net"),
            (AmazonS3, "s3.amazonaws.com"),
            (AmazonS3, "s3.eu-west-1.amazonaws.com"),
            (AmazonS3, "s3-us-west-2.amazonaws.com"),
            (AmazonS3, "things.s3.dualstack.us-gov-west-1.amazonaws.com"),
            (AmazonS3, "s3.cn-north-1.amazonaws.com.cn"),
            (AmazonS3, "bucket.vpce-1a2b-5e6f.s3.us-east-1.vpce.amazonaws.com"),
        ] {
            assert!(is_proved(service, "https", host), "{host}");
            assert!(!is_proved(service, "http", host), "{host} over http");
        }
    }

    #[test]
    fn hosts_of_others_prove_nothing() {
        for (service, host) in [
            (AzureRepos, "evil.test"),
            (AzureRepos, "dev.azure.com.evil.test"),
            (AzureRepos, "dev.azure.com."),
            (AzureRepos, "evildev.azure.com"),
            (AzureRepos, "x.dev.azure.com"),
            (AzureRepos, "visualstudio.com"),
            (AzureRepos, "evilvisualstudio.com"),
            (AzureRepos, "a b.visualstudio.com"),
            (AzureRepos, ""),
            (AzureBlobs, "blob.core.windows.net"),
            (AzureBlobs, "acme.core.windows.net"),
            (AzureBlobs, "evil.test/x.blob.core.windows.net"),
            (AzureBlobs, "evil.test?.blob.core.windows.net"),
            (AzureKeyVault, "x.database.windows.net"),
            (AzureKeyVault, "evil.test"),
            (AzureKeyVault, "a.b.vault.azure.net"),
            (AmazonS3, "ec2-1-2-3-4.compute-1.amazonaws.com"),
            (AmazonS3, "s3-1234.us-east-1.elb.amazonaws.com"),
            (AmazonS3, "s3.vpce-svc-1.us-east-1.vpce.amazonaws.com"),
            (AmazonS3, "evil.test#s3.amazonaws.com"),
            (AmazonS3, "minio.test"),
            (AmazonS3, "amazonaws.com"),
        ] {
            assert!(!is_proved(service, "https", host), "{host}");
        }
    }

    #[test]
    fn the_operator_names_private_endpoints() {
        let trusted: Vec<TrustedHost> = ["git.corp.test", "http://127.0.0.1:10000"]
            .iter()
            .map(|text| text.parse().expect("a host"))
            .collect();
        let check =
            |scheme: &str, host: &str, port| AzureRepos.check(scheme, host, port, &trusted).is_ok();
        assert!(check("https", "git.corp.test", None) && check("https", "git.corp.test", Some(8)));
        assert!(!check("http", "git.corp.test", None) && !check("https", "x.git.corp.test", None));
        assert!(check("http", "127.0.0.1", Some(10000)));
        assert!(!check("http", "127.0.0.1", Some(80)) && !check("https", "127.0.0.1", Some(10000)));
        assert_eq!(trusted[1].to_string(), "http://127.0.0.1:10000");
        for wrong in ["", "a/b", "ftp://x", "x:y", "u@x", "*.test", "http://", "a..b"] {
            assert!(wrong.parse::<TrustedHost>().is_err(), "{wrong}");
        }
    }
}
