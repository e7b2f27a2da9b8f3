//! Packfiles, and the checkout of a tree in them. An input is the name of the tree, then the pack.

use sluice_source::git::{GitLimits, ObjectId, ObjectKind, Objects, checkout, pack};

use crate::make::{reason, zlib, zlib_zeros};
use crate::{Format, Hostile, Outcome};

pub(super) const FORMAT: Format = Format { name: "git pack", parse, seeds, hostile };

fn parse(input: &[u8]) -> Outcome {
    let (root, packed) = input.split_at_checked(20).ok_or("no root")?;
    let root = ObjectId::from_bytes(root).ok_or("no root")?;
    let objects = pack::read(packed, GitLimits::default()).map_err(reason)?;
    checkout(&objects, root, &[]).map_err(reason)?;
    checkout(&objects, root, &["d/a".to_owned()]).map(drop).map_err(reason)
}

/// An entry of a pack: its type and what follows the header.
struct Entry {
    code: u8,
    size: u64,
    body: Vec<u8>,
}

fn whole(code: u8, data: &[u8]) -> Entry {
    Entry { code, size: data.len() as u64, body: zlib(data) }
}

fn delta(base: &ObjectId, delta: &[u8]) -> Entry {
    let body = [base.as_bytes().as_slice(), &zlib(delta)].concat();
    Entry { code: 7, size: delta.len() as u64, body }
}

fn varint(mut value: u64) -> Vec<u8> {
    let mut out = Vec::new();
    while value > 0x7f {
        out.push(0x80 | u8::try_from(value & 0x7f).unwrap_or_default());
        value >>= 7;
    }
    out.push(u8::try_from(value).unwrap_or_default());
    out
}

/// A difference that copies the first bytes of its base several times.
fn copies(base: u64, count: u64, each: u64) -> Vec<u8> {
    let mut out = [varint(base), varint(count * each)].concat();
    for _ in 0..count {
        let mut left = each;
        while left > 0 {
            let size = left.min(0xff_ffff);
            out.push(0xf0);
            out.extend(size.to_le_bytes().get(..3).unwrap_or_default());
            left -= size;
        }
    }
    out
}

fn packed(root: &ObjectId, entries: &[Entry]) -> Vec<u8> {
    counted(root, entries, u32::try_from(entries.len()).unwrap_or(u32::MAX))
}

fn counted(root: &ObjectId, entries: &[Entry], count: u32) -> Vec<u8> {
    let mut out = [b"PACK".as_slice(), &2_u32.to_be_bytes(), &count.to_be_bytes()].concat();
    for entry in entries {
        let low = u8::try_from(entry.size & 15).unwrap_or_default();
        let rest = entry.size >> 4;
        if rest > 0 {
            out.push(0x80 | entry.code << 4 | low);
            out.extend(varint(rest));
        } else {
            out.push(entry.code << 4 | low);
        }
        out.extend_from_slice(&entry.body);
    }
    let sum = ring::digest::digest(&ring::digest::SHA1_FOR_LEGACY_USE_ONLY, &out);
    [root.as_bytes(), out.as_slice(), sum.as_ref()].concat()
}

fn tree(entries: &[(&str, String, ObjectId)]) -> Vec<u8> {
    let mut data = Vec::new();
    for (mode, name, id) in entries {
        data.extend(format!("{mode} {name}\0").bytes());
        data.extend(id.as_bytes());
    }
    data
}

/// A blob, and trees above it: each names the one before as often as it says.
fn towers(blob: &[u8], mode: &'static str, widths: &[usize], name: &str) -> Vec<u8> {
    let mut entries = vec![whole(3, blob)];
    let (mut id, mut mode) = (ObjectId::of(ObjectKind::Blob, blob), mode);
    for width in widths {
        let children: Vec<_> =
            (0..*width).map(|number| (mode, format!("{name}{number}"), id)).collect();
        let data = tree(&children);
        id = ObjectId::of(ObjectKind::Tree, &data);
        entries.push(whole(2, &data));
        mode = "40000";
    }
    packed(&id, &entries)
}

fn seeds() -> Vec<Vec<u8>> {
    let mut objects = Objects::default();
    let blob = objects.insert(ObjectKind::Blob, "some content\n");
    let inner = objects.insert(ObjectKind::Tree, tree(&[("100644", "a".to_owned(), blob)]));
    let children = [("120000", "b".to_owned(), blob), ("40000", "d".to_owned(), inner)];
    let data = tree(&children);
    let root = ObjectId::of(ObjectKind::Tree, &data);
    let inner = tree(&[("100644", "a".to_owned(), blob)]);
    let grown = copies(13, 2, 13);
    vec![
        packed(&root, &[whole(2, &data), whole(2, &inner), whole(3, b"some content\n")]),
        packed(
            &root,
            &[whole(3, b"some content\n"), delta(&blob, &grown), whole(2, &inner), whole(2, &data)],
        ),
        towers(b"x", "100755", &[3, 3], "d"),
    ]
}

/// Each object is its base twice over.
fn doubling(start: usize, levels: u32) -> Vec<u8> {
    let first = vec![0; start];
    let mut entries = vec![Entry { code: 3, size: start as u64, body: zlib(&first) }];
    let mut id = ObjectId::of(ObjectKind::Blob, &first);
    for level in 0..levels {
        let size = (start as u64) << level;
        entries.push(delta(&id, &copies(size, 2, size)));
        // Names of objects too large to be made here are of no use: the reader has to stop before it needs them.
        if size < 4 << 20 {
            id = ObjectId::of(ObjectKind::Blob, &vec![0; usize::try_from(size * 2).unwrap_or(0)]);
        }
    }
    packed(&id, &entries)
}

fn hostile() -> Vec<Hostile> {
    let nothing = ObjectId::of(ObjectKind::Blob, b"");
    let mebibyte = vec![0; 1 << 20];
    let base = ObjectId::of(ObjectKind::Blob, &mebibyte);
    let wide: Vec<Entry> = std::iter::once(whole(3, &mebibyte))
        .chain((0..900_u32).map(|number| {
            let mut ops = copies(1 << 20, 1, 1 << 20);
            // Another object each: four bytes of its own behind the copy.
            ops = [varint(1 << 20), varint((1 << 20) + 4), ops.split_off(6)].concat();
            ops.push(4);
            ops.extend(number.to_be_bytes());
            delta(&base, &ops)
        }))
        .collect();
    let chain: Vec<Entry> = {
        let mut entries = vec![whole(3, b"0000")];
        let mut id = ObjectId::of(ObjectKind::Blob, b"0000");
        for number in 1..5000 {
            let data = format!("{number:04}");
            let ops = [varint(4), varint(4), vec![4], data.clone().into_bytes()].concat();
            entries.push(delta(&id, &ops));
            id = ObjectId::of(ObjectKind::Blob, data.as_bytes());
        }
        entries
    };
    let claim = |size: u64, body: Vec<u8>| packed(&nothing, &[Entry { code: 3, size, body }]);
    let many: Vec<Entry> = (0..20_000_u32).map(|number| whole(3, &number.to_be_bytes())).collect();
    let self_offset = Entry { code: 6, size: 3, body: [vec![0], zlib(b"abc")].concat() };
    let far_offset = Entry { code: 6, size: 3, body: [vec![0xff; 12], zlib(b"abc")].concat() };
    vec![
        ("deltas that double, forty times", doubling(64, 40)),
        ("deltas that double a mebibyte", doubling(1 << 20, 9)),
        ("900 deltas that copy a mebibyte", packed(&nothing, &wide)),
        ("5000 deltas in a row", packed(&nothing, &chain)),
        ("a blob of 200 MiB of zeros", claim(200 << 20, zlib_zeros(200))),
        ("a blob that is longer than it says", claim(10, zlib_zeros(64))),
        ("a blob that says 16 EiB", claim(u64::MAX, zlib(b"x"))),
        ("a blob that says 255 MiB and has none", claim(255 << 20, zlib(b"x"))),
        ("a size that never ends", claim(0, vec![0xff; 1 << 16])),
        ("four billion objects announced", counted(&nothing, &[whole(3, b"x")], u32::MAX)),
        ("two million objects announced", counted(&nothing, &[whole(3, b"x")], 2_000_000)),
        ("20,000 tiny objects", packed(&nothing, &many)),
        ("a delta on itself", packed(&nothing, &[self_offset])),
        ("a delta far before the pack", packed(&nothing, &[far_offset])),
        (
            "a delta that promises a gibibyte",
            packed(
                &nothing,
                &[
                    whole(3, b"base"),
                    delta(
                        &ObjectId::of(ObjectKind::Blob, b"base"),
                        &[varint(4), varint(1 << 30)].concat(),
                    ),
                ],
            ),
        ),
        (
            "a delta that copies beyond its base",
            packed(
                &nothing,
                &[
                    whole(3, b"base"),
                    delta(&ObjectId::of(ObjectKind::Blob, b"base"), &copies(4, 1, 1 << 16)),
                ],
            ),
        ),
        ("trees of a billion files", towers(b"", "100644", &[1000, 1000, 1000], "f")),
        ("trees of a thousand deep paths", towers(b"", "100644", &[1; 1000], "d")),
        (
            "trees of 64 MiB of names",
            towers(b"", "100644", &[200, 200, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1], &"n".repeat(250)),
        ),
        ("a name of a mebibyte", towers(b"", "100644", &[1], &"n".repeat(1 << 20))),
        ("a blob of a mebibyte named 5000 times", towers(&mebibyte, "100644", &[5000], "f")),
        ("a link of a mebibyte named 5000 times", towers(&mebibyte, "120000", &[5000], "l")),
        ("a binary tree of depth 60", towers(b"", "100644", &[2; 60], "t")),
    ]
}
