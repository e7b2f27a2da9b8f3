//! SOPS documents in all five formats, and the private keys that open them.

use std::sync::LazyLock;

use sluice_secrets::flux::KeyRing;
use sluice_secrets::{Format as Kind, decrypt_document};

use crate::make::{join, nested, numbered, reason, times};
use crate::{Format, Hostile, Outcome};

pub(super) const FORMAT: Format = Format { name: "SOPS documents", parse, seeds, hostile };
pub(super) const KEYS: Format =
    Format { name: "age and PGP keys", parse: parse_key, seeds: seeds_key, hostile: hostile_key };

const AGE: &[u8] = include_bytes!("../../../secrets/tests/goldens/keys/one.agekey");
const RSA: &[u8] = include_bytes!("../../../secrets/tests/goldens/keys/rsa.asc");
const CURVE: &[u8] = include_bytes!("../../../secrets/tests/goldens/keys/curve.asc");
const YAML: &str = include_str!("../../../secrets/tests/goldens/sops-3.13.3/age/encrypted.yaml");
const INI: &str = include_str!("../../../secrets/tests/goldens/sops-3.13.3/ini/encrypted.ini");
const SHAMIR: &str =
    include_str!("../../../secrets/tests/goldens/sops-3.13.3/shamir/encrypted.ini");
const DOTENV: &str =
    include_str!("../../../secrets/tests/goldens/sops-3.13.3/pgp-rsa/encrypted.env");

static RING: LazyLock<KeyRing> = LazyLock::new(|| {
    let mut ring = KeyRing::default();
    for (name, key) in [("one.agekey", AGE), ("rsa.asc", RSA), ("curve.asc", CURVE)] {
        let _ = ring.import(name, key);
    }
    ring
});

fn parse(input: &[u8]) -> Outcome {
    let mut outcome = Err("no format".to_owned());
    for kind in [Kind::Yaml, Kind::Json, Kind::Ini, Kind::Dotenv, Kind::Binary] {
        let read = decrypt_document(input, kind, &*RING).map_err(reason);
        if let Ok(plain) = &read {
            for to in [Kind::Yaml, Kind::Json, Kind::Ini, Kind::Dotenv, Kind::Binary] {
                let _ = plain.emit(to);
            }
        }
        outcome = outcome.or(read.map(drop));
    }
    outcome
}

fn seeds() -> Vec<Vec<u8>> {
    let json = sluice_yaml::to_json(YAML.as_bytes(), sluice_yaml::Duplicates::LastWins);
    let json = json.ok().flatten().map(|value| value.to_string()).unwrap_or_default();
    [YAML, INI, SHAMIR, DOTENV, &json].map(|text| text.as_bytes().to_vec()).to_vec()
}

/// The document with other values before its metadata.
fn with(values: &[u8]) -> Vec<u8> {
    let at = YAML.find("\nsops:").unwrap_or_default();
    join(&[values, YAML.get(at..).unwrap_or_default().as_bytes()])
}

fn hostile() -> Vec<Hostile> {
    let aliases = |depth: usize| {
        let mut text = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n".to_owned();
        for level in 1..depth {
            let inner = vec![format!("*a{}", level - 1); 10].join(",");
            text.push_str(&format!("a{level}: &a{level} [{inner}]\n"));
        }
        text
    };
    let encrypted = "ENC[AES256_GCM,data:AAAA,iv:AAAA,tag:AAAA,type:str]";
    let replaced = |from: &str, to: &str| YAML.replacen(from, to, 1).into_bytes();
    let armour =
        format!("-----BEGIN AGE ENCRYPTED FILE-----\n{}", "            A\n".repeat(40_000));
    let recipients = "        - recipient: age1x\n          enc: x\n".repeat(15_000);
    vec![
        ("aliases of ten billion letters", with(aliases(11).as_bytes())),
        ("a value that is nested", with(&nested("{a: ", "1", "}", 50_000))),
        ("a list that is nested", with(&join(&[b"a: ", &nested("[", "1", "]", 50_000)]))),
        ("60,000 values", with(numbered("k{n}: v\n", 60_000).as_bytes())),
        ("10,000 values that are encrypted", with(numbered(&format!("k{{n}}: {encrypted}\n"), 8000).as_bytes())),
        ("an encrypted value of a mebibyte", with(format!("a: ENC[AES256_GCM,data:{},iv:AAAA,tag:AAAA,type:str]\n", "A".repeat(1 << 20)).as_bytes())),
        ("an encrypted value without end", with(format!("a: ENC[{}\n", ",".repeat(1 << 18)).as_bytes())),
        ("an armour without end", replaced("-----BEGIN AGE ENCRYPTED FILE-----", &armour)),
        ("15,000 recipients", replaced("    age:\n", &format!("    age:\n{recipients}"))),
        ("metadata that is nested", join(&[b"a: b\nsops: ", &nested("{a: ", "1", "}", 50_000)])),
        ("a threshold of billions", format!("{YAML}    shamir_threshold: 4294967295\n").into_bytes()),
        ("a pattern that goes back and forth", format!("{YAML}    encrypted_regex: {}\n", "(a*)*".repeat(200)).into_bytes()),
        ("a pattern of a billion", format!("{YAML}    encrypted_regex: ((a{{1000}}){{1000}}){{1000}}\n").into_bytes()),
        ("60,000 lines of dotenv", join(&[DOTENV.as_bytes(), numbered("k{n}=v\n", 60_000).as_bytes()])),
        ("30,000 sections of INI", join(&[numbered("[s{n}]\na = b\n", 30_000).as_bytes(), INI.as_bytes()])),
        ("JSON that is nested", nested("{\"sops\":", "1", "}", 100_000)),
        ("JSON lists that are nested", nested("[", "1", "]", 200_000)),
        ("flattened metadata of a million steps", join(&[&times("sops_age__list_0__map_", 20_000), b"=x\nsops_version=1\n"])),
        ("flattened metadata at a far place", b"sops_age__list_99999999999__map_enc=x\nsops_mac=x\n".to_vec()),
        ("flattened metadata at 4 billion", b"sops_age__list_4000000000__map_enc=x\nsops_age__list_4000000000__map_recipient=x\nsops_mac=x\nsops_version=3\n".to_vec()),
    ]
}

fn parse_key(input: &[u8]) -> Outcome {
    let mut ring = KeyRing::default();
    let age = ring.import("key.agekey", input).map_err(reason);
    let pgp = ring.import("key.asc", input).map_err(reason);
    age.or(pgp)
}

fn seeds_key() -> Vec<Vec<u8>> {
    vec![AGE.to_vec(), RSA.to_vec(), CURVE.to_vec()]
}

fn hostile_key() -> Vec<Hostile> {
    let age = String::from_utf8_lossy(AGE);
    let line = age.lines().find(|line| line.starts_with("AGE-")).unwrap_or_default();
    vec![
        ("10,000 identities", format!("{line}\n").repeat(10_000).into_bytes()),
        (
            "an identity of a mebibyte",
            format!("AGE-SECRET-KEY-1{}", "Q".repeat(1 << 20)).into_bytes(),
        ),
        ("comments without end", times("#\n", 1 << 19)),
        ("100 armours of PGP", RSA.repeat(100)),
        (
            "an armour of zeros",
            b"-----BEGIN PGP PRIVATE KEY BLOCK-----\n\n"
                .iter()
                .copied()
                .chain(times("AAAA", 1 << 18))
                .collect(),
        ),
        (
            "an armour of headers",
            join(&[b"-----BEGIN PGP PRIVATE KEY BLOCK-----\n", &times("A: b\n", 180_000)]),
        ),
        ("an armour that is cut off", RSA.get(..RSA.len() / 2).unwrap_or_default().to_vec()),
    ]
}
