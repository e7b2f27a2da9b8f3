//! Impersonation: the `Impersonate-` headers.

use http::HeaderMap;

use super::{ANONYMOUS, AUTHENTICATED, Attributes, Target, UNAUTHENTICATED, User, service_account};
use crate::request::percent_decode;
use crate::state::State;
use crate::status::Status;

const USER: &str = "impersonate-user";
const GROUP: &str = "impersonate-group";
const UID: &str = "impersonate-uid";
const EXTRA: &str = "impersonate-extra-";

/// The API group of uids and extras, and the version that upstream prints with it.
const AUTHENTICATION: &str = "authentication.k8s.io";
const AUTHENTICATION_VERSION: &str = "authentication.k8s.io/v1";

/// One impersonated attribute; each needs a right of its own.
enum Claim<'a> {
    Account { namespace: &'a str, name: &'a str },
    User(&'a str),
    Group(&'a str),
    Extra { key: String, value: &'a str },
    Uid(&'a str),
}

impl Claim<'_> {
    fn target(&self) -> Target<'_> {
        let (group, resource, subresource, namespace, name) = match self {
            Self::Account { namespace, name } => ("", "serviceaccounts", "", *namespace, *name),
            Self::User(name) => ("", "users", "", "", *name),
            Self::Group(name) => ("", "groups", "", "", *name),
            Self::Extra { key, value } => (AUTHENTICATION, "userextras", key.as_str(), "", *value),
            Self::Uid(uid) => (AUTHENTICATION, "uids", "", "", *uid),
        };
        Target::Resource { group, resource, subresource, namespace, name }
    }

    /// The claim as Go prints an `ObjectReference`: kind, namespace, name, uid, version, resource
    /// version and field, one space apart.
    fn printed(&self) -> String {
        match self {
            Self::Account { namespace, name } => {
                format!("{{ServiceAccount {namespace} {name}    }}")
            }
            Self::User(name) => format!("{{User  {name}    }}"),
            Self::Group(name) => format!("{{Group  {name}    }}"),
            Self::Extra { key, value } => {
                format!("{{UserExtra  {value}  {AUTHENTICATION_VERSION}  {key}}}")
            }
            Self::Uid(uid) => format!("{{UID  {uid}  {AUTHENTICATION_VERSION}  }}"),
        }
    }
}

/// The user that the request acts as, and whether it is impersonated.
pub(crate) fn impersonate(
    state: &State,
    user: User,
    headers: &HeaderMap,
) -> Result<(User, bool), Status> {
    let claims = claims(headers)?;
    if claims.is_empty() {
        return Ok((user, false));
    }
    for claim in &claims {
        let wanted = Attributes { user: &user, verb: "impersonate", target: claim.target() };
        state.authorizer.require(&state.store, &wanted)?;
    }
    Ok((claimed(claims), true))
}

fn claims(headers: &HeaderMap) -> Result<Vec<Claim<'_>>, Status> {
    // If an unreadable header were ignored, the request would run with the rights of its real user.
    let unreadable = headers.iter().find(|(name, value)| {
        let name = name.as_str();
        let is_claim = matches!(name, USER | GROUP | UID) || name.starts_with(EXTRA);
        is_claim && value.to_str().is_err()
    });
    if let Some((name, _)) = unreadable {
        let message = format!("the header {name} is not in visible ASCII letters");
        return Err(Status::bad_request(message));
    }
    let first = |name: &str| {
        let value = headers.get(name).and_then(|value| value.to_str().ok());
        value.filter(|value| !value.is_empty())
    };
    let user = first(USER);
    let mut out: Vec<Claim<'_>> = Vec::new();
    out.extend(user.map(|name| match service_account::split(name) {
        Some((namespace, name)) => Claim::Account { namespace, name },
        None => Claim::User(name),
    }));
    let groups = headers.get_all(GROUP).iter().filter_map(|value| value.to_str().ok());
    out.extend(groups.map(Claim::Group));
    let mut extras: Vec<(String, &str)> = headers
        .iter()
        .filter_map(|(name, value)| {
            let key = name.as_str().strip_prefix(EXTRA)?;
            Some((percent_decode(key, false), value.to_str().ok()?))
        })
        .collect();
    // Upstream's order is random; ours is fixed.
    extras.sort_by(|left, right| left.0.cmp(&right.0));
    out.extend(extras.into_iter().map(|(key, value)| Claim::Extra { key, value }));
    out.extend(first(UID).map(Claim::Uid));
    if user.is_none() && !out.is_empty() {
        let printed: Vec<String> = out.iter().map(Claim::printed).collect();
        return Err(Status::bad_request(format!(
            "requested [{}] without impersonating a user",
            printed.join(" ")
        )));
    }
    Ok(out)
}

/// The user with these attributes.
fn claimed(claims: Vec<Claim<'_>>) -> User {
    let mut user = User::default();
    let mut of_account = Vec::new();
    for claim in claims {
        match claim {
            Claim::Account { namespace, name } => {
                user.name = service_account::username(namespace, name);
                of_account = service_account::groups(namespace);
            }
            Claim::User(name) => name.clone_into(&mut user.name),
            Claim::Group(name) => user.groups.push(name.to_owned()),
            Claim::Extra { key, value } => {
                user.extra.entry(key).or_default().push(value.to_owned());
            }
            Claim::Uid(uid) => uid.clone_into(&mut user.uid),
        }
    }
    // Named groups replace all others; a service account gets its own only without them.
    if user.groups.is_empty() {
        user.groups = of_account;
    }
    if user.name == ANONYMOUS {
        if !user.is_in(UNAUTHENTICATED) {
            user.groups.push(UNAUTHENTICATED.to_owned());
        }
    } else if !user.is_in(AUTHENTICATED) && !user.is_in(UNAUTHENTICATED) {
        user.groups.push(AUTHENTICATED.to_owned());
    }
    user
}
