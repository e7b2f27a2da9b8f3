//! Round trips, and hostile archives.

use flate2::Compression;
use flate2::write::GzEncoder;
use proptest::prelude::*;

use super::*;
use crate::tree::TreeError;

fn tree(files: &[(&str, &str)]) -> SourceTree {
    files.iter().map(|(path, text)| ((*path).to_owned(), Bytes::from((*text).to_owned()))).collect()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).expect("memory takes it");
    encoder.finish().expect("memory takes it")
}

/// A tar of one entry with a name that the library would reject.
fn raw_entry(name: &str, kind: EntryType, content: &[u8]) -> Vec<u8> {
    let mut header = Header::new_ustar();
    header.as_mut_bytes()[..name.len()].copy_from_slice(name.as_bytes());
    header.set_entry_type(kind);
    header.set_mode(0o644);
    header.set_size(content.len() as u64);
    header.set_cksum();
    let mut builder = Builder::new(Vec::new());
    builder.append(&header, content).expect("memory takes it");
    builder.into_inner().expect("memory takes it")
}

#[test]
fn an_archive_has_fixed_modes_no_times_and_the_order_of_a_walk() {
    let mut tree = tree(&[("a.b", "1"), ("a/x", "2")]);
    tree.insert("run", Node::File { content: "3".into(), executable: true }).expect("inside");
    tree.insert("link", Node::Link { target: "/etc/passwd".into() }).expect("inside");
    let packed = pack(&tree, |_, _| false).expect("packs");
    assert_eq!(packed, pack(&tree, |_, _| false).expect("packs"));
    let mut archive = tar::Archive::new(flate2::read::GzDecoder::new(&packed[..]));
    let entries: Vec<(String, u32, u64)> = archive
        .entries()
        .expect("reads")
        .map(|entry| {
            let entry = entry.expect("reads");
            let header = entry.header();
            let name = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
            (name, header.mode().expect("a mode"), header.mtime().expect("a time"))
        })
        .collect();
    let expected = [(".", 0o750), ("a", 0o750), ("a/x", 0o600), ("a.b", 0o600), ("run", 0o700)];
    assert_eq!(entries, expected.map(|(name, mode)| (name.to_owned(), mode, 0)));
}

#[test]
fn a_skipped_directory_does_not_take_its_files_along() {
    let packed = pack(&tree(&[("a/x", ""), ("b", "")]), |path, _| path == "a").expect("packs");
    let back = unpack(&packed, ArchiveLimits::default()).expect("unpacks");
    // Unpacking creates the directory of the file.
    assert_eq!(back.iter().map(|(path, _)| path).collect::<Vec<_>>(), ["a", "a/x", "b"]);
}

#[test]
fn paths_that_leave_the_tree_are_refused() {
    for name in ["../evil", "/etc/evil", "a/../../evil"] {
        let packed = gzip(&raw_entry(name, EntryType::Regular, b"x"));
        let outcome = unpack(&packed, ArchiveLimits::default());
        assert!(matches!(outcome, Err(ArchiveError::Entry(_))), "{name}: {outcome:?}");
    }
}

#[test]
fn links_are_left_out_and_never_written_through() {
    let mut builder = Builder::new(Vec::new());
    let mut header = Header::new_ustar();
    header.set_entry_type(EntryType::Symlink);
    header.set_size(0);
    builder.append_link(&mut header, "out", "/tmp").expect("memory takes it");
    append(&mut builder, "out/evil", EntryType::Regular, 0o600, b"x").expect("memory takes it");
    let packed = gzip(&builder.into_inner().expect("memory takes it"));
    let back = unpack(&packed, ArchiveLimits::default()).expect("unpacks");
    assert_eq!(back.get("out"), Some(&Node::Directory));
}

#[test]
fn a_bomb_is_refused_while_it_is_still_small() {
    let zeros = vec![0; 20 << 20];
    let packed = gzip(&raw_entry("zeros", EntryType::Regular, &zeros));
    let outcome = unpack(&packed, ArchiveLimits::default());
    assert!(matches!(outcome, Err(ArchiveError::TooLarge { .. })), "{outcome:?}");
    let few = ArchiveLimits { entries: 2, ..ArchiveLimits::default() };
    let many = pack(&tree(&[("a", ""), ("b", "")]), |_, _| false).expect("packs");
    assert!(matches!(unpack(&many, few), Err(ArchiveError::TooLarge { what: "entries", .. })));
}

#[test]
fn a_truncated_archive_is_an_error() {
    let packed = pack(&tree(&[("a", "some text"), ("b", "more")]), |_, _| false).expect("packs");
    for length in 0..packed.len() {
        assert!(unpack(&packed[..length], ArchiveLimits::default()).is_err(), "{length}");
    }
}

/// A PAX record of a key and a value.
fn pax(pairs: &[(&str, &str)]) -> Vec<u8> {
    let mut builder = Builder::new(Vec::new());
    let pairs = pairs.iter().map(|(key, value)| (*key, value.as_bytes()));
    builder.append_pax_extensions(pairs).expect("memory takes it");
    let mut bytes = builder.into_inner().expect("memory takes it");
    // Without the end of the archive.
    bytes.truncate(bytes.len() - 1024);
    bytes
}

#[test]
fn one_deep_path_of_a_pax_record_makes_no_nodes() {
    let path = vec!["d"; 32_768].join("/");
    let entry = raw_entry("short", EntryType::Regular, b"x");
    let packed = gzip(&[pax(&[("path", &path)]), entry].concat());
    assert!(packed.len() < 1000, "{}", packed.len());
    let outcome = unpack(&packed, ArchiveLimits::default());
    assert!(matches!(outcome, Err(ArchiveError::Entry(TreeError::Limit(_)))), "{outcome:?}");
}

#[test]
fn records_are_read_as_go_reads_them() {
    let long = format!("long/{}", "n".repeat(150));
    let (two_paths, empty, newline) =
        ([("path", "first"), ("path", "last")], [("path", "")], [("path", "a\nb")]);
    for (records, expected) in [
        (pax(&two_paths), Some("last")),
        (pax(&empty), Some("short")),
        (pax(&newline), Some("a\nb")),
        (pax(&[("size", "1")]), Some("short")),
        // Two readers would see different files.
        (pax(&[("size", "512")]), None),
        (pax(&[("GNU.sparse.major", "1")]), None),
        (raw_record(EntryType::GNULongName, format!("{long}\0").as_bytes()), Some(long.as_str())),
        (raw_record(EntryType::XHeader, b"99 path=x\n"), None),
        (raw_record(EntryType::GNULongName, &vec![b'a'; 2 << 20]), None),
    ] {
        let entry = raw_entry("short", EntryType::Regular, b"x");
        let outcome = unpack_tar(&[records, entry].concat()[..], ArchiveLimits::default());
        match expected {
            Some(path) => {
                assert_eq!(outcome.expect(path).read(path).map(|it| &it[..]), Some(&b"x"[..]));
            }
            None => assert!(outcome.is_err(), "{outcome:?}"),
        }
    }
    let sparse = raw_entry("holes", EntryType::GNUSparse, b"");
    let outcome = unpack_tar(&sparse[..], ArchiveLimits::default());
    assert!(matches!(outcome, Err(ArchiveError::Sparse)), "{outcome:?}");
}

fn raw_record(kind: EntryType, content: &[u8]) -> Vec<u8> {
    let mut bytes = raw_entry("record", kind, content);
    bytes.truncate(bytes.len() - 1024);
    bytes
}

#[test]
fn members_of_gzip_are_read_as_one_stream() {
    let whole = raw_entry("a", EntryType::Regular, b"some text");
    let (one, two) = whole.split_at(515);
    let mut packed = [gzip(one), gzip(two)].concat();
    for end in [&b""[..], b"bytes that are no member"] {
        packed.extend_from_slice(end);
        let tree = unpack(&packed, ArchiveLimits::default()).expect("unpacks");
        assert_eq!(tree.read("a").map(|it| &it[..]), Some(&b"some text"[..]));
    }
    // The limit is for all members together.
    let zeros = gzip(&vec![0; 1 << 20]);
    let bomb = [gzip(&whole[..512]), zeros.repeat(20)].concat();
    let outcome = unpack(&bomb, ArchiveLimits { unpacked: 1 << 20, ..ArchiveLimits::default() });
    assert!(matches!(outcome, Err(ArchiveError::TooLarge { .. })), "{outcome:?}");
}

#[cfg(unix)]
fn plant_above(out: &std::path::Path, away: &std::path::Path) -> io::Result<()> {
    std::fs::remove_dir(out.join("a"))?;
    std::os::unix::fs::symlink(away, out.join("a"))
}

#[cfg(unix)]
#[test]
fn nothing_in_the_output_directory_is_followed() {
    use std::os::unix::fs::symlink;

    type Plant = fn(&std::path::Path, &std::path::Path) -> io::Result<()>;
    let cases: [(&str, Plant, bool); 7] = [
        ("a link to a file", |out, away| symlink(away.join("file"), out.join("a/f")), true),
        ("a link to nothing", |out, away| symlink(away.join("new"), out.join("a/f")), true),
        ("a hard link", |out, away| std::fs::hard_link(away.join("file"), out.join("a/f")), true),
        ("a link above", |out, away| plant_above(out, away), false),
        (
            "a relative link above",
            |out, _| plant_above(out, std::path::Path::new("../away")),
            false,
        ),
        (
            "a file above",
            |out, _| {
                std::fs::remove_dir(out.join("a"))?;
                std::fs::write(out.join("a"), "file")
            },
            false,
        ),
        ("a directory in its place", |out, _| std::fs::create_dir(out.join("a/f")), false),
    ];
    let packed = pack(&tree(&[("a/f", "content")]), |_, _| false).expect("packs");
    for (name, plant, passes) in cases {
        let root = tempfile::tempdir().expect("a directory");
        let (out, away) = (root.path().join("out"), root.path().join("away"));
        std::fs::create_dir_all(out.join("a")).expect("made");
        std::fs::create_dir(&away).expect("made");
        std::fs::write(away.join("file"), "untouched").expect("written");
        plant(&out, &away).expect(name);
        let outcome = unpack_over(&packed, ArchiveLimits::default(), &out);
        assert_eq!(outcome.is_ok(), passes, "{name}: {outcome:?}");
        if passes {
            assert_eq!(std::fs::read_to_string(out.join("a/f")).expect(name), "content");
            assert!(!out.join("a/f").is_symlink(), "{name}");
        }
        let names: Vec<_> = std::fs::read_dir(&away).expect(name).collect();
        assert_eq!(names.len(), 1, "{name}: something was written outside");
        assert_eq!(std::fs::read_to_string(away.join("file")).expect(name), "untouched", "{name}");
    }
}

proptest! {
    #[test]
    fn what_is_packed_comes_back(
        files in proptest::collection::btree_map("[a-c]{1,2}(/[a-c.é ]{1,60}){0,4}", any::<Vec<u8>>(), 0..12),
    ) {
        let tree: SourceTree =
            files.into_iter().map(|(path, content)| (path, Bytes::from(content))).collect();
        let packed = pack(&tree, |_, _| false).expect("packs");
        prop_assert_eq!(unpack(&packed, ArchiveLimits::default()).expect("unpacks"), tree);
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
        let _ = unpack(&bytes, ArchiveLimits::default());
        let _ = unpack(&gzip(&bytes), ArchiveLimits::default());
        let _ = unpack_tar(&bytes[..], ArchiveLimits::default());
    }
}
