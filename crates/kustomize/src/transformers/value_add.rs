//! `ValueAddTransformer`: adds one value to many fields, or as a part of paths in them.

use serde_json::Value;
use sluice_yaml::Duplicates;

use super::namespace::{Namespace, Setter};
use super::{Load, Transformer};
use crate::access::{self, Kind};
use crate::config::Specs;
use crate::decode::{Fields, Unknown};
use crate::failure::{Failure, Result};
use crate::openapi::Schema;
use crate::resource::Resource;
use crate::resources::Resources;
use crate::selector::Selector;
use crate::sharing;

/// A target of the value.
#[derive(Debug, Clone)]
struct Target {
    /// All resources if absent.
    selector: Option<Selector>,
    path: String,
    /// The index, from one, in the path that the field holds; zero replaces the field.
    place: usize,
}

impl Target {
    fn read(fields: &Fields<'_>) -> Result<Self> {
        let path = fields.text("fieldPath")?;
        let selector = fields.object("selector", "Selector", Selector::read)?;
        let place = fields.integer("filePathPosition")?;
        if path.is_empty() {
            return Err(Failure::new("fieldPath cannot be empty"));
        }
        let place = usize::try_from(place).map_err(|_| {
            Failure::new(format!("value of FilePathPosition ({place}) cannot be negative"))
        })?;
        Ok(Self { selector, path, place })
    }
}

/// Puts a value into fields.
#[derive(Debug, Clone)]
pub(crate) struct ValueAdd {
    value: String,
    targets: Vec<Target>,
}

impl ValueAdd {
    pub(crate) fn from_config(config: &Value, files: &dyn Load) -> Result<Self> {
        let fields = Fields::converting(config, "ValueAddTransformerPlugin", Unknown::Ignored)?;
        let mut value = fields.text("value")?.trim().to_owned();
        if value.is_empty() {
            files.root().rsplit('/').next().unwrap_or_default().clone_into(&mut value);
        }
        let mut targets = fields.objects("targets", "Target", Target::read)?;
        let file = fields.text("targetFilePath")?;
        if !file.is_empty() {
            let text = files.load(&file)?;
            let more = sluice_yaml::to_json(&text, Duplicates::LastWins)?.unwrap_or_default();
            let more = Fields::converting(&more, "", Unknown::Ignored)?;
            let more = more.objects("targets", "Target", Target::read);
            targets.extend(more.map_err(|failure| failure.in_file(&file))?);
        }
        if targets.is_empty() {
            return Err(Failure::new("must specify at least one target"));
        }
        Ok(Self { value, targets })
    }

    fn set(&self, resource: &mut Resource, target: &Target) -> Result<()> {
        // Unlike in field specs, a leading delimiter is not special: empty parts are dropped when the path is
        // walked.
        let mut parts: Vec<String> = Vec::new();
        for piece in target.path.split('/') {
            match parts.last_mut() {
                Some(last) if last.ends_with('\\') => {
                    last.pop();
                    last.push('/');
                    last.push_str(piece);
                }
                _ => parts.push(piece.to_owned()),
            }
        }
        let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
        let Some(field) = access::lookup_create(&mut resource.node, &parts, Kind::Scalar)? else {
            return Ok(());
        };
        access::expect(field, Kind::Scalar)?;
        let value = if target.place == 0 {
            self.value.clone()
        } else {
            insert_part(field.as_text().unwrap_or_default(), target.place - 1, &self.value)
        };
        access::set_scalar(field, access::untagged(value))?;
        sharing::settle(resource);
        Ok(())
    }
}

/// Inserts a part into a path. An absolute path stays absolute, and indexes count after its root.
fn insert_part(path: &str, place: usize, part: &str) -> String {
    let (root, path) = path.strip_prefix('/').map_or(("", path), |path| ("/", path));
    let mut parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    parts.insert(place.min(parts.len()), part);
    format!("{root}{}", parts.join("/"))
}

impl Transformer for ValueAdd {
    fn transform(&self, resources: &mut Resources, schema: &Schema) -> Result<()> {
        let namespace = Namespace::new(self.value.clone(), Specs::default());
        for target in &self.targets {
            let selected = match &target.selector {
                None => (0..resources.len()).collect(),
                Some(selector) => selector.compile()?.select(resources, schema)?,
            };
            let mut setter = Setter::new(&namespace);
            for position in selected {
                let changed = resources.change(position, schema, |resource| {
                    if target.path == "metadata/namespace" {
                        setter.change(resource, schema)
                    } else {
                        self.set(resource, target)
                    }
                });
                changed.unwrap_or(Ok(()))?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{ValueAdd, insert_part};
    use crate::transformers::testing::{config, transformed};

    #[test]
    fn parts_go_into_paths() {
        let cases = [
            ("", 0, "P"),
            ("/", 0, "/P"),
            ("pie", 0, "P/pie"),
            ("/pie", 0, "/P/pie"),
            ("raw", 1, "raw/P"),
            ("/raw", 9, "/raw/P"),
            ("a/nice/warm/pie", 3, "a/nice/warm/P/pie"),
            ("/a/nice/warm/pie", 3, "/a/nice/warm/P/pie"),
        ];
        for (path, place, expected) in cases {
            assert_eq!(insert_part(path, place, "P"), expected, "{path} {place}");
        }
    }

    fn add(targets: &Value, value: &str) -> crate::failure::Result<ValueAdd> {
        config(&json!({"value": value, "targets": targets}), ValueAdd::from_config)
    }

    #[test]
    fn fields_get_the_value() {
        let given = "apiVersion: v1\nkind: Thing\nmetadata:\n  name: it\nspec:\n  path: /a/b\n";
        let cases = [
            (json!([{"fieldPath": "spec/path"}]), "v", given.replace("/a/b", "v")),
            (
                json!([{"fieldPath": "spec/path", "filePathPosition": 2}]),
                "v",
                given.replace("/a/b", "/a/v/b"),
            ),
            (json!([{"fieldPath": "spec/new"}]), "v", given.replace("  path", "  new: v\n  path")),
            (
                json!([{"fieldPath": "metadata/namespace"}]),
                "",
                given.replace("  name: it\n", "  name: it\n  namespace: overlay\n"),
            ),
            (
                json!([{"selector": {"kind": "Other"}, "fieldPath": "spec/path"}]),
                "v",
                given.to_owned(),
            ),
        ];
        for (targets, value, after) in cases {
            let transformer = add(&targets, value).unwrap();
            assert_eq!(transformed(&transformer, given).unwrap(), after, "{targets}");
        }
        for wrong in [json!([]), json!([{}]), json!([{"fieldPath": "a", "filePathPosition": -1}])] {
            assert!(add(&wrong, "v").is_err(), "{wrong}");
        }
    }
}
