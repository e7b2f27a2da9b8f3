//! Paths as in Go's `filepath` on Unix, without access to files.

/// The clean path, `.` if empty.
pub(crate) fn clean(path: &str) -> String {
    let is_absolute = path.starts_with('/');
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => match parts.last() {
                Some(&last) if last != ".." => {
                    parts.pop();
                }
                _ if is_absolute => {}
                _ => parts.push(".."),
            },
            other => parts.push(other),
        }
    }
    let joined = parts.join("/");
    match (is_absolute, joined.is_empty()) {
        (true, _) => format!("/{joined}"),
        (false, true) => ".".to_owned(),
        (false, false) => joined,
    }
}

/// A path below another, clean; empty if both are.
pub(crate) fn join(above: &str, below: &str) -> String {
    match (above.is_empty(), below.is_empty()) {
        (true, true) => String::new(),
        (true, false) => clean(below),
        (false, true) => clean(above),
        (false, false) => clean(&format!("{above}/{below}")),
    }
}

/// The directory of a clean, absolute path.
pub(crate) fn parent(path: &str) -> &str {
    match path.rsplit_once('/') {
        Some(("", _)) | None => "/",
        Some((parent, _)) => parent,
    }
}

/// Whether the directory is `above` or below it.
pub(crate) fn is_within(directory: &str, above: &str) -> bool {
    above == "/"
        || directory
            .strip_prefix(above)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::{clean, is_within, join, parent};

    #[test]
    fn paths_are_cleaned_as_go_does() {
        let cases = [
            ("", "."),
            (".", "."),
            ("a/../b", "b"),
            ("../a", "../a"),
            ("a/../../b", "../b"),
            ("/../a//b/", "/a/b"),
            ("/", "/"),
        ];
        for (path, expected) in cases {
            assert_eq!(clean(path), expected, "{path}");
        }
        assert_eq!(join("/a/b", "../c"), "/a/c");
        assert_eq!(join("", "a"), "a");
        assert_eq!(parent("/a/b"), "/a");
        assert_eq!(parent("/a"), "/");
    }

    #[test]
    fn a_directory_is_within_itself_and_those_above() {
        assert!(is_within("/a/b", "/a/b") && is_within("/a/b", "/a") && is_within("/a", "/"));
        assert!(!is_within("/ab", "/a") && !is_within("/a", "/a/b"));
    }
}
