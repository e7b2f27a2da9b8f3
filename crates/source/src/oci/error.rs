//! Registry errors, with the messages of `go-containerregistry`, which Flux shows.

use bytes::Bytes;
use http::{Method, Response};
use reqwest::Url;
use serde::Deserialize;
use serde_json::Value;

use super::name::NameError;
use super::wire::WireError;
use crate::http::asked;

/// The maximum length of an error response that is read and shown.
const LONGEST_REFUSAL: usize = 64 << 10;

/// Why a registry operation failed.
#[derive(Debug, thiserror::Error)]
pub enum OciError {
    /// An error response.
    #[error("{0}")]
    Refused(Box<Refusal>),
    /// The request could not be sent.
    #[error("{}: {cause}", asked(method, &shown(url)))]
    Unreachable {
        /// The method.
        method: Method,
        /// The URL.
        url: Box<Url>,
        /// The cause.
        #[source]
        cause: WireError,
    },
    /// The response was interrupted.
    #[error("unexpected EOF")]
    Cut,
    /// Neither HTTPS nor HTTP works.
    #[error("{0}; {1}")]
    Both(Box<OciError>, Box<OciError>),
    /// The content has another digest or size.
    #[error("{0}")]
    Altered(String),
    /// An invalid response.
    #[error("{0}")]
    Unexpected(String),
    /// An invalid digest.
    #[error(transparent)]
    Name(#[from] NameError),
}

/// An error response of a registry.
#[derive(Debug, Clone)]
pub struct Refusal {
    method: Method,
    url: Url,
    status: u16,
    diagnostics: Vec<Diagnostic>,
    body: String,
}

#[derive(Debug, Clone, Deserialize)]
struct Diagnostic {
    #[serde(default)]
    code: String,
    #[serde(default)]
    message: String,
    #[serde(default)]
    detail: Value,
}

#[derive(Deserialize)]
struct Diagnostics {
    #[serde(default)]
    errors: Option<Vec<Diagnostic>>,
}

impl OciError {
    pub(crate) fn unexpected(message: impl Into<String>) -> Self {
        Self::Unexpected(message.into())
    }

    /// The status of an error response.
    pub fn status(&self) -> Option<u16> {
        match self {
            Self::Refused(refusal) => Some(refusal.status),
            _ => None,
        }
    }
}

impl Refusal {
    /// The error of a response.
    pub(crate) fn of(method: &Method, url: &Url, response: &Response<Bytes>) -> OciError {
        let body = response.body();
        let body = body.get(..LONGEST_REFUSAL).unwrap_or(body);
        let parsed = serde_json::from_slice::<Diagnostics>(body).ok();
        OciError::Refused(Box::new(Self {
            method: method.clone(),
            url: url.clone(),
            status: response.status().as_u16(),
            diagnostics: parsed.and_then(|parsed| parsed.errors).unwrap_or_default(),
            body: String::from_utf8_lossy(body).into_owned(),
        }))
    }
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{} {}: ", self.method, shown(&self.url))?;
        let diagnostics: Vec<String> = self.diagnostics.iter().map(ToString::to_string).collect();
        match diagnostics.as_slice() {
            [] => {
                let reason = http::StatusCode::from_u16(self.status)
                    .ok()
                    .and_then(|status| status.canonical_reason())
                    .unwrap_or_default();
                write!(formatter, "unexpected status code {} {reason}", self.status)?;
                if !self.body.is_empty() {
                    write!(formatter, ": {}", self.body)
                } else if self.method == Method::HEAD {
                    formatter.write_str(" (HEAD responses have no body, use GET for details)")
                } else {
                    Ok(())
                }
            }
            [one] => formatter.write_str(one),
            many => write!(formatter, "multiple errors returned: {}", many.join("; ")),
        }
    }
}

impl std::fmt::Display for Diagnostic {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}: {}", self.code, self.message)?;
        match &self.detail {
            Value::Null => Ok(()),
            detail => write!(formatter, "; {}", as_go_prints(detail)),
        }
    }
}

/// Prints a JSON value as Go's `%v`.
fn as_go_prints(value: &Value) -> String {
    match value {
        Value::Null => "<nil>".to_owned(),
        Value::String(text) => text.clone(),
        Value::Array(list) => {
            format!("[{}]", list.iter().map(as_go_prints).collect::<Vec<_>>().join(" "))
        }
        Value::Object(map) => {
            let pairs = map.iter().map(|(key, value)| format!("{key}:{}", as_go_prints(value)));
            format!("map[{}]", pairs.collect::<Vec<_>>().join(" "))
        }
        other => other.to_string(),
    }
}

/// Query parameters that are not secret; the values of others are hidden, because redirects carry tokens in
/// them.
const HARMLESS: [&str; 7] = ["scope", "service", "mount", "from", "digest", "n", "last"];

/// A URL for messages: sorted parameters, without secrets.
pub(crate) fn shown(url: &Url) -> String {
    let mut pairs: Vec<(String, String)> = url.query_pairs().into_owned().collect();
    if pairs.is_empty() && url.password().is_none() {
        return url.to_string();
    }
    pairs.sort_by(|one, other| one.0.cmp(&other.0));
    let mut url = url.clone();
    url.set_query(None);
    if url.password().is_some() {
        // A URL that cannot have a password has none.
        let _ = url.set_password(Some("xxxxx"));
    }
    if !pairs.is_empty() {
        let mut query = url.query_pairs_mut();
        for (name, value) in &pairs {
            let harmless = HARMLESS.contains(&name.as_str());
            query.append_pair(name, if harmless { value } else { "REDACTED" });
        }
    }
    url.to_string()
}

#[cfg(test)]
mod tests {
    use http::StatusCode;

    use super::*;

    fn refusal(method: &Method, status: StatusCode, body: &str) -> String {
        let url = Url::parse("https://r.test/v2/app/manifests/v1?token=abc&n=5").expect("a URL");
        let mut response = Response::new(Bytes::from(body.to_owned()));
        *response.status_mut() = status;
        Refusal::of(method, &url, &response).to_string()
    }

    #[test]
    fn refusals_read_as_upstream_has_them() {
        let at = "https://r.test/v2/app/manifests/v1?n=5&token=REDACTED";
        for (method, status, body, expected) in [
            (
                Method::GET,
                StatusCode::NOT_FOUND,
                r#"{"errors":[{"code":"MANIFEST_UNKNOWN","message":"manifest unknown","detail":{"Tag":"v1"}}]}"#,
                format!("GET {at}: MANIFEST_UNKNOWN: manifest unknown; map[Tag:v1]"),
            ),
            (
                Method::GET,
                StatusCode::UNAUTHORIZED,
                r#"{"errors":[{"code":"UNAUTHORIZED","message":"a","detail":[{"b":1}]},{"code":"DENIED","message":"c"}]}"#,
                format!(
                    "GET {at}: multiple errors returned: UNAUTHORIZED: a; [map[b:1]]; DENIED: c"
                ),
            ),
            (
                Method::HEAD,
                StatusCode::FORBIDDEN,
                "",
                format!(
                    "HEAD {at}: unexpected status code 403 Forbidden (HEAD responses have no body, use GET for details)"
                ),
            ),
            (
                Method::GET,
                StatusCode::TOO_MANY_REQUESTS,
                "slow down",
                format!("GET {at}: unexpected status code 429 Too Many Requests: slow down"),
            ),
        ] {
            assert_eq!(refusal(&method, status, body), expected);
        }
    }
}
