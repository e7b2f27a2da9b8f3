//! The kustomization file that Flux builds from: the one of the artifact or one made from its manifests,
//! with the fields of the Kustomization merged into it, as `Generator` of `fluxcd/pkg/kustomize` 1.35.6
//! writes it.
//!
//! A file that is there is read leniently: fields that kustomize does not know are dropped here, at the
//! root only, and numbers are taken as texts where a text is wanted. (Not followed: a whole number that
//! is written as a float of a million or more keeps its digits there, where Go writes `1e+06`.)

mod fields;
mod scan;
mod shape;

use serde_json::{Map, Value, json};
use sluice_api::shared::kustomize::{Image, Patch, Selector};
use sluice_yaml::{Duplicates, from_json, to_json};

use super::overlay::OverlayTree;
use super::secure::SecureTree;
use crate::failure::{Failure, Result};
use crate::loader::path::{join, parent};
use crate::tree::{Entry, FileTree, TreeError};
use shape::Reading;

/// The names a kustomization file may have, in the order they are looked for.
const NAMES: [&str; 3] = ["kustomization.yaml", "kustomization.yml", "Kustomization"];

/// What a Kustomization says about the file; each field as in its `spec`.
#[derive(Debug, Clone, Default)]
pub struct Overrides {
    /// Takes the place of `namespace`.
    pub target_namespace: Option<String>,
    /// Takes the place of `namePrefix`.
    pub name_prefix: Option<String>,
    /// Takes the place of `nameSuffix`.
    pub name_suffix: Option<String>,
    /// Come after the file's own.
    pub patches: Vec<Patch>,
    /// Are merged field by field into those with the same name; tag and digest go together.
    pub images: Vec<Image>,
    /// Come after the file's own; must be local and relative.
    pub components: Vec<String>,
    /// Whether components that are not there are passed over.
    pub ignore_missing_components: bool,
    /// Takes the place of `buildMetadata` unless it is empty.
    pub build_metadata: Vec<String>,
}

/// Tells which files of the artifact are left out; only the command line has such a rule.
pub type Ignore<'i> = &'i dyn Fn(&str, Entry) -> bool;

/// A kustomization file for a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Generated {
    /// Where it stands.
    pub path: String,
    /// What is in it.
    pub text: String,
    /// Whether the artifact had none.
    pub is_created: bool,
}

impl Generated {
    /// The artifact with the file in it.
    pub fn over<'t>(&self, tree: &'t dyn FileTree) -> OverlayTree<'t> {
        OverlayTree::new(tree).with(self.path.clone(), self.text.as_bytes())
    }
}

/// Makes the kustomization file of a directory, which is absolute and clean.
pub fn generate(
    tree: &SecureTree<'_>,
    directory: &str,
    overrides: &Overrides,
    ignore: Option<Ignore<'_>>,
) -> Result<Generated> {
    let (path, mut fields, is_created) = match existing(tree, directory) {
        Some(path) => {
            let fields = read(tree, &path).map_err(|failure| failure.in_file(&path))?;
            (path, fields, false)
        }
        None => (join(directory, NAMES[0]), created(tree, directory, ignore)?, true),
    };
    if !is_created && !fields.contains_key("resources") {
        // A file without resources must not look empty to kustomize.
        fields.insert("buildMetadata".to_owned(), json!(["originAnnotations"]));
    }
    if let Some(ignore) = ignore {
        for name in ["resources", "components", "crds"] {
            filter(tree, directory, &mut fields, name, ignore)?;
        }
    }
    overrides.merge_into(&mut fields, tree, directory)?;
    Ok(Generated { path, text: from_json(&Value::Object(fields)), is_created })
}

fn existing(tree: &SecureTree<'_>, directory: &str) -> Option<String> {
    let mut paths = NAMES.iter().map(|name| join(directory, name));
    paths.find(|path| tree.entry(path) == Some(Entry::File))
}

fn start() -> Map<String, Value> {
    let fields = [("apiVersion", "kustomize.config.k8s.io/v1beta1"), ("kind", "Kustomization")];
    fields.map(|(name, value)| (name.to_owned(), Value::from(value))).into_iter().collect()
}

fn read(tree: &SecureTree<'_>, path: &str) -> Result<Map<String, Value>> {
    let bytes = tree.read(path).map_err(|error| Failure::new(words(&error)))?;
    let value = to_json(&bytes, Duplicates::LastWins)
        .map_err(|error| Failure::from(error).context("error converting YAML to JSON"))?;
    let mut reading = Reading::default();
    let fields = reading.object(&fields::KUSTOMIZATION, start(), value.as_ref());
    match reading.problem {
        Some(problem) => Err(Failure::new(format!(
            "error unmarshaling JSON: while decoding JSON: json: cannot unmarshal {problem}"
        ))),
        None => Ok(fields),
    }
}

fn created(
    tree: &SecureTree<'_>,
    directory: &str,
    ignore: Option<Ignore<'_>>,
) -> Result<Map<String, Value>> {
    let mut fields = start();
    let resources = scan::manifests(tree, directory, ignore)?;
    if resources.is_empty() {
        // Nothing at all must not look empty to kustomize either.
        fields.insert("namespace".to_owned(), json!("_placeholder"));
    } else {
        fields.insert("resources".to_owned(), json!(resources));
    }
    Ok(fields)
}

/// Takes the paths that are left out from a list of the file.
fn filter(
    tree: &SecureTree<'_>,
    directory: &str,
    fields: &mut Map<String, Value>,
    name: &str,
    ignore: Ignore<'_>,
) -> Result<()> {
    let Some(Value::Array(paths)) = fields.remove(name) else { return Ok(()) };
    let mut kept = Vec::new();
    for path in paths {
        let text = path.as_str().unwrap_or_default();
        let at = join(directory, text);
        if name == "crds" || !crate::loader::is_url(text) {
            let entry = tree
                .entry(&at)
                .ok_or_else(|| Failure::new(format!("lstat {at}: no such file or directory")))?;
            if ignore(&at, entry) {
                continue;
            }
        }
        kept.push(path);
    }
    if !kept.is_empty() {
        fields.insert(name.to_owned(), Value::Array(kept));
    }
    Ok(())
}

impl Overrides {
    fn merge_into(
        &self,
        fields: &mut Map<String, Value>,
        tree: &SecureTree<'_>,
        directory: &str,
    ) -> Result<()> {
        let texts = [
            ("namespace", &self.target_namespace),
            ("namePrefix", &self.name_prefix),
            ("nameSuffix", &self.name_suffix),
        ];
        for (name, text) in texts {
            if let Some(text) = text {
                set(fields, name, text);
            }
        }
        append(fields, "patches", self.patches.iter().map(patch).collect());
        append(fields, "components", self.components(tree, directory)?);
        for image in &self.images {
            merge_image(fields, image);
        }
        if !self.build_metadata.is_empty() {
            fields.insert("buildMetadata".to_owned(), json!(self.build_metadata));
        }
        Ok(())
    }

    fn components(&self, tree: &SecureTree<'_>, directory: &str) -> Result<Vec<Value>> {
        let mut out = Vec::new();
        for component in &self.components {
            if !is_local_and_relative(component) {
                return Err(Failure::new(format!(
                    "component path '{component}' must be local and relative"
                )));
            }
            let is_there = tree.entry(&join(directory, component)).is_some();
            if is_there || !self.ignore_missing_components {
                out.push(Value::from(component.as_str()));
            }
        }
        Ok(out)
    }
}

/// Sets a text; an empty one is none.
fn set(fields: &mut Map<String, Value>, name: &str, text: &str) {
    if text.is_empty() {
        fields.remove(name);
    } else {
        fields.insert(name.to_owned(), Value::from(text));
    }
}

fn append(fields: &mut Map<String, Value>, name: &str, items: Vec<Value>) {
    if items.is_empty() {
        return;
    }
    let list = fields.entry(name).or_insert_with(|| json!([]));
    if let Value::Array(list) = list {
        list.extend(items);
    }
}

fn patch(patch: &Patch) -> Value {
    let mut fields = Map::new();
    set(&mut fields, "patch", &patch.patch);
    if let Some(target) = &patch.target {
        fields.insert("target".to_owned(), selector(target));
    }
    Value::Object(fields)
}

fn selector(selector: &Selector) -> Value {
    let mut fields = Map::new();
    for (name, text) in [
        ("annotationSelector", &selector.annotation_selector),
        ("group", &selector.group),
        ("kind", &selector.kind),
        ("labelSelector", &selector.label_selector),
        ("name", &selector.name),
        ("namespace", &selector.namespace),
        ("version", &selector.version),
    ] {
        set(&mut fields, name, text.as_deref().unwrap_or_default());
    }
    Value::Object(fields)
}

fn merge_image(fields: &mut Map<String, Value>, image: &Image) {
    let list = fields.entry("images").or_insert_with(|| json!([]));
    let Value::Array(list) = list else { return };
    let name_of =
        |image: &Value| image.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let (new_name, tag, digest) =
        (text(&image.new_name), text(&image.new_tag), text(&image.digest));
    let found = list.iter_mut().find(|other| name_of(other) == image.name);
    if let Some(Value::Object(found)) = found {
        if !new_name.is_empty() {
            set(found, "newName", &new_name);
        }
        // Both choose the version, so a new one of either kind replaces both.
        if !tag.is_empty() || !digest.is_empty() {
            set(found, "newTag", &tag);
            set(found, "digest", &digest);
        }
        return;
    }
    let mut added = Map::new();
    for (name, text) in
        [("name", &image.name), ("newName", &new_name), ("newTag", &tag), ("digest", &digest)]
    {
        set(&mut added, name, text);
    }
    list.push(Value::Object(added));
}

/// Whether a path is one of the artifact's and not a repository or a place on the machine.
fn is_local_and_relative(path: &str) -> bool {
    const ELSEWHERE: [&str; 8] =
        ["git::", "gh:", "ssh://", "https://", "http://", "git@", "github.com:", "github.com/"];
    let lower = path.to_lowercase();
    let is_elsewhere = |start: &str| start.len() < path.len() && lower.starts_with(start);
    let on_machine = lower.strip_prefix("file://").unwrap_or(&lower).starts_with('/');
    !ELSEWHERE.into_iter().any(is_elsewhere) && !on_machine
}

/// What Go says where a file cannot be read.
fn words(error: &TreeError) -> String {
    match error {
        TreeError::Missing(path) => format!("open {path}: no such file or directory"),
        TreeError::Directory(path) => format!("read {path}: is a directory"),
        TreeError::Refused { .. } => error.to_string(),
    }
}

/// Whether a directory's entry is a link; links to directories are not walked into.
fn is_link(tree: &SecureTree<'_>, path: &str) -> bool {
    let directory = tree.resolve(parent(path)).unwrap_or_default();
    let name = path.rsplit('/').next().unwrap_or_default();
    tree.resolve(path).is_ok_and(|target| target != join(&directory, name))
}

#[cfg(test)]
mod tests;
