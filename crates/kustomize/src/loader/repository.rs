//! Paths that refer to a Git repository and a directory in it.

use sluice_base::need::RepositoryRef;

/// A directory of a Git repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Repository {
    /// The URL to clone.
    pub(crate) url: String,
    /// The directory, relative to the root.
    pub(crate) path: String,
    /// The branch, tag or commit; the default branch if empty.
    pub(crate) reference: String,
    /// Whether to clone submodules.
    pub(crate) submodules: bool,
    /// The path as it was written.
    pub(crate) written: String,
}

const SCHEMES: [&str; 4] = ["ssh://", "https://", "http://", "file://"];

impl Repository {
    /// What has to be cloned for it, whatever the directory in it.
    pub(super) fn reference(&self) -> RepositoryRef {
        RepositoryRef {
            url: self.url.clone(),
            reference: self.reference.clone(),
            submodules: self.submodules,
        }
    }

    /// Parses a path; `None` if it is not a repository, and so a path of the file tree.
    pub(crate) fn parse(written: &str) -> Option<Self> {
        if written.starts_with('/') {
            return None;
        }
        let (location, query) = written.split_once('?').unwrap_or((written, ""));
        let (host, rest) = split_host(location)?;
        let (repository, path) = split_path(rest, host.starts_with("file://"))?;
        if repository.is_empty() || leaves(path) {
            return None;
        }
        let query = Query::parse(query);
        Some(Self {
            url: host + repository,
            path: path.strip_prefix('/').unwrap_or(path).to_owned(),
            reference: query.reference,
            submodules: query.submodules,
            written: written.to_owned(),
        })
    }
}

/// The host with scheme and user, and the rest.
fn split_host(location: &str) -> Option<(String, &str)> {
    let rest = without_prefix(location, "git::").unwrap_or(location);
    let found = SCHEMES.iter().find_map(|scheme| Some((*scheme, without_prefix(rest, scheme)?)));
    let (scheme, rest) = found.unwrap_or(("", rest));
    let (user, host) = split_user(rest);
    let lower = host.to_ascii_lowercase();
    let is_github = lower.starts_with("github.com/") || lower.starts_with("github.com:");
    // `user@host:path`, the form without a scheme.
    let is_scp = scheme.is_empty() && (!user.is_empty() || is_github);
    if scheme.is_empty() && !is_scp {
        return None;
    }
    if scheme == "file://" {
        return Some((scheme.to_owned(), rest));
    }
    let slash = host.find('/');
    let colon = host.find(':').filter(|_| is_scp);
    let end = match (slash, colon) {
        (None, colon) => colon,
        (Some(slash), Some(colon)) if colon > 0 && colon < slash => Some(colon),
        (slash, _) => slash,
    };
    let (host, rest) = match end {
        Some(end) => host.split_at_checked(end + 1)?,
        None => (host, ""),
    };
    if is_github {
        let host = if scheme == "ssh://" || !user.is_empty() {
            format!("{user}github.com:")
        } else {
            "https://github.com/".to_owned()
        };
        return Some((host, rest));
    }
    if host.is_empty() { None } else { Some((format!("{scheme}{user}{host}"), rest)) }
}

fn without_prefix<'t>(text: &'t str, prefix: &str) -> Option<&'t str> {
    let start = text.get(..prefix.len())?;
    if start.eq_ignore_ascii_case(prefix) { text.get(prefix.len()..) } else { None }
}

/// The user with its `@`, and the rest.
fn split_user(text: &str) -> (&str, &str) {
    let end = text.find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '-');
    match end {
        Some(end)
            if text[end..].starts_with('@')
                && text.starts_with(|letter: char| letter.is_ascii_alphabetic()) =>
        {
            text.split_at(end + 1)
        }
        _ => ("", text),
    }
}

/// The repository and the directory in it: split at a delimiter in the path, else after organisation and name.
fn split_path(rest: &str, is_file: bool) -> Option<(&str, &str)> {
    if let Some(found) = rest.find("_git/") {
        let start = found + "_git/".len();
        let end = rest.get(start..)?.find('/').map(|end| start + end);
        return Some(end.map_or((rest, ""), |end| (&rest[..end], &rest[end + 1..])));
    }
    if let Some(parts) = rest.split_once("//") {
        return Some(parts);
    }
    if let Some(found) = rest.find(".git") {
        return Some(rest.split_at(found + ".git".len()));
    }
    if is_file {
        return Some((rest, ""));
    }
    let (_, name) = rest.split_once('/')?;
    match name.find('/') {
        Some(end) => {
            let end = rest.len() - name.len() + end;
            Some((&rest[..end], &rest[end + 1..]))
        }
        None => Some((rest, "")),
    }
}

fn leaves(path: &str) -> bool {
    let path = super::path::clean(path.strip_prefix('/').unwrap_or(path));
    path == ".." || path.starts_with("../")
}

struct Query {
    reference: String,
    submodules: bool,
}

impl Query {
    fn parse(text: &str) -> Self {
        let default = Self { reference: String::new(), submodules: true };
        let mut pairs = Vec::new();
        for pair in text.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            match (unescape(name), unescape(value)) {
                (Some(name), Some(value)) if !pair.contains(';') => pairs.push((name, value)),
                // Go ignores an invalid query as a whole.
                _ => return default,
            }
        }
        let first = |wanted: &str| {
            let mut values = pairs.iter().filter(|(name, _)| name == wanted);
            values.next().map(|(_, value)| value.clone()).unwrap_or_default()
        };
        let reference = Some(first("ref")).filter(|value| !value.is_empty());
        let submodules =
            !matches!(first("submodules").as_str(), "0" | "f" | "F" | "false" | "FALSE" | "False");
        Self { reference: reference.unwrap_or_else(|| first("version")), submodules }
    }
}

/// Unescapes a query; `None` if it is invalid.
fn unescape(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => {
                let digit = |byte: u8| char::from(byte).to_digit(16);
                let value = digit(rest.next()?)? * 16 + digit(rest.next()?)?;
                u8::try_from(value).ok()?
            }
            other => other,
        });
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::Repository;

    #[test]
    fn repositories_are_told_from_paths() {
        let cases = [
            ("github.com/org/repo", "https://github.com/org/repo", "", ""),
            ("https://github.com/org/repo/a/b?ref=v1", "https://github.com/org/repo", "a/b", "v1"),
            ("git@github.com:org/repo.git/a", "git@github.com:org/repo.git", "a", ""),
            ("ssh://git@github.com/org/repo", "git@github.com:org/repo", "", ""),
            ("https://example.com/a/b//c?version=x", "https://example.com/a/b", "c", "x"),
            ("file:///tmp/repo.git/x", "file:///tmp/repo.git", "x", ""),
            ("https://u@dev.azure.com/o/p/_git/r/s", "https://u@dev.azure.com/o/p/_git/r", "s", ""),
        ];
        for (text, url, path, reference) in cases {
            let found = Repository::parse(text).unwrap_or_else(|| panic!("{text}"));
            let found = (found.url, found.path, found.reference);
            assert_eq!(found, (url.to_owned(), path.to_owned(), reference.to_owned()), "{text}");
        }
        for text in ["../base", "base", "/abs", "a/b/c", "deployment.yaml", "https://example.com"] {
            assert_eq!(Repository::parse(text), None, "{text}");
        }
        assert_eq!(Repository::parse("github.com/org/repo//../x"), None);
    }
}
