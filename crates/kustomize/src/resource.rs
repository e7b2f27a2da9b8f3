//! One object of a build, with its history.
//!
//! As in kustomize, its history (former names, prefixes, whether a hash is needed) is in annotations of the object
//! itself: patches can see and remove them, and users rely on the resulting behaviour without knowing. They are
//! removed at the end of a build.

use std::collections::BTreeMap;
use std::sync::Arc;

use sluice_yaml::Node;

use crate::access::{self, Kind};
use crate::failure::{Failure, Result};
use crate::id::{Gvk, ResourceId};
use crate::openapi::Schema;
use crate::place::Trace;

/// Annotations that exist only during a build.
pub(crate) mod annotation {
    pub(crate) const PREVIOUS_KINDS: &str = "internal.config.kubernetes.io/previousKinds";
    pub(crate) const PREVIOUS_NAMES: &str = "internal.config.kubernetes.io/previousNames";
    pub(crate) const PREVIOUS_NAMESPACES: &str = "internal.config.kubernetes.io/previousNamespaces";
    pub(crate) const PREFIXES: &str = "internal.config.kubernetes.io/prefixes";
    pub(crate) const SUFFIXES: &str = "internal.config.kubernetes.io/suffixes";
    pub(crate) const REFERRED_BY: &str = "internal.config.kubernetes.io/refBy";
    pub(crate) const BEHAVIOR: &str = "internal.config.kubernetes.io/generatorBehavior";
    pub(crate) const NEEDS_HASH: &str = "internal.config.kubernetes.io/needsHashSuffix";
    pub(crate) const ALLOW_NAME_CHANGE: &str = "internal.config.kubernetes.io/allowNameChange";
    pub(crate) const ALLOW_KIND_CHANGE: &str = "internal.config.kubernetes.io/allowKindChange";
    pub(crate) const HELM_GENERATED: &str = "internal.config.kubernetes.io/helm-generated";
    pub(crate) const ORIGIN: &str = "config.kubernetes.io/origin";
    pub(crate) const TRANSFORMATIONS: &str = "alpha.config.kubernetes.io/transformations";
    pub(crate) const LOCAL_CONFIG: &str = "config.kubernetes.io/local-config";
    /// The value of an enabled flag.
    pub(crate) const ENABLED: &str = "enabled";

    /// All annotations that are removed at the end, whichever step added them.
    pub(crate) const OF_THE_BUILD: [&str; 19] = [
        PREVIOUS_KINDS,
        PREVIOUS_NAMES,
        PREFIXES,
        SUFFIXES,
        PREVIOUS_NAMESPACES,
        ALLOW_NAME_CHANGE,
        ALLOW_KIND_CHANGE,
        REFERRED_BY,
        BEHAVIOR,
        NEEDS_HASH,
        "internal.config.kubernetes.io/path",
        "internal.config.kubernetes.io/index",
        "internal.config.kubernetes.io/seqindent",
        "internal.config.kubernetes.io/id",
        "internal.config.kubernetes.io/annotations-migration-resource-id",
        "config.kubernetes.io/path",
        "config.kubernetes.io/index",
        "config.k8s.io/id",
        HELM_GENERATED,
    ];
}

/// One object of a build.
#[derive(Debug, Clone)]
pub(crate) struct Resource {
    /// The object; null after a patch deleted it.
    pub(crate) node: Node,
    /// The file it was read from, for messages.
    pub(crate) file: Option<Arc<str>>,
    /// The line of the file that it began at when it was read; patches may move its node.
    pub(crate) line: usize,
    /// What is known about its way through the build, if that is asked for.
    pub(crate) trace: Option<Box<Trace>>,
    /// The vars that refer to it; they follow when it is renamed or merged.
    pub(crate) var_names: Vec<String>,
    /// The number of its shared values; see `sharing.rs`.
    pub(crate) shared_values: usize,
}

impl Resource {
    pub(crate) fn new(node: Node) -> Self {
        Self { node, file: None, line: 0, trace: None, var_names: Vec::new(), shared_values: 0 }
    }

    /// Whether it was deleted.
    pub(crate) fn is_empty(&self) -> bool {
        access::is_empty(&self.node)
    }

    pub(crate) fn kind(&self) -> &str {
        top(&self.node, "kind")
    }

    pub(crate) fn api_version(&self) -> &str {
        top(&self.node, "apiVersion")
    }

    pub(crate) fn gvk(&self) -> Gvk {
        Gvk::new(self.api_version(), self.kind())
    }

    pub(crate) fn name(&self) -> &str {
        meta_text(&self.node, "name")
    }

    pub(crate) fn namespace(&self) -> &str {
        meta_text(&self.node, "namespace")
    }

    pub(crate) fn set_kind(&mut self, kind: &str) -> Result<()> {
        access::set(&mut self.node, "kind", access::untagged(kind))
    }

    pub(crate) fn set_api_version(&mut self, api_version: &str) -> Result<()> {
        access::set(&mut self.node, "apiVersion", access::untagged(api_version))
    }

    pub(crate) fn set_name(&mut self, name: &str) -> Result<()> {
        self.set_meta(name, "name")
    }

    /// Sets the namespace; an empty one removes the field.
    pub(crate) fn set_namespace(&mut self, namespace: &str) -> Result<()> {
        if !namespace.is_empty() {
            return self.set_meta(namespace, "namespace");
        }
        match access::lookup_mut(&mut self.node, &["metadata"])? {
            Some(metadata) => access::clear(metadata, "namespace"),
            None => Ok(()),
        }
    }

    fn set_meta(&mut self, text: &str, field: &str) -> Result<()> {
        match access::lookup_create(&mut self.node, &["metadata"], Kind::Mapping)? {
            Some(metadata) => access::set(metadata, field, access::untagged(text)),
            None => Ok(()),
        }
    }

    pub(crate) fn labels(&self) -> BTreeMap<String, String> {
        meta_map(&self.node, "labels")
    }

    pub(crate) fn annotations(&self) -> BTreeMap<String, String> {
        meta_map(&self.node, "annotations")
    }

    pub(crate) fn annotation(&self, name: &str) -> Option<&str> {
        let annotations = metadata(&self.node)?.field("annotations")?;
        annotations.field(name).map(|value| value.as_text().unwrap_or_default())
    }

    pub(crate) fn set_labels(&mut self, labels: &BTreeMap<String, String>) -> Result<()> {
        set_meta_map(&mut self.node, "labels", labels)
    }

    pub(crate) fn set_annotations(&mut self, map: &BTreeMap<String, String>) -> Result<()> {
        set_meta_map(&mut self.node, "annotations", map)
    }

    /// Changes the annotations and writes them sorted.
    pub(crate) fn edit_annotations(
        &mut self,
        edit: impl FnOnce(&mut BTreeMap<String, String>),
    ) -> Result<()> {
        let mut annotations = self.annotations();
        edit(&mut annotations);
        self.set_annotations(&annotations)
    }

    /// Whether a build annotation is enabled.
    pub(crate) fn is_enabled(&self, switch: &str) -> bool {
        self.annotation(switch) == Some(annotation::ENABLED)
    }

    pub(crate) fn enable(&mut self, switch: &str) -> Result<()> {
        self.edit_annotations(|annotations| {
            annotations.insert(switch.to_owned(), annotation::ENABLED.to_owned());
        })
    }

    /// The list in a build annotation.
    pub(crate) fn history(&self, name: &str) -> Vec<&str> {
        self.annotation(name).map(|text| text.split(',').collect()).unwrap_or_default()
    }

    /// Appends a value to the list in a build annotation; an empty one is dropped.
    pub(crate) fn append_history(&mut self, name: &str, value: &str) -> Result<()> {
        if value.is_empty() {
            return Ok(());
        }
        let text = match self.annotation(name) {
            Some(before) => format!("{before},{value}"),
            None => value.to_owned(),
        };
        set_annotation(&mut self.node, name, text)
    }

    /// The current id.
    pub(crate) fn id(&self, schema: &Schema) -> ResourceId {
        let (api_version, kind) = (self.api_version(), self.kind());
        ResourceId {
            gvk: Gvk::new(api_version, kind),
            name: self.name().to_owned(),
            namespace: self.namespace().to_owned(),
            cluster_scoped: schema.is_certainly_cluster_scoped(api_version, kind),
        }
    }

    /// The former ids, oldest first. As in kustomize, they have no scope.
    pub(crate) fn previous_ids(&self) -> Vec<ResourceId> {
        let names = self.history(annotation::PREVIOUS_NAMES);
        let namespaces = self.history(annotation::PREVIOUS_NAMESPACES);
        let kinds = self.history(annotation::PREVIOUS_KINDS);
        let api_version = self.api_version();
        let ids = names.iter().zip(&namespaces).zip(&kinds);
        ids.map(|((name, namespace), kind)| ResourceId {
            gvk: Gvk::new(api_version, kind),
            name: (*name).to_owned(),
            namespace: (*namespace).to_owned(),
            cluster_scoped: false,
        })
        .collect()
    }

    /// Fails for an incomplete history, as of an object that was renamed while it had no name.
    pub(crate) fn check_history(&self) -> Result<()> {
        let length = |name| self.annotation(name).map_or(1, |text| text.split(',').count());
        let Some(names) = self.annotation(annotation::PREVIOUS_NAMES) else { return Ok(()) };
        let names = names.split(',').count();
        if names == length(annotation::PREVIOUS_NAMESPACES)
            && names == length(annotation::PREVIOUS_KINDS)
        {
            return Ok(());
        }
        Err(self.located(Failure::new(
            "number of previous names, number of previous namespaces, number of previous kinds not equal",
        )
        .hint("the object lost its name or its kind on the way, as by a patch")))
    }

    /// The original id.
    pub(crate) fn original_id(&self, schema: &Schema) -> ResourceId {
        self.previous_ids().into_iter().next().unwrap_or_else(|| self.id(schema))
    }

    /// Records the current id before a change.
    pub(crate) fn store_id(&mut self, schema: &Schema) -> Result<()> {
        let id = self.id(schema);
        self.append_history(annotation::PREVIOUS_NAMES, &id.name)?;
        self.append_history(annotation::PREVIOUS_NAMESPACES, id.effective_namespace())?;
        self.append_history(annotation::PREVIOUS_KINDS, &id.gvk.kind)
    }

    /// Removes the build annotations.
    #[cfg(test)]
    pub(crate) fn remove_build_annotations(&mut self) -> Result<()> {
        if self.annotations().is_empty() {
            return Ok(());
        }
        self.edit_annotations(|annotations| {
            for name in annotation::OF_THE_BUILD {
                annotations.remove(name);
            }
        })
    }

    /// The object in messages, without its scope.
    pub(crate) fn describe(node: &Node) -> ResourceId {
        ResourceId {
            gvk: Gvk::new(top(node, "apiVersion"), top(node, "kind")),
            name: meta_text(node, "name").to_owned(),
            namespace: meta_text(node, "namespace").to_owned(),
            cluster_scoped: false,
        }
    }

    /// Adds the position of the object to a failure without one.
    pub(crate) fn located(&self, failure: Failure) -> Failure {
        match &self.file {
            Some(file) => failure.in_file(file).at(self.node.position),
            None => failure,
        }
    }

    /// The object as kustomize prints it.
    #[cfg(test)]
    pub(crate) fn to_yaml(&self) -> Result<String> {
        Ok(sluice_yaml::from_json(&self.node.marshal_json()?))
    }
}

fn top<'n>(node: &'n Node, name: &str) -> &'n str {
    node.field(name).and_then(Node::as_text).unwrap_or_default()
}

fn metadata(node: &Node) -> Option<&Node> {
    node.field("metadata").filter(|metadata| !access::is_empty(metadata))
}

fn meta_text<'n>(node: &'n Node, name: &str) -> &'n str {
    let value = metadata(node).and_then(|metadata| metadata.field(name));
    value.map(access::text).unwrap_or_default()
}

fn meta_map(node: &Node, name: &str) -> BTreeMap<String, String> {
    let fields = metadata(node).and_then(|metadata| metadata.field(name)).map(Node::fields);
    let text = |node: &Node| node.as_text().unwrap_or_default().to_owned();
    fields.unwrap_or_default().iter().map(|(key, value)| (text(key), text(value))).collect()
}

/// Writes a map of strings into the metadata, sorted; an empty one removes the field.
fn set_meta_map(node: &mut Node, name: &str, map: &BTreeMap<String, String>) -> Result<()> {
    let Some(metadata) = access::lookup_create(node, &["metadata"], Kind::Mapping)? else {
        return Ok(());
    };
    access::clear(metadata, name)?;
    if map.is_empty() {
        return Ok(());
    }
    if let Some(made) = access::lookup_create(metadata, &[name], Kind::Mapping)? {
        for (key, value) in map {
            access::set(made, key, access::lines(value.as_str()))?;
        }
    }
    Ok(())
}

/// Sets one annotation, quoted; removes empty annotations and metadata first.
pub(crate) fn set_annotation(node: &mut Node, name: &str, value: String) -> Result<()> {
    let is_hollow = |node: &Node| node.fields().is_empty() && node.items().is_empty();
    if let Some(metadata) = access::lookup_mut(node, &["metadata"])? {
        access::expect(metadata, Kind::Mapping)?;
        if metadata.field("annotations").is_some_and(is_hollow) {
            metadata.remove_field("annotations");
        }
    }
    if node.field("metadata").is_some_and(is_hollow) {
        node.remove_field("metadata");
    }
    let path = ["metadata", "annotations"];
    if let Some(annotations) = access::lookup_create(node, &path, Kind::Mapping)? {
        let mut value = Node::text(value);
        if let sluice_yaml::Content::Scalar { style, .. } = &mut value.content {
            *style = sluice_yaml::ScalarStyle::SingleQuoted;
        }
        access::set(annotations, name, value)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{Resource, annotation};
    use crate::openapi::Schema;

    fn resource(text: &str) -> Resource {
        Resource::new(sluice_yaml::parse(text.as_bytes()).unwrap().remove(0).root)
    }

    #[test]
    fn a_resource_remembers_who_it_was() {
        let schema = Schema::builtin();
        let mut it = resource("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n");
        it.store_id(&schema).unwrap();
        it.set_name("b").unwrap();
        it.set_namespace("n").unwrap();
        it.store_id(&schema).unwrap();
        it.set_name("c").unwrap();
        let ids: Vec<String> = it.previous_ids().iter().map(ToString::to_string).collect();
        assert_eq!(ids, ["ConfigMap.v1.[noGrp]/a.default", "ConfigMap.v1.[noGrp]/b.n"]);
        assert_eq!(it.id(&schema).to_string(), "ConfigMap.v1.[noGrp]/c.n");
        assert_eq!(it.original_id(&schema).name, "a");
        it.enable(annotation::NEEDS_HASH).unwrap();
        assert!(it.is_enabled(annotation::NEEDS_HASH));
        it.remove_build_annotations().unwrap();
        it.set_namespace("").unwrap();
        assert_eq!(
            it.to_yaml().unwrap(),
            "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: c\n"
        );
    }
}
