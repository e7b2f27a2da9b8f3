//! The files of one kustomization: relative to its directory, within the load restrictions.

pub(crate) mod path;
mod repository;

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use sluice_base::need::{Need, RepositoryRef};

use crate::failure::{Failure, Result};
use crate::limits::Taken;
use crate::transformers::Load;
use crate::tree::{Entry, FileTree, TreeError};

pub(crate) use repository::Repository;

/// The load restrictions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LoadRestrictor {
    /// Files in or below its own directory.
    #[default]
    RootOnly,
    /// Any file of the tree.
    None,
}

/// The entries of a kustomization that may be URLs of files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RemoteFiles {
    /// Every entry with a file, as in kustomize: generators, patches and all others too.
    #[default]
    Everywhere,
    /// Resources only. What a generator reads becomes part of an object, so that a URL there would expose the response of any
    /// server to the object's readers.
    Resources,
}

/// Fetches remote files and repositories.
pub trait Remote: Sync {
    /// The content of a file; nothing where it has not been fetched yet.
    fn file(&self, url: &str) -> Fetched<Vec<u8>>;

    /// The files of a repository, with its root at `/`; nothing where it has not been fetched yet.
    fn repository(&self, repository: &RepositoryRef) -> Fetched<Arc<dyn FileTree + Send>>;
}

/// What was fetched; nothing where it has not been fetched yet.
pub type Fetched<T> = Option<std::result::Result<T, RemoteError>>;

/// Remote content as a build asks for it, and what it missed so far.
#[derive(Clone, Copy)]
pub(crate) struct Asked<'t> {
    pub(crate) remote: &'t dyn Remote,
    pub(crate) missed: &'t Mutex<BTreeSet<Need>>,
}

impl Asked<'_> {
    /// What was fetched. What has not been is noted as missed, and fails this run of the build.
    fn answer<T>(&self, fetched: Fetched<T>, need: Need) -> std::result::Result<T, RemoteError> {
        fetched.unwrap_or_else(|| {
            self.missed.lock().unwrap_or_else(PoisonError::into_inner).insert(need);
            Err(RemoteError::Failed("it has not been fetched yet".to_owned()))
        })
    }
}

/// Why a remote file or repository could not be fetched.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RemoteError {
    /// An error status.
    #[error("HTTP Error: status code {0}")]
    Status(String),
    /// Anything else.
    #[error("{0}")]
    Failed(String),
}

/// The file tree of a loader: that of the build, or of a repository.
#[derive(Clone)]
enum Tree<'t> {
    Own(&'t dyn FileTree),
    Cloned(Arc<dyn FileTree + Send>),
}

impl Tree<'_> {
    fn get(&self) -> &dyn FileTree {
        match self {
            Self::Own(tree) => *tree,
            Self::Cloned(tree) => tree.as_ref(),
        }
    }
}

/// The files of one kustomization.
#[derive(Clone)]
pub(crate) struct Loader<'t> {
    tree: Tree<'t>,
    remote: Option<Asked<'t>>,
    remote_files: RemoteFiles,
    restrictor: LoadRestrictor,
    /// The directory, with links resolved.
    root: Arc<str>,
    /// The directories that led here, nearest first.
    visited: Vec<Arc<str>>,
    /// The repositories that led here, nearest first.
    repositories: Vec<Arc<Repository>>,
    /// The number of directories that led here, across repositories.
    depth: usize,
    /// The usage of the build's limits.
    taken: Taken,
}

impl<'t> Loader<'t> {
    /// The loader of a build's root directory.
    pub(crate) fn start(
        tree: &'t dyn FileTree,
        remote: Option<Asked<'t>>,
        restrictor: LoadRestrictor,
        root: &str,
    ) -> Result<Self> {
        let mut loader = Self {
            tree: Tree::Own(tree),
            remote,
            remote_files: RemoteFiles::default(),
            restrictor,
            root: "/".into(),
            visited: Vec::new(),
            repositories: Vec::new(),
            depth: 0,
            taken: Taken::default(),
        };
        if let Some(repository) = Repository::parse(root) {
            return loader.clone_of(repository);
        }
        let at = path::join("/", root);
        loader.root = loader
            .directory(root, &at)
            .map_err(|failure| match tree.entry(&at) {
                Some(_) => failure.hint("name the directory that it lies in"),
                None => failure.hint(format!("there is no directory '{root}'")),
            })?
            .into();
        Ok(loader)
    }

    /// Counts this directory as accumulated.
    pub(crate) fn count(&self) -> Result<()> {
        self.taken.base(self.depth)
    }

    /// Sets the rule for URLs of files.
    pub(crate) fn with_remote_files(self, remote_files: RemoteFiles) -> Self {
        Self { remote_files, ..self }
    }

    /// The loader of a directory that the kustomization refers to.
    pub(crate) fn enter(&self, name: &str) -> Result<Self> {
        if name.is_empty() {
            return Err(Failure::new("new root cannot be empty"));
        }
        if let Some(repository) = Repository::parse(name) {
            for before in &self.repositories {
                if before.written.starts_with(&repository.written) {
                    let (new, before) = (&repository.written, &before.written);
                    return Err(Failure::new(format!(
                        "cycle detected: URI '{new}' referenced by previous URI '{before}'"
                    )));
                }
            }
            return self.clone_of(repository);
        }
        if name.starts_with('/') {
            return Err(Failure::new(format!("new root '{name}' cannot be absolute"))
                .hint("name it relative to the directory of this kustomization"));
        }
        let joined = path::join(&self.root, name);
        let root = self.directory(&joined, &joined)?;
        let visited = std::iter::once(&self.root).chain(&self.visited);
        for before in visited.clone() {
            if path::is_within(before, &root) {
                return Err(Failure::new(format!(
                    "cycle detected: candidate root '{root}' contains visited root '{before}'"
                ))
                .hint("a kustomization may not use its own directory or one above it"));
            }
        }
        Ok(Self {
            root: root.into(),
            visited: visited.cloned().collect(),
            depth: self.depth + 1,
            ..self.clone()
        })
    }

    fn clone_of(&self, repository: Repository) -> Result<Self> {
        let Some(remote) = self.remote else {
            let url = &repository.url;
            return Err(Failure::new(format!(
                "remote bases are off: repository '{url}' is not read"
            ))
            .hint("copy what it holds into the tree, or allow remote bases"));
        };
        let wanted = repository.reference();
        let fetched = remote.remote.repository(&wanted);
        let tree = remote
            .answer(fetched, Need::Repository(wanted))
            .map_err(|error| Failure::new(error.to_string()))?;
        let mut loader = Self {
            tree: Tree::Cloned(tree),
            // Files of a repository may never refer to anything outside of it.
            restrictor: LoadRestrictor::RootOnly,
            root: "/".into(),
            visited: Vec::new(),
            depth: self.depth + 1,
            ..self.clone()
        };
        let at = path::join("/", &repository.path);
        loader.root = loader.directory(&at, &at)?.into();
        loader.repositories.insert(0, Arc::new(repository));
        Ok(loader)
    }

    /// The directory at a clean path, with links resolved.
    fn directory(&self, written: &str, at: &str) -> Result<String> {
        let failed = |failure: Failure| failure.context("must build at directory");
        let root = self
            .resolve(written, at)
            .map_err(|failure| failed(failure.context("not a valid directory")))?;
        match self.tree.get().entry(&root) {
            Some(Entry::Directory) => Ok(root),
            _ => Err(failed(Failure::new(format!("'{written}': file is not directory")))),
        }
    }

    fn resolve(&self, written: &str, at: &str) -> Result<String> {
        self.tree.get().resolve(at).map_err(|error| {
            let reason = match error {
                TreeError::Missing(_) => {
                    format!("lstat {}: no such file or directory", self.first_missing(at))
                }
                // Flux's file system fails before links are resolved.
                refused @ TreeError::Refused { .. } => return Failure::new(refused.to_string()),
                other => other.to_string(),
            };
            Failure::new(format!("evalsymlink failure on '{written}' : {reason}"))
        })
    }

    /// The first part of a path that does not exist.
    fn first_missing<'p>(&self, at: &'p str) -> &'p str {
        let mut missing = at;
        while missing != "/" && self.tree.get().entry(path::parent(missing)).is_none() {
            missing = path::parent(missing);
        }
        missing
    }

    /// The path of a file in the tree; an error if it must not be read.
    pub(crate) fn locate(&self, name: &str) -> Result<String> {
        let at =
            if name.starts_with('/') { path::clean(name) } else { path::join(&self.root, name) };
        if self.restrictor == LoadRestrictor::None {
            return Ok(at);
        }
        let resolved = self.resolve(&at, &at)?;
        if self.tree.get().entry(&resolved) != Some(Entry::File) {
            return Err(Failure::new(format!("'{at}' must resolve to a file")));
        }
        if !path::is_within(path::parent(&resolved), &self.root) {
            let root = &self.root;
            return Err(Failure::new(format!("security; file '{at}' is not in or below '{root}'"))
                .hint(
                    "move the file below the kustomization, or allow all files with \
                 `--load-restrictor LoadRestrictionsNone`",
                ));
        }
        Ok(resolved)
    }

    /// Whether a file exists, even if it must not be read.
    pub(crate) fn is_file(&self, name: &str) -> bool {
        let at =
            if name.starts_with('/') { path::clean(name) } else { path::join(&self.root, name) };
        self.tree.get().entry(&at) == Some(Entry::File)
    }

    /// The content of a file at a path from [`Loader::locate`].
    pub(crate) fn read(&self, at: &str) -> Result<Cow<'_, [u8]>> {
        self.tree.get().read(at).map_err(|error| {
            Failure::new(match error {
                TreeError::Missing(at) => format!("open {at}: no such file or directory"),
                TreeError::Directory(at) => format!("read {at}: is a directory"),
                refused @ TreeError::Refused { .. } => refused.to_string(),
            })
        })
    }

    /// Whether files come from the build's own tree, not from a repository.
    pub(crate) fn is_own_tree(&self) -> bool {
        matches!(self.tree, Tree::Own(_))
    }

    /// The URL of the repository that the files are in, if it is not the build's own tree.
    pub(crate) fn repository(&self) -> Option<Arc<str>> {
        let repository = self.repositories.first().filter(|_| !self.is_own_tree());
        repository.map(|repository| repository.url.as_str().into())
    }

    /// The content of a remote file.
    pub(crate) fn fetch(&self, url: &str) -> Result<Vec<u8>> {
        let Some(remote) = self.remote else {
            return Err(Failure::new(format!("remote files are off: '{url}' is not read"))
                .hint("copy the file into the tree, or allow remote bases"));
        };
        let fetched = remote.remote.file(url);
        remote.answer(fetched, Need::File(url.to_owned())).map_err(|error| match error {
            RemoteError::Status(_) if Repository::parse(url).is_some() => {
                Failure::new("URL is a git repository")
            }
            other => Failure::new(other.to_string()),
        })
    }
}

impl Load for Loader<'_> {
    fn generated(&self, bytes: usize) -> Result<()> {
        self.taken.generated(bytes)
    }

    fn load(&self, name: &str) -> Result<Cow<'_, [u8]>> {
        if is_url(name) {
            if self.remote_files == RemoteFiles::Resources {
                return Err(Failure::new(format!(
                    "'{name}' is not read: only resources and components may be URLs"
                ))
                .hint("copy the file into the tree"));
            }
            return self.fetch(name).map(Cow::Owned);
        }
        let at = self.locate(name)?;
        self.read(&at)
    }

    fn root(&self) -> &str {
        &self.root
    }
}

/// Whether a path is the URL of a file.
pub(crate) fn is_url(path: &str) -> bool {
    path.split_once(':').is_some_and(|(scheme, _)| {
        scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https")
    }) && !path.contains(char::is_control)
}

#[cfg(test)]
mod tests {
    use super::{LoadRestrictor, Loader};
    use crate::transformers::Load as _;
    use crate::tree::MemoryTree;

    fn tree() -> MemoryTree {
        let mut tree = MemoryTree::default();
        for path in ["/app/base/a.yaml", "/app/over/b.yaml", "/app/over/sub/c.yaml", "/etc/x"] {
            tree.insert(path, "content");
        }
        tree
    }

    #[test]
    fn files_are_read_in_and_below_the_directory() {
        let tree = tree();
        let loader = Loader::start(&tree, None, LoadRestrictor::RootOnly, "/app/over").unwrap();
        for path in ["b.yaml", "./sub/c.yaml", "/app/over/b.yaml", "sub/../b.yaml"] {
            assert_eq!(loader.load(path).unwrap().as_ref(), b"content", "{path}");
        }
        let cases = [
            ("../base/a.yaml", "security; file '/app/base/a.yaml' is not in or below '/app/over'"),
            ("sub", "'/app/over/sub' must resolve to a file"),
            (
                "no/where",
                "evalsymlink failure on '/app/over/no/where' : lstat /app/over/no: no such file or directory",
            ),
        ];
        for (path, message) in cases {
            assert_eq!(loader.load(path).expect_err(path).to_string(), message);
        }
        let free = Loader::start(&tree, None, LoadRestrictor::None, "/app/over").unwrap();
        assert!(free.load("../base/a.yaml").is_ok() && free.load("/etc/x").is_ok());
    }

    #[test]
    fn directories_may_not_lead_back() {
        let tree = tree();
        let loader = Loader::start(&tree, None, LoadRestrictor::RootOnly, "/app/over").unwrap();
        let base = loader.enter("../base").unwrap();
        assert_eq!(base.root(), "/app/base");
        let cases = [
            (".", "cycle detected: candidate root '/app/base' contains visited root '/app/base'"),
            ("..", "cycle detected: candidate root '/app' contains visited root '/app/base'"),
            (
                "../over",
                "cycle detected: candidate root '/app/over' contains visited root '/app/over'",
            ),
            ("/etc", "new root '/etc' cannot be absolute"),
            ("", "new root cannot be empty"),
            ("a.yaml", "must build at directory: '/app/base/a.yaml': file is not directory"),
        ];
        for (path, message) in cases {
            let failure = base.enter(path).err().expect(path);
            assert_eq!(failure.to_string(), message);
        }
    }

    #[test]
    fn other_machines_are_not_asked() {
        let tree = tree();
        let loader = Loader::start(&tree, None, LoadRestrictor::RootOnly, "/app/over").unwrap();
        let failure = loader.enter("github.com/org/repo").err().expect("remote");
        assert!(failure.to_string().starts_with("remote bases are off"), "{failure}");
        let failure = loader.load("https://example.com/a.yaml").expect_err("remote");
        assert!(failure.to_string().starts_with("remote files are off"), "{failure}");
    }
}
