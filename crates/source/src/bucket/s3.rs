//! S3's protocol: Amazon's own and compatible stores.

use std::sync::Arc;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use http::{Method, StatusCode};
use object_store::aws::{AwsAuthorizer, AwsCredential};
use object_store::client::HttpRequest;
use serde::Deserialize;
use sluice_base::redacted::Redacted;
use tokio::sync::OnceCell;
use tokio::time::Instant;

use super::pages::{self, Page};
use super::wire::{Answer, LARGEST_PAGE, Wire, request};
use super::{
    BucketAddress, BucketError, BucketReader, Listed, Object, encoded, is_addressable, query, sts,
};

/// The default region.
const REGION: &str = "us-east-1";
/// Error codes that do not reveal the bucket's region.
const WITHOUT_REGION: [&str; 3] = ["AuthorizationHeaderMalformed", "InvalidRegion", "AccessDenied"];
/// Hosts with the bucket as a subdomain.
const VIRTUAL: [&str; 3] = [".amazonaws.com", ".amazonaws.com.cn", ".aliyuncs.com"];

/// A bucket of S3.
pub(super) struct S3 {
    wire: Wire,
    /// The URL of the bucket, with a final slash.
    base: String,
    /// The bucket's region, looked up on first use.
    region: OnceCell<String>,
    login: Login,
    credential: OnceCell<Option<Arc<AwsCredential>>>,
}

/// The source of access keys.
pub(super) enum Login {
    /// Requests are not signed.
    Anonymous,
    /// Given keys.
    Keys(Arc<AwsCredential>),
    /// Temporary keys for a name and password of LDAP.
    Ldap {
        /// Reaches the service.
        service: Wire,
        /// Its address.
        endpoint: String,
        /// The name.
        username: String,
        /// The password.
        password: Redacted<String>,
    },
}

/// The host without the bucket's name.
fn host_of(address: &BucketAddress) -> &str {
    address.endpoint.split([':', '/']).next().unwrap_or_default()
}

/// The URL of a bucket, with a final slash.
pub(super) fn base(address: &BucketAddress) -> String {
    let scheme = if address.insecure { "http" } else { "https" };
    let (endpoint, bucket) = (address.endpoint.trim_end_matches('/'), &address.bucket);
    // The bucket becomes part of the host's name, so it must consist of labels only.
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    let is_virtual = VIRTUAL.iter().any(|suffix| host_of(address).ends_with(suffix))
        && bucket.bytes().all(is_name)
        && (address.insecure || !bucket.contains('.'));
    if is_virtual {
        format!("{scheme}://{bucket}.{endpoint}/")
    } else {
        format!("{scheme}://{endpoint}/{}/", encoded(bucket, b""))
    }
}

/// The credential and the region of signatures.
struct Signer {
    credential: Option<Arc<AwsCredential>>,
    region: String,
}

/// An error response with its code.
struct Refused {
    code: String,
    error: BucketError,
}

#[derive(Deserialize)]
struct Location {
    #[serde(rename = "$text", default)]
    region: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct ListResult {
    #[serde(default)]
    contents: Vec<Content>,
    #[serde(default)]
    is_truncated: bool,
    next_continuation_token: Option<String>,
    encoding_type: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Content {
    key: String,
    #[serde(rename = "ETag", default)]
    etag: String,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "PascalCase", default)]
struct ErrorBody {
    code: String,
    message: String,
    region: String,
}

impl S3 {
    pub(super) fn new(wire: Wire, address: &BucketAddress, login: Login) -> Self {
        let base = base(address);
        let host = host_of(address);
        let given = Some(address.region.as_str()).filter(|region| !region.is_empty());
        let region = OnceCell::new_with(given.or(region_of(host)).map(ToOwned::to_owned));
        Self { wire, base, region, login, credential: OnceCell::new() }
    }

    /// The signer. On first use it requests keys and looks up the region.
    async fn signer(&self) -> Result<Signer, Refused> {
        let credential = self.credential.get_or_try_init(|| self.login.keys()).await?.clone();
        let region = self.region.get_or_try_init(|| self.locate(credential.clone())).await?;
        Ok(Signer { credential, region: region.clone() })
    }

    /// Looks up the region, as Flux's client does if none is given.
    async fn locate(&self, credential: Option<Arc<AwsCredential>>) -> Result<String, Refused> {
        let signer = Signer { credential, region: REGION.to_owned() };
        let url = format!("{}?location=", self.base);
        let answer = self.wire.send(LARGEST_PAGE, || signer.signed(Method::GET, &url)).await?;
        let text = String::from_utf8_lossy(&answer.body);
        let named = if answer.status == StatusCode::OK {
            let location: Location =
                quick_xml::de::from_str(&text).map_err(|error| unreadable(&text, &error))?;
            location.region
        } else {
            let refused = refused(&answer, false);
            if !WITHOUT_REGION.contains(&refused.code.as_str()) {
                return Err(refused);
            }
            let said: ErrorBody = quick_xml::de::from_str(text.trim()).unwrap_or_default();
            said.region
        };
        Ok(match named.as_str() {
            "" => REGION.to_owned(),
            "EU" => "eu-west-1".to_owned(),
            _ => named,
        })
    }

    async fn page(&self, prefix: &str, token: Option<String>) -> Result<Page, BucketError> {
        let query = query(&[
            ("continuation-token", token.as_deref().unwrap_or_default()),
            ("encoding-type", "url"),
            ("list-type", "2"),
            ("prefix", prefix),
        ]);
        let url = format!("{}?{query}", self.base);
        let signer = self.signer().await.map_err(|refused| refused.error)?;
        let answer = self.wire.send(LARGEST_PAGE, || signer.signed(Method::GET, &url)).await?;
        if answer.status != StatusCode::OK {
            return Err(refused(&answer, false).error);
        }
        read_page(&answer.body)
    }
}

/// A page of a listing.
pub(super) fn read_page(body: &[u8]) -> Result<Page, BucketError> {
    let text = String::from_utf8_lossy(body);
    let page: ListResult =
        quick_xml::de::from_str(&text).map_err(|error| unreadable(&text, &error))?;
    let is_encoded = page.encoding_type.as_deref() == Some("url");
    let listed = page.contents.into_iter().map(|content| Listed {
        key: if is_encoded { decoded(&content.key) } else { content.key },
        etag: content.etag.trim_matches('"').to_owned(),
        generation: None,
    });
    let next = page.next_continuation_token.filter(|_| page.is_truncated);
    Ok(Page { listed: listed.collect(), next })
}

impl BucketReader for S3 {
    fn limit(&self, at: Instant) {
        self.wire.limit(at);
    }

    fn exists(&self) -> BoxFuture<'_, Result<bool, BucketError>> {
        async move {
            let asked = async {
                let signer = self.signer().await?;
                let make = || signer.signed(Method::HEAD, &self.base);
                let answer = self.wire.send(LARGEST_PAGE, make).await?;
                if answer.status == StatusCode::OK { Ok(()) } else { Err(refused(&answer, false)) }
            };
            match asked.await {
                Ok(()) => Ok(true),
                Err(refused) if refused.code == "NoSuchBucket" => Ok(false),
                Err(refused) => Err(refused.error),
            }
        }
        .boxed()
    }

    fn list<'a>(&'a self, prefix: &'a str) -> BoxFuture<'a, Result<Vec<Listed>, BucketError>> {
        pages::all(move |token| self.page(prefix, token)).boxed()
    }

    fn get<'a>(
        &'a self,
        object: &'a Listed,
        largest: u64,
    ) -> BoxFuture<'a, Result<Option<Object>, BucketError>> {
        async move {
            if !is_addressable(&object.key) {
                return Err(BucketError::new("Object name contains unsupported characters."));
            }
            let url = format!("{}{}", self.base, encoded(&object.key, b"/"));
            let signer = self.signer().await.map_err(|refused| refused.error)?;
            let answer = self.wire.send(largest, || signer.signed(Method::GET, &url)).await?;
            if answer.status == StatusCode::OK {
                let etag = answer.header("etag").trim_matches('"').to_owned();
                return Ok(Some(Object { etag, content: answer.body }));
            }
            match refused(&answer, true) {
                refused if refused.code == "NoSuchKey" => Ok(None),
                refused => Err(refused.error),
            }
        }
        .boxed()
    }
}

impl Login {
    async fn keys(&self) -> Result<Option<Arc<AwsCredential>>, BucketError> {
        Ok(match self {
            Self::Anonymous => None,
            Self::Keys(keys) => Some(Arc::clone(keys)),
            Self::Ldap { service, endpoint, username, password } => {
                Some(Arc::new(sts::ldap(service, endpoint, username, password.expose()).await?))
            }
        })
    }
}

impl Signer {
    fn signed(&self, method: Method, url: &str) -> Result<HttpRequest, BucketError> {
        let mut request = request(method, url)?;
        if let Some(credential) = &self.credential {
            AwsAuthorizer::new(credential, "s3", &self.region)
                .try_authorize(&mut request, None)
                .map_err(|error| BucketError(error.to_string()))?;
        }
        Ok(request)
    }
}

impl From<BucketError> for Refused {
    fn from(error: BucketError) -> Self {
        Self { code: String::new(), error }
    }
}

/// The error for invalid XML; for truncated input it is Go's.
fn unreadable(text: &str, error: &quick_xml::DeError) -> BucketError {
    let is_whole = text.trim_end().rsplit_once("</").is_some_and(|(_, end)| end.ends_with('>'));
    let is_closed = text.split_once('<').is_some() && is_whole;
    BucketError(match text.trim() {
        "" => "EOF".to_owned(),
        _ if !is_closed || matches!(error, quick_xml::DeError::UnexpectedEof) => {
            format!("XML syntax error on line {}: unexpected EOF", text.lines().count().max(1))
        }
        _ => format!("failed to read the list: {error}"),
    })
}

/// The code and the message of an error response. Without a body, as for HEAD, they come from the status.
fn refused(answer: &Answer, is_object: bool) -> Refused {
    let text = String::from_utf8_lossy(&answer.body);
    let said: Option<ErrorBody> = quick_xml::de::from_str(text.trim()).ok();
    let said = said.filter(|said| !said.code.is_empty() || !said.message.is_empty());
    let (code, words) = match (said, answer.status) {
        (Some(said), _) => (said.code, said.message),
        (None, StatusCode::NOT_FOUND) if is_object => {
            ("NoSuchKey".to_owned(), "The specified key does not exist.".to_owned())
        }
        (None, StatusCode::NOT_FOUND) => {
            ("NoSuchBucket".to_owned(), "The specified bucket does not exist.".to_owned())
        }
        (None, StatusCode::FORBIDDEN) => ("AccessDenied".to_owned(), "Access Denied.".to_owned()),
        (None, _) => {
            let line = answer.status_line();
            let words = if text.trim().is_empty() { line.clone() } else { shortened(text.trim()) };
            (line, words)
        }
    };
    let words = if words.is_empty() { format!("Error response code {code}.") } else { words };
    Refused { code, error: BucketError(words) }
}

fn shortened(text: &str) -> String {
    const MOST: usize = 1024;
    if text.len() <= MOST {
        return text.to_owned();
    }
    format!("{}...", text.get(..text.floor_char_boundary(MOST)).unwrap_or_default())
}

/// The region in the name of an Amazon host.
fn region_of(host: &str) -> Option<&str> {
    let is_amazon = host.ends_with(".amazonaws.com") || host.ends_with(".amazonaws.com.cn");
    let region = host.strip_prefix("s3.").or_else(|| host.strip_prefix("s3-"));
    let region = region.and_then(|rest| rest.split('.').next());
    region.filter(|region| is_amazon && region.contains('-'))
}

/// Decodes `%XX` and `+`, as in forms.
fn decoded(text: &str) -> String {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, tail)) = rest.split_first() {
        let digits = tail.get(..2).and_then(|pair| std::str::from_utf8(pair).ok());
        let byte = digits.and_then(|pair| u8::from_str_radix(pair, 16).ok());
        match (first, byte) {
            (b'%', Some(byte)) => {
                out.push(byte);
                rest = tail.get(2..).unwrap_or_default();
            }
            (b'+', _) => {
                out.push(b' ');
                rest = tail;
            }
            _ => {
                out.push(first);
                rest = tail;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use super::{base, decoded, region_of};
    use crate::bucket::BucketAddress;

    /// The name of a bucket does not lead to another host.
    #[test]
    fn names_of_buckets_are_no_hosts() {
        for (bucket, expected) in [
            ("things", "https://things.s3.amazonaws.com/"),
            ("a.b", "https://s3.amazonaws.com/a.b/"),
            ("evil/x", "https://s3.amazonaws.com/evil%2Fx/"),
            ("evil:8443/", "https://s3.amazonaws.com/evil%3A8443%2F/"),
            ("evil?", "https://s3.amazonaws.com/evil%3F/"),
            ("evil#", "https://s3.amazonaws.com/evil%23/"),
            ("u@evil", "https://s3.amazonaws.com/u%40evil/"),
        ] {
            let endpoint = "s3.amazonaws.com".to_owned();
            let address =
                BucketAddress { endpoint, bucket: bucket.to_owned(), ..BucketAddress::default() };
            assert_eq!(base(&address), expected);
        }
    }

    #[test]
    fn regions_and_keys_are_read() {
        for (host, region) in [
            ("s3.eu-west-1.amazonaws.com", Some("eu-west-1")),
            ("s3-us-west-2.amazonaws.com", Some("us-west-2")),
            ("s3.amazonaws.com", None),
            ("minio.test", None),
        ] {
            assert_eq!(region_of(host), region, "{host}");
        }
        assert_eq!(decoded("a+b%2Fc%20%C3%A4%"), "a b/c ä%");
    }
}
