//! `kustomize.Generator`.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::Value;
use sluice_base::need::Step;
use sluice_kustomize::RemoteFiles;
use sluice_kustomize::flux::{
    Generated, Inputs, Missing, Overrides, Purpose, SecureTree, Spec, Stage, Variables, build,
    generate,
};
use sluice_kustomize::{Entry, FileTree, MemoryTree, TreeError};

use super::{compare, table};

/// A tree in memory with links.
#[derive(Default)]
struct Linked {
    files: MemoryTree,
    links: BTreeMap<String, String>,
}

impl Linked {
    fn read(case: &Value) -> Self {
        let mut tree = Self::default();
        tree.files.make_directories(
            &format!("/src/{}", case["directory"].as_str().unwrap_or_default()).replace("/.", ""),
        );
        tree.files.insert("/etc/hostname", "host");
        for (path, text) in case["files"].as_object().into_iter().flatten() {
            let (path, text) = (format!("/src/{path}"), text.as_str().unwrap_or_default());
            match text.strip_prefix("link:") {
                Some(target) => {
                    let directory = path.rsplit_once('/').map_or("", |(directory, _)| directory);
                    tree.files.make_directories(directory);
                    let target = if target.starts_with('/') {
                        target.to_owned()
                    } else {
                        format!("{directory}/{target}")
                    };
                    tree.links.insert(path, clean(&target));
                }
                None => tree.files.insert(path, text),
            }
        }
        tree
    }

    /// The path with links followed, part by part.
    fn follow(&self, path: &str) -> String {
        let mut at = String::new();
        for part in path.split('/').filter(|part| !part.is_empty()) {
            at = format!("{at}/{part}");
            for _ in 0..8 {
                match self.links.get(&at) {
                    Some(target) => at = self.follow(target),
                    None => break,
                }
            }
        }
        if at.is_empty() { "/".to_owned() } else { at }
    }
}

fn clean(path: &str) -> String {
    let mut parts = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            other => parts.push(other),
        }
    }
    format!("/{}", parts.join("/"))
}

impl FileTree for Linked {
    fn entry(&self, path: &str) -> Option<Entry> {
        self.files.entry(&self.follow(path))
    }

    fn read(&self, path: &str) -> Result<Cow<'_, [u8]>, TreeError> {
        self.files.read(&self.follow(path)).map_err(|error| match error {
            TreeError::Missing(_) => TreeError::Missing(path.to_owned()),
            TreeError::Directory(_) => TreeError::Directory(path.to_owned()),
            refused @ TreeError::Refused { .. } => refused,
        })
    }

    fn list(&self, path: &str) -> Result<Vec<String>, TreeError> {
        let directory = self.follow(path);
        let mut names = self.files.list(&directory)?;
        let links = self.links.keys().filter_map(|link| link.rsplit_once('/'));
        names.extend(
            links.filter(|(above, _)| *above == directory).map(|(_, name)| name.to_owned()),
        );
        names.sort();
        Ok(names)
    }

    fn resolve(&self, path: &str) -> Result<String, TreeError> {
        let target = self.follow(path);
        self.files.resolve(&target).map_err(|_| TreeError::Missing(path.to_owned()))
    }
}

fn overrides(spec: &Value) -> Overrides {
    let text = |name: &str| spec[name].as_str().map(str::to_owned);
    let texts = |name: &str| {
        let items = spec[name].as_array().into_iter().flatten();
        items.filter_map(|item| item.as_str().map(str::to_owned)).collect()
    };
    let typed = |name: &str| spec.get(name).cloned().unwrap_or_else(|| Value::Array(Vec::new()));
    Overrides {
        target_namespace: text("targetNamespace"),
        name_prefix: text("namePrefix"),
        name_suffix: text("nameSuffix"),
        patches: serde_json::from_value(typed("patches")).expect("patches of a spec"),
        images: serde_json::from_value(typed("images")).expect("images of a spec"),
        components: texts("components"),
        ignore_missing_components: spec["ignoreMissingComponents"] == true,
        build_metadata: texts("buildMetadata"),
    }
}

fn differs(case: &Value) -> Option<String> {
    let files = Linked::read(case);
    let tree = SecureTree::new(&files, "/src").expect("the root is there");
    let directory = clean(&format!("/src/{}", case["directory"].as_str().unwrap_or_default()));
    let ours = generate(&tree, &directory, &overrides(&case["spec"]), None);
    let is_same = match (&ours, case["error"].as_str()) {
        (Ok(Generated { path, text, is_created }), None) => {
            case["path"] == path.as_str()
                && case["text"] == text.as_str()
                && case["created"].as_bool().unwrap_or_default() == *is_created
        }
        (Err(ours), Some(theirs)) => {
            let first = ours.diagnostics().next().expect("a failure has a cause");
            first.message == theirs
        }
        _ => false,
    };
    (!is_same).then(|| match ours {
        Ok(generated) => generated.text,
        Err(failure) => format!("{failure:?}"),
    })
}

/// What building the generated file gives: the same objects in the same order, or a failure likewise.
fn builds_differently(case: &Value) -> Option<String> {
    let files = Linked::read(case);
    let directory = clean(&format!("/src/{}", case["directory"].as_str().unwrap_or_default()));
    let spec = Spec { overrides: overrides(&case["spec"]), ..Spec::default() };
    let built = build(
        &Inputs {
            spec: &spec,
            tree: &files,
            root: "/src",
            directory: &directory,
            ignore: None,
            remote: None,
            remote_files: RemoteFiles::Everywhere,
            variables: Ok(&Variables::default()),
            missing: Missing::Empty,
            purpose: Purpose::Show,
        },
        None,
    );
    let built = match built {
        Err(error) if error.stage == Stage::Generate => return None,
        Err(error) => Err(error),
        Ok(Step::Needs(needs)) => return Some(format!("{needs:?}")),
        Ok(Step::Done(built)) => Ok(built.text()),
    };
    let is_same = match (&built, case["buildError"].as_str()) {
        (Ok(ours), None) => case["build"].as_str().unwrap_or_default() == ours,
        (Err(_), Some(_)) => true,
        // Where upstream panics, any answer is better.
        (Ok(_), Some(theirs)) => theirs.starts_with("recovered from kustomize build panic"),
        _ => false,
    };
    (!is_same).then(|| match built {
        Ok(text) => text,
        Err(failure) => failure.to_string(),
    })
}

#[test]
fn generated_files_build_as_upstream_builds_them() {
    compare(&table("builds.jsonl.gz", "SLUICE_FLUX_BUILDS"), builds_differently);
}

#[test]
fn kustomization_files_are_those_upstream_writes() {
    compare(&table("trees.jsonl.gz", "SLUICE_FLUX_TREES"), differs);
}
