//! Authentication, impersonation and authorization.
//!
//! ```text
//!   authentication   a bearer token, or what its absence means -> User
//!   impersonation    the User that the request acts as
//!   authorizer       Attributes of the request -> allowed or not, and why (RBAC)
//!     policy           the stored roles and bindings, compiled and kept up to date
//!     rule, cover      what one rule allows, which rights are needed to grant it
//!   authority        the keys: certificates, the administrator's token, tokens of service accounts
//! ```

mod attributes;
mod authentication;
mod authority;
mod authorizer;
mod cover;
mod impersonation;
mod jwt;
mod policy;
mod rule;
pub(crate) mod service_account;

use std::collections::BTreeMap;

pub(crate) use attributes::{Attributes, Target};
pub(crate) use authentication::{Authenticated, LEGACY_ISSUER, authenticate, authenticate_token};
pub(crate) use authority::{Authority, ISSUER, Secret};
pub(crate) use authorizer::{Authorizer, Decision, aggregate};
pub(crate) use cover::missing;
pub(crate) use impersonation::impersonate;
pub(crate) use policy::Unresolved;
pub(crate) use rule::{Rule, quote_all};

use crate::request::RequestInfo;
use crate::state::State;
use crate::status::Status;

/// The group that is allowed everything.
const MASTERS: &str = "system:masters";
/// The group of all authenticated users.
const AUTHENTICATED: &str = "system:authenticated";
/// The group of all unauthenticated users.
const UNAUTHENTICATED: &str = "system:unauthenticated";
/// The user of requests without a credential.
const ANONYMOUS: &str = "system:anonymous";

/// The author of a request.
#[derive(Debug, Clone, PartialEq, Eq, Default, serde::Serialize)]
pub struct User {
    /// The name, such as `system:serviceaccount:NAMESPACE:NAME`.
    #[serde(rename = "username", skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// The uid, mostly empty.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub uid: String,
    /// The groups, in the order in which they were given.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<String>,
    /// Extra attributes from the authenticator.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub extra: BTreeMap<String, Vec<String>>,
}

impl User {
    /// The user of in-process clients: may do everything.
    pub fn admin() -> Self {
        Self::in_groups("admin", &[MASTERS, AUTHENTICATED])
    }

    /// A user with a name and groups.
    pub fn in_groups(name: &str, groups: &[&str]) -> Self {
        Self {
            name: name.to_owned(),
            groups: groups.iter().map(|group| (*group).to_owned()).collect(),
            ..Self::default()
        }
    }

    /// Whether the user is allowed everything, without a look at the rules.
    pub(crate) fn may_everything(&self) -> bool {
        self.is_in(MASTERS)
    }

    fn is_in(&self, group: &str) -> bool {
        self.groups.iter().any(|member_of| member_of == group)
    }
}

/// Fails unless the user may do what the request asks.
pub(crate) fn authorize(state: &State, user: &User, info: &RequestInfo) -> Result<(), Status> {
    if user.may_everything() {
        return Ok(());
    }
    state.authorizer.require(&state.store, &Attributes::of_request(user, info))
}

/// Fails unless the user may also create what a request would create.
pub(crate) fn authorize_create(
    state: &State,
    user: &User,
    info: &RequestInfo,
) -> Result<(), Status> {
    authorize(state, user, &RequestInfo { verb: "create", ..info.clone() })
}
