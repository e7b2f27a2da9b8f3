//! `labels`, `commonLabels` and `LabelTransformer`: labels of objects and, if requested, of templates and
//! selectors.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{FieldSteps, Load, Transformer, entries};
use crate::config::{Specs, TransformerConfig};
use crate::decode::{Fields, Unknown};
use crate::failure::Result;
use crate::field_spec::{self, FieldSpec};
use crate::openapi::Schema;
use crate::resources::Resources;

/// Sets labels.
#[derive(Debug, Clone)]
pub(crate) struct Labels {
    labels: BTreeMap<String, String>,
    specs: Specs,
}

/// The fields of an entry's labels besides the metadata.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct LabelFields {
    pub(crate) include_selectors: bool,
    pub(crate) include_templates: bool,
    pub(crate) fields: Vec<FieldSpec>,
}

impl Labels {
    pub(crate) fn new(labels: BTreeMap<String, String>, specs: Specs) -> Self {
        Self { labels, specs }
    }

    /// `labels` and `commonLabels`
    pub(super) fn fields(steps: &mut FieldSteps<'_>) {
        let (it, config) = (steps.kustomization, steps.config);
        for (index, label) in it.labels.iter().enumerate() {
            let made = Self::of_entry(label.pairs.clone(), &label.wanted, config);
            steps.add("LabelTransformer", "labels", Some(index), made);
        }
        if !it.labels.is_empty() || !it.common_labels.is_empty() {
            let made = Self::new(it.common_labels.clone(), config.common_labels.clone());
            steps.add("LabelTransformer", "commonLabels", None, Ok(made));
        }
    }

    /// For an entry of `labels` in a kustomization.
    pub(crate) fn of_entry(
        labels: BTreeMap<String, String>,
        wanted: &LabelFields,
        config: &TransformerConfig,
    ) -> Result<Self> {
        let mut specs = wanted.fields.clone();
        let mut add = |more: &[FieldSpec]| {
            let merged = field_spec::merge_into(&mut specs, more);
            merged.map_err(|failure| failure.context("failed to merge labels"))
        };
        add(&config.labels)?;
        if wanted.include_selectors {
            add(&config.common_labels)?;
        } else {
            if wanted.include_templates {
                add(&config.template_labels)?;
            }
            let metadata = FieldSpec {
                path: "metadata/labels".to_owned(),
                create: true,
                ..FieldSpec::default()
            };
            add(&[metadata])?;
        }
        Ok(Self { labels, specs: specs.into() })
    }

    pub(crate) fn from_config(config: &Value, _: &dyn Load) -> Result<Self> {
        let fields = Fields::converting(config, "LabelTransformerPlugin", Unknown::Ignored)?;
        Ok(Self {
            labels: fields.map("labels")?.unwrap_or_default(),
            specs: fields.objects("fieldSpecs", "FieldSpec", FieldSpec::read)?.into(),
        })
    }
}

impl Transformer for Labels {
    fn transform(&self, resources: &mut Resources, _: &Schema) -> Result<()> {
        entries::set(resources, &self.labels, &self.specs)
    }
}

#[cfg(test)]
mod tests {
    use super::{LabelFields, Labels};
    use crate::config::TransformerConfig;
    use crate::field_spec::FieldSpec;
    use crate::transformers::testing::{transformed, transformed_twice};

    const DEPLOYMENT: &str = "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: d\n";
    const SERVICE: &str = "apiVersion: v1\nkind: Service\nmetadata:\n  name: s\n";

    fn labels(wanted: &LabelFields) -> Labels {
        let config = TransformerConfig::default_config();
        Labels::of_entry([("on".to_owned(), "yes".to_owned())].into(), wanted, config).unwrap()
    }

    #[test]
    fn labels_go_where_they_are_wanted() {
        let metadata = "metadata:\n  labels:\n    \"on\": \"yes\"\n  name: ";
        let head = DEPLOYMENT.replace("metadata:\n  name: ", metadata);
        let template = "  template:\n    metadata:\n      labels:\n        \"on\": \"yes\"\n";
        let selector = "  selector:\n    matchLabels:\n      \"on\": \"yes\"\n";
        let only = LabelFields::default();
        let templates = LabelFields { include_templates: true, ..LabelFields::default() };
        let selectors = LabelFields { include_selectors: true, ..LabelFields::default() };
        let field = FieldSpec { path: "spec/x".to_owned(), create: true, ..FieldSpec::default() };
        let custom = LabelFields { fields: vec![field], ..LabelFields::default() };
        let cases = [
            (&only, head.clone()),
            (&templates, format!("{head}spec:\n{template}")),
            (&selectors, format!("{head}spec:\n{selector}{template}")),
            (&custom, format!("{head}spec:\n  x:\n    \"on\": \"yes\"\n")),
        ];
        for (wanted, after) in cases {
            assert_eq!(transformed(&labels(wanted), DEPLOYMENT).unwrap(), after, "{wanted:?}");
        }
        let service = SERVICE.replace("metadata:\n  name: ", metadata);
        assert_eq!(
            transformed(&labels(&selectors), SERVICE).unwrap(),
            format!("{service}spec:\n  selector:\n    \"on\": \"yes\"\n")
        );
    }

    #[test]
    fn the_second_label_sees_what_the_first_made() {
        let field = FieldSpec { path: "spec/selector".to_owned(), ..FieldSpec::default() };
        let wanted =
            LabelFields { include_selectors: true, fields: vec![field], ..LabelFields::default() };
        let labels = ["a", "b"].map(|name| (name.to_owned(), "v".to_owned()));
        let config = TransformerConfig::default_config();
        let labels = Labels::of_entry(labels.into(), &wanted, config).unwrap();
        let after = transformed(&labels, DEPLOYMENT).unwrap();
        let selector = "  selector:\n    b: v\n    matchLabels:\n      a: v\n      b: v\n";
        assert!(after.contains(selector), "{after}");
    }

    #[test]
    fn a_label_added_in_several_places_stays_one() {
        let config = TransformerConfig::default_config();
        let set = |value: &str, wanted: &LabelFields| {
            let labels = [("app".to_owned(), value.to_owned())].into();
            Labels::of_entry(labels, wanted, config).unwrap()
        };
        let selectors = LabelFields { include_selectors: true, ..LabelFields::default() };
        let (first, second) = (set("one", &selectors), set("two", &LabelFields::default()));
        // The values that the base adds are shared; existing ones are not.
        let after = transformed_twice(&first, &second, DEPLOYMENT).unwrap();
        assert_eq!(after.matches("app: two").count(), 3, "{after}");
        let given = format!("{DEPLOYMENT}  labels:\n    app: zero\n");
        let after = transformed_twice(&first, &second, &given).unwrap();
        assert_eq!(after.matches("app: one").count(), 2, "{after}");
    }

    #[test]
    fn what_is_no_map_is_refused_and_conflicts_too() {
        let wrong = format!("{SERVICE}spec:\n  selector: none\n");
        let selectors = LabelFields { include_selectors: true, ..LabelFields::default() };
        let failure = transformed(&labels(&selectors), &wrong).expect_err("no map").to_string();
        assert!(failure.contains("considering field 'spec/selector'"), "{failure}");
        let field = FieldSpec { path: "metadata/labels".to_owned(), ..FieldSpec::default() };
        let custom = LabelFields { fields: vec![field], ..LabelFields::default() };
        let config = TransformerConfig::default_config();
        let failure = Labels::of_entry([].into(), &custom, config).expect_err("conflict");
        assert_eq!(failure.to_string(), "failed to merge labels: conflicting fieldspecs");
    }
}
