use serde_json::json;

use super::{Var, Vars, resolve};
use crate::decode::{Fields, Unknown};
use crate::field_spec::FieldSpec;
use crate::openapi::Schema;
use crate::read::read_resources;
use crate::resources::Resources;

const OBJECTS: &str = "\
apiVersion: v1
kind: Service
metadata: {name: s}
spec: {ports: [{port: 80, f: 1e25, b: true, m: {a: b}, z: 012, t: 2001-01-01, h: 0x10}]}
---
apiVersion: v1
kind: Pod
metadata: {name: p}
args: [$(NAME), 'x$(NAME)', '$(PORT)', 'p$(PORT)', $(F), $(B), $(M), '$(Z)', $(T), '123']
map: {a: $(PORT), b: 1, c: '1'}
text: $(PORT)
";

fn var(name: &str, path: &str) -> Var {
    let value = json!({
        "name": name,
        "objref": {"apiVersion": "v1", "kind": "Service", "name": "s"},
        "fieldref": {"fieldPath": path},
    });
    Var::read(&Fields::of(&value, "Var", Unknown::Refused).unwrap()).unwrap()
}

fn objects() -> Resources {
    let mut all = Resources::default();
    for resource in read_resources(OBJECTS.as_bytes(), None).unwrap() {
        all.append(resource, &Schema::builtin()).unwrap();
    }
    all
}

fn spec(path: &str) -> FieldSpec {
    FieldSpec { path: path.to_owned(), ..FieldSpec::default() }
}

// Recorded with kustomize 5.8.1.
#[test]
fn values_keep_their_types_where_they_stand_alone() {
    let mut all = objects();
    let mut vars = Vars::default();
    let incoming = [
        var("NAME", ""),
        var("PORT", "spec.ports[0].port"),
        var("F", "spec.ports[0].f"),
        var("B", "spec.ports[0].b"),
        var("M", "spec.ports[0].m"),
        var("Z", "spec.ports.[port=80].z"),
        var("T", "spec.ports[0].t"),
    ];
    vars.add(&incoming, &mut all, &Schema::builtin()).unwrap();
    let places = [spec("args"), spec("map"), spec("text")];
    let warning = resolve(&mut all, &vars, &places).unwrap().expect("one is a map");
    assert_eq!(warning.message, "well-defined vars that were never replaced: M");
    let written = all.get(1).unwrap().to_yaml().unwrap();
    let expected = "\
apiVersion: v1
args:
- s
- xs
- 80
- p80
- 1e+25
- true
- $(M)
- 12
- \"2001-01-01\"
- \"123\"
kind: Pod
map:
  a: 80
  b: 1
  c: \"1\"
metadata:
  name: p
text: 80
";
    assert_eq!(written, expected);
}

#[test]
fn a_var_must_be_there_once() {
    let schema = Schema::builtin();
    let cases = [
        (
            var("A", "spec.none"),
            "field specified in var '{A Service.v1.[noGrp] {spec.none}}' not found in corresponding resource",
        ),
        (
            var("A", "spec.ports[0].h"),
            "field specified in var '{A Service.v1.[noGrp] {spec.ports[0].h}}' not found in corresponding resource",
        ),
        (
            Var { name: "A".to_owned(), ..Var::default() },
            "var '{A [noKind].[noVer].[noGrp] {}}' cannot be mapped to a field in the set of known resources",
        ),
    ];
    for (var, expected) in cases {
        let mut all = objects();
        let mut vars = Vars::default();
        vars.add(&[var], &mut all, &schema).unwrap();
        assert_eq!(resolve(&mut all, &vars, &[]).expect_err(expected).to_string(), expected);
    }
    let mut vars = Vars::default();
    let again = vars.add(&[var("A", ""), var("A", "")], &mut objects(), &schema);
    assert_eq!(again.expect_err("twice").to_string(), "var 'A' already encountered");
    let mut others = Vars::default();
    others.add(&[var("A", "")], &mut objects(), &schema).unwrap();
    assert!(vars.merge_all(others).is_err());
}

#[test]
fn two_objects_of_one_name_cannot_be_told_apart() {
    let schema = Schema::builtin();
    let mut all = objects();
    let text = "apiVersion: v1\nkind: Service\nmetadata: {name: s, namespace: n}\n";
    let other = read_resources(text.as_bytes(), None).unwrap().remove(0);
    all.append(other, &schema).unwrap();
    let failure = Vars::default().add(&[var("A", "")], &mut all, &schema).expect_err("two");
    assert_eq!(
        failure.to_string(),
        "found 2 resId matches for var {A Service.v1.[noGrp] {metadata.name}} (unable to disambiguate)"
    );
    let mut one = var("A", "");
    one.object.namespace = "n".to_owned();
    Vars::default().add(&[one], &mut all, &schema).unwrap();
    assert_eq!(all.get(2).unwrap().var_names, ["A"]);
}
