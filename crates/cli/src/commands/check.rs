//! `sluice check`: checks the prerequisites of an installation, the installed controllers, and with `--cluster` whether
//! a cluster is ready to join.

mod findings;
mod joining;

use clap::ValueEnum;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::ListParams;
use kube::discovery::ApiResource;
use serde_json::Value;
use sluice_base::duration::GoDuration;
use sluice_base::semver::{Constraint, Version};
use sluice_kstatus::Status;

use super::install::{Installed, PART_OF};
use crate::globals::Globals;
use crate::kinds::text_at;
use crate::outcome::{Failure, Outcome};
use crate::session::{self, Session, now};
use crate::tell;
use findings::{Area, Findings, Verdict};

/// The versions of Kubernetes that Flux 2.9 supports.
const KUBERNETES: &str = ">=1.33.0-0";

/// What to check.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
With --cluster PATH, a directory, it looks whether the cluster is ready for the Flux objects in it:
controllers, sources, ConfigMaps and Secrets, dependencies, routes, and one reconciliation of all.
Anything but a path after --cluster is the cluster of the kubeconfig, as elsewhere.")]
pub(crate) struct Arguments {
    /// Checks only the prerequisites of an installation.
    #[arg(long)]
    pre: bool,
    /// Prints the findings as JSON or YAML.
    #[arg(short, long, value_enum, value_name = "FORMAT")]
    output: Option<Output>,
    /// Accepted for compatibility with Flux: all installed controllers are checked.
    #[arg(long, value_delimiter = ',', hide = true)]
    components: Vec<String>,
    /// Accepted for compatibility with Flux: all installed controllers are checked.
    #[arg(long, value_delimiter = ',', hide = true)]
    components_extra: Vec<String>,
    /// The interval of checking controllers that are not ready.
    #[arg(long, default_value = "5s", value_name = "DURATION")]
    poll_interval: GoDuration,
}

/// The output format of findings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Output {
    Table,
    Json,
    Yaml,
}

/// Runs `sluice check`.
pub(crate) fn run(arguments: &Arguments, globals: &Globals) -> Result<Outcome, Failure> {
    let Some((path, globals)) = globals.cluster_path() else {
        let mut findings = Findings::default();
        let work = async |session: &Session| check(session, arguments, &mut findings).await;
        let outcome = session::with(globals, work)?;
        if let Some(output) = arguments.output {
            findings.print(output)?;
        }
        return Ok(outcome);
    };
    let mut findings = Findings::default();
    let work = async |session: &Session| joining::check(session, &path, &mut findings).await;
    session::with(&globals, work).map_err(Failure::in_own_style)?;
    findings.print(arguments.output.unwrap_or(Output::Table))?;
    Ok(if findings.are_bad() { Outcome::Findings } else { Outcome::Fine })
}

async fn check(
    session: &Session,
    arguments: &Arguments,
    findings: &mut Findings,
) -> Result<Outcome, Failure> {
    tell::action("checking prerequisites");
    kubernetes(session, findings).await;
    if arguments.pre {
        if findings.are_bad() {
            return Ok(Outcome::Findings);
        }
        tell::success("prerequisites checks passed");
        return Ok(Outcome::Fine);
    }
    tell::action("checking version in cluster");
    version(session, findings).await;
    tell::action("checking controllers");
    controllers(session, arguments.poll_interval.to_std(), findings).await;
    tell::action("checking crds");
    definitions(session, findings).await;
    if findings.are_bad() {
        tell::failure("check failed");
        return Ok(Outcome::Findings);
    }
    tell::success("all checks passed");
    Ok(Outcome::Fine)
}

/// Checks the version of Kubernetes.
async fn kubernetes(session: &Session, findings: &mut Findings) {
    let found = match session.client.apiserver_version().await {
        Ok(found) => found.git_version,
        Err(error) => {
            let text = format!("Kubernetes API call failed: {error}");
            return findings.report(Area::Kubernetes, "", Verdict::Bad, &text);
        }
    };
    let Ok(version) = Version::parse(&found) else {
        let text = "Kubernetes version can't be determined";
        return findings.report(Area::Kubernetes, "", Verdict::Bad, text);
    };
    let fits = Constraint::parse(KUBERNETES).is_ok_and(|wanted| wanted.check(&version));
    if fits {
        let text = format!("Kubernetes {version} {KUBERNETES}");
        findings.report(Area::Kubernetes, "", Verdict::Good, &text);
    } else {
        let text = format!("Kubernetes version {found} does not match {KUBERNETES}");
        findings.report(Area::Kubernetes, "", Verdict::Bad, &text);
    }
}

/// Finds the installation and the tool that made it.
async fn version(session: &Session, findings: &mut Findings) {
    match Installed::find(session).await {
        Ok(found) if found.is_there => {
            if !found.distribution.is_empty() {
                let text = format!("distribution: {}", found.distribution);
                findings.report(Area::Version, "", Verdict::Good, &text);
            }
            let text = format!("bootstrapped: {}", found.bootstrapped);
            findings.report(Area::Version, "", Verdict::Good, &text);
        }
        Ok(_) => {
            let text = "checking failed: customresourcedefinitions.apiextensions.k8s.io \"gitrepositories.source.toolkit.fluxcd.io\" not found";
            findings.report(Area::Version, "", Verdict::Bad, text);
        }
        Err(failure) => {
            let text = format!("checking failed: {}", failure.message());
            findings.report(Area::Version, "", Verdict::Bad, &text);
        }
    }
}

/// Checks that every Deployment of Flux becomes ready.
async fn controllers(session: &Session, poll: std::time::Duration, findings: &mut Findings) {
    let resource = ApiResource::erase::<Deployment>(&());
    let params = ListParams::default().labels(&format!("{PART_OF}=flux"));
    let namespace = &session.namespace;
    let found = session.list_resource(&resource, Some(namespace), &params).await;
    let found = found.unwrap_or_default();
    if found.is_empty() {
        let text = format!(
            "no controllers found in the '{namespace}' namespace with the label selector '{PART_OF}=flux'"
        );
        return findings.report(Area::Controller, "", Verdict::Bad, &text);
    }
    for deployment in found {
        let name = text_at(&deployment, "/metadata/name");
        let (verdict, text) = match readiness(session, &resource, &deployment, poll).await {
            Readiness::Ready => (Verdict::Good, format!("{name}: deployment ready")),
            Readiness::NotReady => (Verdict::Bad, format!("{name}: deployment not ready")),
            Readiness::Gone => (Verdict::Bad, format!("{name}: deployment not found")),
        };
        findings.report(Area::Controller, name, verdict, &text);
        let containers = deployment.pointer("/spec/template/spec/containers");
        for container in containers.and_then(Value::as_array).into_iter().flatten() {
            Findings::note(text_at(container, "/image"));
        }
    }
}

enum Readiness {
    Ready,
    NotReady,
    Gone,
}

/// The timeout of one Deployment; the command as a whole may take longer.
const PATIENCE: std::time::Duration = std::time::Duration::from_mins(1);

async fn readiness(
    session: &Session,
    resource: &ApiResource,
    deployment: &Value,
    poll: std::time::Duration,
) -> Readiness {
    let (name, namespace) =
        (text_at(deployment, "/metadata/name"), text_at(deployment, "/metadata/namespace"));
    let began = std::time::Instant::now();
    let mut seen = Some(deployment.clone());
    loop {
        let Some(object) = seen else { return Readiness::Gone };
        let status = sluice_kstatus::assess(&object, now()).map(|assessed| assessed.status);
        if status == Ok(Status::Current) {
            return Readiness::Ready;
        }
        if began.elapsed() > PATIENCE {
            return Readiness::NotReady;
        }
        tokio::time::sleep(poll).await;
        seen = session.get_resource(resource, Some(namespace), name).await.ok();
    }
}

/// Checks that Flux's CRDs exist, and their stored versions.
async fn definitions(session: &Session, findings: &mut Findings) {
    let resource = ApiResource::erase::<CustomResourceDefinition>(&());
    let params = ListParams::default().labels(&format!("{PART_OF}=flux"));
    let found = session.list_resource(&resource, None, &params).await.unwrap_or_default();
    if found.is_empty() {
        let text = format!("no crds found with the label selector '{PART_OF}=flux'");
        return findings.report(Area::Definition, "", Verdict::Bad, &text);
    }
    for definition in found {
        let name = text_at(&definition, "/metadata/name");
        let stored = definition.pointer("/status/storedVersions").and_then(Value::as_array);
        let last = stored.and_then(|versions| versions.last()).and_then(Value::as_str);
        let (verdict, text) = last.map_or_else(
            || (Verdict::Bad, format!("no stored versions for {name}")),
            |version| (Verdict::Good, format!("{name}/{version}")),
        );
        findings.report(Area::Definition, name, verdict, &text);
    }
}
