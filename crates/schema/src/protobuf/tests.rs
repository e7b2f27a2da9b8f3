use std::path::PathBuf;
use std::sync::LazyLock;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use proptest::prelude::*;
use serde_json::Value;

use super::decode;
use crate::recorded::Members;

static GOLDENS: LazyLock<Members> =
    LazyLock::new(|| Members::unpack(include_bytes!("../../tests/goldens/protobuf.json.gz")));

fn goldens() -> &'static [Value] {
    GOLDENS.get("cases").and_then(Value::as_array).unwrap()
}

#[test]
fn generated_bodies_read_like_gos_json() {
    let cases = goldens();
    let mut failures = Vec::new();
    for case in cases {
        let body = STANDARD.decode(case["body"].as_str().unwrap()).unwrap();
        let got = decode(&body);
        if got.as_ref() != Ok(&case["json"]) {
            failures.push(format!("got      {got:?}\nexpected {}", case["json"]));
        }
    }
    let (count, all) = (failures.len(), cases.len());
    assert_eq!(
        count,
        0,
        "{count} of {all} differ, such as\n{}",
        failures[..count.min(4)].join("\n")
    );
}

#[test]
fn what_storage_forgets_is_known_without_storing() {
    let types = crate::gotypes::Types::recorded();
    for case in goldens() {
        let mut object = case["before"].clone();
        let text = |name: &str| case["before"][name].as_str().unwrap();
        types.as_stored(text("apiVersion"), text("kind"), &mut object);
        assert_eq!(object, case["json"], "{}", case["before"]);
    }
}

/// Upstream keeps one object of each kind as JSON and as protobuf.
#[test]
fn upstreams_own_objects_read_like_their_json() {
    let home = std::env::var_os("GOPATH")
        .map(PathBuf::from)
        .or_else(|| std::env::var_os("HOME").map(|home| PathBuf::from(home).join("go")));
    let folder = home.unwrap_or_default().join("pkg/mod/k8s.io/api@v0.35.4/testdata/HEAD");
    let Ok(entries) = std::fs::read_dir(&folder) else {
        println!("skipped: the Go module cache has no k8s.io/api@v0.35.4");
        return;
    };
    let mut compared = 0;
    let mut failures = Vec::new();
    for entry in entries {
        let path = entry.unwrap().path();
        // A watch event is no request, and its envelope names no kind.
        let is_event = path.file_stem().is_some_and(|stem| stem == "core.v1.WatchEvent");
        if is_event || path.extension().is_none_or(|extension| extension != "pb") {
            continue;
        }
        let json = std::fs::read(path.with_extension("json")).unwrap();
        let expected: Value = serde_json::from_slice(&json).unwrap();
        let got = decode(&std::fs::read(&path).unwrap());
        compared += 1;
        if got.as_ref() != Ok(&expected) {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            failures.push(format!("{name}\n got      {got:?}\n expected {expected}"));
        }
    }
    println!("compared {compared} kinds");
    let count = failures.len();
    assert_eq!(count, 0, "{count} of {compared} differ\n{}", failures[..count.min(3)].join("\n"));
}

#[test]
fn a_meta_kind_is_read_under_the_version_of_a_custom_resource() {
    let mut meta = b"\x0a\x14example.com/v1alpha1\x12\x0dDeleteOptions".to_vec();
    let mut body = b"k8s\0\x0a".to_vec();
    body.push(u8::try_from(meta.len()).unwrap());
    body.append(&mut meta);
    body.extend(b"\x12\x0c\x22\x0aBackground");
    assert_eq!(
        decode(&body),
        Ok(serde_json::json!({
            "apiVersion": "example.com/v1alpha1",
            "kind": "DeleteOptions",
            "propagationPolicy": "Background",
        }))
    );
}

#[test]
fn bad_bodies_are_refused_in_gos_words() {
    let cases: [(&[u8], &str); 5] = [
        (b"", "empty data"),
        (
            b"{}",
            "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]",
        ),
        (b"k8s\0", "empty body"),
        (b"k8s\0\x0a\x7f", "unexpected EOF"),
        (b"k8s\0\x0a\x09\x0a\x02v1\x12\x03Foo", "no kind \"Foo\" is registered for version \"v1\""),
    ];
    for (body, expected) in cases {
        assert_eq!(decode(body).unwrap_err().to_string(), expected);
    }
}

proptest! {
    #[test]
    fn arbitrary_bytes_never_panic(kind in 0_usize..4, raw in proptest::collection::vec(any::<u8>(), 0..300)) {
        let (version, kind) = [
            ("v1", "Pod"),
            ("apps/v1", "Deployment"),
            ("apiextensions.k8s.io/v1", "CustomResourceDefinition"),
            ("v1", "Event"),
        ][kind];
        let mut meta = vec![0x0a, u8::try_from(version.len()).unwrap()];
        meta.extend(version.bytes());
        meta.extend([0x12, u8::try_from(kind.len()).unwrap()]);
        meta.extend(kind.bytes());
        let mut body = b"k8s\0\x0a".to_vec();
        body.push(u8::try_from(meta.len()).unwrap());
        body.extend(&meta);
        body.push(0x12);
        let length = raw.len();
        body.extend([u8::try_from(length & 0x7f).unwrap() | 0x80, u8::try_from(length >> 7).unwrap()]);
        body.extend(&raw);
        let _ = decode(&body);
        let _ = decode(&raw);
    }

    #[test]
    fn damaged_bodies_never_panic(case in 0_usize..200, at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let mut body = STANDARD.decode(goldens()[case]["body"].as_str().unwrap()).unwrap();
        let at = at.index(body.len());
        body[at] = byte;
        let _ = decode(&body);
    }
}
