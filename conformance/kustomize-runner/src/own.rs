//! Our own cases, as trees to be mutated.

use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::case::{Answer, Case, Options, Request};

/// Reads the case directories of `crates/kustomize` that the original builds.
pub(crate) fn read(folder: &Path) -> std::io::Result<Vec<Case>> {
    let mut cases = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let folder = entry?.path();
        let Ok(yaml) = std::fs::read_to_string(folder.join("expected.yaml")) else { continue };
        let arguments = std::fs::read_to_string(folder.join("args")).unwrap_or_default();
        let root = arguments.split_whitespace().last().unwrap_or(".").to_owned();
        let mut request = Request { root, ..Request::default() };
        if arguments.contains("LoadRestrictionsNone") {
            request.options = Options { load_restrictor: "none".to_owned(), ..Options::default() };
        }
        read_files(&mut request, &folder.join("input"), "")?;
        cases.push(Case {
            suite: "own".to_owned(),
            name: folder.file_name().unwrap_or_default().to_string_lossy().into_owned(),
            request,
            answer: Answer { ok: true, yaml, ..Answer::default() },
            out: String::new(),
        });
    }
    cases.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(cases)
}

fn read_files(request: &mut Request, directory: &Path, at: &str) -> std::io::Result<()> {
    for entry in std::fs::read_dir(directory)? {
        let entry = entry?;
        let path = format!("{at}/{}", entry.file_name().to_string_lossy());
        if entry.file_type()?.is_dir() {
            read_files(request, &entry.path(), &path)?;
            continue;
        }
        match String::from_utf8(std::fs::read(entry.path())?) {
            Ok(text) => drop(request.files.insert(path, text)),
            Err(bytes) => drop(request.binary.insert(path, STANDARD.encode(bytes.as_bytes()))),
        }
    }
    Ok(())
}
