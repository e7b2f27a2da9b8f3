//! Tokens, impersonation, roles and reviews, as requests meet them.

use std::time::Duration;

use base64::Engine as _;
use http::{Method, Request};
use http_body_util::{BodyExt as _, Full};
use serde_json::{Value, json};
use sluice_cluster::Cluster;
use sluice_cluster::auth::User;
use tower::ServiceExt as _;

const RBAC: &str = "/apis/rbac.authorization.k8s.io/v1";
const ACCOUNTS: &str = "/api/v1/namespaces/default/serviceaccounts";

/// A client with fixed headers.
struct Client<'a> {
    cluster: &'a Cluster,
    headers: Vec<(&'static str, String)>,
}

impl<'a> Client<'a> {
    fn admin(cluster: &'a Cluster) -> Self {
        Self { cluster, headers: Vec::new() }
    }

    fn of_token(cluster: &'a Cluster, token: &str) -> Self {
        Self { cluster, headers: vec![("authorization", format!("Bearer {token}"))] }
    }

    fn with(mut self, name: &'static str, value: &str) -> Self {
        self.headers.push((name, value.to_owned()));
        self
    }

    async fn send(&self, method: Method, path: &str, body: Value) -> (u16, Value) {
        let mut request = Request::builder().method(method).uri(path);
        for (name, value) in &self.headers {
            request = request.header(*name, value);
        }
        let bytes = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
        let request = request.body(Full::new(bytes.into())).expect("a request");
        let response = self.cluster.service().oneshot(request).await.expect("an answer");
        let code = response.status().as_u16();
        let bytes = response.into_body().collect().await.expect("a body").to_bytes();
        (code, serde_json::from_slice(&bytes).unwrap_or_default())
    }

    async fn get(&self, path: &str) -> (u16, Value) {
        self.send(Method::GET, path, Value::Null).await
    }

    async fn post(&self, path: &str, body: Value) -> (u16, Value) {
        self.send(Method::POST, path, body).await
    }

    async fn delete(&self, path: &str) -> u16 {
        self.send(Method::DELETE, path, Value::Null).await.0
    }

    /// The user that the server authenticates this client as, or the code of the failure.
    async fn identity(&self) -> Result<Value, u16> {
        let path = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
        match self.post(path, json!({})).await {
            (201, review) => Ok(review["status"]["userInfo"].clone()),
            (code, _) => Err(code),
        }
    }
}

fn message(answer: &(u16, Value)) -> String {
    format!("{} {}", answer.0, answer.1["message"].as_str().unwrap_or_default())
}

fn role(kind: &str, name: &str, rules: impl Into<Value>) -> Value {
    json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": kind, "metadata": {"name": name}, "rules": rules.into()})
}

fn binding(kind: &str, name: &str, role_kind: &str, role: &str, user: &str) -> Value {
    json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": kind, "metadata": {"name": name},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": role_kind, "name": role},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user}],
    })
}

/// Waits in virtual time until `path` answers as `done` wants.
async fn until(client: &Client<'_>, path: &str, done: impl Fn(u16, &Value) -> bool) -> Value {
    for _ in 0..100 {
        let (code, body) = client.get(path).await;
        if done(code, &body) {
            return body;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("{path} never became what was waited for");
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn users_are_known_by_their_tokens() {
    let cluster = Cluster::builder().token("ann-token", User::in_groups("ann", &["team"])).build();
    let admin = Client::admin(&cluster).identity().await;
    let groups = json!(["system:masters", "system:authenticated"]);
    assert_eq!(admin, Ok(json!({"username": "admin", "groups": groups})));
    let ann = Client::of_token(&cluster, "ann-token");
    let groups = json!(["team", "system:authenticated"]);
    assert_eq!(ann.identity().await, Ok(json!({"username": "ann", "groups": groups})));
    assert_eq!(Client::of_token(&cluster, "nonsense").identity().await, Err(401));
    assert_eq!(
        message(&ann.get("/api/v1/nodes").await),
        r#"403 nodes is forbidden: User "ann" cannot list resource "nodes" in API group "" at the cluster scope"#
    );
    assert_eq!(ann.get("/version").await.0, 200);
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn a_token_lives_as_long_as_what_it_is_bound_to() {
    let cluster = Cluster::builder().build();
    let admin = Client::admin(&cluster);
    let (_, account) = admin.post(ACCOUNTS, json!({"metadata": {"name": "bot"}})).await;
    let secrets = "/api/v1/namespaces/default/secrets";
    let (_, secret) = admin.post(secrets, json!({"metadata": {"name": "held"}})).await;
    let path = format!("{ACCOUNTS}/bot/token");
    let ask = async |spec: Value| admin.post(&path, json!({"spec": spec})).await;
    let token = |answer: (u16, Value)| answer.1["status"]["token"].as_str().unwrap().to_owned();
    let plain = token(ask(json!({})).await);
    let short = token(ask(json!({"expirationSeconds": 600})).await);
    let foreign = token(ask(json!({"audiences": ["elsewhere"]})).await);
    let reference = json!({"kind": "Secret", "apiVersion": "v1", "name": "held", "uid": secret["metadata"]["uid"]});
    let bound = token(ask(json!({"boundObjectRef": reference})).await);

    let seen = Client::of_token(&cluster, &plain).identity().await.unwrap();
    assert_eq!(seen["username"], "system:serviceaccount:default:bot");
    assert_eq!(seen["uid"], account["metadata"]["uid"]);
    assert_eq!(
        seen["groups"],
        json!(["system:serviceaccounts", "system:serviceaccounts:default", "system:authenticated"])
    );
    let works = async |token: &str| Client::of_token(&cluster, token).identity().await.is_ok();
    assert!(works(&bound).await && works(&short).await);
    assert!(!works(&foreign).await);

    assert_eq!(admin.delete(&format!("{secrets}/held")).await, 200);
    assert!(!works(&bound).await && works(&plain).await);
    tokio::time::sleep(Duration::from_secs(600 + 59)).await;
    assert!(works(&short).await);
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert!(!works(&short).await && works(&plain).await);
    let path = format!("{ACCOUNTS}/bot");
    let (_, mut held) = admin.get(&path).await;
    held["metadata"]["finalizers"] = json!(["example.com/held"]);
    assert_eq!(admin.send(Method::PUT, &path, held).await.0, 200);
    assert_eq!(admin.delete(&path).await, 200);
    assert!(works(&plain).await, "an account that is only being deleted");
    tokio::time::sleep(Duration::from_secs(62)).await;
    assert!(!works(&plain).await, "an account that should be gone");
    let (_, mut held) = admin.get(&path).await;
    held["metadata"]["finalizers"] = json!([]);
    assert_eq!(admin.send(Method::PUT, &path, held).await.0, 200);
    assert!(!works(&plain).await);
    admin.post(ACCOUNTS, json!({"metadata": {"name": "bot"}})).await;
    assert!(!works(&plain).await, "another account of the same name");
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn token_requests_and_reviews_are_refused_in_upstreams_words() {
    let cluster = Cluster::builder().build();
    let admin = Client::admin(&cluster);
    admin.post(ACCOUNTS, json!({"metadata": {"name": "bot"}})).await;
    let path = format!("{ACCOUNTS}/bot/token");
    let cases = [
        (
            json!({"spec": {"expirationSeconds": 10}}),
            r#"422 TokenRequest.authentication.k8s.io "" is invalid: spec.expirationSeconds: Invalid value: 10: may not specify a duration less than 10 minutes"#,
        ),
        (
            json!({"metadata": {"name": "x"}, "spec": {}}),
            r#"422 TokenRequest.authentication.k8s.io "bot" is invalid: metadata.name: Invalid value: "x": must match the service account name if specified"#,
        ),
        (
            json!({"spec": {"boundObjectRef": {"kind": "ConfigMap", "apiVersion": "v1", "name": "x"}}}),
            "400 cannot bind token to object of type /v1, Kind=ConfigMap",
        ),
        (
            json!({"spec": {"boundObjectRef": {"kind": "Secret", "apiVersion": "v1", "name": "x"}}}),
            r#"404 secrets "x" not found"#,
        ),
    ];
    for (request, expected) in cases {
        assert_eq!(message(&admin.post(&path, request).await), expected);
    }
    let (_, made) = admin.post(&path, json!({"spec": {"audiences": ["a"]}})).await;
    let token = made["status"]["token"].as_str().unwrap();
    let reviews = "/apis/authentication.k8s.io/v1/tokenreviews";
    let review =
        async |spec: Value| admin.post(reviews, json!({"spec": spec})).await.1["status"].clone();
    let good = review(json!({"token": token, "audiences": ["a", "b"]})).await;
    assert_eq!(good["audiences"], json!(["a"]));
    assert_eq!(good["user"]["username"], "system:serviceaccount:default:bot");
    let bad = review(json!({"token": token})).await;
    assert_eq!(
        bad["error"],
        r#"[invalid bearer token, token audiences ["a"] is invalid for the target audiences ["https://kubernetes.default.svc.cluster.local"]]"#
    );
    assert_eq!(
        review(json!({"token": "x"})).await,
        json!({"user": {}, "error": "invalid bearer token"})
    );
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn impersonation_needs_a_right_for_each_claim() {
    let cluster = Cluster::builder().token("ann", User::in_groups("ann", &[])).build();
    let admin = Client::admin(&cluster);
    let rules = json!([{"apiGroups": [""], "resources": ["users"], "verbs": ["impersonate"], "resourceNames": ["bob"]}]);
    let bob = binding("ClusterRoleBinding", "bobs", "ClusterRole", "bobs", "ann");
    admin.post(&format!("{RBAC}/clusterroles"), role("ClusterRole", "bobs", rules)).await;
    admin.post(&format!("{RBAC}/clusterrolebindings"), bob).await;
    let ann = || Client::of_token(&cluster, "ann");
    let path = "/version";
    let cases = [
        (ann().with("impersonate-user", "bob"), "200 "),
        (
            ann().with("impersonate-user", "eve"),
            r#"403 users "eve" is forbidden: User "ann" cannot impersonate resource "users" in API group "" at the cluster scope"#,
        ),
        (
            ann().with("impersonate-user", "bob").with("impersonate-group", "g"),
            r#"403 groups "g" is forbidden: User "ann" cannot impersonate resource "groups" in API group "" at the cluster scope"#,
        ),
        (
            ann().with("impersonate-user", "bob").with("impersonate-extra-team", "t"),
            r#"403 userextras.authentication.k8s.io "t" is forbidden: User "ann" cannot impersonate resource "userextras/team" in API group "authentication.k8s.io" at the cluster scope"#,
        ),
        (
            ann().with("impersonate-user", "bob").with("impersonate-uid", "u"),
            r#"403 uids.authentication.k8s.io "u" is forbidden: User "ann" cannot impersonate resource "uids" in API group "authentication.k8s.io" at the cluster scope"#,
        ),
        (
            ann().with("impersonate-user", "system:serviceaccount:a:b"),
            r#"403 serviceaccounts "b" is forbidden: User "ann" cannot impersonate resource "serviceaccounts" in API group "" in the namespace "a""#,
        ),
        (
            ann().with("impersonate-group", "g").with("impersonate-uid", "u"),
            "400 requested [{Group  g    } {UID  u  authentication.k8s.io/v1  }] without impersonating a user",
        ),
    ];
    for (client, expected) in cases {
        assert_eq!(message(&client.get(path).await), expected);
    }
    let identities = [
        (
            vec![("impersonate-user", "system:serviceaccount:a:b")],
            json!(["system:serviceaccounts", "system:serviceaccounts:a", "system:authenticated"]),
        ),
        (
            vec![("impersonate-user", "system:serviceaccount:a:b"), ("impersonate-group", "g")],
            json!(["g", "system:authenticated"]),
        ),
        (
            vec![
                ("impersonate-user", "x"),
                ("impersonate-group", "system:unauthenticated"),
                ("impersonate-group", "system:masters"),
            ],
            json!(["system:unauthenticated", "system:masters"]),
        ),
    ];
    for (headers, groups) in identities {
        let client = headers
            .iter()
            .fold(Client::admin(&cluster), |client, (name, value)| client.with(name, value));
        assert_eq!(client.identity().await.unwrap()["groups"], groups);
    }
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn nobody_gives_away_what_they_do_not_have() {
    let cluster = Cluster::builder().token("ann", User::in_groups("ann", &[])).build();
    let admin = Client::admin(&cluster);
    let ann = Client::of_token(&cluster, "ann");
    let roles = format!("{RBAC}/namespaces/default/roles");
    let bindings = format!("{RBAC}/namespaces/default/rolebindings");
    let rules = json!([
        {"apiGroups": ["rbac.authorization.k8s.io"], "resources": ["roles", "rolebindings"], "verbs": ["create", "update", "get"]},
        {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]},
        {"apiGroups": ["rbac.authorization.k8s.io"], "resources": ["clusterroles"], "verbs": ["bind"], "resourceNames": ["view"]},
    ]);
    admin.post(&roles, role("Role", "own", rules)).await;
    admin.post(&bindings, binding("RoleBinding", "own", "Role", "own", "ann")).await;
    let pods = |verbs: Value| json!([{"apiGroups": [""], "resources": ["pods"], "verbs": verbs}]);
    let denied = |what: &str, missing: &str| {
        format!(
            r#"403 {what} is forbidden: user "ann" (groups=["system:authenticated"]) is attempting to grant RBAC permissions not currently held:{missing}"#
        )
    };
    let cases = [
        (&roles, role("Role", "fine", pods(json!(["get"]))), "201 ".to_owned()),
        (
            &roles,
            role("Role", "more", pods(json!(["get", "delete"]))),
            denied(
                r#"roles.rbac.authorization.k8s.io "more""#,
                "\n{APIGroups:[\"\"], Resources:[\"pods\"], Verbs:[\"delete\"]}",
            ),
        ),
        (&bindings, binding("RoleBinding", "fine", "Role", "fine", "bob"), "201 ".to_owned()),
        (
            &bindings,
            binding("RoleBinding", "view", "ClusterRole", "view", "bob"),
            "201 ".to_owned(),
        ),
        (
            &bindings,
            binding("RoleBinding", "top", "ClusterRole", "cluster-admin", "bob"),
            denied(
                r#"rolebindings.rbac.authorization.k8s.io "top""#,
                "\n{APIGroups:[\"*\"], Resources:[\"*\"], Verbs:[\"*\"]}\n{NonResourceURLs:[\"*\"], Verbs:[\"*\"]}",
            ),
        ),
        (
            &bindings,
            binding("RoleBinding", "void", "Role", "void", "bob"),
            r#"404 rolebindings.rbac.authorization.k8s.io "void" not found"#.to_owned(),
        ),
    ];
    for (path, object, expected) in cases {
        assert_eq!(message(&ann.post(path, object).await), expected);
    }
    // The right to escalate one role needs its name, which a POST lacks.
    let rules = json!([{"apiGroups": ["rbac.authorization.k8s.io"], "resources": ["roles"], "verbs": ["escalate", "patch"], "resourceNames": ["grown"]}]);
    admin.post(&roles, role("Role", "grower", rules)).await;
    admin.post(&bindings, binding("RoleBinding", "grower", "Role", "grower", "ann")).await;
    let grown = role("Role", "grown", pods(json!(["delete"])));
    assert_eq!(ann.post(&roles, grown.clone()).await.0, 403);
    let apply =
        Client::of_token(&cluster, "ann").with("content-type", "application/apply-patch+yaml");
    let path = format!("{roles}/grown?fieldManager=ann");
    assert_eq!(apply.send(Method::PATCH, &path, grown).await.0, 201);
    // An update is checked as well, unless no rights change.
    admin.post(&roles, role("Role", "big", pods(json!(["delete"])))).await;
    let path = format!("{roles}/big");
    let (_, mut big) = ann.get(&path).await;
    big["metadata"]["finalizers"] = json!(["example.com/x"]);
    assert_eq!(ann.send(Method::PUT, &path, big.clone()).await.0, 200);
    big["metadata"]["labels"] = json!({"a": "b"});
    big["metadata"]["resourceVersion"] = Value::Null;
    assert_eq!(ann.send(Method::PUT, &path, big).await.0, 403);
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn a_sum_of_roles_follows_its_parts() {
    let cluster = Cluster::builder().build();
    let admin = Client::admin(&cluster);
    let roles = format!("{RBAC}/clusterroles");
    let mut sum = role("ClusterRole", "sum", json!([]));
    sum["aggregationRule"] = json!({"clusterRoleSelectors": [{"matchLabels": {"of": "sum"}}]});
    admin.post(&roles, sum).await;
    let rules = json!([{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]);
    for name in ["one", "same"] {
        let mut part = role("ClusterRole", name, rules.clone());
        part["metadata"]["labels"] = json!({"of": "sum"});
        assert_eq!(admin.post(&roles, part).await.0, 201);
    }
    let path = format!("{roles}/sum");
    let whole = until(&admin, &path, |_, role| role["rules"] == rules).await;
    let owners = whole["metadata"]["managedFields"].as_array().unwrap();
    assert!(owners.iter().any(|owner| owner["manager"] == "clusterrole-aggregation-controller"
        && owner["operation"] == "Apply"));
    for name in ["one", "same"] {
        admin.delete(&format!("{roles}/{name}")).await;
    }
    until(&admin, &path, |_, role| role["rules"].as_array().is_none_or(Vec::is_empty)).await;
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn a_token_secret_is_filled_and_goes_with_its_account() {
    let cluster = Cluster::builder().build();
    let admin = Client::admin(&cluster);
    admin.post(ACCOUNTS, json!({"metadata": {"name": "bot"}})).await;
    let secrets = "/api/v1/namespaces/default/secrets";
    let secret = json!({
        "metadata": {"name": "legacy", "annotations": {"kubernetes.io/service-account.name": "bot"}},
        "type": "kubernetes.io/service-account-token",
    });
    admin.post(secrets, secret).await;
    let path = format!("{secrets}/legacy");
    let filled = until(&admin, &path, |_, secret| secret["data"]["token"].is_string()).await;
    let token = base64::engine::general_purpose::STANDARD
        .decode(filled["data"]["token"].as_str().unwrap())
        .unwrap();
    let bot = Client::of_token(&cluster, std::str::from_utf8(&token).unwrap());
    assert_eq!(bot.identity().await.unwrap()["username"], "system:serviceaccount:default:bot");
    admin.delete(&format!("{ACCOUNTS}/bot")).await;
    until(&admin, &path, |code, _| code == 404).await;
    assert_eq!(bot.identity().await, Err(401));
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn a_seed_gives_the_same_certificate_and_private_keys_another() {
    let mut certificates = Vec::new();
    for builder in [
        Cluster::builder().seed(5),
        Cluster::builder().seed(5),
        Cluster::builder().seed(6),
        Cluster::builder().seed(5).private_keys(),
    ] {
        let cluster = builder.build();
        let admin = Client::admin(&cluster);
        let path = "/api/v1/namespaces/default/configmaps/kube-root-ca.crt";
        let map = until(&admin, path, |code, _| code == 200).await;
        let certificate = map["data"]["ca.crt"].as_str().unwrap().to_owned();
        assert!(certificate.starts_with("-----BEGIN CERTIFICATE-----"));
        certificates.push(certificate);
    }
    assert_eq!(certificates[0], certificates[1]);
    assert_ne!(certificates[0], certificates[2]);
    assert_ne!(certificates[0], certificates[3]);
}
