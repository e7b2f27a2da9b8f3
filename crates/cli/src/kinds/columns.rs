//! The columns of tables.

use serde_json::Value;

use super::Kind;
use crate::moment;

/// A column between an object's name and its readiness.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Column {
    /// The revision at a path.
    Revision(&'static str),
    /// The chart version of a HelmRelease.
    Release,
    /// Whether the object is suspended.
    Suspended,
    /// The source of the object; shown on request.
    Reference,
    /// The origin of an external artifact.
    Origin,
    /// The last scan of an image repository.
    LastScan,
    /// The last run of an automation.
    LastRun,
    /// The image that a policy selected.
    Image,
    /// The tag that a policy selected.
    Tag,
}

impl Column {
    /// The heading.
    pub(crate) fn heading(self) -> &'static str {
        match self {
            Self::Revision(_) | Self::Release => "Revision",
            Self::Suspended => "Suspended",
            Self::Reference | Self::Origin => "Source",
            Self::LastScan => "Last scan",
            Self::LastRun => "Last run",
            Self::Image => "Image",
            Self::Tag => "Tag",
        }
    }

    /// The cell of an object.
    pub(crate) fn text(self, kind: &Kind, object: &Value) -> String {
        match self {
            Self::Revision(path) => {
                let revision = text_at(object, path);
                if kind.shortens_revision() {
                    shorten_digests(revision)
                } else {
                    revision.to_owned()
                }
            }
            Self::Release => release_of(object).to_owned(),
            Self::Suspended => {
                let suspended = kind.is_suspended(object);
                (if suspended { "True" } else { "False" }).to_owned()
            }
            Self::Reference => reference_of(object),
            Self::Origin => match object.pointer("/spec/sourceRef") {
                Some(reference) => joined(reference, text_at(reference, "/namespace")),
                None => String::new(),
            },
            Self::LastScan => moment::rfc3339(text_at(object, "/status/lastScanResult/scanTime")),
            Self::LastRun => moment::rfc3339(text_at(object, "/status/lastAutomationRunTime")),
            Self::Image => text_at(object, "/status/latestRef/name").to_owned(),
            Self::Tag => text_at(object, "/status/latestRef/tag").to_owned(),
        }
    }
}

/// The current chart version of a HelmRelease.
pub(super) fn release_of(object: &Value) -> &str {
    match object.pointer("/status/history/0") {
        Some(latest) => text_at(latest, "/chartVersion"),
        None => text_at(object, "/status/lastAttemptedRevision"),
    }
}

/// `Kind/namespace/name` of the source of a Kustomization or HelmRelease.
fn reference_of(object: &Value) -> String {
    let paths = ["/spec/sourceRef", "/spec/chartRef", "/spec/chart/spec/sourceRef"];
    let Some(reference) = paths.iter().find_map(|path| object.pointer(path)) else {
        return String::new();
    };
    let namespace = match text_at(reference, "/namespace") {
        "" => text_at(object, "/metadata/namespace"),
        namespace => namespace,
    };
    joined(reference, namespace)
}

fn joined(reference: &Value, namespace: &str) -> String {
    format!("{}/{namespace}/{}", text_at(reference, "/kind"), text_at(reference, "/name"))
}

/// The text at a path, or nothing.
pub(crate) fn text_at<'v>(object: &'v Value, path: &str) -> &'v str {
    object.pointer(path).and_then(Value::as_str).unwrap_or_default()
}

/// The first condition of a type.
pub(crate) fn condition<'v>(object: &'v Value, kind: &str) -> Option<&'v Value> {
    let all = object.pointer("/status/conditions")?.as_array()?;
    all.iter().find(|condition| text_at(condition, "/type") == kind)
}

/// A text with its digests (40 to 128 hexadecimal digits, lower case) cut to eight characters.
///
/// Flux finds digests as whole words and then replaces each of them everywhere.
pub(crate) fn shorten_digests(text: &str) -> String {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let is_digest = |word: &&str| {
        (40..=128).contains(&word.len())
            && word.bytes().all(|c| matches!(c, b'0'..=b'9' | b'a'..=b'f'))
    };
    let digests: Vec<&str> = text.split(|c| !is_word(c)).filter(is_digest).collect();
    let mut short = text.to_owned();
    for digest in digests {
        short = short.replace(digest, digest.get(..8).unwrap_or(digest));
    }
    short
}

#[cfg(test)]
mod tests {
    use super::shorten_digests;

    #[test]
    fn digests_are_cut_and_words_are_not() {
        let digest = "0123456789abcdef0123456789abcdef01234567";
        assert_eq!(shorten_digests(&format!("main@sha1:{digest}")), "main@sha1:01234567");
        assert_eq!(shorten_digests(&format!("a {digest}, b {digest}")), "a 01234567, b 01234567");
        for kept in [&digest[..39], &format!("x{digest}"), &format!("{digest}g"), &"f".repeat(129)]
        {
            assert_eq!(shorten_digests(kept), *kept);
        }
    }
}
