use serde_json::json;

use super::{Patch, PatchEntry, PatchJson6902, PatchStrategicMerge};
use crate::config::TransformerConfig;
use crate::selector::Selector;
use crate::transformers::testing::{
    NoFiles, transformed, transformed_resources, transformed_twice,
};
use crate::transformers::{Labels, Transformer};

const OBJECTS: &str = "\
apiVersion: apps/v1
kind: Deployment
metadata:
  labels:
    app: web
  name: web
spec:
  replicas: 1
---
apiVersion: v1
kind: Service
metadata:
  name: web
";

fn patch(text: &str, target: Option<&str>) -> crate::failure::Result<Patch> {
    let target = target.map(|kind| Selector {
        gvk: crate::id::Gvk { kind: kind.to_owned(), ..crate::id::Gvk::default() },
        ..Selector::default()
    });
    Patch::new(PatchEntry { patch: text.to_owned(), target, ..PatchEntry::default() }, &NoFiles)
}

fn deployment(rest: &str) -> String {
    format!("apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web\n{rest}")
}

#[test]
fn objects_are_patched_by_name_or_by_target() {
    let two = OBJECTS.replace("replicas: 1", "replicas: 2");
    let operation = "- {op: replace, path: /spec/replicas, value: 2}";
    let named = deployment("spec: {replicas: 2}\n");
    let other = named.replace("name: web", "name: other");
    let cases = [
        (named.as_str(), None, two.clone()),
        (other.as_str(), Some("Deployment"), two.clone()),
        (operation, Some("Deployment"), two),
        (other.as_str(), Some("None"), OBJECTS.to_owned()),
        // Nothing but the kind and the name: nothing changes.
        ("apiVersion: v1\nkind: Service\nmetadata: {name: web}\n", None, OBJECTS.to_owned()),
        // A null takes away; a target makes a text of it.
        (
            &deployment("  labels: {app: null}\n"),
            None,
            OBJECTS.replace("  labels:\n    app: web\n", "  labels: {}\n"),
        ),
        (
            &deployment("  labels: {app: null}\n"),
            Some("Deployment"),
            OBJECTS.replace("app: web", "app: \"null\""),
        ),
        (
            &deployment("$patch: delete\n"),
            Some("Deployment"),
            OBJECTS.split_once("---\n").expect("two").1.to_owned(),
        ),
    ];
    for (text, target, after) in cases {
        let transformer = patch(text, target).unwrap();
        let mut resources = transformed_resources(&transformer, OBJECTS).unwrap();
        resources.drop_empty();
        let printed = crate::transformers::testing::printed(resources).unwrap();
        assert_eq!(printed, after, "{text} {target:?}");
    }
}

#[test]
fn names_and_kinds_change_only_where_allowed() {
    let entry = |allow_name_change, allow_kind_change| PatchEntry {
        patch: "apiVersion: v1\nkind: Changed\nmetadata: {name: changed, namespace: x}\n"
            .to_owned(),
        target: Some(Selector { name: "web".to_owned(), ..Selector::default() }),
        allow_name_change,
        allow_kind_change,
        ..PatchEntry::default()
    };
    let service = OBJECTS.split_once("---\n").expect("two").1;
    let cases = [
        (entry(false, false), service.to_owned()),
        (entry(true, false), service.replace("web", "changed")),
        (entry(false, true), service.replace("Service", "Changed")),
    ];
    for (entry, after) in cases {
        let words = format!("{entry:?}");
        let transformer = Patch::new(entry, &NoFiles).unwrap();
        assert_eq!(transformed(&transformer, service).unwrap(), after, "{words}");
    }
    // Both are called the same then.
    let pair = format!("{service}---\n{}", service.replace("web", "web2"));
    let mut wide = entry(true, false);
    wide.target = Some(Selector::default());
    let failure = transformed(&Patch::new(wide, &NoFiles).unwrap(), &pair).expect_err("twice");
    assert!(failure.to_string().contains("already registered id"), "{failure}");
}

#[test]
fn a_patch_reaches_every_place_of_one_value() {
    let config = TransformerConfig::default_config();
    let labels =
        Labels::new([("app".to_owned(), "one".to_owned())].into(), config.common_labels.clone());
    let given = deployment("");
    let strategic = patch(&deployment("  labels: {app: two}\n"), None).unwrap();
    let after = transformed_twice(&labels, &strategic, &given).unwrap();
    assert_eq!(after.matches("app: two").count(), 3, "{after}");
    let json = patch("- {op: replace, path: /metadata/labels/app, value: two}", Some("Deployment"));
    let after = transformed_twice(&labels, &json.unwrap(), &given).unwrap();
    assert_eq!(after.matches("app: two").count(), 1, "{after}");
}

#[test]
fn wrong_patches_are_refused() {
    let at_config = |text: &str| patch(text, None).expect_err(text).to_string();
    assert!(at_config("").contains("must specify one of patch and path"));
    assert!(at_config("a: b").contains("unable to parse SM or JSON patch"));
    assert!(at_config("- a").contains("unable to parse SM or JSON patch"));
    let missing = deployment("").replace("name: web", "name: none");
    let two = format!("{}---\n{}", deployment(""), deployment(""));
    let cases = [
        (missing.as_str(), None, "no matches for Id Deployment.v1.apps/none.[noNs]"),
        (two.as_str(), Some("Deployment"), "Multiple Strategic-Merge Patches"),
        ("- {op: remove, path: /spec}", None, "must specify a target for JSON patch"),
        ("- {op: remove, path: /none}", Some("Deployment"), "remove"),
    ];
    for (text, target, expected) in cases {
        let failure = transformed(&patch(text, target).unwrap(), OBJECTS).expect_err(text);
        assert!(failure.to_string().contains(expected), "{failure}");
    }
}

#[test]
fn the_older_fields_patch_too() {
    let merge = PatchStrategicMerge::new(&[deployment("spec: {replicas: 2}\n")], &NoFiles).unwrap();
    let target = Selector { name: "web".to_owned(), ..Selector::default() };
    let operations =
        "[{\"op\": \"add\", \"path\": \"/metadata/labels\", \"value\": {\"app\": \"web\"}},
        {\"op\": \"add\", \"path\": \"/spec\", \"value\": {\"replicas\": 2}}]";
    let json = PatchJson6902::new(Some(target.clone()), "", operations, &NoFiles).unwrap();
    let given = deployment("");
    let cases: [(&dyn Transformer, String); 2] = [
        (&merge, deployment("spec:\n  replicas: 2\n")),
        (&json, OBJECTS.split_once("---").expect("two").0.replace("replicas: 1", "replicas: 2")),
    ];
    for (transformer, after) in cases {
        assert_eq!(transformed(transformer, &given).unwrap(), after);
    }
    assert!(PatchStrategicMerge::new(&["none.yaml".to_owned()], &NoFiles).is_err());
    assert!(PatchJson6902::new(None, "", operations, &NoFiles).is_err());
    assert!(PatchJson6902::new(Some(target), "", "[]", &NoFiles).is_err());
    let file = json!({"target": {"kind": "Deployment"}, "jsonOp": operations});
    assert!(PatchJson6902::from_config(&file, &NoFiles).is_err());
}
