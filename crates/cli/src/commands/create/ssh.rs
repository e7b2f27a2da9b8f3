//! SSH for git: a key, generated or read, and the scanned key of the host.

use std::path::PathBuf;

use sluice_source::git::{KeyAlgorithm, KeyPair, scan_host_key};
use sluice_source::network::Network;

use crate::outcome::Failure;
use crate::session;

/// Flags for the key.
#[derive(Debug, clap::Args)]
pub(super) struct KeyFlags {
    /// The algorithm of a new key: rsa, ecdsa or ed25519.
    #[arg(long = "ssh-key-algorithm", default_value = "ecdsa", value_name = "ALGORITHM")]
    algorithm: String,
    /// The number of bits of an RSA key.
    #[arg(long = "ssh-rsa-bits", default_value = "2048", value_name = "BITS")]
    rsa_bits: String,
    /// The curve of an ECDSA key: p256, p384 or p521.
    #[arg(long = "ssh-ecdsa-curve", default_value = "p384", value_name = "CURVE")]
    ecdsa_curve: String,
    /// An existing key. --password decrypts it, if it is encrypted.
    #[arg(long, value_name = "FILE")]
    private_key_file: Option<PathBuf>,
}

/// The data of a Secret for git over SSH.
pub(super) struct SshCredentials {
    pub(super) identity: String,
    pub(super) identity_pub: String,
    pub(super) known_hosts: String,
    pub(super) password: String,
}

impl KeyFlags {
    /// The algorithm, after all flags were validated.
    pub(super) fn algorithm(&self) -> Result<KeyAlgorithm, Failure> {
        const ALGORITHMS: &str = "must be one of: rsa, ecdsa, ed25519";
        let (kind, bits, curve) = (&*self.algorithm, &*self.rsa_bits, &*self.ecdsa_curve);
        let wrong = |flag: &str, value: &str, why: &str| {
            Failure::flux(format!("invalid argument {value:?} for \"--{flag}\" flag: {why}"))
        };
        let bits = match bits.trim() {
            "" => 2048,
            text => text.parse().map_err(|_| {
                let why = format!("strconv.Atoi: parsing {bits:?}: invalid syntax");
                wrong("ssh-rsa-bits", bits, &why)
            })?,
        };
        if bits < 1024 {
            let why = "RSA key bit size must be at least 1024";
            return Err(wrong("ssh-rsa-bits", &self.rsa_bits, why));
        }
        if bits % 8 != 0 {
            let why = "RSA key bit size must be a multiples of 8";
            return Err(wrong("ssh-rsa-bits", &self.rsa_bits, why));
        }
        let ecdsa = match curve {
            "p256" => KeyAlgorithm::EcdsaP256,
            "p384" => KeyAlgorithm::EcdsaP384,
            "p521" => KeyAlgorithm::EcdsaP521,
            other => {
                let why = format!("unsupported curve '{other}', must be one of: p256, p384, p521");
                return Err(wrong("ssh-ecdsa-curve", other, &why));
            }
        };
        match kind {
            "rsa" => Ok(KeyAlgorithm::Rsa(bits)),
            "ecdsa" => Ok(ecdsa),
            "ed25519" => Ok(KeyAlgorithm::Ed25519),
            blank if blank.trim().is_empty() => {
                let why = format!("no public key algorithm given, {ALGORITHMS}");
                Err(wrong("ssh-key-algorithm", blank, &why))
            }
            other => {
                let why = format!("unsupported public key algorithm '{other}', {ALGORITHMS}");
                Err(wrong("ssh-key-algorithm", other, &why))
            }
        }
    }

    /// The key of the file, or a new one, and the key of the host.
    pub(super) fn credentials(
        &self,
        host: &str,
        password: Option<&str>,
    ) -> Result<SshCredentials, Failure> {
        let password = password.unwrap_or_default();
        let pair = match &self.private_key_file {
            Some(path) => {
                let text = super::secret::file(Some(path), "failed to open private key file")?;
                KeyPair::read(&text, password).map_err(|error| Failure::flux(error.to_string()))?
            }
            None => KeyPair::generate(self.algorithm()?).map_err(|error| {
                Failure::flux(format!("key pair generation failed, error: {error}"))
            })?,
        };
        let known_hosts = session::without_cluster(async {
            scan_host_key(&Network::new(), host)
                .await
                .map_err(|error| Failure::flux(error.to_string()))
        })?;
        Ok(SshCredentials {
            identity: pair.private,
            identity_pub: pair.public,
            known_hosts,
            password: password.to_owned(),
        })
    }
}
