//! The audit policy: how much of a request is written. There is one, and it is not configurable.

use super::Level;
use crate::request::RequestInfo;

/// Resources whose bodies hold credentials, or settings that often do: their events never have a body.
const METADATA_ONLY: [(&str, &str, &str); 4] = [
    ("", "secrets", ""),
    ("", "configmaps", ""),
    ("", "serviceaccounts", "token"),
    ("authentication.k8s.io", "tokenreviews", ""),
];

/// The level at which a request is written.
pub(super) fn level(info: &RequestInfo) -> Level {
    let is_secret = METADATA_ONLY.iter().any(|(group, resource, subresource)| {
        info.group == *group
            && info.resource == *resource
            && (subresource.is_empty() || info.subresource == *subresource)
    });
    if is_secret { Level::Metadata } else { Level::Request }
}
