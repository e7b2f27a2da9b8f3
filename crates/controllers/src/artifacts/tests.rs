//! Artifacts of other objects, dead addresses, and many that ask at once.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use futures::FutureExt as _;
use futures::future::{BoxFuture, join_all};
use jiff::Timestamp;
use sluice_api::shared::artifact::Artifact;
use sluice_base::clock::Frozen;
use sluice_runtime::index::Reference;
use sluice_runtime::key::Key;
use sluice_source::artifact::{ArtifactPath, Digest, DigestAlgorithm};
use sluice_source::http::HttpOptions;
use sluice_source::network::{Network, Purpose};
use sluice_source::server::ArtifactServer;
use sluice_source::store::{ArtifactStore as _, MemoryStore};
use sluice_source::tree::SourceTree;

use super::{ArtifactError, Artifacts, Local, Packed, Served, inside};
use crate::compute::Compute;
use crate::sources::SourceArtifact;

const CONTENT: &str = "not an archive";

fn artifact(name: &str, path: &str, host: &str) -> SourceArtifact {
    let artifact = Artifact {
        path: path.to_owned(),
        url: format!("http://{host}/{path}"),
        digest: Digest::of(DigestAlgorithm::Sha256, CONTENT.as_bytes()).to_string(),
        ..Artifact::default()
    };
    let of = Reference::new("GitRepository", Key::new("apps", name));
    SourceArtifact { of, artifact, made_here: false }
}

/// A store with one artifact of `apps/web`.
async fn store() -> Arc<MemoryStore> {
    let store = Arc::new(MemoryStore::new(Arc::new(Frozen(Timestamp::UNIX_EPOCH))));
    let place = ArtifactPath::new("GitRepository", "apps", "web", "a.tar.gz").unwrap();
    store.put(&place, CONTENT.into()).await.unwrap();
    store
}

fn empty() -> Arc<MemoryStore> {
    Arc::new(MemoryStore::new(Arc::new(Frozen(Timestamp::UNIX_EPOCH))))
}

fn served(local: Arc<MemoryStore>) -> Served {
    let client = Network::new().client(Purpose::Spec, &HttpOptions::default()).unwrap();
    Served { local, client }
}

const PATH: &str = "gitrepository/apps/web/a.tar.gz";

/// A port on which nobody listens: it was free just now.
async fn dead() -> SocketAddr {
    tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap()
}

#[tokio::test]
async fn what_is_in_the_store_is_read_there_whatever_its_address() {
    let served = served(store().await);
    for host in [dead().await.to_string(), "nowhere.invalid".to_owned(), "[::1]:1".to_owned()] {
        for made_here in [true, false] {
            let artifact = SourceArtifact { made_here, ..artifact("web", PATH, &host) };
            assert_eq!(served.fetch(&artifact).await.unwrap(), CONTENT, "{host}");
        }
    }
}

#[tokio::test]
async fn what_is_made_here_is_never_asked_for_elsewhere() {
    let any = SocketAddr::from(([127, 0, 0, 1], 0));
    let (address, serving) = ArtifactServer::new(store().await).listen(any).await.unwrap();
    let task = tokio::spawn(serving);
    let artifact = artifact("web", PATH, &address.to_string());
    let elsewhere = served(empty());
    assert_eq!(elsewhere.fetch(&artifact).await.unwrap(), CONTENT);
    let here = SourceArtifact { made_here: true, ..artifact };
    let refused = elsewhere.fetch(&here).await;
    assert!(matches!(refused, Err(ArtifactError::Missing(_))), "{refused:?}");
    task.abort();
}

#[tokio::test]
async fn a_refused_connection_fails_at_once_with_its_reason() {
    let artifact = artifact("web", PATH, &dead().await.to_string());
    let artifacts = Artifacts::new(Arc::new(served(empty())), Compute::Inline);
    let started = Instant::now();
    let all = join_all((0..100).map(|_| artifacts.tree(&artifact))).await;
    assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
    for outcome in all {
        let Err(ArtifactError::Unreachable(why)) = outcome else { panic!("{outcome:?}") };
        assert!(why.contains("onnection refused"), "{why}");
    }
}

#[tokio::test]
async fn an_address_of_another_objects_artifact_is_not_fetched() {
    let any = SocketAddr::from(([127, 0, 0, 1], 0));
    let (address, serving) = ArtifactServer::new(store().await).listen(any).await.unwrap();
    let task = tokio::spawn(serving);
    let elsewhere = served(empty());
    let own = "gitrepository/apps/own/a.tar.gz";
    for (path, url) in [
        (PATH, format!("http://{address}/{PATH}")),
        (own, format!("http://{address}/{PATH}")),
        (own, format!("http://{address}/{PATH}?/{own}")),
        (own, format!("http://{address}/{PATH}#/{own}")),
        (own, format!("http://{address}/{PATH}%3f/{own}")),
        (own, format!("http://{address}/{own}/../../web/a.tar.gz")),
    ] {
        let mut theft = artifact("own", path, "unused");
        theft.artifact.url.clone_from(&url);
        let outcome = elsewhere.fetch(&theft).await;
        assert!(outcome.is_err(), "{url}");
    }
    task.abort();
}

#[tokio::test]
async fn a_digest_opens_nothing_of_another_object() {
    let artifacts = Artifacts::new(Arc::new(Packs), Compute::Inline);
    let own = artifact("web", PATH, "unused");
    assert!(artifacts.tree(&own).await.is_ok());
    let theft = artifact("thief", PATH, "unused");
    assert!(artifacts.tree(&theft).await.is_err(), "the cache is asked by source and digest");
}

/// An archive for `apps/web` and for nobody else.
struct Packs;

impl Packed for Packs {
    fn fetch<'a>(
        &'a self,
        artifact: &'a SourceArtifact,
    ) -> BoxFuture<'a, Result<bytes::Bytes, ArtifactError>> {
        let packed = sluice_source::archive::pack(&SourceTree::default(), |_, _| false).unwrap();
        let missing = Err(ArtifactError::Missing(String::new()));
        futures::future::ready(artifact.place().map_or(missing, |_| Ok(packed))).boxed()
    }
}

/// Nothing that can be unpacked.
#[derive(Default)]
struct Rotten(AtomicUsize);

impl Packed for Rotten {
    fn fetch<'a>(
        &'a self,
        _: &'a SourceArtifact,
    ) -> BoxFuture<'a, Result<bytes::Bytes, ArtifactError>> {
        self.0.fetch_add(1, Ordering::Relaxed);
        async {
            tokio::task::yield_now().await;
            Ok(bytes::Bytes::from_static(b"rotten"))
        }
        .boxed()
    }
}

#[tokio::test]
async fn what_cannot_be_had_fails_for_all_at_once_and_is_tried_again_by_the_next() {
    let packed = Arc::new(Rotten::default());
    let artifacts = Artifacts::new(Arc::clone(&packed) as _, Compute::Inline);
    for number in 0..10 {
        let mut artifact = artifact("web", PATH, "unused");
        artifact.artifact.digest = format!("sha256:{}", number / 2);
        let both = futures::join!(artifacts.tree(&artifact), artifacts.tree(&artifact));
        assert!(both.0.is_err() && both.1.is_err());
    }
    assert_eq!(artifacts.slots.lock().unwrap().len(), 0);
    assert_eq!(packed.0.load(Ordering::Relaxed), 10, "one try for both, another for the next");
}

/// An archive of a thousand empty files.
struct Empty;

impl Packed for Empty {
    fn fetch<'a>(
        &'a self,
        _: &'a SourceArtifact,
    ) -> BoxFuture<'a, Result<bytes::Bytes, ArtifactError>> {
        let files = (0..1000).map(|number| (number.to_string(), bytes::Bytes::new()));
        let packed = sluice_source::archive::pack(&files.collect(), |_, _| false);
        let failed = |error: std::io::Error| ArtifactError::Failed(error.to_string());
        futures::future::ready(packed.map_err(failed)).boxed()
    }
}

#[tokio::test]
async fn empty_files_count_in_what_is_kept() {
    let artifacts = Artifacts::new(Arc::new(Empty), Compute::Inline);
    let artifacts = Artifacts { kept: 1 << 20, ..artifacts };
    for number in 0..20 {
        let mut artifact = artifact("web", PATH, "unused");
        artifact.artifact.digest = format!("sha256:{number}");
        artifacts.tree(&artifact).await.expect("unpacks");
    }
    let kept = artifacts.slots.lock().unwrap().len();
    assert!((1..10).contains(&kept), "{kept} artifacts of a thousand files in a mebibyte");
}

#[tokio::test]
async fn a_corrupt_file_in_the_store_is_not_given_out() {
    let store = store().await;
    let place = ArtifactPath::of_path(PATH).unwrap();
    store.put(&place, "something else".into()).await.unwrap();
    let outcome = Local(store).fetch(&artifact("web", PATH, "unused")).await;
    let Err(ArtifactError::Failed(why)) = outcome else { panic!("{outcome:?}") };
    assert!(why.contains("doesn't match"), "{why}");
}

#[test]
fn paths_stay_inside_the_artifact() {
    for (path, expected) in
        [("", ""), ("./", ""), ("./a/b/", "a/b"), ("../../etc", "etc"), ("/a/../b", "b")]
    {
        assert_eq!(inside(path), expected);
    }
}
