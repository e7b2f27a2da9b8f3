//! The Flux objects in a directory, and the objects that they would apply.

use std::path::{Path, PathBuf};

use serde_json::Value;
use sluice_base::need::Step;
use sluice_kustomize::RemoteFiles;
use sluice_kustomize::flux::{
    Inputs as BuildInputs, Missing, Overrides, Purpose, Spec, Variables, build as flux_build,
};
use sluice_yaml::Duplicates;

use crate::commands::kustomize::Disk;
use crate::kinds::text_at;
use crate::outcome::Failure;

/// The maximum depth of directories.
const DEPTH: usize = 32;

/// The content of a directory.
pub(super) struct Inputs {
    /// The objects declared in the directory itself.
    pub(super) declared: Vec<Value>,
    /// The objects that the Kustomizations' paths build, if they are in the same repository.
    pub(super) built: Vec<Value>,
    /// Kustomizations with a path that cannot be built, and the cause.
    pub(super) unbuilt: Vec<(String, String)>,
}

impl Inputs {
    /// Reads a directory, and builds the paths of its Kustomizations.
    pub(super) fn read(path: &Path) -> Result<Self, Failure> {
        let mut declared = Vec::new();
        collect(path, DEPTH, &mut declared)?;
        let mut inputs = Self { declared, built: Vec::new(), unbuilt: Vec::new() };
        if inputs.kustomizations().next().is_none() {
            return Err(Failure::new(format!("no Kustomization of Flux in {}", path.display()))
                .hint("name the directory that the cluster's first Kustomization points at"));
        }
        inputs.build(path);
        Ok(inputs)
    }

    /// The Flux objects that apply something.
    pub(super) fn kustomizations(&self) -> impl Iterator<Item = &Value> {
        self.declared.iter().filter(|object| is_kustomization(object))
    }

    /// Sources.
    pub(super) fn sources(&self) -> impl Iterator<Item = &Value> {
        let is_source = |object: &&Value| {
            text_at(object, "/apiVersion").starts_with("source.toolkit.fluxcd.io/")
        };
        self.declared.iter().filter(is_source)
    }

    /// Whether an object is declared here, or built from a path.
    pub(super) fn declares(&self, kind: &str, namespace: &str, name: &str) -> bool {
        let is_it = |object: &Value| {
            let own = text_at(object, "/metadata/namespace");
            text_at(object, "/kind") == kind
                && text_at(object, "/metadata/name") == name
                && (own == namespace || own.is_empty())
        };
        self.declared.iter().chain(&self.built).any(is_it)
    }

    fn build(&mut self, path: &Path) {
        let (mut built, mut unbuilt) = (Vec::new(), Vec::new());
        for kustomization in self.kustomizations() {
            let wanted = text_at(kustomization, "/spec/path").trim_start_matches("./");
            let Some((root, folder)) = in_repository(path, wanted) else { continue };
            let namespace = text_at(kustomization, "/spec/targetNamespace");
            match build(&root, &folder, Some(namespace).filter(|name| !name.is_empty())) {
                Ok(objects) => built.extend(objects),
                Err(error) => unbuilt.push((called(kustomization), error)),
            }
        }
        self.built = built;
        self.unbuilt = unbuilt;
    }
}

/// `Kustomization/flux-system/apps`
pub(super) fn called(object: &Value) -> String {
    let parts = [
        text_at(object, "/kind"),
        text_at(object, "/metadata/namespace"),
        text_at(object, "/metadata/name"),
    ];
    parts.iter().filter(|part| !part.is_empty()).copied().collect::<Vec<_>>().join("/")
}

fn is_kustomization(object: &Value) -> bool {
    text_at(object, "/apiVersion").starts_with("kustomize.toolkit.fluxcd.io/")
        && text_at(object, "/kind") == "Kustomization"
}

/// All documents of all YAML files below a path.
fn collect(path: &Path, depth: usize, found: &mut Vec<Value>) -> Result<(), Failure> {
    let failed = |error| Failure::caused(format!("cannot read {}", path.display()), error);
    if path.is_dir() {
        let Some(depth) = depth.checked_sub(1) else { return Ok(()) };
        let mut entries: Vec<PathBuf> = std::fs::read_dir(path)
            .and_then(Iterator::collect::<std::io::Result<Vec<_>>>)
            .map_err(failed)?
            .iter()
            .map(std::fs::DirEntry::path)
            .collect();
        entries.sort();
        return entries.iter().try_for_each(|entry| collect(entry, depth, found));
    }
    let is_yaml = path.extension().is_some_and(|end| end == "yaml" || end == "yml");
    if !is_yaml && depth < DEPTH {
        return Ok(());
    }
    let bytes = std::fs::read(path).map_err(failed)?;
    let documents = sluice_yaml::documents_to_json(&bytes, Duplicates::Reject)
        .map_err(|error| Failure::caused(format!("cannot read {}", path.display()), error))?;
    found.extend(documents.into_iter().filter(|document| document.get("kind").is_some()));
    Ok(())
}

/// A path in the repository of a directory, and the root: the nearest parent directory that has such a path.
fn in_repository(start: &Path, wanted: &str) -> Option<(PathBuf, PathBuf)> {
    let start = start.canonicalize().ok().filter(|_| !wanted.is_empty())?;
    let root = start.ancestors().find(|above| above.join(wanted).is_dir())?;
    Some((root.to_owned(), root.join(wanted)))
}

/// The objects that a directory builds, like a controller, before variable substitution.
fn build(root: &Path, folder: &Path, namespace: Option<&str>) -> Result<Vec<Value>, String> {
    let disk = Disk::default();
    let overrides =
        Overrides { target_namespace: namespace.map(str::to_owned), ..Overrides::default() };
    let inputs = BuildInputs {
        spec: &Spec { overrides, ..Spec::default() },
        tree: &disk,
        root: &root.to_string_lossy(),
        directory: &folder.to_string_lossy(),
        ignore: None,
        remote: None,
        remote_files: RemoteFiles::Resources,
        variables: Ok(&Variables::default()),
        missing: Missing::Empty,
        purpose: Purpose::Show,
    };
    match flux_build(&inputs, None) {
        Ok(Step::Done(built)) => Ok(built.objects.into_iter().map(|it| it.value).collect()),
        Ok(Step::Needs(needs)) => Err(format!("{} remote bases are missing", needs.len())),
        Err(error) => Err(error.messages()),
    }
}

#[cfg(test)]
mod tests {
    use super::{Inputs, called};

    fn example() -> std::path::PathBuf {
        std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../../examples/four-layers/clusters/demo")
    }

    #[test]
    fn inputs_are_what_a_directory_declares_and_what_its_paths_build() {
        let inputs = Inputs::read(&example()).map_err(|it| it.message().to_owned()).unwrap();
        let names: Vec<String> = inputs.kustomizations().map(called).collect();
        assert_eq!(
            names,
            ["primitives", "controllers", "services", "shop", "reports"]
                .map(|name| format!("Kustomization/flux-system/{name}"))
        );
        assert_eq!(inputs.unbuilt, []);
        assert_eq!(inputs.built.len(), 50);
        assert!(inputs.declares("ConfigMap", "flux-system", "cluster-settings"));
        assert!(inputs.declares("Service", "shop", "web"));
        assert!(!inputs.declares("Service", "reports", "web"));
    }

    #[test]
    fn a_directory_without_flux_objects_is_refused() {
        let shop = example().join("../../applications/shop");
        let refused = Inputs::read(&shop).map(|_| ()).unwrap_err();
        assert!(refused.message().starts_with("no Kustomization of Flux in "));
    }
}
