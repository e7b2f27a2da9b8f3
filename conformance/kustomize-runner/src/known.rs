//! The builds that are known to come out differently, with the reason of each.

use std::collections::BTreeMap;
use std::path::Path;

use crate::compare::Level;

/// Lines `suite/name | level | reason`.
#[derive(Debug, Default)]
pub(crate) struct Known(BTreeMap<(String, String), String>);

impl Known {
    /// Reads the list.
    pub(crate) fn read(path: &Path) -> Result<Self, String> {
        let text = std::fs::read_to_string(path)
            .map_err(|error| format!("{}: {error}", path.display()))?;
        Self::parse(&text)
    }

    fn parse(text: &str) -> Result<Self, String> {
        let mut known = BTreeMap::new();
        for (number, line) in text.lines().enumerate() {
            if line.trim().is_empty() || line.starts_with('#') {
                continue;
            }
            let parts: Vec<_> = line.splitn(3, " | ").map(str::trim).collect();
            let [name, level, reason] = parts.as_slice() else {
                return Err(format!("line {} is not `name | level | reason`", number + 1));
            };
            if !Level::ALL.iter().any(|known| known.name() == *level) {
                return Err(format!("line {}: there is no level {level}", number + 1));
            }
            known.insert(((*name).to_owned(), (*level).to_owned()), (*reason).to_owned());
        }
        Ok(Self(known))
    }

    /// Why this build may differ at this level.
    pub(crate) fn reason(&self, name: &str, level: Level) -> Option<&str> {
        self.0.get(&(name.to_owned(), level.name().to_owned())).map(String::as_str)
    }

    /// The builds on the list, with their levels.
    pub(crate) fn entries(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.keys().map(|(name, level)| (name.as_str(), level.as_str()))
    }
}

#[cfg(test)]
mod tests {
    use super::Known;
    use crate::compare::Level;

    #[test]
    fn a_line_needs_a_level_and_a_reason() {
        let known = Known::parse("# why\nkrusty/A/1 | bytes | because\n").expect("it parses");
        assert_eq!(known.reason("krusty/A/1", Level::Bytes), Some("because"));
        assert_eq!(known.reason("krusty/A/1", Level::Class), None);
        assert!(Known::parse("krusty/A/1 | bytes\n").is_err());
        assert!(Known::parse("krusty/A/1 | colour | because\n").is_err());
    }
}
