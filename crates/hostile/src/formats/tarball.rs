//! Archives: `gzip(tar)`, as artifacts, layers of registries and composed artifacts have them.

use sluice_source::archive::{ArchiveLimits, pack, unpack};
use tar::{EntryType, Header};

use crate::make::{gzip, gzip_zeros, reason};
use crate::{Format, Hostile, Outcome};

pub(super) const FORMAT: Format = Format { name: "tar and gzip", parse, seeds, hostile };

fn parse(input: &[u8]) -> Outcome {
    let tree = unpack(input, ArchiveLimits::default()).map_err(reason)?;
    pack(&tree, |_, _| false).map(drop).map_err(reason)
}

/// A header and its content, without padding where `size` is another than the content's.
fn entry(name: &str, kind: EntryType, size: u64, content: &[u8]) -> Vec<u8> {
    let mut header = Header::new_gnu();
    if let Some(gnu) = header.as_gnu_mut() {
        for (place, byte) in gnu.name.iter_mut().zip(name.bytes()) {
            *place = byte;
        }
    }
    header.set_entry_type(kind);
    header.set_mode(0o644);
    header.set_size(size);
    header.set_cksum();
    let mut out = header.as_bytes().to_vec();
    out.extend_from_slice(content);
    out.resize(out.len().next_multiple_of(512), 0);
    out
}

fn whole(name: &str, kind: EntryType, content: &[u8]) -> Vec<u8> {
    entry(name, kind, content.len() as u64, content)
}

fn pax(key: &str, value: &str) -> Vec<u8> {
    let rest = format!(" {key}={value}\n");
    let mut length = rest.len() + 1;
    while format!("{length}{rest}").len() != length {
        length = format!("{length}{rest}").len();
    }
    whole("pax", EntryType::XHeader, format!("{length}{rest}").as_bytes())
}

/// A file after records about it.
fn file(records: &[Vec<u8>]) -> Vec<u8> {
    gzip(&[records.concat(), whole("file", EntryType::Regular, b"x"), vec![0; 1024]].concat())
}

fn seeds() -> Vec<Vec<u8>> {
    let long = "long/".repeat(30);
    let one = whole("a/b", EntryType::Regular, b"content");
    vec![
        gzip(&[whole("d/", EntryType::Directory, b""), one.clone(), vec![0; 1024]].concat()),
        file(&[pax("path", &format!("{long}ä"))]),
        file(&[whole("L", EntryType::GNULongName, format!("{long}x\0").as_bytes())]),
        [gzip(&one[..600]), gzip(&[&one[600..], &[0; 1024]].concat())].concat(),
    ]
}

/// Numbered entries.
fn many(count: usize, name: &str, kind: EntryType) -> Vec<u8> {
    let mut out = Vec::new();
    for number in 0..count {
        out.extend(whole(&name.replace("{n}", &number.to_string()), kind, b""));
    }
    gzip(&out)
}

/// A sparse file with many holes.
fn sparse() -> Vec<u8> {
    let mut out = entry("s", EntryType::GNUSparse, 0, b"");
    if let Some(extended) = out.get_mut(482) {
        *extended = 1;
    }
    let mut block = Vec::new();
    for _ in 0..21 {
        block.extend(b"00000000001\0");
        block.extend(b"00000000000\0");
    }
    block.resize(504, 0);
    block.push(1);
    block.resize(512, 0);
    out.extend(block.repeat(8000));
    gzip(&out)
}

fn hostile() -> Vec<Hostile> {
    let deep = "d/".repeat(32_768);
    let long = "n".repeat(1 << 20);
    let deep_names: Vec<u8> = (0..3000)
        .flat_map(|number| {
            let path = format!("{}{number}", "dddddddddddddd/".repeat(255));
            [pax("path", &path), whole("f", EntryType::Regular, b"")].concat()
        })
        .collect();
    let fresh_directories: Vec<u8> = (0..1500)
        .flat_map(|number| {
            let path = format!("{number}/{}x", "d/".repeat(254));
            [pax("path", &path), whole("f", EntryType::Regular, b"")].concat()
        })
        .collect();
    let replaced = [whole("a/b", EntryType::Regular, b"x"), whole("a", EntryType::Regular, b"x")]
        .concat()
        .repeat(4000);
    vec![
        ("a path of 32,768 directories in PAX", file(&[pax("path", &deep)])),
        (
            "a path of 32,768 directories by GNU",
            file(&[whole("L", EntryType::GNULongName, deep.as_bytes())]),
        ),
        ("a name of a mebibyte in PAX", file(&[pax("path", &long)])),
        (
            "a name of a mebibyte by GNU",
            file(&[whole("L", EntryType::GNULongName, long.as_bytes())]),
        ),
        ("a record of 4 MiB", file(&[whole("x", EntryType::XHeader, &vec![b' '; 4 << 20])])),
        (
            "a million small records",
            file(&[whole("x", EntryType::XHeader, &b"6 a=b\n".repeat(170_000))]),
        ),
        ("records without end", gzip(&pax("path", "x").repeat(4000))),
        ("a PAX size of 8 EiB", file(&[pax("size", "9223372036854775807")])),
        ("a PAX size of another file", file(&[pax("size", "1024")])),
        ("a header that says 8 GiB", gzip(&entry("f", EntryType::Regular, 8 << 30, b"x"))),
        ("30,000 empty files", many(30_000, "f{n}", EntryType::Regular)),
        ("30,000 directories", many(30_000, "d{n}/", EntryType::Directory)),
        ("30,000 links", many(30_000, "l{n}", EntryType::Symlink)),
        ("3000 files, 255 deep, in one place", gzip(&deep_names)),
        ("1500 files, each 255 deep on its own", gzip(&fresh_directories)),
        ("a file and a directory that replace each other", gzip(&replaced)),
        ("a sparse file of 160,000 holes", sparse()),
        ("a sparse file in PAX", file(&[pax("GNU.sparse.map", &"0,1,".repeat(100_000))])),
        ("500 MiB of zeros after the end", gzip_zeros(500)),
        (
            "a file of 300 MiB of zeros",
            [gzip(&entry("z", EntryType::Regular, 300 << 20, b"")), gzip_zeros(300)].concat(),
        ),
        ("gzip of 30,000 empty members", gzip(b"").repeat(30_000)),
        (
            "a gzip header without end",
            [&[0x1f, 0x8b, 8, 8, 0, 0, 0, 0, 0, 3][..], &vec![b'n'; 1 << 20]].concat(),
        ),
        ("two dots", gzip(&whole("a/../../b", EntryType::Regular, b"x"))),
    ]
}
