//! Whole builds and merges, with the case directories of kustomize as seeds.

use std::error::Error;
use std::path::{Path, PathBuf};

use sluice_kustomize::{MemoryTree, MergeOptions, Options};

/// The case directories: whole trees, and all their files.
pub(super) struct Cases {
    trees: Vec<(String, MemoryTree)>,
    /// The files of all trees.
    pub(super) files: Vec<Vec<u8>>,
}

impl Cases {
    /// Reads the directories.
    pub(super) fn read(cases: &Path) -> Result<Self, Box<dyn Error>> {
        let mut found = Self { trees: Vec::new(), files: Vec::new() };
        let mut directories: Vec<PathBuf> = std::fs::read_dir(cases)?
            .map(|entry| entry.map(|it| it.path()))
            .collect::<Result<_, _>>()?;
        directories.sort();
        for directory in directories {
            let mut tree = MemoryTree::default();
            let input = directory.join("input");
            let mut open = vec![input.clone()];
            while let Some(folder) = open.pop() {
                let Ok(entries) = std::fs::read_dir(&folder) else { continue };
                for entry in entries {
                    let path = entry?.path();
                    if path.is_dir() {
                        open.push(path);
                        continue;
                    }
                    let content = std::fs::read(&path)?;
                    let name = path.strip_prefix(&input)?.to_string_lossy().into_owned();
                    tree.insert(format!("/{name}"), content.clone());
                    found.files.push(content);
                }
            }
            let is_overlay = tree.files().any(|(path, _)| path.starts_with("/overlay/"));
            let root = if is_overlay { "/overlay" } else { "/" };
            found.trees.push((root.to_owned(), tree));
        }
        found.files.sort();
        Ok(found)
    }

    /// The input as a patch of a file, and the other way round.
    pub(super) fn merge(&self, input: &[u8]) {
        let text = String::from_utf8_lossy(input);
        let Some(file) = self.files.get(input.len() % self.files.len().max(1)) else { return };
        let other = String::from_utf8_lossy(file);
        let _ = sluice_kustomize::merge_text(&text, &other, MergeOptions::default());
        let _ = sluice_kustomize::merge_text(&other, &text, MergeOptions::default());
    }

    /// The input in the place of a file of a tree.
    pub(super) fn build(&self, input: &[u8]) {
        let sum = input
            .iter()
            .fold(input.len(), |sum, byte| sum.wrapping_mul(31).wrapping_add(usize::from(*byte)));
        let Some((root, tree)) = self.trees.get(sum % self.trees.len().max(1)) else { return };
        let mut tree = tree.clone();
        let paths: Vec<String> = tree.files().map(|(path, _)| path.to_owned()).collect();
        let Some(path) = paths.get((sum / 7) % paths.len().max(1)) else { return };
        tree.insert(path.clone(), input);
        if let Ok(built) = sluice_kustomize::build(&tree, root, &Options::default()) {
            let _ = built.to_yaml();
        }
    }
}
