//! Adds a generated resource: creates, replaces or merges it.

use std::collections::BTreeMap;

use sluice_yaml::Node;

use crate::access;
use crate::failure::{Failure, Result};
use crate::generators;
use crate::id::ResourceId;
use crate::openapi::Schema;
use crate::origin::Origin;
use crate::resource::{Resource, annotation};
use crate::resources::Resources;

/// Adds a generated resource according to its behavior.
pub(super) fn absorb(to: &mut Resources, mut made: Resource, schema: &Schema) -> Result<()> {
    let id = made.id(schema);
    let behavior = made.annotation(annotation::BEHAVIOR).unwrap_or_default().to_owned();
    let found = to.with_any_id(&id, schema);
    let index = match found.as_slice() {
        [] if behavior == "merge" || behavior == "replace" => {
            return Err(Failure::new(format!(
                "id {} does not exist; cannot merge or replace",
                go_syntax(&id)
            ))
            .about(&id)
            .hint("nothing with that kind, name and namespace came before it"));
        }
        [] => return to.append(made, schema),
        [index] => *index,
        several => {
            let several: Vec<String> = several
                .iter()
                .filter_map(|&index| to.get(index))
                .map(|resource| resource.id(schema).to_string())
                .collect();
            return Err(Failure::new(format!(
                "found multiple objects [{}] that could accept merge of {id}",
                several.join(" ")
            )));
        }
    };
    let Some(old) = to.get(index) else { return Ok(()) };
    match behavior.as_str() {
        "replace" => {
            take_over_metadata(&mut made, old)?;
            made.replaces(old);
        }
        "merge" => {
            let origin = Origin::of(old)?;
            take_over_metadata(&mut made, old)?;
            merge_data(&mut made, old)?;
            made.replaces(old);
            if let Some(origin) = origin {
                origin.set_on(&mut made)?;
            }
        }
        other => {
            let shown = if other.is_empty() { "unspecified" } else { other };
            return Err(Failure::new(format!(
                "id {} exists; can not use behavior: '{shown}', behavior must be merge or replace",
                go_syntax(&id)
            ))
            .about(&id)
            .hint("set `behavior: merge` or `behavior: replace`"));
        }
    }
    match to.with_current_id(&made.id(schema), schema).as_slice() {
        [one] if *one == index => {
            to.replace(index, made, schema);
            Ok(())
        }
        [_] => Err(Failure::new("unexpected target index in replacement")),
        [] => {
            let id = made.id(schema);
            Err(Failure::new(format!("cannot find resource with id {id} to replace")))
        }
        several => Err(Failure::new(format!("in Replace: id matched {} resources", several.len()))),
    }
}

/// Copies name, history and, where absent, labels and annotations from another resource.
fn take_over_metadata(made: &mut Resource, old: &Resource) -> Result<()> {
    let mut labels = old.labels();
    labels.extend(made.labels());
    made.set_labels(&labels)?;
    let (own, others) = (made.annotations(), old.annotations());
    let mut annotations = others.clone();
    annotations.extend(own.clone());
    for name in annotation::OF_THE_BUILD {
        match others.get(name) {
            Some(value) => annotations.insert(name.to_owned(), value.clone()),
            None => annotations.remove(name),
        };
    }
    if !own.contains_key(annotation::NEEDS_HASH) {
        annotations.remove(annotation::NEEDS_HASH);
    }
    made.set_annotations(&annotations)?;
    made.set_name(old.name())?;
    made.set_namespace(old.namespace())?;
    made.var_names.clone_from(&old.var_names);
    Ok(())
}

fn merge_data(made: &mut Resource, old: &Resource) -> Result<()> {
    for field in ["data", "binaryData"] {
        let mut values = data(&old.node, field);
        values.extend(data(&made.node, field));
        access::clear(&mut made.node, field)?;
        generators::set_data(&mut made.node, field, values)?;
    }
    Ok(())
}

fn data(node: &Node, field: &str) -> BTreeMap<String, String> {
    let text = |node: &Node| access::text(node).to_owned();
    let fields = node.field(field).map(Node::fields).unwrap_or_default();
    fields.iter().map(|(key, value)| (text(key), text(value))).collect()
}

/// An id as Go prints the struct, for kustomize's messages.
fn go_syntax(id: &ResourceId) -> String {
    let ResourceId { gvk, name, namespace, cluster_scoped } = id;
    format!(
        "resid.ResId{{Gvk:resid.Gvk{{Group:{:?}, Version:{:?}, Kind:{:?}, \
         isClusterScoped:{cluster_scoped}}}, Name:{name:?}, Namespace:{namespace:?}}}",
        gvk.group, gvk.version, gvk.kind
    )
}
