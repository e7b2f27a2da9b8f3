//! Signature Version 4: who sends a request to AWS, and that nobody changed it on the way.

use http::header::{AUTHORIZATION, HOST};
use http::{HeaderMap, HeaderValue, Request};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use ring::{digest, hmac};

use super::AwsKeys;

/// Signs requests to one service of a region at a moment.
pub(super) struct Signer<'k> {
    pub(super) keys: &'k AwsKeys,
    pub(super) region: &'k str,
    pub(super) service: &'k str,
    pub(super) now: Timestamp,
}

impl Signer<'_> {
    /// The request with its time, the session's token and the signature over all of its headers.
    pub(super) fn sign(&self, mut request: Request<Vec<u8>>) -> Result<Request<Vec<u8>>, String> {
        let text = |value: &str| {
            HeaderValue::from_str(value).map_err(|_| "credentials hold odd letters".to_owned())
        };
        let moment = TimeZone::UTC.to_datetime(self.now).strftime("%Y%m%dT%H%M%SZ").to_string();
        let date = moment.get(..8).unwrap_or_default();
        let host = request.uri().host().unwrap_or_default().to_owned();
        let headers = request.headers_mut();
        headers.insert(HOST, text(&host)?);
        headers.insert("x-amz-date", text(&moment)?);
        if !self.keys.session_token.expose().is_empty() {
            headers.insert("x-amz-security-token", text(self.keys.session_token.expose())?);
        }
        let (names, lines) = canonical_headers(request.headers());
        let canonical = format!(
            "{}\n{}\n{}\n{lines}\n{names}\n{}",
            request.method(),
            request.uri().path(),
            request.uri().query().unwrap_or_default(),
            hash(request.body())
        );
        let scope = format!("{date}/{}/{}/aws4_request", self.region, self.service);
        let statement =
            format!("AWS4-HMAC-SHA256\n{moment}\n{scope}\n{}", hash(canonical.as_bytes()));
        let mut key = format!("AWS4{}", self.keys.secret_key.expose()).into_bytes();
        for part in [date, self.region, self.service, "aws4_request", &statement] {
            let signing = hmac::Key::new(hmac::HMAC_SHA256, &key);
            key = hmac::sign(&signing, part.as_bytes()).as_ref().to_vec();
        }
        let authorization = format!(
            "AWS4-HMAC-SHA256 Credential={}/{scope}, SignedHeaders={names}, Signature={}",
            self.keys.access_key,
            hex(&key)
        );
        request.headers_mut().insert(AUTHORIZATION, text(&authorization)?);
        Ok(request)
    }
}

/// The names of all headers, and a line for each, both in the order of names.
fn canonical_headers(headers: &HeaderMap) -> (String, String) {
    let mut pairs: Vec<(&str, &str)> = headers
        .iter()
        .map(|(name, value)| (name.as_str(), value.to_str().unwrap_or_default().trim()))
        .collect();
    pairs.sort_unstable();
    let names: Vec<&str> = pairs.iter().map(|(name, _)| *name).collect();
    let lines = pairs.iter().flat_map(|(name, value)| [*name, ":", *value, "\n"]).collect();
    (names.join(";"), lines)
}

fn hash(bytes: &[u8]) -> String {
    hex(digest::digest(&digest::SHA256, bytes).as_ref())
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::new(), |mut out, byte| {
        let _ = write!(out, "{byte:02x}");
        out
    })
}

#[cfg(test)]
mod tests {
    use http::Request;

    use super::{AwsKeys, Signer};

    /// The examples that AWS publishes for its signature.
    #[test]
    fn published_examples_come_out() {
        let keys = AwsKeys::new("AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", "");
        let now = "2015-08-30T12:36:00Z".parse().expect("a moment");
        let signer = Signer { keys: &keys, region: "us-east-1", service: "service", now };
        for (method, signature) in [
            ("GET", "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"),
            ("POST", "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"),
        ] {
            let request = Request::builder().method(method).uri("https://example.amazonaws.com/");
            let signed = signer.sign(request.body(Vec::new()).expect("a request")).expect("signed");
            assert_eq!(
                signed.headers()["authorization"].to_str().expect("a text"),
                format!(
                    "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, \
                     SignedHeaders=host;x-amz-date, Signature={signature}"
                )
            );
        }
    }
}
