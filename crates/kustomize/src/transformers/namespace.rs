//! `namespace` and `NamespaceTransformer`: the namespace of all namespaced objects, and of references to it.

use serde_json::Value;
use sluice_yaml::Node;

use super::{FieldSteps, Load, Transformer};
use crate::access::{self, Kind};
use crate::config::Specs;
use crate::decode::{Fields, Unknown};
use crate::failure::{Failure, Result};
use crate::field_spec::{Creation, FieldSpec, SpecsByKind};
use crate::openapi::Schema;
use crate::resource::{Resource, annotation};
use crate::resources::Resources;

const METADATA_NAMESPACE: &str = "metadata/namespace";
const METADATA_NAME: &str = "metadata/name";

/// The subjects of role bindings that get the namespace.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Subjects {
    /// Those with the name `default`.
    #[default]
    NamedDefault,
    /// All service accounts.
    ServiceAccounts,
    None,
}

impl Subjects {
    fn read(text: &str) -> Result<Self> {
        Ok(match text {
            "" | "defaultOnly" => Self::NamedDefault,
            "allServiceAccounts" => Self::ServiceAccounts,
            "none" => Self::None,
            other => {
                return Err(Failure::new(format!(
                    "invalid value {other:?} for setRoleBindingSubjects: must be one of \
                     \"defaultOnly\", \"none\" or \"allServiceAccounts\""
                )));
            }
        })
    }
}

/// Sets the namespace.
#[derive(Debug, Clone)]
pub(crate) struct Namespace {
    name: String,
    specs: Specs,
    /// Whether an existing namespace is kept.
    unset_only: bool,
    subjects: Subjects,
}

impl Namespace {
    pub(crate) fn new(name: String, specs: Specs) -> Self {
        Self { name, specs, unset_only: false, subjects: Subjects::default() }
    }

    /// `namespace`
    pub(super) fn field(steps: &mut FieldSteps<'_>) {
        let name = &steps.kustomization.namespace;
        if !name.is_empty() {
            let made = Self::new(name.clone(), steps.config.namespace.clone());
            steps.add("NamespaceTransformer", "namespace", None, Ok(made));
        }
    }

    pub(crate) fn from_config(config: &Value, _: &dyn Load) -> Result<Self> {
        let fields = Fields::converting(config, "NamespaceTransformerPlugin", Unknown::Ignored)?;
        let name = fields.object("metadata", "ObjectMeta", |metadata| {
            // The other fields of the metadata are validated too.
            metadata.text("name")?;
            metadata.map("labels")?;
            metadata.map("annotations")?;
            metadata.text("namespace")
        })?;
        Ok(Self {
            name: name.unwrap_or_default(),
            specs: fields.objects("fieldSpecs", "FieldSpec", FieldSpec::read)?.into(),
            unset_only: fields.flag("unsetOnly")?,
            subjects: Subjects::read(&fields.text("setRoleBindingSubjects")?)?,
        })
    }
}

impl Transformer for Namespace {
    fn transform(&self, resources: &mut Resources, schema: &Schema) -> Result<()> {
        if self.name.is_empty() {
            return Ok(());
        }
        let mut setter = Setter::new(self);
        for resource in resources.iter_mut().filter(|resource| !resource.is_empty()) {
            if resource.annotation(annotation::HELM_GENERATED) == Some("true") {
                continue;
            }
            resource.store_id(schema)?;
            setter.change(resource, schema)?;
        }
        // kustomize detects the first conflict of two ids; checking at the end finds the same ones.
        match resources.first_collision(schema) {
            None => Ok(()),
            Some((first, second)) => {
                let failure = Failure::new(format!(
                    "namespace transformation produces ID conflict: {}",
                    first.id(schema)
                ));
                let failure = failure.hint("rename one of the objects, or leave one out");
                let place = second.file.as_deref().or(first.file.as_deref());
                Err(place.map_or(failure.clone(), |file| failure.in_file(file)))
            }
        }
    }
}

/// Sets namespaces in objects, one after the other.
pub(super) struct Setter<'n> {
    of: &'n Namespace,
    /// For objects of the core group, where a name may be that of a namespace.
    core_specs: SpecsByKind<'n>,
    specs: SpecsByKind<'n>,
}

impl<'n> Setter<'n> {
    pub(super) fn new(of: &'n Namespace) -> Self {
        // Metadata and subjects follow rules, not specs.
        let wanted = of.specs.iter().filter(|spec| {
            let is_subject = is_role_binding(&spec.gvk.kind) && spec.path == "subjects/namespace";
            !is_subject && spec.path != METADATA_NAMESPACE
        });
        let other = wanted.clone().filter(|spec| spec.path != METADATA_NAME);
        Self { of, core_specs: SpecsByKind::new(wanted), specs: SpecsByKind::new(other) }
    }

    pub(super) fn change(&mut self, resource: &mut Resource, schema: &Schema) -> Result<()> {
        let of = self.of;
        let mut set = |node: &mut Node| set(of, node);
        let is_core = resource.api_version() == "v1";
        if !schema.is_certainly_cluster_scoped(resource.api_version(), resource.kind()) {
            let spec = FieldSpec {
                path: METADATA_NAMESPACE.to_owned(),
                create: true,
                ..FieldSpec::default()
            };
            crate::field_spec::apply_one(
                &mut resource.node,
                &spec,
                Some(Creation::SCALAR),
                &mut set,
            )?;
        }
        if is_role_binding(resource.kind()) {
            set_subjects(of, &mut resource.node).map_err(|failure| {
                failure.context("setting namespace on (cluster)role binding subjects")
            })?;
        }
        let specs = if is_core { &mut self.core_specs } else { &mut self.specs };
        specs
            .apply(&mut resource.node, Some(Creation::TEXT), &mut set)
            .map_err(|failure| failure.context("namespace transformation failed"))
    }
}

fn is_role_binding(kind: &str) -> bool {
    matches!(kind, "RoleBinding" | "ClusterRoleBinding")
}

fn set(of: &Namespace, node: &mut Node) -> Result<()> {
    let is_set = Kind::of(node) == Some(Kind::Scalar) && !access::text(node).is_empty();
    if of.unset_only && is_set {
        return Ok(());
    }
    access::set_scalar(node, Node::text(of.name.as_str()))
}

fn set_subjects(of: &Namespace, object: &mut Node) -> Result<()> {
    let (field, value) = match of.subjects {
        Subjects::None => return Ok(()),
        Subjects::NamedDefault => ("name", "default"),
        Subjects::ServiceAccounts => ("kind", "ServiceAccount"),
    };
    let Some(subjects) = access::lookup_mut(object, &["subjects"])? else { return Ok(()) };
    access::expect(subjects, Kind::Sequence)?;
    if access::is_null(subjects) {
        return Ok(());
    }
    for subject in subjects.items_mut().into_iter().flatten() {
        let Some(found) = access::lookup(subject, &[field])? else { continue };
        access::expect(found, Kind::Scalar)?;
        if access::is_null(found) || found.as_text() != Some(value) {
            continue;
        }
        if let Some(namespace) = access::lookup_create(subject, &["namespace"], Kind::Scalar)? {
            set(of, namespace)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
