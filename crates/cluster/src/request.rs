//! Request attributes from path, method and query (upstream's `RequestInfo`).

use std::collections::BTreeMap;

use http::Method;

use crate::selector::FieldSelector;

/// The parts of a request that routing and authorization use.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct RequestInfo {
    /// `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`, `deletecollection`; for paths
    /// that are not resources, the lower-case method.
    pub(crate) verb: &'static str,
    /// The path without the query.
    pub(crate) path: String,
    /// Whether the path names a resource of the API.
    pub(crate) is_resource: bool,
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) namespace: String,
    pub(crate) resource: String,
    pub(crate) subresource: String,
    pub(crate) name: String,
    /// The path after the subresource, for proxies.
    pub(crate) rest: Vec<String>,
}

/// Subresources of `namespaces`; any other segment after a namespace name is a resource in it.
const NAMESPACE_SUBRESOURCES: [&str; 2] = ["status", "finalize"];

impl RequestInfo {
    /// Parses method, path and query.
    pub(crate) fn parse(method: &Method, path: &str, query: &Query) -> Self {
        let mut info = Self { verb: method_verb(method), path: path.to_owned(), ..Self::default() };
        let mut parts: Vec<&str> = path.trim_matches('/').split('/').collect();
        match parts.first().copied() {
            Some("api") if parts.len() >= 3 => {
                parts[1].clone_into(&mut info.version);
                parts.drain(..2);
            }
            Some("apis") if parts.len() >= 4 => {
                parts[1].clone_into(&mut info.group);
                parts[2].clone_into(&mut info.version);
                parts.drain(..3);
            }
            _ => return info,
        }
        info.is_resource = true;
        info.verb = match *method {
            Method::POST => "create",
            Method::GET | Method::HEAD => "get",
            Method::PUT => "update",
            Method::PATCH => "patch",
            Method::DELETE => "delete",
            _ => "",
        };
        // The deprecated path /api/v1/watch/… is still served.
        if parts.first() == Some(&"watch") && parts.len() > 1 {
            info.verb = "watch";
            parts.remove(0);
        }
        if parts.first() == Some(&"namespaces")
            && let Some(name) = parts.get(1)
        {
            (*name).clone_into(&mut info.namespace);
            let inside = parts.len() > 2
                && !(parts.len() == 3 && NAMESPACE_SUBRESOURCES.contains(&parts[2]));
            if inside {
                parts.drain(..2);
            }
        }
        let mut parts = parts.into_iter();
        parts.next().unwrap_or_default().clone_into(&mut info.resource);
        parts.next().unwrap_or_default().clone_into(&mut info.name);
        parts.next().unwrap_or_default().clone_into(&mut info.subresource);
        info.rest = parts.map(str::to_owned).collect();
        if info.name.is_empty() {
            info.verb = match info.verb {
                "get" => "list",
                "delete" => "deletecollection",
                other => other,
            };
        }
        if info.verb == "list" || info.verb == "watch" {
            if query.flag("watch") {
                info.verb = "watch";
            }
            if info.name.is_empty()
                && let Some(name) = query.get("fieldSelector").and_then(single_name)
            {
                // RBAC's resourceNames treat this as the name.
                info.name = name;
            }
        }
        info
    }
}

fn method_verb(method: &Method) -> &'static str {
    match *method {
        Method::GET => "get",
        Method::HEAD => "head",
        Method::POST => "post",
        Method::PUT => "put",
        Method::PATCH => "patch",
        Method::DELETE => "delete",
        Method::OPTIONS => "options",
        _ => "",
    }
}

/// The single name that a field selector matches, if it matches only one. Must be parsed exactly as the
/// selector is applied later: RBAC authorizes this name.
fn single_name(selector: &str) -> Option<String> {
    let selector = FieldSelector::parse(selector).ok()?;
    let name = selector.exact("metadata.name")?;
    (!name.is_empty() && !name.contains(['/', '%'])).then(|| name.to_owned())
}

/// The decoded query of a request.
#[derive(Debug, Clone, Default)]
pub(crate) struct Query(BTreeMap<String, Vec<String>>);

impl Query {
    /// Parses the text after the question mark.
    pub(crate) fn parse(text: &str) -> Self {
        let mut out: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for pair in text.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            out.entry(percent_decode(name, true)).or_default().push(percent_decode(value, true));
        }
        Self(out)
    }

    /// The first value of `name`.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name)?.first().map(String::as_str)
    }

    /// The first value of `name`; empty counts as absent.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.get(name).filter(|value| !value.is_empty())
    }

    /// All values of `name`.
    pub(crate) fn all(&self, name: &str) -> &[String] {
        self.0.get(name).map_or(&[], Vec::as_slice)
    }

    /// A boolean as upstream converts it: present and neither `false` nor `0`.
    pub(crate) fn flag(&self, name: &str) -> bool {
        self.get(name).is_some_and(|value| !matches!(value.to_lowercase().as_str(), "false" | "0"))
    }
}

/// Decodes `%xx` (and, in queries, `+`); invalid UTF-8 is replaced.
pub(crate) fn percent_decode(text: &str, plus_is_space: bool) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut index = 0;
    while index < bytes.len() {
        let hex = |at: usize| bytes.get(at).and_then(|byte| char::from(*byte).to_digit(16));
        match (bytes[index], hex(index + 1), hex(index + 2)) {
            (b'%', Some(high), Some(low)) => {
                out.push(u8::try_from(high * 16 + low).unwrap_or(b'?'));
                index += 3;
            }
            (b'+', ..) if plus_is_space => {
                out.push(b' ');
                index += 1;
            }
            (other, ..) => {
                out.push(other);
                index += 1;
            }
        }
    }
    String::from_utf8(out)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_read_as_upstream_reads_them() {
        // method, path, query -> verb group/version namespace resource/subresource name
        let cases = [
            ("GET", "/api/v1/namespaces/a/pods/p/log", "", "get /v1 a pods/log p"),
            ("GET", "/api/v1/namespaces/a/pods", "", "list /v1 a pods/ "),
            ("GET", "/api/v1/namespaces/a/pods", "watch=true", "watch /v1 a pods/ "),
            ("GET", "/api/v1/namespaces/a", "", "get /v1 a namespaces/ a"),
            ("PUT", "/api/v1/namespaces/a/finalize", "", "update /v1 a namespaces/finalize a"),
            ("GET", "/api/v1/namespaces/a/status", "", "get /v1 a namespaces/status a"),
            ("DELETE", "/apis/apps/v1/deployments", "", "deletecollection apps/v1  deployments/ "),
            (
                "GET",
                "/api/v1/pods",
                "fieldSelector=metadata.name%3Dx&watch=1",
                "watch /v1  pods/ x",
            ),
            (
                "POST",
                "/apis/apps/v1/namespaces/a/deployments",
                "",
                "create apps/v1 a deployments/ ",
            ),
        ];
        for (method, path, query, expected) in cases {
            let method = Method::from_bytes(method.as_bytes()).unwrap();
            let info = RequestInfo::parse(&method, path, &Query::parse(query));
            let got = format!(
                "{} {}/{} {} {}/{} {}",
                info.verb,
                info.group,
                info.version,
                info.namespace,
                info.resource,
                info.subresource,
                info.name
            );
            assert_eq!(got, expected, "{path}");
            assert!(info.is_resource);
        }
        for path in ["/version", "/apis", "/apis/apps/v1", "/openapi/v3", "/api/v1"] {
            assert!(!RequestInfo::parse(&Method::GET, path, &Query::default()).is_resource);
        }
    }
}
