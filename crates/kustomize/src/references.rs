//! Name references: updates fields that refer to renamed objects.
//!
//! kustomize scans all objects for each field that may hold a name. Here an index of all renamed objects is used
//! (`candidates.rs`), so that the cost depends on the number of fields. kustomize also keeps a list of referrers on
//! each object; nothing in a build reads it, so it is not kept.

mod candidates;

use std::collections::HashMap;

use sluice_yaml::{Content, Node};

use crate::access;
use crate::config::NameReference;
use crate::failure::{Failure, Gathered, Result};
use crate::field_spec::{self, FieldSpec, split_path};
use crate::id::Gvk;
use crate::openapi::Schema;
use crate::resource::Resource;
use crate::resources::Resources;
use candidates::{Candidate, Candidates, Question, Scope, Symbol};

/// Updates every field with the name of a renamed object.
pub(crate) fn fix_back_references(
    resources: &mut Resources,
    name_reference: &[NameReference],
    schema: &Schema,
) -> Result<()> {
    let mut candidates = Candidates::of(resources, schema);
    let mut rules: HashMap<Gvk, Vec<Rule<'_>>> = HashMap::new();
    let mut wrong = Gathered::default();
    let mut ids_changed = false;
    for (position, resource) in resources.iter_mut_keeping_ids().enumerate() {
        if wrong.take(resource.check_history()).is_none() {
            continue;
        }
        let gvk = candidates.original_gvk(position);
        let rules = rules.entry(gvk).or_insert_with_key(|gvk| Rule::for_kind(name_reference, gvk));
        if rules.is_empty() {
            continue;
        }
        let fixed = fix(position, resource, rules, &mut candidates, schema);
        if let Some(changed) = wrong.take(fixed.map_err(|failure| resource.located(failure))) {
            ids_changed |= changed;
        }
    }
    if ids_changed {
        resources.forget_index();
    }
    wrong.finish()
}

/// A field of one kind that may refer to an object of another.
struct Rule<'c> {
    field: &'c FieldSpec,
    parts: Vec<String>,
    referent: &'c Gvk,
    /// A field with siblings that name the kind.
    is_role: bool,
}

impl<'c> Rule<'c> {
    /// The rules for objects with this original kind, in order.
    fn for_kind(name_reference: &'c [NameReference], gvk: &Gvk) -> Vec<Self> {
        let all = name_reference.iter();
        let all = all.flat_map(|rule| rule.referrers.iter().map(|spec| (&rule.referent, spec)));
        let fitting = all.filter(|(_, spec)| gvk.is_selected(&spec.gvk));
        fitting
            .map(|(referent, spec)| Self {
                field: spec,
                parts: split_path(&spec.path, '/'),
                referent,
                is_role: spec.path.ends_with("roleRef/name"),
            })
            .collect()
    }
}

/// Updates the names in one object; returns whether its own id changed.
fn fix(
    position: usize,
    resource: &mut Resource,
    rules: &[Rule<'_>],
    candidates: &mut Candidates,
    schema: &Schema,
) -> Result<bool> {
    confirm(resource)?;
    let account_namespaces = account_namespaces(resource, candidates, schema)?;
    let mut ids_changed = false;
    for rule in rules {
        let role = if rule.is_role { role(&resource.node) } else { None };
        let mut changed = false;
        let mut field = Field {
            candidates,
            referrer: position,
            account_namespaces: &account_namespaces,
            referent: rule.referent,
            role,
            changed: &mut changed,
        };
        field_spec::enter(&mut resource.node, rule.field, &rule.parts, None, &mut |node| {
            field.set(node)
        })
        .map_err(|failure| {
            failure.context(format_args!(
                "updating name reference in '{}' field of '{}'",
                rule.field.path,
                resource.id(schema)
            ))
        })?;
        if changed && candidates.follow(position, resource, schema) {
            ids_changed = true;
        }
    }
    Ok(ids_changed)
}

/// kustomize parses group and version in two ways, and fails where they differ.
fn confirm(resource: &Resource) -> Result<()> {
    let filled = |name| {
        let field = resource.node.field(name).filter(|field| !access::is_empty(field));
        field.map(access::text).unwrap_or_default()
    };
    let gvk = resource.gvk();
    for (name, is, wanted) in [
        ("APIVersion", filled("apiVersion"), gvk.api_version()),
        ("Kind", filled("kind"), gvk.kind.clone()),
    ] {
        if is != wanted {
            return Err(Failure::new(format!(
                "node-referrerOriginal '{name}' mismatch '{is}' != '{wanted}'"
            )));
        }
    }
    Ok(())
}

/// The namespaces of a role binding's service accounts, which it may refer to.
fn account_namespaces(
    resource: &Resource,
    candidates: &Candidates,
    schema: &Schema,
) -> Result<Vec<Symbol>> {
    let mut out = Vec::new();
    if resource.kind() != "RoleBinding" || resource.id(schema).cluster_scoped {
        return Ok(out);
    }
    let subjects = resource.node.field("subjects").filter(|subjects| !access::is_null(subjects));
    for subject in subjects.map(Node::items).unwrap_or_default() {
        if !matches!(subject.content, Content::Mapping { .. }) || access::is_null(subject) {
            return Err(Failure::new("a subject must be an object").at(subject.position));
        }
        let (Some(namespace), Some(kind)) = (subject.field("namespace"), subject.field("kind"))
        else {
            continue;
        };
        if kind.short_tag() != "!!str" {
            return Err(Failure::new("the kind of a subject must be a text").at(kind.position));
        }
        if access::text(kind) != "ServiceAccount" {
            continue;
        }
        if namespace.short_tag() != "!!str" {
            let id = resource.id(schema);
            return Err(Failure::new(format!(
                "Invalid Input: namespace is blank for resource \"{id}\""
            ))
            .at(namespace.position));
        }
        out.extend(candidates.symbol(access::text(namespace)));
    }
    Ok(out)
}

/// Group and kind of `roleRef`, if it has both.
fn role(node: &Node) -> Option<Gvk> {
    let text = |name| {
        let field = access::lookup(node, &["roleRef", name]).ok().flatten()?;
        Some(field.as_text().unwrap_or_default().to_owned())
    };
    Some(Gvk { group: text("apiGroup")?, version: String::new(), kind: text("kind")? })
}

/// A field that may hold a name, under one rule.
struct Field<'r> {
    candidates: &'r Candidates,
    referrer: usize,
    account_namespaces: &'r [Symbol],
    referent: &'r Gvk,
    role: Option<Gvk>,
    changed: &'r mut bool,
}

/// The properties in which several candidates must agree.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Needed {
    Name,
    NameAndNamespace,
}

impl<'r> Field<'r> {
    fn set(&mut self, node: &mut Node) -> Result<()> {
        if access::is_null(node) {
            return Ok(());
        }
        match &mut node.content {
            Content::Scalar { .. } => self.set_scalar(node),
            Content::Mapping { .. } => self.set_mapping(node),
            Content::Sequence { items, .. } => {
                for item in items {
                    if matches!(item.content, Content::Sequence { .. }) {
                        return Err(Failure::new(
                            "is expected to be either a string or a map of string",
                        )
                        .at(item.position));
                    }
                    self.set(item)?;
                }
                Ok(())
            }
            Content::Alias(_) => Err(Failure::new("node must be a scalar, sequence or map")),
        }
    }

    fn set_scalar(&mut self, node: &mut Node) -> Result<()> {
        let name = node.as_text().unwrap_or_default();
        let Some(referral) = self.referral(name, Scope::Any, Needed::Name)? else { return Ok(()) };
        if referral.id.name == name {
            return Ok(());
        }
        *self.changed = true;
        access::set_scalar(node, access::untagged(referral.id.name.as_str()))
    }

    /// A mapping with a name and an optional namespace: both are updated.
    fn set_mapping(&mut self, node: &mut Node) -> Result<()> {
        let Some(name) = node.field("name") else {
            return Err(Failure::new("path config error; no 'name' field in node")
                .at(node.position)
                .hint(
                    "the path of a name reference must lead to a text, or to a map with a `name`",
                ));
        };
        let name = name.as_text().unwrap_or_default();
        let scope = match node.field("namespace") {
            Some(namespace) => Scope::Namespace(namespace.as_text().unwrap_or_default()),
            None => Scope::Any,
        };
        let Some(referral) = self.referral(name, scope, Needed::NameAndNamespace)? else {
            return Ok(());
        };
        let namespace = &referral.id.namespace;
        if referral.id.name == name && namespace.is_empty() {
            return Ok(());
        }
        *self.changed = true;
        access::set(node, "name", access::untagged(referral.id.name.as_str()))?;
        if namespace.is_empty() {
            // It would mean any namespace, and must not replace `default`.
            return Ok(());
        }
        access::set(node, "namespace", access::untagged(namespace.as_str()))
    }

    /// The object with a former name.
    fn referral(
        &self,
        name: &str,
        scope: Scope<'_>,
        needed: Needed,
    ) -> Result<Option<&'r Candidate>> {
        let Some(referrer) = self.candidates.get(self.referrer) else { return Ok(None) };
        let mut found = self.candidates.find(&Question {
            name,
            referent: self.referent,
            role: self.role.as_ref(),
            scope,
            referrer,
            account_namespaces: self.account_namespaces,
        });
        if found.len() > 1 {
            found.retain(|candidate| candidate.is_in_context_of(referrer, true));
            if found.len() > 1 {
                found.retain(|candidate| candidate.is_in_context_of(referrer, false));
            }
        }
        let Some((first, others)) = found.split_first() else { return Ok(None) };
        let is_same = |other: &&Candidate| {
            other.id.name == first.id.name
                && (needed == Needed::Name || other.id.namespace == first.id.namespace)
        };
        if others.iter().all(is_same) {
            return Ok(Some(first));
        }
        let ids: Vec<String> = found.iter().map(|candidate| candidate.id.to_string()).collect();
        Err(Failure::new(format!("found multiple possible referrals: {}", ids.join(", "))).hint(
            format_args!(
                "several objects were called `{name}`; give them different names to begin with"
            ),
        ))
    }
}

#[cfg(test)]
mod tests;
