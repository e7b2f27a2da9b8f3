//! `replicas` and `ReplicaCountTransformer`.

use serde_json::Value;
use sluice_yaml::Node;

use super::{FieldSteps, Load, Transformer};
use crate::access;
use crate::config::Specs;
use crate::decode::{Fields, Unknown};
use crate::failure::{Failure, Result};
use crate::field_spec::{self, Creation, FieldSpec};
use crate::openapi::Schema;
use crate::resource::Resource;
use crate::resources::Resources;

/// A name and its replicas.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Replica {
    pub(crate) name: String,
    pub(crate) count: i64,
}

impl Replica {
    pub(crate) fn read(fields: &Fields<'_>) -> Result<Self> {
        Ok(Self { name: fields.text("name")?, count: fields.integer("count")? })
    }
}

/// Sets the replicas of resources with a current or former name.
#[derive(Debug, Clone)]
pub(crate) struct Replicas {
    replica: Replica,
    specs: Specs,
}

impl Replicas {
    pub(crate) fn new(replica: Replica, specs: Specs) -> Self {
        Self { replica, specs }
    }

    /// `replicas`
    pub(super) fn field(steps: &mut FieldSteps<'_>) {
        for (index, replica) in steps.kustomization.replicas.iter().enumerate() {
            let made = Self::new(replica.clone(), steps.config.replicas.clone());
            steps.add("ReplicaCountTransformer", "replicas", Some(index), Ok(made));
        }
    }

    pub(crate) fn from_config(config: &Value, _: &dyn Load) -> Result<Self> {
        let fields = Fields::converting(config, "ReplicaCountTransformerPlugin", Unknown::Ignored)?;
        Ok(Self {
            replica: fields.object("replica", "Replica", Replica::read)?.unwrap_or_default(),
            specs: fields.objects("fieldSpecs", "FieldSpec", FieldSpec::read)?.into(),
        })
    }

    /// Whether the resource has or had the name, with one of the kinds.
    fn is_meant(&self, resource: &Resource, spec: &FieldSpec, schema: &Schema) -> bool {
        let is = |id: &crate::id::ResourceId| {
            id.name == self.replica.name && id.gvk.is_selected(&spec.gvk)
        };
        is(&resource.id(schema)) || resource.previous_ids().iter().any(is)
    }
}

impl Transformer for Replicas {
    fn transform(&self, resources: &mut Resources, schema: &Schema) -> Result<()> {
        let named = resources.with_any_name(&self.replica.name, schema);
        let mut is_found = false;
        for spec in self.specs.iter() {
            for position in &named {
                let Some(resource) = resources.get_mut_keeping_ids(*position) else { continue };
                if !self.is_meant(resource, spec, schema) {
                    continue;
                }
                is_found = true;
                let count = self.replica.count.to_string();
                field_spec::apply_one(
                    &mut resource.node,
                    spec,
                    Some(Creation::INTEGER),
                    &mut |node| access::set_scalar(node, Node::scalar("!!int", count.as_str())),
                )?;
                resources.note_change(*position, None);
            }
        }
        if is_found {
            return Ok(());
        }
        let kinds: Vec<String> = self.specs.iter().map(|spec| spec.gvk.to_string()).collect();
        Err(Failure::new(format!(
            "resource with name {} does not match a config with the following GVK [{}]",
            self.replica.name,
            kinds.join(" ")
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::{Replica, Replicas};
    use crate::config::TransformerConfig;
    use crate::transformers::testing::{transformed, transformed_twice};
    use crate::transformers::{Affix, Side};

    fn replicas(name: &str) -> Replicas {
        let specs = TransformerConfig::default_config().replicas.clone();
        Replicas::new(Replica { name: name.to_owned(), count: 5 }, specs)
    }

    fn object(kind: &str, spec: &str) -> String {
        format!("apiVersion: apps/v1\nkind: {kind}\nmetadata:\n  name: it\n{spec}")
    }

    #[test]
    fn the_field_is_set_or_made() {
        let after = object("Deployment", "spec:\n  replicas: 5\n");
        for before in ["", "spec:\n  replicas: 3\n", "spec:\n  replicas: null\n"] {
            let before = object("Deployment", before);
            assert_eq!(transformed(&replicas("it"), &before).unwrap(), after, "{before}");
        }
    }

    #[test]
    fn earlier_names_count_and_names_that_nobody_has_are_an_error() {
        let specs = TransformerConfig::default_config().name_prefix.clone();
        let prefix = Affix::new(Side::Prefix, "p".to_owned(), specs);
        for name in ["it", "pit"] {
            let both = transformed_twice(&prefix, &replicas(name), &object("StatefulSet", ""));
            assert!(both.unwrap().contains("replicas: 5"), "{name}");
        }
        for (name, kind) in [("x", "Deployment"), ("it", "DaemonSet")] {
            let failure = transformed(&replicas(name), &object(kind, "")).expect_err("none");
            assert!(
                failure.to_string().starts_with(&format!("resource with name {name} does not"))
            );
        }
    }
}
