//! From the files of an artifact to the objects to apply.
//!
//! ```text
//! kustomization file ─▶ decrypt what it names ─▶ build ─▶ decrypt objects ─▶ substitute ─▶ dress
//! ```
//!
//! No step waits. What lies far away (keys that others hold, remote bases) is noted when it is needed, and
//! asked for between two tries of the same step. A step that fails tells of all objects that it fails with.

mod dress;
mod substitution;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;
use sluice_api::kustomize::kustomization::Kustomization;
use sluice_api::names::reasons::BUILD_FAILED;
use sluice_base::duration::GoDuration;
use sluice_kustomize::flux::{Generated, Overrides, SecureTree, Variables, generate, secure_build};
use sluice_kustomize::{Failure, Remote, RemoteFiles};
use sluice_secrets::Redacted;
use sluice_secrets::flux::{Finding, Sources, SourcesError};
use sluice_source::artifact::{Digest, DigestAlgorithm};
use sluice_source::tree::SourceTree;
use sluice_ssa::{Desired, ErrorClass};
use tokio::time::{Instant, timeout_at};

use super::decryption::Decryption;
use super::stop::{Stop, build_failed};
use super::timing;
use super::variables::{self, VariablesError};
use crate::artifacts::{ArtifactTree, inside};
use crate::bases::Bases;
use crate::context::Context;

/// Where the artifact lies for a build. Not at the root: what leads out of it has to lead somewhere.
const MOUNT: &str = "/.artifact";

/// What was built.
pub(super) struct Built {
    /// The objects, in the form in which they are applied.
    pub(super) objects: Vec<Desired>,
    /// The digest of the built text, which tells revisions apart that build the same.
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
    let compute = context.compute;
    let object = Arc::clone(object);
    let work = compute.run(move || Work::begin(object, files)).await?;
    let mut work = Arc::new(work);
    let decryption = Decryption::of(context, &work.object).await?;
    let mut findings = Vec::new();
    if let Some(decryption) = &decryption {
        let sources = decrypt_sources(context, &work, decryption).await?;
        findings = sources.findings;
        if let Some(work) = Arc::get_mut(&mut work) {
            work.plain = sources.files;
        }
    }
    let mut resources = assemble(context, &work).await?;
    if let Some(decryption) = &decryption {
        let (decrypted, found) = decrypt(context, resources, decryption).await?;
        resources = decrypted;
        findings.extend(found);
    }
    let variables = variables_of(context, &work.object).await;
    let strict = context.settings.strict_substitutions;
    compute.run(move || work.finish(resources, variables, strict, findings)).await
}

/// Why the path of the spec cannot be built: it is not in the artifact.
pub(super) fn path_refusal(object: &Kustomization, files: &SourceTree) -> Option<String> {
    let path = inside(object.spec.path.as_deref().unwrap_or_default());
    let is_there = path.is_empty() || files.get(&path).is_some();
    (!is_there)
        .then(|| format!("kustomization path not found: stat /{path}: no such file or directory"))
}

/// Decrypts the files that generators and patches name.
async fn decrypt_sources(
    context: &Context,
    work: &Arc<Work>,
    decryption: &Arc<Decryption>,
) -> Result<Sources, Stop> {
    loop {
        let (step, keys) = (Arc::clone(work), Arc::clone(decryption));
        let sources = context.compute.run(move || step.decrypt_sources(&keys)).await;
        match sources {
            Ok(sources) => return Ok(sources),
            Err(error) if error.is_unasked() && decryption.ask(context).await => {}
            Err(error) => return Err(build_failed(format!("error decrypting sources: {error}"))),
        }
    }
}

/// The build alone; what it needs from other machines is fetched in between, all of it within the timeout.
async fn assemble(context: &Context, work: &Arc<Work>) -> Result<Resources, Stop> {
    let bases = (!context.settings.no_remote_bases).then(Arc::<Bases>::default);
    let remote_files = context.settings.remote_files;
    let timeout = timing::timeout(&work.object.spec);
    let deadline = Instant::now() + timeout;
    loop {
        let (step, remote) = (Arc::clone(work), bases.clone());
        let remote = move || {
            step.assemble(remote.as_deref().map(|bases| bases as &dyn Remote), remote_files)
        };
        let failed = |words: &str| Err(build_failed(format!("kustomize build failed: {words}")));
        match (context.compute.run(remote).await, &bases) {
            (Ok(resources), _) => {
                resources.check()?;
                return Ok(resources);
            }
            (Err(words), Some(bases)) => {
                match timeout_at(deadline, bases.fetch(&context.outside)).await {
                    Ok(true) => {}
                    Ok(false) => return failed(&words),
                    Err(_) => {
                        let nanos = i64::try_from(timeout.as_nanos()).unwrap_or(i64::MAX);
                        let timeout = GoDuration::from_nanos(nanos);
                        return failed(&format!(
                            "remote content was not there within the timeout of {timeout}"
                        ));
                    }
                }
            }
            (Err(words), None) => return failed(&words),
        }
    }
}

/// Decrypts objects that are encrypted, and Secrets that hold encrypted documents.
async fn decrypt(
    context: &Context,
    mut resources: Resources,
    decryption: &Arc<Decryption>,
) -> Result<(Resources, Vec<Finding>), Stop> {
    loop {
        let keys = Arc::clone(decryption);
        let step = move || {
            let outcome = resources.decrypt(&keys);
            (resources, outcome)
        };
        let (kept, outcome) = context.compute.run(step).await;
        resources = kept;
        match outcome {
            Ok(findings) => return Ok((resources, findings)),
            Err(Some(message)) => return Err(build_failed(message)),
            Err(None) if decryption.ask(context).await => {}
            Err(None) => {
                let message = "a key service gave no answer";
                return Err(Stop::classed(ErrorClass::Transient, BUILD_FAILED, message));
            }
        }
    }
}

/// The variables of post-build substitution, if there is any.
async fn variables_of(
    context: &Context,
    object: &Kustomization,
) -> Result<Variables, VariablesError> {
    let namespace = object.metadata.namespace.clone().unwrap_or_default();
    match &object.spec.post_build {
        Some(post_build) => variables::read(&context.client, &namespace, post_build).await,
        None => Ok(Variables::default()),
    }
}

/// All causes of a failure, each in the words that users of Flux know. Paths are those of the artifact.
fn words(failure: &Failure) -> String {
    failure.words().replace(&format!("'{MOUNT}'"), "'/'").replace(MOUNT, "")
}

/// One build: the files, and what lies on top of them.
struct Work {
    object: Arc<Kustomization>,
    tree: ArtifactTree,
    directory: String,
    generated: Generated,
    plain: BTreeMap<String, Redacted<Vec<u8>>>,
}

impl Work {
    /// Finds or makes the kustomization file.
    fn begin(object: Arc<Kustomization>, files: Arc<SourceTree>) -> Result<Self, Stop> {
        let tree = ArtifactTree::mounted(files, MOUNT);
        let path = inside(object.spec.path.as_deref().unwrap_or_default());
        let directory = if path.is_empty() { MOUNT.to_owned() } else { format!("{MOUNT}/{path}") };
        let secure =
            SecureTree::new(&tree, MOUNT).map_err(|error| build_failed(error.to_string()))?;
        let generated = generate(&secure, &directory, &overrides(&object), None)
            .map_err(|failure| build_failed(words(&failure)))?;
        drop(secure);
        Ok(Self { object, tree, directory, generated, plain: BTreeMap::new() })
    }

    fn decrypt_sources(&self, decryption: &Decryption) -> Result<Sources, SourcesError> {
        let overlay = self.generated.over(&self.tree);
        decryption.decryptor().decrypt_sources(&overlay, MOUNT, &self.directory)
    }

    fn assemble(
        &self,
        remote: Option<&dyn Remote>,
        remote_files: RemoteFiles,
    ) -> Result<Resources, String> {
        let secure = SecureTree::new(&self.tree, MOUNT).map_err(|error| error.to_string())?;
        let mut overlay = self.generated.over(&secure);
        for (path, content) in &self.plain {
            overlay = overlay.with(path.clone(), content.expose().clone());
        }
        let built = secure_build(&overlay, &self.directory, remote, remote_files);
        let built = built.map_err(|failure| words(&failure))?;
        let spec = &self.object.spec;
        let is_final = spec.post_build.is_none() && spec.decryption.is_none();
        let digest = is_final.then(|| digest_of(&built.to_yaml()));
        Ok(Resources { values: built.into_objects(), digest })
    }

    fn finish(
        &self,
        resources: Resources,
        variables: Result<Variables, VariablesError>,
        strict: bool,
        findings: Vec<Finding>,
    ) -> Result<Built, Stop> {
        let Resources { mut values, digest } = resources;
        if let Some(post_build) = &self.object.spec.post_build {
            substitution::substitute_all(&self.object, &mut values, post_build, variables, strict)?;
        }
        let digest = digest.unwrap_or_else(|| {
            let texts: Vec<String> = values.iter().map(sluice_yaml::from_json).collect();
            digest_of(&texts.join("---\n"))
        });
        let (objects, encrypted) = dress::dressed(&self.object, values);
        Ok(Built { objects, digest, findings, encrypted })
    }
}

fn digest_of(text: &str) -> String {
    Digest::of(DigestAlgorithm::Sha256, text.as_bytes()).to_string()
}

/// What a build gave, before it is decrypted and substituted in.
struct Resources {
    values: Vec<Value>,
    /// The digest of the text, where nothing changes it any more.
    digest: Option<String>,
}

impl Resources {
    /// Every object needs a kind, a version and a name.
    fn check(&self) -> Result<(), Stop> {
        let has = |value: &Value, pointer: &str| {
            value.pointer(pointer).and_then(Value::as_str).is_some_and(|it| !it.is_empty())
        };
        let is_whole = |value: &&Value| {
            ["/metadata/name", "/kind", "/apiVersion"].iter().all(|pointer| has(value, pointer))
        };
        let wrong = self.values.iter().filter(|value| !is_whole(value)).map(|value| {
            format!("failed to decode Kubernetes apiVersion, kind and name from: {value}")
        });
        joined(wrong).map_or(Ok(()), |message| Err(build_failed(message)))
    }

    /// Decrypts in place; an error without words means that a key has yet to be asked.
    fn decrypt(&mut self, decryption: &Decryption) -> Result<Vec<Finding>, Option<String>> {
        let decryptor = decryption.decryptor();
        let (mut findings, mut failures, mut is_unasked) = (Vec::new(), Vec::new(), false);
        for value in &mut self.values {
            let name = resource_name(value);
            match decryptor.decrypt_resource(value, &mut findings) {
                Ok(_) => {}
                Err(error) if error.is_unasked() => is_unasked = true,
                Err(error) => failures.push(format!("decryption failed for '{name}': {error}")),
            }
        }
        match (joined(failures), is_unasked) {
            (Some(message), _) => Err(Some(message)),
            (None, true) => Err(None),
            (None, false) => Ok(findings),
        }
    }
}

/// All messages, one below the other; nothing where there are none.
fn joined(messages: impl IntoIterator<Item = String>) -> Option<String> {
    let messages: Vec<String> = messages.into_iter().collect();
    (!messages.is_empty()).then(|| messages.join("\n"))
}

/// Kind, version, group and name, as kustomize writes them.
fn resource_name(value: &Value) -> String {
    let text = |pointer: &str| value.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let api_version = text("/apiVersion");
    let (group, version) = api_version.split_once('/').unwrap_or(("[noGrp]", api_version));
    format!("{}.{version}.{group}/{}", text("/kind"), text("/metadata/name"))
}

/// What the spec says about the kustomization file.
fn overrides(object: &Kustomization) -> Overrides {
    let spec = &object.spec;
    Overrides {
        target_namespace: spec.target_namespace.clone(),
        name_prefix: spec.name_prefix.clone(),
        name_suffix: spec.name_suffix.clone(),
        patches: spec.patches.clone().unwrap_or_default(),
        images: spec.images.clone().unwrap_or_default(),
        components: spec.components.clone().unwrap_or_default(),
        ignore_missing_components: spec.ignore_missing_components.unwrap_or(false),
        build_metadata: spec
            .build_metadata
            .iter()
            .flatten()
            .map(|wanted| wanted.as_str().to_owned())
            .collect(),
    }
}
