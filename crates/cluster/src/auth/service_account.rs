//! Service accounts as users.

use std::collections::BTreeMap;

use super::User;
use crate::validation::names;

const PREFIX: &str = "system:serviceaccount:";
const EVERY_ACCOUNT: &str = "system:serviceaccounts";

/// The user name of a service account.
pub(crate) fn username(namespace: &str, name: &str) -> String {
    format!("{PREFIX}{namespace}:{name}")
}

/// The namespace and name in the user name of a service account.
pub(super) fn split(username: &str) -> Option<(&str, &str)> {
    let (namespace, name) = username.strip_prefix(PREFIX)?.split_once(':')?;
    let valid = names::dns_label(namespace).is_empty() && names::dns_subdomain(name).is_empty();
    valid.then_some((namespace, name))
}

/// The groups of every service account in a namespace.
pub(super) fn groups(namespace: &str) -> Vec<String> {
    vec![EVERY_ACCOUNT.to_owned(), format!("{EVERY_ACCOUNT}:{namespace}")]
}

/// A service account as a user.
pub(super) fn user(
    namespace: &str,
    name: &str,
    uid: &str,
    extra: BTreeMap<String, Vec<String>>,
) -> User {
    let mut groups = groups(namespace);
    groups.push(super::AUTHENTICATED.to_owned());
    User { name: username(namespace, name), uid: uid.to_owned(), groups, extra }
}
