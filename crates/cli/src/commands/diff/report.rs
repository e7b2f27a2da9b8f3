//! What differs between two objects, as dyff 1.10 reports it: a path, then what was removed, added or
//! changed there.

mod compare;
mod text;

use serde_json::Value;

use compare::{Detail, differences};
use text::{lines_changed, plural, side_by_side, spelled};

/// Whether and how parts of a report are coloured.
#[derive(Debug, Clone, Copy)]
pub(super) struct Colours(bool);

impl Colours {
    /// On a terminal, unless NO_COLOR is set.
    pub(super) fn of(terminal: bool) -> Self {
        Self(terminal && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty()))
    }

    pub(super) fn added(self, text: &str) -> String {
        self.paint("32", text)
    }

    pub(super) fn removed(self, text: &str) -> String {
        self.paint("31", text)
    }

    pub(super) fn noted(self, text: &str) -> String {
        self.paint("33", text)
    }

    /// Line by line, so that a page that is cut stays readable.
    fn paint(self, code: &str, text: &str) -> String {
        if !self.0 {
            return text.to_owned();
        }
        let lines = text.split('\n').map(|line| match line {
            "" => String::new(),
            line => format!("\u{1b}[{code}m{line}\u{1b}[0m"),
        });
        lines.collect::<Vec<_>>().join("\n")
    }
}

/// The report, with an empty line before every difference and at the end.
pub(super) fn report(from: &Value, to: &Value, colours: Colours) -> String {
    let mut out = String::new();
    for difference in differences(from, to) {
        out.push('\n');
        out.push_str(&difference.path);
        out.push('\n');
        let blocks = difference.details.iter().map(|detail| block(detail, colours));
        out.push_str(&side_by_side(0, &blocks.collect::<Vec<_>>()));
    }
    out.push('\n');
    out
}

fn block(detail: &Detail, colours: Colours) -> String {
    match detail {
        Detail::Removed(value) => {
            let what = colours.noted(&format!("- {} removed:\n", counted(value)));
            what + &side_by_side(0, &[colours.removed(&spelled(value))])
        }
        Detail::Added(value) => {
            let what = colours.noted(&format!("+ {} added:\n", counted(value)));
            what + &side_by_side(2, &[colours.added(&spelled(value))])
        }
        Detail::Reordered(from, to) => {
            colours.noted("⇆ order changed\n")
                + &colours.removed(&format!("- {}\n", from.join(", ")))
                + &colours.added(&format!("+ {}\n", to.join(", ")))
        }
        Detail::Changed(from, to) => changed(from, to, colours),
    }
}

fn counted(value: &Value) -> String {
    match value {
        Value::Array(items) => plural(items.len(), "list entry", "list entries"),
        Value::Object(fields) => plural(fields.len(), "map entry", "map entries"),
        _ => String::new(),
    }
}

fn changed(from: &Value, to: &Value, colours: Colours) -> String {
    let (before, after) = match (from, to) {
        (Value::String(from), Value::String(to)) => {
            let trimmed = |text: &str| text.trim_matches([' ', '\n']).to_owned();
            if trimmed(from) == trimmed(to) {
                let marked = |text: &str| text.replace('\n', "↵\n").replace(' ', "·");
                let blocks = [
                    colours.removed(&prefixed("- ", &marked(from))),
                    colours.added(&prefixed("+ ", &marked(to))),
                ];
                return colours.noted("± whitespace only change\n") + &side_by_side(0, &blocks);
            }
            if from.contains('\n') || to.contains('\n') {
                return many_lines(from, to, colours);
            }
            (from.clone(), to.clone())
        }
        _ => (shown(from), shown(to)),
    };
    let what = if kind_of(from) == kind_of(to) {
        "± value change\n".to_owned()
    } else {
        format!("± type change from {} to {}\n", kind_of(from), kind_of(to))
    };
    colours.noted(&what)
        + &colours.removed(&prefixed("- ", &before))
        + &colours.added(&prefixed("+ ", &after))
}

fn shown(value: &Value) -> String {
    if value.is_null() { "<nil>".to_owned() } else { spelled(value).trim_end().to_owned() }
}

fn many_lines(from: &str, to: &str, colours: Colours) -> String {
    let chunks = lines_changed(from, to);
    let (mut inserts, mut deletions, mut body) = (0, 0, String::new());
    for (removed, added) in &chunks {
        if !removed.is_empty() {
            deletions += 1;
            let lines = removed.iter().map(|line| format!("- {line}\n")).collect::<Vec<_>>();
            body.push_str(&colours.removed(&lines.concat()));
        }
        if !added.is_empty() {
            inserts += 1;
            let lines = added.iter().map(|line| format!("+ {line}\n")).collect::<Vec<_>>();
            body.push_str(&colours.added(&lines.concat()));
        }
    }
    let counted = format!(
        "± value change in multiline text ({}, {})\n",
        plural(inserts, "insert", "inserts"),
        plural(deletions, "deletion", "deletions")
    );
    colours.noted(&counted) + &body + "\n"
}

/// A text behind a prefix, its other lines below.
fn prefixed(prefix: &str, text: &str) -> String {
    let lines = text.split('\n').enumerate().map(|(position, line)| {
        let before = if position == 0 { prefix } else { "  " };
        format!("{before}{line}\n")
    });
    lines.collect::<Vec<_>>().concat()
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_f64() => "float",
        Value::Number(_) => "int",
        Value::String(_) => "string",
        Value::Array(_) => "list",
        Value::Object(_) => "map",
    }
}
