//! Where an object is written: a file of the source, a line, and the patch that changed it last.

use std::fmt;
use std::sync::Arc;

/// A place in the files of a source, such as `apps/web/deploy.yaml:14`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// Path relative to the root of the source, the URL of a remote file, or a field of the spec that built it
    /// (`spec.patches[0]`).
    pub file: Arc<str>,
    /// Line, from one.
    pub line: Option<usize>,
    /// The patch, image entry or replacement that changed the object last.
    pub patched_by: Option<Box<Self>>,
}

impl Place {
    /// A place that nothing else changed; line 0 stands for a line that is not known.
    pub fn new(file: impl Into<Arc<str>>, line: usize) -> Self {
        Self { file: file.into(), line: (line > 0).then_some(line), patched_by: None }
    }
}

/// `apps/web/deploy.yaml:14, patched by apps/web/patch.yaml:3`.
impl fmt::Display for Place {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.file)?;
        if let Some(line) = self.line {
            write!(formatter, ":{line}")?;
        }
        match &self.patched_by {
            Some(patch) => write!(formatter, ", patched by {patch}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Place;

    #[test]
    fn a_place_names_file_line_and_patch() {
        let mut place = Place::new("apps/web/deploy.yaml", 14);
        assert_eq!(place.to_string(), "apps/web/deploy.yaml:14");
        place.patched_by = Some(Box::new(Place::new("spec.patches[0]", 0)));
        assert_eq!(place.to_string(), "apps/web/deploy.yaml:14, patched by spec.patches[0]");
    }
}
