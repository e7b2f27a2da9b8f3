//! What is decrypted around a build, and checked: files before it, objects after it. Keys that others hold are
//! asked for between two tries of the same step.

use std::sync::Arc;

use sluice_api::names::reasons::BUILD_FAILED;
use sluice_kustomize::flux::ReadLog;
use sluice_runtime::outcome::Stop;
use sluice_secrets::flux::{CheckError, Checked, Finding, Sources};
use sluice_ssa::ErrorClass;

use super::super::decryption::Decryption;
use super::super::failures::build_failed;
use super::{MOUNT, Resources, Work, joined, resource_name};
use crate::context::Context;

/// Decrypts the files that generators and patches name.
pub(super) async fn decrypt_sources(
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

/// Checks the MAC of the files that the build has read.
pub(super) async fn check(
    context: &Context,
    log: &Arc<ReadLog>,
    decryption: &Arc<Decryption>,
) -> Result<Checked, Stop> {
    loop {
        let (log, keys) = (Arc::clone(log), Arc::clone(decryption));
        let step = move || {
            let files = log.files();
            let inner = |path: &'_ str| {
                path.strip_prefix(MOUNT).unwrap_or(path).trim_start_matches('/').to_owned()
            };
            let files: Vec<(String, &Vec<u8>)> =
                files.iter().map(|(path, it)| (inner(path), it)).collect();
            let files = files.iter().map(|(path, content)| (path.as_str(), content.as_slice()));
            keys.decryptor().check_files(files)
        };
        match context.compute.run(step).await {
            Ok(checked) => return Ok(checked),
            Err(CheckError::Unasked) if decryption.ask(context).await => {}
            Err(error) => return Err(build_failed(format!("error decrypting sources: {error}"))),
        }
    }
}

/// Decrypts objects that are encrypted, and Secrets that hold encrypted documents.
pub(super) async fn decrypt(
    context: &Context,
    mut resources: Resources,
    decryption: &Arc<Decryption>,
    checked: Checked,
) -> Result<(Resources, Vec<Finding>), Stop> {
    let checked = Arc::new(checked);
    loop {
        let (keys, checked) = (Arc::clone(decryption), Arc::clone(&checked));
        let step = move || {
            let outcome = resources.decrypt(&keys, &checked);
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

impl Resources {
    /// Decrypts in place; an error without words means that a key has yet to be asked.
    fn decrypt(
        &mut self,
        decryption: &Decryption,
        checked: &Checked,
    ) -> Result<Vec<Finding>, Option<String>> {
        let decryptor = decryption.decryptor();
        let (mut findings, mut failures, mut is_unasked) = (Vec::new(), Vec::new(), false);
        for value in &mut self.values {
            let name = resource_name(value);
            match decryptor.decrypt_resource(value, checked, &mut findings) {
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
