//! Which artifacts are made: those of the spec, or, with a pattern of paths, those of the spec for every
//! directory that fits it.

use std::collections::BTreeMap;

use regex::Regex;
use sluice_api::extensions::artifactgenerator::{CopyStrategy, OutputArtifact};
use sluice_api::names::reasons::BUILD_FAILED;
use sluice_base::names::{dns1123_subdomain, label_key, label_value};
use sluice_runtime::outcome::Stop;
use sluice_source::compose::{CopyStep, Sources, Strategy};
use sluice_source::tree::{Node, SourceTree};

use super::Pass;

/// Values by the names that a pattern gives them.
type Captures = BTreeMap<String, String>;

/// An artifact to make, with its own labels.
#[derive(Debug)]
pub(super) struct Output {
    /// What to copy, under which name.
    pub(super) artifact: OutputArtifact,
    /// What the pattern found.
    pub(super) labels: Captures,
}

impl Output {
    /// What to copy.
    pub(super) fn steps(&self) -> Vec<CopyStep> {
        let steps = self.artifact.copy.iter().map(|copy| CopyStep {
            from: copy.from.clone(),
            to: copy.to.clone(),
            exclude: copy.exclude.clone().unwrap_or_default(),
            strategy: match copy.strategy {
                Some(CopyStrategy::Merge) => Strategy::Merge,
                Some(CopyStrategy::Extract) => Strategy::Extract,
                _ => Strategy::Overwrite,
            },
        });
        steps.collect()
    }
}

/// The artifacts to make.
pub(super) fn outputs(pass: &Pass<'_>, trees: &Sources) -> Result<Vec<Output>, Stop> {
    let spec = &pass.object.spec;
    let Some(pattern) = spec.path_pattern.as_deref().filter(|it| !it.is_empty()) else {
        let plain = |artifact: &OutputArtifact| Output {
            artifact: artifact.clone(),
            labels: Captures::new(),
        };
        return Ok(spec.artifacts.iter().map(plain).collect());
    };
    expand(pattern, &spec.artifacts, trees).map_err(|error| {
        Stop::stalled(BUILD_FAILED, format!("failed to expand path pattern: {error}"))
    })
}

/// The artifacts for every directory that fits a pattern, in the order of a walk.
fn expand(
    pattern: &str,
    artifacts: &[OutputArtifact],
    trees: &Sources,
) -> Result<Vec<Output>, String> {
    let parts = pattern.strip_prefix('@').and_then(|rest| rest.split_once('/'));
    let (alias, path) = parts.ok_or_else(|| format!("invalid pathPattern format: {pattern}"))?;
    let files: &SourceTree = trees.get(alias).ok_or_else(|| {
        format!("pathPattern {pattern:?}: source alias {alias} not found in local sources")
    })?;
    let wrong = |why: String| format!("pathPattern {pattern:?}: {why}");
    let names = capture_names(path).map_err(wrong)?;
    for name in &names {
        let problems = label_key(name);
        if !problems.is_empty() {
            let why = problems.join("; ");
            return Err(wrong(format!(
                "capture variable {name:?} is not a valid Kubernetes label key: {why}"
            )));
        }
    }
    let matcher = matcher(path, &names).map_err(wrong)?;
    let mut outputs = Vec::new();
    let mut seen: BTreeMap<String, String> = BTreeMap::new();
    for (directory, _) in files.iter().filter(|(_, node)| **node == Node::Directory) {
        let Some(found) = matcher.captures(directory) else { continue };
        let value = |name: &String| {
            let text = found.name(name).map(|it| it.as_str().to_owned()).unwrap_or_default();
            (name.clone(), text)
        };
        let raw: Captures = names.iter().map(value).collect();
        let lower: Captures =
            raw.iter().map(|(name, text)| (name.clone(), text.to_lowercase())).collect();
        for (name, text) in &lower {
            let problems = label_value(text);
            if !problems.is_empty() {
                let why = problems.join("; ");
                return Err(wrong(format!(
                    "captured value {text:?} for variable {name:?} is not a valid Kubernetes label value: {why}"
                )));
            }
        }
        for artifact in artifacts {
            let output = render(artifact, &lower, &raw).map_err(|why| {
                let name = &artifact.name;
                wrong(format!("failed to render artifact {name} for match {directory}: {why}"))
            })?;
            let name = &output.artifact.name;
            let problems = dns1123_subdomain(name);
            if !problems.is_empty() {
                let why = problems.join("; ");
                return Err(wrong(format!(
                    "rendered artifact name {name:?} is not a valid Kubernetes object name: {why}"
                )));
            }
            if let Some(other) = seen.insert(name.clone(), directory.to_owned()) {
                return Err(wrong(format!(
                    "directories {other:?} and {directory:?} both resolve to artifact name {name:?}"
                )));
            }
            outputs.push(output);
        }
    }
    Ok(outputs)
}

/// The names in braces, each at most once.
fn capture_names(path: &str) -> Result<Vec<String>, String> {
    let mut names = Vec::new();
    for piece in pieces(path) {
        let name = match piece {
            Piece::Text(_) => continue,
            Piece::Open(at) => {
                return Err(format!(
                    "invalid capture starting at offset {at}: missing closing brace"
                ));
            }
            Piece::Close(at) => {
                return Err(format!(
                    "invalid capture ending at offset {at}: missing opening brace"
                ));
            }
            Piece::Name(name) => name,
        };
        check_name(name)?;
        if names.iter().any(|known| known == name) {
            return Err(format!("duplicate capture variable {name:?}"));
        }
        names.push(name.to_owned());
    }
    Ok(names)
}

fn check_name(name: &str) -> Result<(), String> {
    if name.is_empty() {
        return Err("empty capture variable".to_owned());
    }
    let mut letters = name.bytes();
    let first = letters.next().is_some_and(|it| it.is_ascii_alphabetic() || it == b'_');
    if first && letters.all(|it| it.is_ascii_alphanumeric() || it == b'_') {
        return Ok(());
    }
    Err(format!(
        "capture variable {name:?} must be a valid capture name matching [A-Za-z_][A-Za-z0-9_]*"
    ))
}

fn matcher(path: &str, names: &[String]) -> Result<Regex, String> {
    let mut text = regex::escape(path);
    for name in names {
        let written = regex::escape(&format!("{{{name}}}"));
        text = text.replace(&written, &format!("(?P<{name}>[^/]+)"));
    }
    Regex::new(&format!("^{text}$"))
        .map_err(|error| format!("failed to compile path pattern: {error}"))
}

/// An artifact with the values in the places of their names: lower case in its name, as they are in paths.
fn render(artifact: &OutputArtifact, lower: &Captures, raw: &Captures) -> Result<Output, String> {
    let mut artifact = artifact.clone();
    artifact.name = fill(&artifact.name, lower)?;
    for copy in &mut artifact.copy {
        copy.from = fill(&copy.from, raw)?;
        copy.to = fill(&copy.to, raw)?;
    }
    Ok(Output { artifact, labels: lower.clone() })
}

fn fill(template: &str, values: &Captures) -> Result<String, String> {
    let wrong = |why: String| format!("invalid template {template:?}: {why}");
    let mut out = String::new();
    for piece in pieces(template) {
        match piece {
            Piece::Text(text) => out.push_str(text),
            Piece::Open(at) => {
                return Err(wrong(format!(
                    "capture starting at offset {at} is missing closing brace"
                )));
            }
            Piece::Close(at) => {
                return Err(wrong(format!(
                    "capture ending at offset {at} is missing opening brace"
                )));
            }
            Piece::Name(name) => {
                check_name(name).map_err(wrong)?;
                let value = values.get(name).ok_or_else(|| {
                    wrong(format!("capture variable {name:?} is not defined by pathPattern"))
                })?;
                out.push_str(value);
            }
        }
    }
    Ok(out)
}

/// A part of a text with names in braces.
enum Piece<'t> {
    Text(&'t str),
    Name(&'t str),
    /// A brace that is never closed, or was never opened, and where.
    Open(usize),
    Close(usize),
}

fn pieces(text: &str) -> Vec<Piece<'_>> {
    let mut out = Vec::new();
    let mut at = 0;
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        match rest.find(['{', '}']) {
            None => {
                out.push(Piece::Text(rest));
                return out;
            }
            Some(0) if rest.starts_with('}') => {
                out.push(Piece::Close(at));
                return out;
            }
            Some(0) => {
                let Some(end) = rest.find('}') else {
                    out.push(Piece::Open(at));
                    return out;
                };
                out.push(Piece::Name(rest.get(1..end).unwrap_or_default()));
                at += end + 1;
            }
            Some(end) => {
                out.push(Piece::Text(rest.get(..end).unwrap_or_default()));
                at += end;
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use sluice_api::extensions::artifactgenerator::{CopyOperation, OutputArtifact};
    use sluice_source::compose::Sources;
    use sluice_source::tree::SourceTree;

    use super::expand;

    fn sources(files: &[&str]) -> Sources {
        let mut tree = SourceTree::default();
        for file in files {
            tree.insert_file(file, "x").unwrap();
        }
        Sources::from([("git".to_owned(), Arc::new(tree))])
    }

    fn artifact(name: &str, from: &str) -> OutputArtifact {
        let copy = CopyOperation {
            from: from.to_owned(),
            to: "@artifact/".to_owned(),
            ..CopyOperation::default()
        };
        OutputArtifact { name: name.to_owned(), copy: vec![copy], ..OutputArtifact::default() }
    }

    #[test]
    fn every_directory_that_fits_gives_an_artifact() {
        let sources = sources(&["apps/Web/envs/prod/a", "apps/api/envs/prod/a", "apps/api/envs/x"]);
        let wanted = [artifact("{app}-{env}", "@git/apps/{app}/envs/{env}/**")];
        let found = expand("@git/apps/{app}/envs/{env}", &wanted, &sources).unwrap();
        let names: Vec<_> = found.iter().map(|it| it.artifact.name.as_str()).collect();
        assert_eq!(names, ["web-prod", "api-prod"]);
        assert_eq!(found[0].artifact.copy[0].from, "@git/apps/Web/envs/prod/**", "as it is");
        assert_eq!(found[0].labels["app"], "web");
    }

    #[test]
    fn patterns_and_names_that_do_not_work_are_told() {
        let one = |name: &str| vec![artifact(name, "@git/")];
        for (pattern, artifacts, words) in [
            ("@none/{a}", one("{a}"), "source alias none not found"),
            ("@git/{a", one("x"), "missing closing brace"),
            ("@git/a}", one("x"), "missing opening brace"),
            ("@git/{}", one("x"), "empty capture variable"),
            ("@git/{1a}", one("x"), "must be a valid capture name"),
            ("@git/{a}/{a}", one("x"), "duplicate capture variable \"a\""),
            ("@git/{_}", one("x"), "is not a valid Kubernetes label key"),
            ("@git/{a}", one("same"), "both resolve to artifact name \"same\""),
            ("@git/{a}", one("{b}"), "is not defined by pathPattern"),
            ("@git/{a}", one("{a}."), "is not a valid Kubernetes object name"),
            ("@git/odd/{a}", one("{a}"), "is not a valid Kubernetes label value"),
        ] {
            let files = sources(&["one/x", "two/x", "odd/b c/x"]);
            let error = expand(pattern, &artifacts, &files).unwrap_err();
            assert!(error.contains(words), "{pattern}: {error}");
        }
    }
}
