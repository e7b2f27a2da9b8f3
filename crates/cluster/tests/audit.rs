//! The audit log: each request, its user, its effect.

use std::sync::Arc;
use std::time::Duration;

use http::{Method, Request};
use http_body_util::{BodyExt as _, Full};
use serde_json::{Value, json};
use sluice_base::fault::{Fault, Rule, Scope};
use sluice_cluster::Cluster;
use sluice_cluster::audit::{Event, Recorder, Stage};
use sluice_cluster::auth::User;
use tower::ServiceExt as _;

/// A cluster with an audit log.
fn audited(recorder: &Recorder) -> Cluster {
    let ann = User::in_groups("ann", &["team"]);
    Cluster::builder().token("of-ann", ann).audit(Arc::new(recorder.clone())).build()
}

async fn send(cluster: &Cluster, method: Method, path: &str, headers: &[(&str, &str)], body: &str) {
    let mut request = Request::builder().method(method).uri(path).header("user-agent", "test/1");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let request = request.body(Full::new(body.to_owned().into())).expect("a request");
    if let Ok(response) = cluster.service().oneshot(request).await {
        let _ = tokio::time::timeout(Duration::from_secs(5), response.into_body().collect()).await;
    }
}

/// What an event says, without what differs from run to run.
fn shown(event: &Event) -> Value {
    let mut value = event.to_value();
    for field in ["auditID", "requestReceivedTimestamp", "stageTimestamp", "kind", "apiVersion"] {
        assert!(!value[field].as_str().unwrap_or_default().is_empty(), "{field}: {value}");
        value.as_object_mut().expect("an object").remove(field);
    }
    value
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn each_request_is_one_event() {
    let recorder = Recorder::default();
    let cluster = audited(&recorder);
    let json = [("content-type", "application/json")];
    let (ann, masters) = (("authorization", "Bearer of-ann"), "system:masters");
    let admin = json!({"username": "admin", "groups": [masters, "system:authenticated"]});
    let allow =
        json!({"authorization.k8s.io/decision": "allow", "authorization.k8s.io/reason": ""});
    let pods = "/api/v1/namespaces/default/pods";
    let account = r#"{"metadata":{"name":"bot"}}"#;
    let patch = "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: bot, labels: {a: b}}\n";
    let as_bob = [("impersonate-user", "bob"), ("impersonate-group", "ops")];

    send(&cluster, Method::GET, "/version", &[], "").await;
    send(&cluster, Method::GET, &format!("{pods}?limit=5"), &[], "").await;
    let accounts = "/api/v1/namespaces/default/serviceaccounts";
    send(&cluster, Method::POST, accounts, &json, account).await;
    let apply = [("content-type", "application/apply-patch+yaml")];
    send(&cluster, Method::PATCH, &format!("{accounts}/bot?fieldManager=me"), &apply, patch).await;
    send(&cluster, Method::GET, &format!("{pods}/none"), &[], "").await;
    send(&cluster, Method::POST, pods, &[ann, json[0]], account).await;
    send(&cluster, Method::GET, pods, &as_bob, "").await;
    send(&cluster, Method::GET, pods, &[("authorization", "Bearer nonsense")], "").await;
    send(&cluster, Method::POST, pods, &json, "{").await;

    let reference = |name: Option<&str>, resource: &str| {
        let mut out = json!({"resource": resource, "namespace": "default", "apiVersion": "v1"});
        if let Some(name) = name {
            out["name"] = name.into();
        }
        out
    };
    let event = |verb: &str, uri: &str, more: Value| {
        let mut out = json!({
            "level": "Request", "stage": "ResponseComplete", "requestURI": uri, "verb": verb,
            "user": admin, "userAgent": "test/1", "annotations": allow,
        });
        for (name, value) in more.as_object().unwrap() {
            out[name] = value.clone();
        }
        out
    };
    let code = |code: u16| json!({"metadata": {}, "code": code});
    let failure = |code: u16, reason: &str, message: &str, details: Value| {
        json!({
            "metadata": {}, "status": "Failure", "code": code, "reason": reason,
            "message": message, "details": details,
        })
    };
    let cannot = |user: &str, verb: &str| {
        let why = format!(
            "pods is forbidden: User \"{user}\" cannot {verb} resource \"pods\" in API group \"\" in the namespace \"default\""
        );
        failure(403, "Forbidden", &why, json!({"kind": "pods"}))
    };
    let forbid =
        json!({"authorization.k8s.io/decision": "forbid", "authorization.k8s.io/reason": ""});
    let mut unauthenticated = event(
        "list",
        pods,
        json!({
            "objectRef": reference(None, "pods"), "user": {},
            "responseStatus": {"metadata": {}, "code": 401,
                "message": "Authentication failed, attempted: bearer"},
        }),
    );
    unauthenticated.as_object_mut().unwrap().remove("annotations");
    let bob = json!({"username": "bob", "groups": ["ops", "system:authenticated"]});
    let expected = [
        event("get", "/version", json!({"responseStatus": code(200)})),
        event(
            "list",
            &format!("{pods}?limit=5"),
            json!({
                "objectRef": reference(None, "pods"), "responseStatus": code(200),
            }),
        ),
        event(
            "create",
            accounts,
            json!({
                "objectRef": reference(Some("bot"), "serviceaccounts"), "responseStatus": code(201),
                "requestObject": {"metadata": {"name": "bot"}},
            }),
        ),
        event(
            "patch",
            &format!("{accounts}/bot?fieldManager=me"),
            json!({
                "objectRef": reference(Some("bot"), "serviceaccounts"), "responseStatus": code(200),
                "requestObject": {"apiVersion": "v1", "kind": "ServiceAccount",
                    "metadata": {"name": "bot", "labels": {"a": "b"}}},
            }),
        ),
        event(
            "get",
            &format!("{pods}/none"),
            json!({
                "objectRef": reference(Some("none"), "pods"),
                "responseStatus": failure(404, "NotFound", "pods \"none\" not found",
                    json!({"name": "none", "kind": "pods"})),
            }),
        ),
        event(
            "create",
            pods,
            json!({
                "objectRef": reference(None, "pods"), "annotations": forbid,
                "user": {"username": "ann", "groups": ["team", "system:authenticated"]},
                "responseStatus": cannot("ann", "create"),
            }),
        ),
        event(
            "list",
            pods,
            json!({
                "objectRef": reference(None, "pods"), "annotations": forbid, "impersonatedUser": bob,
                "responseStatus": cannot("bob", "list"),
            }),
        ),
        unauthenticated,
    ];
    let events = recorder.take();
    for (event, expected) in events.iter().zip(&expected) {
        assert_eq!(shown(event), *expected);
    }
    // An unreadable body is rejected, and left out of the event.
    let last = events.last().unwrap();
    assert_eq!((events.len(), last.code(), &last.request_object), (9, 400, &None));
    assert_eq!(events[6].acting_user(), "bob");
    assert_eq!(events[6].is_allowed(), Some(false));
}

/// Credentials never reach the log, in whatever form they are sent.
#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn no_event_holds_a_secret() {
    let recorder = Recorder::default();
    let cluster = audited(&recorder);
    let json = [("content-type", "application/json")];
    let yaml = [("content-type", "application/apply-patch+yaml")];
    let merge = [("content-type", "application/merge-patch+json")];
    let namespace = "/api/v1/namespaces/default";
    let reviews = "/apis/authentication.k8s.io/v1/tokenreviews";
    let secret = r#"{"metadata":{"name":"s"},"stringData":{"k":"hunter2"}}"#;
    let manifest = "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {k: hunter2}\n";
    let settings = r#"{"metadata":{"name":"c"},"data":{"k":"hunter2"}}"#;
    let data = r#"{"data":{"k":"hunter2"}}"#;
    let review = r#"{"spec":{"token":"hunter2"}}"#;
    let cases = [
        (Method::POST, format!("{namespace}/secrets"), json, secret),
        (Method::PUT, format!("{namespace}/secrets/s"), json, secret),
        (Method::PATCH, format!("{namespace}/secrets/s?fieldManager=me&force=1"), yaml, manifest),
        (Method::PATCH, format!("{namespace}/secrets/s"), merge, data),
        (Method::POST, format!("{namespace}/configmaps"), json, settings),
        (Method::POST, reviews.to_owned(), json, review),
        // Refused before they are read, and refused while they are.
        (Method::POST, format!("{namespace}/pods"), json, review),
    ];
    let amount = cases.len();
    for (method, path, headers, body) in cases {
        let refused = [headers[0], ("authorization", "Bearer of-ann")];
        send(&cluster, method.clone(), &path, &refused, body).await;
        if !path.ends_with("pods") {
            send(&cluster, method, &path, &headers, body).await;
        }
    }
    let events = recorder.take();
    assert_eq!(events.len(), 2 * amount - 1);
    for event in events {
        let text = event.to_value().to_string();
        assert!(!text.contains("hunter2") && !text.contains("aHVudGVyMg"), "{text}");
    }
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn a_watch_starts_and_ends() {
    let recorder = Recorder::default();
    let cluster = audited(&recorder);
    let path = "/api/v1/namespaces?watch=1&timeoutSeconds=3";
    send(&cluster, Method::GET, path, &[], "").await;
    let events = recorder.take();
    let stages: Vec<Stage> = events.iter().map(|event| event.stage).collect();
    assert_eq!(stages, [Stage::ResponseStarted, Stage::ResponseComplete]);
    assert_eq!(events[0].audit_id, events[1].audit_id);
    assert_eq!(events[0].request_received_timestamp, events[1].request_received_timestamp);
    assert!(events[0].stage_timestamp < events[1].stage_timestamp);
    assert_eq!((events[1].verb, events[1].code()), ("watch", 200));
}

/// The log is the server's view: what was done is in it, what never arrived is not.
#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn a_lost_answer_is_in_the_log_and_a_lost_request_is_not() {
    for (fault, expected) in [(Fault::AnswerLost, vec![201]), (Fault::Reset, vec![])] {
        let recorder = Recorder::default();
        let cluster = audited(&recorder);
        cluster.faults().install(Rule::new(Scope::default(), fault.clone())).unwrap();
        let body = r#"{"metadata":{"name":"n"}}"#;
        let json = [("content-type", "application/json")];
        send(&cluster, Method::POST, "/api/v1/namespaces", &json, body).await;
        let codes: Vec<u16> = recorder.take().iter().map(Event::code).collect();
        assert_eq!(codes, expected, "{fault:?}");
    }
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn a_recorder_is_bounded() {
    let recorder = Recorder::bounded(2);
    let cluster = audited(&recorder);
    for path in ["/version", "/livez", "/readyz"] {
        send(&cluster, Method::GET, path, &[], "").await;
    }
    let paths: Vec<String> = recorder.events().into_iter().map(|it| it.request_uri).collect();
    assert_eq!((paths, recorder.dropped()), (vec!["/livez".to_owned(), "/readyz".to_owned()], 1));
}
