//! Commits and tags.

use sluice_source::git::{Commit, ObjectId, ObjectKind, Tag};

use crate::make::{join, reason, times};
use crate::{Format, Hostile, Outcome};

pub(super) const FORMAT: Format = Format { name: "git commits and tags", parse, seeds, hostile };

const ID: &str = "0123456789012345678901234567890123456789";

fn parse(input: &[u8]) -> Outcome {
    let id = ObjectId::of(ObjectKind::Commit, b"");
    let commit = Commit::parse(id, input).map(|commit| drop(commit.short_message()));
    let tag = Tag::parse(id, input).map(drop);
    commit.or(tag).map_err(reason)
}

fn commit() -> String {
    format!(
        "tree {ID}\nparent {ID}\nauthor A <a@b> 1700000000 +0100\ncommitter A <a@b> 1700000000 -0700\n\
         gpgsig -----BEGIN PGP SIGNATURE-----\n \n abc\n -----END PGP SIGNATURE-----\n\nmessage\n"
    )
}

fn tag() -> String {
    format!(
        "object {ID}\ntype commit\ntag v1\ntagger A <a@b> 1700000000 +0000\n\nmessage\n-----BEGIN SSH SIGNATURE-----\nabc\n-----END SSH SIGNATURE-----\n"
    )
}

fn seeds() -> Vec<Vec<u8>> {
    vec![commit().into_bytes(), tag().into_bytes()]
}

fn hostile() -> Vec<Hostile> {
    let (head, rest) = (format!("tree {ID}\n"), "author A <a@b> 1 +0000\n\nm\n");
    let with = |middle: &[u8]| join(&[head.as_bytes(), middle, rest.as_bytes()]);
    let time = |text: &str| format!("tree {ID}\nauthor A <a@b> {text}\n\nm\n").into_bytes();
    vec![
        ("20,000 parents", with(&times(&format!("parent {ID}\n"), 20_000))),
        ("a header of a mebibyte", with(&times("x", 1 << 20))),
        ("200,000 empty headers", with(&times("a \n", 200_000))),
        ("a signature of a million lines", with(&join(&[b"gpgsig x\n", &times(" \n", 500_000)]))),
        (
            "50,000 signatures",
            join(&[tag().as_bytes(), &times("-----BEGIN PGP SIGNATURE-----\n", 30_000)]),
        ),
        ("no end of the header", times("tree ", 200_000)),
        ("a time beyond all times", time("99999999999999999999999999 +9999")),
        ("a time before all times", time("-9223372036854775808 -9999")),
        ("brackets without end", time(&"<".repeat(1 << 20))),
        ("a message of a mebibyte of newlines", with(&times("\n", 1 << 20))),
    ]
}
