//! `known_hosts` files.

use sluice_source::probe;

use crate::make::{numbered, times};
use crate::{Format, Hostile, Outcome};

pub(super) const FORMAT: Format = Format { name: "known_hosts", parse, seeds, hostile };

const KEY: &str =
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ1TJGPr4cb4y1tLYgS4MzoWTTqkSuqQyjIXcFrYb3dI";

fn parse(input: &[u8]) -> Outcome {
    probe::known_hosts(&String::from_utf8_lossy(input))
}

fn seeds() -> Vec<Vec<u8>> {
    vec![
        format!("git.example.com {KEY}\n@revoked *.example.com,!x {KEY}\n").into_bytes(),
        format!(
            "|1|JfKTdBh7rNbXkVAQCRp4OQoPfmI=|USECr3SWf1JUPsms5AqfD5QfxkM= {KEY}\n[h]:22 {KEY}\n"
        )
        .into_bytes(),
    ]
}

fn hostile() -> Vec<Hostile> {
    let stars = format!("{}x {KEY}\n", "*a".repeat(100_000));
    let many = format!("{} {KEY}\n", numbered("h{n},", 100_000));
    vec![
        ("stars in a row", stars.into_bytes()),
        ("100,000 patterns on a line", many.into_bytes()),
        ("100,000 lines", times("* ssh-ed25519 AAAA\n", 50_000)),
        ("a key of a mebibyte", format!("* ssh-rsa {}\n", "A".repeat(1 << 20)).into_bytes()),
        ("a key that says 4 GiB", b"* ssh-rsa /////3NzaC1yc2E=\n".to_vec()),
        ("a salt of a mebibyte", format!("|1|{}|AAAA {KEY}\n", "A".repeat(1 << 20)).into_bytes()),
        ("10,000 keys of the host", format!("git.example.com {KEY}\n").repeat(9000).into_bytes()),
        ("markers without end", times("@", 1 << 20)),
    ]
}
