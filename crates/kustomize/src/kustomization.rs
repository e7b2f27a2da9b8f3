//! Kustomization files: fields, deprecated fields and validation.
//!
//! The file is decoded through JSON, so that names match case-insensitively and duplicate keys are allowed. Only
//! after an error is it parsed again with positions, and then all errors are reported at once.

mod helm;
mod labels;

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use serde_json::Value;
use sluice_yaml::{Duplicates, Node, Position};

use crate::decode::{Fields, Unknown};
use crate::failure::{Diagnostic, Failure, Gathered, Result};
use crate::generators::{Arguments, GeneratorOptions};
use crate::transformers::{Image, PatchEntry, ReplacementField, Replica, SortOptions};
use crate::vars::Var;

pub(crate) use labels::Label;

/// The names of a kustomization file.
pub(crate) const FILE_NAMES: [&str; 3] =
    ["kustomization.yaml", "kustomization.yml", "Kustomization"];

const KUSTOMIZATION: (&str, &str) = ("Kustomization", "kustomize.config.k8s.io/v1beta1");
const COMPONENT: (&str, &str) = ("Component", "kustomize.config.k8s.io/v1alpha1");

/// The fields of a kustomization file.
#[derive(Debug, Clone, Default)]
pub(crate) struct Kustomization {
    pub(crate) kind: String,
    pub(crate) api_version: String,
    pub(crate) openapi: BTreeMap<String, String>,
    pub(crate) name_prefix: String,
    pub(crate) name_suffix: String,
    pub(crate) namespace: String,
    pub(crate) common_labels: BTreeMap<String, String>,
    pub(crate) labels: Vec<Label>,
    pub(crate) common_annotations: BTreeMap<String, String>,
    pub(crate) patches_strategic_merge: Vec<String>,
    pub(crate) patches: Vec<PatchEntry>,
    pub(crate) patches_json6902: Vec<PatchEntry>,
    pub(crate) images: Vec<Image>,
    pub(crate) replicas: Vec<Replica>,
    pub(crate) replacements: Vec<ReplacementField>,
    pub(crate) vars: Vec<Var>,
    pub(crate) sort_options: Option<SortOptions>,
    pub(crate) resources: Vec<String>,
    pub(crate) components: Vec<String>,
    pub(crate) crds: Vec<String>,
    pub(crate) config_maps: Vec<Arguments>,
    /// The data sources and types of Secrets.
    pub(crate) secrets: Vec<(Arguments, String)>,
    pub(crate) has_helm_charts: bool,
    pub(crate) generator_options: Option<GeneratorOptions>,
    pub(crate) configurations: Vec<String>,
    pub(crate) generators: Vec<String>,
    pub(crate) transformers: Vec<String>,
    pub(crate) validators: Vec<String>,
    pub(crate) build_metadata: Vec<String>,
    /// Deprecation warnings.
    pub(crate) warnings: Vec<Diagnostic>,
    /// The errors of the file. The rest is decoded nevertheless, to find further errors.
    pub(crate) faults: Option<Failure>,
    source: Source,
}

/// The source of a kustomization.
#[derive(Debug, Clone, Default)]
struct Source {
    path: Arc<str>,
    name: &'static str,
    content: Arc<[u8]>,
    /// The document, parsed when a position in it is first asked for.
    document: OnceLock<Option<Node>>,
}

impl Kustomization {
    /// Reads the file `name` of the directory `root`.
    pub(crate) fn read(content: &[u8], root: &str, name: &'static str) -> Result<Self> {
        let path: Arc<str> = crate::loader::path::join(root, name).into();
        let failed = |failure: Failure| failure.in_file(&path);
        let value = sluice_yaml::to_json(content, Duplicates::LastWins)
            .map_err(|error| failed(Failure::from(error).context("invalid Kustomization")))?;
        let value = value.unwrap_or_default();
        let mut read = Self::decode(&value, None)
            .map_err(|failure| failed(failure.context("invalid Kustomization")))?;
        if let Some(failure) = read.faults.take() {
            let node = document(content);
            let placed = node.and_then(|node| Self::decode(&value, Some(&node)).ok()?.faults);
            let failure = placed.unwrap_or(failure).context("invalid Kustomization");
            read.faults = Some(failed(failure));
        }
        read.source =
            Source { path: path.clone(), name, content: content.into(), document: OnceLock::new() };
        read.warnings = read.deprecations(&value);
        read.fill_kind();
        if let Some(faults) = read.faults.take() {
            // The file may also be of another kind, which is another error.
            let kind = read.check_kind(root).map_err(failed).err();
            read.faults = Some(match kind {
                Some(kind) => faults.and(kind),
                None => faults,
            });
            return Ok(read);
        }
        if is_empty(&value) {
            return Err(failed(Failure::new("kustomization.yaml is empty"))
                .hint("name what it is about, for instance under `resources`"));
        }
        read.check_kind(root).map_err(failed)?;
        Ok(read)
    }

    fn decode(value: &Value, node: Option<&Node>) -> Result<Self> {
        let fields = Fields::located(value, node, "Kustomization", Unknown::Refused)?;
        let mut all = Gathered::default();
        let mut read = Self::default();
        read.decode_operators(&fields, &mut all);
        read.decode_operands(&fields, &mut all);
        all.take(fields.object("metadata", "ObjectMeta", |metadata| {
            metadata.text("name")?;
            metadata.text("namespace")?;
            metadata.map("labels")?;
            metadata.map("annotations").map(drop)
        }));
        all.take(fields.finish());
        read.faults = all.finish().err();
        Ok(read)
    }

    /// Decodes the fields of transformers.
    fn decode_operators(&mut self, fields: &Fields<'_>, all: &mut Gathered) {
        let mut text = |name| all.take(fields.text(name)).unwrap_or_default();
        self.kind = text("kind");
        self.api_version = text("apiVersion");
        self.name_prefix = text("namePrefix");
        self.name_suffix = text("nameSuffix");
        self.namespace = text("namespace");
        let mut map = |name| all.take(fields.map(name)).flatten().unwrap_or_default();
        self.openapi = map("openapi");
        self.common_labels = map("commonLabels");
        self.common_annotations = map("commonAnnotations");
        self.patches_strategic_merge =
            all.take(fields.texts("patchesStrategicMerge")).unwrap_or_default();
        let mut patches =
            |name| all.take(fields.objects(name, "Patch", PatchEntry::read)).unwrap_or_default();
        self.patches = patches("patches");
        self.patches_json6902 = patches("patchesJson6902");
        let mut images =
            |name| all.take(fields.objects(name, "Image", Image::read)).unwrap_or_default();
        self.images = images("images");
        self.images.extend(images("imageTags"));
        self.labels = all.take(fields.objects("labels", "Label", Label::read)).unwrap_or_default();
        self.replicas =
            all.take(fields.objects("replicas", "Replica", Replica::read)).unwrap_or_default();
        self.replacements = all
            .take(fields.objects("replacements", "ReplacementField", ReplacementField::read))
            .unwrap_or_default();
        self.vars = all.take(fields.objects("vars", "Var", Var::read)).unwrap_or_default();
        self.sort_options =
            all.take(fields.object("sortOptions", "SortOptions", SortOptions::read)).flatten();
        self.build_metadata = all.take(fields.texts("buildMetadata")).unwrap_or_default();
    }

    /// Decodes the fields of resources and generators.
    fn decode_operands(&mut self, fields: &Fields<'_>, all: &mut Gathered) {
        let mut texts = |name| all.take(fields.texts(name)).unwrap_or_default();
        self.resources = texts("resources");
        self.resources.extend(texts("bases"));
        self.components = texts("components");
        self.crds = texts("crds");
        self.configurations = texts("configurations");
        self.generators = texts("generators");
        self.transformers = texts("transformers");
        self.validators = texts("validators");
        self.config_maps = all
            .take(fields.objects("configMapGenerator", "ConfigMapArgs", |entry| {
                Arguments::read(entry).map(Arguments::modernized)
            }))
            .unwrap_or_default();
        self.secrets = all
            .take(fields.objects("secretGenerator", "SecretArgs", |entry| {
                Ok((Arguments::read(entry)?.modernized(), entry.text("type")?))
            }))
            .unwrap_or_default();
        self.generator_options = all
            .take(fields.object("generatorOptions", "GeneratorOptions", GeneratorOptions::read))
            .flatten();
        self.has_helm_charts = all.take(helm::has_charts(fields)).unwrap_or_default();
    }

    fn fill_kind(&mut self) {
        if self.kind.is_empty() {
            KUSTOMIZATION.0.clone_into(&mut self.kind);
        }
        if self.api_version.is_empty() {
            self.expected_version().clone_into(&mut self.api_version);
        }
    }

    pub(crate) fn is_component(&self) -> bool {
        self.kind == COMPONENT.0
    }

    fn expected_version(&self) -> &'static str {
        if self.is_component() { COMPONENT.1 } else { KUSTOMIZATION.1 }
    }

    fn check_kind(&self, root: &str) -> Result<()> {
        let mut wrong = Gathered::default();
        let mut add = |field: &str, problem: String| {
            let failure =
                Failure::new(format!("Failed to read kustomization file under {root}:\n{problem}"));
            wrong.add(failure.at(self.position(&[field]).unwrap_or_default()));
        };
        let (kind, version) = (&self.kind, self.expected_version());
        if kind != KUSTOMIZATION.0 && kind != COMPONENT.0 {
            add("kind", format!("kind should be {} or {}", KUSTOMIZATION.0, COMPONENT.0));
        }
        if self.api_version != version {
            add("apiVersion", format!("apiVersion for {kind} should be {version}"));
        }
        wrong.finish()
    }

    fn deprecations(&self, value: &Value) -> Vec<Diagnostic> {
        const EDIT: &str = "Run 'kustomize edit fix' to update your Kustomization automatically.";
        const DEPRECATED: [(&str, &str); 6] = [
            ("bases", "resources"),
            ("commonLabels", "labels"),
            ("imageTags", "images"),
            ("patchesJson6902", "patches"),
            ("patchesStrategicMerge", "patches"),
            ("vars", "replacements"),
        ];
        let used = DEPRECATED.iter().filter(|(old, _)| has(value, old));
        used.map(|(old, new)| {
            let experimental = if *old == "vars" { "[EXPERIMENTAL] " } else { "" };
            Diagnostic {
                file: Some(self.source.path.to_string()),
                position: self.position(&[old]),
                message: format!(
                    "'{old}' is deprecated. Please use '{new}' instead. {experimental}{EDIT}"
                ),
                ..Diagnostic::default()
            }
        })
        .collect()
    }

    /// The path of the file.
    pub(crate) fn path(&self) -> &str {
        &self.source.path
    }

    /// The name of the file.
    pub(crate) fn file_name(&self) -> &'static str {
        self.source.name
    }

    /// The position of an entry: fields by name, list items by index.
    pub(crate) fn position(&self, path: &[&str]) -> Option<Position> {
        let document = self.source.document.get_or_init(|| document(&self.source.content));
        find(document.as_ref()?, path).map(|(position, _)| position)
    }

    /// Adds the position of an entry to a failure without one.
    pub(crate) fn place(&self, failure: Failure, path: &[&str]) -> Failure {
        let failure = failure.below(crate::loader::path::parent(self.path()));
        if failure.diagnostics().all(|cause| cause.file.is_some()) {
            return failure;
        }
        match self.position(path) {
            Some(position) => failure.in_file_at(self.path(), position),
            None => failure.in_file(self.path()),
        }
    }
}

/// What is written at a path of the file, and where: fields by name, items of lists by number.
pub(crate) fn find<'n>(root: &'n Node, path: &[&str]) -> Option<(Position, &'n Node)> {
    let mut at = (root.position, root);
    for part in path {
        at = if let Ok(index) = part.parse::<usize>() {
            at.1.items().get(index).map(|item| (item.position, item))?
        } else {
            let is_it =
                |key: &Node| key.as_text().is_some_and(|key| key.eq_ignore_ascii_case(part));
            let mut fields = at.1.fields().iter().rev();
            fields.find(|(key, _)| is_it(key)).map(|(key, value)| (key.position, value))?
        };
    }
    Some(at)
}

/// The first document of a kustomization file, with positions.
pub(crate) fn document(content: &[u8]) -> Option<Node> {
    let mut documents = sluice_yaml::parse_as(content, sluice_yaml::Dialect::V2).ok()?;
    if documents.is_empty() { None } else { Some(documents.swap_remove(0).root) }
}

/// Whether the file has a field, even an empty list.
fn has(value: &Value, name: &str) -> bool {
    let mut fields = value.as_object().into_iter().flatten();
    fields.any(|(key, value)| key.eq_ignore_ascii_case(name) && !value.is_null())
}

/// Whether the kustomization is empty in kustomize's sense, after deprecated fields were moved: an empty list counts, an
/// empty string does not.
fn is_empty(value: &Value) -> bool {
    const MOVED: [&str; 3] = ["bases", "imageTags", "helmChartInflationGenerator"];
    let mut fields = value.as_object().into_iter().flatten();
    fields.all(|(key, value)| {
        let is = |name: &str| key.eq_ignore_ascii_case(name);
        match value {
            Value::Null => true,
            Value::String(text) => text.is_empty() || is("kind") || is("apiVersion"),
            Value::Array(items) => items.is_empty() && MOVED.into_iter().any(is),
            _ => false,
        }
    })
}

#[cfg(test)]
mod tests;
