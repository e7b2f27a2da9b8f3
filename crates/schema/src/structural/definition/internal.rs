//! The paths of a definition's fields in upstream's internal type.

use serde_json::Value;
use sluice_base::gojson;

use super::{flag, list, print, text};

/// The spec with what all versions share moved to the top.
pub(super) struct Internal<'a> {
    pub(super) versions: Vec<Version<'a>>,
    /// `spec.validation`.
    pub(super) schema: Option<&'a Value>,
    pub(super) subresources: Option<&'a Value>,
    pub(super) columns: &'a [Value],
    pub(super) selectable: &'a [Value],
    /// Whether there is a list of versions at all.
    listed: bool,
}

/// A version without what it shares with all others.
pub(super) struct Version<'a> {
    pub(super) value: &'a Value,
    pub(super) schema: Option<&'a Value>,
    pub(super) subresources: Option<&'a Value>,
    pub(super) columns: &'a [Value],
    pub(super) selectable: &'a [Value],
}

fn set<'a>(value: &'a Value, key: &str) -> Option<&'a Value> {
    value.get(key).filter(|found| !found.is_null())
}

fn open_api(schema: Option<&Value>) -> Option<&Value> {
    schema.and_then(|schema| set(schema, "openAPIV3Schema"))
}

impl<'a> Version<'a> {
    pub(super) fn name(&self) -> &'a str {
        text(self.value, "name")
    }

    pub(super) fn open_api_schema(&self) -> Option<&'a Value> {
        open_api(self.schema)
    }
}

impl<'a> Internal<'a> {
    pub(super) fn of(spec: &'a Value) -> Self {
        let all = list(spec, "versions");
        let shared = |key: &str| {
            all.first()
                .is_some_and(|first| all.iter().all(|version| set(version, key) == set(first, key)))
        };
        let (schema, subresources) = (shared("schema"), shared("subresources"));
        let (columns, selectable) =
            (shared("additionalPrinterColumns"), shared("selectableFields"));
        let first = |key: &str| all.first().and_then(|first| set(first, key));
        let first_list = |key: &str| all.first().map_or(&[][..], |first| list(first, key));
        let versions = all
            .iter()
            .map(|value| Version {
                value,
                schema: if schema { None } else { set(value, "schema") },
                subresources: if subresources { None } else { set(value, "subresources") },
                columns: if columns { &[] } else { list(value, "additionalPrinterColumns") },
                selectable: if selectable { &[] } else { list(value, "selectableFields") },
            })
            .collect();
        Self {
            listed: set(spec, "versions").is_some(),
            versions,
            schema: if schema { first("schema") } else { None },
            subresources: if subresources { first("subresources") } else { None },
            columns: if columns { first_list("additionalPrinterColumns") } else { &[] },
            selectable: if selectable { first_list("selectableFields") } else { &[] },
        }
    }

    /// The schema of all versions.
    pub(super) fn shared_schema(&self) -> Option<&'a Value> {
        open_api(self.schema)
    }

    /// Every schema there is.
    pub(super) fn schemas(&self) -> impl Iterator<Item = &'a Value> + '_ {
        let own = self.versions.iter().filter_map(Version::open_api_schema);
        self.shared_schema().into_iter().chain(own)
    }

    pub(super) fn has_defaults(&self) -> bool {
        self.schemas().any(|schema| {
            super::ratchet::any_node(schema, &mut |node| set(node, "default").is_some())
        })
    }

    pub(super) fn has_extensions(&self) -> bool {
        self.schemas().any(|schema| {
            super::ratchet::any_node(schema, &mut |node| {
                flag(node, "x-kubernetes-embedded-resource")
                    || set(node, "x-kubernetes-preserve-unknown-fields").is_some()
                    || flag(node, "x-kubernetes-int-or-string")
                    || !list(node, "x-kubernetes-list-map-keys").is_empty()
                    || set(node, "x-kubernetes-list-type").is_some()
                    || !list(node, "x-kubernetes-validations").is_empty()
            })
        })
    }

    /// Whether a version has the status subresource, its own or a shared one.
    pub(super) fn has_status(&self, version: &Version<'_>) -> bool {
        let own = self.versions.iter().any(|version| version.subresources.is_some());
        let found = if own { version.subresources } else { self.subresources };
        found.is_some_and(|found| set(found, "status").is_some())
    }

    /// Whether any version has the status subresource.
    pub(super) fn any_status(&self) -> bool {
        let own = self.versions.iter().filter_map(|version| version.subresources);
        self.subresources.into_iter().chain(own).any(|found| set(found, "status").is_some())
    }

    /// The versions as Go prints the internal structs.
    pub(super) fn print_versions(&self) -> String {
        let printed: Vec<String> = self.versions.iter().map(print_version).collect();
        if self.listed { format!("[{}]", printed.join(",")) } else { "null".to_owned() }
    }
}

fn print_version(version: &Version<'_>) -> String {
    let json = gojson::to_string;
    let value = version.value;
    let printed = |value: Option<&Value>| value.map_or_else(|| "null".to_owned(), json);
    let columns: Vec<String> = version
        .columns
        .iter()
        .map(|column| {
            format!(
                r#"{{"Name":{},"Type":{},"Format":{},"Description":{},"Priority":{},"JSONPath":{}}}"#,
                json(&text(column, "name").into()),
                json(&text(column, "type").into()),
                json(&text(column, "format").into()),
                json(&text(column, "description").into()),
                column.get("priority").and_then(Value::as_i64).unwrap_or_default(),
                json(&text(column, "jsonPath").into()),
            )
        })
        .collect();
    let selectable: Vec<String> = version
        .selectable
        .iter()
        .map(|field| format!(r#"{{"JSONPath":{}}}"#, json(&text(field, "jsonPath").into())))
        .collect();
    let array = |items: Vec<String>| {
        if items.is_empty() { "null".to_owned() } else { format!("[{}]", items.join(",")) }
    };
    format!(
        r#"{{"Name":{},"Served":{},"Storage":{},"Deprecated":{},"DeprecationWarning":{},"Schema":{},"Subresources":{},"AdditionalPrinterColumns":{},"SelectableFields":{}}}"#,
        json(&version.name().into()),
        flag(value, "served"),
        flag(value, "storage"),
        flag(value, "deprecated"),
        printed(set(value, "deprecationWarning")),
        print::validation(version.schema),
        print::subresources(version.subresources),
        array(columns),
        array(selectable),
    )
}
