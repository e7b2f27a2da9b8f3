//! Attacks on the embedded API server, each by a user with fewer rights than the attack would need.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderValue, Request};
use http_body_util::{BodyExt as _, Full};
use serde_json::{Value, json};
use sluice_cluster::Cluster;
use sluice_cluster::audit::Recorder;
use sluice_cluster::auth::User;
use tower::ServiceExt as _;

const RBAC: &str = "/apis/rbac.authorization.k8s.io/v1";

/// A header and its value, which need not be text.
type Header<'a> = (&'a str, &'a [u8]);

struct Answer {
    code: u16,
    text: String,
}

/// Sends a request with these headers; an open stream is read for five seconds.
async fn send(
    cluster: &Cluster,
    method: &str,
    path: &str,
    headers: &[Header<'_>],
    body: impl Into<Bytes>,
) -> Answer {
    let mut request = Request::builder().method(method).uri(path);
    for (name, value) in headers {
        request = request.header(*name, HeaderValue::from_bytes(value).expect("a header"));
    }
    let response =
        cluster.service().oneshot(request.body(Full::new(body.into())).expect("a request")).await;
    let response = response.expect("an answer");
    let code = response.status().as_u16();
    let mut body = response.into_body();
    let mut text = Vec::new();
    let end = tokio::time::Instant::now() + Duration::from_secs(5);
    while let Ok(Some(Ok(frame))) = tokio::time::timeout_at(end, body.frame()).await {
        text.extend_from_slice(frame.data_ref().map_or(&[][..], |bytes| bytes));
    }
    Answer { code, text: String::from_utf8_lossy(&text).into_owned() }
}

async fn admin(cluster: &Cluster, method: &str, path: &str, body: Value) -> Answer {
    let json = [("content-type", &b"application/json"[..])];
    send(
        cluster,
        method,
        path,
        &json,
        if body.is_null() { String::new() } else { body.to_string() },
    )
    .await
}

const EVE: (&str, &[u8]) = ("authorization", b"Bearer of-eve");

/// A cluster with two secrets and a user that may see one of them, by name.
async fn with_eve(rules: Value) -> Cluster {
    let cluster = Cluster::builder().token("of-eve", User::in_groups("eve", &[])).build();
    for name in ["mine", "theirs"] {
        let secret =
            json!({"metadata": {"name": name}, "stringData": {"k": format!("value-of-{name}")}});
        assert_eq!(
            admin(&cluster, "POST", "/api/v1/namespaces/default/secrets", secret).await.code,
            201
        );
    }
    let role = json!({"metadata": {"name": "eve"}, "rules": rules});
    assert_eq!(admin(&cluster, "POST", &format!("{RBAC}/clusterroles"), role).await.code, 201);
    let binding = json!({
        "metadata": {"name": "eve"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "eve"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "eve"}],
    });
    assert_eq!(
        admin(&cluster, "POST", &format!("{RBAC}/clusterrolebindings"), binding).await.code,
        201
    );
    cluster
}

fn one_secret() -> Value {
    json!([{"apiGroups": [""], "resources": ["secrets"], "resourceNames": ["mine"], "verbs": ["get", "list", "watch"]}])
}

/// A right on one name is not a right on all, however the selector is written.
#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn a_selector_that_only_looks_like_a_name_shows_no_other_secret() {
    let cluster = with_eve(one_secret()).await;
    let path = "/api/v1/namespaces/default/secrets";
    let honest =
        send(&cluster, "GET", &format!("{path}?fieldSelector=metadata.name%3Dmine"), &[EVE], "")
            .await;
    assert!(honest.code == 200 && honest.text.contains("\"mine\""), "{}", honest.text);
    for selector in [
        // One term with a comma in its value.
        r"metadata.namespace!=x\,metadata.name=mine",
        r"type!=x\,metadata.name=mine",
        "metadata.name!=x,metadata.name!=mine",
        r"metadata.name\=mine!=x",
        "",
    ] {
        for watch in ["", "&watch=1"] {
            let encoded = selector.replace('\\', "%5C").replace('=', "%3D").replace(',', "%2C");
            let answer = send(
                &cluster,
                "GET",
                &format!("{path}?fieldSelector={encoded}{watch}"),
                &[EVE],
                "",
            )
            .await;
            assert!(
                !answer.text.contains("theirs"),
                "{selector}{watch}: {} {}",
                answer.code,
                answer.text
            );
        }
    }
}

/// The old form of a watch names an object in its path; events of others are not shown.
#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn a_watch_of_one_secret_by_path_shows_no_other() {
    let cluster = with_eve(one_secret()).await;
    let path = "/api/v1/watch/namespaces/default/secrets/mine";
    let changing = async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        for name in ["mine", "theirs"] {
            let patch = json!({"metadata": {"labels": {"changed": "yes"}}}).to_string();
            let headers = [("content-type", &b"application/merge-patch+json"[..])];
            send(
                &cluster,
                "PATCH",
                &format!("/api/v1/namespaces/default/secrets/{name}"),
                &headers,
                patch,
            )
            .await;
        }
    };
    let (answer, ()) = tokio::join!(send(&cluster, "GET", path, &[EVE], ""), changing);
    assert!(answer.text.contains("\"changed\""), "{}", answer.text);
    assert!(!answer.text.contains("theirs"), "{}", answer.text);
}

/// An impersonated request never runs with the rights of its real user.
#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn an_impersonation_that_cannot_be_read_is_refused() {
    let cluster = Cluster::builder().build();
    let path = "/api/v1/namespaces/default/secrets";
    let cases: [&[(&str, &[u8])]; 4] = [
        &[("impersonate-user", b"t\xc3\xa9nant")],
        &[("impersonate-user", b"\xff")],
        &[("impersonate-user", b"bob"), ("impersonate-group", b"\xff")],
        &[("impersonate-user", b"bob"), ("impersonate-extra-scopes", b"\xff")],
    ];
    for headers in cases {
        let answer = send(&cluster, "GET", path, headers, "").await;
        assert!(matches!(answer.code, 400 | 403), "{headers:?}: {} {}", answer.code, answer.text);
    }
}

/// Headers of an authenticating proxy are ignored: there is no such proxy.
#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn identity_headers_of_a_proxy_are_not_believed() {
    let cluster = Cluster::builder().token("of-eve", User::in_groups("eve", &[])).build();
    let headers: [(&str, &[u8]); 7] = [
        EVE,
        ("x-remote-user", b"admin"),
        ("x-remote-group", b"system:masters"),
        ("x-remote-extra-scopes", b"all"),
        ("x-forwarded-user", b"admin"),
        ("x-forwarded-for", b"127.0.0.1"),
        ("front-proxy-client", b"admin"),
    ];
    assert_eq!(send(&cluster, "GET", "/api/v1/secrets", &headers, "").await.code, 403);
    let review = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
    let whoami = send(&cluster, "POST", review, &headers, "{}").await;
    let whoami: Value = serde_json::from_str(&whoami.text).unwrap();
    assert_eq!(
        whoami["status"]["userInfo"],
        json!({"username": "eve", "groups": ["system:authenticated"]})
    );
}

/// A user that may impersonate service accounts cannot add a group on the way.
#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn acting_as_an_account_gives_no_group() {
    let cluster = with_eve(
        json!([{"apiGroups": [""], "resources": ["serviceaccounts"], "verbs": ["impersonate"]}]),
    )
    .await;
    let account: (&str, &[u8]) = ("impersonate-user", b"system:serviceaccount:default:default");
    let cases: [(&[Header<'_>], u16); 7] = [
        (&[EVE, account], 403),
        (&[EVE, account, ("impersonate-group", b"system:masters")], 403),
        (&[EVE, ("impersonate-user", b"admin")], 403),
        (
            &[EVE, ("impersonate-user", b"system:admin"), ("impersonate-group", b"system:masters")],
            403,
        ),
        // Not a service account's name, whatever it begins with.
        (&[EVE, ("impersonate-user", b"system:serviceaccount:Default:x")], 403),
        (&[EVE, account, ("impersonate-uid", b"0")], 403),
        (&[EVE, ("impersonate-group", b"system:masters")], 400),
    ];
    for (headers, code) in cases {
        let answer = send(&cluster, "GET", "/api/v1/secrets", headers, "").await;
        assert_eq!(answer.code, code, "{headers:?}: {}", answer.text);
    }
}

/// A token is valid for its audience, until it expires, and for the account that it names.
#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn a_token_for_others_or_of_yesterday_opens_nothing() {
    let cluster = Cluster::builder().build();
    // The namespaces get their service accounts.
    tokio::time::sleep(Duration::from_secs(5)).await;
    let accounts = "/api/v1/namespaces/default/serviceaccounts";
    let token = |answer: Answer| {
        let answer: Value = serde_json::from_str(&answer.text).unwrap();
        answer["status"]["token"].as_str().expect("a token").to_owned()
    };
    let ask = async |spec: Value| {
        token(
            admin(&cluster, "POST", &format!("{accounts}/default/token"), json!({"spec": spec}))
                .await,
        )
    };
    let reach = async |token: &str| {
        let bearer = format!("Bearer {token}");
        send(&cluster, "GET", "/version", &[("authorization", bearer.as_bytes())], "").await.code
    };
    let good = ask(json!({"expirationSeconds": 600})).await;
    assert_eq!(reach(&good).await, 200);
    assert_eq!(reach(&ask(json!({"audiences": ["vault"]})).await).await, 401);
    // Claims of another account under this signature, and no signature at all.
    let parts: Vec<&str> = good.split('.').collect();
    let claims = base64_url(parts[1], |claims| {
        claims["sub"] = "system:serviceaccount:kube-system:admin".into();
    });
    assert_eq!(reach(&format!("{}.{claims}.{}", parts[0], parts[2])).await, 401);
    let none = base64_url(parts[0], |header| header["alg"] = "none".into());
    assert_eq!(reach(&format!("{none}.{}.", parts[1])).await, 401);
    let hmac = base64_url(parts[0], |header| header["alg"] = "HS256".into());
    assert_eq!(reach(&format!("{hmac}.{}.{}", parts[1], parts[2])).await, 401);
    // A review for another audience does not authenticate it.
    let review = json!({"spec": {"token": good, "audiences": ["vault"]}});
    let reviewed =
        admin(&cluster, "POST", "/apis/authentication.k8s.io/v1/tokenreviews", review).await;
    assert!(!reviewed.text.contains("\"authenticated\":true"), "{}", reviewed.text);
    tokio::time::sleep(Duration::from_secs(700)).await;
    assert_eq!(reach(&good).await, 401);
    // The account is created again with the same name.
    let short = ask(json!({})).await;
    admin(&cluster, "DELETE", &format!("{accounts}/default"), Value::Null).await;
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert_eq!(reach(&short).await, 401);
}

fn base64_url(part: &str, change: impl FnOnce(&mut Value)) -> String {
    use base64::Engine as _;
    let engine = base64::engine::general_purpose::URL_SAFE_NO_PAD;
    let mut value: Value =
        serde_json::from_slice(&engine.decode(part).expect("readable")).expect("readable");
    change(&mut value);
    engine.encode(value.to_string())
}

/// Users cannot grant themselves rights, by any verb.
#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn no_verb_writes_a_role_above_its_author() {
    let cluster = with_eve(json!([
        {"apiGroups": ["rbac.authorization.k8s.io"], "resources": ["*"], "verbs": ["create", "update", "patch", "get"]},
        {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"]},
    ]))
    .await;
    let roles = format!("{RBAC}/namespaces/default/roles");
    let small = json!([{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"]}]);
    let large = json!([{"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]}]);
    let role = |rules: &Value| {
        json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "r"}, "rules": rules}).to_string()
    };
    let typed = |kind: &'static str| [EVE, ("content-type", kind.as_bytes())];
    let (json_type, merge, patch, apply) = (
        "application/json",
        "application/merge-patch+json",
        "application/json-patch+json",
        "application/apply-patch+yaml",
    );
    assert_eq!(send(&cluster, "POST", &roles, &typed(json_type), role(&small)).await.code, 201);
    let named = format!("{roles}/r");
    let aggregating = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "all"},
        "aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {"kubernetes.io/bootstrapping": "rbac-defaults"}}]},
    });
    let binding = |kind: &str| {
        json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": kind, "metadata": {"name": "b"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "eve"}],
    }).to_string()
    };
    let replace = json!([{"op": "replace", "path": "/rules", "value": large}]).to_string();
    let cases = [
        ("PUT", named.clone(), json_type, role(&large)),
        ("PATCH", named.clone(), merge, json!({"rules": large}).to_string()),
        ("PATCH", named.clone(), patch, replace),
        ("PATCH", format!("{named}?fieldManager=e&force=true"), apply, role(&large)),
        (
            "PATCH",
            format!("{roles}/new?fieldManager=e"),
            apply,
            role(&large).replace("\"r\"", "\"new\""),
        ),
        ("POST", roles.clone(), json_type, role(&large).replace("\"r\"", "\"n\"")),
        ("POST", format!("{RBAC}/clusterroles"), json_type, aggregating.to_string()),
        ("POST", format!("{RBAC}/clusterrolebindings"), json_type, binding("ClusterRoleBinding")),
        (
            "POST",
            format!("{RBAC}/namespaces/default/rolebindings"),
            json_type,
            binding("RoleBinding"),
        ),
        (
            "PATCH",
            format!("{RBAC}/namespaces/default/rolebindings/b?fieldManager=e"),
            apply,
            binding("RoleBinding"),
        ),
        // The role that she has already.
        ("PATCH", format!("{RBAC}/clusterroles/eve"), merge, json!({"rules": large}).to_string()),
    ];
    for (method, path, kind, body) in cases {
        let answer = send(&cluster, method, &path, &typed(kind), body).await;
        assert_eq!(answer.code, 403, "{method} {path} {kind}: {}", answer.text);
    }
    assert_eq!(
        send(&cluster, "GET", "/api/v1/namespaces/default/secrets/mine", &[EVE], "").await.code,
        403
    );
}

/// A name is one segment of a path, in every kind: keys of the store and of roles are made of them.
#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn no_name_is_a_path() {
    let cluster = Cluster::builder().build();
    let core = "/api/v1/namespaces/default";
    let places = [
        (format!("{core}/configmaps"), json!({})),
        (format!("{core}/secrets"), json!({})),
        (format!("{RBAC}/clusterroles"), json!({"rules": []})),
        (format!("{RBAC}/namespaces/default/roles"), json!({"rules": []})),
        ("/api/v1/namespaces".to_owned(), json!({})),
    ];
    for (path, mut object) in places {
        for name in ["../kube-system/x", "kube-system/x", "..", ".", "a%2fb", ""] {
            object["metadata"] = json!({"name": name});
            let answer = admin(&cluster, "POST", &path, object.clone()).await;
            assert_eq!(answer.code, 422, "{path} {name:?}: {}", answer.text);
        }
        // The namespace of the path is the one that was authorized.
        if path.contains("/namespaces/") {
            object["metadata"] = json!({"name": "x", "namespace": "kube-system"});
            let answer = admin(&cluster, "POST", &path, object.clone()).await;
            assert_eq!(answer.code, 400, "{path}: {}", answer.text);
        }
    }
    let cluster =
        with_eve(json!([{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["*"]}])).await;
    for path in [
        "/api/v1/namespaces/default/configmaps/../secrets/mine",
        "/api/v1/namespaces/default/configmaps/%2e%2e/secrets/mine",
        "/api/v1/namespaces/default/configmaps%2f..%2fsecrets/mine",
        "/api/v1//namespaces/default/secrets/mine",
        "/api/v1/namespaces/default//secrets/mine",
        "/api/v1/namespaces/default/secrets/mine/",
        "/api/./v1/namespaces/default/secrets/mine",
        "/api/v1/configmaps/../namespaces/default/secrets/mine",
    ] {
        let answer = send(&cluster, "GET", path, &[EVE], "").await;
        assert!(!answer.text.contains("dmFsdWU"), "{path}: {} {}", answer.code, answer.text);
    }
}

/// Bodies are bounded in size, depth and growth, for every user.
#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn a_body_cannot_exhaust_the_server() {
    let cluster = Cluster::builder().build();
    let path = "/api/v1/namespaces/default/configmaps";
    let deep =
        |open: &str, close: &str| format!("{}{}", open.repeat(1_000_000), close.repeat(1_000_000));
    let aliases = "a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: &f [*e,*e,*e,*e,*e,*e,*e,*e,*e]\ng: &g [*f,*f,*f,*f,*f,*f,*f,*f,*f]\nh: &h [*g,*g,*g,*g,*g,*g,*g,*g,*g]\ni: [*h,*h,*h,*h,*h,*h,*h,*h,*h]\n";
    let json: (&str, &[u8]) = ("content-type", b"application/json");
    let yaml: (&str, &[u8]) = ("content-type", b"application/yaml");
    let protobuf: (&str, &[u8]) = ("content-type", b"application/vnd.kubernetes.protobuf");
    let mut nested = Vec::new();
    for _ in 0..200_000 {
        nested.extend_from_slice(b"\x0a\xff\xff\xff\x7f");
    }
    let cases: [(&Header<'_>, Bytes, &[u16]); 7] = [
        (&json, Bytes::from(vec![b' '; 4 << 20]), &[413]),
        (&json, deep("[", "]").into(), &[400]),
        (&json, deep("{\"a\":", "}").into(), &[400, 413]),
        (&yaml, deep("[", "]").into(), &[400]),
        (&yaml, "- ".repeat(1_000_000).into(), &[400]),
        (&yaml, aliases.into(), &[400]),
        (&protobuf, [b"k8s\0".as_slice(), &nested].concat().into(), &[400]),
    ];
    for (kind, body, codes) in cases {
        let size = body.len();
        let answer = send(&cluster, "POST", path, &[*kind], body).await;
        assert!(
            codes.contains(&answer.code),
            "{size}: {} {}",
            answer.code,
            &answer.text[..answer.text.len().min(300)]
        );
        assert!(answer.text.len() < 10_000, "the answer is not as large as the question");
    }
    // A patch that copies itself.
    let object = json!({"metadata": {"name": "big"}, "data": {"a": "x".repeat(100_000)}});
    assert_eq!(admin(&cluster, "POST", path, object).await.code, 201);
    let mut steps = Vec::new();
    for step in 0..40 {
        steps.push(
            json!({"op": "copy", "from": "/data", "path": format!("/metadata/annotations{step}")}),
        );
        steps.push(json!({"op": "copy", "from": "/metadata", "path": format!("/data/m{step}")}));
    }
    let headers = [("content-type", &b"application/json-patch+json"[..])];
    let answer =
        send(&cluster, "PATCH", &format!("{path}/big"), &headers, Value::from(steps).to_string())
            .await;
    assert!(matches!(answer.code, 400 | 413 | 422), "{}", answer.code);
}

/// Health and version need no authentication; everything else does.
#[tokio::test(flavor = "multi_thread")]
async fn who_has_no_token_sees_nothing() {
    let cluster = Cluster::builder().private_keys().build();
    let served = cluster.listen("127.0.0.1:0".parse().unwrap()).await.unwrap();
    let config = served.kubeconfig().clone();
    tokio::spawn(served.run());
    let mut anonymous = config.clone();
    anonymous["users"][0]["user"] = json!({});
    let read: kube::config::Kubeconfig = serde_json::from_value(anonymous).unwrap();
    let config =
        kube::Config::from_custom_kubeconfig(read, &kube::config::KubeConfigOptions::default())
            .await
            .unwrap();
    let client = kube::Client::try_from(config).unwrap();
    for (path, code) in [
        ("/version", 200),
        ("/livez", 200),
        ("/api", 403),
        ("/apis", 403),
        ("/openapi/v2", 403),
        ("/openid/v1/jwks", 403),
        ("/api/v1/secrets", 403),
        ("/api/v1/namespaces", 403),
        ("/api/v1/namespaces/kube-system/configmaps/kube-root-ca.crt", 403),
        ("/apis/authentication.k8s.io/v1/selfsubjectreviews", 403),
    ] {
        let request = Request::get(path).body(kube::client::Body::empty()).unwrap();
        let answer = client.send(request).await.unwrap();
        assert_eq!(answer.status().as_u16(), code, "{path}");
    }
}

/// Only this machine can reach the server.
#[tokio::test]
async fn no_other_machine_can_be_served() {
    let cluster = Cluster::builder().private_keys().build();
    for address in ["0.0.0.0:0", "[::]:0", "192.0.2.1:0", "[::ffff:192.0.2.1]:0"] {
        assert!(cluster.listen(address.parse().unwrap()).await.is_err(), "{address}");
    }
}

/// Clients cannot forge lines of the audit log, nor their address.
#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn the_audit_log_cannot_be_forged() {
    let recorder = Recorder::default();
    let eve = User::in_groups("eve\n{\"user\":\"admin\"}", &[]);
    let cluster = Cluster::builder().token("of-eve", eve).audit(Arc::new(recorder.clone())).build();
    let headers: [(&str, &[u8]); 4] = [
        EVE,
        ("user-agent", b"a\"}\t{\"kind\":\"Event\""),
        ("x-forwarded-for", b"192.0.2.7"),
        ("audit-id", b"00000000-0000-0000-0000-000000000000"),
    ];
    send(&cluster, "GET", "/api/v1/secrets?x=%0a%7b%7d", &headers, "").await;
    let long = vec![b'a'; 100_000];
    send(&cluster, "GET", "/version", &[EVE, ("user-agent", &long)], "").await;
    let events = recorder.take();
    assert_eq!(events.len(), 2);
    let line = events[0].to_value().to_string();
    assert!(
        !line.contains('\n') && !line.contains("192.0.2.7") && !line.contains("00000000-0000"),
        "{line}"
    );
    let read: Value = serde_json::from_str(&line).unwrap();
    assert_eq!(read["user"]["username"], "eve\n{\"user\":\"admin\"}");
    assert!(events[1].user_agent.len() < 1100);
}
