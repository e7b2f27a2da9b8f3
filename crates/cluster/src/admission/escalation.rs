//! Privilege escalation checks on roles and bindings, as upstream makes them in their storage: users
//! cannot grant rights that they do not have.
//!
//! A user may write a role only with rules that the user has in the same scope, and bind only a role
//! with such rules. The verbs `escalate` and `bind` lift that.

use serde_json::Value;

use crate::auth::{Attributes, Rule, Target, aggregate, missing, quote_all};
use crate::metadata;
use crate::status::Status;
use crate::value::{list, same, text};
use crate::write::Writer;

const GROUP: &str = "rbac.authorization.k8s.io";

pub(super) fn admit(
    writer: &Writer<'_>,
    object: &Value,
    old: Option<&Value>,
) -> Result<(), Status> {
    if writer.user.may_everything() {
        return Ok(());
    }
    let roles = matches!(writer.resource.plural.as_str(), "roles" | "clusterroles");
    if roles && may_escalate(writer) {
        return Ok(());
    }
    if old.is_some_and(|old| only_for_garbage_collection(object, old)) {
        return Ok(());
    }
    if roles { role(writer, object, old) } else { binding(writer, object) }
}

fn role(writer: &Writer<'_>, object: &Value, old: Option<&Value>) -> Result<(), Status> {
    confirm(writer, object, &Rule::all_of(object))?;
    let aggregates = |role: &Value| !list(role, "aggregationRule.clusterRoleSelectors").is_empty();
    if aggregates(object) || old.is_some_and(aggregates) {
        // An aggregated role can collect any rule.
        confirm(writer, object, &everything()).map_err(|_| {
            let why = "must have cluster-admin privileges to use the aggregationRule";
            forbidden(writer, object, why)
        })?;
    }
    Ok(())
}

fn binding(writer: &Writer<'_>, object: &Value) -> Result<(), Status> {
    let (kind, name) = (text(object, "roleRef.kind"), text(object, "roleRef.name"));
    let resource = match kind {
        "ClusterRole" => "clusterroles",
        _ => "roles",
    };
    let bind = Attributes {
        user: writer.user,
        verb: "bind",
        target: Target::Resource {
            group: text(object, "roleRef.apiGroup"),
            resource,
            subresource: "",
            namespace: writer.namespace,
            name,
        },
    };
    let (authorizer, store) = (&writer.state.authorizer, &writer.state.store);
    if matches!(kind, "ClusterRole" | "Role") && authorizer.allows(store, &bind) {
        return Ok(());
    }
    match authorizer.rules_of_role(store, kind, name, writer.namespace) {
        Ok(rules) => confirm(writer, object, &rules),
        Err(unresolved) => Err(unresolved.on_request(&writer.resource.plural)),
    }
}

/// Whether the user may escalate: for all roles here, or for the one that the request names. A POST names none.
fn may_escalate(writer: &Writer<'_>) -> bool {
    let escalate = Attributes {
        user: writer.user,
        verb: "escalate",
        target: Target::Resource {
            group: GROUP,
            resource: &writer.resource.plural,
            subresource: "",
            namespace: writer.namespace,
            name: writer.named,
        },
    };
    writer.state.authorizer.allows(&writer.state.store, &escalate)
}

/// Fails unless the user has all of `rules` in the namespace of the request.
fn confirm(writer: &Writer<'_>, object: &Value, rules: &[Rule]) -> Result<(), Status> {
    let (held, unresolved) =
        writer.state.authorizer.rules_of(&writer.state.store, writer.user, writer.namespace);
    let missing = missing(&held, rules);
    if missing.is_empty() {
        return Ok(());
    }
    let lines: Vec<&str> = missing.iter().map(String::as_str).collect();
    let mut why = format!(
        "user {} (groups={}) is attempting to grant RBAC permissions not currently held:\n{}",
        sluice_base::go::quote(&writer.user.name),
        quote_all(&writer.user.groups),
        lines.join("\n")
    );
    let resource = &writer.resource.plural;
    let unresolved = unresolved.iter().map(|error| error.on_request(resource).message);
    if let Some(unresolved) = aggregate(unresolved) {
        why = format!("{why}; resolution errors: [{unresolved}]");
    }
    Err(forbidden(writer, object, &why))
}

fn forbidden(writer: &Writer<'_>, object: &Value, why: &str) -> Status {
    Status::forbidden(GROUP, &writer.resource.plural, metadata::name(object), why)
}

fn everything() -> [Rule; 2] {
    let all = || vec!["*".to_owned()];
    [
        Rule { verbs: all(), groups: all(), resources: all(), ..Rule::default() },
        Rule { verbs: all(), urls: all(), ..Rule::default() },
    ]
}

/// Whether a change is one that the garbage collector makes, which grants no rights.
fn only_for_garbage_collection(object: &Value, old: &Value) -> bool {
    let mut compared = object.clone();
    for field in ["ownerReferences", "finalizers", "managedFields"] {
        metadata::copy(&mut compared, old, field);
    }
    same(&compared, old)
}
