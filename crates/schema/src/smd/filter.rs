//! The fields that an endpoint lets managers own: writes reset the rest.

use super::element::PathElement;
use super::set::{Child, FieldSet};

/// What stays of a field set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Filter {
    /// Everything but these paths and what is below them.
    Without(FieldSet),
    /// Only what is on or below a path of these forms.
    Only(Vec<Vec<Step>>),
}

/// A step of a path form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// This field.
    Field(&'static str),
    /// Any field or item.
    Any,
}

impl Filter {
    /// Everything but these paths of plain fields.
    pub fn without(paths: &[&[&str]]) -> Self {
        Self::Without(FieldSet::of_fields(paths))
    }

    /// What stays of `set`.
    pub(crate) fn apply(&self, set: &FieldSet) -> FieldSet {
        match self {
            Self::Without(paths) => set.recursive_difference(paths),
            Self::Only(forms) => {
                let forms: Vec<_> = forms.iter().map(Vec::as_slice).collect();
                only(set, &forms)
            }
        }
    }
}

fn only(set: &FieldSet, forms: &[&[Step]]) -> FieldSet {
    if forms.iter().any(|form| form.is_empty()) {
        return set.clone();
    }
    let below = |element: &PathElement| -> Vec<&[Step]> {
        forms
            .iter()
            .filter_map(|form| {
                let (first, rest) = form.split_first()?;
                match first {
                    Step::Any => Some(rest),
                    Step::Field(name) => (element.name() == Some(name)).then_some(rest),
                }
            })
            .collect()
    };
    let mut out = FieldSet::default();
    for member in &set.members {
        if !below(member).is_empty() {
            out.members.push(member.clone());
        }
    }
    for Child { element, set } in &set.children {
        let rest = below(element);
        if !rest.is_empty() {
            out.insert_child(element.clone(), only(set, &rest));
        }
    }
    out
}
