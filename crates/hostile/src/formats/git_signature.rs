//! Signatures of commits, PGP and SSH, and the keys that they are verified with: a line `---` parts the two.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use jiff::Timestamp;
use sluice_source::artifact::Revision;
use sluice_source::git::{
    Checkout, Commit, History, KeyAlgorithm, KeyPair, ObjectId, ObjectKind, TrustedKeys,
    VerifyMode, verify,
};
use sluice_source::tree::SourceTree;

use crate::make::{reason, times};
use crate::{Format, Hostile, Outcome};

pub(super) const FORMAT: Format = Format { name: "git signatures", parse, seeds, hostile };

const PGP_KEY: &str = include_str!("../../../secrets/tests/goldens/keys/rsa.asc");

fn parse(input: &[u8]) -> Outcome {
    let text = String::from_utf8_lossy(input);
    let (signature, key) = text.split_once("\n---\n").unwrap_or((&text, PGP_KEY));
    let id = ObjectId::of(ObjectKind::Commit, b"");
    let plain = format!("tree {id}\nauthor A <a@b> 1 +0000\ncommitter A <a@b> 1 +0000\n\nm\n");
    let mut commit = Commit::parse(id, plain.as_bytes()).map_err(reason)?;
    signature.clone_into(&mut commit.signature);
    let checkout = Checkout {
        commit,
        reference: String::new(),
        tag: None,
        revision: Revision::new("main"),
        files: SourceTree::default(),
        history: History::Unasked,
    };
    let keys = TrustedKeys { pgp: vec![key.to_owned()], ssh: vec![key.to_owned()] };
    verify(&checkout, VerifyMode::Head, &keys, Timestamp::UNIX_EPOCH).map(drop).map_err(reason)
}

fn armour(kind: &str, bytes: &[u8]) -> Vec<u8> {
    let text = BASE64_STANDARD.encode(bytes);
    let lines: Vec<&str> =
        text.as_bytes().chunks(70).filter_map(|line| std::str::from_utf8(line).ok()).collect();
    let blank = if kind.contains("PGP") { "\n" } else { "" };
    format!("-----BEGIN {kind}-----\n{blank}{}\n-----END {kind}-----\n", lines.join("\n"))
        .into_bytes()
}

fn field(bytes: &[u8]) -> Vec<u8> {
    let length = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
    [length.to_be_bytes().as_slice(), bytes].concat()
}

/// The parts of a signature by SSH.
fn ssh(key: &[u8], hash: &str, signature: &[u8]) -> Vec<u8> {
    let version = 1_u32.to_be_bytes();
    let parts = [field(key), field(b"git"), field(b""), field(hash.as_bytes()), field(signature)];
    [b"SSHSIG".as_slice(), &version, &parts.concat()].concat()
}

fn ssh_key() -> (String, Vec<u8>) {
    let line = KeyPair::generate(KeyAlgorithm::Ed25519).map(|pair| pair.public).unwrap_or_default();
    let blob = line.split(' ').nth(1).map(|text| BASE64_STANDARD.decode(text).unwrap_or_default());
    (line, blob.unwrap_or_default())
}

/// An old packet of PGP: its tag, a length of four bytes, a body.
fn packet(tag: u8, length: u32, body: &[u8]) -> Vec<u8> {
    [[0x82 | tag << 2].as_slice(), &length.to_be_bytes(), body].concat()
}

const SIGNATURE: &str = "PGP SIGNATURE";
const KEY: &str = "PGP PUBLIC KEY BLOCK";

fn seeds() -> Vec<Vec<u8>> {
    let (line, blob) = ssh_key();
    let inner = [field(b"ssh-ed25519"), field(&[7; 64])].concat();
    let signed = armour("SSH SIGNATURE", &ssh(&blob, "sha512", &inner));
    let subpackets = [5, 2, 0, 0, 0, 0, 9, 16, 1, 2, 3, 4, 5, 6, 7, 8];
    let mut body = vec![4, 0, 1, 8, 0, 16];
    body.extend(subpackets);
    body.extend([0, 0, 1, 2, 0, 8, 0xff]);
    let length = u32::try_from(body.len()).unwrap_or_default();
    vec![
        [signed, b"\n---\n".to_vec(), line.into_bytes()].concat(),
        armour(SIGNATURE, &packet(2, length, &body)),
    ]
}

fn hostile() -> Vec<Hostile> {
    let (_, blob) = ssh_key();
    let with_key = |key: Vec<u8>| [armour(SIGNATURE, &[0; 9]), b"\n---\n".to_vec(), key].concat();
    let ssh_armour = |bytes: &[u8]| armour("SSH SIGNATURE", bytes);
    let nested = |depth| {
        (0..depth).fold(vec![0; 10], |inner: Vec<u8>, _| {
            packet(
                8,
                u32::try_from(inner.len() + 1).unwrap_or(u32::MAX),
                &[vec![0], inner].concat(),
            )
        })
    };
    vec![
        ("an armour without end", times("-----BEGIN PGP SIGNATURE-----\n\n", 30_000)),
        (
            "an armour of a million headers",
            [b"-----BEGIN PGP SIGNATURE-----\n".to_vec(), times("A: b\n", 180_000)].concat(),
        ),
        ("an armour of one line", armour(SIGNATURE, &[0; 600_000])),
        ("a packet of 4 GiB", armour(SIGNATURE, &packet(2, u32::MAX, &[4; 100]))),
        ("200,000 empty packets", armour(SIGNATURE, &packet(2, 0, b"").repeat(100_000))),
        ("partial lengths", armour(SIGNATURE, &[0xc2, 0xe0, 4].repeat(200_000))),
        ("compressed packets in each other", armour(SIGNATURE, &nested(5000))),
        (
            "a signature with 4 GiB of subpackets",
            armour(SIGNATURE, &packet(2, 10, &[4, 0, 1, 8, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff])),
        ),
        (
            "a number of 64 KiB bits",
            armour(SIGNATURE, &packet(2, 12, &[4, 0, 1, 8, 0, 0, 0, 0, 1, 2, 0xff, 0xff])),
        ),
        ("50,000 keys", with_key(armour(KEY, &packet(6, 6, &[4, 0, 0, 0, 0, 1]).repeat(40_000)))),
        ("a key of unknown packets", with_key(armour(KEY, &packet(60, 4, &[0; 4]).repeat(80_000)))),
        (
            "a key ring of 10,000 armours",
            with_key(armour(KEY, &packet(6, 6, &[4, 0, 0, 0, 0, 1])).repeat(8000)),
        ),
        (
            "50,000 lines of SSH keys",
            [
                ssh_armour(&ssh(&blob, "sha512", b"x")),
                b"\n---\n".to_vec(),
                times("ssh-ed25519 AAAA\n", 50_000),
            ]
            .concat(),
        ),
        ("an SSH field of 4 GiB", ssh_armour(b"SSHSIG\0\0\0\x01\xff\xff\xff\xffssh")),
        ("an SSH hash of a mebibyte", ssh_armour(&ssh(&blob, &"h".repeat(1 << 19), b"x"))),
        (
            "an SSH signature of a mebibyte",
            ssh_armour(&ssh(&blob, "sha512", &field(&vec![7; 1 << 19]))),
        ),
    ]
}
