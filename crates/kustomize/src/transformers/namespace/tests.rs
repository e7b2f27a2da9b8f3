use serde_json::{Value, json};

use super::Namespace;
use crate::config::TransformerConfig;
use crate::transformers::testing::{config, transformed};

fn namespace() -> Namespace {
    Namespace::new("new".to_owned(), TransformerConfig::default_config().namespace.clone())
}

fn configured(options: &Value) -> crate::failure::Result<Namespace> {
    let mut file = json!({"metadata": {"name": "x", "namespace": "new"}});
    for (name, value) in options.as_object().into_iter().flatten() {
        file[name] = value.clone();
    }
    config(&file, Namespace::from_config)
}

fn object(api_version: &str, kind: &str, rest: &str) -> String {
    format!("apiVersion: {api_version}\nkind: {kind}\nmetadata:\n  name: it\n{rest}")
}

#[test]
fn what_can_have_a_namespace_gets_it() {
    let set = "  namespace: new\n";
    let cases = [
        ("v1", "ConfigMap", "", set),
        ("v1", "ConfigMap", "  namespace: old\n", set),
        ("example.com/v1", "Unknown", "", set),
        ("rbac.authorization.k8s.io/v1", "ClusterRole", "", ""),
        (
            "apiregistration.k8s.io/v1",
            "APIService",
            "spec:\n  service:\n    name: s\n",
            "spec:\n  service:\n    name: s\n    namespace: new\n",
        ),
    ];
    for (api_version, kind, before, after) in cases {
        let before = object(api_version, kind, before);
        let result = transformed(&namespace(), &before).unwrap();
        let without_scope = result.replace(
            "metadata:\n  name: it\n  namespace: new\nspec",
            "metadata:\n  name: it\nspec",
        );
        let expected = object(api_version, kind, after);
        assert!(result == expected || without_scope == expected, "{result}");
    }
    let given = object("v1", "Namespace", "");
    let renamed = given.replace("name: it", "name: new");
    assert_eq!(transformed(&namespace(), &given).unwrap(), renamed);
}

#[test]
fn subjects_move_by_mode() {
    let subjects = |[first, second]: [&str; 2]| {
        let rest = format!(
            "  namespace: new\nsubjects:\n- kind: ServiceAccount\n  name: default\n  namespace: {first}\n- kind: ServiceAccount\n  name: other\n  namespace: {second}\n"
        );
        object("rbac.authorization.k8s.io/v1", "RoleBinding", &rest)
    };
    let cases = [
        (json!({}), ["new", "old"]),
        (json!({"setRoleBindingSubjects": "defaultOnly"}), ["new", "old"]),
        (json!({"setRoleBindingSubjects": "allServiceAccounts"}), ["new", "new"]),
        (json!({"setRoleBindingSubjects": "none"}), ["old", "old"]),
        (json!({"unsetOnly": true}), ["old", "old"]),
    ];
    for (options, after) in cases {
        let transformer = configured(&options).unwrap();
        let before = subjects(["old", "old"]);
        assert_eq!(transformed(&transformer, &before).unwrap(), subjects(after), "{options}");
    }
    assert!(configured(&json!({"setRoleBindingSubjects": "all"})).is_err());
}

#[test]
fn a_namespace_that_is_there_may_stay() {
    let unset_only = configured(&json!({"unsetOnly": true})).unwrap();
    let old = object("v1", "ConfigMap", "  namespace: old\n");
    assert_eq!(transformed(&unset_only, &old).unwrap(), old);
    let helm = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  annotations:\n    internal.config.kubernetes.io/helm-generated: \"true\"\n  name: it\n";
    assert!(!transformed(&namespace(), helm).unwrap().contains("namespace"));
}

#[test]
fn two_that_become_one_are_refused() {
    let old = object("v1", "ConfigMap", "  namespace: old\n");
    let both = format!("{old}---\n{}", old.replace("old", "older"));
    let failure = transformed(&namespace(), &both).expect_err("two").to_string();
    let expected = "namespace transformation produces ID conflict: ConfigMap.v1.[noGrp]/it.new";
    assert!(failure.contains(expected), "{failure}");
}
