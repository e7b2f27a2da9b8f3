//! What goes wrong, in which words, and how it passes.

use std::time::Duration;

use serde_json::{Value, json};

use crate::ground::{Ground, config_map, config_map_file, kustomization, said};

/// A directory that cannot be built: one file in it, the spec, and what is said.
struct Unbuildable {
    name: &'static str,
    file: &'static str,
    content: String,
    spec: Value,
    says: &'static str,
}

fn unbuildable() -> Vec<Unbuildable> {
    let case = |name, file, content: &str, spec, says| Unbuildable {
        name,
        file,
        content: content.to_owned(),
        spec,
        says,
    };
    let twice = format!("{}---\n{}", config_map_file("${a}", "1"), config_map_file("${b}", "1"));
    let mut aliases = "a: &a [x, x, x, x, x, x, x, x, x]\n".to_owned();
    for pair in ["ab", "bc", "cd", "de", "ef", "fg", "gh", "hi", "ij", "jk", "kl"] {
        let (before, now) = pair.split_at(1);
        let nine = vec![format!("*{before}"); 9].join(", ");
        aliases.extend([now, ": &", now, " [", &nine, "]\n"]);
    }
    let set = |values: Value| json!({"postBuild": {"substitute": values}});
    let file = "kustomization.yaml";
    vec![
        case(
            "yaml",
            "a.yaml",
            "a: [",
            json!({}),
            "failed to decode Kubernetes YAML from /yaml/a.yaml: ",
        ),
        case(
            "object",
            "a.yaml",
            "a: b",
            json!({}),
            "failed to decode Kubernetes YAML from /object/a.yaml: ",
        ),
        case(
            "alias",
            "a.yaml",
            &aliases,
            json!({}),
            "failed to decode Kubernetes YAML from /alias/a.yaml: ",
        ),
        case(
            "root",
            file,
            "resources: [../../../etc]",
            json!({}),
            "kustomize build failed: accumulating resources: accumulation err='accumulating resources \
             from '../../../etc': fs-security-constraint read /etc: path '/etc' is not in or below '/'': ",
        ),
        case(
            "secret",
            file,
            "secretGenerator: [{name: s, files: [../../../etc/passwd]}]",
            json!({}),
            "kustomize build failed: loading KV pairs: file sources: [../../../etc/passwd]: \
             fs-security-constraint read /etc/passwd: path '/etc/passwd' is not in or below '/'",
        ),
        case(
            "helm",
            file,
            "helmCharts: [{name: x, repo: 'https://charts.test'}]",
            json!({}),
            "kustomize build failed: ",
        ),
        case(
            "collision",
            "a.yaml",
            &twice,
            set(json!({"a": "same", "b": "same"})),
            "in Replace: id matched 2 resources",
        ),
        case(
            "variable",
            "a.yaml",
            &config_map_file("v", "${missing}"),
            set(json!({"a": "b"})),
            "post build failed for 'ConfigMap.v1.[noGrp]/v': envsubst error: variable substitution \
             failed: variable not set (strict mode): \"missing\"",
        ),
        case(
            "component",
            "a.yaml",
            &config_map_file("c", "1"),
            json!({"components": ["../nowhere"]}),
            "",
        ),
    ]
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_built_says_why() {
    let cases = unbuildable();
    let files: Vec<(String, &str)> = cases
        .iter()
        .map(|case| (format!("{}/{}", case.name, case.file), case.content.as_str()))
        .collect();
    let files: Vec<(&str, &str)> = files.iter().map(|(path, it)| (path.as_str(), *it)).collect();
    let ground = Ground::with(&files, |_| {}).await;
    for Unbuildable { name, spec, says, .. } in cases {
        let app = kustomization(name, name, spec);
        ground.apply(app.clone()).await;
        let failed =
            ground.until(&app, |it| said(it, "Ready").starts_with("False BuildFailed")).await;
        let ready = said(&failed, "Ready");
        assert!(ready.starts_with(&format!("False BuildFailed: {says}")), "{name}: {ready}");
        let retries = "True ProgressingWithRetry: Building manifests for revision";
        assert!(said(&failed, "Reconciling").starts_with(retries), "{name}");
        assert_eq!(failed["status"]["observedGeneration"], -1, "{name}");
        assert!(failed["status"]["lastAttemptedRevision"].is_string(), "{name}");
        assert!(failed["status"].get("history").is_none(), "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn all_that_fails_is_told_at_once() {
    let (a, b) = (config_map_file("a", "${one}"), config_map_file("b", "${two}"));
    let ground = Ground::with(&[("app/a.yaml", &a), ("app/b.yaml", &b)], |_| {}).await;
    let app = kustomization("app", "app", json!({"postBuild": {"substitute": {"x": "y"}}}));
    ground.apply(app.clone()).await;
    let failed = ground.until(&app, |it| said(it, "Ready").starts_with("False BuildFailed")).await;
    let lines: Vec<String> = said(&failed, "Ready").lines().map(str::to_owned).collect();
    assert_eq!(lines.len(), 2, "{lines:#?}");
    assert!(lines[0].contains("/a': ") && lines[1].contains("/b': "), "{lines:#?}");
}

#[tokio::test(start_paused = true)]
async fn who_waits_for_each_other_says_so_and_nothing_is_applied() {
    let (a, b) = (config_map_file("a", "1"), config_map_file("b", "1"));
    let ground = Ground::with(&[("a/a.yaml", &a), ("b/b.yaml", &b)], |_| {}).await;
    let (first, second) = (
        kustomization("first", "a", json!({"dependsOn": [{"name": "second"}]})),
        kustomization("second", "b", json!({"dependsOn": [{"name": "first"}]})),
    );
    ground.apply(first.clone()).await;
    let missing = "False DependencyNotReady: dependency 'apps/second' not found: kustomizations.kustomize.toolkit.fluxcd.io \"second\" not found";
    ground.until_ready_says(&first, missing).await;
    ground.apply(second.clone()).await;
    let waits = |from: &str, to: &str| {
        format!(
            "False DependencyNotReady: dependency 'apps/{to}' is not ready: a cycle of dependencies: apps/{from} -> apps/{to} -> apps/{from}"
        )
    };
    ground.until_ready_says(&first, &waits("first", "second")).await;
    ground.until_ready_says(&second, &waits("second", "first")).await;
    let events = ground.events("first").await;
    let waits =
        "Normal DependencyNotReady: Dependencies do not meet ready condition, retrying in 30s";
    assert!(events.contains(&waits.to_owned()), "{events:#?}");
    assert!(ground.get(&config_map("a")).await.is_none());
    ground.apply(kustomization("second", "b", json!({"dependsOn": []}))).await;
    ground.until(&first, |it| said(it, "Ready").starts_with("True")).await;
}

#[tokio::test(start_paused = true)]
async fn expressions_decide_about_dependencies() {
    let (a, b) = (config_map_file("a", "1"), config_map_file("b", "1"));
    let ground = Ground::with(&[("a/a.yaml", &a), ("b/b.yaml", &b)], |_| {}).await;
    ground.apply(kustomization("first", "a", json!({}))).await;
    let second = |expr: &str| {
        kustomization("second", "b", json!({"dependsOn": [{"name": "first", "readyExpr": expr}]}))
    };
    let app = second("dep.status.lastAppliedRevision ==");
    ground.apply(app.clone()).await;
    let words = "InvalidCELExpression: Reconciliation failed terminally due to configuration error: terminal error: failed to evaluate dependency first: ";
    let stalled =
        ground.until(&app, |it| said(it, "Ready").starts_with(&format!("False {words}"))).await;
    assert!(said(&stalled, "Stalled").starts_with(&format!("True {words}")));
    assert_eq!(stalled["status"]["observedGeneration"], stalled["metadata"]["generation"]);
    ground.apply(second("dep.metadata.labels['wave'] == self.metadata.name")).await;
    ground.until(&app, |it| said(it, "Ready").starts_with("False DependencyNotReady: ")).await;
    ground
        .apply(second("has(dep.status.inventory) && dep.status.inventory.entries.size() > 5"))
        .await;
    let words = "False DependencyNotReady: dependency 'apps/first' is not ready according to readyExpr eval";
    ground.until_ready_says(&app, words).await;
    let loops = "[1,2,3,4,5,6,7,8,9,10]";
    let endless = ["a", "b", "c", "d", "e", "f", "g", "h", "i"]
        .iter()
        .fold("true".to_owned(), |inner, name| format!("{loops}.all({name}, {inner})"));
    ground.apply(second(&endless)).await;
    let bounded = ground.until(&app, |it| !said(it, "Ready").contains("readyExpr eval")).await;
    assert!(said(&bounded, "Ready").starts_with("False "), "{}", said(&bounded, "Ready"));
    ground
        .apply(second("dep.status.conditions.exists(c, c.type == 'Ready' && c.status == 'True')"))
        .await;
    let ready = ground.until(&app, |it| said(it, "Ready").starts_with("True")).await;
    assert_eq!(said(&ready, "Stalled"), "", "it stalls no more");
}

#[tokio::test(start_paused = true)]
async fn a_retry_comes_after_its_interval_and_history_counts() {
    let a = config_map_file("a", "1");
    let ground = Ground::with(&[("app/a.yaml", &a)], |_| {}).await;
    let app = kustomization("app", "nowhere", json!({"retryInterval": "2m", "interval": "1h"}));
    ground.apply(app.clone()).await;
    let failed =
        ground.until(&app, |it| said(it, "Ready").starts_with("False ArtifactFailed")).await;
    let at = |it: &Value| it["metadata"]["resourceVersion"].clone();
    tokio::time::sleep(Duration::from_secs(100)).await;
    assert_eq!(at(&ground.get(&app).await.unwrap()), at(&failed), "it is not tried before");
    let count = |events: &[String]| {
        events.iter().filter(|it| it.contains("kustomization path not found")).count()
    };
    assert_eq!(count(&ground.events("app").await), 1);
    let spec = json!({"path": "app", "interval": "1m", "retryInterval": "2m"});
    ground.apply(kustomization("app", "app", spec)).await;
    ground.until(&app, |it| said(it, "Ready").starts_with("True")).await;
    tokio::time::sleep(Duration::from_mins(5)).await;
    let status = ground.get(&app).await.unwrap()["status"].clone();
    let history = status["history"].as_array().unwrap().clone();
    assert_eq!(history.len(), 1, "{history:#?}");
    assert!(history[0]["totalReconciliations"].as_i64().unwrap() >= 5, "{history:#?}");
    assert_eq!(history[0]["metadata"]["revision"], status["lastAppliedRevision"]);
    for value in 2..9 {
        let revision =
            ground.commit("next", &[("app/a.yaml", &config_map_file("a", &value.to_string()))]);
        let expected = format!("True ReconciliationSucceeded: Applied revision: {revision}");
        ground.until_ready_says(&app, &expected).await;
    }
    let status = ground.get(&app).await.unwrap()["status"].clone();
    assert_eq!(status["history"].as_array().unwrap().len(), 5);
    assert_eq!(status["history"][0]["metadata"]["revision"], status["lastAppliedRevision"]);
}

#[tokio::test(start_paused = true)]
async fn a_request_is_answered() {
    let a = config_map_file("a", "1");
    let ground = Ground::with(&[("app/a.yaml", &a)], |_| {}).await;
    let mut app = kustomization("app", "app", json!({}));
    ground.apply(app.clone()).await;
    ground.until(&app, |it| said(it, "Ready").starts_with("True")).await;
    app["metadata"]["annotations"] = json!({"reconcile.fluxcd.io/requestedAt": "now"});
    ground.apply(app.clone()).await;
    ground.until(&app, |it| it["status"]["lastHandledReconcileAt"] == "now").await;
}

#[tokio::test(start_paused = true)]
async fn who_writes_for_an_old_version_is_told_what_rewrites_it() {
    let file = |version: &str| {
        format!(
            "apiVersion: source.toolkit.fluxcd.io/{version}\nkind: OCIRepository\nmetadata: {{name: old, namespace: apps}}\nspec: {{interval: 1h, suspend: true, url: 'oci://registry.test/old'}}\n"
        )
    };
    let ground = Ground::with(&[("app/old.yaml", &file("v1beta2"))], |_| {}).await;
    let app = kustomization("app", "app", json!({"retryInterval": "30s"}));
    ground.apply(app.clone()).await;
    // Flux's own words stay as they are; the advice stands beside them.
    let words = "False ReconciliationFailed: OCIRepository/apps/old dry-run failed: no matches for kind \"OCIRepository\" in version \"source.toolkit.fluxcd.io/v1beta2\"";
    let failed = ground.until(&app, |it| said(it, "Ready").starts_with(words)).await;
    assert!(!said(&failed, "Ready").contains("migrate"), "{}", said(&failed, "Ready"));
    let advice = "OutdatedVersion: `sluice migrate -f PATH` rewrites old API versions in files: OCIRepository/apps/old (v1beta2 to v1)";
    let events = ground.events("app").await;
    assert!(events.iter().any(|event| event.contains(advice)), "{events:?}");
    ground.commit("migrated", &[("app/old.yaml", &file("v1"))]);
    ground.until(&app, |it| said(it, "Ready").starts_with("True")).await;
}
