//! Where a bucket is and what it is opened with: the spec and its Secrets, checked as Flux checks them.

use reqwest::Url;
use serde_json::Value;
use sluice_api::names::reasons::{
    AUTHENTICATION_FAILED, FEATURE_GATE_DISABLED, INVALID_STS_CONFIGURATION, URL_INVALID,
};
use sluice_api::shared::reference::LocalObjectReference;
use sluice_api::source::bucket::{BucketProvider, BucketSts, StsProvider};
use sluice_runtime::outcome::Stop;
use sluice_source::bucket::{BucketAddress, BucketAuth, BucketHost};
use sluice_source::http::{HttpOptions, TlsOptions};

use super::{BucketPass, Buckets};
use crate::sourcing::{Data, NO_ACCOUNTS, fetch_failed, stalled};

/// The fields of a Secret for Azure; one of them has to be there.
const AZURE_FIELDS: [&str; 4] = ["clientId", "accountKey", "sasKey", "authorityHost"];

impl Buckets {
    /// Where the bucket is, with everything that opens it.
    pub(super) async fn address(&self, pass: &BucketPass<'_>) -> Result<BucketAddress, Stop> {
        let spec = &pass.object.spec;
        let provider = spec.provider.clone().unwrap_or(BucketProvider::Generic);
        let named = spec.service_account_name.as_deref().unwrap_or_default();
        if provider != BucketProvider::Generic && !self.may_name_account(named) {
            return Err(stalled(FEATURE_GATE_DISABLED, NO_ACCOUNTS));
        }
        let refused = |message: String| fetch_failed(AUTHENTICATION_FAILED, message);
        let secret = self.data(pass, spec.secret_ref.as_ref(), "secret").await?;
        let sts = spec.sts.as_ref();
        let sts_secret_ref = sts.and_then(|sts| sts.secret_ref.as_ref());
        let sts_secret = self.data(pass, sts_secret_ref, "STS secret").await?;
        let proxy = match &spec.proxy_secret_ref {
            Some(secret) => Some(
                self.proxy(pass, &secret.name)
                    .await
                    .map_err(|error| refused(format!("failed to get proxy URL: {error}")))?,
            ),
            None => None,
        };
        let tls = self.trust(pass, spec.cert_secret_ref.as_ref(), "TLS config").await?;
        let sts_certificate = sts.and_then(|sts| sts.cert_secret_ref.as_ref());
        let sts_tls = self.trust(pass, sts_certificate, "STS TLS config").await?;

        let name = spec.secret_ref.as_ref().map(|it| it.name.as_str()).unwrap_or_default();
        if let Some(data) = &secret {
            check_secret(&provider, name, data).map_err(refused)?;
        }
        let identity = self.cloud_identity(pass, Some(named));
        let mut auth = BucketAuth::Ambient;
        if let Some(data) = secret {
            auth = BucketAuth::Secret { name: name.to_owned(), data };
        }
        if let Some(sts) = sts.filter(|_| has_keys(&provider)) {
            check_sts(&provider, sts)?;
            if let (StsProvider::Ldap, Some(data)) = (&sts.provider, &sts_secret) {
                let name = sts_secret_ref.map(|it| it.name.as_str()).unwrap_or_default();
                check_sts_secret(name, data).map_err(refused)?;
            }
            if auth == BucketAuth::Ambient && sts.provider == StsProvider::Ldap {
                let text = |key: &str| {
                    let value = sts_secret.as_ref().and_then(|data| data.get(key));
                    value.map(|it| String::from_utf8_lossy(it).into_owned()).unwrap_or_default()
                };
                let (username, password) = (text("username"), text("password").into());
                let endpoint = sts.endpoint.clone();
                auth = BucketAuth::Ldap { endpoint, username, password, tls: sts_tls };
            }
        }
        Ok(BucketAddress {
            host: match provider {
                BucketProvider::Aws => BucketHost::Aws,
                BucketProvider::Gcp => BucketHost::Gcp,
                BucketProvider::Azure => BucketHost::Azure,
                _ => BucketHost::Generic,
            },
            endpoint: spec.endpoint.clone(),
            bucket: spec.bucket_name.clone(),
            region: spec.region.clone().unwrap_or_default(),
            insecure: spec.insecure.unwrap_or(false),
            auth,
            identity: Some(identity),
            sts_endpoint: sts.map(|sts| sts.endpoint.clone()).unwrap_or_default(),
            http: HttpOptions { tls, proxy, ..HttpOptions::default() },
        })
    }

    /// The data of a Secret, if one is named.
    async fn data(
        &self,
        pass: &BucketPass<'_>,
        secret: Option<&LocalObjectReference>,
        what: &str,
    ) -> Result<Option<Data>, Stop> {
        let Some(secret) = secret else { return Ok(None) };
        let data = self.secret(pass, &secret.name).await.map_err(|error| {
            let (namespace, name) = (&pass.key.namespace, &secret.name);
            let message = format!("failed to get {what} '{namespace}/{name}': {error}");
            fetch_failed(AUTHENTICATION_FAILED, message)
        })?;
        Ok(Some(data))
    }

    /// Trust and client certificate, if a Secret with them is named.
    async fn trust(
        &self,
        pass: &BucketPass<'_>,
        secret: Option<&LocalObjectReference>,
        what: &str,
    ) -> Result<TlsOptions, Stop> {
        let Some(secret) = secret else { return Ok(TlsOptions::default()) };
        self.tls(pass, &secret.name).await.map_err(|error| {
            fetch_failed(AUTHENTICATION_FAILED, format!("failed to get {what}: {error}"))
        })
    }
}

/// Whether a provider is opened with keys, and knows services for temporary ones.
fn has_keys(provider: &BucketProvider) -> bool {
    matches!(provider, BucketProvider::Generic | BucketProvider::Aws)
}

/// Whether a Secret has what the provider needs.
fn check_secret(provider: &BucketProvider, name: &str, data: &Data) -> Result<(), String> {
    match provider {
        BucketProvider::Gcp => check_service_account(name, data),
        BucketProvider::Azure => {
            if AZURE_FIELDS.iter().any(|field| data.contains_key(*field)) {
                return Ok(());
            }
            Err(format!(
                "invalid '{name}' secret data: requires a 'clientId' or 'accountKey' field, a combination of 'tenantId', 'clientId' and 'clientSecret', or 'tenantId', 'clientId' and 'clientCertificate'"
            ))
        }
        _ => {
            if data.contains_key("accesskey") && data.contains_key("secretkey") {
                return Ok(());
            }
            Err(format!(
                "invalid '{name}' secret data: required fields 'accesskey' and 'secretkey'"
            ))
        }
    }
}

/// Only keys of service accounts are taken: other kinds of credentials name programs and addresses.
fn check_service_account(name: &str, data: &Data) -> Result<(), String> {
    let invalid = |why: &str| Err(format!("invalid '{name}' secret data: {why}"));
    let Some(key) = data.get("serviceaccount") else {
        return invalid("required fields 'serviceaccount'");
    };
    let Ok(key) = serde_json::from_slice::<Value>(key) else {
        return invalid("failed to parse 'serviceaccount' as JSON");
    };
    if key.get("type").and_then(Value::as_str) != Some("service_account") {
        return invalid(
            "'serviceaccount' must contain a service account key with 'type' set to 'service_account'",
        );
    }
    Ok(())
}

/// Whether the service for temporary credentials goes with the provider.
fn check_sts(provider: &BucketProvider, sts: &BucketSts) -> Result<(), Stop> {
    let (provider, service) = (provider.as_str(), sts.provider.as_str());
    let wrong = match (provider, service) {
        ("aws", "aws") if sts.secret_ref.is_some() => {
            Some(format!("spec.sts.secretRef is not required for the '{service}' STS provider"))
        }
        ("aws", "aws") if sts.cert_secret_ref.is_some() => {
            Some(format!("spec.sts.certSecretRef is not required for the '{service}' STS provider"))
        }
        ("aws", "aws") | ("generic", "ldap") => None,
        _ => Some(format!(
            "STS provider '{service}' is not supported for '{provider}' bucket provider"
        )),
    };
    if let Some(message) = wrong {
        return Err(stalled(INVALID_STS_CONFIGURATION, message));
    }
    let endpoint = &sts.endpoint;
    Url::parse(endpoint).map(drop).map_err(|error| {
        let message = format!("failed to parse STS endpoint '{endpoint}': {error}");
        stalled(URL_INVALID, message)
    })
}

fn check_sts_secret(name: &str, data: &Data) -> Result<(), String> {
    let has = |key: &str| data.get(key).is_some_and(|value| !value.is_empty());
    if has("username") && has("password") {
        return Ok(());
    }
    Err(format!(
        "invalid '{name}' secret data for 'ldap' STS provider: required fields username, password"
    ))
}

#[cfg(test)]
mod tests {
    use sluice_api::source::bucket::{BucketProvider, BucketSts, StsProvider};

    use super::{Data, Stop, check_secret, check_sts, check_sts_secret};

    fn data(pairs: &[(&str, &str)]) -> Data {
        pairs.iter().map(|(name, text)| ((*name).to_owned(), text.as_bytes().to_vec())).collect()
    }

    #[test]
    fn secrets_have_what_their_provider_needs() {
        use BucketProvider::{Aws, Azure, Gcp, Generic};
        let key = r#"{"type": "service_account"}"#;
        let user = r#"{"type": "authorized_user"}"#;
        let keys = &[("accesskey", "a"), ("secretkey", "b")][..];
        for (provider, fields, expected) in [
            (Generic, keys, true),
            (Aws, keys, true),
            (Aws, &keys[..1], false),
            (Gcp, &[("serviceaccount", key)], true),
            (Gcp, &[("serviceaccount", user)], false),
            (Gcp, &[("serviceaccount", "{")], false),
            (Gcp, keys, false),
            (Azure, &[("clientId", "x")], true),
            (Azure, &[("sasKey", "x")], true),
            (Azure, &[("tenantId", "x")], false),
        ] {
            let result = check_secret(&provider, "s", &data(fields));
            assert_eq!(result.is_ok(), expected, "{provider:?} {result:?}");
        }
        assert!(check_sts_secret("s", &data(&[("username", "a"), ("password", "b")])).is_ok());
        assert!(check_sts_secret("s", &data(&[("username", "a"), ("password", "")])).is_err());
    }

    #[test]
    fn services_for_credentials_go_with_their_provider() {
        use BucketProvider::{Aws, Generic};
        let sts = |provider, endpoint: &str| BucketSts {
            endpoint: endpoint.to_owned(),
            provider,
            ..BucketSts::default()
        };
        let why = |provider, sts| match check_sts(&provider, &sts) {
            Err(Stop::Failed(failure)) if failure.stalls() => failure.reason,
            Err(_) => "other".to_owned(),
            Ok(()) => String::new(),
        };
        let url = "https://sts.test";
        assert_eq!(why(Aws, sts(StsProvider::Aws, url)), "");
        assert_eq!(why(Generic, sts(StsProvider::Ldap, url)), "");
        assert_eq!(why(Generic, sts(StsProvider::Aws, url)), "InvalidSTSConfiguration");
        assert_eq!(why(Aws, sts(StsProvider::Ldap, url)), "InvalidSTSConfiguration");
        assert_eq!(why(Generic, sts(StsProvider::Ldap, "https://[")), "URLInvalid");
    }
}
