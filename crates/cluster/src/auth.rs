//! Who asks, and whether they may.

use std::collections::BTreeMap;

use http::HeaderMap;
use serde_json::Value;

use crate::request::RequestInfo;
use crate::service::Door;
use crate::state::State;
use crate::status::Status;

/// The author of a request.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct User {
    /// The name, such as `system:serviceaccount:NAMESPACE:NAME`.
    pub name: String,
    /// The uid, mostly empty.
    pub uid: String,
    /// The groups, in the order they were given.
    pub groups: Vec<String>,
    /// Whatever else the authenticator knows.
    pub extra: BTreeMap<String, Vec<String>>,
}

impl User {
    /// The user of in-process clients: may do everything.
    pub fn admin() -> Self {
        Self::in_groups("admin", &["system:masters", "system:authenticated"])
    }

    /// A user with a name and groups.
    pub fn in_groups(name: &str, groups: &[&str]) -> Self {
        Self {
            name: name.to_owned(),
            groups: groups.iter().map(|group| (*group).to_owned()).collect(),
            ..Self::default()
        }
    }
}

/// Whom the cluster trusts: its tokens and its signing key.
pub(crate) struct Authority;

impl Authority {
    pub(crate) fn new() -> Self {
        Self
    }

    /// The certificate that the server's certificate is signed by, as PEM.
    pub(crate) fn root_certificate(&self) -> &str {
        ""
    }

    /// The token of the administrator.
    pub(crate) fn admin_token(&self) -> &str {
        "admin"
    }

    /// The document at `/.well-known/openid-configuration`.
    pub(crate) fn openid_configuration(&self) -> Value {
        Value::Null
    }

    /// The document at `/openid/v1/jwks`.
    pub(crate) fn key_set(&self) -> Value {
        Value::Null
    }
}

/// Who sends a request.
pub(crate) fn authenticate(state: &State, door: Door, headers: &HeaderMap) -> Result<User, Status> {
    let _ = (state, door, headers);
    Ok(User::admin())
}

/// Whom the request is sent as, if its author says so and may.
pub(crate) fn impersonate(state: &State, user: User, headers: &HeaderMap) -> Result<User, Status> {
    let _ = (state, headers);
    Ok(user)
}

/// Fails unless the user may do what the request asks.
pub(crate) fn authorize(state: &State, user: &User, info: &RequestInfo) -> Result<(), Status> {
    let _ = (state, user, info);
    Ok(())
}

/// Fails unless the user may also create what a request would create.
pub(crate) fn authorize_create(
    state: &State,
    user: &User,
    info: &RequestInfo,
) -> Result<(), Status> {
    authorize(state, user, &RequestInfo { verb: "create", ..info.clone() })
}
