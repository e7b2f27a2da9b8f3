//! Reads a pattern as Go's `regexp/syntax` does with the flags of `regexp.Compile`.

use super::RegexpError;
use super::class;
use super::escape;
use super::node::{Kind, MAX_COPIES, MAX_HEIGHT, MAX_SIZE, Node};

type Parsed<T> = Result<T, RegexpError>;

/// What `(?ims-U)` sets.
#[derive(Debug, Clone, Copy, Default)]
struct Flags {
    fold: bool,
    multi_line: bool,
    dot_matches_line_break: bool,
    lazy: bool,
}

/// What a group is for.
enum Purpose {
    Grouping,
    Capture(Option<String>),
}

/// A group that is not closed yet, or the whole pattern.
struct Group {
    purpose: Purpose,
    /// The flags to go on with after it.
    flags: Flags,
    alternatives: Vec<Node>,
    parts: Vec<Node>,
}

impl Group {
    fn new(purpose: Purpose, flags: Flags) -> Self {
        Self { purpose, flags, alternatives: Vec::new(), parts: Vec::new() }
    }

    fn close(mut self) -> Node {
        self.alternatives.push(Node::concat(self.parts));
        Node::alternate(self.alternatives)
    }
}

struct Parser<'p> {
    whole: &'p str,
    /// The groups around the current one, outermost first.
    around: Vec<Group>,
    group: Group,
    flags: Flags,
    names: Vec<&'p str>,
}

pub(super) fn parse(pattern: &str) -> Parsed<Node> {
    let mut parser = Parser {
        whole: pattern,
        around: Vec::new(),
        group: Group::new(Purpose::Grouping, Flags::default()),
        flags: Flags::default(),
        names: Vec::new(),
    };
    let mut rest = pattern;
    // From the last repetition operator on, if the piece before was one.
    let mut repetition: Option<&str> = None;
    while let Some(character) = rest.chars().next() {
        let before = rest;
        let mut repeated = false;
        rest = match character {
            '(' if rest.starts_with("(?") => parser.perl_group(rest)?,
            '(' => {
                parser.open(Purpose::Capture(None));
                &rest[1..]
            }
            '|' => {
                parser.bar()?;
                &rest[1..]
            }
            ')' => {
                parser.close()?;
                &rest[1..]
            }
            '^' | '$' | '.' => {
                parser.push(Node::leaf(Kind::Fixed(parser.sign(character))))?;
                &rest[1..]
            }
            '[' => {
                let (node, rest) = class::bracketed(rest, parser.flags.fold)?;
                parser.push(node)?;
                rest
            }
            '*' | '+' | '?' => {
                repeated = true;
                let (least, most) = match character {
                    '*' => (0, None),
                    '+' => (1, None),
                    _ => (0, Some(1)),
                };
                parser.repeat(before, &rest[1..], repetition, |greedy, inner| {
                    Node::repeated(least, most, greedy, inner)
                })?
            }
            '{' => match count(rest) {
                None => {
                    parser.literal('{')?;
                    &rest[1..]
                }
                Some(count) => {
                    repeated = true;
                    parser.counted(before, &count, repetition)?
                }
            },
            '\\' => parser.escape(rest)?,
            other => {
                parser.literal(other)?;
                &rest[other.len_utf8()..]
            }
        };
        repetition = repeated.then_some(before);
    }
    parser.finish()
}

impl<'p> Parser<'p> {
    fn sign(&self, character: char) -> &'static str {
        match character {
            '^' if self.flags.multi_line => "(?m:^)",
            '^' => r"\A",
            '$' if self.flags.multi_line => "(?m:$)",
            '$' => r"\z",
            _ if self.flags.dot_matches_line_break => "(?s:.)",
            _ => r"[^\n]",
        }
    }

    fn check(&self, node: Node) -> Parsed<Node> {
        if node.size > MAX_SIZE {
            return Err(RegexpError::new("expression too large", self.whole));
        }
        if node.height > MAX_HEIGHT {
            return Err(RegexpError::new("expression nests too deeply", self.whole));
        }
        Ok(node)
    }

    fn push(&mut self, node: Node) -> Parsed<()> {
        let node = self.check(node)?;
        self.group.parts.push(node);
        Ok(())
    }

    fn literal(&mut self, character: char) -> Parsed<()> {
        let fold = self.flags.fold;
        self.push(Node::leaf(Kind::Literal { character: Some(character), fold }))
    }

    fn open(&mut self, purpose: Purpose) {
        let group = Group::new(purpose, self.flags);
        self.around.push(std::mem::replace(&mut self.group, group));
    }

    fn bar(&mut self) -> Parsed<()> {
        let parts = std::mem::take(&mut self.group.parts);
        let alternative = self.check(Node::concat(parts))?;
        self.group.alternatives.push(alternative);
        Ok(())
    }

    fn close(&mut self) -> Parsed<()> {
        let Some(outer) = self.around.pop() else {
            return Err(RegexpError::new("unexpected )", self.whole));
        };
        let mut group = std::mem::replace(&mut self.group, outer);
        self.flags = group.flags;
        let purpose = std::mem::replace(&mut group.purpose, Purpose::Grouping);
        let inner = self.check(group.close())?;
        self.push(match purpose {
            Purpose::Capture(name) => Node::capture(name, inner),
            Purpose::Grouping => inner,
        })
    }

    fn finish(self) -> Parsed<Node> {
        if !self.around.is_empty() {
            return Err(RegexpError::new("missing closing )", self.whole));
        }
        let whole = self.whole;
        let node = self.group.close();
        let bounded = node.size <= MAX_SIZE;
        if bounded { Ok(node) } else { Err(RegexpError::new("expression too large", whole)) }
    }

    /// A repetition operator between `before` and `after`. Two behind each other are refused, as in Perl.
    fn repeat(
        &mut self,
        before: &'p str,
        after: &'p str,
        repetition: Option<&str>,
        make: impl FnOnce(bool, Node) -> Node,
    ) -> Parsed<&'p str> {
        let lazy = after.strip_prefix('?');
        let after = lazy.unwrap_or(after);
        if let Some(last) = repetition {
            let part = &last[..last.len() - after.len()];
            return Err(RegexpError::new("invalid nested repetition operator", part));
        }
        let operator = &before[..before.len() - after.len()];
        let Some(inner) = self.group.parts.pop() else {
            return Err(RegexpError::new("missing argument to repetition operator", operator));
        };
        let node = make(self.flags.lazy == lazy.is_some(), inner);
        self.push(node)?;
        Ok(after)
    }

    fn counted(
        &mut self,
        before: &'p str,
        count: &Count<'p>,
        repetition: Option<&str>,
    ) -> Parsed<&'p str> {
        let wrong = |after: &str| {
            RegexpError::new("invalid repeat count", &before[..before.len() - after.len()])
        };
        let (least, most) = (count.least, count.most);
        if least > 1000 || most.is_some_and(|most| most > 1000 || most < least) {
            return Err(wrong(count.after));
        }
        let after = self.repeat(before, count.after, repetition, |greedy, inner| {
            Node::counted(least, most, greedy, inner)
        })?;
        let copies = self.group.parts.last().map_or(1, |node| node.copies);
        let is_count = least >= 2 || most.is_some_and(|most| most >= 2);
        if is_count && copies > MAX_COPIES { Err(wrong(after)) } else { Ok(after) }
    }

    /// After a backslash outside of a class.
    fn escape(&mut self, text: &'p str) -> Parsed<&'p str> {
        let after = text.get(2..);
        let fixed = match text.as_bytes().get(1) {
            Some(b'A') => r"\A",
            Some(b'z') => r"\z",
            Some(b'b') => r"(?-u:\b)",
            Some(b'B') => r"(?-u:\B)",
            Some(b'C') => return Err(RegexpError::new("invalid escape sequence", &text[..2])),
            Some(b'Q') => {
                let (literals, rest) = text[2..].split_once(r"\E").unwrap_or((&text[2..], ""));
                literals.chars().try_for_each(|character| self.literal(character))?;
                return Ok(rest);
            }
            _ => "",
        };
        if let Some(after) = after.filter(|_| !fixed.is_empty()) {
            self.push(Node::leaf(Kind::Fixed(fixed)))?;
            return Ok(after);
        }
        let fold = self.flags.fold;
        if let Some((node, rest)) = class::escaped(text, fold)? {
            self.push(node)?;
            return Ok(rest);
        }
        let (code, rest) = escape::character(text)?;
        self.push(Node::leaf(Kind::Literal { character: char::from_u32(code), fold }))?;
        Ok(rest)
    }

    /// `(?flags)`, `(?flags:`, `(?P<name>` and `(?<name>`.
    fn perl_group(&mut self, text: &'p str) -> Parsed<&'p str> {
        let named = (text.len() > 4 && text.starts_with("(?P<"))
            .then_some(4)
            .or_else(|| (text.len() > 3 && text.starts_with("(?<")).then_some(3));
        if let Some(start) = named {
            let wrong = |part| Err(RegexpError::new("invalid named capture", part));
            let Some(end) = text.find('>') else { return wrong(text) };
            let name = text.get(start..end).unwrap_or_default();
            let is_word = |character: char| character.is_ascii_alphanumeric() || character == '_';
            if name.is_empty() || !name.chars().all(is_word) {
                return wrong(&text[..=end]);
            }
            let name = self.capture_name(name);
            self.open(Purpose::Capture(name));
            return Ok(&text[end + 1..]);
        }
        let mut flags = self.flags;
        let (mut sign, mut is_set) = (true, false);
        let mut rest = text[2..].chars();
        while let Some(character) = rest.next() {
            match character {
                'i' => flags.fold = sign,
                'm' => flags.multi_line = sign,
                's' => flags.dot_matches_line_break = sign,
                'U' => flags.lazy = sign,
                '-' if sign => sign = false,
                ':' | ')' if sign || is_set => {
                    if character == ':' {
                        self.open(Purpose::Grouping);
                    }
                    self.flags = flags;
                    return Ok(rest.as_str());
                }
                _ => break,
            }
            is_set = character != '-';
        }
        let part = &text[..text.len() - rest.as_str().len()];
        Err(RegexpError::new("invalid or unsupported Perl syntax", part))
    }

    /// The name under which the `regex` crate can know a group: it has no second of a name, and none with a digit first.
    fn capture_name(&mut self, name: &'p str) -> Option<String> {
        let is_new =
            !self.names.contains(&name) && !name.starts_with(|it: char| it.is_ascii_digit());
        self.names.push(name);
        is_new.then(|| name.to_owned())
    }
}

/// `{least}`, `{least,}` or `{least,most}`.
struct Count<'p> {
    least: u32,
    most: Option<u32>,
    after: &'p str,
}

/// Reads a count; what is no count is text. Numbers that are too large are read as such.
fn count(text: &str) -> Option<Count<'_>> {
    let (least, rest) = integer(text.strip_prefix('{')?)?;
    let (most, rest) = match rest.strip_prefix(',') {
        None => (Some(least), rest),
        Some(rest) if rest.starts_with('}') => (None, rest),
        Some(rest) => {
            let (most, rest) = integer(rest)?;
            (Some(most), rest)
        }
    };
    Some(Count { least, most, after: rest.strip_prefix('}')? })
}

/// A decimal number without zeros in front.
fn integer(text: &str) -> Option<(u32, &str)> {
    let end = text.find(|it: char| !it.is_ascii_digit()).unwrap_or(text.len());
    let (digits, rest) = text.split_at(end);
    if digits.is_empty() || digits.len() > 1 && digits.starts_with('0') {
        return None;
    }
    Some((digits.parse().unwrap_or(u32::MAX), rest))
}
