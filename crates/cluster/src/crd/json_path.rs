//! The JSONPath of kubectl and of printer columns: `.spec.replicas`,
//! `.status.conditions[?(@.type=="Ready")].status`, `..name`, `.items[-1:]`.
//!
//! It is client-go's dialect, not the RFC's. `range` and `end` are for templates, not for columns,
//! and are not supported.

use std::cmp::Ordering;

use serde_json::Value;

/// A parsed path.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct JsonPath(Vec<Step>);

#[derive(Debug, Clone, PartialEq)]
enum Step {
    Field(String),
    /// Start, end and step of a slice; an index is a slice of one item.
    Slice(Option<i64>, Option<i64>, Option<i64>),
    Union(Vec<Vec<Step>>),
    Wildcard,
    Recursive,
    Filter(Vec<Step>, Option<(Operator, Operand)>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operator {
    Less,
    LessEqual,
    Equal,
    NotEqual,
    GreaterEqual,
    Greater,
}

#[derive(Debug, Clone, PartialEq)]
enum Operand {
    Literal(Value),
    Path(Vec<Step>),
}

impl JsonPath {
    /// Parses a path; `None` if it is invalid.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        steps(text.strip_prefix('$').unwrap_or(text)).map(Self)
    }

    /// The values at the path; none if it does not exist in the object.
    pub(crate) fn find<'v>(&self, object: &'v Value) -> Vec<&'v Value> {
        walk(vec![object], &self.0).unwrap_or_default()
    }
}

fn steps(text: &str) -> Option<Vec<Step>> {
    let mut out = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        match first {
            '.' => {
                if let Some(after) = rest.strip_prefix("..") {
                    out.push(Step::Recursive);
                    // `..name`: the recursion is followed by a field without its dot.
                    rest = after;
                    if !rest.is_empty() && !rest.starts_with(['[', '.', '*']) {
                        let (name, after) = field(rest);
                        out.push(Step::Field(name));
                        rest = after;
                    }
                    continue;
                }
                rest = &rest[1..];
                if let Some(after) = rest.strip_prefix('*') {
                    out.push(Step::Wildcard);
                    rest = after;
                    continue;
                }
                let (name, after) = field(rest);
                if !name.is_empty() {
                    out.push(Step::Field(name));
                }
                rest = after;
            }
            '*' => {
                out.push(Step::Wildcard);
                rest = &rest[1..];
            }
            '[' => {
                let end = closing(rest)?;
                out.push(bracket(&rest[1..end])?);
                rest = &rest[end + 1..];
            }
            _ => return None,
        }
    }
    Some(out)
}

/// A field name, which may escape dots by a backslash, and what follows it.
fn field(text: &str) -> (String, &str) {
    let mut name = String::new();
    let mut characters = text.char_indices();
    while let Some((index, character)) = characters.next() {
        match character {
            '\\' => name.extend(characters.next().map(|(_, escaped)| escaped)),
            '.' | '[' | ']' | ' ' | '=' | '<' | '>' | '!' | ',' | ')' => {
                return (name, &text[index..]);
            }
            other => name.push(other),
        }
    }
    (name, "")
}

/// The index of the bracket that closes the first one.
fn closing(text: &str) -> Option<usize> {
    let (mut depth, mut quote) = (0_usize, None);
    for (index, character) in text.char_indices() {
        match (quote, character) {
            (Some(open), _) if open == character => quote = None,
            (None, '\'' | '"') => quote = Some(character),
            (None, '[') => depth += 1,
            (None, ']') => {
                depth -= 1;
                if depth == 0 {
                    return Some(index);
                }
            }
            _ => {}
        }
    }
    None
}

fn unquoted(text: &str) -> Option<&str> {
    let inner = |quote: char| text.strip_prefix(quote)?.strip_suffix(quote);
    inner('\'').or_else(|| inner('"'))
}

fn bracket(text: &str) -> Option<Step> {
    let text = text.trim();
    if text == "*" {
        return Some(Step::Wildcard);
    }
    if let Some(filter) = text.strip_prefix("?(").and_then(|text| text.strip_suffix(')')) {
        return parse_filter(filter);
    }
    if let Some(name) = unquoted(text) {
        return Some(Step::Field(name.to_owned()));
    }
    if text.contains(',') {
        let parts: Option<Vec<Vec<Step>>> =
            text.split(',').map(|part| bracket(part).map(|step| vec![step])).collect();
        return parts.map(Step::Union);
    }
    let number = |part: &str| {
        if part.is_empty() { Some(None) } else { part.trim().parse::<i64>().ok().map(Some) }
    };
    match text.split(':').collect::<Vec<_>>().as_slice() {
        [index] => {
            let index = index.parse::<i64>().ok()?;
            let end = if index == -1 { None } else { Some(index + 1) };
            Some(Step::Slice(Some(index), end, None))
        }
        [start, end] => Some(Step::Slice(number(start)?, number(end)?, None)),
        [start, end, step] => Some(Step::Slice(number(start)?, number(end)?, number(step)?)),
        _ => None,
    }
}

fn parse_filter(text: &str) -> Option<Step> {
    const OPERATORS: [(&str, Operator); 6] = [
        ("==", Operator::Equal),
        ("!=", Operator::NotEqual),
        ("<=", Operator::LessEqual),
        (">=", Operator::GreaterEqual),
        ("<", Operator::Less),
        (">", Operator::Greater),
    ];
    let path = |text: &str| steps(text.trim().strip_prefix('@')?);
    let found = OPERATORS
        .iter()
        .filter_map(|(word, operator)| text.find(word).map(|index| (index, *word, *operator)))
        .min_by_key(|(index, word, _)| (*index, std::cmp::Reverse(word.len())));
    let Some((index, word, operator)) = found else {
        return path(text).map(|left| Step::Filter(left, None));
    };
    let (left, right) = (&text[..index], text[index + word.len()..].trim());
    let operand = if let Some(literal) = unquoted(right) {
        Operand::Literal(literal.into())
    } else if right.starts_with('@') {
        Operand::Path(path(right)?)
    } else {
        Operand::Literal(serde_json::from_str(right).ok()?)
    };
    Some(Step::Filter(path(left)?, Some((operator, operand))))
}

/// The values after the steps; `None` where client-go fails.
fn walk<'v>(mut values: Vec<&'v Value>, steps: &[Step]) -> Option<Vec<&'v Value>> {
    for step in steps {
        values = one(&values, step)?;
    }
    Some(values)
}

fn children(value: &Value) -> Vec<&Value> {
    match value {
        Value::Array(items) => items.iter().collect(),
        Value::Object(fields) => fields.values().collect(),
        _ => Vec::new(),
    }
}

fn one<'v>(values: &[&'v Value], step: &Step) -> Option<Vec<&'v Value>> {
    let mut out = Vec::new();
    for value in values.iter().copied() {
        match step {
            Step::Field(name) => out.extend(value.as_object().and_then(|fields| fields.get(name))),
            Step::Wildcard => out.extend(children(value)),
            Step::Recursive => recurse(value, &mut out),
            Step::Union(paths) => {
                for path in paths {
                    out.extend(walk(vec![value], path)?);
                }
            }
            Step::Slice(start, end, step) => match value {
                Value::Null => {}
                Value::Array(items) => out.extend(slice(items, *start, *end, *step)?),
                _ => return None,
            },
            Step::Filter(left, comparison) => {
                for item in value.as_array()? {
                    if passes(item, left, comparison.as_ref())? {
                        out.push(item);
                    }
                }
            }
        }
    }
    Some(out)
}

fn recurse<'v>(value: &'v Value, out: &mut Vec<&'v Value>) {
    let below = children(value);
    if !below.is_empty() {
        out.push(value);
        for child in below {
            recurse(child, out);
        }
    }
}

fn slice(
    items: &[Value],
    start: Option<i64>,
    end: Option<i64>,
    step: Option<i64>,
) -> Option<Vec<&Value>> {
    let length = i64::try_from(items.len()).ok()?;
    let from_end = |index: i64| if index < 0 { index + length } else { index };
    let (start, end) = (from_end(start.unwrap_or(0)), from_end(end.unwrap_or(length)));
    if start == end {
        return Some(Vec::new());
    }
    if !(0..length).contains(&start) || !(0..=length).contains(&end) || start > end {
        return None;
    }
    let (start, end) = (usize::try_from(start).ok()?, usize::try_from(end).ok()?);
    let step = usize::try_from(step.unwrap_or(1)).ok().filter(|step| *step > 0)?;
    Some(items.get(start..end)?.iter().step_by(step).collect())
}

fn passes(item: &Value, left: &[Step], comparison: Option<&(Operator, Operand)>) -> Option<bool> {
    let lefts = walk(vec![item], left)?;
    let Some((operator, operand)) = comparison else { return Some(!lefts.is_empty()) };
    let rights = match operand {
        Operand::Literal(literal) => vec![literal],
        Operand::Path(path) => walk(vec![item], path)?,
    };
    match (lefts.as_slice(), rights.as_slice()) {
        ([], _) | (_, []) => Some(false),
        ([left], [right]) => {
            let order = compare(left, right)?;
            Some(match operator {
                Operator::Less => order == Ordering::Less,
                Operator::LessEqual => order != Ordering::Greater,
                Operator::Equal => order == Ordering::Equal,
                Operator::NotEqual => order != Ordering::Equal,
                Operator::GreaterEqual => order != Ordering::Less,
                Operator::Greater => order == Ordering::Greater,
            })
        }
        _ => None,
    }
}

fn compare(left: &Value, right: &Value) -> Option<Ordering> {
    match (left, right) {
        (Value::String(left), Value::String(right)) => Some(left.cmp(right)),
        (Value::Bool(left), Value::Bool(right)) => Some(left.cmp(right)),
        (Value::Number(left), Value::Number(right)) => match (left.as_i64(), right.as_i64()) {
            (Some(left), Some(right)) => Some(left.cmp(&right)),
            (None, None) => left.as_f64()?.partial_cmp(&right.as_f64()?),
            // Go's templates do not compare an integer with a float.
            _ => None,
        },
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn paths_find_what_kubectl_finds() {
        let object = json!({
            "metadata": {"labels": {"app.kubernetes.io/name": "web"}},
            "spec": {"replicas": 3, "list": [1, 2, 3], "empty": null},
            "status": {"conditions": [
                {"type": "Ready", "status": "True", "n": 1},
                {"type": "Healthy", "status": "False", "n": 2},
            ]},
        });
        let cases = [
            (".spec.replicas", json!([3])),
            (".spec.missing", json!([])),
            (".spec.missing.deeper", json!([])),
            (".spec.empty", json!([null])),
            (r".metadata.labels.app\.kubernetes\.io/name", json!(["web"])),
            (".metadata.labels['app.kubernetes.io/name']", json!(["web"])),
            (".spec.list[0]", json!([1])),
            (".spec.list[-1]", json!([3])),
            (".spec.list[1:]", json!([2, 3])),
            (".spec.list[:2]", json!([1, 2])),
            (".spec.list[0,2]", json!([1, 3])),
            (".spec.list[*]", json!([1, 2, 3])),
            (".spec.list[9]", json!([])),
            (".spec.replicas[0]", json!([])),
            (r#".status.conditions[?(@.type=="Ready")].status"#, json!(["True"])),
            (".status.conditions[?(@.type=='Healthy')].status", json!(["False"])),
            (".status.conditions[?(@.n > 1)].type", json!(["Healthy"])),
            (".status.conditions[?(@.n)].type", json!(["Ready", "Healthy"])),
            ("..status", json!([object["status"], "True", "False"])),
        ];
        for (text, expected) in cases {
            let path = JsonPath::parse(text).expect(text);
            assert_eq!(json!(path.find(&object)), expected, "{text}");
        }
        assert_eq!(JsonPath::parse("spec"), None);
        assert_eq!(JsonPath::parse(".spec[x"), None);
    }
}
