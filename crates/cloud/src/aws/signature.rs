//! Signature Version 4.

use http::header::{AUTHORIZATION, HOST};
use http::{HeaderMap, HeaderValue, Request};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use ring::{digest, hmac};

use super::AwsKeys;
use crate::{CloudError, encoded};

const ALGORITHM: &str = "AWS4-HMAC-SHA256";

/// Signs requests to one service of a region at a moment.
#[derive(Debug)]
pub struct Signer<'k> {
    /// The keys.
    pub keys: &'k AwsKeys,
    /// The region.
    pub region: &'k str,
    /// The service.
    pub service: &'k str,
    /// The current time.
    pub now: Timestamp,
}

impl Signer<'_> {
    /// Signs a request: adds the time, the session token, and the signature over all of its headers.
    pub fn sign(&self, mut request: Request<Vec<u8>>) -> Result<Request<Vec<u8>>, CloudError> {
        let text = |value: &str| {
            HeaderValue::from_str(value)
                .map_err(|_| CloudError("credentials hold odd letters".to_owned()))
        };
        let moment = self.moment();
        let host = request.uri().authority().map_or("", |found| found.as_str()).to_owned();
        let headers = request.headers_mut();
        headers.insert(HOST, text(&host)?);
        headers.insert("x-amz-date", text(&moment)?);
        if !self.keys.session_token().is_empty() {
            headers.insert("x-amz-security-token", text(self.keys.session_token())?);
        }
        let (names, lines) = canonical_headers(request.headers());
        let canonical = format!(
            "{}\n{}\n{}\n{lines}\n{names}\n{}",
            request.method(),
            canonical_path(request.uri().path()),
            request.uri().query().unwrap_or_default(),
            hash(request.body())
        );
        let authorization = format!(
            "{ALGORITHM} Credential={}/{}, SignedHeaders={names}, Signature={}",
            self.keys.access_key(),
            self.scope(&moment),
            self.signature(&moment, &canonical)
        );
        request.headers_mut().insert(AUTHORIZATION, text(&authorization)?);
        Ok(request)
    }

    /// Presigns a URL, which is valid for a while together with this header.
    pub(crate) fn presign(
        &self,
        endpoint: &str,
        question: &[(&str, &str)],
        (header, value): (&str, &str),
        lifetime: SignedDuration,
    ) -> String {
        let moment = self.moment();
        let host = endpoint.split_once("://").map_or(endpoint, |(_, host)| host);
        let names = format!("host;{header}");
        let credential = format!("{}/{}", self.keys.access_key(), self.scope(&moment));
        let lifetime = lifetime.as_secs().to_string();
        let mut pairs = question.to_vec();
        pairs.extend([
            ("X-Amz-Algorithm", ALGORITHM),
            ("X-Amz-Credential", &credential),
            ("X-Amz-Date", &moment),
            ("X-Amz-Expires", &lifetime),
            ("X-Amz-SignedHeaders", &names),
        ]);
        if !self.keys.session_token().is_empty() {
            pairs.push(("X-Amz-Security-Token", self.keys.session_token()));
        }
        pairs.sort_unstable();
        let pairs: Vec<String> =
            pairs.iter().map(|(name, value)| format!("{name}={}", encoded(value))).collect();
        let query = pairs.join("&");
        let canonical =
            format!("GET\n/\n{query}\nhost:{host}\n{header}:{value}\n\n{names}\n{}", hash(b""));
        let signature = self.signature(&moment, &canonical);
        format!("{endpoint}/?{query}&X-Amz-Signature={signature}")
    }

    /// The signature of a canonical request, at a time in the service's format.
    pub fn signature(&self, moment: &str, canonical: &str) -> String {
        let date = moment.get(..8).unwrap_or_default();
        let scope = self.scope(moment);
        let statement = format!("{ALGORITHM}\n{moment}\n{scope}\n{}", hash(canonical.as_bytes()));
        let mut key = format!("AWS4{}", self.keys.secret_key()).into_bytes();
        for part in [date, self.region, self.service, "aws4_request", &statement] {
            let signing = hmac::Key::new(hmac::HMAC_SHA256, &key);
            key = hmac::sign(&signing, part.as_bytes()).as_ref().to_vec();
        }
        hex(&key)
    }

    fn moment(&self) -> String {
        TimeZone::UTC.to_datetime(self.now).strftime("%Y%m%dT%H%M%SZ").to_string()
    }

    fn scope(&self, moment: &str) -> String {
        let date = moment.get(..8).unwrap_or_default();
        format!("{date}/{}/{}/aws4_request", self.region, self.service)
    }
}

/// The canonical path: escaped once more than in the URL.
fn canonical_path(path: &str) -> String {
    let parts: Vec<String> = path.split('/').map(encoded).collect();
    parts.join("/")
}

/// The names of all headers, and a line for each, both sorted by name.
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

pub(crate) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::new(), |mut out, byte| {
        let _ = write!(out, "{byte:02x}");
        out
    })
}

#[cfg(test)]
mod tests {
    use http::Request;

    use super::super::SIGNATURE;
    use super::{AwsKeys, Signer, canonical_path};
    use crate::testing::START;

    /// AWS's published examples.
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

    /// The result of Amazon's library for Go, for the same keys and time.
    #[test]
    fn addresses_are_signed_as_amazons_library_signs_them() {
        for (session, signature) in [
            ("", "f185d677fdbe3df4b30633f14cdea369162b390bc0fd1845a736f1247527020b"),
            ("SESSION/+=", "932864a1e7387c36188daece80c1355f63c839a39208e029cdf8a1e994daca66"),
        ] {
            let keys = AwsKeys::new("AKID", "SECRET", session);
            let signer = Signer { keys: &keys, region: "eu-west-1", service: "sts", now: START };
            let question = [("Action", "GetCallerIdentity"), ("Version", "2011-06-15")];
            let endpoint = "https://sts.eu-west-1.amazonaws.com";
            let url = signer.presign(endpoint, &question, ("x-k8s-aws-id", "prod"), SIGNATURE);
            let token =
                if session.is_empty() { "" } else { "X-Amz-Security-Token=SESSION%2F%2B%3D&" };
            assert_eq!(
                url,
                format!(
                    "https://sts.eu-west-1.amazonaws.com/?Action=GetCallerIdentity&Version=2011-06-15&X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=AKID%2F20260101%2Feu-west-1%2Fsts%2Faws4_request&X-Amz-Date=20260101T000000Z&X-Amz-Expires=900&{token}X-Amz-SignedHeaders=host%3Bx-k8s-aws-id&X-Amz-Signature={signature}"
                )
            );
        }
    }

    #[test]
    fn paths_are_escaped_twice() {
        assert_eq!(canonical_path("/clusters/a%2Fb"), "/clusters/a%252Fb");
        assert_eq!(canonical_path("/"), "/");
    }
}
