//! Object stores on the network: the protocol and the credentials of each provider.

use std::sync::Arc;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use object_store::aws::AwsCredential;
use object_store::azure::{AzureAccessKey, AzureCredential};
use reqwest::Url;
use sluice_base::redacted::SecretData;
use sluice_cloud::azure::AzureCredentials;
use sluice_cloud::gcp::GcpCredentials;
use sluice_cloud::{CloudIdentity, CloudService};

use super::azure::{Access, Asked, Container};
use super::gcs::{Credentials, Gcs};
use super::s3::{self, Login, S3};
use super::wire::{Wire, is_printable};
use super::{
    BucketAddress, BucketAuth, BucketError, BucketHost, BucketReader, BucketTransport, encoded,
};
use crate::http::HttpOptions;
use crate::network::{Network, Purpose};

/// The address of Google's API.
const GOOGLE: &str = "https://storage.googleapis.com";

type Data = SecretData;

/// Opens object stores over the network.
#[derive(Clone)]
pub struct BucketNetwork {
    network: Network,
}

impl BucketNetwork {
    /// Buckets on the network.
    pub fn new(network: Network) -> Self {
        Self { network }
    }

    fn wire(&self, options: &HttpOptions) -> Result<Wire, BucketError> {
        let client = self.network.client(Purpose::Spec, options);
        Ok(Wire::new(client.map_err(|error| BucketError(error.to_string()))?))
    }

    async fn s3(&self, address: &BucketAddress) -> Result<S3, BucketError> {
        let wire = self.wire(&address.http)?;
        if address.endpoint.split_once('/').is_some_and(|(_, path)| !path.is_empty()) {
            return Err(BucketError::new("Endpoint url cannot have fully qualified paths."));
        }
        let login = match &address.auth {
            BucketAuth::Secret { name, data } => {
                keys(name, data)?.map_or(Login::Anonymous, |keys| Login::Keys(Arc::new(keys)))
            }
            BucketAuth::Ldap { endpoint, username, password, tls } => {
                let proxy = address.http.proxy.clone();
                let service =
                    self.wire(&HttpOptions { tls: tls.clone(), proxy, ..HttpOptions::default() })?;
                let (username, password) = (username.clone(), password.clone());
                Login::Ldap { service, endpoint: endpoint.clone(), username, password }
            }
            BucketAuth::Ambient if address.host == BucketHost::Aws => {
                check_carrier(address, CloudService::AmazonS3, &s3::base(address))?;
                let (region, sts) = (&address.region, &address.sts_endpoint);
                let found = identity_of(address)?
                    .aws(region, sts)
                    .await
                    .map_err(|error| BucketError(format!("AWS authentication failed: {error}")))?;
                let keys = found.value;
                let token = Some(keys.session_token().to_owned());
                Login::Keys(Arc::new(AwsCredential {
                    key_id: keys.access_key().to_owned(),
                    secret_key: keys.secret_key().to_owned(),
                    token: token.filter(|token| !token.is_empty()),
                }))
            }
            BucketAuth::Ambient => Login::Anonymous,
        };
        Ok(S3::new(wire, address, login))
    }

    fn gcs(&self, address: &BucketAddress) -> Result<Gcs, BucketError> {
        let wire = self.wire(&address.http)?;
        let identity = identity_of(address)?.clone();
        let teller = if let BucketAuth::Secret { data, .. } = &address.auth {
            let key = text(data, "serviceaccount");
            let credentials = GcpCredentials::read(key.as_bytes()).map_err(|error| {
                BucketError(format!("failed to create Google credentials from secret: {error}"))
            })?;
            Credentials::Secret(credentials, identity.clone())
        } else {
            let tls = &address.http.tls;
            tls.check_for_cloud().map_err(|error| BucketError(error.to_string()))?;
            Credentials::Identity(identity.clone())
        };
        let emulator = identity.asking().environment.get("STORAGE_EMULATOR_HOST").map(|host| {
            if host.contains("://") { host.to_owned() } else { format!("http://{host}") }
        });
        let host = emulator.unwrap_or_else(|| GOOGLE.to_owned());
        let bucket = encoded(&address.bucket, b"");
        let base = format!("{}/storage/v1/b/{bucket}", host.trim_end_matches('/'));
        Ok(Gcs::new(wire, base, teller))
    }

    fn azure(&self, address: &BucketAddress) -> Result<Container, BucketError> {
        let wire = self.wire(&address.http)?;
        let endpoint = address.endpoint.trim_end_matches('/');
        let account = account_of(endpoint);
        let access = match &address.auth {
            BucketAuth::Secret { name, data } if !data.is_empty() => {
                azure_access(address, name, data)?
            }
            _ => Access::asked(Asked::Identity(identity_of(address)?.clone())),
        };
        if access.is_of_controllers() {
            check_carrier(address, CloudService::AzureBlobs, endpoint)?;
        }
        let base = format!("{endpoint}/{}", encoded(&address.bucket, b""));
        Ok(Container { wire, base, account, access })
    }
}

/// Fails if a cloud token may not be sent to an address of a tenant's choice, over its proxy.
fn check_carrier(
    address: &BucketAddress,
    service: CloudService,
    target: &str,
) -> Result<(), BucketError> {
    // Parsed as it is when connecting.
    let uri: http::Uri = target
        .parse()
        .map_err(|error| BucketError(format!("failed to parse '{target}': {error}")))?;
    let (scheme, host) = (uri.scheme_str().unwrap_or_default(), uri.host().unwrap_or_default());
    identity_of(address)?
        .check_host(service, scheme, host, uri.port_u16())
        .map_err(|error| BucketError(error.to_string()))?;
    if scheme != "https" && address.http.proxy.is_some() {
        return Err(BucketError::new(
            "a token of the cloud is not sent through a proxy without TLS",
        ));
    }
    address.http.tls.check_for_cloud().map_err(|error| BucketError(error.to_string()))
}

/// The cloud identity of an address.
fn identity_of(address: &BucketAddress) -> Result<&CloudIdentity, BucketError> {
    address
        .identity
        .as_ref()
        .ok_or_else(|| BucketError::new("no cloud identity is configured for the bucket"))
}

/// The credentials in a Secret, in Flux's order of precedence; those of the identity if it has none.
fn azure_access(address: &BucketAddress, name: &str, data: &Data) -> Result<Access, BucketError> {
    let has = |field: &str| data.get(field).is_some_and(|value| !value.is_empty());
    let value = |field: &str| text(data, field);
    // The fields of legacy applications are not supported in Secrets of buckets.
    let field = |field: &str| match field {
        "tenant" | "appId" | "password" => String::new(),
        known => value(known),
    };
    let sends_chain = matches!(value("clientCertificateSendChain").as_str(), "1" | "true");
    let credentials = AzureCredentials::of(field, sends_chain).map_err(|error| {
        BucketError(format!("failed to create token credential from '{name}' Secret: {error}"))
    })?;
    if let Some(credentials) = credentials {
        let identity = identity_of(address)?.clone();
        return Ok(Access::asked(Asked::Secret(credentials, identity)));
    }
    if has("accountKey") {
        let key = AzureAccessKey::try_new(value("accountKey").trim()).map_err(|_| {
            BucketError(format!(
                "failed to create shared credential from '{name}' Secret data: the key is not base64"
            ))
        })?;
        return Ok(Access::Given(Arc::new(AzureCredential::AccessKey(key))));
    }
    if has("sasKey") {
        let key = value("sasKey");
        let query = format!("http://sas/?{}", key.trim().trim_start_matches('?'));
        let url = Url::parse(&query).map_err(|_| BucketError::new("unable to parse SAS token"))?;
        let pairs = url.query_pairs();
        let pairs = pairs.map(|(name, value)| (name.into_owned(), value.into_owned()));
        return Ok(Access::Given(Arc::new(AzureCredential::SASToken(pairs.collect()))));
    }
    Ok(Access::asked(Asked::Identity(identity_of(address)?.clone())))
}

impl BucketTransport for BucketNetwork {
    fn open<'a>(
        &'a self,
        address: &'a BucketAddress,
    ) -> BoxFuture<'a, Result<Box<dyn BucketReader>, BucketError>> {
        async move {
            Ok(match address.host {
                BucketHost::Gcp => Box::new(self.gcs(address)?) as Box<dyn BucketReader>,
                BucketHost::Azure => Box::new(self.azure(address)?),
                BucketHost::Generic | BucketHost::Aws => Box::new(self.s3(address).await?),
            })
        }
        .boxed()
    }
}

fn text(data: &Data, field: &str) -> String {
    data.get(field).map(|value| String::from_utf8_lossy(value).into_owned()).unwrap_or_default()
}

/// The keys in a Secret; with empty ones requests are not signed.
fn keys(name: &str, data: &Data) -> Result<Option<AwsCredential>, BucketError> {
    let (key_id, secret_key) = (text(data, "accesskey"), text(data, "secretkey"));
    if key_id.is_empty() || secret_key.is_empty() {
        return Ok(None);
    }
    if !is_printable(&key_id) {
        return Err(BucketError(format!(
            "invalid '{name}' secret data: 'accesskey' holds characters that cannot be sent"
        )));
    }
    Ok(Some(AwsCredential { key_id, secret_key, token: None }))
}

/// The storage account: the first label of the host, or the first path segment after an IP address.
fn account_of(endpoint: &str) -> String {
    let Ok(url) = Url::parse(endpoint) else { return String::new() };
    let mut labels = url.domain().unwrap_or_default().split('.');
    let mut parts = url.path_segments().into_iter().flatten();
    let account = if url.domain().is_some() { labels.next() } else { parts.next() };
    account.unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::account_of;

    #[test]
    fn the_account_is_in_the_address() {
        assert_eq!(account_of("https://acme.blob.core.windows.net"), "acme");
        assert_eq!(account_of("http://127.0.0.1:10000/devstore"), "devstore");
        assert_eq!(account_of("nonsense"), "");
    }
}
