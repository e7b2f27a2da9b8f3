//! One rule of a role: matching and printing.

use serde_json::Value;
use sluice_base::go::quote;

use super::{Attributes, Target};
use crate::value::list;

/// Matches every verb, group, resource or path.
pub(super) const ALL: &str = "*";

/// A rule: each of its lists must have a match.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) struct Rule {
    pub(crate) verbs: Vec<String>,
    pub(crate) groups: Vec<String>,
    /// `pods`, `pods/log`, `*/scale` or `*`.
    pub(crate) resources: Vec<String>,
    /// Empty: any name.
    pub(crate) names: Vec<String>,
    /// Paths; a trailing `*` matches everything below.
    pub(crate) urls: Vec<String>,
}

impl Rule {
    /// The rules of a role.
    pub(crate) fn all_of(role: &Value) -> Vec<Self> {
        list(role, "rules").iter().map(Self::read).collect()
    }

    fn read(rule: &Value) -> Self {
        let texts = |field: &str| {
            let items = list(rule, field).iter();
            items.filter_map(Value::as_str).map(str::to_owned).collect()
        };
        Self {
            verbs: texts("verbs"),
            groups: texts("apiGroups"),
            resources: texts("resources"),
            names: texts("resourceNames"),
            urls: texts("nonResourceURLs"),
        }
    }

    /// Whether the rule allows the request.
    pub(super) fn allows(&self, wanted: &Attributes<'_>) -> bool {
        if !has_or_all(&self.verbs, wanted.verb) {
            return false;
        }
        match wanted.target {
            Target::Path(path) => self.urls.iter().any(|url| url_covers(url, path)),
            Target::Resource { group, resource, subresource, name, .. } => {
                has_or_all(&self.groups, group)
                    && self.resources.iter().any(|rule| fits(rule, resource, subresource))
                    && (self.names.is_empty() || self.names.iter().any(|known| known == name))
            }
        }
    }

    /// The rule in one line: `{APIGroups:[""], Resources:["pods"], Verbs:["get"]}`.
    pub(super) fn describe(&self) -> String {
        let parts: Vec<String> = [
            ("APIGroups", &self.groups),
            ("Resources", &self.resources),
            ("NonResourceURLs", &self.urls),
            ("ResourceNames", &self.names),
            ("Verbs", &self.verbs),
        ]
        .into_iter()
        .filter(|(_, items)| !items.is_empty())
        .map(|(name, items)| format!("{name}:{}", quote_all(items)))
        .collect();
        format!("{{{}}}", parts.join(", "))
    }
}

/// `["a" "b"]`, as Go's `%q` prints a list.
pub(crate) fn quote_all(items: &[String]) -> String {
    let quoted: Vec<String> = items.iter().map(|item| quote(item)).collect();
    format!("[{}]", quoted.join(" "))
}

fn has_or_all(list: &[String], wanted: &str) -> bool {
    list.iter().any(|item| item == ALL || item == wanted)
}

/// Whether `rule` matches the resource or, if given, its subresource. `pods/*` is not a wildcard,
/// here as upstream.
fn fits(rule: &str, resource: &str, subresource: &str) -> bool {
    if rule == ALL {
        return true;
    }
    if subresource.is_empty() {
        return rule == resource;
    }
    rule.strip_suffix(subresource)
        .and_then(|rule| rule.strip_suffix('/'))
        .is_some_and(|rule| rule == ALL || rule == resource)
}

/// Whether `path` equals `url` or, if that ends in `*`, is below it.
pub(super) fn url_covers(url: &str, path: &str) -> bool {
    url == path || (url.ends_with('*') && path.starts_with(url.trim_end_matches('*')))
}
