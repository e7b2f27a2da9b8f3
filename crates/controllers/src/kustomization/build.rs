//! From the files of an artifact to the objects to apply: the Flux build, with what it needs from outside, and then
//! the owner labels and the form in which objects are applied.

mod dress;

use std::sync::Arc;

use sluice_api::kustomize::kustomization::Kustomization;
use sluice_api::names::reasons::BUILD_FAILED;
use sluice_base::duration::GoDuration;
use sluice_base::need::{Need, Step};
use sluice_kustomize::flux::{
    BuildError, Built as FluxBuilt, Decryption as Decrypts, Inputs, Missing, Purpose, Spec, Stage,
    Variables,
};
use sluice_kustomize::{Answers, RemoteFiles};
use sluice_runtime::outcome::Stop;
use sluice_secrets::flux::Finding;
use sluice_secrets::{MasterKey, Redacted};
use sluice_source::artifact::{Digest, DigestAlgorithm};
use sluice_source::tree::SourceTree;
use sluice_ssa::{Desired, ErrorClass};
use tokio::time::{Instant, timeout_at};

use super::decryption::Decryption;
use super::failures::{build_failed, places_failed};
use super::timing;
use crate::artifacts::{ArtifactTree, inside};
use crate::context::Context;
use crate::needs::{self, Answer, Endless, drive};
use crate::variables::{self, VariablesError};

/// Where the artifact is mounted for a build. Not at the root: a path that leads out of it has to lead somewhere.
const MOUNT: &str = "/.artifact";

/// What was built.
pub(super) struct Built {
    /// The objects, in the form in which they are applied.
    pub(super) objects: Vec<Desired>,
    /// The digest of the built text, which is equal for revisions that build the same.
    pub(super) digest: String,
    /// Documents that were changed after they were encrypted.
    pub(super) findings: Vec<Finding>,
    /// Why the objects must not be applied: some are still encrypted.
    pub(super) encrypted: Option<String>,
}

/// Builds a Kustomization from the files of an artifact.
pub(super) async fn build(
    context: &Context,
    object: &Arc<Kustomization>,
    files: Arc<SourceTree>,
) -> Result<Built, Stop> {
    let settings = &context.settings;
    let tree = context.compute.run(move || ArtifactTree::mounted(files, MOUNT)).await;
    let path = inside(object.spec.path.as_deref().unwrap_or_default());
    let work = Arc::new(Work {
        spec: Spec::of(object),
        tree,
        directory: if path.is_empty() { MOUNT.to_owned() } else { format!("{MOUNT}/{path}") },
        remote_bases: !settings.no_remote_bases,
        remote_files: settings.remote_files,
        missing: if settings.strict_substitutions { Missing::Error } else { Missing::Empty },
        decryption: Decryption::of(context, object).await?,
        variables: variables_of(context, object).await,
    });
    let timeout = timing::timeout(&object.spec);
    let deadline = Instant::now() + timeout;
    let run = |answers: Arc<Answers>| {
        let work = Arc::clone(&work);
        context.compute.run(move || work.run(&answers))
    };
    let answer = |need: Need| {
        let work = Arc::clone(&work);
        async move {
            let fetched = match &need {
                Need::DataKey(key) => return Ok(Answer::DataKey(work.ask(context, key).await)),
                Need::File(url) => {
                    timeout_at(deadline, needs::fetch_file(&context.egress, url)).await
                }
                Need::Repository(wanted) => {
                    timeout_at(deadline, needs::fetch_repository(&context.egress, wanted)).await
                }
            };
            fetched.map_err(|_| {
                let nanos = i64::try_from(timeout.as_nanos()).unwrap_or(i64::MAX);
                let timeout = GoDuration::from_nanos(nanos);
                build_failed(format!(
                    "kustomize build failed: remote content was not there within the timeout of {timeout}"
                ))
            })
        }
    };
    let (built, findings) = drive(run, answer).await?;
    let object = Arc::clone(object);
    let finish = move || {
        let digest = Digest::of(DigestAlgorithm::Sha256, built.text().as_bytes()).to_string();
        let (objects, encrypted) = dress::dressed(&object, built.objects);
        Built { objects, digest, findings, encrypted }
    };
    Ok(context.compute.run(finish).await)
}

/// Why the path of the spec cannot be built: it is not in the artifact.
pub(super) fn path_refusal(object: &Kustomization, files: &SourceTree) -> Option<String> {
    let path = inside(object.spec.path.as_deref().unwrap_or_default());
    let is_there = path.is_empty() || files.get(&path).is_some();
    (!is_there)
        .then(|| format!("kustomization path not found: stat /{path}: no such file or directory"))
}

/// The variables of post-build substitution, if there is any.
async fn variables_of(
    context: &Context,
    object: &Kustomization,
) -> Result<Variables, (VariablesError, String)> {
    let namespace = object.metadata.namespace.clone().unwrap_or_default();
    match &object.spec.post_build {
        Some(post_build) => {
            let read = variables::read(&context.client, &namespace, post_build).await;
            read.map_err(|error| {
                let message = error.to_string();
                (error, message)
            })
        }
        None => Ok(Variables::default()),
    }
}

/// Everything that one build is made from, whatever the number of its runs.
struct Work {
    spec: Spec,
    tree: ArtifactTree,
    directory: String,
    remote_bases: bool,
    remote_files: RemoteFiles,
    missing: Missing,
    decryption: Option<Arc<Decryption>>,
    variables: Result<Variables, (VariablesError, String)>,
}

impl Work {
    /// Runs the build with the answers so far.
    fn run(&self, answers: &Answers) -> Result<Step<(FluxBuilt, Vec<Finding>)>, Stop> {
        let inputs = Inputs {
            spec: &self.spec,
            tree: &self.tree,
            root: MOUNT,
            directory: &self.directory,
            ignore: None,
            remote: self.remote_bases.then_some(answers),
            remote_files: self.remote_files,
            variables: self.variables.as_ref().map_err(|(_, message)| message.as_str()),
            missing: self.missing,
            purpose: Purpose::Apply,
        };
        let mut decryption = self.decryption.as_ref().map(|decryption| decryption.run(answers));
        let built = sluice_kustomize::flux::build(
            &inputs,
            decryption.as_mut().map(|run| run as &mut dyn Decrypts),
        );
        match built {
            Ok(Step::Done(built)) => {
                Ok(Step::Done((built, decryption.map(|run| run.findings).unwrap_or_default())))
            }
            Ok(Step::Needs(needs)) => Ok(Step::Needs(needs)),
            Err(error) => Err(self.failed(&error)),
        }
    }

    /// Asks a key service for a data key.
    async fn ask(&self, context: &Context, key: &MasterKey) -> Result<Redacted<Vec<u8>>, String> {
        match &self.decryption {
            Some(decryption) => decryption.ask(context, key).await,
            None => Err("spec.decryption is not set".to_owned()),
        }
    }

    /// A failed build, with the places of everything that is wrong.
    fn failed(&self, error: &BuildError) -> Stop {
        let class = match (&self.variables, error.stage) {
            (Err((error, _)), Stage::Variables) => error.class(),
            _ => ErrorClass::DesiredState,
        };
        places_failed(class, BUILD_FAILED, error.to_string(), error.places())
    }
}

impl From<Endless> for Stop {
    fn from(_: Endless) -> Self {
        let message = "a key service gave no answer";
        Self::classed(ErrorClass::Transient, BUILD_FAILED, message)
    }
}
