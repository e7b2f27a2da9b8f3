//! The fields of each kind that transformers change: kustomize's defaults, and those of `configurations`
//! files.
//!
//! The lists are shared: a kustomization without configurations costs no copy, and merging the defaults with
//! themselves costs no comparison.

mod defaults;
mod name_references;
mod var_references;

use std::sync::{Arc, LazyLock};

use sluice_yaml::Duplicates;

use crate::decode::{Fields, Unknown};
use crate::failure::Result;
use crate::field_spec::{self, FieldSpec};
use crate::id::Gvk;
use crate::kind_order;
use crate::transformers::Load;
use defaults::Row;

/// A list of fields, shared until it is changed.
pub(crate) type Specs = Arc<Vec<FieldSpec>>;

/// The fields that may refer to objects of one kind.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct NameReference {
    /// The kind that is referred to.
    pub(crate) referent: Gvk,
    /// The fields.
    pub(crate) referrers: Vec<FieldSpec>,
}

/// The fields that transformers change.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct TransformerConfig {
    pub(crate) name_prefix: Specs,
    pub(crate) name_suffix: Specs,
    pub(crate) namespace: Specs,
    pub(crate) common_labels: Specs,
    pub(crate) labels: Specs,
    pub(crate) template_labels: Specs,
    pub(crate) common_annotations: Specs,
    pub(crate) name_reference: Arc<Vec<NameReference>>,
    pub(crate) var_reference: Specs,
    pub(crate) images: Specs,
    pub(crate) replicas: Specs,
}

static DEFAULT: LazyLock<TransformerConfig> = LazyLock::new(TransformerConfig::built_in);

impl TransformerConfig {
    /// kustomize's defaults.
    pub(crate) fn default_config() -> &'static Self {
        &DEFAULT
    }

    /// The defaults merged with these files.
    pub(crate) fn load(files: &dyn Load, paths: &[String]) -> Result<Self> {
        if paths.is_empty() {
            return Ok(Self::default_config().clone());
        }
        let mut added = Self::default();
        for path in paths {
            let read = Self::read(&files.load(path)?).map_err(|failure| failure.in_file(path))?;
            added = added.merge(&read).map_err(|failure| failure.in_file(path))?;
        }
        DEFAULT.merge(&added)
    }

    /// A configuration file.
    pub(crate) fn read(text: &[u8]) -> Result<Self> {
        let value = sluice_yaml::to_json(text, Duplicates::Reject)?.unwrap_or_default();
        let fields = Fields::converting(&value, "TransformerConfig", Unknown::Refused)?;
        let specs = |name| -> Result<Specs> {
            let mut specs = fields.objects(name, "FieldSpec", FieldSpec::read)?;
            kind_order::sort(&mut specs, |spec| &spec.gvk);
            Ok(Arc::new(specs))
        };
        let mut references = fields.objects("nameReference", "NameBackReferences", |fields| {
            let referent = fields.embedded(Gvk::read)?;
            let referrers = fields.objects("fieldSpecs", "FieldSpec", FieldSpec::read)?;
            Ok(NameReference { referent, referrers })
        })?;
        kind_order::sort(&mut references, |reference| &reference.referent);
        let config = Self {
            name_prefix: specs("namePrefix")?,
            name_suffix: specs("nameSuffix")?,
            namespace: specs("namespace")?,
            common_labels: specs("commonLabels")?,
            labels: specs("labels")?,
            template_labels: specs("templateLabels")?,
            common_annotations: specs("commonAnnotations")?,
            name_reference: Arc::new(references),
            var_reference: specs("varReference")?,
            images: specs("images")?,
            replicas: specs("replicas")?,
        };
        fields.finish()?;
        Ok(config)
    }

    /// The union, sorted; common entries must agree.
    pub(crate) fn merge(&self, other: &Self) -> Result<Self> {
        let all = |name, own: &Specs, more: &Specs, default: &Specs| -> Result<Specs> {
            if Arc::ptr_eq(more, default) && (own.is_empty() || Arc::ptr_eq(own, default)) {
                return Ok(Arc::clone(default));
            }
            let mut list = Vec::clone(own);
            field_spec::merge_into(&mut list, more).map_err(|failure| {
                failure.context(format_args!("failed to merge {name} fieldSpec"))
            })?;
            kind_order::sort(&mut list, |spec| &spec.gvk);
            Ok(Arc::new(list))
        };
        macro_rules! merged {
            ($name:literal, $list:ident) => {
                all($name, &self.$list, &other.$list, &DEFAULT.$list)?
            };
        }
        Ok(Self {
            name_prefix: merged!("NamePrefix", name_prefix),
            name_suffix: merged!("NameSuffix", name_suffix),
            namespace: merged!("NameSpace", namespace),
            common_labels: merged!("CommonLabels", common_labels),
            labels: merged!("Labels", labels),
            template_labels: merged!("TemplateLabels", template_labels),
            common_annotations: merged!("CommonAnnotations", common_annotations),
            name_reference: self
                .merged_references(other)
                .map_err(|failure| failure.context("failed to merge NameReference fieldSpec"))?,
            var_reference: merged!("VarReference", var_reference),
            images: merged!("Images", images),
            replicas: merged!("Replicas", replicas),
        })
    }

    fn merged_references(&self, other: &Self) -> Result<Arc<Vec<NameReference>>> {
        let (own, more) = (&self.name_reference, &other.name_reference);
        let default = &DEFAULT.name_reference;
        if Arc::ptr_eq(more, default) && (own.is_empty() || Arc::ptr_eq(own, default)) {
            return Ok(Arc::clone(default));
        }
        let mut list = Vec::clone(own);
        for reference in more.iter() {
            add_reference(&mut list, reference)?;
        }
        kind_order::sort(&mut list, |reference| &reference.referent);
        Ok(Arc::new(list))
    }

    /// Adds the references to one kind, as `crds` define them.
    pub(crate) fn add_name_reference(&mut self, reference: &NameReference) -> Result<()> {
        add_reference(Arc::make_mut(&mut self.name_reference), reference)
    }

    fn built_in() -> Self {
        let specs = |rows: &[Row]| Arc::new(rows.iter().map(|row| spec(*row)).collect());
        let references =
            name_references::NAME_REFERENCE.iter().map(|((group, version, kind), rows)| {
                NameReference {
                    referent: gvk(group, version, kind),
                    referrers: rows
                        .iter()
                        .map(|(group, version, kind, path)| {
                            spec((group, version, kind, path, false))
                        })
                        .collect(),
                }
            });
        let variables = var_references::VAR_REFERENCE.iter();
        Self {
            name_prefix: specs(defaults::NAME_PREFIX),
            name_suffix: specs(defaults::NAME_SUFFIX),
            namespace: specs(defaults::NAMESPACE),
            common_labels: specs(defaults::COMMON_LABELS),
            labels: Specs::default(),
            template_labels: specs(defaults::TEMPLATE_LABELS),
            common_annotations: specs(defaults::COMMON_ANNOTATIONS),
            name_reference: Arc::new(references.collect()),
            var_reference: Arc::new(
                variables.map(|(kind, path)| spec(("", "", kind, path, false))).collect(),
            ),
            images: specs(defaults::IMAGES),
            replicas: specs(defaults::REPLICAS),
        }
    }
}

fn add_reference(list: &mut Vec<NameReference>, reference: &NameReference) -> Result<()> {
    let mut is_there = false;
    for there in list.iter_mut().filter(|there| there.referent == reference.referent) {
        field_spec::merge_into(&mut there.referrers, &reference.referrers)?;
        is_there = true;
    }
    if !is_there {
        list.push(reference.clone());
    }
    Ok(())
}

fn gvk(group: &str, version: &str, kind: &str) -> Gvk {
    Gvk { group: group.to_owned(), version: version.to_owned(), kind: kind.to_owned() }
}

fn spec((group, version, kind, path, create): Row) -> FieldSpec {
    FieldSpec { gvk: gvk(group, version, kind), path: path.to_owned(), create }
}

#[cfg(test)]
mod tests;
