//! `namePrefix`, `nameSuffix` and their transformers.

use serde_json::Value;

use super::{FieldSteps, Load, Transformer};
use crate::access;
use crate::config::Specs;
use crate::decode::{Fields, Unknown};
use crate::failure::{Failure, Result};
use crate::field_spec::{self, Creation, FieldSpec};
use crate::id::Gvk;
use crate::limits;
use crate::openapi::Schema;
use crate::resource::{Resource, annotation};
use crate::resources::Resources;

/// Prefix or suffix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Prefix,
    Suffix,
}

/// Adds a prefix or suffix to names.
#[derive(Debug, Clone)]
pub(crate) struct Affix {
    side: Side,
    text: String,
    specs: Specs,
}

impl Affix {
    pub(crate) fn new(side: Side, text: String, specs: Specs) -> Self {
        Self { side, text, specs }
    }

    /// `namePrefix` and `nameSuffix`
    pub(super) fn fields(steps: &mut FieldSteps<'_>) {
        let (it, config) = (steps.kustomization, steps.config);
        if !it.name_prefix.is_empty() {
            let made = Self::new(Side::Prefix, it.name_prefix.clone(), config.name_prefix.clone());
            steps.add("PrefixTransformer", "namePrefix", None, Ok(made));
        }
        if !it.name_suffix.is_empty() {
            let made = Self::new(Side::Suffix, it.name_suffix.clone(), config.name_suffix.clone());
            steps.add("SuffixTransformer", "nameSuffix", None, Ok(made));
        }
    }

    pub(crate) fn from_config(side: Side, config: &Value, _: &dyn Load) -> Result<Self> {
        let (owner, name) = match side {
            Side::Prefix => ("PrefixTransformerPlugin", "prefix"),
            Side::Suffix => ("SuffixTransformerPlugin", "suffix"),
        };
        let fields = Fields::converting_all(config, owner, Unknown::Ignored)?;
        let text = fields.text(name)?;
        limits::affix(&text)?;
        if fields.any("fieldSpecs").is_none() {
            return Err(Failure::new("fieldSpecs is not expected to be nil")
                .hint("name the fields in `fieldSpecs`, such as `- path: metadata/name`"));
        }
        let specs = fields.objects("fieldSpecs", "FieldSpec", FieldSpec::read)?;
        Ok(Self { side, text, specs: specs.into() })
    }

    fn change(&self, resource: &mut Resource, schema: &Schema) -> Result<()> {
        let original = resource.original_id(schema).gvk;
        if is_skipped(&original) {
            return Ok(());
        }
        for spec in self.specs.iter().filter(|spec| original.is_selected(&spec.gvk)) {
            if spec.path == "metadata/name" {
                let history = match self.side {
                    Side::Prefix => annotation::PREFIXES,
                    Side::Suffix => annotation::SUFFIXES,
                };
                resource.append_history(history, &self.text)?;
                if !self.text.is_empty() {
                    resource.store_id(schema)?;
                }
            }
            field_spec::apply_one(&mut resource.node, spec, Some(Creation::TEXT), &mut |node| {
                let name = node.as_text().unwrap_or_default();
                let name = match self.side {
                    Side::Prefix => format!("{}{name}", self.text),
                    Side::Suffix => format!("{name}{}", self.text),
                };
                access::set_scalar(node, access::untagged(name))
            })?;
        }
        Ok(())
    }
}

/// Kinds with names that must not change.
fn is_skipped(gvk: &Gvk) -> bool {
    match gvk.kind.as_str() {
        "CustomResourceDefinition" | "Namespace" => true,
        "APIService" => gvk.group == "apiregistration.k8s.io",
        _ => false,
    }
}

impl Transformer for Affix {
    fn transform(&self, resources: &mut Resources, schema: &Schema) -> Result<()> {
        for resource in resources.iter_mut().filter(|resource| !resource.is_empty()) {
            self.change(resource, schema)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Affix, Side};
    use crate::config::TransformerConfig;
    use crate::transformers::testing::{config, transformed, transformed_resources};

    fn object(api_version: &str, kind: &str, name: &str) -> String {
        format!("apiVersion: {api_version}\nkind: {kind}\nmetadata:\n  name: {name}\n")
    }

    #[test]
    fn names_get_words_before_and_after() {
        let specs = TransformerConfig::default_config().name_prefix.clone();
        let prefix = Affix::new(Side::Prefix, "a-".to_owned(), specs.clone());
        let suffix = Affix::new(Side::Suffix, "-z".to_owned(), specs);
        let cases = [
            ("v1", "Service", "a-it", "it-z"),
            ("v1", "Namespace", "it", "it"),
            ("apiextensions.k8s.io/v1", "CustomResourceDefinition", "it", "it"),
            ("apiregistration.k8s.io/v1", "APIService", "it", "it"),
            ("other/v1", "APIService", "a-it", "it-z"),
        ];
        for (api_version, kind, before, after) in cases {
            let given = object(api_version, kind, "it");
            assert_eq!(transformed(&prefix, &given).unwrap(), object(api_version, kind, before));
            assert_eq!(transformed(&suffix, &given).unwrap(), object(api_version, kind, after));
        }
        let resources = transformed_resources(&prefix, &object("v1", "Service", "it")).unwrap();
        let resource = resources.get(0).expect("one");
        assert_eq!(resource.previous_ids()[0].name, "it");
        assert_eq!(resource.history("internal.config.kubernetes.io/prefixes"), ["a-"]);
    }

    #[test]
    fn other_fields_may_be_named_but_must_be_named() {
        let from = |value: &serde_json::Value| {
            config(value, |value, files| Affix::from_config(Side::Prefix, value, files))
        };
        let file = json!({"prefix": "p", "fieldSpecs": [{"path": "spec/x"}]});
        let given = format!("{}spec:\n  x: y\n", object("v1", "Thing", "it"));
        let after = given.replace("x: y", "x: py");
        assert_eq!(transformed(&from(&file).unwrap(), &given).unwrap(), after);
        assert!(from(&json!({"prefix": "p"})).is_err());
    }
}
