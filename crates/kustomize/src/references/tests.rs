use super::fix_back_references;
use crate::config::NameReference;
use crate::field_spec::FieldSpec;
use crate::id::Gvk;
use crate::openapi::Schema;
use crate::read::read_resources;
use crate::resource::{Resource, annotation};
use crate::resources::Resources;

fn rule(referent: &str, referrers: &[(&str, &str)]) -> NameReference {
    let kind = |kind: &str| Gvk { kind: kind.to_owned(), ..Gvk::default() };
    let referrers = referrers.iter().map(|(referrer, path)| FieldSpec {
        gvk: kind(referrer),
        path: (*path).to_owned(),
        create: false,
    });
    NameReference { referent: kind(referent), referrers: referrers.collect() }
}

fn rules() -> Vec<NameReference> {
    vec![
        rule("ConfigMap", &[("Pod", "spec/volumes/configMap/name"), ("Pod", "spec/names")]),
        rule("Role", &[("RoleBinding", "roleRef/name")]),
        rule("ClusterRole", &[("RoleBinding", "roleRef/name")]),
        rule("ServiceAccount", &[("RoleBinding", "subjects"), ("ClusterRoleBinding", "subjects")]),
        rule("Service", &[("Hook", "service"), ("Hook", "names/to")]),
    ]
}

/// The transformers of one layer: a namespace and a prefix, on the objects it sees.
struct Layer {
    objects: &'static str,
    namespace: &'static str,
    prefix: &'static str,
}

fn prefixed(resource: &mut Resource, layer: &Layer, schema: &Schema) {
    if !layer.namespace.is_empty() && !resource.id(schema).cluster_scoped {
        resource.store_id(schema).unwrap();
        resource.set_namespace(layer.namespace).unwrap();
    }
    resource.append_history(annotation::PREFIXES, layer.prefix).unwrap();
    if !layer.prefix.is_empty() {
        resource.store_id(schema).unwrap();
        let name = format!("{}{}", layer.prefix, resource.name());
        resource.set_name(&name).unwrap();
    }
}

fn build(layers: &[Layer]) -> Resources {
    let schema = Schema::builtin();
    let mut all = Resources::default();
    for layer in layers {
        for mut resource in read_resources(layer.objects.as_bytes(), None).unwrap() {
            prefixed(&mut resource, layer, &schema);
            all.append(resource, &schema).unwrap();
        }
    }
    all
}

fn fixed(layers: &[Layer]) -> String {
    names_after(build(layers))
}

fn names_after(mut all: Resources) -> String {
    if let Err(failure) = fix_back_references(&mut all, &rules(), &Schema::builtin()) {
        return failure.to_string();
    }
    let mut out = Vec::new();
    for mut resource in all.into_list() {
        resource.remove_build_annotations().unwrap();
        if !matches!(
            resource.kind(),
            "ConfigMap" | "Role" | "ClusterRole" | "ServiceAccount" | "Service"
        ) {
            out.push(resource.to_yaml().unwrap());
        }
    }
    out.join("---\n")
}

const BASE: &str = "\
kind: ConfigMap
metadata: {name: a}
---
kind: Pod
metadata: {name: p}
spec:
  names: [a, b, \"a\"]
  volumes:
  - configMap: {name: a}
  - configMap: {name: none}
  - emptyDir: {}
";

// The expected results here and below are kustomize 5.8.1's.
#[test]
fn names_follow_in_texts_and_lists() {
    let layers = [Layer { objects: BASE, namespace: "", prefix: "x-" }];
    assert_eq!(
        fixed(&layers),
        "kind: Pod
metadata:
  name: x-p
spec:
  names:
  - x-a
  - b
  - x-a
  volumes:
  - configMap:
      name: x-a
  - configMap:
      name: none
  - emptyDir: {}
"
    );
}

#[test]
fn layers_beside_each_other_keep_to_themselves() {
    let layers = [
        Layer { objects: BASE, namespace: "", prefix: "x-" },
        Layer { objects: BASE, namespace: "", prefix: "y-" },
        Layer { objects: BASE, namespace: "other", prefix: "" },
    ];
    let fixed = fixed(&layers);
    let names: Vec<&str> =
        fixed.lines().filter(|line| line.starts_with("  - ") && line.ends_with('a')).collect();
    assert_eq!(names, ["  - x-a", "  - x-a", "  - y-a", "  - y-a", "  - a", "  - a"]);
}

#[test]
fn what_could_be_several_objects_is_an_error_or_stays() {
    let config_map = "kind: ConfigMap\nmetadata: {name: a}\n";
    let pod = "kind: Pod\nmetadata: {name: p}\nspec: {names: [a]}\n";
    let layers = || {
        build(&[
            Layer { objects: config_map, namespace: "", prefix: "x-" },
            Layer { objects: config_map, namespace: "", prefix: "y-" },
            Layer { objects: pod, namespace: "", prefix: "" },
        ])
    };
    // Neither was renamed together with the pod.
    assert!(names_after(layers()).ends_with("  - a\n"));
    // Both were.
    let outer = Layer { objects: "", namespace: "", prefix: "o-" };
    let mut all = layers();
    all.iter_mut().for_each(|resource| prefixed(resource, &outer, &Schema::builtin()));
    assert_eq!(
        names_after(all),
        "updating name reference in 'spec/names' field of 'Pod.[noVer].[noGrp]/o-p.[noNs]': considering \
         field 'spec/names' of object Pod.[noVer].[noGrp]/o-p.[noNs]: found multiple possible referrals: \
         ConfigMap.[noVer].[noGrp]/o-x-a.[noNs], ConfigMap.[noVer].[noGrp]/o-y-a.[noNs]"
    );
}

const BINDINGS: &str = "\
apiVersion: v1
kind: ServiceAccount
metadata: {name: sa}
---
kind: Role
apiVersion: rbac.authorization.k8s.io/v1
metadata: {name: r}
---
kind: ClusterRole
apiVersion: rbac.authorization.k8s.io/v1
metadata: {name: r}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: one}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: r}
subjects:
- {kind: ServiceAccount, name: sa, namespace: default}
- {kind: ServiceAccount, name: sa}
- {kind: ServiceAccount, name: sa, namespace: other}
- {kind: User, name: somebody}
";

#[test]
fn bindings_name_accounts_with_their_namespaces() {
    let layers = [Layer { objects: BINDINGS, namespace: "new", prefix: "x-" }];
    assert_eq!(
        fixed(&layers),
        "apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  name: x-one
  namespace: new
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: ClusterRole
  name: x-r
subjects:
- kind: ServiceAccount
  name: x-sa
  namespace: new
- kind: ServiceAccount
  name: x-sa
  namespace: new
- kind: ServiceAccount
  name: sa
  namespace: other
- kind: User
  name: somebody
"
    );
}

#[test]
fn a_map_without_a_name_is_an_error() {
    let hook = "kind: Hook\nmetadata: {name: h}\nservice: {a: b}\n";
    let layers = [Layer { objects: hook, namespace: "", prefix: "" }];
    let wrong = fixed(&layers);
    assert!(wrong.ends_with("path config error; no 'name' field in node"), "{wrong}");
}

#[test]
fn a_question_costs_the_same_among_many_objects() {
    // Every namespace has the same names, so that an index by name alone is not enough.
    let mut all = Resources::default();
    let schema = Schema::builtin();
    for number in 0..200 {
        for mut resource in read_resources(BASE.as_bytes(), None).unwrap() {
            resource.store_id(&schema).unwrap();
            resource.set_namespace(&format!("n{number}")).unwrap();
            all.append(resource, &schema).unwrap();
        }
    }
    let candidates = super::Candidates::of(&all, &schema);
    let referrer = candidates.get(1).unwrap();
    let referent = Gvk { kind: "ConfigMap".to_owned(), ..Gvk::default() };
    let question = super::Question {
        name: "a",
        referent: &referent,
        role: None,
        scope: super::Scope::Any,
        referrer,
        account_namespaces: &[],
    };
    let symbol = |text| candidates.symbol(text).unwrap();
    assert_eq!(candidates.reachable(symbol("a"), symbol("ConfigMap"), &question).len(), 1);
    assert_eq!(candidates.find(&question).len(), 1);
}

#[test]
fn a_history_with_a_gap_is_an_error() {
    let schema = Schema::builtin();
    let mut all = build(&[Layer { objects: BASE, namespace: "", prefix: "x-" }]);
    let unnamed = |resource: &mut Resource| {
        resource.set_name("").unwrap();
        resource.store_id(&schema).unwrap();
        resource.set_name("named").unwrap();
    };
    all.change(0, &schema, unnamed);
    let failure = fix_back_references(&mut all, &rules(), &schema).expect_err("a gap");
    assert!(failure.to_string().starts_with("number of previous names"), "{failure}");
}
