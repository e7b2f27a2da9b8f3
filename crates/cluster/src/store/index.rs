//! Secondary index of the store: labels, controllers, selectors, addresses and ports of Services.
//!
//! Updated with every write, so the cost of a lookup depends on what it finds, not on what is stored.
//! Only the current state is indexed; lists of the past go through the history.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::Arc;

use serde_json::Value;

use crate::value;

/// A term of the index.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Term {
    /// A label and its value.
    Label(String, String),
    /// The uid of the controller.
    Controller(String),
    /// One label that all objects have which `spec.selector` matches; `None` if there is no such label,
    /// so that every object has to be tried. Example: `matchLabels` of `app: a` and `tier: b` are under `app=a`.
    Selects(Option<(String, String)>),
    /// A cluster IP of a Service.
    Address(IpAddr),
    /// A node port of a Service.
    NodePort(i64),
}

impl Term {
    /// The terms of objects with a selector that may match an object with these labels.
    pub(crate) fn selecting(object: &Value) -> Vec<Self> {
        let labels = pairs(value::at(object, "metadata.labels"));
        labels.map(|label| Self::Selects(Some(label))).chain([Self::Selects(None)]).collect()
    }
}

/// The index of one resource.
#[derive(Debug, Default)]
pub(super) struct Index {
    by_term: BTreeMap<Term, BTreeSet<Arc<str>>>,
}

impl Index {
    /// Updates the index after a write.
    pub(super) fn follow(&mut self, key: &Arc<str>, before: Option<&Value>, after: Option<&Value>) {
        let (before, after) = (before.map(terms), after.map(terms));
        if before == after {
            return;
        }
        for term in before.into_iter().flatten() {
            if let Some(keys) = self.by_term.get_mut(&term) {
                keys.remove(key);
                if keys.is_empty() {
                    self.by_term.remove(&term);
                }
            }
        }
        for term in after.into_iter().flatten() {
            self.by_term.entry(term).or_default().insert(key.clone());
        }
    }

    /// The number of objects with a term.
    pub(super) fn count(&self, term: &Term) -> usize {
        self.by_term.get(term).map_or(0, BTreeSet::len)
    }

    /// The keys, below a prefix, of the objects with a term.
    pub(super) fn keys<'a>(
        &'a self,
        term: &Term,
        prefix: &'a str,
    ) -> impl Iterator<Item = &'a Arc<str>> {
        let keys = self.by_term.get(term).into_iter();
        keys.flat_map(move |keys| {
            let from = keys
                .range::<str, _>((std::ops::Bound::Included(prefix), std::ops::Bound::Unbounded));
            from.take_while(move |key| key.starts_with(prefix))
        })
    }
}

fn terms(object: &Value) -> BTreeSet<Term> {
    let mut out: BTreeSet<Term> = pairs(value::at(object, "metadata.labels"))
        .map(|(label, value)| Term::Label(label, value))
        .collect();
    let controller = value::list(object, "metadata.ownerReferences")
        .iter()
        .find(|owner| value::flag(owner, "controller"));
    if let Some(owner) = controller {
        out.insert(Term::Controller(value::text(owner, "uid").to_owned()));
    }
    out.extend(selects(value::at(object, "spec.selector")));
    if object["kind"] == "Service" {
        let addresses = value::list(object, "spec.clusterIPs").iter().filter_map(Value::as_str);
        out.extend(
            addresses.filter_map(crate::validation::addresses::parse_legacy).map(Term::Address),
        );
        let ports = value::list(object, "spec.ports").iter().map(|port| &port["nodePort"]);
        let ports = ports.chain([value::at(object, "spec.healthCheckNodePort")]);
        out.extend(ports.filter_map(Value::as_i64).filter(|port| *port != 0).map(Term::NodePort));
    }
    out
}

/// The term for one equality of a selector: of a `LabelSelector` or, in Services, of a plain map. `None`
/// without a selector.
fn selects(selector: &Value) -> Option<Term> {
    let fields = selector.as_object()?;
    let is_bare = !fields.is_empty() && fields.values().all(Value::is_string);
    let labels = if is_bare { selector } else { &selector["matchLabels"] };
    Some(Term::Selects(pairs(labels).next()))
}

fn pairs(labels: &Value) -> impl Iterator<Item = (String, String)> {
    let fields = labels.as_object().into_iter().flatten();
    fields.map(|(label, value)| (label.clone(), value.as_str().unwrap_or_default().to_owned()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn found(index: &Index, term: &Term, prefix: &str) -> Vec<String> {
        index.keys(term, prefix).map(ToString::to_string).collect()
    }

    fn label(value: &str) -> Term {
        Term::Label("app".to_owned(), value.to_owned())
    }

    #[test]
    fn objects_are_found_by_what_they_have_now() {
        let mut index = Index::default();
        let (one, two) = (
            json!({"metadata": {"labels": {"app": "one"}}}),
            json!({"metadata": {"labels": {"app": "two"}}}),
        );
        let (near, far): (Arc<str>, Arc<str>) = ("x/a".into(), "x-y/a".into());
        index.follow(&near, None, Some(&one));
        index.follow(&far, None, Some(&one));
        assert_eq!(found(&index, &label("one"), ""), ["x-y/a", "x/a"]);
        assert_eq!(found(&index, &label("one"), "x/"), ["x/a"]);
        index.follow(&near, Some(&one), Some(&two));
        assert_eq!(found(&index, &label("one"), "x/"), [""; 0]);
        assert_eq!(found(&index, &label("two"), ""), ["x/a"]);
        index.follow(&near, Some(&two), None);
        index.follow(&far, Some(&one), None);
        assert!(index.by_term.is_empty(), "nothing is left of what is gone");
    }

    #[test]
    fn a_selector_is_filed_under_a_label_that_all_it_names_have() {
        let selects = |selector: Value| {
            let object = json!({"spec": {"selector": selector}});
            terms(&object).into_iter().collect::<Vec<_>>()
        };
        let app = || vec![Term::Selects(Some(("app".to_owned(), "one".to_owned())))];
        assert_eq!(selects(json!({"app": "one", "tier": "web"})), app());
        assert_eq!(selects(json!({"matchLabels": {"app": "one"}})), app());
        let expression = json!({"matchExpressions": [{"key": "app", "operator": "Exists"}]});
        assert_eq!(selects(expression), [Term::Selects(None)]);
        assert_eq!(selects(json!({})), [Term::Selects(None)]);
        assert_eq!(selects(Value::Null), []);
    }
}
