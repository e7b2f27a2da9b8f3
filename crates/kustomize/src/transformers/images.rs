//! `images` and `ImageTagTransformer`: names, tags and digests of images.
//!
//! kustomize visits an object twice for every image: all lists called `containers` or `initContainers` at any depth,
//! then the fields of its table; a field in both is changed twice. Here all images of a kustomization are applied in
//! one pass: a change of one reference does not depend on others, so each is taken through all images when it is
//! visited.

use std::collections::HashSet;

use regex::Regex;
use serde_json::Value;
use sluice_yaml::{Content, Node};

use super::{FieldSteps, Load, Transformer};
use crate::access::{self, Kind};
use crate::config::Specs;
use crate::decode::{Fields, Unknown};
use crate::failure::Result;
use crate::field_spec::{FieldSpec, SpecsByKind};
use crate::openapi::Schema;
use crate::resource::Resource;
use crate::resources::Resources;
use crate::selector::compile;

/// The new parts of an image. Empty ones are kept.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Image {
    /// A pattern for the current name.
    pub(crate) name: String,
    pub(crate) new_name: String,
    pub(crate) tag_suffix: String,
    pub(crate) new_tag: String,
    pub(crate) digest: String,
}

impl Image {
    pub(crate) fn read(fields: &Fields<'_>) -> Result<Self> {
        Ok(Self {
            name: fields.text("name")?,
            new_name: fields.text("newName")?,
            tag_suffix: fields.text("tagSuffix")?,
            new_tag: fields.text("newTag")?,
            digest: fields.text("digest")?,
        })
    }

    /// The reference with new parts.
    fn change(&self, reference: &str) -> String {
        let (mut name, mut tag, mut digest) = split(reference);
        if !self.new_name.is_empty() {
            name = &self.new_name;
        }
        let suffixed;
        if !self.new_tag.is_empty() || !self.digest.is_empty() {
            (tag, digest) = (&self.new_tag, &self.digest);
        } else if !self.tag_suffix.is_empty() {
            suffixed = format!("{tag}{}", self.tag_suffix);
            (tag, digest) = (&suffixed, "");
        }
        let mut changed = name.to_owned();
        for (mark, part) in [(':', tag), ('@', digest)] {
            if !part.is_empty() {
                changed.push(mark);
                changed.push_str(part);
            }
        }
        changed
    }
}

/// Name, tag and digest of a reference; the part before the first `/` may have a port.
fn split(reference: &str) -> (&str, &str, &str) {
    let from = reference.find('/').unwrap_or(0);
    let find = |mark| reference.get(from..)?.find(mark).map(|at: usize| from + at);
    let part = |from: usize, to: usize| reference.get(from..to).unwrap_or_default();
    let end = reference.len();
    match (find(':'), find('@')) {
        (None, None) => (reference, "", ""),
        (Some(colon), None) => (part(0, colon), part(colon + 1, end), ""),
        (Some(colon), Some(at)) if colon < at => {
            (part(0, colon), part(colon + 1, at), part(at + 1, end))
        }
        (_, Some(at)) => (part(0, at), "", part(at + 1, end)),
    }
}

/// Changes image references.
#[derive(Debug, Clone)]
pub(crate) struct Images {
    images: Vec<(Image, Regex)>,
    specs: Specs,
}

impl Images {
    pub(crate) fn new(images: Vec<Image>, specs: Specs) -> Result<Self> {
        let compile = |image: Image| {
            let end = "(:[a-zA-Z0-9_.{}-]*)?(@sha256:[a-zA-Z0-9_.{}-]*)?$";
            let pattern = compile(&format!("^{}{end}", image.name));
            let pattern = pattern.map_err(|failure| {
                failure.context(format_args!("images: name {:?}", image.name))
            })?;
            Ok((image, pattern))
        };
        Ok(Self { images: images.into_iter().map(compile).collect::<Result<_>>()?, specs })
    }

    /// `images`: one step, which stands for one of kustomize's for each entry.
    pub(super) fn field(steps: &mut FieldSteps<'_>) {
        let images = &steps.kustomization.images;
        if !images.is_empty() {
            let made = Self::new(images.clone(), steps.config.images.clone());
            steps.add("ImageTagTransformer", "images", None, made);
            steps.repeat_last(images.len());
        }
    }

    pub(crate) fn from_config(config: &Value, _: &dyn Load) -> Result<Self> {
        let fields = Fields::converting(config, "ImageTagTransformerPlugin", Unknown::Ignored)?;
        let image = fields.object("imageTag", "Image", Image::read)?.unwrap_or_default();
        let specs = fields.objects("fieldSpecs", "FieldSpec", FieldSpec::read)?;
        Self::new(vec![image], specs.into())
    }

    /// Applies all images to one reference, as often as kustomize visits it; returns whether one matched.
    fn set(&self, node: &mut Node, times: usize) -> Result<bool> {
        access::expect(node, Kind::Scalar)?;
        let mut is_changed = false;
        for (image, pattern) in &self.images {
            for _ in 0..times {
                let reference = node.as_text().unwrap_or_default();
                if pattern.is_match(reference) {
                    let changed = image.change(reference);
                    access::set_scalar(node, access::untagged(changed))?;
                    is_changed = true;
                }
            }
        }
        Ok(is_changed)
    }

    /// Changes the references of a resource; gives whether there was one to change.
    fn change(&self, resource: &mut Resource, specs: &mut SpecsByKind<'_>) -> Result<bool> {
        let mut is_changed = false;
        if resource.kind() == "CustomResourceDefinition" {
            return Ok(is_changed);
        }
        let mut in_table = HashSet::new();
        specs.apply(&mut resource.node, None, &mut |node| {
            in_table.insert(std::ptr::from_ref(node).addr());
            Ok(())
        })?;
        visit_containers(&mut resource.node, &mut |node| {
            let times = if in_table.remove(&std::ptr::from_ref(node).addr()) { 2 } else { 1 };
            is_changed |= self.set(node, times)?;
            Ok(())
        })?;
        if in_table.is_empty() {
            return Ok(is_changed);
        }
        specs.apply(&mut resource.node, None, &mut |node| {
            if in_table.contains(&std::ptr::from_ref(node).addr()) {
                is_changed |= self.set(node, 1)?;
            }
            Ok(())
        })?;
        Ok(is_changed)
    }
}

/// Calls `set` on the `image` of every element of container lists.
fn visit_containers(node: &mut Node, set: &mut dyn FnMut(&mut Node) -> Result<()>) -> Result<()> {
    match &mut node.content {
        Content::Mapping { fields, .. } => {
            for (key, value) in fields {
                visit_containers(value, set)?;
                if !matches!(key.as_text(), Some("containers" | "initContainers")) {
                    continue;
                }
                for container in value.items_mut().into_iter().flatten() {
                    if let Some(image) = access::lookup_mut(container, &["image"])? {
                        set(image)?;
                    }
                }
            }
        }
        Content::Sequence { items, .. } => {
            for item in items {
                visit_containers(item, set)?;
            }
        }
        Content::Scalar { .. } | Content::Alias(_) => {}
    }
    Ok(())
}

impl Transformer for Images {
    fn transform(&self, resources: &mut Resources, _: &Schema) -> Result<()> {
        let mut specs = SpecsByKind::new(self.specs.iter());
        let changing = resources.changing();
        for resource in resources.iter_mut_keeping_ids().filter(|resource| !resource.is_empty()) {
            let is_changed = self.change(resource, &mut specs)?;
            if let Some(entry) = changing.as_ref().filter(|_| is_changed) {
                resource.changed_by(entry, None);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{Image, Images};
    use crate::config::TransformerConfig;
    use crate::transformers::testing::transformed;

    fn image([name, new_name, new_tag, digest, tag_suffix]: [&str; 5]) -> Image {
        let [name, new_name, new_tag, digest, tag_suffix] =
            [name, new_name, new_tag, digest, tag_suffix].map(str::to_owned);
        Image { name, new_name, tag_suffix, new_tag, digest }
    }

    #[test]
    fn the_parts_of_references_are_exchanged() {
        let cases = [
            (["nginx", "", "2", "", ""], "nginx:1", "nginx:2"),
            (["nginx", "", "2", "", ""], "nginx:1@sha256:ab", "nginx:2"),
            (["nginx", "", "", "sha256:ff", ""], "nginx:1", "nginx@sha256:ff"),
            (["nginx", "", "2", "sha256:ff", ""], "nginx", "nginx:2@sha256:ff"),
            (["nginx", "my/nginx", "", "", ""], "nginx:1@sha256:ab", "my/nginx:1@sha256:ab"),
            (["host:80/a/nginx", "b", "", "", ""], "host:80/a/nginx:1", "b:1"),
            (["host:80/a/nginx", "", "2", "", ""], "host:80/a/nginx", "host:80/a/nginx:2"),
            (["ngin.", "", "2", "", ""], "nginy:1", "nginy:2"),
            (["nginx", "", "2", "", ""], "mynginx:1", "mynginx:1"),
            (["nginx", "", "2", "", ""], "a/nginx:1", "a/nginx:1"),
            (["{REG}/nginx", "x", "", "", ""], "{REG}/nginx:1", "x:1"),
            // Both visits add it.
            (["nginx", "", "", "", "-a"], "nginx:1", "nginx:1-a-a"),
        ];
        let specs = &TransformerConfig::default_config().images;
        for (parts, before, after) in cases {
            let transformer = Images::new(vec![image(parts)], specs.clone()).unwrap();
            let pod = |image: &str| {
                format!(
                    "apiVersion: v1\nkind: Pod\nmetadata:\n  name: p\nspec:\n  containers:\n  - image: '{image}'\n"
                )
            };
            let result = transformed(&transformer, &pod(before)).unwrap();
            let expected = pod(after).replace('\'', "").replace("image: {REG}", "image: '{REG}");
            assert_eq!(result, expected, "{parts:?}");
        }
    }

    #[test]
    fn containers_are_found_anywhere_but_not_in_definitions() {
        let images = vec![image(["a", "b", "", "", ""]), image(["b", "c", "", "", ""])];
        let specs = &TransformerConfig::default_config().images;
        let transformer = Images::new(images, specs.clone()).unwrap();
        let text = |kind: &str, image: &str| {
            format!(
                "apiVersion: v1\nkind: {kind}\nmetadata:\n  name: p\nspec:\n  deep:\n  - initContainers:\n    - image: {image}\n    - name: none\n  volumes:\n  - image:\n      reference: {image}\n"
            )
        };
        assert_eq!(transformed(&transformer, &text("Any", "a")).unwrap(), text("Any", "c"));
        let definition = text("CustomResourceDefinition", "a");
        assert_eq!(transformed(&transformer, &definition).unwrap(), definition);
        let wrong = "apiVersion: v1\nkind: Any\nmetadata:\n  name: p\ncontainers: [a]\n";
        assert!(transformed(&transformer, wrong).is_err());
        assert!(Images::new(vec![image(["(", "", "", "", ""])], specs.clone()).is_err());
    }
}
