//! The audit policy: the level of each request. There is one, and it is not configurable.

use super::Level;
use crate::request::RequestInfo;

/// Resources with credentials in their bodies, or settings that often have some: never logged with a body.
const METADATA_ONLY: [(&str, &str, &str); 4] = [
    ("", "secrets", ""),
    ("", "configmaps", ""),
    ("", "serviceaccounts", "token"),
    ("authentication.k8s.io", "tokenreviews", ""),
];

/// The audit level of a request.
pub(super) fn level(info: &RequestInfo) -> Level {
    let is_secret = METADATA_ONLY.iter().any(|(group, resource, subresource)| {
        info.group == *group
            && info.resource == *resource
            && (subresource.is_empty() || info.subresource == *subresource)
    });
    if is_secret { Level::Metadata } else { Level::Request }
}
