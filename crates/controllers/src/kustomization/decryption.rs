//! The keys that a Kustomization decrypts with: those of its Secret, or the identity of its service account.

use std::sync::Arc;

use k8s_openapi::api::core::v1::Secret;
use kube::Api;
use sluice_api::kustomize::kustomization::Kustomization;
use sluice_api::names::reasons::BUILD_FAILED;
use sluice_api::names::sluice::SOPS_MAC;
use sluice_kustomize::Answers;
use sluice_runtime::key::Key;
use sluice_runtime::outcome::Stop;
use sluice_secrets::flux::{BuildDecryption, Finding, ImportError, KeyRing, OnBrokenMac};
use sluice_secrets::{MasterKey, Redacted};
use sluice_ssa::ErrorClass;

use super::failures::build_failed;
use crate::client::api_message;
use crate::context::Context;
use crate::identity::{Decrypting, Purpose};

/// The most documents that an event names.
const NAMED: usize = 20;

/// Everything to decrypt with.
pub(super) struct Decryption {
    ring: KeyRing,
    on_broken_mac: OnBrokenMac,
    identity: Decrypting,
}

impl Decryption {
    /// What the spec says; nothing where it says nothing.
    pub(super) async fn of(
        context: &Context,
        object: &Kustomization,
    ) -> Result<Option<Arc<Self>>, Stop> {
        let Some(wanted) = &object.spec.decryption else { return Ok(None) };
        let on_broken_mac = on_broken_mac(context, object)?;
        let mut ring = KeyRing::default();
        let namespace = object.metadata.namespace.clone().unwrap_or_default();
        let settings = &context.settings;
        match (&wanted.secret_ref, &settings.sops_age_secret) {
            (Some(secret), _) => {
                let key = Key::new(namespace.clone(), secret.name.clone());
                import(context, &key, "decryption", |entry, value| ring.import(entry, value)).await
            }
            (None, Some(key)) => {
                let what = "SOPS age decryption";
                import(context, key, what, |entry, value| ring.import_age(entry, value)).await
            }
            (None, None) => Ok(()),
        }?;
        let named = wanted.service_account_name.as_deref();
        let default = settings.default_decryption_service_account.as_deref();
        let name = object.metadata.name.as_deref().unwrap_or_default();
        let refusal = settings.controller_identity.refusal(Purpose::Decryption, &namespace, name);
        let identity = Decrypting {
            cloud: context.clouds.named_or(&namespace, named, default, refusal),
            client: context.client.clone(),
            vaults: settings.sops_vault_config_map.clone(),
        };
        Ok(Some(Arc::new(Self { ring, on_broken_mac, identity })))
    }

    /// Decryption for one run of a build, with the answers of key services so far.
    pub(super) fn run<'a>(&'a self, answers: &'a Answers) -> BuildDecryption<'a> {
        BuildDecryption::new(&self.ring, answers, self.on_broken_mac)
    }

    /// Asks the key service of a master key for a data key.
    pub(super) async fn ask(
        &self,
        context: &Context,
        key: &MasterKey,
    ) -> Result<Redacted<Vec<u8>>, String> {
        let controller = context.clouds.controller();
        self.ring.ask(key, &controller.asking(), &self.identity).await
    }
}

/// Takes in the entries of a Secret.
async fn import(
    context: &Context,
    key: &Key,
    what: &str,
    mut take: impl FnMut(&str, &[u8]) -> Result<(), ImportError>,
) -> Result<(), Stop> {
    let api: Api<Secret> = Api::namespaced(context.client.clone(), &key.namespace);
    let secret = api.get(&key.name).await.map_err(|error| match &error {
        kube::Error::Api(status) if status.code == 404 => {
            Stop::classed(ErrorClass::Dependency, BUILD_FAILED, &status.message)
        }
        _ => {
            build_failed(format!("cannot get sops {what} Secret '{key}': {}", api_message(&error)))
        }
    })?;
    for (entry, value) in secret.data.unwrap_or_default() {
        take(&entry, &value.0).map_err(|ImportError { entry, reason }| {
            build_failed(format!(
                "failed to import '{entry}' data from sops {what} Secret '{key}': {reason}"
            ))
        })?;
    }
    Ok(())
}

/// What becomes of documents whose MAC is wrong: the stricter of the operator's flag and the annotation, which
/// a tenant may set.
fn on_broken_mac(context: &Context, object: &Kustomization) -> Result<OnBrokenMac, Stop> {
    let annotation = object.metadata.annotations.as_ref().and_then(|all| all.get(SOPS_MAC));
    match annotation.map(String::as_str) {
        None | Some("report") => Ok(context.settings.sops_mac),
        Some("refuse") => Ok(OnBrokenMac::Refuse),
        Some(other) => Err(build_failed(format!(
            "annotation {SOPS_MAC}: \"{other}\" is neither report nor refuse"
        ))),
    }
}

/// The event about documents that were changed after they were encrypted.
pub(super) fn warning(findings: &[Finding]) -> Option<String> {
    let mut lines: Vec<String> = findings
        .iter()
        .take(NAMED)
        .map(|found| format!("{}: {}", found.place, found.tampering))
        .collect();
    if findings.len() > NAMED {
        lines.push(format!("and {} more", findings.len() - NAMED));
    }
    (!lines.is_empty()).then(|| {
        format!("sops data integrity is not given, applied nevertheless:\n{}", lines.join("\n"))
    })
}
