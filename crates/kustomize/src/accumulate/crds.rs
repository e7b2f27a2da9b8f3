//! `crds`: OpenAPI definitions of custom resources with extensions for fields that hold names, labels and
//! annotations.

use std::sync::Arc;

use serde_json::{Map, Value};
use sluice_yaml::Duplicates;

use crate::config::{NameReference, Specs, TransformerConfig};
use crate::failure::{Failure, Result};
use crate::field_spec::{self, FieldSpec};
use crate::id::Gvk;
use crate::transformers::Load;

/// The field specs from the definitions of these files.
pub(super) fn load(files: &dyn Load, paths: &[String]) -> Result<TransformerConfig> {
    let mut all = TransformerConfig::default();
    for path in paths {
        let words = format!("unable to parse open API definition from '{path}'");
        let read = read(&files.load(path)?).map_err(|failure| failure.context(&words))?;
        all = all.merge(&read)?;
    }
    Ok(all)
}

fn read(text: &[u8]) -> Result<TransformerConfig> {
    let value = sluice_yaml::to_json(text, Duplicates::LastWins)?.unwrap_or_default();
    let definitions = match &value {
        Value::Object(definitions) => Definitions(definitions),
        Value::Null => return Ok(TransformerConfig::default()),
        _ => return Err(Failure::new("it is no map of definitions")),
    };
    definitions.check()?;
    let mut all = TransformerConfig::default();
    for name in definitions.0.keys() {
        let Some(properties) = definitions.properties(name)? else { continue };
        // Only definitions with the fields of an object are kinds; others are parts of objects.
        if ["kind", "apiVersion", "metadata"]
            .into_iter()
            .all(|field| properties.contains_key(field))
        {
            let kind = name.rsplit('.').next().unwrap_or(name).to_owned();
            let gvk = Gvk { kind, ..Gvk::default() };
            let mut config = TransformerConfig::default();
            definitions.walk(&mut config, &gvk, name, &mut Vec::new())?;
            all = all.merge(&config)?;
        }
    }
    Ok(all)
}

/// The maximum depth of references.
const MAX_DEPTH: usize = 100;

struct Definitions<'v>(&'v Map<String, Value>);

impl<'v> Definitions<'v> {
    /// Fails for anything that is not a definition, such as the manifest of a CRD.
    fn check(&self) -> Result<()> {
        for (name, definition) in self.0 {
            let parts = [Some(definition), field(definition, "Schema")];
            if parts.into_iter().flatten().any(|part| !part.is_object() && !part.is_null()) {
                return Err(Failure::new(format!("{name} is no definition of a type")).hint(
                    "`crds` wants OpenAPI definitions; a CRD itself belongs under `resources`",
                ));
            }
            for (property, schema) in self.properties(name)?.into_iter().flatten() {
                let has_type = match field(schema, "type") {
                    None | Some(Value::Null | Value::String(_)) => true,
                    Some(Value::Array(types)) => types.iter().all(Value::is_string),
                    Some(_) => false,
                };
                if !(schema.is_null() || schema.is_object()) || !has_type {
                    let message = format!("property {property} of {name} is no schema");
                    return Err(Failure::new(message));
                }
            }
        }
        Ok(())
    }

    fn properties(&self, name: &str) -> Result<Option<&'v Map<String, Value>>> {
        let schema = self.0.get(name).and_then(|definition| field(definition, "Schema"));
        match schema.and_then(|schema| field(schema, "properties")) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::Object(properties)) => Ok(Some(properties)),
            Some(_) => Err(Failure::new(format!("the properties of {name} are no map"))),
        }
    }

    fn walk(
        &self,
        config: &mut TransformerConfig,
        gvk: &Gvk,
        name: &str,
        path: &mut Vec<&'v str>,
    ) -> Result<()> {
        if path.len() > MAX_DEPTH {
            return Err(Failure::new(format!("definition {name} refers to itself")));
        }
        for (property, schema) in self.properties(name)?.into_iter().flatten() {
            path.push(property);
            let spec = |path: &[&str]| FieldSpec {
                gvk: gvk.clone(),
                path: path.join("/"),
                ..FieldSpec::default()
            };
            if extension(schema, "x-kubernetes-annotation").is_some() {
                add(&mut config.common_annotations, spec(path))?;
            }
            if extension(schema, "x-kubernetes-label-selector").is_some() {
                add(&mut config.common_labels, spec(path))?;
            }
            if extension(schema, "x-kubernetes-identity").is_some() {
                add(&mut config.name_prefix, spec(path))?;
            }
            let version = extension(schema, "x-kubernetes-object-ref-api-version");
            let kind = extension(schema, "x-kubernetes-object-ref-kind");
            if let (Some(version), Some(kind)) = (version, kind) {
                let key = extension(schema, "x-kubernetes-object-ref-name-key").unwrap_or("name");
                path.push(key);
                let referent =
                    Gvk { version: version.to_owned(), kind: kind.to_owned(), ..Gvk::default() };
                let reference = NameReference { referent, referrers: vec![spec(path)] };
                config.add_name_reference(&reference)?;
                path.pop();
            }
            if let Some(reference) = field(schema, "$ref").and_then(Value::as_str) {
                self.walk(config, gvk, reference, path)?;
            }
            path.pop();
        }
        Ok(())
    }
}

fn add(specs: &mut Specs, spec: FieldSpec) -> Result<()> {
    field_spec::merge_into(Arc::make_mut(specs), &[spec])
}

fn field<'v>(value: &'v Value, name: &str) -> Option<&'v Value> {
    let mut fields = value.as_object()?.iter();
    fields.find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value)
}

fn extension<'v>(schema: &'v Value, name: &str) -> Option<&'v str> {
    field(schema, name)?.as_str()
}
