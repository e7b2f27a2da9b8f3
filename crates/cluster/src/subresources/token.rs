//! `serviceaccounts/token`: a signed token for a service account (TokenRequest).

use std::sync::{Arc, LazyLock};

use http::Response;
use jiff::SignedDuration;
use serde_json::{Value, json};
use sluice_base::clock::Clock as _;
use sluice_base::time;
use sluice_schema::field::{FieldError, Path};

use crate::auth::{ISSUER, service_account};
use crate::body::{self, Body};
use crate::call::Call;
use crate::kind::Kind;
use crate::resource::Resource;
use crate::status::Status;
use crate::store::{self, GroupResource, Stored};
use crate::value::{fill, list, number, present, text};
use crate::write::Writer;
use crate::{decode, managed, metadata, registry};

const GROUP: &str = "authentication.k8s.io";
const KIND: &str = "TokenRequest";

/// The default lifetime of a token, in seconds.
const LIFE: i64 = 3600;
const SHORTEST: i64 = 600;
const LONGEST: i64 = 1 << 32;
/// The lifetime that a projected volume requests. Such tokens are valid for a year, because old
/// clients read them only once; the requested time is kept as a claim.
const PROJECTED: i64 = 3607;
const YEAR: i64 = 365 * 24 * 3600;

/// The kind of the request, which is not a resource of its own.
static TOKEN_REQUEST: LazyLock<Resource> =
    LazyLock::new(|| registry::of_bodies(GROUP, "v1", KIND, Arc::new(TokenRequest)));

struct TokenRequest;

impl Kind for TokenRequest {
    fn default(&self, object: &mut Value) {
        fill(object, "spec.expirationSeconds", LIFE);
    }
}

pub(super) fn serve(call: &Call) -> Result<Response<Body>, Status> {
    let dry_run = call.dry_run()?;
    let mut warnings = Vec::new();
    let mut request = decode::object_of(call, &TOKEN_REQUEST, &mut warnings)?;
    let manager = call.manager();
    let writer = Writer { resource: &TOKEN_REQUEST, ..call.writer(&manager, dry_run) };
    writer.check_namespace(&mut request)?;
    let mut request = managed::track(&writer, &Value::Null, request);
    let account = account(call, &mut request)?;
    let now = call.state.clock.now();
    metadata::set(&mut request, "creationTimestamp", time::format_seconds(now));
    check_life(&request)?;
    let bound = bound_object(call, &request)?;
    let seconds = number(&request, "spec.expirationSeconds");
    let on_pod = bound.iter().any(|bound| bound.kind == "pod");
    let for_us = list(&request, "spec.audiences").iter().all(|name| name == ISSUER);
    let extended = on_pod && for_us && seconds == PROJECTED;
    let second = now.as_second();
    let mut own = json!({
        "namespace": call.info.namespace,
        "serviceaccount": {"name": call.info.name, "uid": metadata::uid(&account.value)},
    });
    for Bound { kind, name, uid } in bound {
        own[kind] = json!({"name": name});
        if !uid.is_empty() {
            own[kind]["uid"] = uid.into();
        }
    }
    if extended {
        own["warnafter"] = (second + seconds).into();
    }
    let claims = json!({
        "aud": request["spec"]["audiences"],
        "exp": second + if extended { YEAR } else { seconds },
        "iat": second,
        "iss": ISSUER,
        "jti": call.state.random.uuid(),
        "kubernetes.io": own,
        "nbf": second,
        "sub": service_account::username(&call.info.namespace, &call.info.name),
    });
    let ends = now.checked_add(SignedDuration::from_secs(seconds)).unwrap_or(now);
    request["status"] = json!({
        "token": call.state.authority.sign(&claims),
        "expirationTimestamp": time::format_seconds(ends),
    });
    TOKEN_REQUEST.shape.normalize(&mut request);
    let mut response = body::object(201, call.wanted.encoding, &request);
    body::warn(&mut response, &warnings);
    Ok(response)
}

/// The account. The request's name and uid default to the account's and must equal them.
fn account(call: &Call, request: &mut Value) -> Result<Arc<Stored>, Status> {
    let name = &call.info.name;
    let given = metadata::name(request);
    if !given.is_empty() && given != name {
        let path = Path::new("metadata").child("name");
        let why = "must match the service account name if specified";
        let error = FieldError::invalid(&path, given, why);
        return Err(Status::invalid(GROUP, KIND, name, &[error]));
    }
    let account = call
        .state
        .store
        .get(&call.resource.storage, &call.key())
        .ok_or_else(|| call.resource.not_found(name))?;
    let (given, uid) = (metadata::uid(request), metadata::uid(&account.value));
    if !given.is_empty() && given != uid {
        let why = format!(
            "the UID in the token request ({given}) does not match the UID of the service account ({uid})"
        );
        return Err(Status::conflict(GROUP, KIND, name, &why));
    }
    metadata::set(request, "name", name.as_str());
    metadata::set(request, "uid", uid);
    if list(request, "spec.audiences").is_empty() {
        request["spec"]["audiences"] = json!([ISSUER]);
    }
    Ok(account)
}

fn check_life(request: &Value) -> Result<(), Status> {
    let seconds = number(request, "spec.expirationSeconds");
    let why = if seconds < SHORTEST {
        "may not specify a duration less than 10 minutes"
    } else if seconds > LONGEST {
        "may not specify a duration larger than 2^32 seconds"
    } else {
        return Ok(());
    };
    let path = Path::new("spec").child("expirationSeconds");
    Err(Status::invalid(GROUP, KIND, "", &[FieldError::invalid(&path, seconds, why)]))
}

/// An object that a token is bound to; the token is valid as long as it exists.
struct Bound {
    kind: &'static str,
    name: String,
    uid: String,
}

fn bound_object(call: &Call, request: &Value) -> Result<Vec<Bound>, Status> {
    if !present(request, "spec.boundObjectRef") {
        return Ok(Vec::new());
    }
    let field = |name: &str| text(request, &format!("spec.boundObjectRef.{name}"));
    let (api_version, kind, name) = (field("apiVersion"), field("kind"), field("name"));
    let (group, version) = api_version.rsplit_once('/').unwrap_or(("", api_version));
    let namespace = call.info.namespace.as_str();
    let (kind_name, resource, namespace) = match (group, kind) {
        ("", "Pod") => ("pod", "pods", namespace),
        ("", "Node") => ("node", "nodes", ""),
        ("", "Secret") => ("secret", "secrets", namespace),
        _ => {
            return Err(Status::bad_request(format!(
                "cannot bind token to object of type {group}/{version}, Kind={kind}"
            )));
        }
    };
    let find = |resource: &str, namespace: &str, name: &str| {
        call.state.store.get(&GroupResource::new("", resource), &store::key(namespace, name))
    };
    let object =
        find(resource, namespace, name).ok_or_else(|| Status::not_found("", resource, name))?;
    let account = text(&object.value, "spec.serviceAccountName");
    if kind == "Pod" && account != call.info.name {
        return Err(Status::bad_request(format!(
            "cannot bind token for serviceaccount {} to pod running with different serviceaccount name.",
            sluice_base::go::quote(&call.info.name)
        )));
    }
    let (uid, given) = (metadata::uid(&object.value), field("uid"));
    if !given.is_empty() && given != uid {
        let why = format!(
            "the UID in the bound object reference ({given}) does not match the UID in record. The object might have been deleted and then recreated"
        );
        return Err(Status::conflict(group, kind, name, &why));
    }
    let mut out = vec![Bound { kind: kind_name, name: name.to_owned(), uid: uid.to_owned() }];
    let node = text(&object.value, "spec.nodeName");
    if kind == "Pod" && !node.is_empty() {
        let found = find("nodes", "", node);
        let uid = found.as_ref().map_or("", |node| metadata::uid(&node.value));
        out.push(Bound { kind: "node", name: node.to_owned(), uid: uid.to_owned() });
    }
    Ok(out)
}
