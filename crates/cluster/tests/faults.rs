//! What goes wrong on purpose: which requests it strikes, when, and what is done or not done then.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt as _, Full};
use serde_json::{Value, json};
use sluice_base::fault::{Fault, FaultError, Rule, Scope};
use sluice_cluster::body::Body;
use sluice_cluster::faults::ConnectionLost;
use sluice_cluster::{Builder, Cluster};
use tokio::time::Instant;
use tower::ServiceExt as _;

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

async fn send(
    cluster: &Cluster,
    method: &str,
    path: &str,
    body: Value,
) -> Result<Response<Body>, ConnectionLost> {
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header(
            "content-type",
            if method == "PATCH" { "application/merge-patch+json" } else { "application/json" },
        )
        .header("user-agent", "tester/1")
        .body(Full::new(Bytes::from(if body.is_null() { String::new() } else { body.to_string() })))
        .unwrap();
    cluster.service().oneshot(request).await
}

/// The status of an answer, or that there was none.
async fn outcome(cluster: &Cluster, method: &str, path: &str, body: Value) -> String {
    match send(cluster, method, path, body).await {
        Ok(answer) => answer.status().as_u16().to_string(),
        Err(lost) => lost.to_string(),
    }
}

fn map(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}})
}

fn builder() -> Builder {
    Cluster::builder().seed(7).rollouts(false).workloads(false)
}

#[tokio::test(start_paused = true)]
async fn each_fault_does_what_it_says() {
    let reset = "connection reset by peer";
    let lost = "connection closed before the answer was complete";
    let throttled = Fault::throttle(3);
    // The fault, what a POST says, and whether it was carried out.
    let cases = [
        (throttled.clone(), "429", false),
        (Fault::refuse(500), "500", false),
        (Fault::refuse(503), "503", false),
        (Fault::Reset, reset, false),
        (Fault::AnswerLost, lost, true),
        // Neither is about making objects.
        (Fault::Conflict, "201", true),
        (Fault::Gone, "201", true),
    ];
    for (fault, said, done) in cases {
        let cluster = builder().build();
        let rule = Rule::new(Scope::default().verbs(["create"]), fault.clone());
        cluster.faults().install(rule).unwrap();
        assert_eq!(outcome(&cluster, "POST", MAPS, map("a")).await, said, "{fault:?}");
        let found = outcome(&cluster, "GET", &format!("{MAPS}/a"), Value::Null).await;
        assert_eq!(found == "200", done, "{fault:?}");
    }
    let cluster = builder().build();
    cluster.faults().install(Rule::new(Scope::default(), throttled)).unwrap();
    let answer = send(&cluster, "GET", MAPS, Value::Null).await.unwrap();
    assert_eq!(answer.headers()["retry-after"], "3");
    let body = answer.into_body().collect().await.unwrap().to_bytes();
    let status: Value = serde_json::from_slice(&body).unwrap();
    assert_eq!(status["reason"], "TooManyRequests");
    assert_eq!(status["details"]["retryAfterSeconds"], 3);
}

#[tokio::test(start_paused = true)]
async fn conflicts_are_for_objects_that_are_there() {
    let cluster = builder().build();
    assert_eq!(outcome(&cluster, "POST", MAPS, map("a")).await, "201");
    let rule = Rule::new(Scope::default().kind("", "ConfigMap"), Fault::Conflict).times(2);
    let id = cluster.faults().install(rule).unwrap();
    let (path, change) = (format!("{MAPS}/a"), json!({"data": {"k": "v"}}));
    assert_eq!(outcome(&cluster, "PATCH", &path, change.clone()).await, "409");
    assert_eq!(outcome(&cluster, "DELETE", &path, Value::Null).await, "409");
    assert_eq!(outcome(&cluster, "PATCH", &path, change).await, "200", "twice and no more");
    assert_eq!(cluster.faults().struck(id), Some(2));
    assert_eq!(cluster.faults().remove(id), Some(2));
    assert_eq!(cluster.faults().struck(id), None);
}

#[tokio::test(start_paused = true)]
async fn a_rule_keeps_to_its_scope_and_its_time() {
    let cluster = builder().build();
    let broken = Fault::refuse(500);
    let hour = Duration::from_hours(1);
    let scope = Scope::default;
    let elsewhere = |scope| Rule::new(scope, broken.clone());
    let rules = [
        elsewhere(scope().verbs(["watch"])),
        elsewhere(scope().kind("apps", "Deployment")),
        elsewhere(scope().namespace("kube-system")),
        elsewhere(scope().name("b")),
        elsewhere(scope().subresource("status")),
        elsewhere(scope().user("nobody")),
        elsewhere(scope().user_agent("kubectl")),
        elsewhere(scope().address("/apis/")),
        Rule::new(Scope::default(), broken.clone()).between(hour, 2 * hour),
    ];
    for rule in &rules {
        cluster.faults().install(rule.clone()).unwrap();
    }
    let list = || outcome(&cluster, "GET", MAPS, Value::Null);
    assert_eq!(list().await, "200");
    tokio::time::sleep(hour).await;
    assert_eq!(list().await, "500");
    tokio::time::sleep(hour).await;
    assert_eq!(list().await, "200");
    let scope = Scope::default().verbs(["list"]).kind("", "ConfigMap").user_agent("tester");
    cluster.faults().install(Rule::new(scope, broken)).unwrap();
    assert_eq!(list().await, "500");
    cluster.faults().clear();
    assert_eq!(list().await, "200");
}

#[tokio::test(start_paused = true)]
async fn delays_add_up_and_watches_end() {
    let second = Duration::from_secs(1);
    let cluster = builder().build();
    let faults = cluster.faults();
    for fault in [
        Fault::Delay { least: second, most: second },
        Fault::SlowAnswer { least: second, most: 2 * second },
    ] {
        faults.install(Rule::new(Scope::default(), fault)).unwrap();
    }
    let started = Instant::now();
    assert_eq!(outcome(&cluster, "POST", MAPS, map("a")).await, "201");
    assert!((2 * second..=3 * second).contains(&started.elapsed()), "{:?}", started.elapsed());
    faults.clear();

    faults.install_for(Rule::new(Scope::default(), Fault::Stall), 5 * second).unwrap();
    let started = Instant::now();
    assert_eq!(outcome(&cluster, "GET", MAPS, Value::Null).await, "200");
    assert_eq!(started.elapsed().as_secs(), 5);

    let watch = format!("{MAPS}?watch=true");
    let short = Fault::WatchClosed { least: 5 * second, most: 5 * second };
    faults.install(Rule::new(Scope::default(), short).times(1)).unwrap();
    let started = Instant::now();
    let answer = send(&cluster, "GET", &watch, Value::Null).await.unwrap();
    answer.into_body().collect().await.unwrap();
    assert_eq!(started.elapsed().as_secs(), 5);
    faults.install(Rule::new(Scope::default(), Fault::Gone).times(1)).unwrap();
    let answer = send(&cluster, "GET", &watch, Value::Null).await.unwrap();
    let body = answer.into_body().collect().await.unwrap().to_bytes();
    let event: Value = serde_json::from_slice(&body).unwrap();
    assert_eq!((&event["type"], &event["object"]["code"]), (&json!("ERROR"), &json!(410)));
}

#[tokio::test(start_paused = true)]
async fn chance_repeats_and_rules_do_not_move_each_other() {
    async fn run(seed: u64, more: bool) -> Vec<String> {
        let scope = Scope::default().verbs(["list"]);
        let cluster = builder().seed(seed).build();
        let half = |fault| Rule::new(scope.clone(), fault).with_probability(0.5);
        cluster.faults().install(half(Fault::refuse(500))).unwrap();
        if more {
            let least = Duration::from_millis(1);
            cluster.faults().install(half(Fault::Delay { least, most: 10 * least })).unwrap();
        }
        let mut said = Vec::new();
        for _ in 0..200 {
            said.push(outcome(&cluster, "GET", MAPS, Value::Null).await);
        }
        said
    }
    let first = run(1, false).await;
    let failed = first.iter().filter(|said| *said == "500").count();
    assert!((60..140).contains(&failed), "{failed} of 200");
    assert_eq!(first, run(1, true).await);
    assert_ne!(first, run(2, false).await);
}

#[tokio::test(start_paused = true)]
async fn what_an_api_server_cannot_do_is_refused() {
    let faults = builder().build().faults();
    for fault in [Fault::Cut, Fault::Truncate, Fault::Garble] {
        let refused = faults.install(Rule::new(Scope::default(), fault.clone())).unwrap_err();
        assert_eq!(
            refused,
            FaultError::Impossible { transport: "cluster", fault: Box::new(fault) }
        );
    }
}
