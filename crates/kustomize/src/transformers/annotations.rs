//! `commonAnnotations` and `AnnotationsTransformer`: annotations of objects and of their templates.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{FieldSteps, Load, Transformer, entries};
use crate::config::Specs;
use crate::decode::{Fields, Unknown};
use crate::failure::Result;
use crate::field_spec::FieldSpec;
use crate::openapi::Schema;
use crate::resources::Resources;

/// Sets annotations.
#[derive(Debug, Clone)]
pub(crate) struct Annotations {
    annotations: BTreeMap<String, String>,
    specs: Specs,
}

impl Annotations {
    pub(crate) fn new(annotations: BTreeMap<String, String>, specs: Specs) -> Self {
        Self { annotations, specs }
    }

    /// `commonAnnotations`
    pub(super) fn field(steps: &mut FieldSteps<'_>) {
        let annotations = &steps.kustomization.common_annotations;
        if !annotations.is_empty() {
            let specs = steps.config.common_annotations.clone();
            let made = Self::new(annotations.clone(), specs);
            steps.add("AnnotationsTransformer", "commonAnnotations", None, Ok(made));
        }
    }

    pub(crate) fn from_config(config: &Value, _: &dyn Load) -> Result<Self> {
        let fields = Fields::converting(config, "AnnotationsTransformerPlugin", Unknown::Ignored)?;
        Ok(Self {
            annotations: fields.map("annotations")?.unwrap_or_default(),
            specs: fields.objects("fieldSpecs", "FieldSpec", FieldSpec::read)?.into(),
        })
    }
}

impl Transformer for Annotations {
    fn transform(&self, resources: &mut Resources, _: &Schema) -> Result<()> {
        entries::set(resources, &self.annotations, &self.specs)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::config::TransformerConfig;
    use crate::transformers::Annotations;
    use crate::transformers::testing::{config, transformed};

    #[test]
    fn annotations_are_set_on_objects_and_their_templates() {
        let specs = TransformerConfig::default_config().common_annotations.clone();
        let annotations = [("a".to_owned(), "1".to_owned())].into();
        let cases = [
            (
                "apiVersion: v1\nkind: Service\nmetadata:\n  name: s\n",
                "apiVersion: v1\nkind: Service\nmetadata:\n  annotations:\n    a: \"1\"\n  name: s\n",
            ),
            (
                "apiVersion: apps/v1\nkind: DaemonSet\nmetadata:\n  annotations:\n    a: old\n    b: kept\n  name: s\n",
                "apiVersion: apps/v1\nkind: DaemonSet\nmetadata:\n  annotations:\n    a: \"1\"\n    b: kept\n  name: s\nspec:\n  template:\n    metadata:\n      annotations:\n        a: \"1\"\n",
            ),
        ];
        let transformer = Annotations::new(annotations, specs);
        for (before, after) in cases {
            assert_eq!(transformed(&transformer, before).unwrap(), after);
        }
    }

    #[test]
    fn it_is_configured_by_a_file() {
        let fields = [json!({"path": "spec/notes", "create": true, "kind": "Thing"})];
        let file = json!({"annotations": {"n": 5}, "fieldSpecs": fields});
        let transformer = config(&file, Annotations::from_config).unwrap();
        let thing = "apiVersion: v1\nkind: Thing\nmetadata:\n  name: s\n";
        let after = format!("{thing}spec:\n  notes:\n    \"n\": \"5\"\n");
        assert_eq!(transformed(&transformer, thing).unwrap(), after);
        let other = "apiVersion: v1\nkind: Other\nmetadata:\n  name: s\n";
        assert_eq!(transformed(&transformer, other).unwrap(), other);
    }
}
