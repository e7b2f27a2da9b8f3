//! Changing a tree leaves the rest of the text as it was.

use serde_json::json;
use sluice_yaml::{Node, ScalarStyle, SequenceIndent, parse};

const TEXT: &str = "\
# what it is
apiVersion: v1 # the group
kind: Service
metadata:
  name: 'web' # keep the quotes
  labels: {app: web}
spec:
  # where it listens
  ports:
  - port: 80
    name: http
  - port: 443
  type: ClusterIP
";

fn edit(change: impl FnOnce(&mut Node)) -> String {
    let mut documents = parse(TEXT.as_bytes()).expect("the text is YAML");
    change(&mut documents[0].root);
    documents[0].to_yaml(SequenceIndent::Compact)
}

#[test]
fn an_untouched_tree_is_written_as_it_was() {
    assert_eq!(edit(|_| {}), TEXT);
}

#[test]
fn a_scalar_keeps_quotes_and_comment_when_its_text_changes() {
    let text = edit(|root| {
        root.at_mut(&["metadata", "name"]).unwrap().set_text("shop");
        root.at_mut(&["spec", "type"]).unwrap().set_text("NodePort");
    });
    let expected = TEXT.replace("'web' #", "'shop' #").replace("ClusterIP", "NodePort");
    assert_eq!(text, expected);
}

#[test]
fn a_set_field_stays_in_its_place_and_a_new_one_comes_last() {
    let text = edit(|root| {
        let name = root.field_mut("metadata").unwrap().set_field("name", Node::text("yes"));
        assert_eq!(name.unwrap().as_text(), Some("web"));
        root.field_mut("metadata").unwrap().set_field("namespace", Node::text("on"));
        let ports = root.at_mut(&["spec", "ports"]).unwrap().items_mut().unwrap();
        ports.push(Node::from_json(&json!({"port": 8080, "name": "true"})));
    });
    let expected = TEXT
        .replace("'web' # keep the quotes", "'yes'")
        .replace("  labels: {app: web}\n", "  labels: {app: web}\n  namespace: \"on\"\n")
        .replace("  - port: 443\n", "  - port: 443\n  - name: \"true\"\n    port: 8080\n");
    assert_eq!(text, expected);
}

#[test]
fn a_removed_field_takes_its_comments_along() {
    let text = edit(|root| {
        let (key, value) = root.field_mut("spec").unwrap().remove_field("ports").unwrap();
        assert_eq!(key.head_comment(), "# where it listens");
        assert_eq!(value.items().len(), 2);
        assert!(root.remove_field("status").is_none());
    });
    let start = TEXT.find("  # where").unwrap();
    let end = TEXT.find("  type").unwrap();
    assert_eq!(text, format!("{}{}", &TEXT[..start], &TEXT[end..]));
}

#[test]
fn a_missing_field_is_made_on_the_way() {
    let text = edit(|root| {
        let metadata = root.field_mut("metadata").unwrap();
        let annotations =
            metadata.field_or_insert_with("annotations", || Node::mapping(vec![])).unwrap();
        annotations.set_field("note", Node::text("a\nb"));
        let (key, _) = &mut annotations.fields_mut().unwrap()[0];
        key.set_head_comment("# why".to_owned());
        let name = metadata.field_mut("name").unwrap();
        assert!(name.field_or_insert_with("x", Node::default).is_none());
    });
    let added = "  labels: {app: web}\n  annotations:\n    # why\n    note: |-\n      a\n      b\n";
    assert!(text.contains(added), "{text}");
}

#[test]
fn wide_sequences_are_found_and_kept() {
    let wide = "a:\n  - b\n  - c:\n      - d\n";
    assert_eq!(SequenceIndent::detect(wide), SequenceIndent::Wide);
    assert_eq!(SequenceIndent::detect(TEXT), SequenceIndent::Compact);
    assert_eq!(parse(wide.as_bytes()).unwrap()[0].to_yaml(SequenceIndent::Wide), wide);
}

#[test]
fn aliases_blow_nothing_up() {
    let levels = (1..9).map(|level| {
        let row = vec![format!("*a{}", level - 1); 9].join(",");
        format!("a{level}: &a{level} [{row}]\n")
    });
    let bomb = format!("a0: &a0 [x,x,x,x,x,x,x,x,x]\n{}", levels.collect::<String>());
    let mut document = parse(bomb.as_bytes()).unwrap().remove(0);
    let message = "yaml: document contains excessive aliasing";
    assert_eq!(document.to_json().expect_err("a bomb").to_string(), message);
    assert_eq!(document.expand_aliases().expect_err("a bomb").to_string(), message);
    let mut cycle = parse(b"a: &x\n  b: *x\n").unwrap().remove(0);
    let message = "yaml: anchor 'x' value contains itself";
    assert_eq!(cycle.to_json().expect_err("a cycle").to_string(), message);
    assert_eq!(cycle.expand_aliases().expect_err("a cycle").to_string(), message);
}

#[test]
fn styles_can_be_chosen() {
    let mut node = Node::text("1");
    assert_eq!(node.to_yaml(SequenceIndent::Compact), "\"1\"\n");
    if let sluice_yaml::Content::Scalar { style, .. } = &mut node.content {
        *style = ScalarStyle::SingleQuoted;
    }
    assert_eq!(node.to_yaml(SequenceIndent::Compact), "'1'\n");
    assert_eq!(Node::from_json(&json!(1.5)).to_yaml(SequenceIndent::Compact), "1.5\n");
    assert_eq!(Node::from_json(&json!(null)).to_yaml(SequenceIndent::Compact), "null\n");
}

#[test]
fn a_folded_scalar_may_change_on_its_way_through_text() {
    // What `kustomize build` v5.8.1 prints for it has the empty line, too.
    let document = parse(b"a: >-\n  [\n    {}\n  ]\n").unwrap().remove(0);
    assert_eq!(document.to_json().unwrap(), json!({"a": "[\n  {}\n]"}));
    assert_eq!(document.root.marshal_json().unwrap(), json!({"a": "[\n\n  {}\n]"}));
}

#[test]
fn a_list_that_was_emptied_below_a_comment_cannot_be_printed() {
    let mut document = parse(b"a: # why\n- 1\nb: 2\n").unwrap().remove(0);
    document.root.field_mut("a").and_then(Node::items_mut).unwrap().clear();
    let error = document.root.marshal_json().unwrap_err();
    assert_eq!(error.to_string(), "yaml: line 2: could not find expected ':'");
    let mut document = parse(b"a: # why\n- 1\n").unwrap().remove(0);
    assert_eq!(document.root.marshal_json().unwrap(), json!({"a": [1]}));
    document.root.set_field("a", Node::text("x"));
    assert_eq!(document.root.marshal_json().unwrap(), json!({"a": "x"}));
}

#[test]
fn a_whole_float_is_as_long_as_go_writes_it() {
    for (text, expected) in [
        ("9.223372036854776e+18", json!(9_223_372_036_854_776_000_u64)),
        ("1.2345678901234567e+19", json!(12_345_678_901_234_567_000_u64)),
        ("4.611686018427388e+18", json!(4_611_686_018_427_388_000_i64)),
        ("-1e3", json!(-1000)),
        ("1.8446744073709552e+19", json!(1.844_674_407_370_955_2e19)),
    ] {
        let document = parse(text.as_bytes()).unwrap().remove(0);
        assert_eq!(document.to_json().unwrap(), expected, "{text}");
    }
}

#[test]
fn what_json_does_not_have_is_not_printed() {
    for text in [".inf", "-.Inf", ".nan", "!!float .nan"] {
        let document = parse(format!("a: {text}\n").as_bytes()).unwrap().remove(0);
        let error = document.root.to_printed().unwrap_err().to_string();
        assert!(error.contains("json: unsupported value"), "{error}");
        assert!(!document.root.is_ordinary(), "{text}");
    }
}
