//! Fetches the key of a host for `known_hosts`. That proves nothing: the user trusts the network this
//! once.

use std::borrow::Cow;
use std::io::ErrorKind;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::dial;
use crate::network::{DialError, Network, Purpose};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use russh::Preferred;
use russh::client::{self, Handler};
use russh::keys::PublicKeyOrCertificate;
use russh::keys::ssh_key::{Algorithm, EcdsaCurve, HashAlg, PublicKey};

/// The timeout.
const TIMEOUT: Duration = Duration::from_secs(30);

/// The key types in the order of Go's client: of a host with several, `flux` keeps the first of
/// these.
const WANTED: [Algorithm; 7] = [
    Algorithm::Ecdsa { curve: EcdsaCurve::NistP256 },
    Algorithm::Ecdsa { curve: EcdsaCurve::NistP384 },
    Algorithm::Ecdsa { curve: EcdsaCurve::NistP521 },
    Algorithm::Rsa { hash: Some(HashAlg::Sha256) },
    Algorithm::Rsa { hash: Some(HashAlg::Sha512) },
    Algorithm::Rsa { hash: None },
    Algorithm::Ed25519,
];

/// Why there is no key, with the messages of Go's libraries.
#[derive(Debug, thiserror::Error)]
#[error("SSH key scan for host {host} failed, error: {why}")]
pub struct ScanError {
    host: String,
    why: String,
}

/// The line of `known_hosts` for a host, a name or an address, with or without a port. Dropping the
/// future closes the connection.
pub async fn scan_host_key(network: &Network, host: &str) -> Result<String, ScanError> {
    let (name, port) = split(host);
    let asked = format!("{}:{port}", bracketed(name));
    let failed = |why: String| ScanError { host: asked.clone(), why };
    let Ok(number) = port.parse::<u16>() else {
        return Err(failed(format!("dial tcp: address {port}: invalid port")));
    };
    let shown = tokio::time::timeout(TIMEOUT, ask(network, name, number, &asked)).await;
    let key =
        shown.unwrap_or_else(|_| Err(format!("dial tcp {asked}: i/o timeout"))).map_err(failed)?;
    let data = key.to_bytes().map_err(|error| failed(error.to_string()))?;
    let known = match port {
        "22" => bracketed(name),
        _ => format!("[{name}]:{port}"),
    };
    // The type of an RSA key is `ssh-rsa`, whatever its signature algorithm is.
    let kind = key.algorithm();
    Ok(format!("{known} {} {}", kind.as_str(), BASE64_STANDARD.encode(data)))
}

/// Host and port; 22 by default.
fn split(host: &str) -> (&str, &str) {
    let (name, port) = match host.rsplit_once(':') {
        Some((name, port)) if !name.contains(':') || name.ends_with(']') => (name, port),
        _ => (host, "22"),
    };
    (name.trim_matches(['[', ']']), port)
}

/// Puts an IPv6 address in brackets.
fn bracketed(name: &str) -> String {
    if name.contains(':') { format!("[{name}]") } else { name.to_owned() }
}

async fn ask(network: &Network, name: &str, port: u16, asked: &str) -> Result<PublicKey, String> {
    let stream = network.dial(Purpose::Operator, name, port).await;
    let stream = stream.map_err(|error| match error {
        DialError::Refused(refusal) => refusal.to_string(),
        DialError::Failed(error) => dial::message(&error, asked),
    })?;
    let config = client::Config {
        preferred: Preferred { key: Cow::Borrowed(&WANTED), ..Preferred::DEFAULT },
        ..client::Config::default()
    };
    let collector = Collector::default();
    let shown = Arc::clone(&collector.shown);
    let session = client::connect_stream(Arc::new(config), stream, collector).await;
    // Only the key is needed; the handshake fails afterwards, because there is no login.
    let key = shown.lock().unwrap_or_else(PoisonError::into_inner).take();
    match (key, session) {
        (Some(key), _) => Ok(key),
        (None, Err(error)) => Err(format!("ssh: handshake failed: {}", handshake_message(&error))),
        (None, Ok(_)) => Err("ssh: handshake failed: the host shows no key".to_owned()),
    }
}

fn handshake_message(error: &russh::Error) -> String {
    match error {
        russh::Error::Disconnect | russh::Error::HUP => "EOF".to_owned(),
        russh::Error::IO(error) if error.kind() == ErrorKind::UnexpectedEof => "EOF".to_owned(),
        other => other.to_string(),
    }
}

/// Accepts any key and ends the handshake.
#[derive(Default)]
struct Collector {
    shown: Arc<Mutex<Option<PublicKey>>>,
}

impl Handler for Collector {
    type Error = russh::Error;

    async fn check_server_key(
        &mut self,
        shown: &PublicKeyOrCertificate,
    ) -> Result<bool, Self::Error> {
        if let PublicKeyOrCertificate::PublicKey { key, .. } = shown {
            *self.shown.lock().unwrap_or_else(PoisonError::into_inner) = Some(key.clone());
        }
        Ok(false)
    }
}

#[cfg(test)]
mod tests {
    use super::split;

    #[test]
    fn hosts_have_ports() {
        for (host, name, port) in [
            ("git.test", "git.test", "22"),
            ("git.test:2222", "git.test", "2222"),
            ("[::1]", "::1", "22"),
            ("[::1]:2222", "::1", "2222"),
            ("::1", "::1", "22"),
            ("", "", "22"),
        ] {
            assert_eq!(split(host), (name, port), "{host}");
        }
    }
}
