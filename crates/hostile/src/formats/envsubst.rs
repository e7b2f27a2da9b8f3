//! Post-build substitution.

use sluice_kustomize::flux::{Missing, Template};

use crate::make::{join, nested, reason, times};
use crate::{Format, Hostile, Outcome};

pub(super) const FORMAT: Format = Format { name: "envsubst templates", parse, seeds, hostile };

/// Every second variable is there, one of them large.
fn parse(input: &[u8]) -> Outcome {
    let large = vec![b'v'; 4096];
    let template = Template::parse(input).map_err(reason)?;
    let value = |name: &str| match name {
        "large" => Some(large.as_slice()),
        _ => name.len().is_multiple_of(2).then_some(b"a: b".as_slice()),
    };
    let strict = template.evaluate(Missing::Error, value).map(drop).map_err(reason);
    template.evaluate(Missing::Empty, value).map(drop).map_err(reason).and(strict)
}

fn seeds() -> Vec<Vec<u8>> {
    [
        "a: ${ab}\nb: ${ab:=x} $${not}\n",
        "${ab/a/b}${ab//a/b}${#ab}${ab:1:2}${ab^^}${ab,}${ab#a*}${ab%%*b}",
        "${x:-${ab}}",
    ]
    .map(|text| text.as_bytes().to_vec())
    .to_vec()
}

fn hostile() -> Vec<Hostile> {
    vec![
        ("defaults in each other", nested("${x:=", "y", "}", 100_000)),
        ("variables in each other", nested("${", "y", "}", 100_000)),
        ("100,000 variables", times("${ab}", 100_000)),
        ("250,000 large variables", times("${large}", 120_000)),
        (
            "replacements that grow",
            times("${large//v/vvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvvv}", 20_000),
        ),
        ("replacements of nothing", b"${large//\"\"/xxxxxxxxxxxxxxxxxxxx}".to_vec()),
        ("a pattern of stars", format!("${{large#{}x}}", "*v".repeat(2000)).into_bytes()),
        (
            "a pattern of stars at the end",
            format!("${{large%%x{}}}", "v*".repeat(2000)).into_bytes(),
        ),
        ("a name of a mebibyte", format!("${{{}}}", "a".repeat(1 << 20)).into_bytes()),
        ("dollars", times("$", 1 << 20)),
        ("opened and never closed", times("${", 1 << 19)),
        ("a slice beyond all", b"${ab:18446744073709551615:9223372036854775807}".to_vec()),
        ("a slice below zero", join(&[b"${ab:-9223372036854775808:", b"-9223372036854775808}"])),
    ]
}
