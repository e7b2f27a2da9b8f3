//! Why there is no data key, in the layout of SOPS.

use std::fmt;

/// Why the data key of a document could not be decrypted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DataKeyError {
    /// Too few groups were decrypted.
    Keys {
        /// The number of required groups; zero if there is only one.
        threshold: usize,
        /// The failure of each group; `None` if it was decrypted.
        groups: Vec<Option<GroupFailure>>,
    },
    /// The shares do not fit together.
    Shamir(&'static str),
    /// A remote key has yet to be asked; then decryption can be repeated.
    Unasked,
}

/// Why no key of a group decrypted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupFailure(pub(super) Vec<KeyFailure>);

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct KeyFailure {
    pub(super) name: String,
    pub(super) reason: String,
}

impl std::error::Error for DataKeyError {}

impl fmt::Display for DataKeyError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (threshold, groups) = match self {
            Self::Shamir(problem) => {
                return write!(formatter, "could not get data key from shamir parts: {problem}");
            }
            Self::Unasked => return formatter.write_str("a key service has not answered yet"),
            Self::Keys { threshold, groups } => (threshold, groups),
        };
        formatter.write_str("Failed to get the data key required to decrypt the SOPS file.\n\n")?;
        for (number, group) in groups.iter().enumerate() {
            match group {
                None => write!(formatter, "Group {number}: SUCCESS\n\n")?,
                Some(failure) => {
                    let text = prefixed(&failure.to_string(), "  ");
                    write!(formatter, "Group {number}: FAILED\n{text}\n\n")?;
                }
            }
        }
        let trailer = if *threshold == 0 {
            "Recovery failed because no master key was able to decrypt the file. In order for SOPS \
             to recover the file, at least one key has to be successful, but none were."
                .to_owned()
        } else {
            let recovered = groups.iter().filter(|group| group.is_none()).count();
            format!(
                "Recovery failed because the file was encrypted with a Shamir threshold of \
                 {threshold}, but only {recovered} part(s) were successfully recovered, one for each \
                 successful key group. In order for SOPS to recover the file, at least {threshold} \
                 groups have to be successful. In order for a group to be successful, decryption has \
                 to succeed with any of the keys in that key group."
            )
        };
        formatter.write_str(&wrapped(&trailer, 75))
    }
}

impl fmt::Display for GroupFailure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, KeyFailure { name, reason }) in self.0.iter().enumerate() {
            if index > 0 {
                formatter.write_str("\n\n")?;
            }
            let reason = prefixed(&wrapped(reason, 60), "  | ").replacen(' ', "-", 1);
            write!(formatter, "{name}: FAILED\n{}", prefixed(&reason, "  "))?;
        }
        Ok(())
    }
}

/// Prefixes every line.
fn prefixed(text: &str, prefix: &str) -> String {
    let lines: Vec<String> = text.split('\n').map(|line| format!("{prefix}{line}")).collect();
    lines.join("\n")
}

/// Wraps lines at spaces.
fn wrapped(text: &str, width: usize) -> String {
    let wrap = |line: &str| {
        let mut out = String::new();
        let mut column = 0;
        for word in line.split(' ') {
            let length = word.chars().count();
            if column > 0 && column + 1 + length > width {
                out.push('\n');
                column = 0;
            } else if column > 0 {
                out.push(' ');
                column += 1;
            }
            out.push_str(word);
            column += length;
        }
        out
    };
    let lines: Vec<String> = text.split('\n').map(wrap).collect();
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::{DataKeyError, GroupFailure, KeyFailure};

    #[test]
    fn the_layout_is_that_of_sops() {
        let failure =
            KeyFailure { name: "age1x".to_owned(), reason: "no identity fits".to_owned() };
        let error =
            DataKeyError::Keys { threshold: 0, groups: vec![Some(GroupFailure(vec![failure]))] };
        assert_eq!(
            error.to_string(),
            "Failed to get the data key required to decrypt the SOPS file.\n\n\
             Group 0: FAILED\n  age1x: FAILED\n    - | no identity fits\n\n\
             Recovery failed because no master key was able to decrypt the file. In\n\
             order for SOPS to recover the file, at least one key has to be successful,\n\
             but none were."
        );
    }
}
