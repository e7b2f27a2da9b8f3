use std::sync::Arc;

use super::TransformerConfig;
use crate::field_spec::FieldSpec;
use crate::kind_order;

/// A copy of the defaults: equal, but not the shared ones.
fn copy() -> TransformerConfig {
    TransformerConfig::built_in()
}

#[test]
fn the_defaults_are_sorted_and_merging_them_with_themselves_changes_nothing() {
    let defaults = TransformerConfig::default_config();
    let mut sorted = copy();
    for specs in [&mut sorted.common_labels, &mut sorted.var_reference, &mut sorted.namespace] {
        kind_order::sort(Arc::make_mut(specs).as_mut_slice(), |spec| &spec.gvk);
    }
    let references = Arc::make_mut(&mut sorted.name_reference).as_mut_slice();
    kind_order::sort(references, |reference| &reference.referent);
    assert_eq!(&sorted, defaults);
    // What sharing skips.
    assert_eq!(&copy().merge(&copy()).unwrap(), defaults);
    assert_eq!(&TransformerConfig::default().merge(&copy()).unwrap(), defaults);
    let counts = [
        defaults.common_labels.len(),
        defaults.template_labels.len(),
        defaults.common_annotations.len(),
        defaults.name_reference.len(),
        defaults.name_reference.iter().map(|reference| reference.referrers.len()).sum(),
        defaults.var_reference.len(),
    ];
    assert_eq!(counts, [32, 10, 9, 16, 167, 72]);
}

#[test]
fn configurations_add_fields() {
    let text = "
namespace:
- {kind: Thing, path: spec/namespace, create: true}
- {kind: Namespace, path: metadata/name, create: true}
nameReference:
- kind: Thing
  version: '1'
  fieldSpecs: [{kind: Other, path: spec/thing}]
- kind: ConfigMap
  version: v1
  fieldSpecs: [{kind: Other, path: spec/map}]
";
    let read = TransformerConfig::read(text.as_bytes()).unwrap();
    let merged = TransformerConfig::default_config().merge(&read).unwrap();
    let paths: Vec<&str> = merged.namespace.iter().map(|spec: &FieldSpec| &*spec.path).collect();
    assert_eq!(
        paths,
        [
            "metadata/name",
            "spec/conversion/webhook/clientConfig/service/namespace",
            "spec/service/namespace",
            "spec/namespace",
        ]
    );
    let of = |kind: &str| {
        let found = merged.name_reference.iter().find(|reference| reference.referent.kind == kind);
        found.expect("it is there").referrers.last().expect("it has some").path.clone()
    };
    assert_eq!((of("Thing"), of("ConfigMap")), ("spec/thing".to_owned(), "spec/map".to_owned()));
    assert!(
        Arc::ptr_eq(&merged.images, &TransformerConfig::default_config().images)
            || merged.images.len() == 6
    );
}

#[test]
fn wrong_configurations_are_refused() {
    let cases = [
        ("commonLabels:\n- {path: metadata/labels}\n", "conflicting fieldspecs"),
        ("images:\n- {path: a, created: true}\n", "unknown field \"created\""),
        ("image: []\n", "unknown field \"image\""),
        ("images: []\nimages: []\n", "already set"),
        ("images: {}\n", "cannot unmarshal object"),
    ];
    for (text, expected) in cases {
        let result = TransformerConfig::read(text.as_bytes())
            .and_then(|read| TransformerConfig::default_config().merge(&read));
        let failure = result.expect_err(text).to_string();
        assert!(failure.contains(expected), "{text}: {failure}");
    }
}
