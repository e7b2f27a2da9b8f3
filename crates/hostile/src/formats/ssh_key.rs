//! Private SSH keys of Secrets, and credentials of registries beside them: texts that users give.

use sluice_source::git::{KeyAlgorithm, KeyPair};
use sluice_source::oci::{DockerConfig, Keyring};

use crate::make::{nested, numbered, reason, times};
use crate::{Format, Hostile, Outcome};

pub(super) const FORMAT: Format =
    Format { name: "SSH keys, docker configs", parse, seeds, hostile };

fn parse(input: &[u8]) -> Outcome {
    let text = String::from_utf8_lossy(input);
    if text.trim_start().starts_with('{') {
        let mut ring = Keyring::default();
        let (config, legacy) = (ring.add_config(input), Keyring::default().add_legacy(input));
        let docker = DockerConfig::parse(input).map(drop);
        return config.or(legacy).or(docker).map_err(reason);
    }
    KeyPair::read(&text, "passphrase").map(drop).map_err(reason)
}

fn seeds() -> Vec<Vec<u8>> {
    let pair = KeyPair::generate(KeyAlgorithm::Ed25519).map(|pair| pair.private.into_bytes());
    vec![
        pair.unwrap_or_default(),
        br#"{"auths":{"https://index.docker.io/v1/":{"auth":"dTpw"},"*.example.com":{"username":"u","password":"p"}}}"#.to_vec(),
    ]
}

fn pem(kind: &str, body: &str) -> Vec<u8> {
    format!("-----BEGIN {kind}-----\n{body}\n-----END {kind}-----\n").into_bytes()
}

/// A key that asks for so many rounds of its slow hash.
fn slow(rounds: u32) -> Vec<u8> {
    use base64::Engine as _;
    let field = |bytes: &[u8]| {
        [u32::try_from(bytes.len()).unwrap_or_default().to_be_bytes().as_slice(), bytes].concat()
    };
    let options = [field(&[1; 16]), rounds.to_be_bytes().to_vec()].concat();
    let parts = [
        b"openssh-key-v1\0".to_vec(),
        field(b"aes256-ctr"),
        field(b"bcrypt"),
        field(&options),
        1_u32.to_be_bytes().to_vec(),
        field(&[field(b"ssh-ed25519"), field(&[9; 32])].concat()),
        field(&[0; 128]),
    ];
    let text = base64::prelude::BASE64_STANDARD.encode(parts.concat());
    let lines: Vec<&str> =
        text.as_bytes().chunks(70).filter_map(|line| std::str::from_utf8(line).ok()).collect();
    pem("OPENSSH PRIVATE KEY", &lines.join("\n"))
}

fn hostile() -> Vec<Hostile> {
    let auths =
        format!(r#"{{"auths":{{{}"x":{{}}}}}}"#, numbered(r#""h{n}":{"auth":"dTpw"},"#, 30_000));
    let star = format!(r#"{{"auths":{{"{}":{{"auth":"dTpw"}}}}}}"#, "*.".repeat(100_000));
    vec![
        ("a key that asks for four billion rounds", slow(u32::MAX)),
        ("a key of a mebibyte", pem("OPENSSH PRIVATE KEY", &"A".repeat(1 << 20))),
        ("a key without end", times("-----BEGIN OPENSSH PRIVATE KEY-----\n", 25_000)),
        ("an RSA key of zeros", pem("RSA PRIVATE KEY", &"A".repeat(1 << 16))),
        ("30,000 registries", auths.into_bytes()),
        ("a registry of stars", star.into_bytes()),
        ("a config that is nested", nested("{\"auths\":", "1", "}", 100_000)),
        (
            "an auth of a mebibyte",
            format!(r#"{{"auths":{{"x":{{"auth":"{}"}}}}}}"#, "A".repeat(1 << 20)).into_bytes(),
        ),
    ]
}
