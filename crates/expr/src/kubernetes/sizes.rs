//! How large values of a schema can be, given that a request can be only so large.

use std::collections::BTreeMap;

use crate::escape::escape;
use crate::schema::Schema;

/// The most bytes a request may have.
pub(super) const REQUEST: i64 = 3 * 1024 * 1024;

/// How large a value may be.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sizes {
    /// The fewest bytes of its JSON.
    pub(crate) least: i64,
    /// The most elements or characters.
    pub(crate) most: i64,
    fields: BTreeMap<String, Sizes>,
    element: Option<Box<Sizes>>,
    is_map: bool,
}

impl Sizes {
    fn scalar(least: i64, most: i64) -> Self {
        Self { least, most, ..Self::default() }
    }

    /// The sizes of values of a schema, if expressions can see them.
    pub(super) fn of(schema: &Schema, root: bool) -> Option<Sizes> {
        let text = REQUEST - 2;
        let at_least_zero = |limit: i64| limit.max(0);
        if schema.int_or_string {
            let most = schema.max_length.map_or(text, |length| at_least_zero(length) * 4);
            return Some(Sizes::scalar(1, most));
        }
        let extended;
        let mut schema = schema;
        if root {
            extended = schema.with_resource_fields();
            schema = &extended;
        }
        Some(match schema.kind.as_str() {
            "array" => {
                let items = schema.items.as_deref()?;
                let element = Sizes::of(items, items.embedded)?;
                let most = schema.max_items.map_or(text / (element.least + 1), at_least_zero);
                Sizes { element: Some(Box::new(element)), ..Sizes::scalar(2, most) }
            }
            "object" => {
                if let Some(additional) = schema.additional.as_deref() {
                    let element = Sizes::of(additional, additional.embedded)?;
                    let most =
                        schema.max_properties.map_or(text / (element.least + 6), at_least_zero);
                    let element = Some(Box::new(element));
                    return Some(Sizes { element, is_map: true, ..Sizes::scalar(2, most) });
                }
                Sizes::object(schema)
            }
            "string" => match schema.format.as_str() {
                "byte" => Sizes::scalar(2, schema.max_length.map_or(text, at_least_zero)),
                "duration" => Sizes::scalar(3, 32),
                "date" => Sizes::scalar(12, 12),
                "date-time" => Sizes::scalar(21, 32),
                _ => {
                    // A character may take four bytes.
                    let most = match (schema.max_length, schema.longest_enum) {
                        (Some(length), _) => at_least_zero(length).saturating_mul(4),
                        (None, Some(longest)) => longest,
                        (None, None) => text,
                    };
                    Sizes::scalar(2, most)
                }
            },
            "boolean" => Sizes::scalar(4, 0),
            "number" | "integer" => Sizes::scalar(1, 0),
            _ => return None,
        })
    }

    fn object(schema: &Schema) -> Sizes {
        let mut fields = BTreeMap::new();
        let mut least = 2_i64;
        for (name, property) in schema.properties.iter().flatten() {
            let Some(sizes) = Sizes::of(property, property.embedded) else { continue };
            if schema.required.contains(name) && !property.has_default {
                let length = i64::try_from(name.len()).unwrap_or(i64::MAX);
                least = least.saturating_add(length).saturating_add(sizes.least + 4);
            }
            if let Some(escaped) = escape(name) {
                fields.insert(escaped, sizes);
            }
        }
        Sizes { fields, ..Sizes::scalar(least, 0) }
    }

    /// The most elements of what a path leads to; its first step is the variable.
    pub(crate) fn at(&self, path: &[String]) -> Option<u64> {
        let mut sizes = self;
        for step in path.get(1..)? {
            match step.as_str() {
                "@items" | "@values" => sizes = sizes.element.as_deref()?,
                "@keys" => return sizes.is_map.then_some(0),
                field => sizes = sizes.fields.get(field)?,
            }
        }
        (!path.is_empty()).then(|| u64::try_from(sizes.most).unwrap_or(0))
    }
}
