//! Path patterns: Go's `fs.Glob`, and doublestar's with `**` and `{a,b}`.

use crate::ignore::glob::Glob;

/// The maximum number of patterns that braces expand to.
const MOST: usize = 256;

/// A malformed pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Malformed;

/// A pattern for paths.
pub(super) struct PathPattern {
    /// The alternatives from braces; a path that matches one of them matches.
    ways: Vec<Vec<Part>>,
}

enum Part {
    /// `**`: any number of segments.
    Any,
    Name(Glob),
}

impl PathPattern {
    /// Like Go's `fs.Glob`: a star stays within a segment.
    pub(super) fn plain(text: &str) -> Result<Self, Malformed> {
        let parts: Vec<Part> = text.split('/').map(|name| Part::Name(Glob::parse(name))).collect();
        Self { ways: vec![parts] }.checked()
    }

    /// Like doublestar: `**` for directories, `{a,b}` for alternatives.
    pub(super) fn double(text: &str) -> Result<Self, Malformed> {
        let mut ways = Vec::new();
        let mut rest = vec![text.to_owned()];
        while let Some(text) = rest.pop() {
            match braces(&text)? {
                Some(choices) => rest.extend(choices),
                None => ways.push(text.split('/').map(part).collect()),
            }
            if ways.len() + rest.len() > MOST {
                return Err(Malformed);
            }
        }
        Self { ways }.checked()
    }

    fn checked(self) -> Result<Self, Malformed> {
        let is_valid = |part: &Part| match part {
            Part::Any => true,
            Part::Name(glob) => glob.is_valid(),
        };
        if self.ways.iter().flatten().all(is_valid) { Ok(self) } else { Err(Malformed) }
    }

    pub(super) fn matches(&self, path: &str) -> bool {
        let names: Vec<&str> = path.split('/').collect();
        self.ways.iter().any(|way| fits(way, &names))
    }
}

fn part(name: &str) -> Part {
    if name == "**" {
        return Part::Any;
    }
    // Both `!` and `^` negate a class here; Go's own patterns have only the second.
    Part::Name(Glob::parse(&name.replace("[!", "[^")))
}

/// Whether segments match: for each part, marks the segments after which it can end.
fn fits(parts: &[Part], names: &[&str]) -> bool {
    let mut reached = vec![false; names.len() + 1];
    if let Some(start) = reached.first_mut() {
        *start = true;
    }
    for part in parts {
        let mut next = vec![false; names.len() + 1];
        let mut passing = false;
        for (at, is_reached) in reached.iter().enumerate() {
            match part {
                Part::Any => {
                    passing |= is_reached;
                    if let Some(slot) = next.get_mut(at) {
                        *slot = passing;
                    }
                }
                Part::Name(glob) => {
                    let fits = *is_reached
                        && names.get(at).is_some_and(|name| glob.matches(name) == Ok(true));
                    if let Some(slot) = next.get_mut(at + 1) {
                        *slot |= fits;
                    }
                }
            }
        }
        reached = next;
    }
    reached.last().copied().unwrap_or(false)
}

/// The expansions of the first group of braces; `None` if there is no group.
fn braces(text: &str) -> Result<Option<Vec<String>>, Malformed> {
    let mut open = None;
    let (mut depth, mut in_class, mut escaped) = (0_usize, false, false);
    let mut commas = Vec::new();
    for (at, sign) in text.char_indices() {
        if escaped {
            escaped = false;
            continue;
        }
        match sign {
            '\\' => escaped = true,
            '[' => in_class = true,
            ']' => in_class = false,
            _ if in_class => {}
            '{' => {
                depth += 1;
                open.get_or_insert(at);
            }
            ',' if depth == 1 => commas.push(at),
            '}' if depth == 0 => return Err(Malformed),
            '}' => {
                depth -= 1;
                if let (0, Some(open)) = (depth, open) {
                    let (head, tail) = (text.get(..open), text.get(at + 1..));
                    let starts = std::iter::once(open).chain(commas.iter().copied());
                    let ends = commas.iter().copied().chain(std::iter::once(at));
                    let inner = starts.zip(ends).filter_map(|(a, b)| text.get(a + 1..b));
                    let (head, tail) = (head.unwrap_or_default(), tail.unwrap_or_default());
                    return Ok(Some(inner.map(|it| format!("{head}{it}{tail}")).collect()));
                }
            }
            _ => {}
        }
    }
    if depth > 0 { Err(Malformed) } else { Ok(None) }
}

#[cfg(test)]
mod tests {
    use super::PathPattern;

    #[test]
    fn double_stars_and_braces() {
        for (pattern, path, expected) in [
            ("**", "a/b", true),
            ("**", "a", true),
            ("a/**", "a", true),
            ("a/**", "a/b/c", true),
            ("a/**/c", "a/c", true),
            ("a/**/c", "a/b/b/c", true),
            ("a/**/c", "a/b/d", false),
            ("**/*.md", "x.md", true),
            ("**/*.md", "a/b/x.md", true),
            ("*.md", "a/x.md", false),
            ("a**", "abc", true),
            ("a**", "a/b", false),
            ("{a,b/{c,d}}/*.y", "b/d/x.y", true),
            ("{a,b}/*.y", "c/x.y", false),
            ("[!a]x", "bx", true),
            ("[!a]x", "ax", false),
            ("\\{a", "{a", true),
            ("[{]a", "{a", true),
        ] {
            let read = PathPattern::double(pattern).expect("a pattern");
            assert_eq!(read.matches(path), expected, "{pattern} {path}");
        }
        for bad in ["[", "{a", "a}", "[]", "\\"] {
            assert!(PathPattern::double(bad).is_err(), "{bad}");
        }
        let many = "{a,b}".repeat(20);
        assert!(PathPattern::double(&many).is_err(), "too many ways");
    }

    #[test]
    fn plain_stars_stay_within_a_name() {
        let read = |pattern: &str| PathPattern::plain(pattern).expect("a pattern");
        assert!(read("a/**").matches("a/b"));
        assert!(!read("a/**").matches("a/b/c"));
        assert!(!read("a/*").matches("a"));
        assert!(PathPattern::plain("a/[").is_err());
    }
}
