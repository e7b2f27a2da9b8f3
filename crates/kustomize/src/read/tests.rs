use super::{is_malformed, read_resources};

fn read(text: &str) -> String {
    match read_resources(text.as_bytes(), Some("a.yaml".into())) {
        Ok(resources) => {
            let all = resources.iter().map(|resource| {
                format!("{}/{}@{}", resource.kind(), resource.name(), resource.node.position.line)
            });
            all.collect::<Vec<_>>().join(" ")
        }
        Err(failure) => failure.to_string(),
    }
}

// Recorded with kustomize 5.8.1; lines are ours.
#[test]
fn files_hold_objects_lists_and_nothing() {
    let cases = [
        ("", ""),
        ("# nothing\n", ""),
        ("{}\n", ""),
        ("[]\n", ""),
        ("kind: A\nmetadata: {name: x}\n", "A/x@1"),
        (
            "\u{feff}kind: A\r\nmetadata: {name: x}\r\n---\r\n---\r\nkind: B\r\nmetadata: {name: y}\r\n",
            "A/x@1 B/y@5",
        ),
        ("kind: A\nmetadata: {name: x}\n...\nkind: [}\n", "A/x@1"),
        ("kind: A\nmetadata: {name: x}\n---\nkind: B\nmetadata: {name: y}\n---", "A/x@1 B/y@4"),
        (
            "kind: List\nitems:\n- kind: A\n  metadata: {name: x}\n- null\n- kind: B\n  metadata: {name: y}\n",
            "A/x@3 B/y@6",
        ),
        (
            "kind: AList\nitems:\n- kind: A\n  metadata: {name: x}\n---\nkind: B\nmetadata: {name: y}\n",
            "B/y@6 A/x@3",
        ),
        ("kind: AList\nmetadata: {name: x}\n", "AList/x@1"),
        ("kind: AList\nmetadata: {name: x}\nv: .nan\n", "AList/x@1"),
        ("kind: AList\nitems: null\n", ""),
        (
            "kind: AList\nitems: {a: b}\n",
            "a.yaml:2:8: expected array in AList/items, but found map[string]interface {}",
        ),
        ("kind: List\nitems: {a: b}\n", "a.yaml:2:9: missing Resource metadata"),
        ("a: b\n", "a.yaml:1:1: missing Resource metadata"),
        ("hello\n", "a.yaml:1:1: missing Resource metadata"),
        (
            "kind: X\nmetadata: {labels: {b: c, a: 1}}\n",
            "a.yaml:1:1: missing metadata.name in object {{ X} {{ } map[a:1 b:c] map[]}}",
        ),
        (
            "apiVersion: v1\nmetadata: {name: a}\n",
            "a.yaml:1:1: missing kind in object {{v1 } {{a } map[] map[]}}",
        ),
        (
            "kind: A\nmetadata: {name: x}\n---\nkind: [\n",
            "a.yaml:4:1: MalformedYAMLError: yaml: line 1: did not find expected node content",
        ),
        ("kind: A\n--- x\nkind: B\n", "a.yaml: invalid document separator: --- x"),
    ];
    for (text, expected) in cases {
        assert_eq!(read(text), expected, "{text:?}");
    }
}

#[test]
fn only_what_is_no_yaml_is_malformed() {
    let failure = |text: &str| read_resources(text.as_bytes(), None).expect_err(text);
    assert!(is_malformed(&failure("a: [\n")));
    assert!(!is_malformed(&failure("a: b\n")));
}

#[test]
fn the_items_of_a_list_went_through_json() {
    let text =
        "kind: AList\nitems: [{kind: A, metadata: {name: x}, t: 2001-01-01, f: 1.0, s: 'yes'}]\n";
    let mut resources = read_resources(text.as_bytes(), None).unwrap();
    let written = resources.remove(0).to_yaml().unwrap();
    assert_eq!(
        written,
        "f: 1\nkind: A\nmetadata:\n  name: x\ns: \"yes\"\nt: \"2001-01-01T00:00:00Z\"\n"
    );
}

#[test]
fn aliases_hold_across_the_items_of_a_list() {
    let text =
        "kind: List\nitems:\n- kind: A\n  metadata: &m {name: x}\n- kind: B\n  metadata: *m\n";
    assert_eq!(read(text), "A/x@3 B/x@5");
}
