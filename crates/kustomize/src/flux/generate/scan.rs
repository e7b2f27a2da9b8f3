//! Which files of a directory without a kustomization file are its resources.

use super::{Ignore, existing, is_link, words};
use crate::failure::{Failure, Gathered, Result};
use crate::flux::secure::SecureTree;
use crate::loader::path::join;
use crate::read::read_resources;
use crate::tree::{Entry, FileTree};

/// The manifests below a directory, each as `./path`, in the order of their names. A directory with a
/// kustomization file of its own is one resource; what ends in `.yaml` or `.yml` must hold objects.
pub(super) fn manifests(
    tree: &SecureTree<'_>,
    directory: &str,
    ignore: Option<Ignore<'_>>,
) -> Result<Vec<String>> {
    let mut scan =
        Scan { tree, ignore, found: Vec::new(), wrong: Gathered::default(), bad_files: 0 };
    let walked = scan.directory(directory);
    scan.wrong.take(walked);
    scan.wrong.finish()?;
    // The root ends with the slash that the paths below it begin with.
    let above = directory.trim_end_matches('/');
    let relative = |path: String| format!(".{}", path.strip_prefix(above).unwrap_or(&path));
    Ok(scan.found.into_iter().map(relative).collect())
}

struct Scan<'s, 't> {
    tree: &'s SecureTree<'t>,
    ignore: Option<Ignore<'s>>,
    found: Vec<String>,
    /// What is wrong with files; all of it is reported at once.
    wrong: Gathered,
    bad_files: usize,
}

/// So many files are named at the most that hold no objects.
const MOST_BAD_FILES: usize = 100;

impl Scan<'_, '_> {
    fn directory(&mut self, directory: &str) -> Result<()> {
        let names = self.tree.list(directory).map_err(|error| Failure::new(words(&error)))?;
        for name in names {
            self.path(join(directory, &name))?;
        }
        Ok(())
    }

    fn path(&mut self, path: String) -> Result<()> {
        self.tree.check("walk", &path).map_err(|error| Failure::new(error.to_string()))?;
        if self.tree.entry(&path) == Some(Entry::Directory) && !is_link(self.tree, &path) {
            if existing(self.tree, &path).is_none() {
                return self.directory(&path);
            }
            self.found.push(path);
            return Ok(());
        }
        let extension = path.rsplit('/').next().and_then(|name| name.rsplit_once('.'));
        if !matches!(extension, Some((_, "yaml" | "yml")))
            || self.ignore.is_some_and(|ignore| ignore(&path, Entry::File))
        {
            return Ok(());
        }
        let bytes = self.tree.read(&path).map_err(|error| Failure::new(words(&error)))?;
        match read_resources(&bytes, None) {
            Ok(_) => self.found.push(path),
            Err(failure) => {
                let failure =
                    failure.context(format!("failed to decode Kubernetes YAML from {path}"));
                self.bad_files += 1;
                if self.bad_files <= MOST_BAD_FILES {
                    self.wrong.add(failure.in_file(&path).hint(
                        "every .yaml and .yml file must hold Kubernetes objects; keep others elsewhere, or add a kustomization.yaml that names the resources",
                    ));
                }
            }
        }
        Ok(())
    }
}
