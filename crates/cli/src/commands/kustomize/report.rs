//! Prints build errors: message, position and hint.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;

use sluice_kustomize::{Diagnostic, Failure};

/// Prints every cause of a failure.
pub(super) fn failure(failure: &Failure, here: &Path) {
    tell("error", failure.diagnostics(), here);
}

/// Prints warnings.
pub(super) fn warnings(warnings: &[Diagnostic], here: &Path) {
    tell("warning", warnings.iter(), here);
}

fn tell<'d>(word: &str, causes: impl Iterator<Item = &'d Diagnostic>, here: &Path) {
    let text: Vec<String> = causes.map(|cause| describe(word, cause, here)).collect();
    // stderr is closed.
    let _ = std::io::stderr().lock().write_all(text.concat().as_bytes());
}

fn describe(word: &str, cause: &Diagnostic, here: &Path) -> String {
    let mut text = format!("{word}: ");
    if let Some(object) = &cause.object {
        text.push_str(object);
        text.push_str(": ");
    }
    text.push_str(cause.message.trim_end());
    text.push('\n');
    if let Some(file) = &cause.file {
        text.push_str("  ");
        text.push_str(nearer(file, here));
        if let Some(position) = cause.position {
            // Writing to a string cannot fail.
            let _ = write!(text, ":{}:{}", position.line, position.column);
            if let Some(line) = source_line(file, position.line) {
                let _ = write!(text, "\n {:>4} | {line}", position.line);
            }
        }
        text.push('\n');
    }
    if !cause.through.is_empty() {
        let through: Vec<&str> = cause.through.iter().map(|path| nearer(path, here)).collect();
        let _ = writeln!(text, "  reached through {}", through.join(", "));
    }
    if let Some(hint) = &cause.hint {
        let _ = writeln!(text, "hint: {hint}");
    }
    text
}

/// The path relative to the current directory, if it is below.
fn nearer<'p>(path: &'p str, here: &Path) -> &'p str {
    let below = Path::new(path).strip_prefix(here).ok().and_then(Path::to_str);
    below.filter(|below| !below.is_empty()).unwrap_or(path)
}

fn source_line(file: &str, line: usize) -> Option<String> {
    let text = std::fs::read_to_string(file).ok()?;
    text.lines().nth(line.checked_sub(1)?).map(|line| line.trim_end().to_owned())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use sluice_kustomize::{MemoryTree, Options};

    fn report(content: &str) -> String {
        let mut tree = MemoryTree::default();
        tree.insert("/app/kustomization.yaml", content);
        let failure = sluice_kustomize::build(&tree, "/app", &Options::default());
        let failure = failure.expect_err("something is wrong");
        let here = Path::new("/app");
        failure.diagnostics().map(|cause| super::describe("error", cause, here)).collect()
    }

    #[test]
    fn a_cause_is_printed_with_its_position() {
        assert_eq!(
            report("resources:\n- web.yaml\nnamePrefx: a-\n"),
            "error: invalid Kustomization: json: unknown field \"namePrefx\"\n  \
             kustomization.yaml:3:1\n\
             error: must build at directory: not a valid directory: evalsymlink failure on \
             '/app/web.yaml' : lstat /app/web.yaml: no such file or directory\n  \
             kustomization.yaml:2:3\nhint: there is neither a file nor a directory 'web.yaml'\n"
        );
    }

    #[test]
    fn a_hint_has_its_own_line() {
        assert_eq!(
            report(""),
            "error: kustomization.yaml is empty\n  kustomization.yaml\nhint: name what it is \
             about, for instance under `resources`\n"
        );
    }
}
