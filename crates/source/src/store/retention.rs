//! Retention of an object's files.

use jiff::Timestamp;

use super::Retention;

/// A file in the directory of an object.
pub(super) struct Kept {
    /// Its name.
    pub(super) name: String,
    /// When it was written.
    pub(super) modified: Timestamp,
}

/// The files to delete, oldest first: the expired ones, then the oldest beyond the number of records. The current
/// file always stays.
pub(super) fn garbage(
    mut files: Vec<Kept>,
    current: &str,
    retention: Retention,
    now: Timestamp,
) -> Vec<String> {
    files.sort_by(|one, other| (one.modified, &one.name).cmp(&(other.modified, &other.name)));
    let ttl = jiff::SignedDuration::try_from(retention.ttl).unwrap_or(jiff::SignedDuration::MAX);
    let total = files.len();
    let is_expired = |file: &Kept| now.duration_since(file.modified) > ttl;
    let expired = files.iter().filter(|file| file.name != current && is_expired(file)).count();
    let mut surplus = (total - expired).saturating_sub(retention.records);
    let mut out = Vec::new();
    for file in files {
        if file.name == current {
            continue;
        }
        if is_expired(&file) {
            out.push(file.name);
        } else if surplus > 0 {
            surplus -= 1;
            out.push(file.name);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    type Ages<'a> = &'a [(&'a str, i64)];

    #[test]
    fn expired_files_go_and_then_the_oldest_beyond_the_records() {
        let file = |name: &str, age: i64| Kept {
            name: name.to_owned(),
            modified: Timestamp::UNIX_EPOCH - jiff::SignedDuration::from_secs(age),
        };
        let cases: [(Ages<'_>, usize, &[&str]); 5] = [
            (&[("now", 100)], 2, &[]),
            (&[("now", 0), ("old", 61)], 2, &["old"]),
            (&[("now", 0), ("a", 10), ("b", 20), ("c", 30)], 2, &["c", "b"]),
            (&[("now", 0), ("a", 10), ("old", 90)], 2, &["old"]),
            (&[("now", 0), ("a", 10)], 0, &["a"]),
        ];
        for (files, records, expected) in cases {
            let files = files.iter().map(|(name, age)| file(name, *age)).collect();
            let retention = Retention { ttl: Duration::from_mins(1), records };
            assert_eq!(garbage(files, "now", retention, Timestamp::UNIX_EPOCH), expected);
        }
    }
}
