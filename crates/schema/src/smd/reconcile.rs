//! Field sets that were written under an older schema: what became atomic since is owned as a whole.

use super::element::{Path, PathElement};
use super::model::{List, ListRelationship, Map, Shape, TypeId, TypeRef};
use super::set::FieldSet;

impl TypeRef {
    /// The set under today's schema, or nothing where it does not change.
    pub fn reconcile_field_set(&self, set: &FieldSet) -> Result<Option<FieldSet>, String> {
        let mut walk = Reconcile {
            types: self,
            path: Vec::new(),
            whole: FieldSet::default(),
            faults: Vec::new(),
        };
        walk.visit(self.root, Some(set), Atomic::No);
        if !walk.faults.is_empty() {
            let why = match walk.faults.as_slice() {
                [fault] => fault.clone(),
                faults => format!("errors:\n  {}", faults.join("\n  ")),
            };
            return Err(format!("errors reconciling field set with schema: {why}"));
        }
        if walk.whole.is_empty() {
            return Ok(None);
        }
        Ok(Some(set.recursive_difference(&walk.whole).union(&walk.whole)))
    }
}

/// Whether a place is owned as a whole: a member with nothing below it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Atomic {
    Yes,
    No,
}

struct Reconcile<'t> {
    types: &'t TypeRef,
    path: Path,
    /// Paths that are owned as a whole from now on.
    whole: FieldSet,
    faults: Vec<String>,
}

impl Reconcile<'_> {
    fn visit(&mut self, id: TypeId, set: Option<&FieldSet>, atomic: Atomic) {
        match self.types.shape(id, None) {
            Shape::Scalar(_) => {}
            Shape::List(list) => self.visit_list(list, set, atomic),
            Shape::Map(map) => self.visit_map(map, set, atomic),
            Shape::Broken(type_of) => self.faults.push(type_of.why_broken()),
        }
    }

    fn visit_list(&mut self, list: &List, set: Option<&FieldSet>, atomic: Atomic) {
        if atomic == Atomic::No && matches!(list.relationship, ListRelationship::Atomic) {
            self.whole.insert(&self.path);
        } else if let Some(set) = set {
            self.visit_elements(set, |_| Some(list.element));
        }
    }

    fn visit_map(&mut self, map: &Map, set: Option<&FieldSet>, atomic: Atomic) {
        if map.free_form {
            return;
        }
        if atomic == Atomic::No && map.atomic {
            if set.is_some_and(|set| !set.is_empty()) {
                self.whole.insert(&self.path);
            }
        } else if let Some(set) = set {
            self.visit_elements(set, |element| match element {
                PathElement::Field(name) => map.entry(name).1,
                _ => map.element,
            });
        }
    }

    fn visit_elements(&mut self, set: &FieldSet, type_of: impl Fn(&PathElement) -> Option<TypeId>) {
        let children = set.children.iter().map(|child| (&child.element, Some(&*child.set)));
        let alone = set.members.iter().filter(|member| set.child(member).is_none());
        for (element, below) in children.chain(alone.map(|member| (member, None))) {
            let Some(id) = type_of(element) else { continue };
            let atomic = if below.is_none() { Atomic::Yes } else { Atomic::No };
            self.path.push(element.clone());
            self.visit(id, below, atomic);
            self.path.pop();
        }
    }
}
