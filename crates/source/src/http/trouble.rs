//! Connection errors with the messages of Go's HTTP client, which Flux shows.

use std::error::Error;
use std::fmt;
use std::io;

use http::Method;
use reqwest::Url;
use rustls::CertificateError;

use crate::network::Refusal;

/// hyper's message when the peer closes the connection without a response.
const HUNG_UP: &str = "connection closed before message completed";

/// The kind of a connection failure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// No connection.
    Unreachable(String),
    /// The server's certificate is not trusted, or not valid for the server.
    Untrusted(String),
    /// The connection ended before a response; a retry may help.
    Broken(String),
    /// The connection ended within a response.
    Cut,
    /// The network policy does not allow it.
    Refused(String),
}

impl Trouble {
    /// Classifies an error of the client for a URL.
    pub(crate) fn of(error: &(dyn Error + 'static), url: &Url) -> Self {
        if let Some(refusal) = Refusal::below(error) {
            return Self::Refused(refusal.to_string());
        }
        let mut kind = None;
        let (mut next, mut last) = (Some(error), error);
        while let Some(error) = next {
            if let Some(found) = error.downcast_ref::<io::Error>() {
                kind = Some(found.kind());
            }
            if let Some(certificate) = certificate(error) {
                return Self::Untrusted(certificate);
            }
            let is_body = |error: &reqwest::Error| error.is_body() || error.is_decode();
            if error.downcast_ref().is_some_and(is_body) {
                return Self::Cut;
            }
            last = error;
            next = error.source();
        }
        let text = last.to_string();
        match kind {
            Some(io::ErrorKind::ConnectionRefused) => {
                Self::Unreachable(format!("dial tcp {}: connect: connection refused", dialled(url)))
            }
            Some(io::ErrorKind::TimedOut) => {
                Self::Unreachable(format!("dial tcp {}: i/o timeout", dialled(url)))
            }
            Some(io::ErrorKind::ConnectionReset) => {
                Self::Broken("read: connection reset by peer".to_owned())
            }
            Some(
                io::ErrorKind::UnexpectedEof
                | io::ErrorKind::BrokenPipe
                | io::ErrorKind::ConnectionAborted,
            ) => Self::Broken("EOF".to_owned()),
            _ if text.contains(HUNG_UP) => Self::Broken("EOF".to_owned()),
            _ if text.contains("failed to lookup address") => {
                let host = url.host_str().unwrap_or_default();
                Self::Unreachable(format!("dial tcp: lookup {host}: no such host"))
            }
            _ => Self::Unreachable(text),
        }
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Unreachable(words)
            | Self::Untrusted(words)
            | Self::Broken(words)
            | Self::Refused(words) => words,
            Self::Cut => "unexpected EOF",
        })
    }
}

/// A request in Go's format: `Get "https://…"`.
pub(crate) fn asked(method: &Method, url: &str) -> String {
    let name = method.as_str();
    let (first, rest) = name.split_at_checked(1).unwrap_or((name, ""));
    format!("{first}{} \"{url}\"", rest.to_ascii_lowercase())
}

/// Go's message for a request without a response: the request and the cause.
pub fn unanswered(method: &Method, url: &str, error: &(dyn Error + 'static)) -> String {
    let why = match Url::parse(url) {
        Ok(parsed) => Trouble::of(error, &parsed).to_string(),
        Err(_) => sluice_base::causes::joined(error),
    };
    format!("{}: {why}", asked(method, url))
}

fn certificate(error: &(dyn Error + 'static)) -> Option<String> {
    // A TLS error is inside an I/O error, not its source.
    if let Some(inner) = error.downcast_ref().and_then(io::Error::get_ref) {
        return certificate(inner);
    }
    let rustls::Error::InvalidCertificate(error) = error.downcast_ref()? else { return None };
    let why = match error {
        CertificateError::UnknownIssuer => "certificate signed by unknown authority".to_owned(),
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            "certificate has expired or is not yet valid".to_owned()
        }
        CertificateError::NotValidForNameContext { expected, presented } => {
            let known = presented.join(", ");
            format!("certificate is valid for {known}, not {}", expected.to_str())
        }
        other => other.to_string(),
    };
    Some(format!("tls: failed to verify certificate: x509: {why}"))
}

/// Host and port.
fn dialled(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    match url.port_or_known_default() {
        Some(port) => format!("{host}:{port}"),
        None => host.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_read_as_go_has_them() {
        let url = Url::parse("https://127.0.0.1:9/x").expect("a URL");
        let unknown = rustls::Error::InvalidCertificate(CertificateError::UnknownIssuer);
        for (error, expected) in [
            (
                io::ErrorKind::ConnectionRefused.into(),
                "dial tcp 127.0.0.1:9: connect: connection refused",
            ),
            (io::ErrorKind::TimedOut.into(), "dial tcp 127.0.0.1:9: i/o timeout"),
            (io::ErrorKind::UnexpectedEof.into(), "EOF"),
            (io::Error::other(HUNG_UP), "EOF"),
            (
                io::Error::other("failed to lookup address information: Name or service not known"),
                "dial tcp: lookup 127.0.0.1: no such host",
            ),
            (
                io::Error::new(io::ErrorKind::InvalidData, unknown),
                "tls: failed to verify certificate: x509: certificate signed by unknown authority",
            ),
        ] {
            assert_eq!(Trouble::of(&error, &url).to_string(), expected);
        }
        assert_eq!(asked(&Method::POST, "http://a"), "Post \"http://a\"");
    }
}
