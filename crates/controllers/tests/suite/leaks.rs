//! No status and no event shows what is in a Secret, however wrong it is.

use serde_json::{Value, json};

use crate::ground::{Ground, kustomization, said, secret};

/// What must never be seen.
const PASSWORD: &str = "hunter2";

/// Where a Secret is used, what is in it, and the files that are built.
struct Leak {
    name: &'static str,
    spec: Value,
    data: Value,
    files: Vec<(&'static str, &'static str)>,
}

const MAP: &str =
    "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: m, namespace: apps}\ndata: {v: x}\n";

fn leaks() -> Vec<Leak> {
    let mut leaks = Vec::new();
    let mut add = |name, spec: Value, data: Value, files: &[(&'static str, &'static str)]| {
        leaks.push(Leak { name, spec, data, files: files.to_vec() });
    };
    let kubeconfig = json!({"kubeConfig": {"secretRef": {"name": "s", "key": "k"}}});
    add("no-kubeconfig", kubeconfig.clone(), json!({"k": PASSWORD}), &[("a.yaml", MAP)]);
    let wrong = "apiVersion: v1\nkind: Config\nusers:\n- name: u\n  user:\n    token: hunter2\n    client-key-data: [1]\n";
    add("wrong-kubeconfig", kubeconfig.clone(), json!({"k": wrong}), &[("a.yaml", MAP)]);
    let broken = "users: [{name: u, user: {token: hunter2\n";
    add("broken-kubeconfig", kubeconfig.clone(), json!({"k": broken}), &[("a.yaml", MAP)]);
    let server = "apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts: [{name: c, context: {cluster: c, user: u}}]\nclusters: [{name: c, cluster: {server: 'hunter2 hunter2'}}]\nusers: [{name: u, user: {token: t}}]\n";
    add("server-of-kubeconfig", kubeconfig.clone(), json!({"k": server}), &[("a.yaml", MAP)]);
    let data = "apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts: [{name: c, context: {cluster: c, user: u}}]\nclusters: [{name: c, cluster: {server: 'https://a.test', certificate-authority-data: 'hunter2!'}}]\nusers: [{name: u, user: {client-certificate-data: 'hunter2?', client-key-data: 'hunter2?'}}]\n";
    add("data-of-kubeconfig", kubeconfig, json!({"k": data}), &[("a.yaml", MAP)]);
    let decryption = json!({"decryption": {"provider": "sops", "secretRef": {"name": "s"}}});
    for (name, entry) in [
        ("age-key", "k.agekey"),
        ("pgp-key", "k.asc"),
        ("aws-key", "sops.aws-kms"),
        ("gcp-key", "sops.gcp-kms"),
        ("azure-key", "sops.azure-kv"),
    ] {
        add(name, decryption.clone(), json!({entry: "hunter2: [hunter2"}), &[("a.yaml", MAP)]);
    }
    let from = json!({"postBuild": {"substituteFrom": [{"kind": "Secret", "name": "s"}]}});
    let uses = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: m, namespace: apps}\ndata:\n  v: ${k}\n  w: 1\n";
    for (name, value) in [
        ("variable-breaks", "a: hunter2: b"),
        ("variable-opens", "{hunter2"),
        ("variable-quotes", "\"hunter2"),
        ("variable-refers", "*hunter2"),
        ("variable-tags", "!hunter2 x"),
    ] {
        add(name, from.clone(), json!({"k": value}), &[("a.yaml", uses)]);
    }
    for (name, file) in [
        ("data-is-a-list", "data: [hunter2]"),
        ("data-is-a-map", "data: {a: {b: hunter2}}"),
        ("data-is-no-base64", "data: {a: 'hunter2!'}"),
        ("text-is-a-map", "stringData: {a: {b: hunter2}}"),
        ("text-is-a-list", "stringData: [hunter2]"),
        ("text-is-a-text", "stringData: hunter2"),
        ("type-is-a-map", "stringData: {a: hunter2}\ntype: {a: b}"),
        ("key-is-none", "stringData: {'a b': hunter2}"),
        ("immutable-is-a-text", "stringData: {a: hunter2}\nimmutable: maybe"),
        (
            "no-docker-config",
            "stringData: {.dockerconfigjson: hunter2}\ntype: kubernetes.io/dockerconfigjson",
        ),
        ("no-basic-auth", "stringData: {a: hunter2}\ntype: kubernetes.io/basic-auth"),
    ] {
        let file = format!(
            "apiVersion: v1\nkind: Secret\nmetadata: {{name: x, namespace: apps}}\n{file}\n"
        );
        add(name, json!({}), json!({}), &[("a.yaml", file.leak())]);
    }
    let nameless = "apiVersion: v1\nkind: Secret\nmetadata: {name: x}\nstringData: {a: hunter2}\n";
    let patch = "resources: [a.yaml]\npatches: [{patch: '[{op: replace, path: /apiVersion, value: \"\"}]', target: {kind: Secret}}]\n";
    add(
        "without-a-version",
        json!({}),
        json!({}),
        &[("a.yaml", nameless), ("kustomization.yaml", patch)],
    );
    leaks
}

#[tokio::test(start_paused = true)]
async fn no_status_and_no_event_shows_a_value_of_a_secret() {
    let leaks = leaks();
    let files: Vec<(String, &str)> = leaks
        .iter()
        .flat_map(|leak| {
            leak.files.iter().map(|(path, text)| (format!("{}/{path}", leak.name), *text))
        })
        .collect();
    let files: Vec<(&str, &str)> =
        files.iter().map(|(path, text)| (path.as_str(), *text)).collect();
    let ground = Ground::with(&files, |_| {}).await;
    let mut shown = Vec::new();
    for Leak { name, mut spec, data, .. } in leaks {
        // Each has a Secret of its own.
        let text = spec.to_string().replace("\"name\":\"s\"", &format!("\"name\":\"{name}\""));
        spec = serde_json::from_str(&text).unwrap();
        ground.apply(secret(name, &data)).await;
        let app = kustomization(name, name, spec);
        ground.apply(app.clone()).await;
        let is_over = |it: &Value| {
            let ready = said(it, "Ready");
            !ready.is_empty() && !ready.starts_with("Unknown") && !ready.contains("artifact")
        };
        let end = ground.until(&app, is_over).await;
        let status = end["status"].to_string();
        let events = ground.events(name).await;
        if status.contains(PASSWORD) || events.iter().any(|event| event.contains(PASSWORD)) {
            shown.push(format!("{name}: {}", said(&end, "Ready")));
        }
    }
    assert!(shown.is_empty(), "{}", shown.join("\n\n"));
}
