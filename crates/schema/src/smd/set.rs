//! Field sets: the paths of an object that a manager owns, as a tree of sorted path elements.

use std::cmp::Ordering;
use std::sync::Arc;

use super::element::{Path, PathElement};

/// A set of paths. A path may be in the set without its parents, and the other way round.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FieldSet {
    pub(crate) members: Vec<PathElement>,
    pub(crate) children: Vec<Child>,
}

/// The paths of a set below one element. Shared, because set operations keep most branches as they are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Child {
    pub(crate) element: PathElement,
    pub(crate) set: Arc<FieldSet>,
}

impl FieldSet {
    /// The set of these paths of plain fields: `[&["spec", "replicas"], ...]`.
    pub fn of_fields(paths: &[&[&str]]) -> Self {
        let mut set = Self::default();
        for path in paths {
            set.insert(&path.iter().map(|name| PathElement::field(name)).collect::<Path>());
        }
        set
    }

    /// Adds a path; the empty path, the whole object, is never owned and not added.
    pub fn insert(&mut self, path: &[PathElement]) {
        let Some((last, parents)) = path.split_last() else { return };
        let mut set = self;
        for element in parents {
            let place = match find(&set.children, element) {
                Ok(place) => place,
                Err(place) => {
                    let child = Child { element: element.clone(), set: Arc::default() };
                    set.children.insert(place, child);
                    place
                }
            };
            set = Arc::make_mut(&mut set.children[place].set);
        }
        set.insert_member(last.clone());
    }

    /// Whether the path itself is in the set.
    pub fn has(&self, path: &[PathElement]) -> bool {
        let Some((last, parents)) = path.split_last() else { return false };
        let mut set = self;
        for element in parents {
            match set.child(element) {
                Some(child) => set = child,
                None => return false,
            }
        }
        set.has_member(last)
    }

    /// Whether no path is in the set.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty() && self.children.iter().all(|child| child.set.is_empty())
    }

    /// Every path of the set, a level's members before what is below them.
    pub fn paths(&self) -> Vec<Path> {
        let mut out = Vec::new();
        self.collect_paths(&mut Vec::new(), &mut out);
        out
    }

    fn collect_paths(&self, prefix: &mut Path, out: &mut Vec<Path>) {
        for member in &self.members {
            let mut path = prefix.clone();
            path.push(member.clone());
            out.push(path);
        }
        for child in &self.children {
            prefix.push(child.element.clone());
            child.set.collect_paths(prefix, out);
            prefix.pop();
        }
    }

    pub(crate) fn has_member(&self, element: &PathElement) -> bool {
        self.members.binary_search(element).is_ok()
    }

    pub(crate) fn child(&self, element: &PathElement) -> Option<&Self> {
        find(&self.children, element).ok().map(|place| &*self.children[place].set)
    }

    pub(crate) fn insert_member(&mut self, element: PathElement) {
        // Walkers visit in order, so that most elements go to the end.
        if self.members.last().is_none_or(|last| *last < element) {
            self.members.push(element);
        } else if let Err(place) = self.members.binary_search(&element) {
            self.members.insert(place, element);
        }
    }

    /// Adds what is below `element`, to what is there already.
    pub(crate) fn insert_child(&mut self, element: PathElement, set: Self) {
        if set.members.is_empty() && set.children.is_empty() {
            return;
        }
        if self.children.last().is_none_or(|last| last.element < element) {
            self.children.push(Child { element, set: Arc::new(set) });
            return;
        }
        match find(&self.children, &element) {
            Ok(place) => {
                let merged = self.children[place].set.union(&set);
                self.children[place].set = Arc::new(merged);
            }
            Err(place) => self.children.insert(place, Child { element, set: Arc::new(set) }),
        }
    }

    /// The paths in either set.
    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        if other.members.is_empty() && other.children.is_empty() {
            return self.clone();
        }
        if self.members.is_empty() && self.children.is_empty() {
            return other.clone();
        }
        let mut out = Self {
            members: Vec::with_capacity(self.members.len().max(other.members.len())),
            children: Vec::with_capacity(self.children.len().max(other.children.len())),
        };
        for pair in zip(&self.members, &other.members, |member| member) {
            out.members.push(pair.left.or(pair.right).expect("a pair has a side").clone());
        }
        for pair in zip(&self.children, &other.children, |child| &child.element) {
            out.children.push(match (pair.left, pair.right) {
                (Some(left), Some(right)) if Arc::ptr_eq(&left.set, &right.set) => left.clone(),
                (Some(left), Some(right)) => Child {
                    element: left.element.clone(),
                    set: Arc::new(left.set.union(&right.set)),
                },
                (left, right) => left.or(right).expect("a pair has a side").clone(),
            });
        }
        out
    }

    /// The paths in both sets.
    #[must_use]
    pub fn intersection(&self, other: &Self) -> Self {
        let mut out = Self::default();
        for pair in zip(&self.members, &other.members, |member| member) {
            if let (Some(left), Some(_)) = (pair.left, pair.right) {
                out.members.push(left.clone());
            }
        }
        for pair in zip(&self.children, &other.children, |child| &child.element) {
            if let (Some(left), Some(right)) = (pair.left, pair.right) {
                out.push_child(left, left.set.intersection(&right.set));
            }
        }
        out
    }

    /// The paths of this set that are not in the other. A path stays although its parent goes.
    #[must_use]
    pub fn difference(&self, other: &Self) -> Self {
        let mut out = self.members_without(other);
        for pair in zip(&self.children, &other.children, |child| &child.element) {
            match (pair.left, pair.right) {
                (Some(left), Some(right)) => out.push_child(left, left.set.difference(&right.set)),
                (Some(left), None) => out.children.push(left.clone()),
                _ => {}
            }
        }
        out
    }

    /// The paths of this set that are not in the other, and not below a path of it.
    #[must_use]
    pub fn recursive_difference(&self, other: &Self) -> Self {
        let mut out = self.members_without(other);
        for pair in zip(&self.children, &other.children, |child| &child.element) {
            let Some(left) = pair.left else { continue };
            if other.has_member(&left.element) {
                continue;
            }
            match pair.right {
                Some(right) => out.push_child(left, left.set.recursive_difference(&right.set)),
                None => out.children.push(left.clone()),
            }
        }
        out
    }

    /// The paths of this set that have no path of it below them.
    #[must_use]
    pub fn leaves(&self) -> Self {
        Self {
            members: self
                .members
                .iter()
                .filter(|member| find(&self.children, member).is_err())
                .cloned()
                .collect(),
            children: self
                .children
                .iter()
                .map(|child| Child {
                    element: child.element.clone(),
                    set: Arc::new(child.set.leaves()),
                })
                .collect(),
        }
    }

    fn members_without(&self, other: &Self) -> Self {
        let mut out = Self::default();
        for pair in zip(&self.members, &other.members, |member| member) {
            if let (Some(left), None) = (pair.left, pair.right) {
                out.members.push(left.clone());
            }
        }
        out
    }

    fn push_child(&mut self, from: &Child, set: Self) {
        if !set.is_empty() {
            self.children.push(Child { element: from.element.clone(), set: Arc::new(set) });
        }
    }
}

fn find(children: &[Child], element: &PathElement) -> Result<usize, usize> {
    children.binary_search_by(|child| child.element.cmp(element))
}

struct Pair<'a, T> {
    left: Option<&'a T>,
    right: Option<&'a T>,
}

/// Walks two sorted lists together: equal elements in one step.
fn zip<'a, T>(
    left: &'a [T],
    right: &'a [T],
    element: impl Fn(&T) -> &PathElement,
) -> impl Iterator<Item = Pair<'a, T>> {
    let (mut lefts, mut rights) = (left, right);
    std::iter::from_fn(move || {
        let order = match (lefts.first(), rights.first()) {
            (None, None) => return None,
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some(left), Some(right)) => element(left).cmp(element(right)),
        };
        let mut pair = Pair { left: None, right: None };
        if order.is_le() {
            (pair.left, lefts) = (lefts.first(), lefts.get(1..).unwrap_or_default());
        }
        if order.is_ge() {
            (pair.right, rights) = (rights.first(), rights.get(1..).unwrap_or_default());
        }
        Some(pair)
    })
}
