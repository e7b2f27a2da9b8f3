//! Git's parsers over plain bytes, for [`crate::probe`].

use bytes::Bytes;
use futures::FutureExt as _;

use super::incoming::Incoming;
use super::pack::GitLimits;
use super::pktline::Decoder;
use super::protocol::{Advertisement, FetchReader};
use super::ssh::KnownHosts;
use crate::probe::stream;

type Outcome = Result<(), String>;

pub(crate) fn advertisement(pieces: Vec<Bytes>) -> Outcome {
    let mut incoming = Incoming::new(stream(pieces));
    let read = incoming.advertisement(GitLimits::default()).now_or_never();
    read.ok_or("waits")?.map(drop).map_err(|error| error.to_string())
}

pub(crate) fn refs(pieces: Vec<Bytes>) -> Outcome {
    let mut incoming = Incoming::new(stream(pieces));
    let read = incoming.refs(&[], GitLimits::default()).now_or_never();
    read.ok_or("waits")?.map(drop).map_err(|error| error.to_string())
}

pub(crate) fn fetch(pieces: Vec<Bytes>, is_v2: bool) -> Outcome {
    let server = Advertisement { is_v2, ..Advertisement::default() };
    let mut reader = FetchReader::new(&server, GitLimits::default());
    let mut decoder = Decoder::default();
    for piece in pieces {
        decoder.feed(&piece);
        while let Some(packet) = decoder.next().map_err(|error| error.to_string())? {
            if reader.take(&packet).map_err(|error| error.to_string())? {
                return Ok(());
            }
        }
    }
    Err("ends early".to_owned())
}

pub(crate) fn known_hosts(text: &str) -> Outcome {
    let known = KnownHosts::parse(text, "git.example.com", 22)?;
    let _ = known.algorithms();
    Ok(())
}
