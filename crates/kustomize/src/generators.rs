//! Generators: create objects from fields and files of a kustomization.

mod config_map;
mod iam_policy;
mod key_values;
mod secret;

use std::collections::BTreeMap;

use serde_json::Value;
use sluice_yaml::{Content, Node, ScalarStyle};

use crate::access::{self, Kind};
use crate::decode::{Fields, Unknown};
use crate::failure::{Failure, Result};
use crate::resource::{Resource, annotation};
use crate::transformers::Load;

pub(crate) use iam_policy::IamPolicy;

/// One configured generator.
#[derive(Debug, Clone)]
pub(crate) enum Generator {
    ConfigMap(Arguments),
    Secret { arguments: Arguments, kind: String },
    IamPolicy(IamPolicy),
}

impl Generator {
    /// The generator of an object under `generators:`; `None` if the kind is not a generator.
    pub(crate) fn from_config(kind: &str, config: &Value) -> Result<Option<Self>> {
        let fields = Fields::converting(config, kind, Unknown::Ignored)?;
        let arguments = || fields.embedded(Arguments::read)?.with_metadata_of(&fields);
        Ok(Some(match kind {
            "ConfigMapGenerator" => Self::ConfigMap(arguments()?),
            "SecretGenerator" => Self::Secret {
                arguments: arguments()?,
                kind: fields.embedded(|secret| secret.text("type"))?,
            },
            "IAMPolicyGenerator" => Self::IamPolicy(fields.embedded(IamPolicy::read)?),
            "HelmChartInflationGenerator" => {
                return Err(Failure::new("must specify --enable-helm"));
            }
            _ => return Ok(None),
        }))
    }

    /// Generates the object.
    pub(crate) fn generate(&self, files: &dyn Load) -> Result<Resource> {
        match self {
            Self::ConfigMap(arguments) => config_map::generate(arguments, files),
            Self::Secret { arguments, kind } => secret::generate(arguments, kind, files),
            Self::IamPolicy(policy) => policy.generate(),
        }
    }
}

/// The data sources of ConfigMaps and Secrets.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Arguments {
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) behavior: String,
    pub(crate) literals: Vec<String>,
    pub(crate) files: Vec<String>,
    pub(crate) envs: Vec<String>,
    /// The older, singular form, for kustomization files only.
    pub(crate) env: String,
    pub(crate) options: Option<GeneratorOptions>,
}

impl Arguments {
    pub(crate) fn read(fields: &Fields<'_>) -> Result<Self> {
        Ok(Self {
            namespace: fields.text("namespace")?,
            name: fields.text("name")?,
            behavior: fields.text("behavior")?,
            literals: fields.texts("literals")?,
            files: fields.texts("files")?,
            envs: fields.texts("envs")?,
            env: fields.text("env")?,
            options: fields.object("options", "GeneratorOptions", GeneratorOptions::read)?,
        })
    }

    /// Name and namespace may be in the `metadata` of a generator's configuration.
    fn with_metadata_of(mut self, fields: &Fields<'_>) -> Result<Self> {
        let metadata = fields.object("metadata", "ObjectMeta", |metadata| {
            Ok((metadata.text("name")?, metadata.text("namespace")?))
        })?;
        let (name, namespace) = metadata.unwrap_or_default();
        if self.name.is_empty() {
            self.name = name;
        }
        if self.namespace.is_empty() {
            self.namespace = namespace;
        }
        Ok(self)
    }

    /// Moves the older, singular form of a field to the newer one.
    pub(crate) fn modernized(mut self) -> Self {
        let env = std::mem::take(&mut self.env);
        self.envs.extend(Some(env).filter(|env| !env.is_empty()));
        self
    }

    /// Merges the options of the kustomization; `true` there cannot be overridden.
    pub(crate) fn with_options(mut self, all: Option<&GeneratorOptions>) -> Self {
        if let Some(all) = all {
            let own = self.options.get_or_insert_default();
            let add = |own: &mut BTreeMap<String, String>, all: &BTreeMap<String, String>| {
                for (name, value) in all {
                    own.entry(name.clone()).or_insert_with(|| value.clone());
                }
            };
            add(&mut own.labels, &all.labels);
            add(&mut own.annotations, &all.annotations);
            own.disable_name_suffix_hash |= all.disable_name_suffix_hash;
            own.immutable |= all.immutable;
        }
        self
    }
}

/// Options of generated objects.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct GeneratorOptions {
    pub(crate) labels: BTreeMap<String, String>,
    pub(crate) annotations: BTreeMap<String, String>,
    pub(crate) disable_name_suffix_hash: bool,
    pub(crate) immutable: bool,
}

impl GeneratorOptions {
    pub(crate) fn read(fields: &Fields<'_>) -> Result<Self> {
        Ok(Self {
            labels: fields.map("labels")?.unwrap_or_default(),
            annotations: fields.map("annotations")?.unwrap_or_default(),
            disable_name_suffix_hash: fields.flag("disableNameSuffixHash")?,
            immutable: fields.flag("immutable")?,
        })
    }
}

/// An object with only a name.
fn object(kind: &str, arguments: &Arguments) -> Result<Node> {
    if arguments.name.is_empty() {
        return Err(Failure::new("a configmap must have a name"));
    }
    let mut metadata = vec![(access::untagged("name"), named(&arguments.name))];
    if !arguments.namespace.is_empty() {
        metadata.push((access::untagged("namespace"), named(&arguments.namespace)));
    }
    // The hash of a patched object depends on the line and column of its fields in this text.
    let text = format!("\napiVersion: v1\nkind: {kind}\n");
    let mut object = sluice_yaml::parse_first(text.as_bytes())?.unwrap_or_default().root;
    if let Some(fields) = object.fields_mut() {
        let content = Content::Mapping { fields: metadata, flow: false };
        fields.push((access::untagged("metadata"), Node { content, ..Node::default() }));
    }
    Ok(object)
}

/// A name as kyaml's metadata setter writes it: quoted if YAML 1.1 would parse it as another type.
fn named(text: &str) -> Node {
    let mut node = Node::text(text);
    if sluice_yaml::is_special_in_yaml_1_1(text)
        && let Content::Scalar { style, .. } = &mut node.content
    {
        *style = ScalarStyle::DoubleQuoted;
    }
    node
}

/// A label as kyaml's label setter writes it.
fn quoted(text: &str) -> Node {
    let mut node = Node::text(text);
    if let Content::Scalar { style, .. } = &mut node.content {
        *style = ScalarStyle::SingleQuoted;
    }
    node
}

/// Sets a data map, in order; an empty one is omitted.
pub(crate) fn set_data(node: &mut Node, map: &str, values: BTreeMap<String, String>) -> Result<()> {
    for (key, value) in values {
        config_map::put(node, map, &key, access::lines(value))?;
    }
    Ok(())
}

/// Adds labels, annotations and `immutable`, and the build's annotations of generated objects.
fn finish(node: Node, arguments: &Arguments) -> Result<Resource> {
    let mut resource = Resource::new(node);
    let options = arguments.options.clone().unwrap_or_default();
    for (name, value) in &options.labels {
        let path = ["metadata", "labels"];
        if let Some(labels) = access::lookup_create(&mut resource.node, &path, Kind::Mapping)? {
            access::set(labels, name, quoted(value))?;
        }
    }
    if options.immutable {
        access::set(&mut resource.node, "immutable", Node::scalar("!!bool", "true"))?;
    }
    let behavior = match arguments.behavior.as_str() {
        known @ ("create" | "replace" | "merge") => known,
        _ => "unspecified",
    };
    let mut annotations = options.annotations;
    if !options.disable_name_suffix_hash {
        annotations.insert(annotation::NEEDS_HASH.to_owned(), annotation::ENABLED.to_owned());
    }
    annotations.insert(annotation::BEHAVIOR.to_owned(), behavior.to_owned());
    resource.set_annotations(&annotations)?;
    Ok(resource)
}
