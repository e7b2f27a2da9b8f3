//! Ranges of versions and versions. The first line is the range.

use sluice_base::semver::{Constraint, Version, sorted};
use sluice_source::oci::newest_tag;

use crate::make::{numbered, reason, times};
use crate::{Format, Hostile, Outcome};

pub(super) const FORMAT: Format = Format { name: "versions and ranges", parse, seeds, hostile };

fn parse(input: &[u8]) -> Outcome {
    let text = String::from_utf8_lossy(input);
    let mut lines = text.lines();
    let range = lines.next().unwrap_or_default();
    let tags: Vec<String> = lines.map(str::to_owned).collect();
    let constraint = Constraint::parse(range).map_err(reason)?;
    for tag in &tags {
        if let Ok(version) = Version::parse(tag) {
            let _ = constraint.check(&version);
        }
    }
    let _ = sorted(&constraint, tags.iter().map(String::as_str));
    newest_tag(&tags, range, None, "").map(drop).map_err(reason)
}

fn seeds() -> Vec<Vec<u8>> {
    vec![
        b">=1.0.0 <2.0.0 || ~3.1\n1.2.3\nv3.1.4-rc.1+b\n".to_vec(),
        b"1.x - 2.3\n1.5.0\n".to_vec(),
        b"^0.2.3-beta.2, !=0.2.4\n0.2.5\n".to_vec(),
    ]
}

fn hostile() -> Vec<Hostile> {
    let range = |text: String| [text, "\n1.2.3\n4.5.6\n".to_owned()].concat().into_bytes();
    let versions = |text: String| [">=0.0.0-0\n".to_owned(), text].concat().into_bytes();
    vec![
        ("50,000 alternatives", range(vec![">=1"; 50_000].join("||"))),
        ("50,000 conditions", range(vec![">=1"; 50_000].join(", "))),
        ("50,000 hyphens", range(vec!["1 - 2"; 50_000].join(" "))),
        ("spaces that a pattern goes back over", range(" ".repeat(200_000))),
        ("signs that a pattern goes back over", range(">=".repeat(200_000))),
        ("a number of a mebibyte", range(format!(">={}", "9".repeat(1 << 20)))),
        ("dots", range("1.".repeat(200_000))),
        ("stars", range("*".repeat(200_000))),
        ("60,000 versions", versions(numbered("1.0.{n}\n", 60_000))),
        ("a version with 100,000 parts", versions(format!("1.0.0-{}\n", "a.".repeat(100_000)))),
        (
            "versions that differ at the end",
            versions(numbered(&format!("1.0.0-{}{{n}}\n", "a.".repeat(200)), 2000)),
        ),
        (
            "versions of large numbers",
            versions(numbered("18446744073709551615.99999999999999999999.{n}\n", 20_000)),
        ),
        ("no version", times("\n", 1 << 20)),
    ]
}
