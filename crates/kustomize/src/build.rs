//! A build: a directory in, the objects of its kustomization out.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::accumulate::{Accumulator, Session, Target};
use crate::config::Specs;
use crate::failure::{Diagnostic, Failure, Gathered, Result};
use crate::field_spec::FieldSpec;
use crate::id::{CLUSTER_SCOPED, ResourceId};
use crate::kustomization::Kustomization;
use crate::loader::{LoadRestrictor, Loader, Remote};
use crate::openapi::Schema;
use crate::read;
use crate::references;
use crate::resource::{Resource, annotation};
use crate::resources::Resources;
use crate::transformers::{Hash, Labels, LegacyOrder, SortOrder, Transformer as _};
use crate::tree::FileTree;
use crate::vars;

/// The value of the label that `buildMetadata: [managedByLabel]` asks for: what the program of the version
/// that this engine is exact to says, so that a change of programs changes no object.
const MANAGED_BY: (&str, &str) = ("app.kubernetes.io/managed-by", "kustomize-v5.8.1");

/// In which order objects are given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Reorder {
    /// As the kustomization says, else as [`Reorder::Legacy`].
    #[default]
    Unspecified,
    /// In the order they were read and made, unless the kustomization says otherwise.
    None,
    /// By kind and name, namespaces first and webhooks last, unless the kustomization says otherwise.
    Legacy,
}

/// How to build.
#[derive(Clone, Copy, Default)]
pub struct Options<'a> {
    /// The order of the objects.
    pub reorder: Reorder,
    /// Which files a kustomization may name.
    pub load_restrictor: LoadRestrictor,
    /// Whether every object gets the label `app.kubernetes.io/managed-by`.
    pub managed_by_label: bool,
    /// Where files and repositories on other machines come from; without it, they are refused.
    pub remote: Option<&'a dyn Remote>,
    /// Whether lists in custom resources are merged by the keys that their CRDs in the build name. The
    /// original replaces such lists.
    pub crd_merge_keys: bool,
    /// Whether a schema that the field `openapi` names adds to the recorded one, as under Flux, which reads
    /// the recorded one before each build. The original lets it take the recorded one's place.
    pub keep_recorded_schema: bool,
}

/// The objects of a kustomization.
#[derive(Debug)]
pub struct Build {
    objects: Vec<BuiltObject>,
    warnings: Vec<Diagnostic>,
}

/// One object of a build.
#[derive(Debug)]
struct BuiltObject {
    value: Value,
    id: ResourceId,
}

/// Builds the kustomization in the directory `root` of the tree.
pub fn build(
    tree: &dyn FileTree,
    root: &str,
    options: &Options<'_>,
) -> std::result::Result<Build, Failure> {
    let mut session = Session::new(options.crd_merge_keys);
    if options.keep_recorded_schema {
        session.schema.use_recorded();
    }
    let loader = Loader::start(tree, options.remote, options.load_restrictor, root)?;
    let mut target = Target::load(loader, &mut session)?;
    target.choose_schema(&mut session, true)?;
    if !target.kustomization.build_metadata.is_empty() {
        target.track_origins();
    }
    let accumulated = target.accumulate(&mut session)?;
    let mut resources = finish(accumulated, &mut session)?;
    sort(&mut resources, &target.kustomization, options, &mut session)?;
    let metadata = &target.kustomization.build_metadata;
    let wants = |name: &str| metadata.iter().any(|wanted| wanted == name);
    if options.managed_by_label || wants("managedByLabel") {
        label(&mut resources, &session)?;
    }
    for resource in resources.iter_mut() {
        strip(resource, wants("originAnnotations"), wants("transformerAnnotations"))?;
    }
    Ok(Build { objects: objects(&resources, &session.schema)?, warnings: session.warnings })
}

/// What happens once, after all layers: hashes, the references to names that changed, vars; and what is
/// only there for the build is dropped.
fn finish(accumulated: Accumulator, session: &mut Session) -> Result<Resources> {
    let Accumulator { mut resources, config, vars } = accumulated;
    let schema = &session.schema;
    Hash.transform(&mut resources, schema)?;
    references::fix_back_references(&mut resources, &config.name_reference, schema)?;
    session.warnings.extend(vars::resolve(&mut resources, &vars, &config.var_reference)?);
    let mut wrong = Gathered::default();
    resources.list_mut().retain(|resource| {
        if resource.is_empty() {
            return false;
        }
        wrong.take(read::check(&resource.node));
        resource.annotation(annotation::LOCAL_CONFIG).is_none_or(|value| value == "false")
    });
    wrong.finish()?;
    Ok(resources)
}

fn sort(
    resources: &mut Resources,
    kustomization: &Kustomization,
    options: &Options<'_>,
    session: &mut Session,
) -> Result<()> {
    let order = match &kustomization.sort_options {
        Some(wanted) => {
            if options.reorder != Reorder::Unspecified {
                session.warnings.push(Diagnostic {
                    file: Some(kustomization.path().to_owned()),
                    position: kustomization.position(&["sortOptions"]),
                    message: "Sorting order is set both in 'kustomization.yaml' ('sortOptions') and \
                              in a CLI flag ('--reorder'). Using the kustomization file over the CLI \
                              flag."
                        .to_owned(),
                    ..Diagnostic::default()
                });
            }
            SortOrder::new(Some(wanted))
                .map_err(|failure| kustomization.place(failure, &["sortOptions"]))?
        }
        None if options.reorder == Reorder::None => return Ok(()),
        None => SortOrder::Legacy(LegacyOrder::default()),
    };
    order.transform(resources, &session.schema)
}

fn label(resources: &mut Resources, session: &Session) -> Result<()> {
    let spec =
        FieldSpec { path: "metadata/labels".to_owned(), create: true, ..FieldSpec::default() };
    let (name, value) = MANAGED_BY;
    let labels = [(name.to_owned(), value.to_owned())].into();
    Labels::new(labels, Specs::new(vec![spec])).transform(resources, &session.schema)
}

/// Takes off what only lives during a build, and what nobody asked for.
fn strip(resource: &mut Resource, keeps_origin: bool, keeps_changes: bool) -> Result<()> {
    resource.edit_annotations(|annotations| {
        for name in annotation::OF_THE_BUILD {
            annotations.remove(name);
        }
        if !keeps_origin {
            annotations.remove(annotation::ORIGIN);
        }
        if !keeps_changes {
            annotations.remove(annotation::TRANSFORMATIONS);
        }
    })
}

fn objects(resources: &Resources, schema: &Schema) -> Result<Vec<BuiltObject>> {
    let mut wrong = Gathered::default();
    let values = resources.iter().filter_map(|resource| {
        let value = resource.node.marshal_json().map_err(|error| {
            let failure = Failure::from(error).about(Resource::describe(&resource.node));
            match &resource.file {
                Some(file) => failure.in_file_at(file, resource.node.position),
                None => failure,
            }
        });
        wrong.take(value).map(|value| BuiltObject { value, id: resource.id(schema) })
    });
    let values = values.collect();
    wrong.finish()?;
    Ok(values)
}

impl Build {
    /// The objects as kustomize prints them.
    pub fn to_yaml(&self) -> String {
        let mut text = String::new();
        for (index, object) in self.objects.iter().enumerate() {
            if index > 0 {
                text.push_str("---\n");
            }
            text.push_str(&sluice_yaml::from_json(&object.value));
        }
        text
    }

    /// The objects, in order.
    pub fn objects(&self) -> impl Iterator<Item = &Value> {
        self.objects.iter().map(|object| &object.value)
    }

    /// The objects, in order, without a copy.
    pub fn into_objects(self) -> Vec<Value> {
        self.objects.into_iter().map(|object| object.value).collect()
    }

    /// One file for each object, named as kustomize names them: after kind and name, and after the
    /// namespace where there is more than one.
    pub fn to_files(&self) -> BTreeMap<String, String> {
        let ids = self.objects.iter().map(|object| object.id.effective_namespace());
        let namespaces: BTreeSet<&str> = ids.filter(|name| *name != CLUSTER_SCOPED).collect();
        let mut files = BTreeMap::new();
        for BuiltObject { value, id } in &self.objects {
            let namespace = id.effective_namespace();
            let is_told = namespaces.len() > 1 && namespace != CLUSTER_SCOPED;
            let parts = [
                if is_told { namespace } else { "" },
                &id.gvk.group,
                &id.gvk.version,
                &id.gvk.kind,
                &id.name,
            ];
            let parts: Vec<String> =
                parts.into_iter().filter(|part| !part.is_empty()).map(str::to_lowercase).collect();
            files.insert(format!("{}.yaml", parts.join("_")), sluice_yaml::from_json(value));
        }
        files
    }

    /// What should be written otherwise, although it was understood.
    pub fn warnings(&self) -> &[Diagnostic] {
        &self.warnings
    }
}
