//! Builds and their answers, in the form the Go side reads and writes.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use sluice_kustomize::MemoryTree;

/// A build to be done.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Request {
    /// Files by absolute path.
    #[serde(default)]
    pub(crate) files: BTreeMap<String, String>,
    /// Files that are not UTF-8, in base64.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) binary: BTreeMap<String, String>,
    /// The directory to build.
    pub(crate) root: String,
    #[serde(default)]
    pub(crate) options: Options,
}

/// Options as the command line has them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Options {
    pub(crate) load_restrictor: String,
    pub(crate) managed_by_label: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { load_restrictor: "rootOnly".to_owned(), managed_by_label: false }
    }
}

/// What came of a build.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Answer {
    pub(crate) ok: bool,
    /// The output as the resources came.
    pub(crate) yaml: String,
    /// The output in the legacy order.
    pub(crate) legacy: String,
    pub(crate) error: String,
    /// The program fell over.
    pub(crate) panic: bool,
}

/// A build from the original's tests.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Case {
    pub(crate) suite: String,
    pub(crate) name: String,
    #[serde(flatten)]
    pub(crate) request: Request,
    pub(crate) answer: Answer,
    /// Why it cannot be compared.
    #[serde(default)]
    pub(crate) out: String,
}

impl Case {
    /// The name that lists and filters use.
    pub(crate) fn id(&self) -> String {
        format!("{}/{}", self.suite, self.name)
    }
}

impl Request {
    /// The root as an absolute, clean path, which is how files in memory are found.
    pub(crate) fn absolute_root(&self) -> String {
        absolute("/", &self.root)
    }

    /// The files as the engine takes them.
    pub(crate) fn tree(&self) -> MemoryTree {
        let mut tree = MemoryTree::default();
        for (path, text) in &self.files {
            tree.insert(path, text.as_bytes());
        }
        for (path, encoded) in &self.binary {
            tree.insert(path, STANDARD.decode(encoded).unwrap_or_default());
        }
        tree
    }
}

/// A path seen from a directory, without `.` and `..`.
pub(crate) fn absolute(directory: &str, path: &str) -> String {
    let joined =
        if path.starts_with('/') { path.to_owned() } else { format!("{directory}/{path}") };
    let mut parts = Vec::new();
    for part in joined.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    format!("/{}", parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::absolute;

    #[test]
    fn paths_are_clean() {
        assert_eq!(absolute("/a/b", "../c/./d/"), "/a/c/d");
        assert_eq!(absolute("/a", "/x"), "/x");
        assert_eq!(absolute("/", "."), "/");
    }
}
