//! Tables for the evaluator, and a property test.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::super::policy::Policy;
use super::*;
use crate::auth::{Target, missing};

fn role(name: &str, rules: impl Into<Value>) -> Value {
    json!({"metadata": {"name": name}, "rules": rules.into()})
}

fn store_with(objects: &[(&str, &str, Value)]) -> Arc<Store> {
    let store = Arc::new(Store::new(100));
    for (resource, key, object) in objects {
        put(&store, resource, key, object.clone());
    }
    store
}

fn put(store: &Store, resource: &str, key: &str, object: Value) {
    let resource = GroupResource::new("rbac.authorization.k8s.io", resource);
    store.create(&resource, key, object).unwrap();
}

fn remove(store: &Store, resource: &str, key: &str) {
    let resource = GroupResource::new("rbac.authorization.k8s.io", resource);
    let stored = store.get(&resource, key).unwrap();
    store.delete(&resource, key, stored.revision).unwrap();
}

fn binding(
    namespace: &str,
    name: &str,
    kind: &str,
    role: &str,
    subjects: impl Into<Value>,
) -> Value {
    let mut metadata = json!({"name": name});
    if !namespace.is_empty() {
        metadata["namespace"] = namespace.into();
    }
    json!({"metadata": metadata, "roleRef": {"kind": kind, "name": role}, "subjects": subjects.into()})
}

/// `verb group/resource/subresource namespace name`, or `verb path`; `-` is empty.
fn asked<'a>(user: &'a User, text: &'a str) -> Attributes<'a> {
    let words: Vec<&str> =
        text.split(' ').map(|word| if word == "-" { "" } else { word }).collect();
    let target = if words[1].starts_with('/') {
        Target::Path(words[1])
    } else {
        let mut parts = words[1].split('|');
        Target::Resource {
            group: parts.next().unwrap(),
            resource: parts.next().unwrap(),
            subresource: parts.next().unwrap_or_default(),
            namespace: words[2],
            name: words[3],
        }
    };
    Attributes { user, verb: words[0], target }
}

#[test]
fn rules_allow_what_all_of_their_lists_fit() {
    let cases = [
        (
            json!({"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}),
            "get |pods a p",
            true,
        ),
        (
            json!({"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}),
            "list |pods a -",
            false,
        ),
        (json!({"verbs": ["*"], "apiGroups": [""], "resources": ["pods"]}), "list |pods a -", true),
        (
            json!({"verbs": ["*"], "apiGroups": [""], "resources": ["pods"]}),
            "get apps|pods a -",
            false,
        ),
        (
            json!({"verbs": ["*"], "apiGroups": ["*"], "resources": ["pods"]}),
            "get apps|pods a -",
            true,
        ),
        (
            json!({"verbs": ["*"], "apiGroups": [""], "resources": ["pods"]}),
            "get |pods|log a p",
            false,
        ),
        (
            json!({"verbs": ["*"], "apiGroups": [""], "resources": ["pods/log"]}),
            "get |pods|log a p",
            true,
        ),
        (
            json!({"verbs": ["*"], "apiGroups": [""], "resources": ["pods/log"]}),
            "get |pods a p",
            false,
        ),
        (
            json!({"verbs": ["*"], "apiGroups": [""], "resources": ["*/log"]}),
            "get |pods|log a p",
            true,
        ),
        (
            json!({"verbs": ["*"], "apiGroups": [""], "resources": ["*/log"]}),
            "get |pods|status a p",
            false,
        ),
        (
            json!({"verbs": ["*"], "apiGroups": [""], "resources": ["pods/*"]}),
            "get |pods|log a p",
            false,
        ),
        (json!({"verbs": ["*"], "apiGroups": [""], "resources": ["*"]}), "get |pods|log a p", true),
        (
            json!({"verbs": ["*"], "apiGroups": [""], "resources": ["xpods/log"]}),
            "get |pods|log a p",
            false,
        ),
        (
            json!({"verbs": ["*"], "apiGroups": [""], "resources": ["pods"], "resourceNames": ["p"]}),
            "get |pods a p",
            true,
        ),
        (
            json!({"verbs": ["*"], "apiGroups": [""], "resources": ["pods"], "resourceNames": ["p"]}),
            "get |pods a q",
            false,
        ),
        (
            json!({"verbs": ["*"], "apiGroups": [""], "resources": ["pods"], "resourceNames": ["p"]}),
            "list |pods a -",
            false,
        ),
        (json!({"verbs": ["*"], "resources": ["pods"]}), "get |pods a p", false),
        (json!({"verbs": ["get"], "nonResourceURLs": ["/healthz"]}), "get /healthz", true),
        (json!({"verbs": ["get"], "nonResourceURLs": ["/healthz"]}), "get /healthz/x", false),
        (json!({"verbs": ["get"], "nonResourceURLs": ["/healthz/*"]}), "get /healthz/x", true),
        (json!({"verbs": ["get"], "nonResourceURLs": ["/healthz/*"]}), "get /healthz", false),
        (json!({"verbs": ["get"], "nonResourceURLs": ["*"]}), "get /healthz", true),
        (json!({"verbs": ["get"], "nonResourceURLs": ["*"]}), "put /healthz", false),
        (json!({"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}), "get /healthz", false),
        (json!({"verbs": ["get"], "nonResourceURLs": ["*"]}), "get |pods a p", false),
    ];
    let user = User::default();
    for (rule, question, expected) in cases {
        let rules = Rule::all_of(&role("r", json!([rule.clone()])));
        assert_eq!(rules[0].allows(&asked(&user, question)), expected, "{rule} {question}");
    }
}

#[test]
fn bindings_apply_to_their_subjects_in_their_namespace() {
    let pods = json!([{"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}]);
    let user = |name: &str| json!([{"kind": "User", "name": name}]);
    let store = store_with(&[
        ("clusterroles", "pods", role("pods", pods.clone())),
        ("roles", "a/pods", role("pods", pods)),
        ("clusterrolebindings", "all", binding("", "all", "ClusterRole", "pods", user("ann"))),
        ("clusterrolebindings", "void", binding("", "void", "ClusterRole", "none", user("zoe"))),
        (
            "clusterrolebindings",
            "homeless",
            binding(
                "",
                "homeless",
                "ClusterRole",
                "pods",
                json!([{"kind": "ServiceAccount", "name": "bot"}]),
            ),
        ),
        ("rolebindings", "a/b", binding("a", "b", "ClusterRole", "pods", user("bob"))),
        ("rolebindings", "a/r", binding("a", "r", "Role", "pods", user("rob"))),
        ("rolebindings", "b/r", binding("b", "r", "Role", "pods", user("zoe"))),
        (
            "rolebindings",
            "a/many",
            binding(
                "a",
                "many",
                "Role",
                "pods",
                json!([
                    {"kind": "Group", "name": "team"},
                    {"kind": "ServiceAccount", "name": "bot"},
                    {"kind": "ServiceAccount", "name": "bot", "namespace": "b"},
                    {"kind": "Robot", "name": "eve"},
                ]),
            ),
        ),
    ]);
    let cases = [
        (
            "ann",
            "",
            "a",
            true,
            r#"RBAC: allowed by ClusterRoleBinding "all" of ClusterRole "pods" to User "ann""#,
        ),
        (
            "ann",
            "",
            "-",
            true,
            r#"RBAC: allowed by ClusterRoleBinding "all" of ClusterRole "pods" to User "ann""#,
        ),
        (
            "bob",
            "",
            "a",
            true,
            r#"RBAC: allowed by RoleBinding "b/a" of ClusterRole "pods" to User "bob""#,
        ),
        ("bob", "", "b", false, ""),
        ("bob", "", "-", false, ""),
        (
            "rob",
            "",
            "a",
            true,
            r#"RBAC: allowed by RoleBinding "r/a" of Role "pods" to User "rob""#,
        ),
        ("eve", "", "a", false, ""),
        (
            "eve",
            "team",
            "a",
            true,
            r#"RBAC: allowed by RoleBinding "many/a" of Role "pods" to Group "team""#,
        ),
        (
            "system:serviceaccount:a:bot",
            "",
            "a",
            true,
            r#"RBAC: allowed by RoleBinding "many/a" of Role "pods" to ServiceAccount "bot/a""#,
        ),
        (
            "system:serviceaccount:b:bot",
            "",
            "a",
            true,
            r#"RBAC: allowed by RoleBinding "many/a" of Role "pods" to ServiceAccount "bot/b""#,
        ),
        ("system:serviceaccount:c:bot", "", "a", false, ""),
        (
            "zoe",
            "",
            "b",
            false,
            r#"RBAC: [clusterrole.rbac.authorization.k8s.io "none" not found, role.rbac.authorization.k8s.io "pods" not found]"#,
        ),
        ("zoe", "", "-", false, r#"RBAC: clusterrole.rbac.authorization.k8s.io "none" not found"#),
        ("eve", "system:masters", "-", true, ""),
    ];
    let authorizer = Authorizer::default();
    for (name, group, namespace, allowed, reason) in cases {
        let user = User::in_groups(name, &[group]);
        let question = format!("get |pods {namespace} p");
        let wanted = asked(&user, &question);
        let decision = authorizer.decide(&store, &wanted);
        let expected = Decision { allowed, reason: reason.to_owned() };
        assert_eq!(decision, expected, "{name} {group} {namespace}");
        assert_eq!(authorizer.allows(&store, &wanted), allowed);
    }
}

#[test]
fn a_decision_sees_every_write_before_it() {
    let store = store_with(&[]);
    let authorizer = Authorizer::default();
    let user = User::in_groups("ann", &[]);
    let may = || authorizer.allows(&store, &asked(&user, "get |pods a p"));
    assert!(!may());
    let subjects = json!([{"kind": "User", "name": "ann"}]);
    put(&store, "rolebindings", "a/b", binding("a", "b", "Role", "r", subjects));
    assert!(!may());
    let rule = json!([{"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}]);
    put(&store, "roles", "a/r", role("r", rule));
    assert!(may());
    store.compact();
    store.close_watches();
    assert!(may());
    remove(&store, "rolebindings", "a/b");
    assert!(!may());
}

#[test]
fn rights_that_are_missing_to_grant_rules_are_listed_one_per_line() {
    let held = json!([
        {"verbs": ["get", "list"], "apiGroups": [""], "resources": ["pods", "*/scale"]},
        {"verbs": ["*"], "apiGroups": ["apps"], "resources": ["*"]},
        {"verbs": ["get"], "apiGroups": [""], "resources": ["secrets"], "resourceNames": ["a", "b"]},
        {"verbs": ["get"], "nonResourceURLs": ["/logs/*"]},
    ]);
    let cases = [
        (json!([{"verbs": ["get"], "apiGroups": [""], "resources": ["pods", "x/scale"]}]), ""),
        (json!([{"verbs": ["any"], "apiGroups": ["apps"], "resources": ["a", "a/b", "*"]}]), ""),
        (
            json!([{"verbs": ["get"], "apiGroups": [""], "resources": ["secrets"], "resourceNames": ["b"]}]),
            "",
        ),
        (json!([{"verbs": ["get"], "nonResourceURLs": ["/logs/x", "/logs/*"]}]), ""),
        (
            json!([{"verbs": ["get"], "apiGroups": [""], "resources": ["secrets"]}]),
            r#"{APIGroups:[""], Resources:["secrets"], Verbs:["get"]}"#,
        ),
        (
            json!([{"verbs": ["get", "watch", "delete"], "apiGroups": ["", "apps"], "resources": ["pods"]}]),
            r#"{APIGroups:[""], Resources:["pods"], Verbs:["watch" "delete"]}"#,
        ),
        (
            json!([{"verbs": ["get", "put"], "apiGroups": [""], "resources": ["secrets"], "resourceNames": ["a", "c"]}]),
            "{APIGroups:[\"\"], Resources:[\"secrets\"], ResourceNames:[\"a\"], Verbs:[\"put\"]}\n\
             {APIGroups:[\"\"], Resources:[\"secrets\"], ResourceNames:[\"c\"], Verbs:[\"get\" \"put\"]}",
        ),
        (
            json!([{"verbs": ["get", "put"], "nonResourceURLs": ["/logs"]}]),
            "{NonResourceURLs:[\"/logs\"], Verbs:[\"get\"]}\n{NonResourceURLs:[\"/logs\"], Verbs:[\"put\"]}",
        ),
    ];
    let held = Rule::all_of(&role("held", held));
    for (wanted, expected) in cases {
        let lines = missing(&held, &Rule::all_of(&role("wanted", wanted.clone())));
        assert_eq!(lines.into_iter().collect::<Vec<_>>().join("\n"), expected, "{wanted}");
    }
}

/// A few names, so that rules and requests match often.
fn word(words: &'static [&'static str]) -> impl Strategy<Value = &'static str> {
    proptest::sample::select(words)
}

fn rule() -> impl Strategy<Value = Value> {
    let list = |words| proptest::collection::vec(word(words), 0..3);
    let verbs = list(&["get", "list", "*"]);
    let resources = list(&["pods", "pods/log", "*/log", "*"]);
    (verbs, list(&["", "apps", "*"]), resources, list(&["p", "q"])).prop_map(
        |(verbs, groups, resources, names)| {
            json!({"verbs": verbs, "apiGroups": groups, "resources": resources, "resourceNames": names})
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    #[test]
    fn nobody_gains_by_the_loss_of_a_binding(
        roles in proptest::collection::vec(proptest::collection::vec(rule(), 0..4), 1..4),
        bindings in proptest::collection::vec(
            (word(&["", "a", "b"]), 0..5_usize, word(&["ann", "bob"]), word(&["User", "Group"])),
            1..6,
        ),
        lost in 0..6_usize,
    ) {
        let mut policy = Policy::default();
        for (index, rules) in roles.iter().enumerate() {
            policy.set_role(&index.to_string(), Some(&role("r", json!(rules))));
        }
        let key = |index: usize, namespace: &str| crate::store::key(namespace, &format!("b{index}"));
        for (index, (namespace, role, subject, kind)) in bindings.iter().enumerate() {
            let subjects = json!([{"kind": kind, "name": subject}]);
            let name = format!("b{index}");
            let object = binding(namespace, &name, "ClusterRole", &role.to_string(), subjects);
            policy.set_binding(&key(index, namespace), Some(&object));
        }
        let questions: Vec<String> = ["get", "list"]
            .iter()
            .flat_map(|verb| ["|pods", "apps|pods", "|pods|log"].map(|what| format!("{verb} {what}")))
            .flat_map(|what| ["- -", "a p", "b q"].map(|place| format!("{what} {place}")))
            .collect();
        let allowed = |policy: &Policy| -> BTreeSet<String> {
            let mut out = BTreeSet::new();
            for user in [User::in_groups("ann", &["bob"]), User::in_groups("bob", &[])] {
                for question in &questions {
                    let wanted = asked(&user, question);
                    let may = policy
                        .grants(&user, wanted.namespace())
                        .flatten()
                        .any(|grant| grant.rules.iter().any(|rule| rule.allows(&wanted)));
                    if may {
                        out.insert(format!("{} {question}", user.name));
                    }
                }
            }
            out
        };
        let before = allowed(&policy);
        let lost = lost % bindings.len();
        policy.set_binding(&key(lost, bindings[lost].0), None);
        let after = allowed(&policy);
        prop_assert!(after.is_subset(&before), "gained {:?}", after.difference(&before));
        // What remains is what the others give: a fresh policy of them says the same.
        let mut fresh = Policy::default();
        for (index, rules) in roles.iter().enumerate() {
            fresh.set_role(&index.to_string(), Some(&role("r", json!(rules))));
        }
        for (index, (namespace, role, subject, kind)) in bindings.iter().enumerate() {
            if index != lost {
                let subjects = json!([{"kind": kind, "name": subject}]);
                let name = format!("b{index}");
                let object = binding(namespace, &name, "ClusterRole", &role.to_string(), subjects);
                fresh.set_binding(&key(index, namespace), Some(&object));
            }
        }
        prop_assert_eq!(after, allowed(&fresh));
    }
}
