//! Origin and transformation annotations of `buildMetadata`.

use serde_json::Value;
use sluice_yaml::{Duplicates, Node, SequenceIndent};

use crate::decode::{Fields, Unknown};
use crate::failure::Result;
use crate::loader::{Repository, path};
use crate::resource::{self, Resource, annotation};

/// The origin of a resource, or of a transformer's configuration.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Origin {
    path: String,
    repository: String,
    reference: String,
    configured_in: String,
    configured_by: Configurer,
}

/// The object that configured a generator or a transformer; for built-in ones only the kind.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Configurer {
    api_version: String,
    kind: String,
    name: String,
    namespace: String,
}

impl Origin {
    /// The origin of a file or directory below.
    pub(crate) fn append(&self, name: &str) -> Self {
        match Repository::parse(name) {
            Some(repository) => Self {
                // kustomize uses the directory before it has cloned into it.
                path: match repository.path.as_str() {
                    "" => "notCloned".to_owned(),
                    inside => path::clean(inside),
                },
                repository: repository.url,
                reference: repository.reference,
                ..self.clone()
            },
            None => Self { path: path::join(&self.path, name), ..self.clone() },
        }
    }

    /// The origin of what a field of this kustomization file generates or transforms.
    pub(crate) fn of_builtin(&self, file_name: &str, kind: &str) -> Self {
        Self {
            path: String::new(),
            configured_in: path::join(&self.path, file_name),
            configured_by: Configurer {
                api_version: "builtin".to_owned(),
                kind: kind.to_owned(),
                ..Configurer::default()
            },
            ..self.clone()
        }
    }

    /// The origin of what a configuration object generates or transforms.
    pub(crate) fn of_configurer(resource: &Resource) -> Result<Option<Self>> {
        let Some(origin) = Self::of(resource)? else { return Ok(None) };
        Ok(Some(Self {
            path: String::new(),
            configured_in: origin.path,
            configured_by: Configurer {
                api_version: resource.api_version().to_owned(),
                kind: resource.kind().to_owned(),
                name: resource.name().to_owned(),
                namespace: resource.namespace().to_owned(),
            },
            repository: origin.repository,
            reference: origin.reference,
        }))
    }

    /// The origin annotation of a resource.
    pub(crate) fn of(resource: &Resource) -> Result<Option<Self>> {
        let Some(text) = resource.annotation(annotation::ORIGIN) else { return Ok(None) };
        let value = sluice_yaml::to_json(text.as_bytes(), Duplicates::LastWins)?;
        Self::read(&value.unwrap_or_default()).map(Some)
    }

    fn read(value: &Value) -> Result<Self> {
        let fields = Fields::converting(value, "Origin", Unknown::Ignored)?;
        let configurer = fields.object("configuredBy", "ResourceIdentifier", |fields| {
            Ok(Configurer {
                api_version: fields.text("apiVersion")?,
                kind: fields.text("kind")?,
                name: fields.text("name")?,
                namespace: fields.text("namespace")?,
            })
        })?;
        Ok(Self {
            path: fields.text("path")?,
            repository: fields.text("repo")?,
            reference: fields.text("ref")?,
            configured_in: fields.text("configuredIn")?,
            configured_by: configurer.unwrap_or_default(),
        })
    }

    fn to_node(&self) -> Node {
        let by = &self.configured_by;
        let mut fields = texts([
            ("path", &self.path),
            ("repo", &self.repository),
            ("ref", &self.reference),
            ("configuredIn", &self.configured_in),
        ]);
        let by = texts([
            ("apiVersion", &by.api_version),
            ("kind", &by.kind),
            ("name", &by.name),
            ("namespace", &by.namespace),
        ]);
        if !by.is_empty() {
            fields.push((Node::text("configuredBy"), Node::mapping(by)));
        }
        Node::mapping(fields)
    }

    /// Adds the origin to a resource that was just read; its other annotations stay as written.
    pub(crate) fn note_on(&self, resource: &mut Resource) -> Result<()> {
        let text = self.to_node().to_yaml(SequenceIndent::Compact);
        resource::set_annotation(&mut resource.node, annotation::ORIGIN, text)
    }

    /// Sets the origin of a resource.
    pub(crate) fn set_on(&self, resource: &mut Resource) -> Result<()> {
        let text = self.to_node().to_yaml(SequenceIndent::Compact);
        write(resource, annotation::ORIGIN, text)
    }

    /// Sets the origin of all resources without one.
    pub(crate) fn set_where_missing(&self, resource: &mut Resource) -> Result<()> {
        match Self::of(resource) {
            Ok(None) => self.set_on(resource),
            _ => Ok(()),
        }
    }

    /// Records that this transformed a resource, or generated it, if it has no origin.
    pub(crate) fn note_change_of(&self, resource: &mut Resource) -> Result<()> {
        if Self::of(resource)?.is_none() {
            return self.set_on(resource);
        }
        let mut changes = Vec::new();
        if let Some(text) = resource.annotation(annotation::TRANSFORMATIONS) {
            let value = sluice_yaml::to_json(text.as_bytes(), Duplicates::LastWins)?;
            let value = serde_json::json!({ "changes": value });
            let fields = Fields::converting(&value, "Transformations", Unknown::Ignored)?;
            changes = fields.list("changes", Self::read)?;
        }
        let mut changes: Vec<Node> = changes.iter().map(Self::to_node).collect();
        changes.push(self.to_node());
        let text = Node::sequence(changes).to_yaml(SequenceIndent::Compact);
        write(resource, annotation::TRANSFORMATIONS, text)
    }
}

/// All annotations are written anew, so that their values are no longer shared with other fields.
fn write(resource: &mut Resource, name: &str, text: String) -> Result<()> {
    resource.edit_annotations(|annotations| {
        annotations.insert(name.to_owned(), text);
    })
}

fn texts<const N: usize>(entries: [(&str, &String); N]) -> Vec<(Node, Node)> {
    let entries = entries.into_iter().filter(|(_, value)| !value.is_empty());
    entries.map(|(name, value)| (Node::text(name), Node::encoded_text(value))).collect()
}

#[cfg(test)]
mod tests {
    use super::Origin;
    use crate::resource::{Resource, annotation};

    #[test]
    fn origins_follow_the_way_to_a_resource() {
        let text = "apiVersion: v1\nkind: Service\nmetadata: {name: a}\n";
        let mut it = Resource::new(sluice_yaml::parse(text.as_bytes()).unwrap().remove(0).root);
        let base = Origin::default().append("../base");
        base.append("service.yaml").set_on(&mut it).unwrap();
        assert_eq!(it.annotation(annotation::ORIGIN), Some("path: ../base/service.yaml\n"));
        let prefix = base.of_builtin("kustomization.yaml", "PrefixTransformer");
        prefix.note_change_of(&mut it).unwrap();
        prefix.note_change_of(&mut it).unwrap();
        let change = "- configuredIn: ../base/kustomization.yaml\n  configuredBy:\n    \
                      apiVersion: builtin\n    kind: PrefixTransformer\n";
        assert_eq!(it.annotation(annotation::TRANSFORMATIONS), Some(change.repeat(2).as_str()));
        let remote = Origin::default().append("github.com/org/repo/base?ref=v1").append("a.yaml");
        remote.set_on(&mut it).unwrap();
        let origin = "path: base/a.yaml\nrepo: https://github.com/org/repo\nref: v1\n";
        assert_eq!(it.annotation(annotation::ORIGIN), Some(origin));
    }
}
