//! Why a Flux build failed: at which stage, with which objects, and where those are written.

use std::fmt;

use serde_json::Value;
use sluice_base::place::Place;

use super::BuiltObject;
use super::places::Places;
use super::substitution::without_values;
use crate::failure::Failure;

/// The stage of a build that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// Reading or making the kustomization file.
    Generate,
    /// Decrypting and checking files.
    Files,
    /// The kustomize build.
    Kustomize,
    /// Objects need version, kind and name.
    Identity,
    /// Decrypting objects.
    Decrypt,
    /// Choosing how to substitute.
    Mode,
    /// Reading the variables.
    Variables,
    /// Substituting variables in objects.
    Substitute,
    /// Two objects have become one.
    Collision,
}

/// Kind, version, group and name of an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectName {
    /// As kustomize writes it: `Deployment.v1.apps/web`.
    pub id: String,
    /// The name alone.
    pub name: String,
}

impl ObjectName {
    pub(super) fn of(value: &Value) -> Self {
        let text =
            |pointer: &str| value.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let api_version = text("/apiVersion");
        let (group, version) = api_version.split_once('/').unwrap_or(("[noGrp]", api_version));
        let name = text("/metadata/name");
        Self { id: format!("{}.{version}.{group}/{name}", text("/kind")), name: name.to_owned() }
    }
}

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The object, where the stage is about objects.
    pub object: Option<ObjectName>,
    /// What is wrong, in the words of kustomize and Flux.
    pub message: String,
    /// Where it is written.
    pub place: Option<Place>,
}

/// Why a build failed; never without a problem.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BuildError {
    /// The stage that failed.
    pub stage: Stage,
    /// Everything that is wrong with it.
    pub problems: Vec<Problem>,
}

impl BuildError {
    pub(super) fn one(stage: Stage, message: String) -> Self {
        Self { stage, problems: vec![Problem { object: None, message, place: None }] }
    }

    /// The causes of a failure, without the directory that the source is mounted at.
    pub(super) fn of_failure(stage: Stage, failure: &Failure, places: &Places<'_>) -> Self {
        let problems = failure.lines().map(|(message, cause)| Problem {
            object: None,
            message: places.unmounted(&message),
            place: places.of_diagnostic(cause),
        });
        Self { stage, problems: problems.collect() }
    }

    /// An error if anything is wrong.
    pub(super) fn check(stage: Stage, problems: Vec<Problem>) -> Result<(), Self> {
        if problems.is_empty() { Ok(()) } else { Err(Self { stage, problems }) }
    }

    /// The messages of all problems, one below the other.
    pub fn messages(&self) -> String {
        self.each(|problem| problem.message.clone())
    }

    /// A text for each problem, one below the other.
    pub fn each(&self, text: impl Fn(&Problem) -> String) -> String {
        self.problems.iter().map(text).collect::<Vec<_>>().join("\n")
    }

    /// Where the problems are, each place once.
    pub fn places(&self) -> Vec<Place> {
        let mut places: Vec<Place> = Vec::new();
        for place in self.problems.iter().filter_map(|problem| problem.place.as_ref()) {
            if !places.contains(place) {
                places.push(place.clone());
            }
        }
        places
    }
}

/// As kustomize-controller words it. Values of variables are left out: they may come from Secrets.
impl fmt::Display for BuildError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let of_object = |what: &str, problem: &Problem, message: &str| {
            let id = problem.object.as_ref().map_or("", |object| &object.id);
            format!("{what} failed for '{id}': {message}")
        };
        let text = match self.stage {
            Stage::Generate | Stage::Mode | Stage::Collision => self.messages(),
            Stage::Files => format!("error decrypting sources: {}", self.messages()),
            Stage::Kustomize => format!("kustomize build failed: {}", self.messages()),
            Stage::Identity => self.each(|problem| {
                let shown = &problem.message;
                format!("failed to decode Kubernetes apiVersion, kind and name from: {shown}")
            }),
            Stage::Decrypt => {
                self.each(|problem| of_object("decryption", problem, &problem.message))
            }
            Stage::Variables => {
                self.each(|problem| of_object("post build", problem, &problem.message))
            }
            Stage::Substitute => self.each(|problem| {
                of_object("post build", problem, &without_values(&problem.message))
            }),
        };
        formatter.write_str(&text)
    }
}

impl std::error::Error for BuildError {}

/// Every object needs a kind, a version and a name.
pub(super) fn check_identity(objects: &[BuiltObject]) -> Result<(), BuildError> {
    let has = |value: &Value, pointer: &str| {
        value.pointer(pointer).and_then(Value::as_str).is_some_and(|it| !it.is_empty())
    };
    let is_whole = |object: &&BuiltObject| {
        ["/metadata/name", "/kind", "/apiVersion"].iter().all(|field| has(&object.value, field))
    };
    let wrong = objects.iter().filter(|object| !is_whole(object)).map(|object| Problem {
        object: None,
        message: without_data(&object.value).to_string(),
        place: object.place.clone(),
    });
    BuildError::check(Stage::Identity, wrong.collect())
}

/// An object as a message shows it: the data of a Secret is left out.
fn without_data(value: &Value) -> Value {
    let mut shown = value.clone();
    if value.get("kind").and_then(Value::as_str) == Some("Secret")
        && let Some(fields) = shown.as_object_mut()
    {
        fields.retain(|name, _| name != "data" && name != "stringData");
    }
    shown
}
