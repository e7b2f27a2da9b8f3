//! The table of identities against the audit log: every request of a scenario with two tenants, one by one.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::Namespace;
use kube::Api;
use kube::api::PostParams;
use serde_json::{Value, json};
use sluice_cluster::Cluster;
use sluice_cluster::audit::{Event, Recorder};
use sluice_controllers::identity::table::{Actor, Row, TABLE, Target, markdown};
use sluice_runtime::lease::{Candidate, Terms};

use crate::ground::{
    AGENT, Ground, config_map, kustomization, merge, namespace, repository_with, said, secret,
};

/// The accounts that apply, with their namespaces.
const ACCOUNTS: [(&str, &str); 3] = [("apps", "deployer"), ("apps", "heir"), ("team", "worker")];
/// Kinds that only the tenants' repositories have.
const APPLIED_KINDS: [&str; 3] = ["deployments", "pods", "replicasets"];

fn config_map_in(namespace: &str, name: &str) -> String {
    format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}, namespace: {namespace}}}\ndata: {{value: '${{value}}'}}\n"
    )
}

fn deployment() -> String {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "made-deployer-d", "namespace": "apps"},
        "spec": {
            "replicas": 1, "selector": {"matchLabels": {"app": "d"}},
            "template": {
                "metadata": {"labels": {"app": "d"}},
                "spec": {"containers": [{"name": "d", "image": "registry.test/d:1"}]},
            },
        },
    })
    .to_string()
}

/// A namespace whose account may do everything in it.
async fn tenant(ground: &Ground, namespace: &str, account: &str) {
    let of = |kind: &str, api: &str, name: &str| json!({"apiVersion": api, "kind": kind, "metadata": {"name": name, "namespace": namespace}});
    ground
        .apply(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}))
        .await;
    ground.apply(of("ServiceAccount", "v1", account)).await;
    let rbac = "rbac.authorization.k8s.io/v1";
    let mut binding = of("RoleBinding", rbac, account);
    let role =
        json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "admin"});
    let subject = json!([{"kind": "ServiceAccount", "name": account, "namespace": namespace}]);
    merge(&mut binding, json!({"roleRef": role, "subjects": subject}));
    ground.apply(binding).await;
}

fn in_team(mut object: Value) -> Value {
    object["metadata"]["namespace"] = json!("team");
    object
}

/// A Kustomization that uses everything that has an identity of its own.
fn app() -> Value {
    let reference = |kind: &str| json!({"kind": kind, "name": "ref-vars"});
    let mut app = kustomization(
        "app",
        "app",
        json!({
            "serviceAccountName": "deployer", "wait": true, "timeout": "1m", "retryInterval": "10s",
            "postBuild": {"substituteFrom": [reference("ConfigMap"), reference("Secret")]},
            "decryption": {"provider": "sops", "secretRef": {"name": "ref-keys"}},
        }),
    );
    let on = json!([{"apiVersion": "v1", "kind": "ConfigMap", "name": "dep-x"}]);
    app["metadata"]["annotations"] =
        json!({"sluice.dev/drift": "repair", "sluice.dev/depends-on": on.to_string()});
    app
}

fn heir() -> Value {
    kustomization("heir", "heir", json!({"serviceAccountName": "heir", "retryInterval": "10s"}))
}

fn far() -> Value {
    let way = json!({"configMapRef": {"name": "ref-remote"}});
    kustomization("far", "far", json!({"kubeConfig": way, "retryInterval": "10s"}))
}

fn other() -> Value {
    let spec = json!({"serviceAccountName": "worker", "retryInterval": "10s"});
    in_team(kustomization("other", "other", spec))
}

/// What the repository holds: `made-ACCOUNT-…` belongs to one account, `made-b` to the first and later to its
/// heir.
fn files(is_later: bool) -> Vec<(String, String)> {
    let mut files = vec![
        ("app/d.yaml".to_owned(), deployment()),
        ("heir/h.yaml".to_owned(), config_map_in("apps", "made-heir-h")),
        ("far/f.yaml".to_owned(), config_map_in("apps", "made-f")),
        ("other/o.yaml".to_owned(), config_map_in("team", "made-worker-o")),
    ];
    let owner = if is_later { "heir" } else { "app" };
    files.push((format!("{owner}/b.yaml"), config_map_in("apps", "made-b")));
    if !is_later {
        files.push(("app/c.yaml".to_owned(), config_map_in("apps", "made-deployer-c")));
    }
    files
}

fn commit(ground: &Ground, is_later: bool) -> String {
    let files = files(is_later);
    let files: Vec<(&str, &str)> =
        files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    ground.commit(if is_later { "later" } else { "first" }, &files)
}

/// Everything that tenants do, and what the audit log says about it.
async fn scenario(spoil: impl Fn(&Ground)) -> (Vec<Event>, Vec<String>) {
    let recorder = Recorder::default();
    let cluster = Cluster::builder().seed(1).audit(Arc::new(recorder.clone())).build();
    let mut ground = Ground::on(cluster).await;
    ground.settings().object_level_workload_identity = true;
    ground.settings().external_artifacts = true;
    ground.start();
    for (namespace, account) in ACCOUNTS {
        tenant(&ground, namespace, account).await;
    }
    let remote = ground.neighbours.put("https://remote.test:443/");
    let spaces: Api<Namespace> = Api::all(remote);
    let apps = serde_json::from_value(namespace()).unwrap();
    spaces.create(&PostParams::default(), &apps).await.unwrap();

    let first = commit(&ground, false);
    let url = crate::ground::URL;
    ground.apply(secret("ref-git", &json!({"username": "u", "password": "p"}))).await;
    let with_login = json!({"url": url, "secretRef": {"name": "ref-git"}});
    ground.apply(repository_with("platform", with_login)).await;
    ground.apply(in_team(repository_with("platform", json!({"url": url})))).await;
    let mut variables = config_map("ref-vars");
    variables["data"] = json!({"value": "one"});
    ground.apply(variables).await;
    ground.apply(secret("ref-vars", &json!({"other": "2"}))).await;
    ground.apply(secret("ref-keys", &json!({"nothing": "x"}))).await;
    ground.apply(config_map("dep-x")).await;
    let mut remote = config_map("ref-remote");
    remote["data"] =
        json!({"provider": "generic", "address": "remote.test", "serviceAccountName": "deployer"});
    ground.apply(remote).await;
    let copy = json!([{"from": "@repo/app/**", "to": "@artifact/"}]);
    ground
        .apply(json!({
            "apiVersion": "source.extensions.fluxcd.io/v1beta1", "kind": "ArtifactGenerator",
            "metadata": {"name": "split", "namespace": "apps"},
            "spec": {
                "sources": [{"alias": "repo", "kind": "GitRepository", "name": "platform"}],
                "artifacts": [{"name": "part", "copy": copy}],
            },
        }))
        .await;
    let all = [app(), heir(), far(), other()];
    for object in &all {
        ground.apply(object.clone()).await;
    }
    for object in &all {
        ground.until(object, |it| is_at(it, &first)).await;
    }
    spoil(&ground);
    let later = commit(&ground, true);
    for object in &all {
        ground.until(object, |it| is_at(it, &later)).await;
    }
    let election = Candidate {
        client: ground.controllers_client(),
        namespace: "apps".to_owned(),
        name: "elected".to_owned(),
        identity: "me".to_owned(),
        clock: ground.clock(),
        chance: Arc::new(|| 0.5),
        terms: Terms::default(),
    };
    let mut held = election.acquire().await;
    let _ = tokio::time::timeout(Duration::from_secs(20), held.keep()).await;
    held.release().await;
    for object in &all {
        ground.delete(object).await;
    }
    for object in &all {
        gone(&ground, object).await;
    }
    ground.stop().await;
    assert_eq!(recorder.dropped(), 0);
    let events = recorder.events().into_iter().filter(|event| event.user_agent == AGENT);
    (events.collect(), ground.neighbours.guests().into_iter().collect())
}

fn is_at(object: &Value, revision: &str) -> bool {
    said(object, "Ready").starts_with("True")
        && object.pointer("/status/lastAppliedRevision").and_then(Value::as_str) == Some(revision)
}

async fn gone(ground: &Ground, object: &Value) {
    for _ in 0..600 {
        if ground.get(object).await.is_none() {
            return;
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    panic!("still there: {object}");
}

/// What an event is about: by names that the scenario gives, never by who made the request.
fn target_of(event: &Event) -> (Target, String, String) {
    let Some(object) = &event.object_ref else {
        return (Target::Discovery, String::new(), String::new());
    };
    let mut resource = format!("{}/{}", object.api_group, object.resource);
    if !object.subresource.is_empty() {
        resource = format!("{resource}/{}", object.subresource);
    }
    let is_many = matches!(event.verb, "list" | "watch");
    let is_applied_kind = APPLIED_KINDS.contains(&object.resource.as_str());
    let target = match object.name.as_str() {
        _ if is_many && !object.namespace.is_empty() => Target::AppliedKindInNamespace,
        _ if is_many && is_applied_kind => Target::AppliedKindEverywhere,
        name if name.starts_with("made-") && object.resource != "events" => Target::AppliedObject,
        name if name.starts_with("dep-") => Target::Dependency,
        _ => Target::Resources(&[]),
    };
    (target, resource, object.namespace.clone())
}

/// The account that an object belongs to by its name.
fn owner_of(event: &Event) -> Option<&str> {
    let name = event.object_ref.as_ref()?.name.strip_prefix("made-")?;
    name.split_once('-').map(|(owner, _)| owner)
}

/// Whether the author of an event is the one that a row names.
fn is_by(event: &Event, actor: Actor, namespace: &str) -> bool {
    let acting = event.impersonated_user.as_ref().map(|_| event.acting_user().to_owned());
    // A request about no namespace may be made by any of the accounts.
    let is_account = |acting: &String| {
        let known = ACCOUNTS.into_iter();
        let known = known.filter(|(space, _)| namespace.is_empty() || *space == namespace);
        let mut known =
            known.filter(|(_, name)| owner_of(event).is_none_or(|owner| owner == *name));
        known.any(|(space, name)| format!("system:serviceaccount:{space}:{name}") == *acting)
    };
    match (actor, &acting) {
        (Actor::Controllers, acting) => acting.is_none(),
        (Actor::Applier | Actor::Anyone, Some(acting)) => is_account(acting),
        (Actor::Applier, None) => false,
        (Actor::Anyone, None) => true,
    }
}

/// Requests that no row covers, requests that are made by another than their row names, and rows that are
/// never seen.
fn violations(events: &[Event], table: &[Row]) -> Vec<String> {
    let mut seen = vec![false; table.len()];
    let mut found = Vec::new();
    for event in events {
        let (target, resource, namespace) = target_of(event);
        let row = table.iter().position(|row| row.covers(event.verb, target, &resource));
        let shown = format!("{} {resource} {}", event.verb, event.request_uri);
        let Some(row) = row else {
            found.push(format!("no row: {shown}"));
            continue;
        };
        seen[row] = true;
        if !is_by(event, table[row].actor, &namespace) {
            let by = event.acting_user();
            found.push(format!("as {by}, not as {:?}: {shown}", table[row].actor));
        }
    }
    let unseen = table.iter().zip(&seen).filter(|(_, seen)| !**seen);
    found.extend(unseen.map(|(row, _)| format!("never seen: {}", row.purpose)));
    found.sort();
    found.dedup();
    found
}

#[tokio::test(start_paused = true)]
async fn every_request_is_made_with_the_identity_that_the_table_names() {
    let (events, guests) = scenario(|_| {}).await;
    let found = violations(&events, TABLE);
    assert!(found.is_empty(), "{}", found.join("\n"));
    // Another cluster is shown a token of the account that the ConfigMap names, and nobody is acted as there.
    assert!(
        !guests.is_empty() && guests.iter().all(|guest| is_token_of_deployer(guest)),
        "{guests:?}"
    );

    // The check can fail: a table that says otherwise about any row, or lacks it, is found out.
    for index in 0..TABLE.len() {
        let mut table = TABLE.to_vec();
        let row = table.remove(index);
        let lacking = violations(&events, &table);
        assert!(lacking.iter().any(|it| it.starts_with("no row")), "{}", row.purpose);
        let actor = match row.actor {
            Actor::Applier => Actor::Controllers,
            Actor::Controllers => Actor::Applier,
            Actor::Anyone => continue,
        };
        table.insert(index, Row { actor, ..row });
        let differing = violations(&events, &table);
        assert!(differing.iter().any(|it| it.starts_with("as ")), "{}", row.purpose);
    }
}

fn is_token_of_deployer(guest: &str) -> bool {
    use base64::Engine as _;
    let (bearer, acted_as) = guest.rsplit_once(' ').unwrap_or_default();
    let claims = bearer.strip_prefix("Bearer ").and_then(|token| token.split('.').nth(1));
    let claims = claims.and_then(|it| base64::prelude::BASE64_URL_SAFE_NO_PAD.decode(it).ok());
    let claims: Value = serde_json::from_slice(&claims.unwrap_or_default()).unwrap_or_default();
    acted_as.is_empty() && claims["sub"] == "system:serviceaccount:apps:deployer"
}

/// A request that is made by the wrong identity is in the log, and the check names it.
#[tokio::test(start_paused = true)]
async fn a_request_with_the_wrong_identity_is_found() {
    let (events, _) = scenario(|ground| ground.forget_account_of("DELETE")).await;
    let found = violations(&events, TABLE);
    let is_it =
        |it: &String| it.starts_with("as ") && it.contains("not as Applier: delete /configmaps");
    assert!(found.iter().any(is_it), "{}", found.join("\n"));
}

#[test]
fn the_documentation_shows_the_table() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/identities.md");
    let text = std::fs::read_to_string(path).unwrap();
    assert!(text.contains(&markdown()), "put this into docs/identities.md:\n{}", markdown());
}
