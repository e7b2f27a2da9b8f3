//! `sluice version`: the versions of this program, of the Flux it follows, and of the installed controllers.

use std::collections::BTreeMap;

use clap::ValueEnum;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::ListParams;
use kube::discovery::ApiResource;
use serde_json::{Map, Value, json};

use crate::globals::Globals;
use crate::kinds::text_at;
use crate::outcome::{Failure, Outcome};
use crate::session::{self, Session};
use crate::tell;

/// The version of Flux that this program follows.
pub(crate) const FLUX: &str = "v2.9.5";

/// The label of all objects of Flux.
pub(crate) const PART_OF_FLUX: &str = "app.kubernetes.io/part-of=flux";

/// Prints versions.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Prints only the version of this program.
    #[arg(long)]
    client: bool,
    /// The output format: yaml or json.
    #[arg(short, long, default_value = "yaml", value_name = "FORMAT")]
    output: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Output {
    Yaml,
    Json,
}

/// Runs `sluice version`.
pub(crate) fn run(arguments: &Arguments, globals: &Globals) -> Result<Outcome, Failure> {
    let output = Output::from_str(&arguments.output, false).map_err(|_| {
        Failure::flux(format!("--output must be json or yaml, not {}", arguments.output))
    })?;
    let mut lines = vec![
        ("flux".to_owned(), FLUX.to_owned()),
        ("sluice".to_owned(), format!("v{}", env!("CARGO_PKG_VERSION"))),
    ];
    if !arguments.client {
        lines.extend(session::with(globals, async |session| in_cluster(session).await)?);
    }
    tell::data(&match output {
        Output::Yaml => {
            let line = |(name, version): &(String, String)| {
                sluice_yaml::from_json(&json!({name: version}))
            };
            lines.iter().map(line).collect::<String>()
        }
        Output::Json => {
            let all = lines.into_iter().map(|(name, version)| (name, Value::from(version)));
            format!("{:#}\n", Value::Object(all.collect::<Map<_, _>>()))
        }
    })?;
    Ok(Outcome::Fine)
}

/// The distribution, then the controllers by name.
async fn in_cluster(session: &Session) -> Result<Vec<(String, String)>, Failure> {
    let mut lines = Vec::new();
    lines.extend(distribution(session).await?.map(|text| ("distribution".to_owned(), text)));
    let deployments = ApiResource::erase::<Deployment>(&());
    let params = ListParams::default().labels(PART_OF_FLUX);
    let found = session.list_resource(&deployments, Some(&session.namespace), &params).await?;
    if found.is_empty() {
        let namespace = &session.namespace;
        return Err(Failure::flux(format!("no deployments found in {namespace} namespace")));
    }
    let containers = found.iter().filter_map(|deployment| {
        deployment.pointer("/spec/template/spec/containers").and_then(Value::as_array)
    });
    let mut controllers = BTreeMap::new();
    for container in containers.flatten() {
        let (name, tag) = split_image(text_at(container, "/image"))?;
        controllers.insert(name.to_owned(), tag.to_owned());
    }
    lines.extend(controllers);
    Ok(lines)
}

/// The installation, from the labels of a CRD.
async fn distribution(session: &Session) -> Result<Option<String>, Failure> {
    let definitions = ApiResource::erase::<CustomResourceDefinition>(&());
    let name = "gitrepositories.source.toolkit.fluxcd.io";
    let definition = match session.get_resource(&definitions, None, name).await {
        Ok(definition) => definition,
        Err(failure) if failure.is_not_found() => return Ok(None),
        Err(failure) => return Err(failure.into()),
    };
    let label = |name: &str| {
        let labels = definition.pointer("/metadata/labels");
        labels.and_then(|labels| labels.get(name)).and_then(Value::as_str).unwrap_or_default()
    };
    let version = label("app.kubernetes.io/version");
    Ok(match label("app.kubernetes.io/part-of") {
        "" if version.is_empty() => None,
        "" => Some(version.to_owned()),
        part_of => Some(format!("{part_of}-{version}")),
    })
}

/// The last part of an image's name, and its tag.
fn split_image(image: &str) -> Result<(&str, &str), Failure> {
    let registry = image
        .split_once('/')
        .map(|(first, _)| first)
        .filter(|first| first.contains(['.', ':']) || *first == "localhost");
    let path = image.strip_prefix(registry.unwrap_or_default()).unwrap_or(image);
    let (name, tag) = path
        .split_once(':')
        .ok_or_else(|| Failure::flux(format!("missing image tag in image {image}")))?;
    Ok((name.rsplit('/').next().unwrap_or(name), tag))
}

#[cfg(test)]
mod tests {
    use super::split_image;

    #[test]
    fn images_are_split_behind_their_registry() {
        let table = [
            ("ghcr.io/fluxcd/source-controller:v1.9.6", ("source-controller", "v1.9.6")),
            ("localhost:5000/source-controller:v1", ("source-controller", "v1")),
            ("source-controller:v1", ("source-controller", "v1")),
            ("fluxcd/a:v1@sha256:00", ("a", "v1@sha256:00")),
        ];
        for (image, parts) in table {
            assert_eq!(split_image(image).expect("it has a tag"), parts);
        }
        assert!(split_image("ghcr.io/fluxcd/source-controller").is_err());
        assert!(split_image("localhost:5000/source-controller").is_err());
    }
}
