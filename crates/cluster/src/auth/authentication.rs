//! Authentication: the user of a bearer token, or of a request without one.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::HeaderMap;
use http::header::AUTHORIZATION;
use jiff::Timestamp;
use serde_json::Value;
use sluice_base::clock::Clock as _;

use super::jwt::{self, Rejected};
use super::rule::quote_all;
use super::{ANONYMOUS, ISSUER, UNAUTHENTICATED, User, service_account};
use crate::metadata;
use crate::service::Origin;
use crate::state::State;
use crate::status::Status;
use crate::store::{self, GroupResource, Stored};
use crate::value::text;

/// The issuer of tokens in secrets.
pub(crate) const LEGACY_ISSUER: &str = "kubernetes/serviceaccount";

/// A user, and the requested audiences that the token is valid for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Authenticated {
    pub(crate) user: User,
    pub(crate) audiences: Vec<String>,
}

/// Authenticates a request.
pub(crate) fn authenticate(
    state: &State,
    origin: Origin,
    headers: &HeaderMap,
) -> Result<User, Status> {
    let Some(header) = headers.get(AUTHORIZATION) else {
        return Ok(match origin {
            Origin::InProcess => User::admin(),
            Origin::Socket => User::in_groups(ANONYMOUS, &[UNAUTHENTICATED]),
        });
    };
    let Some(token) = header.to_str().ok().and_then(bearer) else {
        // Other schemes than Bearer are not supported.
        return Ok(User::in_groups(ANONYMOUS, &[UNAUTHENTICATED]));
    };
    authenticate_token(state, token, &[ISSUER.to_owned()])
        .map(|authenticated| authenticated.user)
        .map_err(|_| Status::unauthorized())
}

fn bearer(header: &str) -> Option<&str> {
    let mut words = header.trim().split(' ');
    let scheme = words.next()?;
    let token = words.next()?;
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}

/// Authenticates a token for any of `audiences`; the error is the one of TokenReview.
pub(crate) fn authenticate_token(
    state: &State,
    token: &str,
    audiences: &[String],
) -> Result<Authenticated, String> {
    const INVALID: &str = "invalid bearer token";
    if let Some(user) = state.authority.user_of(token) {
        // Tokens without an audience are for this server.
        let ours: Vec<String> = audiences.iter().filter(|name| *name == ISSUER).cloned().collect();
        if ours.is_empty() {
            return Err(INVALID.to_owned());
        }
        return Ok(Authenticated { user: user.clone(), audiences: ours });
    }
    let claims = match state.authority.signer.verify(token, &[ISSUER, LEGACY_ISSUER]) {
        Ok(claims) => claims,
        Err(Rejected::Foreign) => return Err(INVALID.to_owned()),
        Err(Rejected::BadSignature) => {
            let why = "go-jose/go-jose: error in cryptographic primitive";
            return Err(format!("[{INVALID}, {why}]"));
        }
    };
    account(state, token, &claims, audiences).map_err(|why| format!("[{INVALID}, {why}]"))
}

/// The service account of verified claims, if it still exists.
fn account(
    state: &State,
    token: &str,
    claims: &Value,
    audiences: &[String],
) -> Result<Authenticated, String> {
    let mut intended: Vec<String> = match &claims["aud"] {
        Value::String(one) => vec![one.clone()],
        Value::Array(several) => {
            several.iter().filter_map(Value::as_str).map(str::to_owned).collect()
        }
        _ => Vec::new(),
    };
    if intended.is_empty() {
        intended.push(ISSUER.to_owned());
    }
    let shared: Vec<String> =
        intended.iter().filter(|name| audiences.contains(name)).cloned().collect();
    if shared.is_empty() {
        return Err(format!(
            "token audiences {} is invalid for the target audiences {}",
            quote_all(&intended),
            quote_all(audiences)
        ));
    }
    let user = if text(claims, "iss") == LEGACY_ISSUER {
        of_secret(state, token, claims)?
    } else {
        bound(state, claims)?
    };
    Ok(Authenticated { user, audiences: shared })
}

fn find(
    state: &State,
    resource: &str,
    namespace: &str,
    name: &str,
) -> Option<std::sync::Arc<Stored>> {
    state.store.get(&GroupResource::new("", resource), &store::key(namespace, name))
}

/// The account of a requested token, which may be bound to an object.
fn bound(state: &State, claims: &Value) -> Result<User, String> {
    const INVALIDATED: &str = "service account token has been invalidated";
    jwt::check_times(claims, state.clock.now())?;
    let own = &claims["kubernetes.io"];
    let namespace = text(own, "namespace");
    let (name, uid) = (text(own, "serviceaccount.name"), text(own, "serviceaccount.uid"));
    let account = find(state, "serviceaccounts", namespace, name)
        .ok_or_else(|| Status::not_found("", "serviceaccounts", name).message)?;
    let found = metadata::uid(&account.value);
    if found != uid {
        return Err(format!("service account UID ({found}) does not match claim ({uid})"));
    }
    if is_long_gone(state, &account.value) {
        return Err(format!("service account {namespace}/{name} has been deleted"));
    }
    let mut extra = BTreeMap::new();
    let mut add = |key: &str, value: &str| {
        if !value.is_empty() {
            extra.insert(format!("authentication.kubernetes.io/{key}"), vec![value.to_owned()]);
        }
    };
    // A pod's token also names its node, which is not looked up.
    let on_node = own["pod"].is_null();
    for (kind, resource, namespace, checked) in [
        ("secret", "secrets", namespace, true),
        ("pod", "pods", namespace, true),
        ("node", "nodes", "", on_node),
    ] {
        let reference = &own[kind];
        if reference.is_null() {
            continue;
        }
        let (name, uid) = (text(reference, "name"), text(reference, "uid"));
        if checked {
            let object = find(state, resource, namespace, name).ok_or(INVALIDATED)?;
            let found = metadata::uid(&object.value);
            if found != uid {
                return Err(format!(
                    "{kind} UID ({found}) does not match service account {kind} ref claim ({uid})"
                ));
            }
            if is_long_gone(state, &object.value) {
                return Err(INVALIDATED.to_owned());
            }
        }
        if kind != "secret" {
            add(&format!("{kind}-name"), name);
            add(&format!("{kind}-uid"), uid);
        }
    }
    let id = text(claims, "jti");
    if !id.is_empty() {
        add("credential-id", &format!("JTI={id}"));
    }
    Ok(service_account::user(namespace, name, uid, extra))
}

/// Whether an object that finalizers still keep should have been gone for more than a minute.
fn is_long_gone(state: &State, object: &Value) -> bool {
    metadata::text(object, "deletionTimestamp")
        .parse::<Timestamp>()
        .is_ok_and(|end| end.as_second() < state.clock.now().as_second() - jwt::LEEWAY)
}

/// The account of a token in a secret; it is valid as long as the secret exists.
fn of_secret(state: &State, token: &str, claims: &Value) -> Result<User, String> {
    let claim = |name: &str| {
        let key = format!("kubernetes.io/serviceaccount/{name}");
        claims.get(&key).and_then(Value::as_str).unwrap_or_default()
    };
    let (namespace, secret) = (claim("namespace"), claim("secret.name"));
    let (name, uid) = (claim("service-account.name"), claim("service-account.uid"));
    let stored = find(state, "secrets", namespace, secret)
        .filter(|secret| !metadata::is_terminating(&secret.value))
        .ok_or("Token has been invalidated")?;
    if text(&stored.value, "data.token") != STANDARD.encode(token) {
        return Err("Token does not match server's copy".to_owned());
    }
    let account = find(state, "serviceaccounts", namespace, name)
        .ok_or_else(|| Status::not_found("", "serviceaccounts", name).message)?;
    let found = metadata::uid(&account.value);
    if found != uid {
        return Err(format!("ServiceAccount UID ({found}) does not match claim ({uid})"));
    }
    Ok(service_account::user(namespace, name, uid, BTreeMap::new()))
}

#[cfg(test)]
mod tests {
    use http::HeaderMap;

    use super::*;
    use crate::Cluster;

    #[test]
    fn a_request_without_a_token_gets_the_user_of_its_origin() {
        let cluster = Cluster::builder().token("of-ann", User::in_groups("ann", &[])).build();
        let admin = format!("Bearer {}", cluster.state.authority.admin_token());
        // header, name of the user over a socket, and in the process
        let cases = [
            (None, Ok(ANONYMOUS), Ok("admin")),
            (Some("Basic YTpi"), Ok(ANONYMOUS), Ok(ANONYMOUS)),
            (Some("Bearer"), Ok(ANONYMOUS), Ok(ANONYMOUS)),
            (Some("Bearer  of-ann"), Ok(ANONYMOUS), Ok(ANONYMOUS)),
            (Some("Bearer of-ann"), Ok("ann"), Ok("ann")),
            (Some("bearer of-ann"), Ok("ann"), Ok("ann")),
            (Some("Bearer of-bob"), Err(401), Err(401)),
            (Some(admin.as_str()), Ok("admin"), Ok("admin")),
        ];
        for (header, on_socket, in_process) in cases {
            let mut headers = HeaderMap::new();
            if let Some(header) = header {
                headers.insert(AUTHORIZATION, header.parse().unwrap());
            }
            let user = |origin| {
                authenticate(&cluster.state, origin, &headers)
                    .map(|user| user.name)
                    .map_err(|status| status.code)
            };
            assert_eq!(user(Origin::Socket), on_socket.map(str::to_owned), "{header:?}");
            assert_eq!(user(Origin::InProcess), in_process.map(str::to_owned), "{header:?}");
        }
    }
}
