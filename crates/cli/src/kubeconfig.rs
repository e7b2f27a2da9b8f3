//! The cluster: from the kubeconfig of a flag, of the environment or of the home directory, or from the pod's account.
//! Errors are one line with a hint.

use std::path::Path;

use kube::Config;
use kube::config::{InferConfigError, KubeConfigOptions, Kubeconfig, KubeconfigError};

use crate::outcome::Failure;

/// The configuration of a kubeconfig, if one is given or found; otherwise of the pod.
pub(crate) async fn config(
    path: Option<&Path>,
    options: &KubeConfigOptions,
) -> Result<Config, Failure> {
    let is_chosen =
        options.context.is_some() || options.cluster.is_some() || options.user.is_some();
    let read = match path {
        Some(path) => Kubeconfig::read_from(path),
        None if is_chosen => Kubeconfig::read(),
        None => return Config::infer().await.map_err(|error| nothing_known(&error)),
    };
    let shown = path.map(|path| path.display().to_string()).or_else(of_environment);
    let read = read.map_err(|error| unusable(&error, shown.as_deref(), &[]))?;
    let contexts: Vec<String> = read.contexts.iter().map(|context| context.name.clone()).collect();
    let config = Config::from_custom_kubeconfig(read, options).await;
    config.map_err(|error| unusable(&error, shown.as_deref(), &contexts))
}

/// Fails for an address that cannot be used.
pub(crate) fn check_address(config: &Config) -> Result<(), Failure> {
    let url = &config.cluster_url;
    if url.scheme().is_some() && url.authority().is_some() {
        return Ok(());
    }
    Err(Failure::flux(format!(
        "invalid configuration: {:?} is no address of an API server",
        url.to_string()
    ))
    .hint("it begins with https:// or http://"))
}

/// The failure without a kubeconfig and a pod's account.
fn nothing_known(error: &InferConfigError) -> Failure {
    let cause = std::error::Error::source(error).and_then(|it| it.downcast_ref());
    let given = of_environment();
    match cause {
        Some(KubeconfigError::ReadConfig(why, _))
            if given.is_none() && why.kind() == std::io::ErrorKind::NotFound =>
        {
            Failure::flux("no cluster is known: there is no kubeconfig")
                .hint("name one with --kubeconfig or in KUBECONFIG")
        }
        Some(error) => unusable(error, given.as_deref(), &[]),
        None => Failure::flux(format!("no cluster is known: {error}"))
            .hint("name a kubeconfig with --kubeconfig or in KUBECONFIG"),
    }
}

fn of_environment() -> Option<String> {
    std::env::var("KUBECONFIG").ok().filter(|given| !given.is_empty())
}

/// The error of a kubeconfig, with Flux's message where it has one.
fn unusable(error: &KubeconfigError, path: Option<&str>, contexts: &[String]) -> Failure {
    let shown = path.unwrap_or("~/.kube/config");
    let elsewhere = "name another kubeconfig with --kubeconfig or in KUBECONFIG";
    match error {
        KubeconfigError::ReadConfig(why, path) => {
            let path = path.display().to_string();
            let why = match why.kind() {
                std::io::ErrorKind::NotFound => "no such file or directory".to_owned(),
                std::io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
                std::io::ErrorKind::IsADirectory => "is a directory".to_owned(),
                _ => why.to_string(),
            };
            Failure::flux(format!("error loading config file {path:?}: open {path}: {why}"))
                .hint(elsewhere)
        }
        KubeconfigError::Parse(why) => {
            let why = why.to_string();
            let first = why.lines().next().unwrap_or_default().trim_start_matches("error: ");
            Failure::flux(format!("error loading config file {shown:?}: {first}")).hint(elsewhere)
        }
        KubeconfigError::LoadContext(name) => {
            let failure = Failure::flux(format!(
                "invalid configuration: context was not found for specified context: {name}"
            ));
            match contexts {
                [] => {
                    failure.hint("--context chooses one; `kubectl config get-contexts` lists them")
                }
                known => failure.hint(format!("the contexts there are: {}", known.join(", "))),
            }
        }
        KubeconfigError::LoadClusterOfContext(name) => {
            let failure =
                Failure::flux(format!("invalid configuration: cluster {name:?} does not exist"));
            if name.contains('/') {
                failure.hint(format!("there is no path {name}"))
            } else {
                failure
            }
        }
        KubeconfigError::CurrentContextNotSet => {
            Failure::flux(format!("no cluster is known: {shown} has no current context"))
                .hint("--context chooses one")
        }
        other => Failure::flux(format!("invalid configuration: {other}")).hint(elsewhere),
    }
}
