//! Attacks on the hand-over of objects: what one tenant tries to learn from, or to hold in, another's prune.
//!
//! `apps` is the namespace that prunes or is deleted, `team` the one of another tenant. Both have a repository of
//! their own; the accounts `owner` of `apps` and `lead` of `team` may do everything with ConfigMaps of `apps`.

use std::time::Duration;

use serde_json::{Value, json};
use sluice_base::fault::Fault;

use crate::ground::{
    Ground, config_map, config_map_file, kustomization, namespace, repository, repository_with,
    said,
};

const TEAM: &str = "https://git.test/team";

/// The same object in the other tenant's namespace.
fn of_team(mut object: Value) -> Value {
    object["metadata"]["namespace"] = json!("team");
    object
}

fn team_source() -> Value {
    of_team(repository_with("team", json!({"url": TEAM})))
}

/// A Kustomization of the other tenant, which builds its own repository.
fn team_kustomization(name: &str, more: Value) -> Value {
    let mut spec =
        json!({"sourceRef": {"kind": "GitRepository", "name": "team"}, "retryInterval": "10m"});
    crate::ground::merge(&mut spec, more);
    of_team(kustomization(name, name, spec))
}

fn victim() -> Value {
    kustomization("old", "old", json!({"serviceAccountName": "owner"}))
}

fn with_x() -> [(&'static str, String); 2] {
    [("old/a.yaml", config_map_file("a", "1")), ("old/x.yaml", config_map_file("x", "old"))]
}

fn without_x() -> [(&'static str, String); 1] {
    [("old/a.yaml", config_map_file("a", "1"))]
}

fn as_texts<'f>(files: &'f [(&'static str, String)]) -> Vec<(&'static str, &'f str)> {
    files.iter().map(|(path, text)| (*path, text.as_str())).collect()
}

/// Both namespaces with their repositories; the victim has applied `a` and `x`.
async fn ground(
    team: &[(&str, &str)],
    change: impl FnOnce(&mut sluice_controllers::context::Settings),
) -> Ground {
    let mut ground = Ground::idle().await;
    change(ground.settings());
    ground.commit("x is there", &as_texts(&with_x()));
    ground.commit_to(TEAM, "of the team", team);
    ground.apply(namespace()).await;
    let team = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team"}});
    ground.apply(team).await;
    ground.apply(repository()).await;
    ground.apply(team_source()).await;
    let rules = json!([{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["*"]}]);
    let metadata = json!({"name": "lead", "namespace": "apps"});
    let api = "rbac.authorization.k8s.io/v1";
    ground
        .apply(json!({"apiVersion": api, "kind": "Role", "metadata": metadata, "rules": rules}))
        .await;
    let role = json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "lead"});
    let subjects = json!([
        {"kind": "ServiceAccount", "name": "lead", "namespace": "team"},
        {"kind": "ServiceAccount", "name": "owner", "namespace": "apps"},
    ]);
    let owner = json!({"name": "owner", "namespace": "apps"});
    ground.apply(json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": owner})).await;
    ground
        .apply(json!({"apiVersion": api, "kind": "RoleBinding", "metadata": metadata, "roleRef": role, "subjects": subjects}))
        .await;
    ground.start();
    ground.apply(victim()).await;
    ground.until(&victim(), |it| said(it, "Ready").starts_with("True")).await;
    ground
}

fn lock_down(settings: &mut sluice_controllers::context::Settings) {
    settings.no_cross_namespace_refs = true;
}

async fn removed(ground: &Ground) -> Value {
    let revision = ground.commit("x is gone", &as_texts(&without_x()));
    let words = format!("True ReconciliationSucceeded: Applied revision: {revision}");
    ground.until_ready_says(&victim(), &words).await
}

/// A Kustomization that its own pass refuses to build is not built for the hand-over either: what it would
/// build shows by what stays.
#[tokio::test(start_paused = true)]
async fn what_a_pass_refuses_to_build_is_no_oracle() {
    let x = config_map_file("x", "theirs");
    let broken = "resources: [missing.yaml]";
    // The text of a file, in a directory that cannot be built: a ConfigMap is mentioned beside a password.
    let notes = "kind: ConfigMap\n# the password is x\n";
    let team = [
        ("builds/x.yaml", x.as_str()),
        ("broken/kustomization.yaml", broken),
        ("broken/notes.yaml", notes),
        ("locked/x.yaml", x.as_str()),
    ];
    let source = json!({"kind": "GitRepository", "name": "team", "namespace": "team"});
    let external = json!({"kind": "ExternalArtifact", "name": "forged"});
    let account = json!({"provider": "sops", "serviceAccountName": "sops"});
    let attacks = [
        ("the build of another namespace", json!({"path": "builds", "sourceRef": source})),
        ("the text of another namespace", json!({"path": "broken", "sourceRef": source})),
        ("an ExternalArtifact behind the gate", json!({"path": "builds", "sourceRef": external})),
        ("an account behind the gate", json!({"path": "guess", "decryption": account})),
    ];
    for (name, spec) in attacks {
        let ground = ground(&team, lock_down).await;
        let artifact = ground.get(&team_source()).await.unwrap()["status"]["artifact"].clone();
        let forged = json!({
            "apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "ExternalArtifact",
            "metadata": {"name": "forged", "namespace": "apps"}, "spec": {},
        });
        ground.apply(forged.clone()).await;
        ground.set_status(&forged, json!({"artifact": artifact, "conditions": []})).await;
        let peek = kustomization("peek", "guess", spec);
        ground.apply(peek.clone()).await;
        ground.until(&peek, |it| said(it, "Ready").starts_with("False")).await;
        let mut files = without_x().to_vec();
        files.push(("guess/x.yaml", config_map_file("x", "guess")));
        let revision = ground.commit("x is gone", &as_texts(&files));
        let words = format!("True ReconciliationSucceeded: Applied revision: {revision}");
        let done = ground.until_ready_says(&victim(), &words).await;
        assert_eq!(said(&done, "HandingOver"), "", "{name}");
        assert!(ground.get(&config_map("x")).await.is_none(), "{name}: x answers the question");
    }
}

/// Under lock-down nothing that another namespace would build reaches a status here, though it may apply it.
#[tokio::test(start_paused = true)]
async fn builds_of_other_namespaces_show_nowhere_under_lock_down() {
    let x = config_map_file("x", "theirs");
    let broken = "resources: [missing.yaml]";
    let team = [
        ("wants/x.yaml", x.as_str()),
        ("broken/kustomization.yaml", broken),
        ("broken/x.yaml", x.as_str()),
    ];
    for path in ["wants", "broken"] {
        let ground = ground(&team, lock_down).await;
        let spec = json!({"serviceAccountName": "lead", "suspend": path == "wants"});
        let other = team_kustomization(path, spec);
        ground.apply(other.clone()).await;
        tokio::time::sleep(Duration::from_secs(30)).await;
        let done = removed(&ground).await;
        assert_eq!(said(&done, "HandingOver"), "", "{path}");
        assert!(ground.get(&config_map("x")).await.is_none(), "{path}");
    }
}

/// Where the operator allows references across namespaces, the hand-over crosses them too, and names nobody.
#[tokio::test(start_paused = true)]
async fn names_of_other_namespaces_are_not_shown() {
    let x = config_map_file("x", "theirs");
    let ground = ground(&[("wants/x.yaml", &x)], |_| {}).await;
    let other = team_kustomization("wants", json!({"serviceAccountName": "lead", "suspend": true}));
    ground.apply(other.clone()).await;
    tokio::time::sleep(Duration::from_secs(30)).await;
    let done = removed(&ground).await;
    let expected = "True Claimed: ConfigMap/apps/x stays for a Kustomization of another namespace";
    assert_eq!(said(&done, "HandingOver"), expected);
    let events = ground.events("old").await;
    assert!(!events.iter().any(|event| event.contains("team/")), "{events:#?}");
    ground
        .apply(team_kustomization("wants", json!({"serviceAccountName": "lead", "suspend": false})))
        .await;
    ground.until(&config_map("x"), |it| it["data"]["value"] == "theirs").await;
    ground.until(&victim(), |it| said(it, "HandingOver").is_empty()).await;
}

/// Nobody without the right to apply an object holds it: whatever the account is called, however the question
/// ends, and whatever a forged status says.
#[tokio::test(start_paused = true)]
async fn without_the_right_nobody_holds_a_deletion() {
    let x = config_map_file("x", "theirs");
    let long = "a".repeat(70_000);
    for (account, locked) in [
        ("no\nbody", false),
        ("no\nbody", true),
        ("nobody", false),
        ("b\u{e4}r", true),
        (long.as_str(), false),
        ("lead:x", true),
    ] {
        let ground = ground(&[("hold/x.yaml", &x)], |settings| {
            settings.no_cross_namespace_refs = locked;
            settings.default_service_account = Some("nobody".to_owned());
        })
        .await;
        let shown: String = account.chars().take(20).collect();
        let spec = json!({"serviceAccountName": account, "suspend": true});
        let hold = team_kustomization("hold", spec);
        ground.apply(hold.clone()).await;
        let entries = json!([{"id": "apps_x__ConfigMap", "v": "v1"}]);
        ground.set_status(&hold, json!({"inventory": {"entries": entries}})).await;
        tokio::time::sleep(Duration::from_secs(30)).await;
        ground.delete(&victim()).await;
        tokio::time::sleep(Duration::from_mins(1)).await;
        assert!(ground.get(&victim()).await.is_none(), "held by {shown:?}, locked: {locked}");
        assert!(ground.get(&config_map("x")).await.is_none(), "{shown:?} keeps x");
    }
}

/// Who may apply an object and never does holds the deletion of another namespace for a while, not for ever.
/// The object stays, as it would if its annotations said so, which the other may write as well.
#[tokio::test(start_paused = true)]
async fn a_right_that_is_never_used_holds_a_deletion_for_a_while() {
    let x = config_map_file("x", "theirs");
    let broken = x.replace("value: ", "value: [");
    let team = [
        ("suspended/x.yaml", x.as_str()),
        ("unready/x.yaml", x.as_str()),
        ("broken/x.yaml", broken.as_str()),
    ];
    for (name, spec) in [
        ("suspended", json!({"suspend": true})),
        ("unready", json!({"dependsOn": [{"name": "unready"}]})),
        ("broken", json!({})),
    ] {
        for locked in [false, true] {
            let ground = ground(&team, |settings| settings.no_cross_namespace_refs = locked).await;
            let mut spec = spec.clone();
            crate::ground::merge(&mut spec, json!({"serviceAccountName": "lead"}));
            let hold = team_kustomization(name, spec);
            ground.apply(hold.clone()).await;
            let entries = json!([{"id": "apps_x__ConfigMap", "v": "v1"}]);
            ground.set_status(&hold, json!({"inventory": {"entries": entries}})).await;
            tokio::time::sleep(Duration::from_secs(30)).await;
            ground.delete(&victim()).await;
            tokio::time::sleep(Duration::from_mins(15)).await;
            assert!(ground.get(&victim()).await.is_none(), "held by {name}, locked: {locked}");
            assert!(ground.get(&config_map("a")).await.is_none(), "nobody wants a");
        }
    }
}

/// What another namespace fetches to build takes no time of a prune here.
#[tokio::test(start_paused = true)]
async fn a_tarpit_of_another_namespace_holds_nobody() {
    let bases: Vec<String> =
        (0..20).map(|number| format!("- https://git.test/tar{number}//b?ref=main\n")).collect();
    let file = format!("resources:\n{}", bases.concat());
    let ground = ground(&[("tar/kustomization.yaml", &file)], |_| {}).await;
    for number in 0..20 {
        let url = format!("https://git.test/tar{number}");
        ground.commit_to(&url, "b", &[("b/kustomization.yaml", "")]);
        ground.fail_git(&url, Fault::Stall, Duration::from_hours(24));
    }
    ground
        .apply(team_kustomization("tar", json!({"serviceAccountName": "lead", "suspend": true})))
        .await;
    tokio::time::sleep(Duration::from_secs(30)).await;
    let started = tokio::time::Instant::now();
    removed(&ground).await;
    assert!(ground.get(&config_map("x")).await.is_none());
    // A fetch of the source, and little more.
    assert!(started.elapsed() < Duration::from_mins(2), "{:?}", started.elapsed());
}
