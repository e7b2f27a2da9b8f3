//! Reads pkt-lines from a byte stream of any transport.

use bytes::Bytes;
use futures::StreamExt as _;
use futures::stream::BoxStream;

use super::error::{Cause, malformed};
use super::object::Objects;
use super::pack::{self, GitLimits};
use super::pktline::{Decoder, Packet};
use super::protocol::{Advertisement, AdvertisementReader, FetchReader};
use super::ref_list::RefReader;
use super::remote::RemoteRef;

/// The incoming bytes, and the buffered rest.
pub(super) struct Incoming<'a> {
    stream: BoxStream<'a, Result<Bytes, Cause>>,
    decoder: Decoder,
}

impl<'a> Incoming<'a> {
    pub(super) fn new(stream: BoxStream<'a, Result<Bytes, Cause>>) -> Self {
        Self { stream, decoder: Decoder::default() }
    }

    /// The next pkt-line; the end of the stream is an error, because every message ends with one.
    async fn packet(&mut self) -> Result<Packet, Cause> {
        loop {
            if let Some(packet) = self.decoder.next()? {
                return Ok(packet);
            }
            match self.stream.next().await {
                Some(bytes) => self.decoder.feed(&bytes?),
                None => return Err(Cause::HungUp),
            }
        }
    }

    pub(super) async fn advertisement(
        &mut self,
        limits: GitLimits,
    ) -> Result<Advertisement, Cause> {
        let mut reader = AdvertisementReader::new(limits);
        loop {
            let packet = self.packet().await?;
            if let Some(found) = reader.take(&packet)? {
                return Ok(found);
            }
        }
    }

    /// The refs that begin with one of the prefixes. A server may send more; they are dropped.
    pub(super) async fn refs(
        &mut self,
        prefixes: &[String],
        limits: GitLimits,
    ) -> Result<Vec<RemoteRef>, Cause> {
        let mut reader = RefReader::new(prefixes, limits);
        while let Some(line) = self.packet().await?.line() {
            reader.take(&line)?;
        }
        Ok(reader.take_refs())
    }

    pub(super) async fn objects(
        &mut self,
        server: &Advertisement,
        limits: GitLimits,
    ) -> Result<Objects, Cause> {
        let mut reader = FetchReader::new(server, limits);
        while !reader.take(&self.packet().await?)? {}
        let pack = reader.into_pack();
        // Inflating and hashing blocks, so not on a thread of the runtime.
        tokio::task::spawn_blocking(move || pack::read(&pack, limits))
            .await
            .unwrap_or_else(|error| Err(malformed(error.to_string())))
    }
}

/// The refs that begin with one of the prefixes.
pub(super) fn filtered(refs: &[RemoteRef], prefixes: &[String]) -> Vec<RemoteRef> {
    let wanted = |found: &&RemoteRef| {
        prefixes.is_empty() || prefixes.iter().any(|prefix| found.name.starts_with(prefix))
    };
    refs.iter().filter(wanted).cloned().collect()
}
