//! What a git server sends: advertisements, listings of refs, answers to a fetch. The first byte of an input says which.

use sluice_source::probe;

use crate::make::{join, numbered};
use crate::{Format, Hostile, Outcome};

pub(super) const FORMAT: Format = Format { name: "git protocol", parse, seeds, hostile };

const ID: &str = "0123456789012345678901234567890123456789";

fn parse(input: &[u8]) -> Outcome {
    let (first, rest) = input.split_first().ok_or("empty")?;
    match first {
        b'r' => probe::git_refs(rest),
        b'f' => probe::git_fetch(rest, true),
        b'g' => probe::git_fetch(rest, false),
        _ => probe::git_advertisement(rest),
    }
}

fn line(text: &str) -> Vec<u8> {
    format!("{:04x}{text}", text.len() + 4).into_bytes()
}

fn lines(first: u8, texts: &[&str]) -> Vec<u8> {
    let mut out = vec![first];
    for text in texts {
        out.extend(line(text));
    }
    out.extend(b"0000");
    out
}

fn seeds() -> Vec<Vec<u8>> {
    let v0 = format!("{ID} HEAD\0multi_ack side-band-64k symref=HEAD:refs/heads/main\n");
    let main = format!("{ID} refs/heads/main\n");
    let (tag, peeled) = (format!("{ID} refs/tags/v1\n"), format!("{ID} refs/tags/v1^{{}}\n"));
    let listed = format!("{ID} refs/tags/v1 peeled:{ID}\n");
    vec![
        lines(b'a', &["# service=git-upload-pack\n"]),
        lines(b'a', &["version 2\n", "agent=git/2\n", "ls-refs\n", "fetch=shallow filter\n"]),
        lines(b'a', &[&v0, &main, &tag, &peeled]),
        lines(b'r', &[&main, &listed]),
        lines(b'f', &["shallow-info\n", "packfile\n", "\u{1}PACK", "\u{2}progress"]),
        lines(b'g', &["NAK\n", "\u{1}PACK", "\u{3}an error"]),
    ]
}

/// Many numbered lines in one message.
fn flood(first: u8, start: &[&str], text: &str, count: usize) -> Vec<u8> {
    let mut out = vec![first];
    for text in start {
        out.extend(line(text));
    }
    for number in 0..count {
        out.extend(line(&text.replace("{n}", &number.to_string())));
    }
    out.extend(b"0000");
    out
}

fn hostile() -> Vec<Hostile> {
    let long = "x".repeat(65_000);
    let reference = format!("{ID} refs/heads/{{n}}\n");
    let long_reference = format!("{ID} refs/heads/{long}{{n}}\n");
    let words = format!("{ID} HEAD\0{}\n", numbered("c{n} ", 8000));
    let more_words = format!("{ID} refs/{{n}}\0{}\n", "c ".repeat(30_000));
    vec![
        ("60,000 capabilities", flood(b'a', &["version 2\n"], "c{n}\n", 60_000)),
        ("long capabilities", flood(b'a', &["version 2\n"], &long, 60)),
        ("60,000 refs before version 2", flood(b'a', &[], &reference, 15_000)),
        ("refs with long names", flood(b'a', &[], &long_reference, 16)),
        ("8000 words of capabilities", lines(b'a', &[&words])),
        ("capabilities on every ref", flood(b'a', &[], &more_words, 16)),
        ("an advertisement without end", join(&[b"a", &line("version 2\n").repeat(50_000)])),
        ("endless announcements", join(&[b"a", &line("# service=x\n").repeat(50_000)])),
        ("empty frames", join(&[b"a", &b"0004".repeat(200_000)])),
        ("a frame of no length", b"a0003".to_vec()),
        ("a frame beyond the largest", b"affff".to_vec()),
        ("a frame that is no number", b"a+0ff".to_vec()),
        ("an error of 64 KiB", lines(b'a', &[&format!("ERR {long}")])),
        ("a listing of 15,000 refs", flood(b'r', &[], &reference, 15_000)),
        ("a listing with long names", flood(b'r', &[], &long_reference, 16)),
        (
            "peeled many times over",
            lines(b'r', &[&format!("{ID} r{}\n", format!(" peeled:{ID}").repeat(1200))]),
        ),
        ("a preamble without end", flood(b'f', &[], "shallow {n}\n", 50_000)),
        ("progress without end", flood(b'f', &["packfile\n"], "\u{2}{n}", 50_000)),
        ("an error in the pack", lines(b'f', &["packfile\n", &format!("\u{3}{long}")])),
        ("no band", lines(b'f', &["packfile\n", ""])),
        ("a section in the pack", join(&[b"f", &line("packfile\n"), b"00010001"])),
        ("flushes before the pack", join(&[b"g", &b"0000".repeat(200_000)])),
    ]
}
