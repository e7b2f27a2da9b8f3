//! Writes a pattern in the syntax of the `regex` crate.

use std::fmt::Write as _;

use super::node::{Kind, Node};

/// A class without members, which matches nothing.
const NOTHING: &str = r"[^\x{0}-\x{10FFFF}]";

pub(super) fn text(node: &Node) -> String {
    let mut out = String::new();
    write(&mut out, node);
    out
}

// Writing to a String cannot fail, so the results of write! are dropped.
fn write(out: &mut String, node: &Node) {
    match &node.kind {
        Kind::Empty => out.push_str("(?:)"),
        Kind::Literal { character, fold } => match character {
            None => out.push_str(NOTHING),
            Some(character) => in_case(out, *fold, |out| literal(out, *character)),
        },
        Kind::Class { inside, negated, fold } => match (inside.is_empty(), negated) {
            (true, false) => out.push_str(NOTHING),
            (true, true) => out.push_str("(?s:.)"),
            (false, negated) => in_case(out, *fold, |out| {
                let _ = write!(out, "[{}{inside}]", if *negated { "^" } else { "" });
            }),
        },
        Kind::Fixed(text) => out.push_str(text),
        Kind::Capture { name, inner } => {
            out.push('(');
            if let Some(name) = name {
                let _ = write!(out, "?P<{name}>");
            }
            write(out, inner);
            out.push(')');
        }
        // The crate drops groups that are repeated zero times, and Go counts them: they stay in what cannot match.
        Kind::Repeat { most: Some(0), inner, .. } => {
            let _ = write!(out, "(?:{NOTHING}");
            grouped(out, inner);
            out.push_str(")?");
        }
        Kind::Repeat { least, most, greedy, inner } => {
            grouped(out, inner);
            let _ = match (least, most) {
                (0, None) => out.write_str("*"),
                (1, None) => out.write_str("+"),
                (0, Some(1)) => out.write_str("?"),
                (least, None) => write!(out, "{{{least},}}"),
                (least, Some(most)) => write!(out, "{{{least},{most}}}"),
            };
            if !greedy {
                out.push('?');
            }
        }
        Kind::Concat(parts) => {
            for part in parts {
                if matches!(part.kind, Kind::Alternate(_)) {
                    grouped(out, part);
                } else {
                    write(out, part);
                }
            }
        }
        Kind::Alternate(parts) => {
            for (index, part) in parts.iter().enumerate() {
                out.push_str(if index > 0 { "|" } else { "" });
                write(out, part);
            }
        }
    }
}

fn grouped(out: &mut String, node: &Node) {
    out.push_str("(?:");
    write(out, node);
    out.push(')');
}

fn in_case(out: &mut String, fold: bool, write: impl FnOnce(&mut String)) {
    if !fold {
        return write(out);
    }
    out.push_str("(?i:");
    write(out);
    out.push(')');
}

fn literal(out: &mut String, character: char) {
    if character.is_ascii() && !character.is_ascii_alphanumeric() {
        let _ = write!(out, r"\x{:02X}", u32::from(character));
    } else {
        out.push(character);
    }
}
