//! RBAC: a request is allowed if any rule that is bound to its user allows it.
//!
//! The stored roles and bindings are compiled at the first decision and then kept up to date by
//! watches, so a decision costs a few lookups and sees every write before it.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use super::policy::Policy;
use super::{Attributes, Rule, Unresolved, User};
use crate::status::Status;
use crate::store::watch::Watch;
use crate::store::{Change, GroupResource, Store};

/// The resources of a policy, and whether they are bindings.
const RESOURCES: [(&str, bool); 4] = [
    ("roles", false),
    ("clusterroles", false),
    ("rolebindings", true),
    ("clusterrolebindings", true),
];

/// A decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Decision {
    pub(crate) allowed: bool,
    /// The binding that allows the request, or the roles that could not be found; may be empty.
    pub(crate) reason: String,
}

/// The authorizer of a cluster.
#[derive(Debug, Default)]
pub(crate) struct Authorizer {
    known: Mutex<Option<Known>>,
}

/// A policy, and the watches that keep it up to date.
#[derive(Debug)]
struct Known {
    policy: Policy,
    followed: Vec<Followed>,
}

#[derive(Debug)]
struct Followed {
    watch: Watch,
    binds: bool,
}

impl Authorizer {
    /// Whether a user may do something, and why.
    pub(crate) fn decide(&self, store: &Arc<Store>, wanted: &Attributes<'_>) -> Decision {
        if wanted.user.may_everything() {
            return Decision { allowed: true, reason: String::new() };
        }
        self.ask(store, |policy| {
            let mut unresolved = BTreeSet::new();
            for grant in policy.grants(wanted.user, wanted.namespace()) {
                match grant {
                    Ok(grant) if grant.rules.iter().any(|rule| rule.allows(wanted)) => {
                        let reason = format!("RBAC: allowed by {grant}");
                        return Decision { allowed: true, reason };
                    }
                    Ok(_) => {}
                    Err(error) => {
                        unresolved.insert(error);
                    }
                }
            }
            let reason = aggregate(unresolved.iter().map(Unresolved::to_string))
                .map_or_else(String::new, |errors| format!("RBAC: {errors}"));
            Decision { allowed: false, reason }
        })
    }

    /// Whether a user may do something.
    pub(crate) fn allows(&self, store: &Arc<Store>, wanted: &Attributes<'_>) -> bool {
        wanted.user.may_everything()
            || self.ask(store, |policy| {
                policy
                    .grants(wanted.user, wanted.namespace())
                    .flatten()
                    .any(|grant| grant.rules.iter().any(|rule| rule.allows(wanted)))
            })
    }

    /// Fails with 403 unless the user may do something.
    pub(crate) fn require(
        &self,
        store: &Arc<Store>,
        wanted: &Attributes<'_>,
    ) -> Result<(), Status> {
        if self.allows(store, wanted) {
            return Ok(());
        }
        Err(wanted.forbidden(&self.decide(store, wanted).reason))
    }

    /// Every rule that applies to a user in a namespace (empty: in the cluster), and the errors on the
    /// way.
    pub(crate) fn rules_of(
        &self,
        store: &Arc<Store>,
        user: &User,
        namespace: &str,
    ) -> (Vec<Rule>, BTreeSet<Unresolved>) {
        self.ask(store, |policy| {
            let (mut rules, mut unresolved) = (Vec::new(), BTreeSet::new());
            for grant in policy.grants(user, namespace) {
                match grant {
                    Ok(grant) => rules.extend_from_slice(grant.rules),
                    Err(error) => {
                        unresolved.insert(error);
                    }
                }
            }
            (rules, unresolved)
        })
    }

    /// The rules of the role that a binding in `namespace` refers to.
    pub(crate) fn rules_of_role(
        &self,
        store: &Arc<Store>,
        kind: &str,
        name: &str,
        namespace: &str,
    ) -> Result<Vec<Rule>, Unresolved> {
        self.ask(store, |policy| policy.rules(kind, name, namespace).map(<[Rule]>::to_vec))
    }

    /// Calls `question` with the current policy.
    fn ask<T>(&self, store: &Arc<Store>, question: impl FnOnce(&Policy) -> T) -> T {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let current = known.take().and_then(Known::caught_up).unwrap_or_else(|| Known::read(store));
        question(&known.insert(current).policy)
    }
}

impl Known {
    /// Reads the whole store. The watches are opened first, so that a write in between is seen twice
    /// rather than never.
    fn read(store: &Arc<Store>) -> Self {
        let revision = store.revision();
        let mut known = Self { policy: Policy::default(), followed: Vec::new() };
        for (name, binds) in RESOURCES {
            let resource = GroupResource::new("rbac.authorization.k8s.io", name);
            // Neither fails for the current revision; if one did, the next decision would read again.
            let Ok(watch) = store.watch(&resource, revision) else { continue };
            known.followed.push(Followed { watch, binds });
            let Ok(listing) = store.list(&resource, "", None, None) else { continue };
            for (key, stored) in listing.items {
                known.policy.set(binds, &key, Some(&stored.value));
            }
        }
        known
    }

    /// Applies the writes since; `None` if they have been compacted.
    fn caught_up(mut self) -> Option<Self> {
        for Followed { watch, binds } in &mut self.followed {
            if !watch.has_news() {
                continue;
            }
            for event in watch.take().ok()? {
                let object = (event.change != Change::Deleted).then_some(&*event.object.value);
                self.policy.set(*binds, &event.key, object);
            }
        }
        (self.followed.len() == RESOURCES.len()).then_some(self)
    }
}

impl Policy {
    fn set(&mut self, binds: bool, key: &str, object: Option<&serde_json::Value>) {
        if binds {
            self.set_binding(key, object);
        } else {
            self.set_role(key, object);
        }
    }
}

/// Joins errors as upstream does; `None` if there are none.
pub(crate) fn aggregate(errors: impl Iterator<Item = String>) -> Option<String> {
    let texts: Vec<String> = errors.collect();
    match texts.as_slice() {
        [] => None,
        [only] => Some(only.clone()),
        several => Some(format!("[{}]", several.join(", "))),
    }
}

#[cfg(test)]
mod tests;
