//! Helpers of the transformers' tests.

use std::borrow::Cow;

use serde_json::Value;
use sluice_yaml::Node;

use super::{Load, Transformer};
use crate::failure::{Failure, Result};
use crate::openapi::Schema;
use crate::read::read_resources;
use crate::resources::Resources;

/// A file tree without files.
pub(crate) struct NoFiles;

impl Load for NoFiles {
    fn load(&self, path: &str) -> Result<Cow<'_, [u8]>> {
        Err(Failure::new(format!("no file {path}")))
    }

    fn root(&self) -> &'static str {
        "/app/overlay"
    }
}

/// A transformer from its configuration.
pub(crate) fn config<T>(
    value: &Value,
    from_config: impl FnOnce(&Value, &dyn Load) -> Result<T>,
) -> Result<T> {
    from_config(value, &NoFiles)
}

pub(crate) fn node(text: &str) -> Node {
    sluice_yaml::parse(text.as_bytes()).unwrap().remove(0).root
}

pub(crate) fn resources(text: &str) -> Resources {
    let schema = Schema::builtin();
    let mut resources = Resources::default();
    for resource in read_resources(text.as_bytes(), None).unwrap() {
        resources.append(resource, &schema).unwrap();
    }
    resources
}

pub(crate) fn transformed_resources(
    transformer: &dyn Transformer,
    text: &str,
) -> Result<Resources> {
    let mut resources = resources(text);
    transformer.transform(&mut resources, &Schema::builtin())?;
    Ok(resources)
}

/// The resources as they are printed, without build annotations.
pub(crate) fn printed(resources: Resources) -> Result<String> {
    let mut texts = Vec::new();
    for mut resource in resources.into_list() {
        resource.remove_build_annotations()?;
        texts.push(resource.to_yaml()?);
    }
    Ok(texts.join("---\n"))
}

/// Objects before to objects after.
pub(crate) fn transformed(transformer: &dyn Transformer, text: &str) -> Result<String> {
    printed(transformed_resources(transformer, text)?)
}

pub(crate) fn transformed_twice(
    first: &dyn Transformer,
    second: &dyn Transformer,
    text: &str,
) -> Result<String> {
    let mut resources = transformed_resources(first, text)?;
    second.transform(&mut resources, &Schema::builtin())?;
    printed(resources)
}
