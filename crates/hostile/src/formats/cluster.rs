//! Requests to the embedded cluster: a line of method and path, a line of content type, an empty line, the body.

use std::cell::RefCell;

use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt as _, Full};
use sluice_cluster::Cluster;
use tokio::runtime::Runtime;
use tower::ServiceExt as _;

use crate::make::{join, nested, numbered, reason, runtime};
use crate::{Format, Hostile, Outcome};

pub(super) const FORMAT: Format = Format { name: "cluster requests", parse, seeds, hostile };

fn parse(input: &[u8]) -> Outcome {
    let at = input.windows(2).position(|pair| pair == b"\n\n").ok_or("no head")?;
    let (head, body) = input.split_at(at);
    let head = String::from_utf8_lossy(head).into_owned();
    ask(&head, Bytes::copy_from_slice(body.get(2..).unwrap_or_default()))
}

/// A cluster, and the runtime that its control plane lives on.
struct Played {
    runtime: Runtime,
    cluster: Cluster,
    requests: usize,
}

/// A cluster answers as many requests; what they left in it is forgotten then.
const REQUESTS: usize = 500;

thread_local! {
    static PLAYED: RefCell<Option<Played>> = const { RefCell::new(None) };
}

/// Sends one request to a cluster, and reads the answer.
pub(super) fn ask(head: &str, body: Bytes) -> Outcome {
    let (first, kind) = head.split_once('\n').unwrap_or((head, "application/json"));
    let (method, path) = first.split_once(' ').ok_or("no method")?;
    // Watches do not end.
    if path.contains("watch") {
        return Err("a watch".to_owned());
    }
    let request = Request::builder()
        .method(method)
        .uri(format!("http://cluster{path}"))
        .header("content-type", kind)
        .header("accept", "application/json")
        .body(Full::new(body))
        .map_err(reason)?;
    PLAYED.with_borrow_mut(|played| {
        if played.as_ref().is_none_or(|played| played.requests >= REQUESTS) {
            let runtime = runtime()?;
            let cluster = runtime.block_on(async { Cluster::builder().workloads(false).build() });
            *played = Some(Played { runtime, cluster, requests: 0 });
        }
        let Played { runtime, cluster, requests } = played.as_mut().ok_or("no cluster")?;
        *requests += 1;
        runtime.block_on(async {
            let answer = cluster.service().oneshot(request).await.map_err(reason)?;
            let status = answer.status();
            let text = answer.into_body().collect().await.map_err(reason)?.to_bytes();
            let failed = || String::from_utf8_lossy(&text).into_owned();
            if status.is_success() { Ok(()) } else { Err(failed()) }
        })
    })
}

const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const JSON: &str = "application/json";

fn of(method: &str, path: &str, kind: &str, body: impl AsRef<[u8]>) -> Vec<u8> {
    join(&[format!("{method} {path}\n{kind}\n\n").as_bytes(), body.as_ref()])
}

const MAP: &str =
    r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"a":"b"}}"#;

fn seeds() -> Vec<Vec<u8>> {
    let apply = format!("{MAPS}/a?fieldManager=m&force=true");
    vec![
        of("POST", MAPS, JSON, MAP),
        of("PATCH", &apply, "application/apply-patch+yaml", MAP),
        of(
            "POST",
            MAPS,
            "application/yaml",
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n",
        ),
        of(
            "GET",
            &format!(
                "{MAPS}?labelSelector=a%3Db,c%20in%20(d)&limit=5&fieldSelector=metadata.name%3Da"
            ),
            JSON,
            "",
        ),
        of(
            "PATCH",
            "/api/v1/namespaces/default",
            "application/merge-patch+json",
            r#"{"metadata":{"labels":{"a":"b"}}}"#,
        ),
        of(
            "PATCH",
            "/api/v1/namespaces/default",
            "application/json-patch+json",
            r#"[{"op":"add","path":"/metadata/labels/x","value":"y"}]"#,
        ),
        of(
            "PATCH",
            "/api/v1/namespaces/default",
            "application/strategic-merge-patch+json",
            r#"{"metadata":{"annotations":{"a":"b"}}}"#,
        ),
    ]
}

fn hostile() -> Vec<Hostile> {
    let data = format!(
        r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"a"}},"data":{{{}"x":""}}}}"#,
        numbered(r#""k{n}":"v","#, 50_000)
    );
    let labels = MAP.replace(
        r#""name":"a""#,
        &format!(r#""name":"a","labels":{{{}"x":"y"}}"#, numbered(r#""k{n}":"v","#, 40_000)),
    );
    let unknown =
        MAP.replace(r#""data""#, &format!(r#"{}"data""#, numbered(r#""u{n}":1,"#, 40_000)));
    let twice =
        MAP.replace(r#""data""#, &format!(r#"{}"data""#, r#""data":{"a":"b"},"#.repeat(30_000)));
    let managed = MAP.replace(r#""name":"a""#, &format!(r#""name":"a","managedFields":[{}{{}}]"#, numbered(r#"{"manager":"m{n}","operation":"Apply","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{"f:data":{}}},"#, 5000)));
    let mut laughs = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n".to_owned();
    for level in 1..11 {
        let inner = vec![format!("*a{}", level - 1); 10].join(",");
        laughs.push_str(&format!("a{level}: &a{level} [{inner}]\n"));
    }
    let copies: String = (0..40)
        .map(|number| {
            format!(r#",{{"op":"copy","from":"/metadata","path":"/metadata/c{number}"}}"#)
        })
        .collect();
    let apply = format!("{MAPS}/a?fieldManager=m");
    let default = "/api/v1/namespaces/default";
    let requirements = numbered("k{n}%3Dv,", 20_000);
    let containers = numbered(r#"{"name":"c{n}","image":"x"},"#, 10_000);
    let pod = format!(
        r#"{{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"p"}},"spec":{{"containers":[{containers}{{"name":"z","image":"x"}}]}}}}"#
    );
    vec![
        (
            "an object that is nested",
            of("POST", MAPS, JSON, nested("{\"data\":", "1", "}", 200_000)),
        ),
        ("lists that are nested", of("POST", MAPS, JSON, nested("[", "1", "]", 500_000))),
        ("50,000 entries of data", of("POST", MAPS, JSON, data)),
        ("40,000 labels", of("POST", MAPS, JSON, labels)),
        (
            "40,000 unknown fields",
            of("POST", &format!("{MAPS}?fieldValidation=Strict"), JSON, unknown),
        ),
        (
            "a field 30,000 times",
            of("POST", &format!("{MAPS}?fieldValidation=Strict"), JSON, twice),
        ),
        ("5000 managers", of("POST", MAPS, JSON, managed)),
        (
            "a name of a mebibyte",
            of(
                "POST",
                MAPS,
                JSON,
                MAP.replace(r#""a"}"#, &format!(r#""{}"}}"#, "a".repeat(1 << 20))),
            ),
        ),
        ("aliases in an apply", of("PATCH", &apply, "application/apply-patch+yaml", &laughs)),
        ("aliases in a create", of("POST", MAPS, "application/yaml", &laughs)),
        (
            "an apply that is nested",
            of("PATCH", &apply, "application/apply-patch+yaml", nested("{a: ", "1", "}", 100_000)),
        ),
        (
            "copies that double",
            of(
                "PATCH",
                default,
                "application/json-patch+json",
                format!(
                    r#"[{{"op":"add","path":"/metadata/x","value":"{}"}}{copies}]"#,
                    "x".repeat(1000)
                ),
            ),
        ),
        (
            "100,000 operations",
            of(
                "PATCH",
                default,
                "application/json-patch+json",
                format!("[{}{{}}]", r#"{"op":"test","path":"/kind","value":"x"},"#.repeat(20_000)),
            ),
        ),
        (
            "a merge patch that is nested",
            of("PATCH", default, "application/merge-patch+json", nested("{\"a\":", "1", "}", 120)),
        ),
        (
            "a merge patch that is nested too deep",
            of(
                "PATCH",
                default,
                "application/merge-patch+json",
                nested("{\"a\":", "1", "}", 200_000),
            ),
        ),
        (
            "a strategic patch of 10,000 finalizers",
            of(
                "PATCH",
                default,
                "application/strategic-merge-patch+json",
                format!(
                    r#"{{"metadata":{{"finalizers":[{}"x/y"]}}}}"#,
                    numbered("\"a.b/{n}\",", 10_000)
                ),
            ),
        ),
        ("10,000 containers", of("POST", "/api/v1/namespaces/default/pods", JSON, pod)),
        (
            "a protobuf that says 4 GiB",
            of(
                "POST",
                MAPS,
                "application/vnd.kubernetes.protobuf",
                b"k8s\0\x0a\xff\xff\xff\xff\x0f",
            ),
        ),
        (
            "a protobuf in each other",
            of(
                "POST",
                MAPS,
                "application/vnd.kubernetes.protobuf",
                join(&[b"k8s\0", &[0x12, 0xff, 0xff, 0x03].repeat(50_000)]),
            ),
        ),
        (
            "a selector of 20,000 requirements",
            of("GET", &format!("{MAPS}?labelSelector={requirements}x"), JSON, ""),
        ),
        ("a path of 20,000 steps", of("GET", &"/a".repeat(20_000), JSON, "")),
        (
            "20,000 parameters",
            of("GET", &format!("{MAPS}?{}", numbered("p{n}=v&", 20_000)), JSON, ""),
        ),
        ("a body beyond the limit", of("POST", MAPS, JSON, vec![b' '; 4 << 20])),
    ]
}
