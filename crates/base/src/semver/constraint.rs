//! Ranges: alternatives of conditions, such as `>=1.2 <2 || ~3.1.x`.

use std::cmp::Ordering;
use std::sync::LazyLock;

use regex::Regex;

use super::{SemverError, Version, compare_pre};

/// A range of versions.
#[derive(Debug, Clone)]
pub struct Constraint {
    groups: Vec<Group>,
}

/// Conditions that all have to hold.
#[derive(Debug, Clone)]
struct Group {
    conditions: Vec<Condition>,
    /// Whether one of them names a pre-release; only then pre-releases are considered.
    takes_prereleases: bool,
}

#[derive(Debug, Clone)]
struct Condition {
    operator: Operator,
    version: Version,
    /// How much of the version is a wildcard or missing.
    open: Open,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Open {
    Nothing,
    Patch,
    Minor,
    All,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operator {
    TildeOrEqual,
    NotEqual,
    Greater,
    Less,
    GreaterEqual,
    LessEqual,
    Tilde,
    Caret,
}

/// A version in a range; the class holds a bar as the library's does.
const VERSION: &str = r"v?([0-9|x|X|\*]+)(\.[0-9|x|X|\*]+)?(\.[0-9|x|X|\*]+)?(-([0-9A-Za-z\-]+(\.[0-9A-Za-z\-]+)*))?(\+([0-9A-Za-z\-]+(\.[0-9A-Za-z\-]+)*))?";
const OPERATORS: &str = r"=||!=|>|<|>=|=>|<=|=<|~|~>|\^";

static ONE: LazyLock<Regex> = LazyLock::new(|| {
    compile(&format!(r"^[\t\n\f\r ]*({OPERATORS})[\t\n\f\r ]*({VERSION})[\t\n\f\r ]*$"))
});
static RANGE: LazyLock<Regex> = LazyLock::new(|| {
    compile(&format!(r"[\t\n\f\r ]*({VERSION})[\t\n\f\r ]+-[\t\n\f\r ]+({VERSION})[\t\n\f\r ]*"))
});
static EACH: LazyLock<Regex> =
    LazyLock::new(|| compile(&format!(r"({OPERATORS})[\t\n\f\r ]*({VERSION})")));
static WHOLE: LazyLock<Regex> = LazyLock::new(|| {
    compile(&format!(
        r"^([\t\n\f\r ]*({OPERATORS})[\t\n\f\r ]*({VERSION})[\t\n\f\r ]*)((?:[\t\n\f\r ]+|,[\t\n\f\r ]*)({OPERATORS})[\t\n\f\r ]*({VERSION})[\t\n\f\r ]*)*$"
    ))
});

fn compile(pattern: &str) -> Regex {
    Regex::new(pattern).expect("because the pattern is a constant that a test compiles")
}

impl Constraint {
    /// Reads a range.
    pub fn parse(text: &str) -> Result<Self, SemverError> {
        if text.len() > 512 {
            return Err(SemverError::ConstraintTooLong);
        }
        let text = rewrite_ranges(text);
        if text.split("||").count() > 32 {
            return Err(SemverError::TooManyGroups);
        }
        Ok(Self { groups: text.split("||").map(Group::parse).collect::<Result<_, _>>()? })
    }

    /// Whether a version is in the range.
    pub fn check(&self, version: &Version) -> bool {
        self.groups.iter().any(|group| {
            (version.pre.is_empty() || group.takes_prereleases)
                && group.conditions.iter().all(|condition| condition.holds(version))
        })
    }
}

/// `1.2 - 1.4` is short for two conditions.
fn rewrite_ranges(text: &str) -> String {
    let mut out = text.to_owned();
    for found in RANGE.captures_iter(text) {
        let part = |index: usize| found.get(index).map_or("", |part| part.as_str());
        let conditions = format!(">= {}, <= {} ", part(1), part(11));
        out = out.replacen(part(0), &conditions, 1);
    }
    out
}

impl Group {
    fn parse(text: &str) -> Result<Self, SemverError> {
        if !WHOLE.is_match(text) {
            return Err(SemverError::Improper(text.to_owned()));
        }
        let conditions = EACH
            .find_iter(text)
            .map(|found| Condition::parse(found.as_str()))
            .collect::<Result<Vec<_>, _>>()?;
        let takes_prereleases =
            conditions.iter().any(|condition| !condition.version.pre.is_empty());
        Ok(Self { conditions, takes_prereleases })
    }
}

impl Condition {
    fn parse(text: &str) -> Result<Self, SemverError> {
        let found = ONE.captures(text).ok_or_else(|| SemverError::Improper(text.to_owned()))?;
        let part = |index: usize| found.get(index).map_or("", |part| part.as_str());
        let is_open = |part: &str| matches!(part.trim_start_matches('.'), "" | "x" | "X" | "*");
        let (major, minor, patch, pre) = (part(3), part(4), part(5), part(6));
        let (open, version) = if is_open(major) {
            (Open::All, format!("0.0.0{pre}"))
        } else if is_open(minor) {
            (Open::Minor, format!("{major}.0.0{pre}"))
        } else if is_open(patch) {
            (Open::Patch, format!("{major}{minor}.0{pre}"))
        } else {
            (Open::Nothing, part(2).to_owned())
        };
        let version = Version::parse(&version).map_err(|_| SemverError::ConstraintVersion)?;
        let operator = match part(1) {
            "!=" => Operator::NotEqual,
            ">" => Operator::Greater,
            "<" => Operator::Less,
            ">=" | "=>" => Operator::GreaterEqual,
            "<=" | "=<" => Operator::LessEqual,
            "~" | "~>" => Operator::Tilde,
            "^" => Operator::Caret,
            _ => Operator::TildeOrEqual,
        };
        Ok(Self { operator, version, open })
    }

    fn holds(&self, found: &Version) -> bool {
        let order = found.precedence(&self.version);
        match self.operator {
            Operator::TildeOrEqual if self.open == Open::Nothing => order == Ordering::Equal,
            Operator::TildeOrEqual | Operator::Tilde => self.tilde(found, order),
            Operator::NotEqual => self.differs(found, order),
            Operator::Greater => self.greater(found, order),
            Operator::Less => order == Ordering::Less,
            Operator::GreaterEqual => order != Ordering::Less,
            Operator::LessEqual => self.at_most(found, order),
            Operator::Caret => self.caret(found, order),
        }
    }

    fn same_major(&self, found: &Version) -> bool {
        found.major == self.version.major
    }

    fn same_minor(&self, found: &Version) -> bool {
        found.minor == self.version.minor
    }

    fn tilde(&self, found: &Version, order: Ordering) -> bool {
        if order == Ordering::Less {
            return false;
        }
        let wanted = &self.version;
        let is_zero = (wanted.major, wanted.minor, wanted.patch) == (0, 0, 0);
        // `~0.0.0` takes everything, and so does a lone wildcard.
        if is_zero && matches!(self.open, Open::Nothing | Open::All) {
            return true;
        }
        self.same_major(found) && (self.same_minor(found) || self.open == Open::Minor)
    }

    fn differs(&self, found: &Version, order: Ordering) -> bool {
        if self.open != Open::Nothing {
            if !self.same_major(found) {
                return true;
            }
            if !self.same_minor(found) && self.open != Open::Minor {
                return true;
            }
            match self.open {
                Open::Minor => return false,
                Open::Patch => {
                    let wanted = &self.version;
                    let has_pre = !found.pre.is_empty() || !wanted.pre.is_empty();
                    return has_pre && compare_pre(&found.pre, &wanted.pre) != Ordering::Equal;
                }
                Open::Nothing | Open::All => {
                    if found.patch != self.version.patch {
                        return true;
                    }
                }
            }
        }
        order != Ordering::Equal
    }

    fn greater(&self, found: &Version, order: Ordering) -> bool {
        match found.major.cmp(&self.version.major) {
            _ if self.open == Open::Nothing => order == Ordering::Greater,
            Ordering::Greater => true,
            Ordering::Less => false,
            Ordering::Equal => match self.open {
                Open::Minor => false,
                Open::Patch => found.minor > self.version.minor,
                Open::Nothing | Open::All => order == Ordering::Greater,
            },
        }
    }

    fn at_most(&self, found: &Version, order: Ordering) -> bool {
        if self.open == Open::Nothing {
            return order != Ordering::Greater;
        }
        let beyond_minor =
            self.same_major(found) && found.minor > self.version.minor && self.open != Open::Minor;
        found.major <= self.version.major && !beyond_minor
    }

    fn caret(&self, found: &Version, order: Ordering) -> bool {
        let wanted = &self.version;
        if order == Ordering::Less {
            return false;
        }
        if wanted.major > 0 || self.open == Open::Minor {
            return self.same_major(found);
        }
        if found.major > 0 {
            return false;
        }
        if wanted.minor > 0 || self.open == Open::Patch {
            return self.same_minor(found);
        }
        found.minor == 0 && found.patch == wanted.patch
    }
}
