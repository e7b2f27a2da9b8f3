//! Git's fetch protocol as pure functions: requests out, pkt-lines in. Version 2, and version 0 for
//! older servers.

use super::error::{Cause, malformed, shown};
use super::object::ObjectId;
use super::pack::GitLimits;
use super::pktline::{Packet, write_delimiter, write_flush, write_line};
use super::ref_list::RefReader;
use super::remote::{FetchRequest, ObjectFilter, RemoteRef};

/// The `agent` capability of the client.
pub(super) const AGENT: &str = concat!("sluice/", env!("CARGO_PKG_VERSION"));

/// The server's advertisement.
#[derive(Debug, Clone, Default)]
pub(super) struct Advertisement {
    /// Whether it supports version 2.
    pub(super) is_v2: bool,
    /// Its capabilities, in version 2 with `=values`.
    pub(super) capabilities: Vec<String>,
    /// All refs; in version 2 they are requested separately.
    pub(super) refs: Vec<RemoteRef>,
}

impl Advertisement {
    /// Whether the server supports filters.
    pub(super) fn can_filter(&self) -> bool {
        if self.is_v2 {
            let fetch =
                self.capabilities.iter().find_map(|capability| capability.strip_prefix("fetch="));
            fetch.is_some_and(|features| features.split(' ').any(|feature| feature == "filter"))
        } else {
            self.has("filter")
        }
    }

    /// Whether any object may be requested. Version 2 servers do not check whether a ref leads to it.
    pub(super) fn can_want_any(&self) -> bool {
        self.is_v2 || self.has("allow-reachable-sha1-in-want") || self.has("allow-any-sha1-in-want")
    }

    fn has(&self, name: &str) -> bool {
        self.capabilities.iter().any(|capability| capability == name)
    }
}

/// Parses an advertisement line by line.
#[derive(Debug)]
pub(super) struct AdvertisementReader {
    found: Advertisement,
    refs: RefReader,
    started: bool,
    announced: bool,
    /// Lines that are neither refs nor capabilities.
    idle: u64,
    /// Bytes of the capabilities.
    capability_bytes: u64,
    limits: GitLimits,
}

impl AdvertisementReader {
    pub(super) fn new(limits: GitLimits) -> Self {
        Self {
            found: Advertisement::default(),
            refs: RefReader::new(&[], limits),
            started: false,
            announced: false,
            idle: 0,
            capability_bytes: 0,
            limits,
        }
    }

    /// Takes a pkt-line; returns the advertisement after the last.
    pub(super) fn take(&mut self, packet: &Packet) -> Result<Option<Advertisement>, Cause> {
        let Some(line) = packet.line() else {
            // HTTP announces the service in a message of its own.
            if self.announced && !self.started {
                self.announced = false;
                return Ok(None);
            }
            self.found.refs = self.refs.take_refs();
            return Ok(Some(std::mem::take(&mut self.found)));
        };
        refuse_error(&line)?;
        if line.starts_with("# service=") && !self.started {
            self.announced = true;
            self.idle()?;
        } else if !self.started && line == "version 2" {
            self.started = true;
            self.found.is_v2 = true;
        } else if self.found.is_v2 {
            self.take_capabilities(std::iter::once(line.as_str()))?;
        } else if line == "version 1" {
            self.idle()?;
        } else {
            self.take_ref(&line)?;
        }
        Ok(None)
    }

    fn take_ref(&mut self, line: &str) -> Result<(), Cause> {
        let (line, capabilities) = line.split_once('\0').unwrap_or((line, ""));
        if !self.started {
            self.take_capabilities(capabilities.split_whitespace())?;
        } else if !capabilities.is_empty() {
            return Err(malformed("capabilities behind another ref than the first"));
        }
        self.started = true;
        let (id, name) =
            line.split_once(' ').ok_or_else(|| malformed(format!("ref line {:?}", shown(line))))?;
        if name == "capabilities^{}" || id == "shallow" {
            return self.idle();
        }
        let id: ObjectId = id.parse()?;
        match name.strip_suffix("^{}") {
            Some(of) => {
                self.refs.peel_last(of, id);
                self.idle()
            }
            None => self.refs.add(name, id, None),
        }
    }

    /// Adds capabilities, within the limit.
    fn take_capabilities<'l>(
        &mut self,
        capabilities: impl Iterator<Item = &'l str>,
    ) -> Result<(), Cause> {
        /// The overhead of a capability beside its bytes.
        const OVERHEAD: u64 = 32;
        for capability in capabilities {
            self.capability_bytes += capability.len() as u64 + OVERHEAD;
            let limit = self.limits.capability_bytes;
            if self.capability_bytes > limit {
                return Err(Cause::TooLarge { what: "bytes of capabilities", limit });
            }
            self.found.capabilities.push(capability.to_owned());
        }
        Ok(())
    }

    /// Counts a line without content; there may be one per ref.
    fn idle(&mut self) -> Result<(), Cause> {
        self.idle += 1;
        let limit = self.limits.idle_lines;
        if self.idle > limit + self.refs.listed() {
            return Err(Cause::TooLarge { what: "lines beside the refs", limit });
        }
        Ok(())
    }
}

/// The request for refs in version 2.
pub(super) fn list_request(prefixes: &[String]) -> Vec<u8> {
    let mut out = command("ls-refs");
    write_line(&mut out, "peel");
    for prefix in prefixes {
        write_line(&mut out, &format!("ref-prefix {prefix}"));
    }
    write_flush(&mut out);
    out
}

/// The request for objects.
pub(super) fn fetch_request(request: &FetchRequest, server: &Advertisement) -> Vec<u8> {
    if server.is_v2 { fetch_request_v2(request, server) } else { fetch_request_v0(request, server) }
}

fn fetch_request_v2(request: &FetchRequest, server: &Advertisement) -> Vec<u8> {
    let mut out = command("fetch");
    write_line(&mut out, "no-progress");
    write_line(&mut out, "ofs-delta");
    write_options(&mut out, request, server);
    for want in &request.wants {
        write_line(&mut out, &format!("want {want}"));
    }
    write_haves(&mut out, request);
    write_line(&mut out, "done");
    write_flush(&mut out);
    out
}

fn fetch_request_v0(request: &FetchRequest, server: &Advertisement) -> Vec<u8> {
    let ours = ["ofs-delta", "side-band-64k", "no-progress", "shallow", "filter"];
    let agreed: Vec<&str> = ours.into_iter().filter(|capability| server.has(capability)).collect();
    let mut out = Vec::new();
    for (index, want) in request.wants.iter().enumerate() {
        let capabilities =
            if index == 0 { format!(" {} agent={AGENT}", agreed.join(" ")) } else { String::new() };
        write_line(&mut out, &format!("want {want}{capabilities}"));
    }
    write_options(&mut out, request, server);
    write_flush(&mut out);
    write_haves(&mut out, request);
    write_line(&mut out, "done");
    out
}

/// There is no negotiation: a server ignores commits that it does not know.
fn write_haves(out: &mut Vec<u8>, request: &FetchRequest) {
    for have in &request.haves {
        write_line(out, &format!("have {have}"));
    }
}

fn write_options(out: &mut Vec<u8>, request: &FetchRequest, server: &Advertisement) {
    if let Some(depth) = request.depth {
        write_line(out, &format!("deepen {depth}"));
    }
    if let Some(filter) = request.filter.filter(|_| server.can_filter()) {
        let name = match filter {
            ObjectFilter::Blobs => "blob:none",
            ObjectFilter::Trees => "tree:0",
        };
        write_line(out, &format!("filter {name}"));
    }
}

fn command(name: &str) -> Vec<u8> {
    let mut out = Vec::new();
    write_line(&mut out, &format!("command={name}"));
    write_line(&mut out, &format!("agent={AGENT}"));
    write_line(&mut out, "object-format=sha1");
    write_delimiter(&mut out);
    out
}

/// Parses the response to a fetch and keeps its packfile.
#[derive(Debug)]
pub(super) struct FetchReader {
    section: Section,
    is_v2: bool,
    limits: GitLimits,
    /// Bytes outside the packfile.
    talk: u64,
    pack: Vec<u8>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Section {
    /// Lines about shallow commits and acknowledgements.
    Preamble,
    /// Chunks of the packfile.
    Pack,
}

impl FetchReader {
    pub(super) fn new(server: &Advertisement, limits: GitLimits) -> Self {
        Self { section: Section::Preamble, is_v2: server.is_v2, limits, talk: 0, pack: Vec::new() }
    }

    /// Takes a pkt-line; returns whether it was the last.
    pub(super) fn take(&mut self, packet: &Packet) -> Result<bool, Cause> {
        match (self.section, packet) {
            (Section::Pack, Packet::Data(data)) => self.take_piece(data).map(|()| false),
            (Section::Pack, Packet::Delimiter) => Err(malformed("a section inside the packfile")),
            (Section::Pack, Packet::Flush | Packet::End) => Ok(true),
            // In version 0 a flush ends the list of shallow commits.
            (Section::Preamble, Packet::Flush | Packet::End) => {
                if self.is_v2 {
                    Err(malformed("the answer has no packfile"))
                } else {
                    self.talk(0).map(|()| false)
                }
            }
            (Section::Preamble, Packet::Delimiter) => self.talk(0).map(|()| false),
            (Section::Preamble, Packet::Data(data)) => {
                let line = packet.line().unwrap_or_default();
                refuse_error(&line)?;
                self.talk(data.len())?;
                let begins = if self.is_v2 {
                    line == "packfile"
                } else {
                    line == "NAK" || line.starts_with("ACK ")
                };
                if begins {
                    self.section = Section::Pack;
                }
                Ok(false)
            }
        }
    }

    /// The packfile.
    pub(super) fn into_pack(self) -> Vec<u8> {
        self.pack
    }

    /// Counts bytes outside the packfile, pkt-line prefixes included.
    fn talk(&mut self, bytes: usize) -> Result<(), Cause> {
        self.talk += bytes as u64 + 4;
        let limit = self.limits.talk_bytes;
        if self.talk > limit {
            return Err(Cause::TooLarge { what: "bytes beside the packfile", limit });
        }
        Ok(())
    }

    /// Takes a side-band chunk; the first byte is its band: 1 the packfile, 2 progress, 3 an error.
    fn take_piece(&mut self, data: &[u8]) -> Result<(), Cause> {
        match data.split_first() {
            Some((1, piece)) => {
                let limit = self.limits.pack_bytes;
                if self.pack.len() as u64 + piece.len() as u64 > limit {
                    return Err(Cause::TooLarge { what: "packed bytes", limit });
                }
                self.pack.extend_from_slice(piece);
                Ok(())
            }
            Some((2, text)) => self.talk(text.len()),
            Some((3, text)) => Err(Cause::Remote(shown(String::from_utf8_lossy(text).trim()))),
            _ => Err(malformed("a piece of the packfile has no band")),
        }
    }
}

/// A server may send an error in place of any line.
pub(super) fn refuse_error(line: &str) -> Result<(), Cause> {
    match line.strip_prefix("ERR ") {
        Some(text) => Err(Cause::Remote(shown(text.trim()))),
        None => Ok(()),
    }
}
