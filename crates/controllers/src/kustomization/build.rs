//! From the files of an artifact to the objects to apply.
//!
//! ```text
//! kustomization file ─▶ decrypt what it names ─▶ build ─▶ check the files it read ─▶ decrypt objects ─▶ substitute ─▶ dress
//! ```
//!
//! No step waits. What lies far away (keys that others hold, remote bases) is noted when it is needed, and
//! asked for between two tries of the same step. A step that fails tells of all objects that it fails with.

mod decrypting;
mod dress;
mod substitution;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;
use sluice_api::kustomize::kustomization::Kustomization;
use sluice_base::duration::GoDuration;
use sluice_kustomize::flux::{
    Generated, LoggedRemote, LoggedTree, Overrides, ReadLog, SecureTree, Variables, generate,
    secure_build,
};
use sluice_kustomize::{Failure, FileTree, Remote, RemoteFiles};
use sluice_runtime::outcome::Stop;
use sluice_secrets::Redacted;
use sluice_secrets::flux::{Finding, Sources, SourcesError, may_be_sealed};
use sluice_source::artifact::{Digest, DigestAlgorithm};
use sluice_source::tree::SourceTree;
use sluice_ssa::Desired;
use tokio::time::{Instant, timeout_at};

use super::decryption::Decryption;
use super::failures::build_failed;
use super::timing;
use super::variables::{self, VariablesError};
use crate::artifacts::{ArtifactTree, inside};
use crate::bases::Bases;
use crate::context::Context;
use decrypting::{check, decrypt, decrypt_sources};

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
    let log = decryption.as_ref().map(|_| Arc::new(ReadLog::new(may_be_sealed)));
    let mut resources = assemble(context, &work, log.as_ref()).await?;
    if let (Some(decryption), Some(log)) = (&decryption, &log) {
        let mut checked = check(context, log, decryption).await?;
        findings.append(&mut checked.findings);
        let (decrypted, found) = decrypt(context, resources, decryption, checked).await?;
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

/// The build alone; what it needs from other machines is fetched in between, all of it within the timeout.
async fn assemble(
    context: &Context,
    work: &Arc<Work>,
    log: Option<&Arc<ReadLog>>,
) -> Result<Resources, Stop> {
    let bases = (!context.settings.no_remote_bases).then(Arc::<Bases>::default);
    let remote_files = context.settings.remote_files;
    let timeout = timing::timeout(&work.object.spec);
    let deadline = Instant::now() + timeout;
    loop {
        let (step, remote, log) = (Arc::clone(work), bases.clone(), log.cloned());
        let remote = move || {
            let remote = remote.as_deref().map(|bases| bases as &dyn Remote);
            step.assemble(remote, remote_files, log.as_ref())
        };
        let failed = |words: &str| Err(build_failed(format!("kustomize build failed: {words}")));
        match (context.compute.run(remote).await, &bases) {
            (Ok(resources), _) => {
                resources.check()?;
                return Ok(resources);
            }
            (Err(words), Some(bases)) => {
                match timeout_at(deadline, bases.fetch(&context.egress)).await {
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
        log: Option<&Arc<ReadLog>>,
    ) -> Result<Resources, String> {
        let secure = SecureTree::new(&self.tree, MOUNT).map_err(|error| error.to_string())?;
        let logged = log.map(|log| LoggedTree::new(&secure, log));
        let logged_remote =
            remote.zip(log).map(|(remote, log)| LoggedRemote::new(remote, Arc::clone(log)));
        let remote = logged_remote.as_ref().map(|it| it as &dyn Remote).or(remote);
        let tree = logged.as_ref().map_or(&secure as &dyn FileTree, |it| it);
        let mut overlay = self.generated.over(tree);
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
            let shown = without_data(value);
            format!("failed to decode Kubernetes apiVersion, kind and name from: {shown}")
        });
        joined(wrong).map_or(Ok(()), |message| Err(build_failed(message)))
    }
}

/// An object as a message shows it: what a Secret holds is left out.
fn without_data(value: &Value) -> Value {
    let mut shown = value.clone();
    if value.get("kind").and_then(Value::as_str) == Some("Secret")
        && let Some(fields) = shown.as_object_mut()
    {
        fields.retain(|name, _| name != "data" && name != "stringData");
    }
    shown
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
