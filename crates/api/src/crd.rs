//! The CustomResourceDefinition of a kind, from its definition and types.

use serde_json::{Map, Value, json};

/// The properties of a kind in its CRD, beside the schema.
#[derive(Debug, Clone, Copy)]
pub struct Definition {
    /// The API group.
    pub group: &'static str,
    /// The version that is served and stored.
    pub version: &'static str,
    /// The kind.
    pub kind: &'static str,
    /// The name of the resource in URLs.
    pub plural: &'static str,
    /// The short names for `kubectl`.
    pub short_names: &'static [&'static str],
    /// The categories for `kubectl`, such as `all`.
    pub categories: &'static [&'static str],
    /// The columns of a table of objects.
    pub columns: &'static [Column],
    /// Whether the status is a subresource.
    pub status: bool,
    /// Whether Flux's variable substitution may touch the CRD itself.
    pub substitute: bool,
}

/// A printer column of `kubectl get`.
#[derive(Debug, Clone, Copy)]
pub struct Column {
    /// The heading.
    pub name: &'static str,
    /// `string` or `date`.
    pub kind: &'static str,
    /// The JSON path of the value.
    pub path: &'static str,
    /// Above zero: only with `-o wide`.
    pub priority: i64,
}

impl Column {
    /// A column of text.
    pub(crate) const fn text(name: &'static str, path: &'static str) -> Self {
        Self { name, kind: "string", path, priority: 0 }
    }

    /// A text column that only `-o wide` shows.
    pub(crate) const fn wide(name: &'static str, path: &'static str, priority: i64) -> Self {
        Self { name, kind: "string", path, priority }
    }

    /// The age of the object.
    pub(crate) const AGE: Self =
        Self { name: "Age", kind: "date", path: ".metadata.creationTimestamp", priority: 0 };

    /// The status of the Ready condition.
    pub(crate) const READY: Self =
        Self::text("Ready", r#".status.conditions[?(@.type=="Ready")].status"#);

    /// The message of the Ready condition.
    pub(crate) const MESSAGE: Self =
        Self::text("Status", r#".status.conditions[?(@.type=="Ready")].message"#);
}

/// A kind of object that this crate defines.
pub trait CustomResource {
    /// The properties of the kind in its CRD.
    const DEFINITION: Definition;

    /// The schema of the whole object.
    fn schema() -> Value;

    /// The CustomResourceDefinition.
    fn crd() -> Value {
        Self::DEFINITION.crd(&Self::schema())
    }
}

impl Definition {
    /// The `apiVersion` of the kind's objects.
    pub fn api_version(&self) -> String {
        format!("{}/{}", self.group, self.version)
    }

    fn crd(&self, schema: &Value) -> Value {
        let mut metadata = Map::new();
        metadata.insert("name".into(), format!("{}.{}", self.plural, self.group).into());
        if !self.substitute {
            metadata.insert(
                "annotations".into(),
                json!({crate::names::annotations::KUSTOMIZE_SUBSTITUTE: crate::names::DISABLED}),
            );
        }
        let mut names = json!({
            "kind": self.kind,
            "listKind": format!("{}List", self.kind),
            "plural": self.plural,
            "singular": self.kind.to_ascii_lowercase(),
            "categories": self.categories,
        });
        if !self.short_names.is_empty() {
            names["shortNames"] = json!(self.short_names);
        }
        let columns: Vec<Value> = self.columns.iter().copied().map(Column::to_value).collect();
        json!({
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": metadata,
            "spec": {
                "group": self.group,
                "names": names,
                "scope": "Namespaced",
                "versions": [{
                    "name": self.version,
                    "served": true,
                    "storage": true,
                    "additionalPrinterColumns": columns,
                    "schema": {"openAPIV3Schema": schema},
                    "subresources": if self.status { json!({"status": {}}) } else { json!({}) },
                }],
            },
        })
    }
}

impl Column {
    fn to_value(self) -> Value {
        let mut column = json!({"name": self.name, "type": self.kind, "jsonPath": self.path});
        if self.priority != 0 {
            column["priority"] = self.priority.into();
        }
        column
    }
}

/// Declares a kind: its struct with `metadata`, `spec` and optionally `status`, its API resource for clients, and its
/// CRD. The [`Definition`] follows the struct.
macro_rules! kind {
    (
        $(#[doc = $doc:literal])+
        $(#[schema($($($fact:ident).+ = $value:expr),+ $(,)?)])?
        pub struct $name:ident {
            pub spec: $spec:ty,
            $(
                $(#[schema($($($status_fact:ident).+ = $status_value:expr),+ $(,)?)])?
                pub status: Option<$status:ty>,
            )?
        }

        $definition:expr
    ) => {
        $(#[doc = $doc])+
        #[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
        #[serde(default, rename_all = "camelCase")]
        pub struct $name {
            /// Group and version.
            pub api_version: String,
            /// The kind.
            pub kind: String,
            /// Standard object metadata.
            pub metadata: kube_core::ObjectMeta,
            /// Desired state.
            pub spec: $spec,
            $(
                /// Observed state.
                #[serde(skip_serializing_if = "crate::schema::Schema::is_absent")]
                pub status: Option<$status>,
            )?
            /// Fields that this type does not know, as they were read.
            #[serde(flatten)]
            pub unknown: crate::schema::Unknown,
        }

        impl Default for $name {
            fn default() -> Self {
                use crate::crd::CustomResource as _;
                Self {
                    api_version: Self::DEFINITION.api_version(),
                    kind: Self::DEFINITION.kind.to_owned(),
                    metadata: kube_core::ObjectMeta::default(),
                    spec: <$spec>::default(),
                    $(status: Option::<$status>::default(),)?
                    unknown: crate::schema::Unknown::default(),
                }
            }
        }

        impl crate::crd::CustomResource for $name {
            const DEFINITION: crate::crd::Definition = $definition;

            fn schema() -> serde_json::Value {
                let mut object = crate::schema::ObjectSchema::default();
                object.field::<Option<String>>(
                    "apiVersion",
                    &["Group and version of the API that the object is written in."],
                    &[],
                );
                object.field::<Option<String>>("kind", &["The kind of the object."], &[]);
                object.metadata();
                object.field::<Option<$spec>>("spec", &["What is wanted."], &[]);
                $(
                    object.field::<Option<$status>>(
                        "status",
                        &["What has been observed."],
                        &[$($(crate::schema::Fact::new(
                            &[$(stringify!($status_fact)),+],
                            $status_value,
                        )),+)?],
                    );
                )?
                object.finish(
                    &[$($doc),+],
                    &[$($(crate::schema::Fact::new(&[$(stringify!($fact)),+], $value)),+)?],
                )
            }
        }

        $(
            impl kube_core::object::HasStatus for $name {
                type Status = $status;

                fn status(&self) -> Option<&$status> {
                    self.status.as_ref()
                }

                fn status_mut(&mut self) -> &mut Option<$status> {
                    &mut self.status
                }
            }
        )?

        impl kube_core::Resource for $name {
            type DynamicType = ();
            type Scope = kube_core::NamespaceResourceScope;

            fn kind((): &()) -> std::borrow::Cow<'_, str> {
                <Self as crate::crd::CustomResource>::DEFINITION.kind.into()
            }

            fn group((): &()) -> std::borrow::Cow<'_, str> {
                <Self as crate::crd::CustomResource>::DEFINITION.group.into()
            }

            fn version((): &()) -> std::borrow::Cow<'_, str> {
                <Self as crate::crd::CustomResource>::DEFINITION.version.into()
            }

            fn plural((): &()) -> std::borrow::Cow<'_, str> {
                <Self as crate::crd::CustomResource>::DEFINITION.plural.into()
            }

            fn meta(&self) -> &kube_core::ObjectMeta {
                &self.metadata
            }

            fn meta_mut(&mut self) -> &mut kube_core::ObjectMeta {
                &mut self.metadata
            }
        }
    };
}

pub(crate) use kind;
