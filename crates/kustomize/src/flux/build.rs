//! One Flux build: the spec, the files and the variables of a Kustomization in, objects with their places out.
//!
//! ```text
//! generate ─▶ decrypt files ─▶ kustomize ─▶ check files read ─▶ decrypt objects ─▶ substitute ─▶ Built
//! ```
//!
//! The controller, `build`, `diff` and the hand-over all build here. Nothing waits: remote bases and data keys that
//! have no answer yet are returned as [`Step::Needs`], and the next run starts over with the answers. A step that
//! fails reports every object that it fails with.

mod error;
mod places;
mod substitution;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::Value;
use sluice_api::kustomize::kustomization::{Kustomization, SubstituteStrategy};
use sluice_base::need::{Need, Step};
use sluice_base::place::Place;
use sluice_base::redacted::Redacted;
use sluice_yaml::from_json;

use super::envsubst::Missing;
use super::generate::{Generated, Ignore, Overrides, generate};
use super::reads::{LoggedRemote, LoggedTree, ReadLog};
use super::secure::{SecureTree, secure_build};
use super::substitute::{Strategy, Variables};
use crate::answers::Answers;
use crate::loader::{Remote, RemoteFiles};
use crate::tree::FileTree;
use places::Places;

pub use error::{BuildError, ObjectName, Problem, Stage};

/// The fields of a Kustomization that decide what is built.
#[derive(Debug, Clone, Default)]
pub struct Spec {
    /// What is merged into the kustomization file.
    pub overrides: Overrides,
    /// When variables are substituted; never without `spec.postBuild`.
    pub substitution: Option<Strategy>,
    /// The Kustomization's kind and metadata, for the annotation that chooses how to substitute.
    pub object: Value,
}

impl Spec {
    /// The fields of an object.
    pub fn of(object: &Kustomization) -> Self {
        let spec = &object.spec;
        let build_metadata = spec.build_metadata.iter().flatten();
        let strategy = spec.post_build.as_ref().map(|wanted| match wanted.substitute_strategy {
            Some(SubstituteStrategy::Always) => Strategy::Always,
            _ => Strategy::WithVariables,
        });
        let metadata = &object.metadata;
        Self {
            overrides: Overrides {
                target_namespace: spec.target_namespace.clone(),
                name_prefix: spec.name_prefix.clone(),
                name_suffix: spec.name_suffix.clone(),
                patches: spec.patches.clone().unwrap_or_default(),
                images: spec.images.clone().unwrap_or_default(),
                components: spec.components.clone().unwrap_or_default(),
                ignore_missing_components: spec.ignore_missing_components.unwrap_or(false),
                build_metadata: build_metadata.map(|wanted| wanted.as_str().to_owned()).collect(),
            },
            substitution: strategy,
            object: serde_json::json!({
                "kind": "Kustomization",
                "metadata": {
                    "name": metadata.name, "namespace": metadata.namespace,
                    "annotations": metadata.annotations,
                },
            }),
        }
    }
}

/// What the objects of a build are for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// To be applied: objects without version, kind or name, and two of one id, are refused.
    Apply,
    /// To be shown, as they are.
    Show,
}

/// Everything that a build is made from.
#[derive(Clone, Copy)]
pub struct Inputs<'i> {
    /// The fields of the Kustomization.
    pub spec: &'i Spec,
    /// The files of the source.
    pub tree: &'i dyn FileTree,
    /// Where the source begins in the tree: nothing above it is read, and places are relative to it.
    pub root: &'i str,
    /// The directory to build, absolute and clean.
    pub directory: &'i str,
    /// Files to leave out.
    pub ignore: Option<Ignore<'i>>,
    /// Remote content that was fetched; nothing where remote bases are off.
    pub remote: Option<&'i Answers>,
    /// Which entries may be URLs of files.
    pub remote_files: RemoteFiles,
    /// The variables, or why they could not be read. Only a build with objects fails because of that.
    pub variables: Result<&'i Variables, &'i str>,
    /// What a variable without value counts as.
    pub missing: Missing,
    /// What the objects are for.
    pub purpose: Purpose,
}

/// Decryption as a build uses it. Keys are handed in by the implementation; one value serves one run.
pub trait Decryption {
    /// Whether a file may hold encrypted values, so that it has to be checked.
    fn filter(&self) -> fn(&[u8]) -> bool;

    /// Decrypts the files that generators and patches of a directory name, by path.
    fn files(
        &mut self,
        tree: &dyn FileTree,
        root: &str,
        directory: &str,
    ) -> Result<BTreeMap<String, Redacted<Vec<u8>>>, Undecrypted>;

    /// Checks the files that kustomize has read, by path relative to the root or by URL.
    fn check(&mut self, files: &BTreeMap<String, Vec<u8>>) -> Result<(), Undecrypted>;

    /// Decrypts an object in place.
    fn object(&mut self, object: &mut Value) -> Result<(), Undecrypted>;
}

/// Why something was not decrypted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Undecrypted {
    /// Data keys have no answer yet.
    Needs(BTreeSet<Need>),
    /// It cannot be; why, without secrets.
    Failed(String),
}

/// One object of a build.
#[derive(Clone, PartialEq)]
pub struct BuiltObject {
    /// The object.
    pub value: Value,
    /// Where it is written.
    pub place: Option<Place>,
}

/// What was built.
#[derive(Clone, PartialEq)]
pub struct Built {
    /// The objects, in order.
    pub objects: Vec<BuiltObject>,
    text: Option<String>,
}

impl Built {
    /// All objects as YAML; revisions that build the same text are the same.
    pub fn text(&self) -> String {
        self.text.clone().unwrap_or_else(|| {
            let texts = self.objects.iter().map(|object| from_json(&object.value));
            texts.collect::<Vec<_>>().join("---\n")
        })
    }
}

type Outcome<T> = Result<T, Stop>;

/// Why a run ends before its end.
enum Stop {
    Needs(BTreeSet<Need>),
    Failed(BuildError),
}

impl From<BuildError> for Stop {
    fn from(error: BuildError) -> Self {
        Self::Failed(error)
    }
}

/// Builds a Kustomization, or says what has to be answered first.
pub fn build(
    inputs: &Inputs<'_>,
    decryption: Option<&mut dyn Decryption>,
) -> Result<Step<Built>, BuildError> {
    match run(inputs, decryption) {
        Ok(built) => Ok(Step::Done(built)),
        Err(Stop::Needs(needs)) => Ok(Step::Needs(needs)),
        Err(Stop::Failed(error)) => Err(error),
    }
}

fn run(inputs: &Inputs<'_>, mut decryption: Option<&mut dyn Decryption>) -> Outcome<Built> {
    let secure = SecureTree::new(inputs.tree, inputs.root)
        .map_err(|error| BuildError::one(Stage::Generate, error.to_string()))?;
    let generated = generate(&secure, inputs.directory, &inputs.spec.overrides, inputs.ignore);
    let generated = generated.map_err(|failure| {
        let places = Places::new(inputs.root, None, &secure);
        BuildError::of_failure(Stage::Generate, &failure, &places)
    })?;
    let mut plain = BTreeMap::new();
    if let Some(decryption) = decryption.as_deref_mut() {
        let overlay = generated.over(inputs.tree);
        plain = decryption
            .files(&overlay, inputs.root, inputs.directory)
            .map_err(|error| stopped(Stage::Files, error))?;
    }
    let log = decryption.as_deref().map(|decryption| Arc::new(ReadLog::new(decryption.filter())));
    let (mut objects, text) = kustomize(inputs, &secure, &generated, &plain, log.as_ref())?;
    if inputs.purpose == Purpose::Apply {
        error::check_identity(&objects)?;
    }
    if let (Some(decryption), Some(log)) = (decryption, log) {
        let inner = |path: String| match path.strip_prefix(inputs.root) {
            Some(inner) => inner.trim_start_matches('/').to_owned(),
            None => path,
        };
        let files = log.files().into_iter().map(|(path, file)| (inner(path), file)).collect();
        decryption.check(&files).map_err(|error| stopped(Stage::Files, error))?;
        decrypt(&mut objects, decryption)?;
    }
    if let Some(strategy) = inputs.spec.substitution {
        substitution::substitute_all(inputs, strategy, &mut objects)?;
    }
    Ok(Built { objects, text })
}

/// The kustomize build alone, with the text where no later step changes it.
fn kustomize(
    inputs: &Inputs<'_>,
    secure: &SecureTree<'_>,
    generated: &Generated,
    plain: &BTreeMap<String, Redacted<Vec<u8>>>,
    log: Option<&Arc<ReadLog>>,
) -> Outcome<(Vec<BuiltObject>, Option<String>)> {
    let logged = log.map(|log| LoggedTree::new(secure, log));
    let remote = inputs.remote.map(|answers| answers as &dyn Remote);
    let logged_remote =
        remote.zip(log).map(|(remote, log)| LoggedRemote::new(remote, Arc::clone(log)));
    let remote = logged_remote.as_ref().map(|it| it as &dyn Remote).or(remote);
    let tree = logged.as_ref().map_or(secure as &dyn FileTree, |it| it);
    let mut overlay = generated.over(tree);
    for (path, content) in plain {
        overlay = overlay.with(path.clone(), content.expose().clone());
    }
    let places = Places::new(inputs.root, Some(generated), secure);
    let built = secure_build(&overlay, inputs.directory, remote, inputs.remote_files, &places);
    match built {
        Ok(Step::Done(built)) => {
            let is_final = inputs.spec.substitution.is_none() && log.is_none();
            let is_wanted = is_final && inputs.purpose == Purpose::Apply;
            let text = is_wanted.then(|| built.to_yaml());
            let objects = built.into_placed_objects().into_iter().map(|(value, place)| {
                BuiltObject { value, place: place.map(|place| places.relative(place)) }
            });
            Ok((objects.collect(), text))
        }
        Ok(Step::Needs(needs)) => Err(Stop::Needs(needs)),
        Err(failure) => Err(BuildError::of_failure(Stage::Kustomize, &failure, &places).into()),
    }
}

/// Decrypts all objects; those that cannot be are reported together, before keys are asked for the others.
fn decrypt(objects: &mut [BuiltObject], decryption: &mut dyn Decryption) -> Outcome<()> {
    let (mut problems, mut needs) = (Vec::new(), BTreeSet::new());
    for object in objects {
        let name = ObjectName::of(&object.value);
        match decryption.object(&mut object.value) {
            Ok(()) => {}
            Err(Undecrypted::Needs(more)) => needs.extend(more),
            Err(Undecrypted::Failed(message)) => {
                problems.push(Problem { object: Some(name), message, place: object.place.clone() });
            }
        }
    }
    BuildError::check(Stage::Decrypt, problems)?;
    if needs.is_empty() { Ok(()) } else { Err(Stop::Needs(needs)) }
}

fn stopped(stage: Stage, error: Undecrypted) -> Stop {
    match error {
        Undecrypted::Needs(needs) => Stop::Needs(needs),
        Undecrypted::Failed(message) => BuildError::one(stage, message).into(),
    }
}
