//! Listings of buckets: XML of S3 and Azure, JSON of Google Cloud Storage.

use sluice_source::probe;

use crate::make::{nested, numbered};
use crate::{Format, Hostile, Outcome};

pub(super) const S3: Format =
    Format { name: "S3 listings", parse: parse_s3, seeds: seeds_s3, hostile: hostile_s3 };
pub(super) const GCS: Format =
    Format { name: "GCS listings", parse: parse_gcs, seeds: seeds_gcs, hostile: hostile_gcs };
pub(super) const AZURE: Format = Format {
    name: "Azure listings",
    parse: parse_azure,
    seeds: seeds_azure,
    hostile: hostile_azure,
};

fn parse_s3(input: &[u8]) -> Outcome {
    probe::bucket_page("s3", input)
}

fn parse_gcs(input: &[u8]) -> Outcome {
    probe::bucket_page("gcs", input)
}

fn parse_azure(input: &[u8]) -> Outcome {
    probe::bucket_page("azure", input)
}

fn s3(contents: &str) -> Vec<u8> {
    format!("<ListBucketResult><EncodingType>url</EncodingType><IsTruncated>false</IsTruncated>{contents}</ListBucketResult>").into_bytes()
}

fn azure(blobs: &str) -> Vec<u8> {
    format!("<EnumerationResults><Blobs>{blobs}</Blobs><NextMarker/></EnumerationResults>")
        .into_bytes()
}

const S3_OBJECT: &str = "<Contents><Key>a%20{n}</Key><ETag>\"e\"</ETag><Size>1</Size></Contents>";
const BLOB: &str = "<Blob><Name>a{n}</Name><Properties><Etag>e</Etag></Properties></Blob>";

fn seeds_s3() -> Vec<Vec<u8>> {
    let two = numbered(S3_OBJECT, 2);
    vec![
        s3(&two),
        b"<?xml version=\"1.0\"?><ListBucketResult xmlns=\"x\"><IsTruncated>true</IsTruncated><NextContinuationToken>t&amp;</NextContinuationToken><Contents><Key><![CDATA[k]]></Key></Contents></ListBucketResult>".to_vec(),
    ]
}

fn seeds_azure() -> Vec<Vec<u8>> {
    let two = numbered(BLOB, 2);
    vec![azure(&two), [b"\xef\xbb\xbf".as_slice(), &azure(&two)].concat()]
}

fn seeds_gcs() -> Vec<Vec<u8>> {
    vec![
        br#"{"items":[{"name":"a","etag":"e","generation":"1"}],"nextPageToken":"t"}"#.to_vec(),
        b"{}".to_vec(),
    ]
}

/// Entities that name each other ten times over.
fn entities(inner: &str) -> Vec<u8> {
    let mut text = "<!DOCTYPE x [<!ENTITY e0 \"eeeeeeeeee\">".to_owned();
    for level in 1..12 {
        let names = format!("&e{};", level - 1).repeat(10);
        text.push_str(&format!("<!ENTITY e{level} \"{names}\">"));
    }
    format!("{text}]>{}", inner.replace("KEY", "&e11;")).into_bytes()
}

const FILE_ENTITY: &str = "<!DOCTYPE x [<!ENTITY f SYSTEM \"file:///etc/passwd\">]>";

fn hostile_s3() -> Vec<Hostile> {
    let key = |text: &str| s3(&format!("<Contents><Key>{text}</Key><ETag>e</ETag></Contents>"));
    let attributes = format!("<ListBucketResult {}/>", numbered("a{n}=\"1\" ", 80_000));
    vec![
        ("entities of ten billion letters", entities("<ListBucketResult><Contents><Key>KEY</Key></Contents></ListBucketResult>")),
        ("an entity of a file", format!("{FILE_ENTITY}<ListBucketResult><Contents><Key>&f;</Key></Contents></ListBucketResult>").into_bytes()),
        ("12,000 objects", s3(&numbered(S3_OBJECT, 12_000))),
        ("a key of a mebibyte", key(&"k".repeat(1 << 20))),
        ("a key of percent signs", key(&"%25".repeat(1300))),
        ("a key that leaves the tree", key("..%2F..%2Fetc%2Fpasswd")),
        ("an etag of a mebibyte", s3(&format!("<Contents><Key>k</Key><ETag>{}</ETag></Contents>", "e".repeat(1 << 20)))),
        ("elements in each other", nested("<a>", "", "</a>", 100_000)),
        ("unknown elements in each other", s3(&String::from_utf8_lossy(&nested("<a>", "", "</a>", 60_000)))),
        ("80,000 attributes", attributes.into_bytes()),
        ("no end", b"<ListBucketResult><Contents>".repeat(30_000)),
        ("a comment without end", [b"<ListBucketResult><!--".to_vec(), vec![b'-'; 1 << 20]].concat()),
        ("references to characters", key(&"&#x41;".repeat(700))),
        ("many pieces of text", key(&"<![CDATA[a]]>".repeat(300))),
    ]
}

fn hostile_azure() -> Vec<Hostile> {
    let name = |text: &str| azure(&format!("<Blob><Name>{text}</Name></Blob>"));
    vec![
        ("entities of ten billion letters", entities("<EnumerationResults><Blobs><Blob><Name>KEY</Name></Blob></Blobs></EnumerationResults>")),
        ("an entity of a file", format!("{FILE_ENTITY}<EnumerationResults><Blobs><Blob><Name>&f;</Name></Blob></Blobs></EnumerationResults>").into_bytes()),
        ("12,000 blobs", azure(&numbered(BLOB, 12_000))),
        ("a name of a mebibyte", name(&"k".repeat(1 << 20))),
        ("elements in each other", azure(&String::from_utf8_lossy(&nested("<a>", "", "</a>", 60_000)))),
        ("blobs in each other", azure(&String::from_utf8_lossy(&nested("<Blob>", "", "</Blob>", 40_000)))),
        ("twice the blobs", azure(&"</Blobs><Blobs>".repeat(50_000))),
    ]
}

fn hostile_gcs() -> Vec<Hostile> {
    let item = |text: &str| format!(r#"{{"items":[{text}]}}"#).into_bytes();
    vec![
        (
            "25,000 objects",
            item(&format!(
                "{}{{\"name\":\"x\",\"etag\":\"e\"}}",
                numbered(r#"{"name":"a{n}","etag":"e"},"#, 25_000)
            )),
        ),
        (
            "a name of a mebibyte",
            item(&format!(r#"{{"name":"{}","etag":"e"}}"#, "k".repeat(1 << 20))),
        ),
        (
            "a generation of a mebibyte",
            item(&format!(r#"{{"name":"n","etag":"e","generation":"{}"}}"#, "1".repeat(1 << 20))),
        ),
        ("a listing that is nested", nested("{\"items\":[", "1", "]}", 100_000)),
        ("unknown fields that are nested", nested("{\"x\":", "1", "}", 100_000)),
        (
            "escapes in a name",
            item(&format!(r#"{{"name":"{}","etag":"e"}}"#, "\\u0041".repeat(170_000))),
        ),
        ("half a pair", item(r#"{"name":"\ud800","etag":"e"}"#)),
    ]
}
