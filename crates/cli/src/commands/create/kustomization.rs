//! `sluice create kustomization`.

use serde_json::{Value, json};
use sluice_base::duration::GoDuration;

use super::made::{Maker, Words, kind};
use crate::kinds::text_at;
use crate::outcome::Failure;
use crate::tell;

/// Creates a Kustomization.
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// The name.
    name: Option<String>,
    /// The source, as [KIND/]NAME[.NAMESPACE].
    #[arg(long)]
    source: Option<String>,
    /// The directory in the source.
    #[arg(long, default_value = "./")]
    path: String,
    /// Prunes objects that are gone from the source.
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_name = "BOOL")]
    prune: Option<bool>,
    /// Waits until everything applied is healthy.
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_name = "BOOL")]
    wait: Option<bool>,
    /// Objects to wait for, as KIND/NAME.NAMESPACE.
    #[arg(long, value_delimiter = ',')]
    health_check: Vec<String>,
    /// The timeout of that wait.
    #[arg(long, default_value = "2m")]
    health_check_timeout: GoDuration,
    /// Accepted for compatibility with Flux, which ignores it.
    #[arg(long, hide = true)]
    _validation: Option<String>,
    /// Dependencies: Kustomizations that must be ready first, as [NAMESPACE/]NAME.
    #[arg(long, value_delimiter = ',')]
    depends_on: Vec<String>,
    /// The service account to impersonate.
    #[arg(long)]
    service_account: Option<String>,
    /// The decryption provider: sops.
    #[arg(long, value_parser = ["sops"])]
    decryption_provider: Option<String>,
    /// The secret with the decryption keys.
    #[arg(long)]
    decryption_secret: Option<String>,
    /// The namespace of all objects.
    #[arg(long)]
    target_namespace: Option<String>,
    /// The secret with the kubeconfig of another cluster.
    #[arg(long)]
    kubeconfig_secret_ref: Option<String>,
    /// The retry interval after a failure.
    #[arg(long)]
    retry_interval: Option<GoDuration>,
}

const SOURCES: [&str; 3] = ["OCIRepository", "GitRepository", "Bucket"];

/// Runs the command.
pub(super) fn run(wanted: &Arguments, maker: &Maker<'_>) -> Result<(), Failure> {
    let name = Maker::name(wanted.name.as_deref())?;
    let source = source(wanted.source.as_deref())?;
    if !maker.export {
        tell::generated("generating Kustomization");
    }
    let waits = wanted.wait.unwrap_or_default();
    let checks = if waits { Vec::new() } else { checks(&wanted.health_check)? };
    let timeout = (waits || !checks.is_empty()).then(|| wanted.health_check_timeout.to_string());
    let decryption = wanted.decryption_provider.as_ref().map(|provider| {
        let secret = wanted.decryption_secret.as_ref().map(|name| json!({"name": name}));
        json!({"provider": provider, "secretRef": secret})
    });
    let retry = wanted.retry_interval.filter(|interval| !interval.to_std().is_zero());
    let spec = json!({
        "interval": maker.interval.to_string(),
        "path": safe(&wanted.path),
        "prune": wanted.prune.unwrap_or_default(),
        "sourceRef": source,
        "targetNamespace": wanted.target_namespace,
        "dependsOn": wanted.depends_on.iter().map(|one| dependency(one)).collect::<Vec<_>>(),
        "kubeConfig": wanted.kubeconfig_secret_ref.as_ref().map(|name| json!({"secretRef": {"name": name}})),
        "healthChecks": checks,
        "timeout": timeout,
        "wait": waits,
        "serviceAccountName": wanted.service_account,
        "decryption": decryption,
        "retryInterval": retry.map(|interval| interval.to_string()),
    });
    let kind = kind("Kustomization")?;
    let object = maker.object(kind, name, &spec)?;
    if maker.export {
        return Maker::print(&object);
    }
    let words = Words { object: "Kustomization", written: "Kustomization" };
    let made = maker.apply(kind, object, &words, None)?;
    tell::success(&format!("Kustomization {name} is ready"));
    let revision = text_at(&made, "/status/lastAppliedRevision");
    tell::success(&format!("applied revision {revision}"));
    Ok(())
}

/// `[Kind/]name[.namespace]`; a GitRepository if no kind is given.
fn source(text: Option<&str>) -> Result<Value, Failure> {
    let text = text.ok_or_else(|| Failure::flux("source is required"))?;
    let refused = |why: String| {
        Failure::flux(format!("invalid argument {text:?} for \"--source\" flag: {why}"))
    };
    let (given, rest) = match text.split_once('/') {
        Some((kind, name)) if !name.contains('/') => (kind, name),
        _ => ("", text),
    };
    let (name, namespace) = rest.rsplit_once('.').unwrap_or((rest, ""));
    if name.is_empty() {
        return Err(refused(format!("no name given for source of kind '{given}'")));
    }
    if given.is_empty() && SOURCES.contains(&name) {
        return Err(refused(format!("no kind specified for source '{name}'")));
    }
    let given = if given.is_empty() { "GitRepository" } else { given };
    let kind = SOURCES.into_iter().find(|kind| kind.eq_ignore_ascii_case(given));
    let kind = kind.ok_or_else(|| {
        let all = SOURCES.join(", ");
        refused(format!("source kind '{given}' is not supported, must be one of: {all}"))
    })?;
    Ok(json!({"kind": kind, "name": name, "namespace": namespace}))
}

/// A path that does not leave its root.
fn safe(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.trim().split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    format!("./{}", parts.join("/"))
}

/// `[namespace/]name[@expression]`.
fn dependency(text: &str) -> Value {
    let name = text.split_once('@').map_or(text, |(name, _)| name);
    match name.split_once('/') {
        Some((namespace, name)) => json!({"name": name, "namespace": namespace}),
        None => json!({"name": name}),
    }
}

fn checks(given: &[String]) -> Result<Vec<Value>, Failure> {
    let check = |text: &String| {
        let form =
            format!("invalid health check '{text}' must be in the format 'kind/name.namespace'");
        let parts: Vec<&str> = text.split('/').collect();
        let [kind, rest] = parts[..] else {
            return Err(Failure::flux(format!("{form} [{}]", parts.join(" "))));
        };
        if !["Deployment", "DaemonSet", "StatefulSet", "HelmRelease"].contains(&kind) {
            return Err(Failure::flux(format!(
                "invalid health check kind '{kind}' can be HelmRelease, Deployment, DaemonSet or StatefulSet"
            )));
        }
        let [name, namespace] = rest.split('.').collect::<Vec<_>>()[..] else {
            return Err(Failure::flux(form));
        };
        let api_version = (kind == "HelmRelease").then_some("helm.toolkit.fluxcd.io/v2");
        Ok(json!({"apiVersion": api_version, "kind": kind, "name": name, "namespace": namespace}))
    };
    given.iter().map(check).collect()
}

#[cfg(test)]
mod tests {
    use super::safe;

    #[test]
    fn paths_stay_below_their_root() {
        let table = [
            ("./", "./"),
            ("./a/b", "./a/b"),
            ("a//b/.", "./a/b"),
            ("../a", "./a"),
            ("/a/../..", "./"),
        ];
        for (path, clean) in table {
            assert_eq!(safe(path), clean);
        }
    }
}
