//! Regular expressions as Go's package `regexp` reads them, run by the `regex` crate.
//!
//! Both are RE2, but not to the letter. In Go `\d`, `\w`, `\s` and `\b` are ASCII, a `{` that starts no repetition is
//! a literal, classes have no operators and no nesting, `\Q…\E` quotes, `a(?i)*` repeats the `a`, and Unicode is 15.0.
//! `parse` reads a pattern exactly as Go does, errors included; `emit` writes what was read in the crate's syntax.

mod class;
mod emit;
mod escape;
mod node;
mod parse;

use regex::{Regex, RegexBuilder};

/// Memory that a compiled pattern may take unless a caller says otherwise.
pub const SIZE_LIMIT: usize = 64 << 20;

/// The most memory for the states that a search keeps; it falls back to another engine beyond that.
const SEARCH_LIMIT: usize = 4 << 20;

/// Levels in each other that the crate compiles, which recurses, on a thread with 2 MiB of stack. Go has 1,000.
const NESTING: u32 = 250;

/// A pattern that Go refuses, or one that would take too much memory.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("error parsing regexp: {what}: `{part}`")]
pub struct RegexpError {
    /// What is wrong, as Go's package says it.
    pub what: &'static str,
    /// The part of the pattern that is wrong.
    pub part: String,
}

impl RegexpError {
    fn new(what: &'static str, part: &str) -> Self {
        Self { what, part: part.to_owned() }
    }
}

/// Compiles a pattern as `regexp.Compile` does.
pub fn compile(pattern: &str) -> Result<Regex, RegexpError> {
    compile_within(pattern, SIZE_LIMIT)
}

/// Compiles a pattern that may take this much memory; one that takes more is refused as Go refuses large ones.
pub fn compile_within(pattern: &str, size_limit: usize) -> Result<Regex, RegexpError> {
    RegexBuilder::new(&translate(pattern)?)
        .size_limit(size_limit)
        .dfa_size_limit(size_limit.min(SEARCH_LIMIT))
        .nest_limit(NESTING)
        .build()
        .map_err(|error| match error {
            regex::Error::Syntax(_) => RegexpError::new("expression nests too deeply", pattern),
            _ => RegexpError::new("expression too large", pattern),
        })
}

/// The pattern in the syntax of the `regex` crate.
pub fn translate(pattern: &str) -> Result<String, RegexpError> {
    parse::parse(pattern).map(|node| emit::text(&node))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_mean_what_they_mean_in_go() {
        let cases = [
            (r"^\d+$", "١٢", false),
            (r"^[\w.-]+$", "a.b-c", true),
            (r"^[\d-x]+$", "1-x", true),
            (r"^a{,2}$", "a{,2}", true),
            (r"^[a[]$", "[", true),
            (r"^[^]a]$", "b", true),
            (r"^[a&&b]+$", "&", true),
            (r"^\Qa.b\E+$", "a.bb", true),
            (r"^a(?i)*$", "aaa", true),
            (r"(?i)^\x{212A}$", "k", true),
            (r"^(?P<1>x)(?P<n>y)(?P<n>z)$", "xyz", true),
            (r"^\101\x{d800}?$", "A", true),
            (r"^\p{uppercase letter}$", "A", true),
        ];
        for (pattern, text, expected) in cases {
            let found = compile(pattern).is_ok_and(|regex| regex.is_match(text));
            assert_eq!(found, expected, "{pattern} on {text}");
        }
    }

    #[test]
    fn deep_patterns_are_bounded_in_stack_and_memory() {
        let nested = |depth: usize| format!("{}a{}", "(".repeat(depth), ")".repeat(depth));
        std::thread::Builder::new()
            .stack_size(2 << 20)
            .spawn(move || {
                assert!(compile(&nested(200)).is_ok_and(|regex| regex.is_match("a")));
                for depth in [300, 999, 5000] {
                    let refused = compile(&nested(depth)).map(drop).map_err(|error| error.what);
                    assert_eq!(refused, Err("expression nests too deeply"));
                }
            })
            .unwrap()
            .join()
            .unwrap();
        let large = compile_within(r"\pL{900}", 1 << 20).map(drop).map_err(|error| error.what);
        assert_eq!(large, Err("expression too large"));
    }
}
