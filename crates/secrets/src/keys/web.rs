//! How key services far away are asked: a seam for requests, and what all of them share.

use std::future::Future;
use std::pin::Pin;

use http::{Request, Response};
use serde_json::Value as Json;

/// An answer that is on its way.
pub type Answer<'a> = Pin<Box<dyn Future<Output = Result<Response<Vec<u8>>, String>> + Send + 'a>>;

/// Sends requests to key services. Whoever implements it bounds the time and the size of an answer, and
/// does not follow redirects.
pub trait Http: Send + Sync {
    /// Sends a request and gives the whole answer, or why there is none.
    fn send(&self, request: Request<Vec<u8>>) -> Answer<'_>;
}

/// A form as browsers send it.
pub(super) fn form(fields: &[(&str, &str)]) -> Vec<u8> {
    let fields: Vec<String> =
        fields.iter().map(|(name, value)| format!("{name}={}", encoded(value))).collect();
    fields.join("&").into_bytes()
}

/// A text as part of a URL: everything but unreserved letters is escaped.
pub(super) fn encoded(text: &str) -> String {
    use std::fmt::Write as _;
    text.bytes().fold(String::new(), |mut out, byte| {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
        out
    })
}

/// A request for a token of OAuth, and the token of the answer. What goes wrong is told in the words of the
/// server, which are no secrets.
pub(super) async fn token(
    http: &dyn Http,
    url: &str,
    fields: &[(&str, &str)],
) -> Result<String, String> {
    let request = Request::post(url)
        .header("Content-Type", "application/x-www-form-urlencoded")
        .body(form(fields))
        .map_err(|_| format!("{url:?} is no address"))?;
    let response = http.send(request).await?;
    let body: Json = serde_json::from_slice(response.body()).unwrap_or_default();
    if !response.status().is_success() {
        let text = |field: &str| body.get(field).and_then(Json::as_str).unwrap_or_default();
        let (error, description) = (text("error"), text("error_description"));
        return Err(format!("{url} answered {}: {error}: {description}", response.status()));
    }
    let token = body.get("access_token").and_then(Json::as_str).filter(|token| !token.is_empty());
    token.map(str::to_owned).ok_or_else(|| format!("{url} answered without a token"))
}

#[cfg(test)]
mod tests {
    use super::{encoded, form};

    #[test]
    fn what_is_not_plain_is_escaped() {
        assert_eq!(encoded("a b/c+~é"), "a%20b%2Fc%2B~%C3%A9");
        assert_eq!(form(&[("a", "1"), ("b", "x&y")]), b"a=1&b=x%26y");
    }
}
