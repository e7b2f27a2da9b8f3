//! OpenAPI in the forms that clients ask for.

use http::Request;
use http_body_util::{BodyExt as _, Full};
use serde_json::{Value, json};
use sluice_cluster::Cluster;
use tower::ServiceExt as _;

const V2: &str = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf";
const V3: &str = "application/com.github.proto-openapi.spec.v3@v1.0+protobuf";

struct Answer {
    code: u16,
    content_type: String,
    tag: String,
    body: Vec<u8>,
}

async fn get(cluster: &Cluster, path: &str, accept: &str, known: Option<&str>) -> Answer {
    let mut request = Request::get(path).header("accept", accept);
    if let Some(tag) = known {
        request = request.header("if-none-match", tag);
    }
    let request = request.body(Full::<bytes::Bytes>::default()).expect("a request");
    let response = cluster.service().oneshot(request).await.expect("an answer");
    let header = |name: &str| {
        let value = response.headers().get(name).and_then(|value| value.to_str().ok());
        value.unwrap_or_default().to_owned()
    };
    let (content_type, tag) = (header("content-type"), header("etag"));
    let code = response.status().as_u16();
    let body = response.into_body().collect().await.unwrap().to_bytes().to_vec();
    Answer { code, content_type, tag, body }
}

async fn define(cluster: &Cluster) {
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com", "scope": "Namespaced",
            "names": {"plural": "widgets", "kind": "Widget"},
            "versions": [{"name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object",
                    "properties": {"spec": {"type": "object", "properties": {"size": {"type": "integer"}}}}}}}],
        },
    });
    let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    let request = Request::post(path)
        .header("content-type", "application/json")
        .body(Full::new(definition.to_string().into()))
        .expect("a request");
    assert_eq!(cluster.service().oneshot(request).await.expect("an answer").status(), 201);
    tokio::time::sleep(std::time::Duration::from_secs(5)).await;
}

/// The fields of one message: number, wire type, bytes of length-delimited ones.
fn fields(mut bytes: &[u8]) -> Vec<(u64, &[u8])> {
    fn varint(bytes: &mut &[u8]) -> u64 {
        let (mut value, mut shift) = (0, 0);
        loop {
            let (first, rest) = bytes.split_first().expect("a byte");
            *bytes = rest;
            value |= u64::from(first & 0x7f) << shift;
            shift += 7;
            if first & 0x80 == 0 {
                return value;
            }
        }
    }
    let mut out = Vec::new();
    while !bytes.is_empty() {
        let tag = varint(&mut bytes);
        let length = match tag & 7 {
            0 => {
                varint(&mut bytes);
                0
            }
            1 => 8,
            2 => usize::try_from(varint(&mut bytes)).expect("a length"),
            other => panic!("wire type {other}"),
        };
        let (value, rest) = bytes.split_at(length);
        out.push((tag >> 3, value));
        bytes = rest;
    }
    out
}

fn one(bytes: &[u8], number: u64) -> &[u8] {
    fields(bytes).into_iter().find(|(found, _)| *found == number).map_or(&[], |(_, value)| value)
}

/// The values of a map by name.
fn names(map: &[u8]) -> Vec<(String, &[u8])> {
    let entries = fields(map).into_iter();
    entries.map(|(_, it)| (String::from_utf8_lossy(one(it, 1)).into_owned(), one(it, 2))).collect()
}

/// What kubectl asks for to validate a `kind: List` is what it can read.
#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn version_two_is_protobuf_for_kubectl() {
    let cluster = Cluster::builder().build();
    define(&cluster).await;
    let answer = get(&cluster, "/openapi/v2", V2, None).await;
    assert_eq!(answer.code, 200);
    assert_eq!(answer.content_type, "application/com.github.proto-openapi.spec.v2.v1.0+protobuf");
    assert_eq!(one(&answer.body, 1), b"2.0");
    let definitions = names(one(&answer.body, 9));
    let json: Value =
        serde_json::from_slice(&get(&cluster, "/openapi/v2", "application/json", None).await.body)
            .unwrap();
    assert_eq!(definitions.len(), json["definitions"].as_object().unwrap().len());
    for (name, kind) in
        [("io.k8s.api.core.v1.ConfigMap", "ConfigMap"), ("com.example.v1.Widget", "Widget")]
    {
        let (_, schema) = definitions.iter().find(|(found, _)| found == name).expect(name);
        let extensions = fields(schema).into_iter().filter(|(number, _)| *number == 31);
        let texts: Vec<String> = extensions
            .map(|(_, it)| {
                format!(
                    "{}={}",
                    String::from_utf8_lossy(one(it, 1)),
                    String::from_utf8_lossy(one(one(it, 2), 2))
                )
            })
            .collect();
        assert!(
            texts
                .iter()
                .any(|it| it.starts_with("x-kubernetes-group-version-kind=") && it.contains(kind)),
            "{texts:?}"
        );
        let properties: Vec<String> =
            names(one(schema, 25)).into_iter().map(|(name, _)| name).collect();
        assert!(properties.contains(&"metadata".to_owned()), "{properties:?}");
    }
    // Paths say which parameters writes take.
    let paths: Vec<String> = fields(one(&answer.body, 8))
        .into_iter()
        .map(|(_, it)| String::from_utf8_lossy(one(it, 1)).into_owned())
        .collect();
    for path in [
        "/api/v1/namespaces/{namespace}/configmaps/{name}",
        "/apis/example.com/v1/namespaces/{namespace}/widgets/{name}",
    ] {
        assert!(paths.iter().any(|found| found == path), "{path}");
    }
}

/// A form that is not served is 406, never another one.
#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn a_document_comes_in_the_form_that_was_asked_for() {
    let cluster = Cluster::builder().build();
    define(&cluster).await;
    let json = "application/json";
    let (core, custom) = ("/openapi/v3/api/v1", "/openapi/v3/apis/example.com/v1");
    let cases = [
        ("/openapi/v2", "application/yaml", 406, ""),
        ("/openapi/v2", "*/*", 200, json),
        (core, V3, 200, "application/com.github.proto-openapi.spec.v3.v1.0+protobuf"),
        (core, json, 200, json),
        (core, V2, 406, ""),
        (custom, V3, 200, "application/com.github.proto-openapi.spec.v3.v1.0+protobuf"),
        ("/openapi/v3/apis/none", json, 404, ""),
    ];
    for (path, accept, code, content_type) in cases {
        let answer = get(&cluster, path, accept, None).await;
        assert_eq!(
            (answer.code, answer.content_type.as_str()),
            (code, content_type),
            "{path} {accept}"
        );
        if content_type.ends_with("protobuf") {
            assert_eq!(one(&answer.body, 1), b"3.0.0", "{path}");
        }
    }
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn what_a_client_has_is_not_sent_again() {
    let cluster = Cluster::builder().build();
    for (path, accept) in [("/openapi/v2", V2), ("/openapi/v3/api/v1", "application/json")] {
        let first = get(&cluster, path, accept, None).await;
        assert!(first.tag.starts_with('"') && first.tag.len() > 10, "{}", first.tag);
        let again = get(&cluster, path, accept, Some(&first.tag)).await;
        assert_eq!((again.code, again.body.len()), (304, 0), "{path}");
        assert_eq!(get(&cluster, path, accept, Some("\"other\"")).await.code, 200);
    }
    let before = get(&cluster, "/openapi/v2", V2, None).await.tag;
    define(&cluster).await;
    assert_ne!(get(&cluster, "/openapi/v2", V2, None).await.tag, before);
}
