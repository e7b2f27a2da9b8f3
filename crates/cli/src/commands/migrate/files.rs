//! Migrates API versions in files: changes one line of a document and keeps everything else as written.

use std::path::{Path, PathBuf};

use super::Arguments;
use crate::ask::confirmed;
use crate::kinds;
use crate::outcome::Failure;
use crate::tell;

/// The minor versions of Flux to migrate to, newest first.
const VERSIONS: [&str; 4] = ["2.9", "2.8", "2.7", "2.6"];

/// A line with an old version.
struct Upgrade {
    line: usize,
    kind: String,
    old: String,
    new: &'static str,
}

/// Migrates all files of a path.
pub(super) fn run(path: &Path, arguments: &Arguments) -> Result<(), Failure> {
    let target = match arguments.version.as_deref() {
        None => VERSIONS[0],
        Some(given) => VERSIONS.into_iter().find(|known| *known == given).ok_or_else(|| {
            Failure::flux(format!(
                "version {given} is not supported, supported versions are: {}",
                VERSIONS.join(", ")
            ))
        })?,
    };
    tell::action("starting migration of custom resources");
    let mut found = Vec::new();
    for file in files(&clean(path), &arguments.extensions)? {
        let text = read(&file)?;
        let upgrades = upgrades(&file, &text, target);
        for upgrade in &upgrades {
            let (file, line) = (file.display(), upgrade.line + 1);
            let Upgrade { kind, old, new, .. } = upgrade;
            tell::generated(&format!("{file}:{line}: {kind} {old} -> {new}"));
        }
        if !upgrades.is_empty() {
            found.push((file, text, upgrades));
        }
    }
    if found.is_empty() {
        tell::success("no custom resources found that require migration");
        return Ok(());
    }
    if arguments.dry_run {
        tell::success("dry-run mode enabled, no changes will be made");
        return Ok(());
    }
    if !arguments.yes && !confirmed("proceed with the above upgrades") {
        return Err(Failure::flux("^D"));
    }
    for (file, text, upgrades) in found {
        let shown = file.display().to_string();
        std::fs::write(&file, upgraded(&text, &upgrades))
            .map_err(|error| Failure::flux(format!("failed to write file {shown}: {error}")))?;
        tell::success(&format!("file {shown} migrated successfully"));
    }
    tell::success("custom resources migrated successfully");
    Ok(())
}

/// A clean path for messages.
fn clean(path: &Path) -> PathBuf {
    let clean: PathBuf = path.components().collect();
    clean.strip_prefix(".").map(Path::to_owned).unwrap_or(clean)
}

fn read(file: &Path) -> Result<String, Failure> {
    let bytes = std::fs::read(file).map_err(|error| {
        Failure::flux(format!("failed to read file {}: {error}", file.display()))
    })?;
    String::from_utf8(bytes)
        .map_err(|_| Failure::flux(format!("file {} is not text", file.display())))
}

/// The files below a path with one of the extensions, sorted.
fn files(path: &Path, endings: &[String]) -> Result<Vec<PathBuf>, Failure> {
    let shown = path.display().to_string();
    let walked = if shown.is_empty() { Path::new(".") } else { path };
    let fits =
        |path: &Path| endings.iter().any(|end| path.to_string_lossy().ends_with(end.as_str()));
    let metadata = std::fs::metadata(walked).map_err(|_| {
        Failure::flux(format!(
            "failed to stat path {shown}: openat {shown}: no such file or directory"
        ))
    })?;
    if !metadata.is_dir() {
        if !fits(path) {
            let endings = endings.join(", ");
            return Err(Failure::flux(format!(
                "file {shown} does not match the specified extensions: {endings}"
            )));
        }
        if std::fs::symlink_metadata(path).is_ok_and(|one| !one.is_file()) {
            return Err(Failure::flux(format!("file {shown} is irregular")));
        }
        return Ok(vec![path.to_owned()]);
    }
    let failed =
        |error: std::io::Error| Failure::flux(format!("failed to walk directory {shown}: {error}"));
    let mut found = Vec::new();
    let mut next = vec![walked.to_owned()];
    while let Some(directory) = next.pop() {
        for entry in std::fs::read_dir(&directory).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let (path, kind) = (entry.path(), entry.file_type().map_err(failed)?);
            if kind.is_dir() {
                next.push(path);
            } else if fits(&path) && kind.is_file() {
                found.push(clean(&path));
            } else if fits(&path) {
                tell::warning(&format!("skipping irregular file {}", clean(&path).display()));
            }
        }
    }
    found.sort();
    Ok(found)
}

/// Lines with an `apiVersion` of Flux that is not the newest, right above their `kind`.
fn upgrades(file: &Path, text: &str, target: &str) -> Vec<Upgrade> {
    let lines: Vec<&str> = text.split('\n').collect();
    let value = |line: &str, field: &str| {
        let (_, value) = line.split_once(field)?;
        Some(value.trim().split(' ').next().unwrap_or_default().to_owned())
    };
    let mut found = Vec::new();
    for (line, pair) in lines.windows(2).enumerate() {
        let [above, below] = pair else { continue };
        let Some(api_version) = value(above, "apiVersion: ") else { continue };
        let (group, old) = match api_version.split('/').collect::<Vec<_>>().as_slice() {
            [version] => (String::new(), (*version).to_owned()),
            [group, version] => ((*group).to_owned(), (*version).to_owned()),
            _ => {
                let (file, line) = (file.display(), line + 1);
                tell::warning(&format!(
                    "{file}:{line}: unexpected GroupVersion string: {api_version}"
                ));
                continue;
            }
        };
        let Some(kind) = value(below, "kind: ") else { continue };
        if let Some(new) = newest(&group, &kind, target).filter(|new| *new != old) {
            found.push(Upgrade { line, kind, old, new });
        }
    }
    found
}

/// The newest version of a kind in a version of Flux.
fn newest(group: &str, kind: &str, target: &str) -> Option<&'static str> {
    let known = kinds::KINDS.iter().find(|known| known.name() == kind)?;
    if known.definition.group != group {
        return None;
    }
    match (target, group) {
        ("2.6", "image.toolkit.fluxcd.io") => Some("v1beta2"),
        ("2.6", "source.extensions.fluxcd.io") => None,
        _ => Some(known.definition.version),
    }
}

fn upgraded(text: &str, upgrades: &[Upgrade]) -> String {
    let mut lines: Vec<String> = text.split('\n').map(str::to_owned).collect();
    for Upgrade { line, old, new, .. } in upgrades {
        if let Some(line) = lines.get_mut(*line) {
            *line = line.replacen(old.as_str(), new, 1);
        }
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{upgraded, upgrades};

    const TEXT: &str = "apiVersion: image.toolkit.fluxcd.io/v1beta1 # old\nkind: ImagePolicy\n---\n\
        - apiVersion: source.toolkit.fluxcd.io/v1\n  kind: GitRepository\n---\n\
        apiVersion: apps/v1beta1\nkind: Deployment\n";

    #[test]
    fn only_old_versions_of_flux_change() {
        let found = upgrades(Path::new("a.yaml"), TEXT, "2.9");
        assert_eq!(found.len(), 1);
        let expected = TEXT.replace("v1beta1 # old", "v1 # old");
        assert_eq!(upgraded(TEXT, &found), expected);
    }

    #[test]
    fn older_versions_of_flux_have_older_versions() {
        let found = upgrades(Path::new("a.yaml"), TEXT, "2.6");
        assert_eq!(found.iter().map(|one| one.new).collect::<Vec<_>>(), ["v1beta2"]);
    }
}
