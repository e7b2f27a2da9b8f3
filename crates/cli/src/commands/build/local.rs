//! A Kustomization built from the files of this machine, as the controller would build it from an artifact.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use serde_json::Value;
use sluice_api::Kustomization;
use sluice_controllers::variables;
use sluice_kustomize::flux::{
    BuildError, BuiltObject, Inputs, Missing, Purpose, Spec, Stage, Variables, build,
    set_common_metadata,
};
use sluice_kustomize::{Entry, FileTree as _, RemoteFiles};
use sluice_source::ignore::{self, Rules};
use sluice_source::network::HostPattern;
use sluice_ssa::Owner;
use sluice_yaml::Duplicates;

use super::mask;
use crate::commands::kustomize::Disk;
use crate::egress::with_remote_bases;
use crate::kinds::{self, text_at};
use crate::outcome::Failure;
use crate::place;
use crate::session::Session;

/// What is built, and how.
#[derive(Debug, Clone, Default)]
pub(crate) struct Build {
    /// The Kustomization.
    pub(crate) name: String,
    /// Its namespace.
    pub(crate) namespace: String,
    /// The directory that stands for its path.
    pub(crate) path: PathBuf,
    /// A file with it, in place of the cluster's.
    pub(crate) file: Option<PathBuf>,
    /// Patterns of files to leave out.
    pub(crate) ignore: Vec<String>,
    /// Whether variables without a value are refused.
    pub(crate) strict: bool,
    /// Whether Kustomizations that are found are built as well.
    pub(crate) recursive: bool,
    /// Where sources lie: `Kind/namespace/name` and a directory.
    pub(crate) local_sources: BTreeMap<String, PathBuf>,
    /// Private hosts that remote bases may name.
    pub(crate) content_hosts: Vec<HostPattern>,
    /// Whether the Kustomization may be missing in the cluster.
    pub(crate) ignore_not_found: bool,
    /// The Kustomization itself, where another build found it.
    pub(crate) given: Option<Value>,
}

/// What came out.
pub(crate) struct Built {
    /// The Kustomization that it was built for, with the status that it has in the cluster.
    pub(crate) kustomization: Value,
    /// The objects, labelled, with what is encrypted masked.
    pub(crate) objects: Vec<BuiltObject>,
}

/// `Kind/namespace/name=path`.
#[derive(Debug, Clone)]
pub(crate) struct LocalSource(String, PathBuf);

impl FromStr for LocalSource {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts =
            text.split_once('=').ok_or_else(|| format!("{text} must be formatted as key=value"))?;
        Ok(Self(parts.0.to_owned(), PathBuf::from(parts.1)))
    }
}

/// The sources by their names.
pub(crate) fn local_sources(given: &[LocalSource]) -> BTreeMap<String, PathBuf> {
    given.iter().map(|LocalSource(name, path)| (name.clone(), path.clone())).collect()
}

impl Build {
    /// Builds. Without a session no cluster is asked.
    pub(crate) async fn run(&self, session: Option<&Session>) -> Result<Built, Failure> {
        let kustomization = self.find(session).await?;
        let mut objects = self.assemble(&kustomization, session).await?;
        if self.recursive {
            let mut found = Vec::new();
            let values = objects.iter().map(|object| &object.value);
            for object in values.filter(|object| is_kustomization(object)) {
                if !is_same(object, &kustomization) {
                    let inner = self.inside(object)?;
                    found.extend(Box::pin(inner.run(session)).await?.objects);
                }
            }
            objects.extend(found);
        }
        Ok(Built { kustomization, objects })
    }

    /// The build of a Kustomization that this one has found.
    pub(crate) fn inside(&self, object: &Value) -> Result<Self, Failure> {
        let name = text_at(object, "/metadata/name");
        let namespace = text_at(object, "/metadata/namespace");
        let source = |field: &str| text_at(object, &format!("/spec/sourceRef/{field}"));
        let of = match source("namespace") {
            "" => namespace,
            given => given,
        };
        let key = format!("{}/{of}/{}", source("kind"), source("name"));
        let local = self.local_sources.get(&key).ok_or_else(|| {
            Failure::flux(format!("cannot get local path for {key} of kustomization {name}"))
        })?;
        let below = text_at(object, "/spec/path").trim_start_matches("./").trim_start_matches('/');
        let path = std::path::absolute(local.join(below))
            .map_err(|error| Failure::caused("cannot tell the current directory", error))?;
        Ok(Self {
            name: name.to_owned(),
            namespace: namespace.to_owned(),
            path,
            file: None,
            given: Some(object.clone()),
            ignore_not_found: false,
            ..self.clone()
        })
    }

    /// The Kustomization: that of the file, or of the cluster, or the one that was found.
    async fn find(&self, session: Option<&Session>) -> Result<Value, Failure> {
        let lost =
            |why: String| Failure::flux(format!("failed to get kustomization object: {why}"));
        let kind = kinds::named("Kustomization").ok_or_else(|| lost("no such kind".to_owned()))?;
        let live = match session {
            None => self.given.clone(),
            Some(session) => match session.get(kind, &self.namespace, &self.name).await {
                Ok(live) => Some(live),
                Err(error)
                    if error.is_not_found() && (self.given.is_some() || self.ignore_not_found) =>
                {
                    self.given.clone()
                }
                Err(error) => return Err(lost(error.to_string())),
            },
        };
        let Some(file) = &self.file else {
            return live.ok_or_else(|| lost("there is none".to_owned()));
        };
        let mut object = self.read(file).map_err(lost)?;
        let status =
            live.filter(|_| session.is_some()).and_then(|live| live.get("status").cloned());
        if let Some(status) = status.filter(|status| status.get("inventory").is_some()) {
            object["status"] = status;
        }
        Ok(object)
    }

    fn read(&self, file: &Path) -> Result<Value, String> {
        let shown = file.display();
        let text = std::fs::read(file)
            .map_err(|error| format!("failed to read kustomization file {shown}: {error}"))?;
        let documents = sluice_yaml::documents_to_json(&text, Duplicates::LastWins)
            .map_err(|error| format!("failed to unmarshall kustomization file {shown}: {error}"))?;
        let is_meant = |object: &Value| {
            let namespace = text_at(object, "/metadata/namespace");
            is_kustomization(object)
                && text_at(object, "/metadata/name") == self.name
                && (namespace.is_empty() || namespace == self.namespace)
        };
        documents.into_iter().find(is_meant).ok_or_else(|| {
            format!(
                "failed find kustomization with name '{}' and namespace '{}' in file '{shown}'",
                self.name, self.namespace
            )
        })
    }

    async fn assemble(
        &self,
        kustomization: &Value,
        session: Option<&Session>,
    ) -> Result<Vec<BuiltObject>, Failure> {
        let typed: Kustomization =
            serde_json::from_value(kustomization.clone()).map_err(|error| {
                Failure::flux(format!("failed to get kustomization object: {error}"))
            })?;
        let variables = match (session, &typed.spec.post_build) {
            (Some(session), Some(post_build)) => {
                variables::read(&session.client, &self.namespace, post_build).await
            }
            (None, Some(post_build)) => Ok(variables::inline(post_build)),
            (_, None) => Ok(Variables::default()),
        };
        let variables = variables.map_err(|error| error.to_string());
        let mut objects = self.built(&typed, variables).await?;
        let labels = Owner::kustomize().labels(
            text_at(kustomization, "/metadata/name"),
            text_at(kustomization, "/metadata/namespace"),
        );
        for BuiltObject { value: object, .. } in &mut objects {
            for (name, value) in &labels {
                object["metadata"]["labels"][name.as_str()] = value.clone().into();
            }
            mask::encrypted(object)?;
            if let Some(common) = &typed.spec.common_metadata {
                set_common_metadata(object, common);
            }
        }
        Ok(objects)
    }

    /// The Flux build, with the whole disk as its tree and places relative to the working directory.
    async fn built(
        &self,
        kustomization: &Kustomization,
        variables: Result<Variables, String>,
    ) -> Result<Vec<BuiltObject>, Failure> {
        let directory = std::fs::canonicalize(&self.path).unwrap_or_else(|_| self.path.clone());
        let directory = directory.to_string_lossy().into_owned();
        let disk = Disk::default();
        let rules = self.rules(&disk, &directory);
        let left_out = |path: &str, entry: Entry| rules.excludes(path, entry == Entry::Directory);
        let spec = Spec::of(kustomization);
        let inputs = Inputs {
            spec: &spec,
            tree: &disk,
            root: "/",
            directory: &directory,
            ignore: Some(&left_out),
            remote: None,
            remote_files: RemoteFiles::Resources,
            variables: variables.as_ref().map_err(String::as_str),
            missing: if self.strict { Missing::Error } else { Missing::Empty },
            purpose: Purpose::Show,
        };
        let built = with_remote_bases(&self.content_hosts, |answers| {
            build(&Inputs { remote: Some(answers), ..inputs }, None)
        });
        let mut objects = built.await?.map_err(|error| failed(&error))?.objects;
        for object in &mut objects {
            object.place = object.place.take().map(place::shown);
        }
        Ok(objects)
    }

    /// What `.sourceignore` files and the flag leave out.
    fn rules(&self, disk: &Disk, directory: &str) -> Rules {
        let mut patterns = Vec::new();
        let mut next = vec![directory.to_owned()];
        while let Some(directory) = next.pop() {
            let parts: Vec<&str> = directory.split('/').collect();
            if let Ok(text) = disk.read(&format!("{directory}/.sourceignore")) {
                patterns.extend(ignore::read(&String::from_utf8_lossy(&text), &parts));
            }
            let names = disk.list(&directory).unwrap_or_default().into_iter();
            let inner = names.map(|name| format!("{directory}/{name}"));
            next.extend(inner.filter(|path| disk.entry(path) == Some(Entry::Directory)));
        }
        let parts: Vec<&str> = directory.split('/').collect();
        patterns.extend(ignore::read(&self.ignore.join("\n"), &parts));
        Rules::new(patterns)
    }
}

/// A failed build in the words of Flux's command, with the places of what is wrong.
fn failed(error: &BuildError) -> Failure {
    let message = match error.stage {
        Stage::Generate => {
            let why = error.messages();
            format!("failed to generate kustomization.yaml: {why} <nil>")
        }
        Stage::Variables => error.messages(),
        Stage::Substitute => error.each(|problem| {
            let name = problem.object.as_ref().map_or("", |object| &object.name);
            format!("var substitution failed for '{name}': {}", problem.message)
        }),
        _ => error.to_string(),
    };
    let failure = Failure::flux(message);
    match place::lines(error.places()) {
        Some(places) => failure.hint(places),
        None => failure,
    }
}

/// Whether an object is a Kustomization of Flux.
pub(crate) fn is_kustomization(object: &Value) -> bool {
    text_at(object, "/apiVersion").starts_with("kustomize.toolkit.fluxcd.io/")
        && text_at(object, "/kind") == "Kustomization"
}

/// Whether two objects of a kind are one.
pub(crate) fn is_same(one: &Value, other: &Value) -> bool {
    ["/metadata/name", "/metadata/namespace"]
        .iter()
        .all(|path| text_at(one, path) == text_at(other, path))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn built(mode: &str) -> Result<Built, Failure> {
        let directory = tempfile::tempdir().expect("a directory");
        let object = |name: &str| {
            format!(
                "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\ndata: {{v: '${{n}}', w: '${{x:'}}\n"
            )
        };
        let files = directory.path().join("files");
        std::fs::create_dir(&files).expect("a directory");
        std::fs::write(files.join("a.yaml"), object("a")).expect("written");
        std::fs::write(files.join("b.yaml"), object("b")).expect("written");
        let kustomization = format!(
            "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata:\n  name: app\n  namespace: apps\n  annotations: {{sluice.dev/substitute: {mode}}}\nspec:\n  interval: 1h\n  path: ./\n  prune: true\n  sourceRef: {{kind: GitRepository, name: app}}\n  postBuild: {{substitute: {{n: '1'}}}}\n"
        );
        let file = directory.path().join("app.yaml");
        std::fs::write(&file, kustomization).expect("written");
        let build = Build {
            name: "app".to_owned(),
            namespace: "apps".to_owned(),
            path: files,
            file: Some(file),
            ..Build::default()
        };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.expect("a runtime").block_on(build.run(None))
    }

    #[test]
    fn an_unknown_way_to_substitute_fails_as_in_the_controller() {
        let failure = built("types").err().expect("there is no such way");
        let error = failure.message();
        assert!(
            error.contains("annotation sluice.dev/substitute: \"types\" is not known"),
            "{error}"
        );
    }

    #[test]
    fn every_object_that_cannot_be_substituted_is_named() {
        let failure = built("typed").err().expect("two objects");
        let error = failure.message();
        for name in ["a", "b"] {
            let words = format!("var substitution failed for '{name}'");
            assert!(error.contains(&words), "{error}");
        }
    }
}
