//! Custom resource definitions, sent to the embedded cluster: schemas, patterns and rules of theirs.

use bytes::Bytes;

use super::cluster::ask;
use crate::make::{nested, numbered};
use crate::{Format, Hostile, Outcome};

pub(super) const FORMAT: Format = Format { name: "CRDs", parse, seeds, hostile };

fn parse(input: &[u8]) -> Outcome {
    let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    ask(&format!("POST {path}\napplication/json"), Bytes::copy_from_slice(input))
}

fn of(schema: &str) -> Vec<u8> {
    format!(
        r#"{{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{{"name":"ks.x.io"}},"spec":{{"group":"x.io","scope":"Namespaced","names":{{"plural":"ks","singular":"k","kind":"K","listKind":"KList"}},"versions":[{{"name":"v1","served":true,"storage":true,"schema":{{"openAPIV3Schema":{schema}}}}}]}}}}"#
    )
    .into_bytes()
}

fn property(schema: &str) -> Vec<u8> {
    of(&format!(r#"{{"type":"object","properties":{{"spec":{schema}}}}}"#))
}

fn seeds() -> Vec<Vec<u8>> {
    vec![
        property(
            r#"{"type":"object","properties":{"a":{"type":"string","pattern":"^a+$","default":"a","maxLength":9}},"required":["a"],"x-kubernetes-validations":[{"rule":"self.a != 'b'"}]}"#,
        ),
        property(
            r#"{"type":"array","maxItems":5,"items":{"type":"integer","minimum":1},"x-kubernetes-list-type":"set"}"#,
        ),
    ]
}

fn hostile() -> Vec<Hostile> {
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    let deep = |depth| {
        text(nested(r#"{"type":"object","properties":{"a":"#, r#"{"type":"string"}"#, "}}", depth))
    };
    let lists =
        |depth| text(nested(r#"{"type":"array","items":"#, r#"{"type":"string"}"#, "}", depth));
    let many = numbered(r#""p{n}":{"type":"string"},"#, 20_000);
    let rules = numbered(r#"{"rule":"self.size() > {n}"},"#, 1000);
    let loops = |depth: usize| {
        let open: String = (0..depth).map(|level| format!("self.all(v{level}, ")).collect();
        format!("{open}true{}", ")".repeat(depth))
    };
    let versions = text(property(r#"{"type":"object"}"#)).replace(r#""versions":["#, &format!(r#""versions":[{}"#, numbered(r#"{"name":"v{n}","served":true,"storage":false,"schema":{"openAPIV3Schema":{"type":"object"}}},"#, 3000)));
    vec![
        ("a schema 40 deep", property(&deep(40))),
        ("a schema 20,000 deep", property(&deep(20_000))),
        ("lists 50 deep", property(&lists(50))),
        (
            "20,000 properties",
            property(&format!(
                r#"{{"type":"object","properties":{{{many}"z":{{"type":"string"}}}}}}"#
            )),
        ),
        (
            "1000 rules",
            property(&format!(
                r#"{{"type":"string","x-kubernetes-validations":[{rules}{{"rule":"true"}}]}}"#
            )),
        ),
        (
            "a rule of loops",
            property(&format!(
                r#"{{"type":"array","items":{{"type":"integer"}},"x-kubernetes-validations":[{{"rule":"{}"}}]}}"#,
                loops(20)
            )),
        ),
        (
            "a rule of 50,000 signs",
            property(&format!(
                r#"{{"type":"string","x-kubernetes-validations":[{{"rule":"{}true"}}]}}"#,
                "!".repeat(50_000)
            )),
        ),
        (
            "a rule of brackets",
            property(&format!(
                r#"{{"type":"string","x-kubernetes-validations":[{{"rule":"{}"}}]}}"#,
                "(".repeat(50_000)
            )),
        ),
        (
            "a pattern of a billion",
            property(r#"{"type":"string","pattern":"((a{1000}){1000}){1000}"}"#),
        ),
        (
            "a pattern of 200,000 letters",
            property(&format!(r#"{{"type":"string","pattern":"{}"}}"#, "(a|b)".repeat(40_000))),
        ),
        (
            "a pattern in brackets",
            property(&format!(
                r#"{{"type":"string","pattern":"{}a{}"}}"#,
                "(".repeat(20_000),
                ")".repeat(20_000)
            )),
        ),
        (
            "30,000 values of an enumeration",
            property(&format!(
                r#"{{"type":"string","enum":[{}"z"]}}"#,
                numbered("\"e{n}\",", 30_000)
            )),
        ),
        (
            "a default that is nested",
            property(&format!(
                r#"{{"type":"object","x-kubernetes-preserve-unknown-fields":true,"default":{}}}"#,
                text(nested("{\"a\":", "1", "}", 100))
            )),
        ),
        ("all of all of all", property(&text(nested(r#"{"allOf":["#, "{}", "]}", 50)))),
        ("3000 versions", versions.into_bytes()),
        (
            "5000 short names",
            text(property(r#"{"type":"object"}"#))
                .replace(
                    r#""kind":"K""#,
                    &format!(r#""kind":"K","shortNames":[{}"z"]"#, numbered("\"s{n}\",", 5000)),
                )
                .into_bytes(),
        ),
    ]
}
