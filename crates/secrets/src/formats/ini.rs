//! INI files: sections of `name = value`, as in the library of SOPS.

mod read;

use crate::tree::{Branch, Comment, Item, Value};

pub(super) use read::load;

/// The section of keys before the first section.
const DEFAULT_SECTION: &str = "DEFAULT";
const DELIMITERS: [char; 2] = ['=', ':'];

pub(super) fn emit(branches: &[Branch]) -> Result<Vec<u8>, String> {
    let wrong = |problem: &str| Err(format!("Error marshaling to INI: {problem}"));
    let mut sections = Vec::new();
    for item in branches.iter().flatten() {
        match item {
            Item::Comment(_) => {}
            Item::Field(name, _) if name.is_empty() => {
                return wrong("Error encoding section : empty section name");
            }
            Item::Field(name, Value::Branch(fields)) => sections.push((name, fields)),
            Item::Field(..) => {
                return wrong(
                    "Error encoding section: Section values should always be TreeBranches",
                );
            }
        }
    }
    let mut out = Vec::new();
    let last = sections.len().saturating_sub(1);
    for (index, (name, fields)) in sections.into_iter().enumerate() {
        let section = Section::of(fields)?;
        if let Some(comment) = section.comment {
            write_comment(&mut out, &comment.text, false);
        }
        if index > 0 || !name.eq_ignore_ascii_case(DEFAULT_SECTION) {
            out.extend(format!("[{name}]\n").into_bytes());
        } else if section.keys.is_empty() {
            continue;
        }
        section.write_keys(&mut out);
        if index != last {
            out.push(b'\n');
        }
    }
    Ok(out)
}

/// A section to write: the first comment is its own, each other one belongs to the key before.
struct Section<'t> {
    comment: Option<&'t Comment>,
    keys: Vec<Key<'t>>,
}

struct Key<'t> {
    name: &'t str,
    value: Vec<u8>,
    comment: Option<&'t Comment>,
}

impl<'t> Section<'t> {
    fn of(fields: &'t Branch) -> Result<Self, String> {
        let mut section = Self { comment: None, keys: Vec::new() };
        for (index, item) in fields.iter().enumerate() {
            match item {
                Item::Comment(comment) if index == 0 => section.comment = Some(comment),
                Item::Comment(comment) => {
                    if let Some(key) = section.keys.last_mut() {
                        key.comment = Some(comment);
                    }
                }
                Item::Field(name, _) if name.is_empty() => {
                    return Err(
                        "Error marshaling to INI: Error encoding key: empty key name".into()
                    );
                }
                Item::Field(name, value) => {
                    section.keys.push(Key { name, value: value.to_plain(), comment: None });
                }
            }
        }
        Ok(section)
    }

    fn write_keys(&self, out: &mut Vec<u8>) {
        let names: Vec<String> = self.keys.iter().map(|key| written_name(key.name)).collect();
        let width = names.iter().map(String::len).max().unwrap_or(0);
        for (key, name) in self.keys.iter().zip(&names) {
            if let Some(comment) = key.comment {
                write_comment(out, &comment.text, true);
            }
            out.extend(name.as_bytes());
            out.extend(std::iter::repeat_n(b' ', width - name.len()));
            out.extend(b" = ");
            write_value(out, &key.value);
            out.push(b'\n');
        }
    }
}

/// A name, quoted if necessary.
fn written_name(name: &str) -> String {
    if name.contains('"') || name.contains(DELIMITERS) {
        format!("`{name}`")
    } else if name.contains('`') {
        format!("\"\"\"{name}\"\"\"")
    } else {
        name.to_owned()
    }
}

fn write_value(out: &mut Vec<u8>, value: &[u8]) {
    let has = |bytes: &[u8]| value.iter().any(|byte| bytes.contains(byte));
    let quote: &[u8] = if has(b"\n`") {
        b"\"\"\""
    } else if has(b"#;") {
        b"`"
    } else if value.trim_ascii().len() != value.len() {
        b"\""
    } else {
        b""
    };
    out.extend(quote);
    out.extend(value);
    out.extend(quote);
}

fn write_comment(out: &mut Vec<u8>, text: &[u8], trimmed: bool) {
    if text.is_empty() {
        return;
    }
    for line in text.split(|byte| *byte == b'\n') {
        match line {
            [sign @ (b'#' | b';'), rest @ ..] => {
                out.extend([*sign, b' ']);
                out.extend(rest.trim_ascii());
            }
            line => {
                out.extend(b"; ");
                out.extend(if trimmed { line.trim_ascii() } else { line });
            }
        }
        out.push(b'\n');
    }
}

#[cfg(test)]
mod tests {
    use super::{emit, load};

    #[test]
    fn a_file_comes_back_tidied() {
        let text =
            "top = 1\n; about a\n[a]\n; about x\nx: 1\nlonger=\"two words \"\nq = `a#b`\n\n[b]\n";
        let emitted = emit(&load(text.as_bytes()).expect("it is INI")).expect("it has a form");
        assert_eq!(
            String::from_utf8(emitted).expect("it was UTF-8"),
            "top = 1\n\n; about a\n[a]\n; about x\nx      = 1\nlonger = \"two words \"\nq      = `a#b`\n\n[b]\n"
        );
    }
}
