//! Parsers of external input, one function each over plain bytes, for the hostile-input bench and the fuzzer,
//! which have no server. The product does not call these.

use bytes::Bytes;
use futures::StreamExt as _;

use crate::{bucket, git, oci};

/// The result of a parser.
type Outcome = Result<(), String>;

/// The first message of a git server.
pub fn git_advertisement(input: &[u8]) -> Outcome {
    git::probe::advertisement(chunks(input))
}

/// A listing of refs in version 2 of git's protocol.
pub fn git_refs(input: &[u8]) -> Outcome {
    git::probe::refs(chunks(input))
}

/// The response to a fetch, up to its packfile.
pub fn git_fetch(input: &[u8], is_v2: bool) -> Outcome {
    git::probe::fetch(chunks(input), is_v2)
}

/// A `known_hosts` file, looked up for a host.
pub fn known_hosts(text: &str) -> Outcome {
    git::probe::known_hosts(text)
}

/// A certificate in DER, or several in PEM.
pub fn certificate(input: &[u8]) -> Outcome {
    oci::probe::certificate(input).ok_or_else(|| "not a certificate".to_owned())
}

/// A page of a listing of S3, Google Cloud Storage or Azure.
pub fn bucket_page(host: &str, input: &[u8]) -> Outcome {
    let page = match host {
        "s3" => bucket::probe::s3(input),
        "gcs" => bucket::probe::gcs(input),
        _ => bucket::probe::azure(input),
    };
    page.map_err(|error| error.to_string())
}

/// The bytes in chunks, as a network delivers them.
fn chunks(input: &[u8]) -> Vec<Bytes> {
    input.chunks(16 << 10).map(Bytes::copy_from_slice).collect()
}

/// Chunks as the stream of a transport.
pub(crate) fn stream(
    pieces: Vec<Bytes>,
) -> futures::stream::BoxStream<'static, Result<Bytes, git::Cause>> {
    futures::stream::iter(pieces.into_iter().map(Ok)).boxed()
}
