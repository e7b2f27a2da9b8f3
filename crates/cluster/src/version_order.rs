//! The order of API versions: `v2` before `v1` before `v1beta2` before `v1alpha1` before the rest.

use std::cmp::Ordering;

/// How stable a version is, then its numbers; other names come last, by name.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Rank<'a> {
    Name(std::cmp::Reverse<&'a str>),
    Numbered { stability: u8, major: u64, minor: u64 },
}

/// Compares two versions; the greater one is preferred.
pub(crate) fn compare(left: &str, right: &str) -> Ordering {
    rank(left).cmp(&rank(right))
}

fn rank(version: &str) -> Rank<'_> {
    let name = || Rank::Name(std::cmp::Reverse(version));
    let Some(rest) = version.strip_prefix('v') else { return name() };
    let digits = rest.len() - rest.trim_start_matches(|letter: char| letter.is_ascii_digit()).len();
    let Ok(major) = rest[..digits].parse() else { return name() };
    let (stability, minor) = match &rest[digits..] {
        "" => return Rank::Numbered { stability: 2, major, minor: 0 },
        tail if tail.starts_with("beta") => (1, &tail[4..]),
        tail if tail.starts_with("alpha") => (0, &tail[5..]),
        _ => return name(),
    };
    match minor.parse() {
        Ok(minor) => Rank::Numbered { stability, major, minor },
        Err(_) => name(),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn stable_versions_come_first() {
        let mut versions = [
            "foo1",
            "v1alpha1",
            "v10",
            "v2",
            "v1",
            "v11beta2",
            "v10beta3",
            "v3beta1",
            "foo10",
            "v12alpha1",
        ];
        versions.sort_by(|left, right| super::compare(right, left));
        assert_eq!(
            versions,
            [
                "v10",
                "v2",
                "v1",
                "v11beta2",
                "v10beta3",
                "v3beta1",
                "v12alpha1",
                "v1alpha1",
                "foo1",
                "foo10"
            ]
        );
    }
}
