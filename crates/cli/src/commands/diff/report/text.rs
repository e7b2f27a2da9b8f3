//! Texts of a report: values as YAML, blocks side by side, numbers in words.

use std::fmt::Write as _;

use serde_json::Value;

/// How wide a report may be before its blocks stand below each other.
const WIDTH: usize = 80;

/// How many pairs of lines are compared; longer texts count as changed as a whole.
const MOST_PAIRS: usize = 4_000_000;

/// Words that YAML reads as something else.
const RESERVED: [&str; 3] = ["true", "false", "null"];

/// A value as YAML, strings that are no plain words in double quotes.
pub(super) fn spelled(value: &Value) -> String {
    let mut out = String::new();
    match value {
        Value::Object(fields) if !fields.is_empty() => write_map(&mut out, fields, 0, false),
        Value::Array(items) if !items.is_empty() => write_list(&mut out, items, 0),
        other => {
            out.push_str(&scalar(other));
            out.push('\n');
        }
    }
    out
}

fn write_map(
    out: &mut String,
    fields: &serde_json::Map<String, Value>,
    depth: usize,
    inline: bool,
) {
    for (position, (name, value)) in fields.iter().enumerate() {
        if !(inline && position == 0) {
            out.push_str(&" ".repeat(depth));
        }
        match value {
            Value::Object(inner) if !inner.is_empty() => {
                let _ = writeln!(out, "{name}:");
                write_map(out, inner, depth + 2, false);
            }
            Value::Array(items) if !items.is_empty() => {
                let _ = writeln!(out, "{name}:");
                write_list(out, items, depth);
            }
            Value::String(text) if text.contains('\n') => {
                let _ = writeln!(out, "{name}: |");
                for line in text.split('\n') {
                    let _ = writeln!(out, "{}{line}", " ".repeat(depth + 2));
                }
            }
            other => {
                let _ = writeln!(out, "{name}: {}", scalar(other));
            }
        }
    }
}

fn write_list(out: &mut String, items: &[Value], depth: usize) {
    for item in items {
        let _ = write!(out, "{}- ", " ".repeat(depth));
        match item {
            Value::Object(fields) if !fields.is_empty() => {
                write_map(out, fields, depth + 2, true);
            }
            Value::Array(inner) if !inner.is_empty() => {
                out.push('\n');
                write_list(out, inner, depth + 2);
            }
            other => {
                let _ = writeln!(out, "{}", scalar(other));
            }
        }
    }
}

fn scalar(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Object(_) => "{}".to_owned(),
        Value::Array(_) => "[]".to_owned(),
        Value::String(text) if needs_quotes(text) => value.to_string(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// dyff quotes for the eye, not for a reader of YAML: a text of digits has none.
fn needs_quotes(text: &str) -> bool {
    RESERVED.contains(&text) || text.starts_with('-') || text.contains([' ', '*', '&', ':', ','])
}

/// Blocks beside each other where they fit, below each other where they do not.
pub(super) fn side_by_side(indent: usize, blocks: &[String]) -> String {
    let widths: Vec<usize> =
        blocks.iter().map(|block| block.split('\n').map(width).max().unwrap_or(0)).collect();
    let gaps = blocks.len().saturating_sub(1) * 3;
    let before = " ".repeat(indent);
    if indent + gaps + widths.iter().sum::<usize>() > WIDTH {
        let lines = blocks.iter().flat_map(|block| block.split('\n'));
        return lines.map(|line| format!("{before}{line}\n")).collect::<Vec<_>>().concat();
    }
    let rows = blocks.iter().map(|block| block.split('\n').count()).max().unwrap_or(0);
    let columns: Vec<Vec<&str>> = blocks.iter().map(|block| block.split('\n').collect()).collect();
    let row = |row: usize| {
        let cells = columns.iter().zip(&widths).map(|(lines, widest)| {
            let line = lines.get(row).copied().unwrap_or_default();
            format!("{before}{line}{}", " ".repeat(widest.saturating_sub(width(line))))
        });
        cells.collect::<Vec<_>>().join("   ").trim_end_matches(' ').to_owned()
    };
    (0..rows).map(row).collect::<Vec<_>>().join("\n")
}

/// How many characters are seen of a line.
fn width(line: &str) -> usize {
    let mut count = 0;
    let mut in_escape = false;
    for character in line.chars() {
        match character {
            '\u{1b}' => in_escape = true,
            'm' if in_escape => in_escape = false,
            _ if in_escape => {}
            _ => count += 1,
        }
    }
    count
}

/// A count with its noun, small ones in words.
pub(super) fn plural(count: usize, one: &str, many: &str) -> String {
    const WORDS: [&str; 13] = [
        "no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten",
        "eleven", "twelve",
    ];
    let number = WORDS.get(count).map_or_else(|| count.to_string(), |word| (*word).to_owned());
    format!("{number} {}", if count == 1 { one } else { many })
}

/// The lines that are gone and the lines that are new, chunk by chunk.
pub(super) fn lines_changed<'t>(from: &'t str, to: &'t str) -> Vec<(Vec<&'t str>, Vec<&'t str>)> {
    let split = |text: &'t str| -> Vec<&'t str> {
        text.strip_suffix('\n').unwrap_or(text).split('\n').collect()
    };
    let (from, to) = (split(from), split(to));
    if from.len().saturating_mul(to.len()) > MOST_PAIRS {
        return vec![(from, to)];
    }
    // Lengths of the longest common rest, from every pair of lines on.
    let mut common = vec![vec![0_u32; to.len() + 1]; from.len() + 1];
    for (i, old) in from.iter().enumerate().rev() {
        for (j, new) in to.iter().enumerate().rev() {
            common[i][j] = if old == new {
                common[i + 1][j + 1] + 1
            } else {
                common[i + 1][j].max(common[i][j + 1])
            };
        }
    }
    let (mut i, mut j) = (0, 0);
    let mut chunks: Vec<(Vec<&str>, Vec<&str>)> = Vec::new();
    let mut open = false;
    while i < from.len() || j < to.len() {
        if i < from.len() && j < to.len() && from[i] == to[j] {
            (i, j, open) = (i + 1, j + 1, false);
            continue;
        }
        if !std::mem::replace(&mut open, true) {
            chunks.push((Vec::new(), Vec::new()));
        }
        let Some(chunk) = chunks.last_mut() else { break };
        if j >= to.len() || (i < from.len() && common[i + 1][j] >= common[i][j + 1]) {
            chunk.0.push(from[i]);
            i += 1;
        } else {
            chunk.1.push(to[j]);
            j += 1;
        }
    }
    chunks
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{lines_changed, plural, side_by_side, spelled};

    #[test]
    fn values_are_yaml_with_double_quotes() {
        let value = json!({"a": "*****", "b": [{"c": 1, "d": "x"}, "y"], "e": {}, "f": "a\nb\n"});
        assert_eq!(
            spelled(&value),
            "a: \"*****\"\nb:\n- c: 1\n  d: x\n- y\ne: {}\nf: |\n  a\n  b\n  \n"
        );
    }

    #[test]
    fn blocks_stand_side_by_side_where_they_fit() {
        let blocks = ["ab\nc\n".to_owned(), "d\n".to_owned()];
        assert_eq!(side_by_side(0, &blocks), "ab   d\nc\n");
        let wide = ["x".repeat(60), "y".repeat(60)];
        assert_eq!(side_by_side(0, &wide), format!("{}\n{}\n", wide[0], wide[1]));
    }

    #[test]
    fn small_counts_are_words() {
        assert_eq!(plural(1, "entry", "entries"), "one entry");
        assert_eq!(plural(13, "entry", "entries"), "13 entries");
    }

    #[test]
    fn changed_lines_come_in_chunks() {
        assert_eq!(
            lines_changed("a\nb\nc\n", "a\nx\nc\nd\n"),
            [(vec!["b"], vec!["x"]), (vec![], vec!["d"])]
        );
    }
}
