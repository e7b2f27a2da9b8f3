//! Archives there and back, and archives that want to do harm.

use flate2::Compression;
use flate2::write::GzEncoder;
use proptest::prelude::*;

use super::*;

fn tree(files: &[(&str, &str)]) -> SourceTree {
    files.iter().map(|(path, text)| ((*path).to_owned(), Bytes::from((*text).to_owned()))).collect()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).expect("memory takes it");
    encoder.finish().expect("memory takes it")
}

/// A tar of one entry whose name is written as it is, which the library would refuse to do.
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
    // Unpacking makes the directory anew for the file in it.
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
