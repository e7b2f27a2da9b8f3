//! Response bodies: complete ones, and watch streams.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures::stream::BoxStream;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue};
use http::{Response, StatusCode};
use http_body::Frame;
use serde_json::{Map, Value};

use crate::negotiate::Encoding;
use crate::status::Status;

/// The body of a response.
pub enum Body {
    /// Complete.
    Whole(Option<Bytes>),
    /// A stream that sends chunks as events happen.
    Stream(BoxStream<'static, Bytes>),
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match self.get_mut() {
            Self::Whole(bytes) => Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
            Self::Stream(stream) => stream
                .as_mut()
                .poll_next(context)
                .map(|next| next.map(|bytes| Ok(Frame::data(bytes)))),
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Self::Whole(None))
    }

    fn size_hint(&self) -> http_body::SizeHint {
        match self {
            Self::Whole(Some(bytes)) => http_body::SizeHint::with_exact(bytes.len() as u64),
            Self::Whole(None) => http_body::SizeHint::with_exact(0),
            Self::Stream(_) => http_body::SizeHint::default(),
        }
    }
}

/// A response with a text of any media type.
pub(crate) fn text(
    code: StatusCode,
    content_type: &'static str,
    body: impl Into<Bytes>,
) -> Response<Body> {
    let mut response = Response::new(Body::Whole(Some(body.into())));
    *response.status_mut() = code;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache, private"));
    response
}

/// A response with an object.
pub(crate) fn object(code: u16, encoding: Encoding, value: &Value) -> Response<Body> {
    let code = StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    text(code, encoding.content_type(), encode(encoding, value))
}

/// A response with a list; its `items` are already encoded, see [`crate::managed::list_json`].
pub(crate) fn list<'a>(
    encoding: Encoding,
    mut list: Map<String, Value>,
    items: impl IntoIterator<Item = &'a Value>,
    names: bool,
) -> Response<Body> {
    list.insert("items".to_owned(), Value::Null);
    let written = crate::managed::list_json(&list, items, names);
    let bytes = match encoding {
        Encoding::Json | Encoding::Indented => line(encoding, written),
        Encoding::Yaml => {
            let value = serde_json::from_str(&written).expect("what was just written is JSON");
            encode(encoding, &value)
        }
    };
    text(StatusCode::OK, encoding.content_type(), bytes)
}

/// The bytes of an object.
pub(crate) fn encode(encoding: Encoding, value: &Value) -> Vec<u8> {
    match encoding {
        Encoding::Json | Encoding::Indented => line(encoding, crate::managed::to_json(value)),
        Encoding::Yaml => sluice_yaml::from_json(value).into_bytes(),
    }
}

/// JSON as it is sent: indented if requested, with a final newline.
fn line(encoding: Encoding, json: String) -> Vec<u8> {
    let mut out = match encoding {
        Encoding::Indented => sluice_base::gojson::indent(&json),
        _ => json,
    };
    out.push('\n');
    out.into_bytes()
}

/// The response to a failed request.
pub(crate) fn failure(encoding: Encoding, status: &Status) -> Response<Body> {
    if status.plain {
        let code = StatusCode::from_u16(status.code).unwrap_or(StatusCode::NOT_FOUND);
        return text(code, "text/plain; charset=utf-8", status.message.clone());
    }
    let mut response = object(status.code, encoding, &status.to_value());
    warn(&mut response, &status.warnings);
    let retry = status.details.as_ref().and_then(|details| details.get("retryAfterSeconds"));
    if let Some(seconds) = retry.and_then(Value::as_u64) {
        response.headers_mut().insert(http::header::RETRY_AFTER, HeaderValue::from(seconds));
    }
    response
}

/// A stream of watch events.
pub(crate) fn stream(
    content_type: &'static str,
    stream: BoxStream<'static, Bytes>,
) -> Response<Body> {
    let mut response = Response::new(Body::Stream(stream));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache, private"));
    response
}

/// Adds `Warning` headers, each once.
pub(crate) fn warn(response: &mut Response<Body>, warnings: &[String]) {
    let mut seen: Vec<&String> = Vec::new();
    for warning in warnings {
        if seen.contains(&warning) {
            continue;
        }
        seen.push(warning);
        let quoted = warning.replace('\\', "\\\\").replace('"', "\\\"");
        if let Ok(value) = HeaderValue::from_str(&format!("299 - \"{quoted}\"")) {
            response.headers_mut().append(http::header::WARNING, value);
        }
    }
}
