//! The index of renamed objects, by current and former names.
//!
//! Names, kinds and namespaces are interned as numbers, so that a lookup costs no copy; an unknown name has no
//! number.

use std::collections::HashMap;

use crate::id::{CLUSTER_SCOPED, DEFAULT_NAMESPACE, Gvk, ResourceId};
use crate::openapi::Schema;
use crate::resource::{Resource, annotation};
use crate::resources::Resources;

/// A name, kind or namespace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Symbol(u32);

/// An object without its content.
#[derive(Debug)]
pub(super) struct Candidate {
    position: usize,
    /// The current id.
    pub(super) id: ResourceId,
    namespace: Symbol,
    effective_namespace: Symbol,
    original_namespace: Symbol,
    names: Vec<Symbol>,
    kinds: Vec<Symbol>,
    original_kind: String,
    prefixes: Vec<String>,
    suffixes: Vec<String>,
}

impl Candidate {
    /// Whether the same prefixes and suffixes were added to both. The coarse comparison accepts none for
    /// any.
    pub(super) fn is_in_context_of(&self, other: &Self, is_coarse: bool) -> bool {
        let fits = |ours: &[String], others: &[String]| {
            is_coarse && (ours.is_empty() || others.is_empty()) || have_same_end(ours, others)
        };
        fits(&self.prefixes, &other.prefixes) && fits(&self.suffixes, &other.suffixes)
    }

    /// Whether it had a kind that the selector matches.
    fn was(&self, selector: &Gvk, kind: Option<Symbol>) -> bool {
        let selects = |wanted: &str, is: &str| wanted.is_empty() || wanted == is;
        selects(&selector.group, &self.id.gvk.group)
            && selects(&selector.version, &self.id.gvk.version)
            && (selector.kind.is_empty() || kind.is_some_and(|kind| self.kinds.contains(&kind)))
    }
}

/// Whether the shorter list is a suffix of the longer one; an empty one only of an empty one.
fn have_same_end(ours: &[String], others: &[String]) -> bool {
    if ours.is_empty() || others.is_empty() {
        return ours.is_empty() && others.is_empty();
    }
    ours.ends_with(others) || others.ends_with(ours)
}

/// The namespaces to search.
#[derive(Debug, Clone, Copy)]
pub(super) enum Scope<'q> {
    /// Those that the referrer can reach.
    Any,
    /// The namespace beside the name: an original or a current one.
    Namespace(&'q str),
}

/// A lookup.
pub(super) struct Question<'q> {
    /// The former name.
    pub(super) name: &'q str,
    /// The former kind.
    pub(super) referent: &'q Gvk,
    /// The former kind, from the field beside the name.
    pub(super) role: Option<&'q Gvk>,
    pub(super) scope: Scope<'q>,
    pub(super) referrer: &'q Candidate,
    /// Namespaces with service accounts that the referrer may refer to.
    pub(super) account_namespaces: &'q [Symbol],
}

/// All objects, by former names.
#[derive(Debug)]
pub(super) struct Candidates {
    symbols: HashMap<String, Symbol>,
    list: Vec<Candidate>,
    /// By a former name and kind; every kind is also under the empty one. Positions ascend.
    named: HashMap<(Symbol, Symbol), Vec<usize>>,
    /// The same, in the current effective namespace.
    near: HashMap<(Symbol, Symbol, Symbol), Vec<usize>>,
    /// The number of objects that moved from one namespace to another: by effective and by written namespace.
    moved: HashMap<(Symbol, Symbol), usize>,
    moved_as_written: HashMap<(Symbol, Symbol), usize>,
    /// The number of objects from a namespace.
    came: HashMap<Symbol, usize>,
    /// The empty string: any kind, and no namespace.
    empty: Symbol,
    cluster_scoped: Symbol,
    default_namespace: Symbol,
}

impl Candidates {
    pub(super) fn of(resources: &Resources, schema: &Schema) -> Self {
        let mut all = Self {
            symbols: HashMap::new(),
            list: Vec::with_capacity(resources.len()),
            named: HashMap::new(),
            near: HashMap::new(),
            moved: HashMap::new(),
            moved_as_written: HashMap::new(),
            came: HashMap::new(),
            empty: Symbol(0),
            cluster_scoped: Symbol(0),
            default_namespace: Symbol(0),
        };
        all.empty = all.intern("");
        all.cluster_scoped = all.intern(CLUSTER_SCOPED);
        all.default_namespace = all.intern(DEFAULT_NAMESPACE);
        for (position, resource) in resources.iter().enumerate() {
            let candidate = all.candidate(position, resource, schema);
            all.index(&candidate);
            all.list.push(candidate);
        }
        all
    }

    fn intern(&mut self, text: &str) -> Symbol {
        if let Some(symbol) = self.symbols.get(text) {
            return *symbol;
        }
        let symbol = Symbol(u32::try_from(self.symbols.len()).unwrap_or(u32::MAX));
        self.symbols.insert(text.to_owned(), symbol);
        symbol
    }

    /// The number of a string, if any object has it.
    pub(super) fn symbol(&self, text: &str) -> Option<Symbol> {
        self.symbols.get(text).copied()
    }

    pub(super) fn get(&self, position: usize) -> Option<&Candidate> {
        self.list.get(position)
    }

    /// The original id of the object.
    pub(super) fn original_gvk(&self, position: usize) -> Gvk {
        let Some(candidate) = self.list.get(position) else { return Gvk::default() };
        Gvk { kind: candidate.original_kind.clone(), ..candidate.id.gvk.clone() }
    }

    fn candidate(&mut self, position: usize, resource: &Resource, schema: &Schema) -> Candidate {
        let id = resource.id(schema);
        let previous = resource.previous_ids();
        let (original_kind, original_namespace) = match previous.first() {
            Some(first) => (first.gvk.kind.clone(), self.intern(first.effective_namespace())),
            None => (id.gvk.kind.clone(), self.intern(id.effective_namespace())),
        };
        let mut names = Vec::new();
        let mut kinds = Vec::new();
        for id in &previous {
            let (name, kind) = (self.intern(&id.name), self.intern(&id.gvk.kind));
            if !names.contains(&name) {
                names.push(name);
            }
            if !kinds.contains(&kind) {
                kinds.push(kind);
            }
        }
        let owned = |name| resource.history(name).into_iter().map(str::to_owned).collect();
        Candidate {
            position,
            namespace: self.intern(&id.namespace),
            effective_namespace: self.intern(id.effective_namespace()),
            original_namespace,
            names,
            kinds,
            original_kind,
            prefixes: owned(annotation::PREFIXES),
            suffixes: owned(annotation::SUFFIXES),
            id,
        }
    }

    fn index(&mut self, candidate: &Candidate) {
        let insert = |positions: &mut Vec<usize>| {
            if let Err(at) = positions.binary_search(&candidate.position) {
                positions.insert(at, candidate.position);
            }
        };
        for &name in &candidate.names {
            for &kind in candidate.kinds.iter().chain([&self.empty]) {
                insert(self.named.entry((name, kind)).or_default());
                let near = (name, kind, candidate.effective_namespace);
                insert(self.near.entry(near).or_default());
            }
        }
        let from = candidate.original_namespace;
        *self.came.entry(from).or_default() += 1;
        *self.moved.entry((from, candidate.effective_namespace)).or_default() += 1;
        *self.moved_as_written.entry((from, candidate.namespace)).or_default() += 1;
    }

    /// Updates an object; returns whether its id changed.
    pub(super) fn follow(&mut self, position: usize, resource: &Resource, schema: &Schema) -> bool {
        let is_same = self.list.get(position).is_some_and(|candidate| {
            let id = resource.id(schema);
            candidate.id.equals(&id) && candidate.id.namespace == id.namespace
        });
        if is_same {
            return false;
        }
        let new = self.candidate(position, resource, schema);
        if let Some(old) = self.list.get(position) {
            let remove = |positions: Option<&mut Vec<usize>>| {
                if let Some(positions) = positions {
                    positions.retain(|&other| other != position);
                }
            };
            for &name in &old.names {
                for &kind in old.kinds.iter().chain([&self.empty]) {
                    remove(self.named.get_mut(&(name, kind)));
                    remove(self.near.get_mut(&(name, kind, old.effective_namespace)));
                }
            }
            let less = |count: Option<&mut usize>| {
                if let Some(count) = count {
                    *count = count.saturating_sub(1);
                }
            };
            let from = old.original_namespace;
            less(self.came.get_mut(&from));
            less(self.moved.get_mut(&(from, old.effective_namespace)));
            less(self.moved_as_written.get_mut(&(from, old.namespace)));
        }
        self.index(&new);
        if let Some(old) = self.list.get_mut(position) {
            *old = new;
        }
        true
    }

    /// All matches, in the order of the build.
    pub(super) fn find(&self, question: &Question<'_>) -> Vec<&Candidate> {
        let Some(name) = self.symbol(question.name) else { return Vec::new() };
        let Some(kind) = self.symbol(&question.referent.kind) else { return Vec::new() };
        let role = question.role.map(|role| (role, self.symbol(&role.kind)));
        let is_from = match question.scope {
            Scope::Any => None,
            Scope::Namespace(namespace) => match self.symbol(namespace) {
                Some(namespace) if namespace != self.cluster_scoped => {
                    Some((namespace, self.is_origin(namespace, question)))
                }
                _ => return Vec::new(),
            },
        };
        let fits = |candidate: &&Candidate| {
            candidate.was(question.referent, Some(kind))
                && role.is_none_or(|(role, kind)| candidate.was(role, kind))
                && is_from.is_none_or(|(namespace, is_origin)| {
                    if is_origin {
                        candidate.original_namespace == namespace
                    } else {
                        candidate.effective_namespace == namespace
                    }
                })
        };
        self.reachable(name, kind, question).into_iter().filter(fits).collect()
    }

    /// Objects with the name and the kind that the referrer can reach: cluster-scoped ones, those of its own namespace, and
    /// service accounts of the namespaces it refers to.
    pub(super) fn reachable(
        &self,
        name: Symbol,
        kind: Symbol,
        question: &Question<'_>,
    ) -> Vec<&Candidate> {
        let referrer = question.referrer;
        let at = |positions: &[usize]| -> Vec<&Candidate> {
            positions.iter().filter_map(|&position| self.list.get(position)).collect()
        };
        if referrer.id.cluster_scoped {
            return at(self.named.get(&(name, kind)).map(Vec::as_slice).unwrap_or_default());
        }
        let near = |namespace| {
            self.near.get(&(name, kind, namespace)).map(Vec::as_slice).unwrap_or_default()
        };
        let mut found = at(near(self.cluster_scoped));
        found.extend(at(near(referrer.effective_namespace)));
        for &namespace in question.account_namespaces {
            let counts = if namespace == self.empty { self.default_namespace } else { namespace };
            let accounts = at(near(counts)).into_iter().filter(|candidate| {
                candidate.namespace == namespace && candidate.id.gvk.kind == "ServiceAccount"
            });
            found.extend(accounts);
        }
        found.sort_unstable_by_key(|candidate| candidate.position);
        found.dedup_by_key(|candidate| candidate.position);
        found
    }

    /// Whether any object that the referrer can reach came from a namespace.
    fn is_origin(&self, namespace: Symbol, question: &Question<'_>) -> bool {
        let some = |count: Option<&usize>| count.is_some_and(|&count| count > 0);
        let referrer = question.referrer;
        if referrer.id.cluster_scoped {
            return some(self.came.get(&namespace));
        }
        some(self.moved.get(&(namespace, self.cluster_scoped)))
            || some(self.moved.get(&(namespace, referrer.effective_namespace)))
            || question
                .account_namespaces
                .iter()
                .any(|&to| some(self.moved_as_written.get(&(namespace, to))))
    }
}
