//! The Secrets that the specs of sources name, read as Flux reads them.

use k8s_openapi::api::core::v1::Secret;
use kube::Api;
use sluice_base::redacted::SecretData;
use sluice_runtime::pass::Pass;
use sluice_source::http::{Proxy, TlsOptions};

use super::{SourceController, SourceKind};

/// The data of a Secret.
pub(crate) type Data = SecretData;

/// The longest address of a proxy.
const LONGEST_PROXY: usize = 2048;
/// What proxies are spoken to with.
const PROXY_SCHEMES: [&str; 3] = ["http", "https", "socks5"];

impl<K: SourceKind> SourceController<K> {
    /// The data of a Secret beside the object; the error is what the API server said.
    pub(crate) async fn secret(&self, pass: &Pass<'_, K>, name: &str) -> Result<Data, String> {
        self.read(pass, name).await.map_err(|error| match error {
            kube::Error::Api(status) => status.message.clone(),
            other => other.to_string(),
        })
    }

    /// The data of a Secret that says how a connection is made.
    async fn connection_secret(&self, pass: &Pass<'_, K>, name: &str) -> Result<Data, String> {
        let namespace = &pass.key.namespace;
        self.read(pass, name).await.map_err(|error| match error {
            kube::Error::Api(status) if status.code == 404 => {
                format!("secret '{namespace}/{name}' not found")
            }
            kube::Error::Api(status) => {
                format!("failed to get secret '{namespace}/{name}': {}", status.message)
            }
            other => format!("failed to get secret '{namespace}/{name}': {other}"),
        })
    }

    async fn read(&self, pass: &Pass<'_, K>, name: &str) -> Result<Data, kube::Error> {
        let api: Api<Secret> = Api::namespaced(self.context.client.clone(), &pass.key.namespace);
        let data = api.get(name).await?.data.unwrap_or_default();
        Ok(data.into_iter().map(|(name, value)| (name, value.0)).collect())
    }

    /// The proxy that a Secret describes.
    pub(crate) async fn proxy(&self, pass: &Pass<'_, K>, name: &str) -> Result<Proxy, String> {
        let data = self.connection_secret(pass, name).await?;
        proxy(&data).map_err(|error| match error {
            Unusable::Key(key) => {
                format!("secret '{}/{name}': key '{key}' not found", pass.key.namespace)
            }
            Unusable::Why(why) => format!("secret '{}/{name}': {why}", pass.key.namespace),
        })
    }

    /// Trust and client certificate that a Secret holds.
    pub(crate) async fn tls(&self, pass: &Pass<'_, K>, name: &str) -> Result<TlsOptions, String> {
        let data = self.connection_secret(pass, name).await?;
        let found =
            tls(&data).map_err(|why| format!("secret '{}/{name}' {why}", pass.key.namespace))?;
        found.check().map(|()| found)
    }
}

enum Unusable {
    Key(&'static str),
    Why(String),
}

fn proxy(data: &Data) -> Result<Proxy, Unusable> {
    let text = |key: &str| data.get(key).map(|value| String::from_utf8_lossy(value).into_owned());
    let address = text("address").ok_or(Unusable::Key("address"))?;
    let refused = |why: String| Err(Unusable::Why(why));
    if address.is_empty() {
        return refused("proxy address is empty".to_owned());
    }
    if address.len() > LONGEST_PROXY {
        return refused(format!("proxy URL exceeds maximum length of {LONGEST_PROXY} characters"));
    }
    let scheme = address.split_once("://").map(|(scheme, _)| scheme).unwrap_or_default();
    if !PROXY_SCHEMES.contains(&scheme) {
        let known = PROXY_SCHEMES.join(", ");
        return refused(format!(
            "proxy URL must use one of the supported schemes ({known}), got '{scheme}'"
        ));
    }
    let text = |key: &str| text(key).unwrap_or_default();
    Ok(Proxy { address, username: text("username"), password: text("password").into() })
}

/// Certificates by today's names, or by those of old.
fn tls(data: &Data) -> Result<TlsOptions, &'static str> {
    let either = |new: &str, old: &str| data.get(new).or_else(|| data.get(old)).cloned();
    let certificate = either("tls.crt", "certFile").unwrap_or_default();
    let key = either("tls.key", "keyFile").unwrap_or_default();
    let authorities = either("ca.crt", "caFile").unwrap_or_default();
    match (certificate.is_empty(), key.is_empty(), authorities.is_empty()) {
        (false, true, _) => Err("contains 'tls.crt' but missing 'tls.key'"),
        (true, false, _) => Err("contains 'tls.key' but missing 'tls.crt'"),
        (true, true, true) => Err("must contain either 'ca.crt' or both 'tls.crt' and 'tls.key'"),
        _ => Ok(TlsOptions { authorities, certificate, key: key.into(), insecure: false }),
    }
}

#[cfg(test)]
mod tests {
    use super::{Data, Unusable, proxy, tls};

    fn data(pairs: &[(&str, &str)]) -> Data {
        pairs.iter().map(|(name, text)| ((*name).to_owned(), text.as_bytes().to_vec())).collect()
    }

    #[test]
    fn proxies_need_an_address_with_a_known_scheme() {
        let why = |pairs: &[(&str, &str)]| match proxy(&data(pairs)) {
            Ok(proxy) => proxy.address,
            Err(Unusable::Key(key)) => key.to_owned(),
            Err(Unusable::Why(why)) => why,
        };
        assert_eq!(why(&[]), "address");
        assert_eq!(why(&[("address", "")]), "proxy address is empty");
        let words =
            "proxy URL must use one of the supported schemes (http, https, socks5), got 'ftp'";
        assert_eq!(why(&[("address", "ftp://a")]), words);
        assert_eq!(why(&[("address", "http://a:8080"), ("username", "u")]), "http://a:8080");
    }

    #[test]
    fn certificates_come_in_pairs_or_as_an_authority() {
        assert!(tls(&data(&[("ca.crt", "x")])).is_ok());
        assert!(tls(&data(&[("certFile", "x"), ("keyFile", "y")])).is_ok());
        for wrong in [&[("tls.crt", "x")][..], &[("tls.key", "x"), ("ca.crt", "y")], &[]] {
            assert!(tls(&data(wrong)).is_err(), "{wrong:?}");
        }
    }
}
