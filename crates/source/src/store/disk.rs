//! Artifacts below a directory, in Flux's layout, so that either program can take over the volume.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use futures::FutureExt as _;
use futures::future::BoxFuture;
use jiff::Timestamp;
use sluice_base::clock::Clock;

use super::retention::{Kept, garbage};
use super::{ArtifactStore, Content, Retention, Served, StoreError, Stored};
use crate::artifact::{ArtifactPath, Digest, DigestAlgorithm};

/// The maximum number of files that one garbage collection inspects; the rest is left to later ones.
const COLLECT_AT_MOST: usize = 1000;

/// Artifacts below a directory.
#[derive(Clone)]
pub struct DiskStore {
    disk: Arc<Disk>,
}

struct Disk {
    root: PathBuf,
    clock: Arc<dyn Clock>,
    algorithm: DigestAlgorithm,
    largest: u64,
    temporary: AtomicU64,
}

impl DiskStore {
    /// A store below a directory, which is created with the first artifact.
    pub fn new(root: impl Into<PathBuf>, clock: Arc<dyn Clock>) -> Self {
        Self::with_limits(root, clock, DigestAlgorithm::default(), u64::MAX)
    }

    /// A store with another algorithm than sha256, or with a maximum artifact size.
    pub fn with_limits(
        root: impl Into<PathBuf>,
        clock: Arc<dyn Clock>,
        algorithm: DigestAlgorithm,
        largest: u64,
    ) -> Self {
        let root = root.into();
        let temporary = AtomicU64::new(0);
        Self { disk: Arc::new(Disk { root, clock, algorithm, largest, temporary }) }
    }

    /// Runs blocking file operations on their thread pool.
    fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Disk) -> Result<T, StoreError> + Send + 'static,
    ) -> BoxFuture<'_, Result<T, StoreError>> {
        let disk = Arc::clone(&self.disk);
        let task = tokio::task::spawn_blocking(move || work(&disk));
        async move {
            task.await.unwrap_or_else(|error| {
                let source = io::Error::other(error);
                Err(StoreError::Io { verb: "finish the work on", path: String::new(), source })
            })
        }
        .boxed()
    }
}

impl ArtifactStore for DiskStore {
    fn put<'a>(
        &'a self,
        place: &'a ArtifactPath,
        content: Bytes,
    ) -> BoxFuture<'a, Result<Stored, StoreError>> {
        let place = place.clone();
        self.run(move |disk| disk.put(&place, &content))
    }

    fn alias<'a>(
        &'a self,
        place: &'a ArtifactPath,
        target: &'a ArtifactPath,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        let (place, target) = (place.clone(), target.file().to_owned());
        self.run(move |disk| disk.alias(&place, &target))
    }

    fn get<'a>(
        &'a self,
        path: &'a str,
        digest: &'a Digest,
    ) -> BoxFuture<'a, Result<Bytes, StoreError>> {
        let (path, digest) = (path.to_owned(), digest.clone());
        self.run(move |disk| disk.get(&path, &digest))
    }

    fn open<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Result<Served, StoreError>> {
        let path = path.to_owned();
        self.run(move |disk| disk.open(&path))
    }

    fn collect<'a>(
        &'a self,
        current: &'a ArtifactPath,
        retention: Retention,
    ) -> BoxFuture<'a, Result<Vec<String>, StoreError>> {
        let current = current.clone();
        self.run(move |disk| disk.collect(&current, retention))
    }

    fn remove<'a>(&'a self, place: &'a ArtifactPath) -> BoxFuture<'a, Result<bool, StoreError>> {
        let directory = place.directory().to_owned();
        self.run(move |disk| disk.remove(&directory))
    }
}

impl Disk {
    fn put(&self, place: &ArtifactPath, content: &[u8]) -> Result<Stored, StoreError> {
        let size = content.len() as u64;
        if size > self.largest {
            return Err(StoreError::TooLarge { size, limit: self.largest });
        }
        let digest = Digest::of(self.algorithm, content);
        let path = self.root.join(place.path());
        let is_there = std::fs::symlink_metadata(&path)
            .is_ok_and(|metadata| metadata.is_file() && metadata.len() == size);
        if is_there && std::fs::read(&path).is_ok_and(|there| there == content) {
            return Ok(Stored { digest, size, written: false });
        }
        self.replace(place, |temporary| {
            let mut file = private_file(temporary)?;
            file.write_all(content)?;
            file.sync_data()
        })?;
        Ok(Stored { digest, size, written: true })
    }

    fn alias(&self, place: &ArtifactPath, target: &str) -> Result<(), StoreError> {
        let path = self.root.join(place.path());
        if std::fs::read_link(&path).is_ok_and(|there| there == Path::new(target)) {
            return Ok(());
        }
        self.replace(place, |temporary| link(target, temporary))
    }

    /// Writes a temporary file beside the path and renames it.
    fn replace(
        &self,
        place: &ArtifactPath,
        make: impl FnOnce(&Path) -> io::Result<()>,
    ) -> Result<(), StoreError> {
        let failed = |source| StoreError::Io { verb: "write", path: place.path(), source };
        let directory = self.root.join(place.directory());
        private_directories(&directory).map_err(failed)?;
        let number = self.temporary.fetch_add(1, Ordering::Relaxed);
        let temporary = directory.join(format!(".{}-{number}.tmp", std::process::id()));
        let outcome = make(&temporary)
            .and_then(|()| std::fs::rename(&temporary, self.root.join(place.path())));
        if outcome.is_err() {
            // A leftover would be deleted by the next garbage collection.
            let _ = std::fs::remove_file(&temporary);
        }
        outcome.map_err(failed)
    }

    /// The file of a path; an alias is followed once, and only within its directory.
    fn locate(&self, path: &str) -> Result<PathBuf, StoreError> {
        let mut place = ArtifactPath::of_path(path)?;
        if let Ok(target) = std::fs::read_link(self.root.join(place.path())) {
            place = place.sibling(&target.to_string_lossy())?;
        }
        let file = self.root.join(place.path());
        match std::fs::symlink_metadata(&file) {
            Ok(metadata) if metadata.is_file() => Ok(file),
            _ => Err(StoreError::Missing(path.to_owned())),
        }
    }

    fn get(&self, path: &str, expected: &Digest) -> Result<Bytes, StoreError> {
        let file = self.locate(path)?;
        let failed = |source| StoreError::Io { verb: "read", path: path.to_owned(), source };
        let content = std::fs::read(&file).map_err(failed)?;
        let found = Digest::of(expected.algorithm(), &content);
        if found == *expected {
            return Ok(content.into());
        }
        Err(StoreError::Corrupt { path: path.to_owned(), expected: expected.clone(), found })
    }

    fn open(&self, path: &str) -> Result<Served, StoreError> {
        let file = self.locate(path)?;
        let open = || {
            let file = std::fs::File::open(&file)?;
            let metadata = file.metadata()?;
            let modified = modified(&metadata)?;
            Ok(Served { size: metadata.len(), modified, content: Content::File(file) })
        };
        open().map_err(|source| StoreError::Io { verb: "read", path: path.to_owned(), source })
    }

    fn collect(
        &self,
        current: &ArtifactPath,
        retention: Retention,
    ) -> Result<Vec<String>, StoreError> {
        let directory = self.root.join(current.directory());
        let failed = |source| StoreError::Io {
            verb: "collect garbage in",
            path: current.directory().to_owned(),
            source,
        };
        let entries = match std::fs::read_dir(&directory) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(failed(error)),
        };
        let now = self.clock.now();
        let mut files = Vec::new();
        let mut unfinished = Vec::new();
        for entry in entries.take(COLLECT_AT_MOST) {
            let entry = entry.map_err(failed)?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let metadata = entry.metadata().map_err(failed)?;
            if !metadata.is_file() || Path::new(&name).extension().is_some_and(|end| end == "lock")
            {
                continue;
            }
            let kept = Kept { name, modified: modified(&metadata).map_err(failed)? };
            if kept.name.starts_with('.') { unfinished.push(kept) } else { files.push(kept) }
        }
        // Temporary files of a crash do not count as records and are deleted by age.
        let by_age = Retention { records: usize::MAX, ..retention };
        let mut gone = garbage(files, current.file(), retention, now);
        gone.extend(garbage(unfinished, "", by_age, now));
        for name in &gone {
            std::fs::remove_file(directory.join(name)).map_err(failed)?;
            // Flux's controller leaves a lock beside each of its files.
            let _ = std::fs::remove_file(directory.join(format!("{name}.lock")));
        }
        Ok(gone.into_iter().map(|name| format!("{}/{name}", current.directory())).collect())
    }

    fn remove(&self, directory: &str) -> Result<bool, StoreError> {
        match std::fs::remove_dir_all(self.root.join(directory)) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(source) => {
                Err(StoreError::Io { verb: "remove", path: directory.to_owned(), source })
            }
        }
    }
}

fn modified(metadata: &std::fs::Metadata) -> io::Result<Timestamp> {
    Timestamp::try_from(metadata.modified()?).map_err(io::Error::other)
}

/// Creates a directory with its parents, mode 0700.
fn private_directories(path: &Path) -> io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::DirBuilderExt as _;
        builder.mode(0o700);
    }
    builder.create(path)
}

/// Creates a file with mode 0600.
fn private_file(path: &Path) -> io::Result<std::fs::File> {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.mode(0o600);
    }
    options.open(path)
}

#[cfg(unix)]
fn link(target: &str, path: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(target, path)
}

#[cfg(not(unix))]
fn link(target: &str, path: &Path) -> io::Result<()> {
    std::fs::copy(path.with_file_name(target), path).map(drop)
}
