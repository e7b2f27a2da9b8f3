//! HTTP requests to clouds.

use std::fmt;
use std::future::Future;
use std::pin::Pin;

use http::{Method, Request, Response};
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;
use sluice_base::redacted::Redacted;

use crate::{CloudError, Environment, Lasting};

/// The type of forms.
const FORM: &str = "application/x-www-form-urlencoded";
/// The maximum lifetime of a token that is believed, in seconds.
const LONGEST: i64 = 86_400;

/// A pending response.
pub type Answer<'a> = Pin<Box<dyn Future<Output = Result<Response<Vec<u8>>, String>> + Send + 'a>>;

/// Sends requests to clouds. Implementations limit the time and the size of a response, and do not follow
/// redirects. There are no proxies: those of tenants must not carry credentials.
pub trait Http: Send + Sync {
    /// Sends a request; returns the whole response.
    fn send(&self, request: Request<Vec<u8>>) -> Answer<'_>;
}

/// Marks a request to the metadata service of this machine. Only this crate marks requests, and only where no
/// tenant influences the address: no other request may reach such services.
#[derive(Debug, Clone, Copy)]
pub struct OfMachine(());

/// Marks the requests that it forwards.
pub(crate) struct Marking<'h>(pub(crate) &'h dyn Http);

impl Http for Marking<'_> {
    fn send(&self, mut request: Request<Vec<u8>>) -> Answer<'_> {
        request.extensions_mut().insert(OfMachine(()));
        self.0.send(request)
    }
}

/// A network that fails every request.
pub struct Nowhere;

impl Http for Nowhere {
    fn send(&self, request: Request<Vec<u8>>) -> Answer<'_> {
        let refusal = format!("{} is out of reach", request.uri());
        Box::pin(std::future::ready(Err(refusal)))
    }
}

/// A proxy for HTTP and HTTPS.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Proxy {
    /// `http://` or `https://` address.
    pub address: String,
    /// User name, if it needs one.
    pub username: String,
    /// Password.
    pub password: Redacted<String>,
}

impl fmt::Debug for Proxy {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Proxy").field("username", &self.username).finish_non_exhaustive()
    }
}

/// The dependencies of a request to a cloud.
#[derive(Clone, Copy)]
pub struct Asking<'a> {
    /// The HTTP client.
    pub http: &'a dyn Http,
    /// The environment, which may name endpoints.
    pub environment: &'a Environment,
    /// The current time.
    pub now: Timestamp,
}

impl<'a> Asking<'a> {
    /// The same for the metadata service.
    pub(crate) fn of_machine<'m>(&self, marking: &'m Marking<'a>) -> Asking<'m>
    where
        'a: 'm,
    {
        Asking { http: marking, environment: self.environment, now: self.now }
    }
}

impl Asking<'_> {
    /// Sends a request.
    pub async fn send(
        &self,
        method: Method,
        url: &str,
        headers: &[(&str, &str)],
        body: Vec<u8>,
    ) -> Result<Response<Vec<u8>>, CloudError> {
        let mut request = Request::builder().method(&method).uri(url);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        // The error of `http` may contain a header, and with it a token.
        let request =
            request.body(body).map_err(|_| CloudError(format!("{method} {url}: malformed")))?;
        let answer = self.http.send(request).await;
        answer.map_err(|problem| CloudError(format!("{method} {url}: {problem}")))
    }

    /// The text of a successful response.
    pub async fn text(
        &self,
        method: Method,
        url: &str,
        headers: &[(&str, &str)],
    ) -> Result<String, CloudError> {
        let answer = self.send(method.clone(), url, headers, Vec::new()).await?;
        let text = String::from_utf8_lossy(answer.body()).into_owned();
        if answer.status().is_success() {
            return Ok(text);
        }
        let shown: String = text.chars().take(512).collect();
        Err(CloudError(
            format!("{method} {url}: {} {shown}", answer.status()).trim_end().to_owned(),
        ))
    }

    /// The JSON of a successful response.
    pub async fn json(
        &self,
        method: Method,
        url: &str,
        headers: &[(&str, &str)],
    ) -> Result<Value, CloudError> {
        let text = self.text(method.clone(), url, headers).await?;
        serde_json::from_str(&text)
            .map_err(|_| CloudError(format!("{method} {url}: the answer is not JSON")))
    }

    /// An OAuth token for a form. Errors contain the server's message, which is not secret.
    pub(crate) async fn oauth(
        &self,
        url: &str,
        fields: &[(&str, &str)],
    ) -> Result<Lasting<Redacted<String>>, CloudError> {
        let headers = [("content-type", FORM)];
        let answer = self.send(Method::POST, url, &headers, form(fields)).await?;
        let body: Value = serde_json::from_slice(answer.body()).unwrap_or_default();
        if !answer.status().is_success() {
            let text = |field: &str| body.get(field).and_then(Value::as_str).unwrap_or_default();
            let (error, description) = (text("error"), text("error_description"));
            let status = answer.status();
            return Err(CloudError(format!("{url} answered {status}: {error}: {description}")));
        }
        self.access_token(&body)
            .ok_or_else(|| CloudError(format!("{url} answered without a token")))
    }

    /// The token in a response, with its lifetime from `expires_in` or `expires_on`.
    pub(crate) fn access_token(&self, body: &Value) -> Option<Lasting<Redacted<String>>> {
        let token = body.get("access_token")?.as_str().filter(|token| !token.is_empty())?;
        let number = |field: &str| match body.get(field) {
            Some(Value::Number(number)) => number.as_i64(),
            Some(Value::String(text)) => text.parse().ok(),
            _ => None,
        };
        let left = number("expires_in")
            .or_else(|| number("expires_on").map(|moment| moment - self.now.as_second()));
        let left = SignedDuration::from_secs(left.unwrap_or_default().clamp(0, LONGEST));
        Some(Lasting { value: Redacted::new(token.to_owned()), until: self.now + left })
    }
}

/// Encodes a form.
pub fn form(fields: &[(&str, &str)]) -> Vec<u8> {
    let fields: Vec<String> =
        fields.iter().map(|(name, value)| format!("{name}={}", encoded(value))).collect();
    fields.join("&").into_bytes()
}

/// Percent-encodes everything but unreserved characters.
pub fn encoded(text: &str) -> String {
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

#[cfg(test)]
mod tests {
    use super::{encoded, form};

    #[test]
    fn what_is_not_plain_is_escaped() {
        assert_eq!(encoded("a b/c+~é"), "a%20b%2Fc%2B~%C3%A9");
        assert_eq!(form(&[("a", "1"), ("b", "x&y")]), b"a=1&b=x%26y");
    }
}
