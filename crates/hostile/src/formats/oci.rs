//! What a registry answers. The first line of an input says to which question; the rest is the answer.

use std::sync::Arc;

use bytes::Bytes;
use futures::future::BoxFuture;
use http::{HeaderValue, Request, Response};
use sluice_source::http::HttpOptions;
use sluice_source::oci::{
    Access, Credentials, PullLimits, RegistryAccess, RemoteRepository, Repository, TokenRealms,
    Wire, WireError, layer, media, newest_tag,
};

use crate::make::{block_on, join, nested, numbered, reason, times};
use crate::{Format, Hostile, Outcome};

pub(super) const FORMAT: Format = Format { name: "OCI answers", parse, seeds, hostile };

/// A registry that gives the same answer to everybody.
struct Answering {
    kind: String,
    body: Bytes,
}

impl Answering {
    fn answer(&self, path: &str) -> Response<Bytes> {
        let is_ping = path == "/v2/";
        let said = |wanted: &str| self.kind == wanted;
        let (status, body, header) = match path {
            _ if is_ping && said("challenge") => (401, Bytes::new(), Some(self.body.clone())),
            _ if is_ping && said("token") => {
                let realm = r#"Bearer realm="https://r.test/token",service="r.test""#;
                (401, Bytes::new(), Some(Bytes::from_static(realm.as_bytes())))
            }
            "/v2/" => (200, Bytes::new(), None),
            "/token" if said("token") => (200, self.body.clone(), None),
            "/token" => (200, Bytes::from_static(br#"{"token":"t"}"#), None),
            _ if said("error") => (404, self.body.clone(), None),
            _ => (200, self.body.clone(), None),
        };
        let mut response = Response::new(body);
        *response.status_mut() = http::StatusCode::from_u16(status).unwrap_or_default();
        let kind = if said("index") { media::INDEX } else { media::MANIFEST };
        response.headers_mut().insert("content-type", HeaderValue::from_static(kind));
        if let Some(Ok(value)) = header.map(|text| HeaderValue::from_bytes(&text)) {
            response.headers_mut().insert("www-authenticate", value);
        }
        response
    }
}

impl Wire for Answering {
    fn send<'a>(
        &'a self,
        _: &'a HttpOptions,
        request: Request<Bytes>,
        largest: u64,
    ) -> BoxFuture<'a, Result<Response<Bytes>, WireError>> {
        let answer = self.answer(request.uri().path());
        let is_too_large = answer.body().len() as u64 > largest;
        let answer = if is_too_large { Err(WireError::TooLarge(largest)) } else { Ok(answer) };
        Box::pin(std::future::ready(answer))
    }
}

fn parse(input: &[u8]) -> Outcome {
    let end = input.iter().position(|byte| *byte == b'\n').ok_or("no question")?;
    let (kind, body) = input.split_at(end);
    let kind = String::from_utf8_lossy(kind).into_owned();
    let body = Bytes::copy_from_slice(body.get(1..).unwrap_or_default());
    let access = RegistryAccess {
        wire: Arc::new(Answering { kind, body }),
        connection: HttpOptions::default(),
        credentials: Credentials::default(),
        realms: TokenRealms::default(),
    };
    let repository = Repository::parse("r.test/org/app").map_err(reason)?;
    let reference = repository.tag("v1");
    let remote = RemoteRepository::new(access, repository, Access::Pull, PullLimits::default());
    block_on(async {
        let image = remote.image(&reference).await.map_err(reason);
        if let Ok(image) = &image
            && let Ok(found) = layer(image, "")
        {
            let _ = remote.blob(found).await;
        }
        let digest = remote.resolve(&reference).await.map_err(reason);
        let tags = remote.tags().await.map_err(reason);
        if let Ok(tags) = &tags {
            let _ = newest_tag(tags, ">=0.0.0-0", None, "");
        }
        let referrers = match &digest {
            Ok(digest) => remote.referrers(digest).await.map(drop).map_err(reason),
            Err(error) => Err(error.clone()),
        };
        image.map(drop).or(tags.map(drop)).or(referrers).or(digest.map(drop))
    })?
}

fn answer(kind: &str, body: impl AsRef<[u8]>) -> Vec<u8> {
    join(&[kind.as_bytes(), b"\n", body.as_ref()])
}

const DIGEST: &str = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

fn manifest(layers: &str, more: &str) -> String {
    format!(
        r#"{{"schemaVersion":2,"config":{{"digest":"{DIGEST}","size":0}},"layers":[{layers}]{more}}}"#
    )
}

fn a_layer() -> String {
    let kind = media::FLUX_CONTENT;
    format!(r#"{{"mediaType":"{kind}","digest":"{DIGEST}","size":0}}"#)
}

fn seeds() -> Vec<Vec<u8>> {
    let platform = r#""platform":{"os":"linux","architecture":"amd64"}"#;
    vec![
        answer("manifest", manifest(&a_layer(), r#","annotations":{"a":"b"}"#)),
        answer(
            "index",
            format!(r#"{{"manifests":[{{"digest":"{DIGEST}","size":3,{platform}}}]}}"#),
        ),
        answer("tags", r#"{"name":"org/app","tags":["v1.0.0","1.2.3-rc.1","latest"]}"#),
        answer("token", r#"{"token":"abc","expires_in":60,"access_token":"x"}"#),
        answer("challenge", r#"Bearer realm="https://r.test/token",service="r",scope="a:b:c""#),
        answer("error", r#"{"errors":[{"code":"NAME_UNKNOWN","message":"m","detail":{"a":1}}]}"#),
    ]
}

fn hostile() -> Vec<Hostile> {
    let layers = vec![a_layer(); 8000].join(",");
    let huge = format!(r#"{{"digest":"{DIGEST}","size":18446744073709551615}}"#);
    let data = format!(r#"{{"digest":"{DIGEST}","size":1,"data":"{}"}}"#, "A".repeat(1 << 20));
    let annotations = format!(r#","annotations":{{{}"x":""}}"#, numbered(r#""a{n}":"b","#, 60_000));
    let children = numbered(r#"{"digest":"sha256:{n}"},"#, 30_000);
    let detail = |depth| String::from_utf8_lossy(&nested("[", "1", "]", depth)).into_owned();
    let errors =
        |detail: &str| format!(r#"{{"errors":[{{"code":"X","message":"m","detail":{detail}}}]}}"#);
    vec![
        ("8000 layers", answer("manifest", manifest(&layers, ""))),
        ("a layer of 16 EiB", answer("manifest", manifest(&huge, ""))),
        ("a layer with a mebibyte in it", answer("manifest", manifest(&data, ""))),
        ("60,000 annotations", answer("manifest", manifest(&a_layer(), &annotations))),
        ("a manifest that is nested", answer("manifest", nested("{\"a\":", "1", "}", 100_000))),
        ("a manifest of lists", answer("manifest", times("[", 1 << 20))),
        ("a manifest with a size below zero", answer("manifest", manifest(r#"{"size":-1}"#, ""))),
        (
            "a digest of a mebibyte",
            answer(
                "manifest",
                manifest(&format!(r#"{{"digest":"sha256:{}"}}"#, "a".repeat(1 << 20)), ""),
            ),
        ),
        ("30,000 children", answer("index", format!(r#"{{"manifests":[{children}{{}}]}}"#))),
        (
            "an index that is its own child",
            answer("index", format!(r#"{{"manifests":[{{"digest":"{DIGEST}"}}]}}"#)),
        ),
        (
            "100,000 tags",
            answer("tags", format!(r#"{{"tags":[{}"x"]}}"#, numbered(r#""v1.0.{n}","#, 60_000))),
        ),
        (
            "a tag of a mebibyte",
            answer("tags", format!(r#"{{"tags":["{}"]}}"#, "1.".repeat(1 << 19))),
        ),
        (
            "a token of a mebibyte",
            answer("token", format!(r#"{{"token":"{}"}}"#, "t".repeat(1 << 20))),
        ),
        ("a token of 60 KiB", answer("token", format!(r#"{{"token":"{}"}}"#, "t".repeat(60_000)))),
        ("a token that never ends", answer("token", r#"{"token":"t","expires_in":1e308}"#)),
        (
            "a challenge of 10,000 parameters",
            answer("challenge", format!("Bearer {}", numbered("p{n}=\"v\",", 10_000))),
        ),
        (
            "a challenge of quotes",
            answer("challenge", format!("Bearer realm={}", "\"\\".repeat(100_000))),
        ),
        ("a challenge of many schemes", answer("challenge", times("Bearer, Basic, ", 30_000))),
        ("an error that is nested", answer("error", errors(&detail(100)))),
        ("an error that is nested too deep", answer("error", errors(&detail(100_000)))),
        (
            "an error of a mebibyte",
            answer("error", errors(&format!("\"{}\"", "x".repeat(1 << 20)))),
        ),
        (
            "10,000 errors",
            answer(
                "error",
                format!(
                    r#"{{"errors":[{}{{}}]}}"#,
                    r#"{"code":"X","message":"m"},"#.repeat(20_000)
                ),
            ),
        ),
    ]
}
