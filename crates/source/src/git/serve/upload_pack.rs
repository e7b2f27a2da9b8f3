//! The server's half of a fetch, as functions from a question to an answer: version 2, and version 0
//! for go-git, which knows nothing newer.

use crate::git::error::Cause;
use crate::git::make::{Repository, Selection};
use crate::git::pktline::{Decoder, Packet, write, write_delimiter, write_flush, write_line};
use crate::git::protocol::AGENT;
use crate::git::remote::{FetchRequest, ObjectFilter};

/// Pieces of a packfile are not larger, the band's byte not counted.
const PIECE: usize = 65515;

/// What the server says first.
pub(super) fn advertise(answer: &mut Vec<u8>, repository: &Repository, is_v2: bool) {
    if is_v2 {
        write_line(answer, "version 2");
        write_line(answer, &format!("agent={AGENT}"));
        write_line(answer, "ls-refs=unborn");
        write_line(answer, "fetch=shallow filter");
        write_line(answer, "object-format=sha1");
    } else {
        advertise_refs(answer, repository);
    }
    write_flush(answer);
}

/// In version 0 all refs come at once, what the server can do behind the first.
fn advertise_refs(answer: &mut Vec<u8>, repository: &Repository) {
    let head = repository.head();
    let can = format!(
        "\0side-band-64k ofs-delta shallow no-progress filter allow-tip-sha1-in-want \
         allow-reachable-sha1-in-want symref=HEAD:{head} object-format=sha1 agent={AGENT}"
    );
    let refs = repository.list_refs();
    if refs.is_empty() {
        write_line(answer, &format!("{} capabilities^{{}}{can}", "0".repeat(40)));
    }
    for (index, found) in refs.iter().enumerate() {
        let can = if index == 0 { can.as_str() } else { "" };
        write_line(answer, &format!("{} {}{can}", found.id, found.name));
        if let Some(peeled) = found.peeled {
            write_line(answer, &format!("{peeled} {}^{{}}", found.name));
        }
    }
}

/// The answer to one question.
pub(super) fn answer(repository: &Repository, body: &[u8]) -> Result<Vec<u8>, Cause> {
    let mut decoder = Decoder::default();
    decoder.feed(body);
    let mut lines = Vec::new();
    while let Some(packet) = decoder.next()? {
        lines.extend(packet.line());
        // In version 0 a flush stands between what is wanted and what is there.
        if packet == Packet::End {
            break;
        }
    }
    match lines.first().map(String::as_str) {
        Some("command=ls-refs") => Ok(list(repository, &lines)),
        Some("command=fetch") => fetch(repository, &lines),
        Some(line) if line.starts_with("want ") => fetch_v0(repository, &lines),
        other => Err(Cause::Malformed(format!("unknown command {other:?}"))),
    }
}

fn list(repository: &Repository, lines: &[String]) -> Vec<u8> {
    let prefixes: Vec<&str> =
        lines.iter().filter_map(|line| line.strip_prefix("ref-prefix ")).collect();
    let has = |word: &str| lines.iter().any(|line| line == word);
    let mut answer = Vec::new();
    for found in repository.list_refs() {
        if !prefixes.is_empty() && !prefixes.iter().any(|prefix| found.name.starts_with(prefix)) {
            continue;
        }
        let mut line = format!("{} {}", found.id, found.name);
        if has("symrefs") && found.name == "HEAD" {
            line = format!("{line} symref-target:{}", repository.head());
        }
        if let Some(peeled) = found.peeled.filter(|_| has("peel")) {
            line = format!("{line} peeled:{peeled}");
        }
        write_line(&mut answer, &line);
    }
    let is_unborn = repository.get_ref(repository.head()).is_none();
    if is_unborn && has("unborn") && has("symrefs") {
        write_line(&mut answer, &format!("unborn HEAD symref-target:{}", repository.head()));
    }
    write_flush(&mut answer);
    answer
}

fn fetch(repository: &Repository, lines: &[String]) -> Result<Vec<u8>, Cause> {
    let request = fetch_request(lines)?;
    let mut answer = Vec::new();
    if goes_on(lines) {
        write_line(&mut answer, "acknowledgments");
        write_line(&mut answer, "NAK");
        write_flush(&mut answer);
        return Ok(answer);
    }
    let selection = repository.select(&request)?;
    if request.depth.is_some() {
        write_line(&mut answer, "shallow-info");
        for id in &selection.shallow {
            write_line(&mut answer, &format!("shallow {id}"));
        }
        write_delimiter(&mut answer);
    }
    write_line(&mut answer, "packfile");
    for piece in pack(repository, &selection)?.chunks(PIECE) {
        write(&mut answer, &[&[1], piece].concat());
    }
    write_flush(&mut answer);
    Ok(answer)
}

fn fetch_v0(repository: &Repository, lines: &[String]) -> Result<Vec<u8>, Cause> {
    let request = fetch_request(lines)?;
    let selection = repository.select(&request)?;
    let mut answer = Vec::new();
    if request.depth.is_some() {
        for id in &selection.shallow {
            write_line(&mut answer, &format!("shallow {id}"));
        }
        write_flush(&mut answer);
    }
    // A client that is not done with a shallow fetch wants to hear where it ends, and no more.
    let has_haves = lines.iter().any(|line| line.starts_with("have "));
    if has_haves || !goes_on(lines) {
        write_line(&mut answer, "NAK");
    }
    if goes_on(lines) {
        return Ok(answer);
    }
    let pack = pack(repository, &selection)?;
    let has_bands = lines.first().is_some_and(|line| line.contains("side-band-64k"));
    if !has_bands {
        answer.extend_from_slice(&pack);
        return Ok(answer);
    }
    for piece in pack.chunks(PIECE) {
        write(&mut answer, &[&[1], piece].concat());
    }
    write_flush(&mut answer);
    Ok(answer)
}

fn fetch_request(lines: &[String]) -> Result<FetchRequest, Cause> {
    let mut request = FetchRequest::default();
    for line in lines {
        let (word, value) = line.split_once(' ').unwrap_or((line, ""));
        match word {
            // In version 0 the first one is followed by what the client can do.
            "want" => request.wants.push(value.get(..40).unwrap_or(value).parse()?),
            "have" => request.haves.push(value.parse()?),
            "deepen" => request.depth = value.parse().ok(),
            "filter" if value == "blob:none" => request.filter = Some(ObjectFilter::Blobs),
            "filter" if value == "tree:0" => request.filter = Some(ObjectFilter::Trees),
            _ => {}
        }
    }
    // Only for commits alone: a shallow client has not all that its commits lead to.
    if request.filter != Some(ObjectFilter::Trees) {
        request.haves.clear();
    }
    Ok(request)
}

/// Whether the client wants to find out what both have. Nothing is negotiated here: a client that
/// fetches files again gets all of them.
fn goes_on(lines: &[String]) -> bool {
    !lines.iter().any(|line| line == "done")
}

fn pack(repository: &Repository, selection: &Selection) -> Result<Vec<u8>, Cause> {
    crate::git::pack::write(repository.selected(selection).into_iter())
        .map_err(|error| Cause::Malformed(error.to_string()))
}
