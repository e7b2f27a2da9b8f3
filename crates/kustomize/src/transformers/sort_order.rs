//! `sortOptions`: the order of a build's objects.

use std::cmp::Ordering;

use super::Transformer;
use crate::decode::Fields;
use crate::failure::{Failure, Result};
use crate::id::ResourceId;
use crate::kind_order;
use crate::openapi::Schema;
use crate::resources::Resources;

/// The first and the last kinds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LegacyOrder {
    pub(crate) first: Vec<String>,
    pub(crate) last: Vec<String>,
}

impl Default for LegacyOrder {
    fn default() -> Self {
        let owned = |list: &[&str]| list.iter().map(|&kind| kind.to_owned()).collect();
        Self { first: owned(&kind_order::FIRST), last: owned(&kind_order::LAST) }
    }
}

/// `sortOptions` as written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct SortOptions {
    pub(crate) order: String,
    pub(crate) legacy: Option<LegacyOrder>,
}

impl SortOptions {
    pub(crate) fn read(fields: &Fields<'_>) -> Result<Self> {
        let legacy = fields.object("legacySortOptions", "LegacySortOptions", |fields| {
            Ok(LegacyOrder { first: fields.texts("orderFirst")?, last: fields.texts("orderLast")? })
        })?;
        Ok(Self { order: fields.text("order")?, legacy })
    }
}

/// Sorts the objects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SortOrder {
    /// Unchanged.
    Fifo,
    /// By kind, then by name.
    Legacy(LegacyOrder),
}

impl SortOrder {
    pub(crate) fn new(options: Option<&SortOptions>) -> Result<Self> {
        let Some(options) = options else { return Ok(Self::Fifo) };
        match (options.order.as_str(), &options.legacy) {
            ("fifo", None) => Ok(Self::Fifo),
            ("fifo", Some(_)) => Err(Failure::new(
                "the field 'sortOptions.legacySortOptions' is set but the selected sort order is \
                 'fifo', not 'legacy'",
            )),
            ("legacy", order) => Ok(Self::Legacy(order.clone().unwrap_or_default())),
            _ => Err(Failure::new("the field 'sortOptions.order' must be one of [fifo, legacy]")),
        }
    }
}

impl Transformer for SortOrder {
    fn transform(&self, resources: &mut Resources, schema: &Schema) -> Result<()> {
        let Self::Legacy(order) = self else { return Ok(()) };
        let list = resources.list_mut();
        let keyed = std::mem::take(list).into_iter();
        let mut keyed: Vec<_> =
            keyed.map(|resource| (Key::new(&resource.id(schema), order), resource)).collect();
        keyed.sort_by(|(one, _), (other, _)| one.compare(other));
        list.extend(keyed.into_iter().map(|(_, resource)| resource));
        resources.check_unique(schema).map_err(|failure| {
            failure.context("SortOrderTransformer: Failed to append to resources")
        })
    }
}

/// The sort key of an object.
struct Key {
    rank: i64,
    /// Of namespaces, those of the core group come first, with versions in descending order.
    is_namespace: bool,
    is_core: bool,
    gvk: String,
    name: String,
}

impl Key {
    fn new(id: &ResourceId, order: &LegacyOrder) -> Self {
        let or = |value: &str, text: &'static str| {
            if value.is_empty() { text.to_owned() } else { value.to_owned() }
        };
        let (namespace, name) = (or(&id.namespace, "~X"), or(&id.name, "~N"));
        Self {
            rank: kind_order::rank(&id.gvk.kind, &order.first, &order.last),
            is_namespace: id.gvk.kind == "Namespace",
            is_core: id.gvk.group.is_empty(),
            gvk: kind_order::text(&id.gvk),
            name: format!("{namespace}|{name}"),
        }
    }

    fn compare(&self, other: &Self) -> Ordering {
        let kinds = if self.is_namespace && other.is_namespace && (self.is_core || other.is_core) {
            other.is_core.cmp(&self.is_core).then_with(|| other.gvk.cmp(&self.gvk))
        } else {
            self.gvk.cmp(&other.gvk)
        };
        self.rank.cmp(&other.rank).then(kinds).then_with(|| self.name.cmp(&other.name))
    }
}

#[cfg(test)]
mod tests {
    use super::{LegacyOrder, SortOptions, SortOrder};
    use crate::transformers::testing::transformed_resources;

    fn sorted(order: &SortOrder, objects: &[(&str, &str, &str)]) -> Vec<String> {
        let text = objects.iter().map(|(api_version, kind, name)| {
            format!("apiVersion: {api_version}\nkind: {kind}\nmetadata:\n  name: {name}\n---\n")
        });
        let resources = transformed_resources(order, &text.collect::<String>()).unwrap();
        let short = |it: &crate::resource::Resource| format!("{} {}", it.api_version(), it.name());
        resources.iter().map(short).collect()
    }

    const OBJECTS: [(&str, &str, &str); 7] = [
        ("apps/v1", "Deployment", "d"),
        ("v1", "Service", "b"),
        ("v1", "Service", "a"),
        ("x/v1", "Other", "o"),
        ("admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration", "m"),
        ("v1", "Pod", "p"),
        ("v1", "Namespace", "n"),
    ];

    #[test]
    fn kinds_and_names_decide_the_legacy_order() {
        let legacy = SortOrder::Legacy(LegacyOrder::default());
        let order = sorted(&legacy, &OBJECTS);
        let expected = [
            "v1 n",
            "v1 a",
            "v1 b",
            "apps/v1 d",
            "x/v1 o",
            "v1 p",
            "admissionregistration.k8s.io/v1 m",
        ];
        assert_eq!(order, expected);
        let order =
            LegacyOrder { first: vec!["Other".to_owned()], last: vec!["Namespace".to_owned()] };
        let order = sorted(&SortOrder::Legacy(order), &OBJECTS);
        assert_eq!((&*order[0], &*order[6]), ("x/v1 o", "v1 n"));
        assert_eq!(sorted(&SortOrder::Fifo, &OBJECTS)[0], "apps/v1 d");
    }

    #[test]
    fn namespaces_of_the_core_group_come_first() {
        let legacy = SortOrder::Legacy(LegacyOrder::default());
        let objects =
            [("z/v1", "Namespace", "z"), ("a/v1", "Namespace", "a"), ("v1", "Namespace", "n")];
        assert_eq!(sorted(&legacy, &objects), ["v1 n", "a/v1 a", "z/v1 z"]);
    }

    #[test]
    fn options_must_fit_together() {
        let options = |order: &str, legacy: Option<LegacyOrder>| {
            SortOrder::new(Some(&SortOptions { order: order.to_owned(), legacy }))
        };
        assert_eq!(SortOrder::new(None).unwrap(), SortOrder::Fifo);
        assert_eq!(options("legacy", None).unwrap(), SortOrder::Legacy(LegacyOrder::default()));
        assert!(options("fifo", Some(LegacyOrder::default())).is_err());
        assert!(options("", None).is_err() && options("other", None).is_err());
    }
}
