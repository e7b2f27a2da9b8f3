//! All roles and bindings of a cluster, compiled: which rules apply to a user in a namespace.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::Value;
use sluice_base::go::quote;

use super::{Rule, User, service_account};
use crate::metadata;
use crate::status::Status;
use crate::value::{list, text};

/// The API group of roles and bindings.
const GROUP: &str = "rbac.authorization.k8s.io";

/// The stored roles and bindings, indexed for decisions.
#[derive(Debug, Default)]
pub(super) struct Policy {
    /// By name, or `namespace/name`.
    roles: BTreeMap<String, Vec<Rule>>,
    /// Bindings by namespace; those of the cluster under the empty name.
    scopes: BTreeMap<String, Scope>,
}

/// The names of bindings by the name of a subject.
type Index = BTreeMap<String, BTreeSet<Arc<str>>>;

/// The bindings of one namespace, or of the cluster.
#[derive(Debug, Default)]
struct Scope {
    bindings: BTreeMap<Arc<str>, Binding>,
    users: Index,
    groups: Index,
}

/// A role and its subjects.
#[derive(Debug, PartialEq, Eq)]
struct Binding {
    name: String,
    namespace: String,
    role: RoleReference,
    subjects: Vec<Subject>,
}

#[derive(Debug, PartialEq, Eq)]
struct RoleReference {
    kind: String,
    name: String,
}

#[derive(Debug, PartialEq, Eq)]
struct Subject {
    kind: String,
    name: String,
    namespace: String,
}

/// Rules that a binding gives to a user.
#[derive(Debug, Clone, Copy)]
pub(super) struct Grant<'a> {
    binding: &'a Binding,
    subject: &'a Subject,
    pub(super) rules: &'a [Rule],
}

/// A role that a binding names and that cannot be resolved.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Unresolved {
    /// It does not exist.
    Missing {
        /// `role` or `clusterrole`.
        resource: &'static str,
        /// Its name.
        name: String,
    },
    /// It is neither a role nor a cluster role.
    Unsupported(String),
}

impl Unresolved {
    /// The error of a write of a role or binding: upstream's storage takes the resource from the
    /// request, not from the reference.
    pub(crate) fn on_request(&self, resource: &str) -> Status {
        match self {
            Self::Missing { name, .. } if name.is_empty() => {
                Status::bad_request("Name parameter required.")
            }
            Self::Missing { name, .. } => Status::not_found(GROUP, resource, name),
            Self::Unsupported(_) => Status::new(500, "", self.to_string()),
        }
    }
}

/// As the authorizer's message has it.
impl std::fmt::Display for Unresolved {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Missing { resource, name } => {
                write!(f, "{}", Status::not_found(GROUP, resource, name))
            }
            Self::Unsupported(kind) => {
                write!(f, "unsupported role reference kind: {}", quote(kind))
            }
        }
    }
}

impl Policy {
    /// Adds or replaces a role or cluster role; `None` removes it.
    pub(super) fn set_role(&mut self, key: &str, role: Option<&Value>) {
        match role {
            Some(role) => self.roles.insert(key.to_owned(), Rule::all_of(role)),
            None => self.roles.remove(key),
        };
    }

    /// Adds or replaces a role binding or cluster role binding; `None` removes it.
    pub(super) fn set_binding(&mut self, key: &str, binding: Option<&Value>) {
        let (namespace, name) = key.split_once('/').unwrap_or(("", key));
        let scope = self.scopes.entry(namespace.to_owned()).or_default();
        scope.remove(name);
        if let Some(binding) = binding {
            scope.insert(Binding::read(binding));
        } else if scope.bindings.is_empty() {
            self.scopes.remove(namespace);
        }
    }

    /// All grants to `user` in `namespace` (empty: in the cluster), those of cluster role bindings
    /// first, in the order of the bindings' names.
    pub(super) fn grants<'a>(
        &'a self,
        user: &'a User,
        namespace: &'a str,
    ) -> impl Iterator<Item = Result<Grant<'a>, Unresolved>> {
        let local = (!namespace.is_empty()).then(|| self.scopes.get(namespace));
        let scopes = self.scopes.get("").into_iter().chain(local.flatten());
        scopes.flat_map(|scope| scope.of(user)).filter_map(|binding| {
            let subject =
                binding.subjects.iter().find(|subject| subject.is(user, &binding.namespace))?;
            Some(
                self.rules(&binding.role.kind, &binding.role.name, &binding.namespace)
                    .map(|rules| Grant { binding, subject, rules }),
            )
        })
    }

    /// The rules of the role that a binding in `namespace` refers to.
    pub(super) fn rules(
        &self,
        kind: &str,
        name: &str,
        namespace: &str,
    ) -> Result<&[Rule], Unresolved> {
        let (key, resource) = match kind {
            "ClusterRole" => (name.to_owned(), "clusterrole"),
            "Role" => (format!("{namespace}/{name}"), "role"),
            other => return Err(Unresolved::Unsupported(other.to_owned())),
        };
        let missing = || Unresolved::Missing { resource, name: name.to_owned() };
        self.roles.get(&key).map(Vec::as_slice).ok_or_else(missing)
    }
}

impl Scope {
    fn insert(&mut self, binding: Binding) {
        let name: Arc<str> = binding.name.as_str().into();
        for subject in &binding.subjects {
            if let Some((index, subject)) = self.index(subject, &binding.namespace) {
                index.entry(subject).or_default().insert(name.clone());
            }
        }
        self.bindings.insert(name, binding);
    }

    fn remove(&mut self, name: &str) {
        let Some(binding) = self.bindings.remove(name) else { return };
        for subject in &binding.subjects {
            let Some((index, subject)) = self.index(subject, &binding.namespace) else { continue };
            if let Some(names) = index.get_mut(&subject) {
                names.remove(name);
                if names.is_empty() {
                    index.remove(&subject);
                }
            }
        }
    }

    /// The index with the bindings of a subject. A service account is indexed by its user name.
    fn index(
        &mut self,
        subject: &Subject,
        binding_namespace: &str,
    ) -> Option<(&mut Index, String)> {
        match subject.kind.as_str() {
            "User" => Some((&mut self.users, subject.name.clone())),
            "Group" => Some((&mut self.groups, subject.name.clone())),
            "ServiceAccount" => Some((&mut self.users, subject.account(binding_namespace)?)),
            _ => None,
        }
    }

    fn of<'a>(&'a self, user: &User) -> impl Iterator<Item = &'a Binding> + use<'a> {
        let groups = user.groups.iter().filter_map(|group| self.groups.get(group));
        let names: BTreeSet<&Arc<str>> =
            self.users.get(&user.name).into_iter().chain(groups).flatten().collect();
        names.into_iter().filter_map(|name| self.bindings.get(name))
    }
}

impl Binding {
    fn read(object: &Value) -> Self {
        Self {
            name: metadata::name(object).to_owned(),
            namespace: metadata::namespace(object).to_owned(),
            role: RoleReference {
                kind: text(object, "roleRef.kind").to_owned(),
                name: text(object, "roleRef.name").to_owned(),
            },
            subjects: list(object, "subjects")
                .iter()
                .map(|subject| Subject {
                    kind: text(subject, "kind").to_owned(),
                    name: text(subject, "name").to_owned(),
                    namespace: text(subject, "namespace").to_owned(),
                })
                .collect(),
        }
    }
}

impl Subject {
    /// The user name of a service account; `None` if it has no namespace.
    fn account(&self, binding_namespace: &str) -> Option<String> {
        let namespace = self.namespace_in(binding_namespace);
        (!namespace.is_empty()).then(|| service_account::username(namespace, &self.name))
    }

    fn namespace_in<'a>(&'a self, binding_namespace: &'a str) -> &'a str {
        if self.namespace.is_empty() { binding_namespace } else { &self.namespace }
    }

    fn is(&self, user: &User, binding_namespace: &str) -> bool {
        match self.kind.as_str() {
            "User" => user.name == self.name,
            "Group" => user.groups.contains(&self.name),
            "ServiceAccount" => {
                self.account(binding_namespace).is_some_and(|name| name == user.name)
            }
            _ => false,
        }
    }

    fn describe(&self, binding_namespace: &str) -> String {
        let name = if self.kind == "ServiceAccount" {
            quote(&format!("{}/{}", self.name, self.namespace_in(binding_namespace)))
        } else {
            quote(&self.name)
        };
        format!("{} {name}", self.kind)
    }
}

impl std::fmt::Display for Grant<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Binding { name, namespace, role, .. } = self.binding;
        let (kind, name) = if namespace.is_empty() {
            ("ClusterRoleBinding", quote(name))
        } else {
            ("RoleBinding", quote(&format!("{name}/{namespace}")))
        };
        let subject = self.subject.describe(namespace);
        write!(f, "{kind} {name} of {} {} to {subject}", role.kind, quote(&role.name))
    }
}
