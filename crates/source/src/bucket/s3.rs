//! S3's protocol: Amazon's own and everything that speaks like it.

use std::sync::Arc;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use http::{Method, StatusCode};
use object_store::aws::{AwsAuthorizer, AwsCredential};
use object_store::client::HttpRequest;
use serde::Deserialize;

use super::wire::{Answer, LARGEST_PAGE, Wire, request};
use super::{
    BucketAddress, BucketError, BucketReader, Listed, Object, encoded, is_addressable, query,
};

/// The region of hosts that know none.
const REGION: &str = "us-east-1";
/// Hosts that take the bucket's name into theirs.
const VIRTUAL: [&str; 3] = [".amazonaws.com", ".amazonaws.com.cn", ".aliyuncs.com"];

/// A bucket of S3.
pub(super) struct S3 {
    wire: Wire,
    /// The address of the bucket, with a slash at its end.
    base: String,
    region: String,
    credential: Option<Arc<AwsCredential>>,
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
}

impl S3 {
    pub(super) fn new(
        wire: Wire,
        address: &BucketAddress,
        credential: Option<Arc<AwsCredential>>,
    ) -> Self {
        let scheme = if address.insecure { "http" } else { "https" };
        let (endpoint, bucket) = (address.endpoint.trim_end_matches('/'), &address.bucket);
        let host = endpoint.split(':').next().unwrap_or_default();
        let is_virtual = VIRTUAL.iter().any(|suffix| host.ends_with(suffix))
            && (address.insecure || !bucket.contains('.'));
        let base = if is_virtual {
            format!("{scheme}://{bucket}.{endpoint}/")
        } else {
            format!("{scheme}://{endpoint}/{}/", encoded(bucket, b""))
        };
        let region = if address.region.is_empty() { region_of(host) } else { &address.region };
        Self { wire, base, region: region.to_owned(), credential }
    }

    fn signed(&self, method: Method, url: &str) -> Result<HttpRequest, BucketError> {
        let mut request = request(method, url)?;
        if let Some(credential) = &self.credential {
            AwsAuthorizer::new(credential, "s3", &self.region)
                .try_authorize(&mut request, None)
                .map_err(|error| BucketError(error.to_string()))?;
        }
        Ok(request)
    }

    async fn page(&self, prefix: &str, token: Option<&str>) -> Result<ListResult, BucketError> {
        let query = query(&[
            ("continuation-token", token.unwrap_or_default()),
            ("encoding-type", "url"),
            ("list-type", "2"),
            ("prefix", prefix),
        ]);
        let url = format!("{}?{query}", self.base);
        let answer = self.wire.send(LARGEST_PAGE, || self.signed(Method::GET, &url)).await?;
        if answer.status != StatusCode::OK {
            return Err(refused(&answer, false).1);
        }
        let text = String::from_utf8_lossy(&answer.body);
        quick_xml::de::from_str(&text)
            .map_err(|error| BucketError(format!("failed to read the list: {error}")))
    }
}

impl BucketReader for S3 {
    fn exists(&self) -> BoxFuture<'_, Result<bool, BucketError>> {
        async move {
            let make = || self.signed(Method::HEAD, &self.base);
            let answer = self.wire.send(LARGEST_PAGE, make).await?;
            match answer.status {
                StatusCode::OK => Ok(true),
                _ => match refused(&answer, false) {
                    (code, _) if code == "NoSuchBucket" => Ok(false),
                    (_, error) => Err(error),
                },
            }
        }
        .boxed()
    }

    fn list<'a>(&'a self, prefix: &'a str) -> BoxFuture<'a, Result<Vec<Listed>, BucketError>> {
        async move {
            let (mut all, mut token) = (Vec::new(), None);
            loop {
                let page = self.page(prefix, token.as_deref()).await?;
                let is_encoded = page.encoding_type.as_deref() == Some("url");
                all.extend(page.contents.into_iter().map(|content| Listed {
                    key: if is_encoded { decoded(&content.key) } else { content.key },
                    etag: content.etag.trim_matches('"').to_owned(),
                    generation: None,
                }));
                super::network::check_count(all.len())?;
                token = page.next_continuation_token.filter(|_| page.is_truncated);
                if token.is_none() {
                    return Ok(all);
                }
            }
        }
        .boxed()
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
            let answer = self.wire.send(largest, || self.signed(Method::GET, &url)).await?;
            if answer.status == StatusCode::OK {
                let etag = answer.header("etag").trim_matches('"').to_owned();
                return Ok(Some(Object { etag, content: answer.body }));
            }
            match refused(&answer, true) {
                (code, _) if code == "NoSuchKey" => Ok(None),
                (_, error) => Err(error),
            }
        }
        .boxed()
    }
}

/// The code and the words of a refusal. Where there is no body, as for HEAD, the status has to do.
fn refused(answer: &Answer, is_object: bool) -> (String, BucketError) {
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
    (code, BucketError(words))
}

fn shortened(text: &str) -> String {
    const MOST: usize = 1024;
    if text.len() <= MOST {
        return text.to_owned();
    }
    format!("{}...", text.get(..text.floor_char_boundary(MOST)).unwrap_or_default())
}

/// The region in the name of one of Amazon's hosts.
fn region_of(host: &str) -> &str {
    let is_amazon = host.ends_with(".amazonaws.com") || host.ends_with(".amazonaws.com.cn");
    let region = host.strip_prefix("s3.").or_else(|| host.strip_prefix("s3-"));
    match region.and_then(|rest| rest.split('.').next()) {
        Some(region) if is_amazon && region.contains('-') => region,
        _ => REGION,
    }
}

/// `%XX` and `+` as they are in forms.
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
    use super::{decoded, region_of};

    #[test]
    fn regions_and_keys_are_read() {
        for (host, region) in [
            ("s3.eu-west-1.amazonaws.com", "eu-west-1"),
            ("s3-us-west-2.amazonaws.com", "us-west-2"),
            ("s3.amazonaws.com", "us-east-1"),
            ("minio.test", "us-east-1"),
        ] {
            assert_eq!(region_of(host), region, "{host}");
        }
        assert_eq!(decoded("a+b%2Fc%20%C3%A4%"), "a b/c ä%");
    }
}
