//! Objects before and after.

use serde_json::{Value, json};

use super::{Missing, Mode, Strategy, Substitution, Variables, substitute};

fn variables() -> Variables {
    let mut variables = Variables::default();
    variables.add_config_map(&json!({"data": {"n": "1", "name": "from-config", "on": "true"}}));
    variables
        .add_secret(&json!({"data": {"name": "ZnJvbS1zZWNyZXQK", "odd": "YToKIGI="}}))
        .expect("the values are in base64");
    variables.insert("n", "3");
    variables.insert("line", "7\n");
    variables.insert("tag", "1.10");
    variables
}

fn run(object: &Value, mode: Mode) -> Result<Option<Value>, String> {
    let variables = variables();
    let how = Substitution {
        variables: &variables,
        missing: Missing::Error,
        strategy: Strategy::WithVariables,
        mode,
    };
    substitute(object, &how).map_err(|failure| {
        let lines = failure.diagnostics().map(|cause| match &cause.hint {
            Some(hint) => format!("{cause} ({hint})"),
            None => cause.to_string(),
        });
        lines.collect::<Vec<_>>().join("\n")
    })
}

fn deployment() -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "${name}", "labels": {"tag": "${tag}", "${name}": "x"}},
        "spec": {
            "replicas": "${n}", "paused": "${on}",
            "template": {"spec": {"containers": [{
                "name": "${name}", "image": "web:${tag}",
                "args": ["--price=$$5", "${n}", "${odd}"],
                "ports": [{"containerPort": "80${n}"}],
            }]}},
            "strategy": {"rollingUpdate": {"maxSurge": "${n}", "maxUnavailable": "${n}0%"}},
        },
    })
}

#[test]
fn as_text_a_value_decides_its_type() {
    let out = run(&deployment(), Mode::Text).expect("it is fine").expect("it changed");
    assert_eq!(
        out["metadata"],
        json!({"name": "from-secret", "labels": {"tag": 1.1, "from-secret": "x"}})
    );
    assert_eq!(out["spec"]["replicas"], 3);
    let container = &out["spec"]["template"]["spec"]["containers"][0];
    assert_eq!(container["args"], json!(["--price=$5", 3, {"a": "b"}]));
    assert_eq!(container["image"], "web:1.10");
}

#[test]
fn typed_the_field_decides() {
    let out = run(&deployment(), Mode::Typed).expect("it is fine").expect("it changed");
    let labels = json!({"tag": "1.10", "from-secret\n": "x"});
    assert_eq!(out["metadata"], json!({"name": "from-secret\n", "labels": labels}));
    let spec = &out["spec"];
    assert_eq!((&spec["replicas"], &spec["paused"]), (&json!(3), &json!(true)));
    let update = json!({"maxSurge": 3, "maxUnavailable": "30%"});
    assert_eq!(spec["strategy"]["rollingUpdate"], update);
    let container = &spec["template"]["spec"]["containers"][0];
    assert_eq!(container["args"], json!(["--price=$5", "3", "a:\n b"]));
    assert_eq!(container["ports"], json!([{"containerPort": 803}]));
}

#[test]
fn an_object_may_choose_for_itself() {
    let object = |mode: &str| {
        json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"n": "${n}"},
            "metadata": {"name": "a", "annotations": {"sluice.dev/substitute": mode}}})
    };
    let data = |mode: &str, default| {
        run(&object(mode), default).map(|out| out.expect("changed")["data"]["n"].clone())
    };
    assert_eq!(data("typed", Mode::Text), Ok(json!("3")));
    assert_eq!(data("text", Mode::Typed), Ok(json!(3)));
    let wrong = data("types", Mode::Text).expect_err("there is no such mode");
    assert!(
        wrong.starts_with("ConfigMap/a: annotation sluice.dev/substitute: \"types\""),
        "{wrong}"
    );
    let off = json!({"metadata": {"labels": {"kustomize.toolkit.fluxcd.io/substitute": "disabled"}}, "a": "${gone"});
    assert_eq!(run(&off, Mode::Text), Ok(None));
}

#[test]
fn what_is_wrong_names_object_field_and_variable() {
    let object = json!({"apiVersion": "v1", "kind": "Service",
        "metadata": {"name": "web", "namespace": "apps"},
        "spec": {"ports": [{"name": "http"}, {"port": "${gone}", "name": "${name}"}], "type": "${gone:1}"}});
    let words = "Service/apps/web: envsubst error: variable substitution failed: variable not set (strict mode): \"gone\"";
    let hint = "give gone a value, or a default such as ${gone:-value}";
    assert_eq!(run(&object, Mode::Text), Err(format!("{words} (in spec.ports[1].port: {hint})")));
    assert_eq!(
        run(&object, Mode::Typed),
        Err(format!("{words} (in spec.ports[1].port: {hint})\n{words} (in spec.type: {hint})"))
    );
    let object = json!({"apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "web", "labels": {"a": "1", "${n:1}a": "2"}}, "spec": {"replicas": "${tag}"}});
    assert_eq!(
        run(&object, Mode::Typed),
        Err("Deployment/web: metadata.labels.a: another field has the same name after substitution\n\
             Deployment/web: spec.replicas: the field is an integer, which its value is not (correct the value of the variable)"
            .to_owned())
    );
}

#[test]
fn names_of_variables_are_checked_together() {
    let mut variables = Variables::default();
    variables.insert("a-b", "");
    variables.insert("1", "");
    let how = Substitution {
        variables: &variables,
        missing: Missing::Error,
        strategy: Strategy::WithVariables,
        mode: Mode::Text,
    };
    let wrong =
        substitute(&json!({"kind": "A", "metadata": {"name": "a"}}), &how).expect_err("two names");
    assert_eq!(wrong.diagnostics().count(), 2);
}
