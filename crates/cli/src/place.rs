//! Places of objects as commands print them.

use std::path::{Component, Path, PathBuf};

use sluice_base::place::Place;

/// A place on this machine, relative to the working directory.
pub(crate) fn shown(mut place: Place) -> Place {
    let here = std::env::current_dir().and_then(std::fs::canonicalize).unwrap_or_default();
    if let Some(relative) = relative(Path::new(&*place.file), &here) {
        place.file = relative.to_string_lossy().into();
    }
    place.patched_by = place.patched_by.map(|patch| Box::new(shown(*patch)));
    place
}

/// A path as seen from a directory; nothing where both have only the root in common.
fn relative(path: &Path, from: &Path) -> Option<PathBuf> {
    let common = path.components().zip(from.components()).take_while(|(a, b)| a == b).count();
    if !path.is_absolute() || common < 2 {
        return None;
    }
    let up = from.components().skip(common).map(|_| Component::ParentDir);
    Some(up.chain(path.components().skip(common)).collect())
}

/// Places one below the other; nothing where there are none.
pub(crate) fn lines(places: Vec<Place>) -> Option<String> {
    joined(places.into_iter().map(|place| shown(place).to_string()))
}

/// Objects that failed with their places, one below the other; nothing where no place is known.
pub(crate) fn lines_of<'f>(
    failures: impl IntoIterator<Item = &'f sluice_ssa::Failure>,
) -> Option<String> {
    joined(failures.into_iter().filter_map(|failure| {
        let place = failure.place.as_ref()?;
        Some(match &failure.object {
            Some(object) => format!("{object}: {place}"),
            None => place.to_string(),
        })
    }))
}

fn joined(lines: impl Iterator<Item = String>) -> Option<String> {
    let lines: Vec<String> = lines.collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::relative;

    #[test]
    fn paths_are_seen_from_the_working_directory() {
        for (path, from, expected) in [
            ("/work/repo/apps/a.yaml", "/work/repo", Some("apps/a.yaml")),
            ("/work/repo/a.yaml", "/work/repo/apps/web", Some("../../a.yaml")),
            ("/etc/a.yaml", "/work/repo", None),
            ("spec.patches[0]", "/work/repo", None),
        ] {
            let found = relative(Path::new(path), Path::new(from));
            assert_eq!(found.as_deref(), expected.map(Path::new), "{path}");
        }
    }
}
