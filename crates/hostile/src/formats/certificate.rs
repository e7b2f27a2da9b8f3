//! Certificates, in DER and in PEM.

use std::sync::LazyLock;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use sluice_source::probe;

use crate::make::times;
use crate::{Format, Hostile, Outcome};

pub(super) const FORMAT: Format = Format { name: "certificates", parse, seeds, hostile };

fn parse(input: &[u8]) -> Outcome {
    probe::certificate(input)
}

static SELF_SIGNED: LazyLock<(String, String)> = LazyLock::new(|| {
    let made = rcgen::generate_simple_self_signed(["a.example.com".to_owned()]);
    made.map(|made| (made.cert.pem(), made.signing_key.public_key_pem())).unwrap_or_default()
});

/// A certificate that signs itself, and its public key, in PEM; made once.
pub(super) fn self_signed() -> (String, String) {
    SELF_SIGNED.clone()
}

fn der() -> Vec<u8> {
    let made = rcgen::generate_simple_self_signed(["a.example.com".to_owned(), "b".to_owned()]);
    made.map(|made| made.cert.der().to_vec()).unwrap_or_default()
}

fn seeds() -> Vec<Vec<u8>> {
    let (one, _) = self_signed();
    let (two, _) = self_signed();
    vec![der(), [one, two].concat().into_bytes()]
}

/// A value of DER: its tag, a length in long form, its content.
fn value(tag: u8, content: &[u8]) -> Vec<u8> {
    let length = u32::try_from(content.len()).unwrap_or(u32::MAX).to_be_bytes();
    [[tag, 0x84].as_slice(), &length, content].concat()
}

fn pem(bytes: &[u8]) -> Vec<u8> {
    let body = BASE64_STANDARD.encode(bytes);
    format!("-----BEGIN CERTIFICATE-----\n{body}\n-----END CERTIFICATE-----\n").into_bytes()
}

/// A certificate with other bytes in the place of its subject's name, as far as the reader gets.
fn with_inner(inner: &[u8]) -> Vec<u8> {
    let head = [vec![0xa0, 3, 2, 1, 2], vec![2, 1, 1], value(0x30, &[6, 3, 42, 3, 4])].concat();
    let valid =
        value(0x30, &[b"\x17\x0d240101000000Z".as_slice(), b"\x17\x0d340101000000Z"].concat());
    let body = [head, value(0x30, inner), valid, value(0x30, inner), value(0x30, b"")].concat();
    value(0x30, &[value(0x30, &body), value(0x30, &[6, 3, 42, 3, 4]), vec![3, 1, 0]].concat())
}

fn hostile() -> Vec<Hostile> {
    let nested = (0..20_000).fold(Vec::new(), |inner: Vec<u8>, _| {
        // Lengths are told in the outer values only; the reader sees the innermost as cut off.
        let mut out = vec![0x30, 0x83, 0x0f, 0xff, 0xff];
        out.truncate(5);
        [out, inner].concat()
    });
    let name = value(0x31, &value(0x30, &[6, 3, 85, 4, 3, 12, 1, b'a']));
    let (good, _) = self_signed();
    let cut: Vec<u8> = der().get(..200).unwrap_or_default().to_vec();
    vec![
        ("20,000 values in each other", nested),
        ("a length of 16 EiB", vec![0x30, 0x88, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0]),
        ("a length of 127 bytes", [vec![0x30, 0xff], vec![0xff; 200]].concat()),
        ("a length without end", vec![0x30, 0x80, 0, 0]),
        ("30,000 parts of a name", with_inner(&name.repeat(30_000))),
        (
            "a name of a mebibyte",
            with_inner(&value(
                0x31,
                &value(
                    0x30,
                    &[[6, 3, 85, 4, 3].as_slice(), &value(12, &vec![b'a'; 1 << 20])].concat(),
                ),
            )),
        ),
        (
            "an object identifier of a mebibyte",
            with_inner(&value(0x31, &value(0x30, &value(6, &vec![0xff; 1 << 20])))),
        ),
        ("a certificate that is cut off", cut),
        ("1500 certificates", good.repeat(1500).into_bytes()),
        ("a PEM of a mebibyte", pem(&vec![0x30; 1 << 19])),
        ("begins without end", times("-----BEGIN CERTIFICATE-----\n", 35_000)),
        ("ends without begin", times("-----END CERTIFICATE-----\n", 35_000)),
    ]
}
