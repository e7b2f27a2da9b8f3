//! Tests that all stores pass.

use std::sync::Arc;

use bytes::Bytes;
use jiff::Timestamp;
use object_store::memory::InMemory;
use sluice_base::clock::{Clock, Frozen};

use super::*;

fn place(file: &str) -> ArtifactPath {
    ArtifactPath::new("GitRepository", "apps", "web", file).expect("plain names")
}

/// All stores, at a time well after anything was written.
fn stores() -> (Vec<Box<dyn ArtifactStore>>, tempfile::TempDir) {
    let directory = tempfile::tempdir().expect("a directory");
    let later: Arc<dyn Clock> = Arc::new(Frozen(Timestamp::now()));
    let disk = DiskStore::new(directory.path().join("one"), Arc::clone(&later));
    let far = || RemoteStore::new(Arc::new(InMemory::new()), Arc::clone(&later));
    let near = DiskStore::new(directory.path().join("two"), Arc::clone(&later));
    let mirrored = MirroredStore::new(Arc::new(near), far());
    let memory = MemoryStore::new(Arc::clone(&later));
    let all: Vec<Box<dyn ArtifactStore>> =
        vec![Box::new(disk), Box::new(memory), Box::new(far()), Box::new(mirrored)];
    (all, directory)
}

/// The content as the server would send it.
async fn read(store: &dyn ArtifactStore, path: &str) -> Bytes {
    let served = store.open(path).await.expect("there");
    let (size, content) = (served.size, served.content.read().await.expect("read"));
    assert_eq!(size, content.len() as u64);
    content
}

#[tokio::test]
async fn a_content_is_written_once_and_read_with_its_digest() {
    let (stores, _directory) = stores();
    for store in &stores {
        let first = store.put(&place("a.tar.gz"), Bytes::from("one")).await.expect("stored");
        assert!(first.written);
        let again = store.put(&place("a.tar.gz"), Bytes::from("one")).await.expect("stored");
        assert_eq!(again, Stored { written: false, ..first.clone() });
        let path = place("a.tar.gz").path();
        assert_eq!(store.get(&path, &first.digest).await.expect("there"), "one");
        let second = store.put(&place("a.tar.gz"), Bytes::from("two")).await.expect("stored");
        assert!(second.written);
        assert_eq!(read(&**store, &path).await, "two");
    }
}

#[tokio::test]
async fn another_digest_is_corruption_and_what_is_stored_again_replaces_it() {
    let (stores, _directory) = stores();
    for store in &stores {
        store.put(&place("a"), Bytes::from("tampered")).await.expect("stored");
        let digest = Digest::of(crate::artifact::DigestAlgorithm::Sha256, b"original");
        let path = place("a").path();
        let error = store.get(&path, &digest).await.expect_err("corrupt");
        assert!(matches!(error, StoreError::Corrupt { .. }), "{error}");
        assert_eq!(read(&**store, &path).await, "tampered", "still there");
        assert!(store.put(&place("a"), Bytes::from("original")).await.expect("stored").written);
        assert_eq!(store.get(&path, &digest).await.expect("mended"), "original");
    }
}

#[tokio::test]
async fn an_alias_follows_its_target_and_collection_spares_it() {
    let (stores, _directory) = stores();
    for store in &stores {
        for file in ["one", "two", "three"] {
            store.put(&place(file), Bytes::from(file)).await.expect("stored");
            store.alias(&place("latest"), &place(file)).await.expect("named");
        }
        let latest = place("latest").path();
        assert_eq!(read(&**store, &latest).await, "three");
        let retention = Retention { records: 1, ..Retention::default() };
        let mut gone = store.collect(&place("three"), retention).await.expect("collected");
        gone.sort();
        assert_eq!(gone, [place("one").path(), place("two").path()]);
        assert_eq!(read(&**store, &latest).await, "three");
        assert!(store.remove(&place("three")).await.expect("removed"));
        assert!(!store.remove(&place("three")).await.expect("gone already"));
    }
}

#[tokio::test]
async fn paths_outside_the_layout_are_refused() {
    let (stores, directory) = stores();
    for root in ["one", "two"] {
        std::fs::create_dir_all(directory.path().join(root)).expect("made");
        std::fs::write(directory.path().join(root).join("secret"), "x").expect("written");
    }
    for store in &stores {
        for path in ["secret", "/etc/passwd", "a/b/../../secret", "a/b/c/.."] {
            assert!(store.open(path).await.is_err(), "{path}");
        }
    }
}

#[cfg(unix)]
#[tokio::test]
async fn a_link_that_leaves_the_directory_is_not_followed() {
    let directory = tempfile::tempdir().expect("a directory");
    let store = DiskStore::new(directory.path(), Arc::new(Frozen(Timestamp::now())));
    store.put(&place("a"), Bytes::from("x")).await.expect("stored");
    let link = directory.path().join("gitrepository/apps/web/evil");
    std::os::unix::fs::symlink("/etc/hostname", link).expect("linked");
    assert!(store.open(&place("evil").path()).await.is_err());
}

#[tokio::test]
async fn an_artifact_beyond_the_limit_is_refused() {
    let directory = tempfile::tempdir().expect("a directory");
    let clock: Arc<dyn Clock> = Arc::new(Frozen(Timestamp::now()));
    let algorithm = crate::artifact::DigestAlgorithm::Sha256;
    let store = DiskStore::with_limits(directory.path(), clock, algorithm, 3);
    let error = store.put(&place("a"), Bytes::from("four")).await.expect_err("too large");
    assert!(matches!(error, StoreError::TooLarge { size: 4, limit: 3 }), "{error}");
}

#[tokio::test]
async fn a_mirror_outlives_what_is_near() {
    let clock: Arc<dyn Clock> = Arc::new(Frozen(Timestamp::now()));
    let bucket = Arc::new(InMemory::new());
    let start = || {
        let near = Arc::new(MemoryStore::new(Arc::clone(&clock)));
        let bucket: Arc<dyn object_store::ObjectStore> = bucket.clone();
        let far = RemoteStore::new(bucket, Arc::clone(&clock));
        (MirroredStore::new(Arc::clone(&near) as _, far), near)
    };
    let (first, _) = start();
    let kept = first.put(&place("a"), Bytes::from("one")).await.expect("stored");
    first.alias(&place("latest"), &place("a")).await.expect("named");
    let (second, near) = start();
    assert_eq!(read(&second, &place("latest").path()).await, "one");
    assert_eq!(second.get(&place("a").path(), &kept.digest).await.expect("there"), "one");
    assert_eq!(near.paths(), [place("a").path()], "kept for the next time");
    second.put(&place("b"), Bytes::from("two")).await.expect("stored");
    let retention = Retention { records: 1, ..Retention::default() };
    assert_eq!(
        second.collect(&place("b"), retention).await.expect("collected"),
        [place("a").path()]
    );
    let (third, _) = start();
    assert!(third.get(&place("a").path(), &kept.digest).await.is_err(), "gone everywhere");
    assert!(third.remove(&place("b")).await.expect("removed"));
    assert!(second.open(&place("b").path()).await.is_ok(), "the other replica still has its own");
}

#[test]
fn addresses_of_buckets_are_checked() {
    let http = crate::network::Network::new();
    let clock: Arc<dyn Clock> = Arc::new(Frozen(Timestamp::now()));
    let at = |address: &str| {
        RemoteStore::at(address, &http, &std::collections::BTreeMap::new(), Arc::clone(&clock))
    };
    assert!(at("s3://artifacts/flux").is_ok());
    for wrong in ["artifacts", "ftp://artifacts", "s3:///flux"] {
        assert!(at(wrong).is_err(), "{wrong}");
    }
}

#[tokio::test]
async fn an_object_is_not_touched_by_one_whose_name_begins_alike() {
    let (stores, _directory) = stores();
    for store in &stores {
        let longer = ArtifactPath::new("GitRepository", "apps", "web-2", "a").expect("plain");
        let dotted = ArtifactPath::new("GitRepository", "apps", "web.2", "a").expect("plain");
        for place in [&place("a"), &longer, &dotted] {
            store.put(place, Bytes::from("x")).await.expect("stored");
        }
        let none = Retention { ttl: std::time::Duration::ZERO, records: 0 };
        store.collect(&place("b"), none).await.expect("collected");
        store.remove(&place("a")).await.expect("removed");
        for place in [&longer, &dotted] {
            assert_eq!(read(&**store, &place.path()).await, "x");
        }
    }
}

#[cfg(unix)]
#[tokio::test]
async fn what_is_stored_is_private_and_a_failed_write_leaves_nothing() {
    use std::os::unix::fs::MetadataExt as _;
    let directory = tempfile::tempdir().expect("a directory");
    let store = DiskStore::new(directory.path().join("root"), Arc::new(Frozen(Timestamp::now())));
    store.put(&place("a"), Bytes::from("x")).await.expect("stored");
    let mode = |path: &str| {
        let path = directory.path().join("root").join(path);
        std::fs::metadata(path).expect("there").mode() & 0o777
    };
    assert_eq!(mode("gitrepository/apps/web"), 0o700);
    assert_eq!(mode("gitrepository/apps/web/a"), 0o600);
    // A directory is in place of the file: the last step of the write fails.
    let blocked = directory.path().join("root/gitrepository/apps/web/b");
    std::fs::create_dir_all(blocked.join("full")).expect("made");
    let error = store.put(&place("b"), Bytes::from("x")).await.expect_err("refused");
    assert!(matches!(error, StoreError::Io { verb: "write", .. }), "{error}");
    let left: Vec<_> = std::fs::read_dir(directory.path().join("root/gitrepository/apps/web"))
        .expect("listed")
        .map(|it| it.expect("an entry").file_name().into_string().expect("plain"))
        .collect();
    assert_eq!(left.len(), 2, "{left:?}");
    assert_eq!(read(&store, &place("a").path()).await, "x");
}
