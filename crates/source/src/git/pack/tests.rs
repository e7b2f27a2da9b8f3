//! Round trips, and hostile packfiles.

use proptest::prelude::*;

use super::*;
use crate::git::object::Object;

/// An entry of a pack: a whole object, or a delta to an earlier entry.
enum Entry {
    Whole(ObjectKind, Vec<u8>),
    OffsetDelta { base: usize, delta: Vec<u8> },
    IdDelta { base: ObjectId, delta: Vec<u8> },
}

fn pack(entries: &[Entry]) -> Vec<u8> {
    let mut pack = b"PACK\0\0\0\x02".to_vec();
    pack.extend_from_slice(&u32::try_from(entries.len()).expect("few").to_be_bytes());
    let mut offsets = Vec::new();
    for entry in entries {
        offsets.push(pack.len());
        let data = match entry {
            Entry::Whole(kind, data) => {
                let object = Object { kind: *kind, data: data.clone().into() };
                let one = write([object].iter()).expect("memory takes it");
                pack.extend_from_slice(&one[12..one.len() - 20]);
                continue;
            }
            Entry::OffsetDelta { base, delta } => {
                let start = pack.len();
                write::write_header(&mut pack, 6, delta.len());
                let mut back = start - offsets[*base];
                let mut bytes = vec![u8::try_from(back & 0x7f).expect("seven bits")];
                while back >> 7 > 0 {
                    back = (back >> 7) - 1;
                    bytes.push(u8::try_from(back & 0x7f).expect("seven bits") | 0x80);
                }
                pack.extend(bytes.iter().rev());
                delta
            }
            Entry::IdDelta { base, delta } => {
                write::write_header(&mut pack, 7, delta.len());
                pack.extend_from_slice(base.as_bytes());
                delta
            }
        };
        pack = write::deflate(pack, data).expect("memory takes it");
    }
    seal(pack)
}

fn seal(mut pack: Vec<u8>) -> Vec<u8> {
    let digest = ring::digest::digest(&ring::digest::SHA1_FOR_LEGACY_USE_ONLY, &pack);
    pack.extend_from_slice(digest.as_ref());
    pack
}

fn number(out: &mut Vec<u8>, mut size: usize) {
    while size > 0x7f {
        out.push(u8::try_from(size & 0x7f).expect("seven bits") | 0x80);
        size >>= 7;
    }
    out.push(u8::try_from(size).expect("seven bits"));
}

/// A delta that copies the base's first half and inserts something.
fn delta(base: &[u8], insert: &[u8]) -> (Vec<u8>, Vec<u8>) {
    let half = base.len() / 2;
    let mut out = Vec::new();
    number(&mut out, base.len());
    number(&mut out, half + insert.len());
    if half > 0 {
        let low = u8::try_from(half & 0xff).expect("a byte");
        let high = u8::try_from(half >> 8).expect("a byte");
        out.extend_from_slice(&[0x80 | 0x10 | 0x20, low, high]);
    }
    for piece in insert.chunks(127) {
        out.push(u8::try_from(piece.len()).expect("a piece"));
        out.extend_from_slice(piece);
    }
    ([&base[..half], insert].concat(), out)
}

fn read_all(pack: &[u8]) -> Result<Objects, Cause> {
    read(pack, GitLimits::default())
}

proptest! {
    #[test]
    fn objects_come_back_from_a_pack(contents in proptest::collection::vec(any::<Vec<u8>>(), 0..8)) {
        let objects: Vec<Object> = contents
            .into_iter()
            .map(|data| Object { kind: ObjectKind::Blob, data: data.into() })
            .collect();
        let found = read_all(&write(objects.iter()).expect("memory takes it")).expect("a pack");
        for object in &objects {
            let id = ObjectId::of(object.kind, &object.data);
            prop_assert_eq!(found.get(&id), Some(object));
        }
    }

    #[test]
    fn chains_of_deltas_come_out_as_what_they_stand_for(
        base in proptest::collection::vec(any::<u8>(), 1..2000),
        inserts in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 1..300), 1..8),
        by_id in any::<bool>(),
    ) {
        let mut entries = vec![Entry::Whole(ObjectKind::Blob, base.clone())];
        let mut last = base;
        let mut expected = vec![last.clone()];
        for (index, insert) in inserts.iter().enumerate() {
            let (result, delta) = delta(&last, insert);
            let base = ObjectId::of(ObjectKind::Blob, &last);
            entries.push(if by_id {
                Entry::IdDelta { base, delta }
            } else {
                Entry::OffsetDelta { base: index, delta }
            });
            expected.push(result.clone());
            last = result;
        }
        // A base that is named by its id may come after its deltas.
        if by_id {
            entries.reverse();
        }
        let objects = read_all(&pack(&entries)).expect("a pack");
        for content in expected {
            prop_assert!(objects.contains(&ObjectId::of(ObjectKind::Blob, &content)));
        }
    }

    #[test]
    fn damage_is_an_error_and_never_a_panic(at in 0_usize..200, bit in 0_u8..8, cut in any::<bool>()) {
        let (_, delta) = delta(b"some base content that is long enough", b"inserted");
        let mut bytes = pack(&[
            Entry::Whole(ObjectKind::Blob, b"some base content that is long enough".to_vec()),
            Entry::OffsetDelta { base: 0, delta },
        ]);
        let at = at % bytes.len();
        if cut { bytes.truncate(at) } else { bytes[at] ^= 1 << bit }
        prop_assert!(read_all(&bytes).is_err());
    }

    #[test]
    fn a_resealed_damage_never_panics(at in 12_usize..200, bit in 0_u8..8) {
        let (_, delta) = delta(b"some base content that is long enough", b"inserted");
        let mut bytes = pack(&[
            Entry::Whole(ObjectKind::Blob, b"some base content that is long enough".to_vec()),
            Entry::OffsetDelta { base: 0, delta },
        ]);
        bytes.truncate(bytes.len() - 20);
        let at = at % bytes.len();
        bytes[at] ^= 1 << bit;
        let _ = read_all(&seal(bytes));
    }
}

#[test]
fn a_delta_whose_base_never_comes_is_an_error() {
    let (_, delta) = delta(b"elsewhere", b"x");
    let base = ObjectId::of(ObjectKind::Blob, b"elsewhere");
    assert!(read_all(&pack(&[Entry::IdDelta { base, delta }])).is_err());
}

#[test]
fn a_delta_that_blows_up_is_refused_before_it_is_made() {
    // Thirteen bytes that claim a result of two gigabytes.
    let mut bomb = Vec::new();
    number(&mut bomb, 4);
    number(&mut bomb, 2 << 30);
    let entries = [
        Entry::Whole(ObjectKind::Blob, b"base".to_vec()),
        Entry::OffsetDelta { base: 0, delta: bomb },
    ];
    assert!(matches!(read_all(&pack(&entries)), Err(Cause::TooLarge { .. })));
}

#[test]
fn limits_hold() {
    let zeros = [Entry::Whole(ObjectKind::Blob, vec![0; 1 << 20])];
    let bytes = pack(&zeros);
    let cases = [
        GitLimits { pack_bytes: 10, ..GitLimits::default() },
        GitLimits { objects: 0, ..GitLimits::default() },
        GitLimits { object_bytes: 1 << 10, ..GitLimits::default() },
        GitLimits { total_bytes: 1 << 10, ..GitLimits::default() },
    ];
    for limits in cases {
        assert!(matches!(read(&bytes, limits), Err(Cause::TooLarge { .. })), "{limits:?}");
    }
    let (_, one) = delta(b"aa", b"bb");
    let deep = [
        Entry::Whole(ObjectKind::Blob, b"aa".to_vec()),
        Entry::OffsetDelta { base: 0, delta: one },
    ];
    let limits = GitLimits { delta_depth: 0, ..GitLimits::default() };
    assert!(matches!(read(&pack(&deep), limits), Err(Cause::TooLarge { .. })));
}
