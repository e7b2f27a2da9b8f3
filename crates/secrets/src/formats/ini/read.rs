//! The reader: comments belong to the section or key that follows, or to the value before them.

use super::{DEFAULT_SECTION, DELIMITERS};
use crate::tree::{Branch, Comment, Item, Value};

pub(in crate::formats) fn load(text: &[u8]) -> Result<Vec<Branch>, String> {
    let text = String::from_utf8_lossy(text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text));
    let mut reader = Reader::new(&text);
    reader.read().map_err(|problem| format!("Could not unmarshal input data: {problem}"))?;
    Ok(vec![reader.into_branch()])
}

#[derive(Default)]
struct Section {
    name: String,
    comment: String,
    keys: Vec<Key>,
}

struct Key {
    name: String,
    value: String,
    comment: String,
}

struct Reader<'t> {
    lines: std::str::SplitInclusive<'t, char>,
    sections: Vec<Section>,
    /// The comments before the next section or key.
    comment: String,
    /// The number of the next key that is called `-`.
    count: usize,
}

impl<'t> Reader<'t> {
    fn new(text: &'t str) -> Self {
        let first = Section { name: DEFAULT_SECTION.to_owned(), ..Section::default() };
        let lines = text.split_inclusive('\n');
        Self { lines, sections: vec![first], comment: String::new(), count: 1 }
    }

    fn read(&mut self) -> Result<(), String> {
        while let Some(line) = self.lines.next() {
            let line = line.trim_start();
            if line.starts_with(['#', ';']) {
                self.comment.push_str(line);
            } else if let Some(inside) = line.strip_prefix('[') {
                self.section(inside)?;
            } else if !line.is_empty() {
                self.key(line)?;
            }
        }
        Ok(())
    }

    fn section(&mut self, inside: &str) -> Result<(), String> {
        let (name, behind) = inside.rsplit_once(']').ok_or("unclosed section")?;
        if name.is_empty() {
            return Err("empty section name".to_owned());
        }
        if let Some(at) = behind.find(['#', ';']) {
            self.comment.push_str(&behind[at..]);
        }
        let comment = self.take_comment();
        self.sections.push(Section { name: name.to_owned(), comment, keys: Vec::new() });
        self.count = 1;
        Ok(())
    }

    fn key(&mut self, line: &str) -> Result<(), String> {
        let (name, rest) = key_name(line)?;
        let name = if name == "-" {
            self.count += 1;
            format!("#{}", self.count - 1)
        } else {
            name.to_owned()
        };
        if name.is_empty() {
            return Err("empty key name".to_owned());
        }
        let value = self.value(rest)?;
        let comment = self.take_comment();
        if let Some(section) = self.sections.last_mut() {
            match section.keys.iter_mut().find(|key| key.name == name) {
                Some(key) => (key.value, key.comment) = (value, comment),
                None => section.keys.push(Key { name, value, comment }),
            }
        }
        Ok(())
    }

    fn value(&mut self, rest: &str) -> Result<String, String> {
        let line = rest.trim_start();
        let quote = if line.len() > 3 && line.starts_with("\"\"\"") {
            "\"\"\""
        } else if line.starts_with('`') {
            "`"
        } else {
            ""
        };
        if !quote.is_empty() {
            let inside = &line[quote.len()..];
            return match inside.rfind(quote) {
                Some(end) => Ok(inside[..end].to_owned()),
                None => self.quoted_lines(inside, quote),
            };
        }
        let line = line.trim();
        if let Some(start) = line.strip_suffix('\\') {
            return Ok(self.continued_lines(start));
        }
        let line = match line.find(['#', ';']) {
            Some(at) => {
                self.comment.push_str(&line[at..]);
                line[..at].trim()
            }
            None => line,
        };
        let is_quoted = |quote: char| {
            line.len() >= 2
                && line.starts_with(quote)
                && line[1..].find(quote) == Some(line.len() - 2)
        };
        if is_quoted('\'') || is_quoted('"') {
            return Ok(line[1..line.len() - 1].to_owned());
        }
        Ok(line.to_owned())
    }

    /// A quoted value over several lines.
    fn quoted_lines(&mut self, first: &str, quote: &str) -> Result<String, String> {
        let mut value = first.to_owned();
        for line in self.lines.by_ref() {
            match line.rfind(quote) {
                Some(end) if !line[end + quote.len()..].trim().ends_with('\\') => {
                    value.push_str(&line[..end]);
                    let behind = &line[end..];
                    if let Some(at) = behind.find(['#', ';']) {
                        self.comment.push_str(behind[at..].trim());
                    }
                    return Ok(value);
                }
                _ => value.push_str(line),
            }
        }
        Err("missing closing key quote".to_owned())
    }

    /// A value with lines that end with a backslash.
    fn continued_lines(&mut self, first: &str) -> String {
        let mut value = first.to_owned();
        for line in self.lines.by_ref() {
            let line = line.trim();
            if line.is_empty() {
                break;
            }
            value.push_str(line);
            if !value.ends_with('\\') {
                break;
            }
            value.pop();
        }
        value
    }

    fn take_comment(&mut self) -> String {
        let comment = self.comment.trim().to_owned();
        self.comment.clear();
        comment
    }

    fn into_branch(self) -> Branch {
        let section = |section: Section| {
            let mut items = Branch::new();
            push_comment(&mut items, &section.comment);
            for key in section.keys {
                items.push(Item::Field(key.name, Value::text(key.value)));
                push_comment(&mut items, &key.comment);
            }
            Item::Field(section.name, Value::Branch(items))
        };
        self.sections.into_iter().map(section).collect()
    }
}

fn push_comment(items: &mut Branch, text: &str) {
    if text.is_empty() {
        return;
    }
    let bare = if text.starts_with(';') {
        text.trim_start_matches([';', ' '])
    } else {
        text.trim_start_matches(['#', ' '])
    };
    items.push(Item::Comment(Comment { text: bare.as_bytes().to_vec(), inline: false }));
}

/// The name of a key, and the text after the delimiter. Errors do not show the line.
fn key_name(line: &str) -> Result<(&str, &str), String> {
    let no_delimiter = || "key-value delimiter not found".to_owned();
    let quote = if line.len() > 6 && line.starts_with("\"\"\"") {
        "\"\"\""
    } else if line.starts_with('"') {
        "\""
    } else if line.starts_with('`') {
        "`"
    } else {
        let (name, rest) = line.split_once(DELIMITERS).ok_or_else(no_delimiter)?;
        return Ok((name.trim(), rest));
    };
    let inside = &line[quote.len()..];
    let (name, behind) = inside.split_once(quote).ok_or("missing closing key quote")?;
    let (_, rest) = behind.split_once(DELIMITERS).ok_or_else(no_delimiter)?;
    Ok((name.trim(), rest))
}
