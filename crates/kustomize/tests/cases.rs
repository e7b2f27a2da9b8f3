//! Our own cases, one directory each: the files below `input/`, the arguments of `kustomize build` in `args`, and what
//! kustomize itself made of it: `expected.yaml`, or `expected.error` where it refused. `conformance/kustomize/record`
//! writes the expectations; `cases.version` says with which version.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

use sluice_kustomize::{LoadRestrictor, MemoryTree, Options, Reorder, build};

type Outcome<T> = Result<T, Box<dyn Error>>;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases")
}

fn read_tree(tree: &mut MemoryTree, directory: &Path, at: &str) -> Outcome<()> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let path = format!("{at}/{}", entry.file_name().to_string_lossy());
        if entry.file_type()?.is_dir() {
            read_tree(tree, &entry.path(), &path)?;
        } else {
            tree.insert(path, fs::read(entry.path())?);
        }
    }
    Ok(())
}

fn run(case: &Path) -> Outcome<Result<String, String>> {
    let mut tree = MemoryTree::default();
    read_tree(&mut tree, &case.join("input"), "/input")?;
    let arguments = fs::read_to_string(case.join("args")).unwrap_or_default();
    let mut options = Options::default();
    let mut root = "/input".to_owned();
    let mut words = arguments.split_whitespace();
    while let Some(word) = words.next() {
        match (word, words.clone().next()) {
            ("--reorder", Some("none")) => options.reorder = Reorder::None,
            ("--reorder", Some("legacy")) => options.reorder = Reorder::Legacy,
            ("--load-restrictor", Some("LoadRestrictionsNone")) => {
                options.load_restrictor = LoadRestrictor::None;
            }
            (".", None) => continue,
            (directory, None) => {
                root = format!("/input/{directory}");
                continue;
            }
            (flag, _) => return Err(format!("no such argument: {flag}").into()),
        }
        words.next();
    }
    Ok(build(&tree, &root, &options)
        .map(|built| built.to_yaml())
        .map_err(|failure| failure.to_string()))
}

#[test]
fn builds_are_those_of_kustomize() -> Outcome<()> {
    let mut cases: Vec<PathBuf> = fs::read_dir(folder())?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<_, _>>()?;
    cases.sort();
    assert!(cases.len() > 50, "the cases are gone");
    let mut wrong = Vec::new();
    for case in &cases {
        let name = case.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let refused = case.join("expected.error").exists();
        match run(case)? {
            Ok(text) if refused => wrong.push(format!("{name}: kustomize refuses this\n{text}")),
            Ok(text) if text != fs::read_to_string(case.join("expected.yaml"))? => {
                wrong.push(format!("{name}: other output\n{text}"));
            }
            Err(error) if !refused => wrong.push(format!("{name}: {error}")),
            _ => {}
        }
    }
    assert!(wrong.is_empty(), "{} of {} cases:\n\n{}", wrong.len(), cases.len(), wrong.join("\n"));
    Ok(())
}

#[test]
fn expectations_say_which_version_wrote_them() -> Outcome<()> {
    let version = fs::read_to_string(folder().with_file_name("cases.version"))?;
    assert_eq!(version.trim(), "v5.8.1");
    Ok(())
}
