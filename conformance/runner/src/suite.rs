//! The scripts on disk.

use std::path::{Path, PathBuf};

use crate::script::{Script, ScriptError};

/// All scripts below a folder, in the order of their names.
#[derive(Clone, Debug, Default)]
pub struct Suite(pub Vec<Script>);

/// Why the scripts cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum SuiteError {
    /// A file or folder is absent or unreadable.
    #[error("{0}")]
    File(PathBuf, #[source] std::io::Error),
    /// A file is no script.
    #[error(transparent)]
    Script(#[from] ScriptError),
}

impl Suite {
    /// Reads `folder/AREA/NAME.http`, keeping the scripts whose id contains one of the filters.
    pub fn read(folder: &Path, filters: &[String]) -> Result<Self, SuiteError> {
        let mut scripts = Vec::new();
        for area in entries(folder)? {
            for file in entries(&area)? {
                if file.extension().is_none_or(|ending| ending != "http") {
                    continue;
                }
                let stem = |path: &Path| {
                    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
                };
                let text = std::fs::read_to_string(&file)
                    .map_err(|error| SuiteError::File(file.clone(), error))?;
                let script = Script::parse(&stem(&area), &stem(&file), &text)?;
                if filters.is_empty() || filters.iter().any(|filter| script.id().contains(filter)) {
                    scripts.push(script);
                }
            }
        }
        Ok(Self(scripts))
    }
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>, SuiteError> {
    let failed = |error| SuiteError::File(folder.to_owned(), error);
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        paths.push(entry.map_err(failed)?.path());
    }
    paths.sort();
    Ok(paths)
}
