//! The text form of label selectors, `a=b,c!=d,e in (f,g),!h`, with the errors of the Kubernetes version in
//! kustomize.

use std::collections::{BTreeMap, BTreeSet};

use sluice_base::gojson::quote;
use sluice_schema::names;

use crate::failure::{Failure, Result};

/// Requirements on labels; all must hold.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct LabelSelector(Vec<(String, Requirement)>);

/// A requirement on one label.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Requirement {
    Exists,
    Absent,
    In(BTreeSet<String>),
    NotIn(BTreeSet<String>),
    Greater(i64),
    Less(i64),
}

impl LabelSelector {
    pub(super) fn parse(text: &str) -> Result<Self> {
        let mut parser = Parser { rest: text };
        parser.selector().map(Self).map_err(|why| {
            Failure::new(why).hint(format_args!(
                "`{text}` is no label selector: write `key=value`, `key in (a,b)`, `key` or `!key`"
            ))
        })
    }

    /// Whether everything fits.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn matches(&self, labels: &BTreeMap<String, String>) -> bool {
        self.0.iter().all(|(key, requirement)| {
            let label = labels.get(key);
            let number = || label.and_then(|label| label.parse::<i64>().ok());
            match requirement {
                Requirement::Exists => label.is_some(),
                Requirement::Absent => label.is_none(),
                Requirement::In(values) => label.is_some_and(|label| values.contains(label)),
                Requirement::NotIn(values) => label.is_none_or(|label| !values.contains(label)),
                Requirement::Greater(bound) => number().is_some_and(|number| number > *bound),
                Requirement::Less(bound) => number().is_some_and(|number| number < *bound),
            }
        })
    }
}

type Parsed<T> = std::result::Result<T, String>;

/// Longer symbols first, so that `==` is not read as two.
const SYMBOLS: [&str; 9] = ["==", "!=", "=", "!", "(", ")", ",", ">", "<"];

struct Parser<'t> {
    rest: &'t str,
}

/// A symbol or an identifier; empty at the end.
type Token<'t> = &'t str;

fn is_word(token: Token<'_>) -> bool {
    !token.is_empty() && !SYMBOLS.contains(&token)
}

impl<'t> Parser<'t> {
    fn peek(&self) -> Token<'t> {
        let is_space = |letter| matches!(letter, ' ' | '\t' | '\r' | '\n');
        let rest = self.rest.trim_start_matches(is_space);
        let ends = |letter: char| is_space(letter) || "=!(),><".contains(letter);
        let symbol = SYMBOLS.into_iter().find(|symbol| rest.starts_with(symbol));
        symbol.unwrap_or_else(|| rest.split(ends).next().unwrap_or_default())
    }

    fn take(&mut self) -> Token<'t> {
        let token = self.peek();
        let rest = self.rest.trim_start_matches([' ', '\t', '\r', '\n']);
        self.rest = rest.get(token.len()..).unwrap_or_default();
        token
    }

    fn selector(&mut self) -> Parsed<Vec<(String, Requirement)>> {
        let mut out = Vec::new();
        match self.peek() {
            "" => return Ok(out),
            token if is_word(token) || token == "!" => {}
            token => {
                return Err(format!(
                    "found '{token}', expected: !, identifier, or 'end of string'"
                ));
            }
        }
        loop {
            let requirement = self.requirement();
            out.push(requirement.map_err(|why| format!("unable to parse requirement: {why}"))?);
            match self.take() {
                "" => return Ok(out),
                "," => match self.peek() {
                    token if is_word(token) || token == "!" => {}
                    token => {
                        return Err(format!("found '{token}', expected: identifier after ','"));
                    }
                },
                token => return Err(format!("found '{token}', expected: ',' or 'end of string'")),
            }
        }
    }

    fn requirement(&mut self) -> Parsed<(String, Requirement)> {
        let mut key = self.take();
        let is_absent = key == "!";
        if is_absent {
            key = self.take();
        }
        if !is_word(key) {
            return Err(format!("found '{key}', expected: identifier"));
        }
        let problems = names::label_key(key);
        if !problems.is_empty() {
            return Err(format!("invalid label key {}: {}", quote(key), problems.join("; ")));
        }
        let requirement = if is_absent {
            Requirement::Absent
        } else if matches!(self.peek(), "" | ",") {
            Requirement::Exists
        } else {
            match self.take() {
                "in" => Requirement::In(self.values(key)?),
                "notin" => Requirement::NotIn(self.values(key)?),
                "=" | "==" => Requirement::In(BTreeSet::from([self.value(key)?])),
                "!=" => Requirement::NotIn(BTreeSet::from([self.value(key)?])),
                ">" => Requirement::Greater(self.number(key)?),
                "<" => Requirement::Less(self.number(key)?),
                token => {
                    return Err(format!(
                        "found '{token}', expected: '=', '!=', '==', 'in', notin'"
                    ));
                }
            }
        };
        Ok((key.to_owned(), requirement))
    }

    /// The value after `=`; absent is the empty one.
    fn value(&mut self, key: &str) -> Parsed<String> {
        let value = match self.peek() {
            "" | "," => String::new(),
            token if is_word(token) => self.take().to_owned(),
            token => return Err(format!("found '{token}', expected: identifier")),
        };
        check_value(key, &value)?;
        Ok(value)
    }

    fn number(&mut self, key: &str) -> Parsed<i64> {
        let value = self.value(key)?;
        let wrong = || "for 'Gt', 'Lt' operators, the value must be an integer".to_owned();
        value.parse().map_err(|_| wrong())
    }

    /// The values in parentheses.
    fn values(&mut self, key: &str) -> Parsed<BTreeSet<String>> {
        match self.take() {
            "(" => {}
            token => return Err(format!("found '{token}' expected: '('")),
        }
        let mut values = BTreeSet::new();
        if self.peek() == ")" {
            self.take();
            values.insert(String::new());
            return Ok(values);
        }
        loop {
            match self.take() {
                "," => {
                    // Empty values: before the first comma, between two, or after the last.
                    if values.is_empty() || matches!(self.peek(), ")" | ",") {
                        values.insert(String::new());
                    }
                    match self.peek() {
                        ")" => break,
                        "," => {
                            self.take();
                        }
                        _ => {}
                    }
                }
                token if is_word(token) => {
                    values.insert(token.to_owned());
                    match self.peek() {
                        "," => {}
                        ")" => break,
                        token => return Err(format!("found '{token}', expected: ',' or ')'")),
                    }
                }
                token => return Err(format!("found '{token}', expected: ',', or identifier")),
            }
        }
        self.take();
        values.iter().try_for_each(|value| check_value(key, value))?;
        Ok(values)
    }
}

fn check_value(key: &str, value: &str) -> Parsed<()> {
    let problems = names::label_value(value);
    if problems.is_empty() {
        return Ok(());
    }
    let (value, key) = (quote(value), quote(key));
    Err(format!("invalid label value: {value}: at key: {key}: {}", problems.join("; ")))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::LabelSelector;

    #[test]
    fn labels_fit_or_not() {
        let labels = [("app", "web"), ("tier", "1"), ("none", "")];
        let labels: BTreeMap<String, String> =
            labels.map(|(key, value)| (key.to_owned(), value.to_owned())).into();
        let cases = [
            ("", true),
            ("app=web", true),
            ("app == web , tier", true),
            ("app!=web", false),
            ("zone!=x", true),
            ("app in (web,api)", true),
            ("app notin (web, api)", false),
            ("none in ()", true),
            ("none in (a,)", true),
            ("none in (,a)", true),
            ("none in (a,b)", false),
            ("none=", true),
            ("!zone", true),
            ("!app", false),
            ("tier>0", true),
            ("tier<1", false),
        ];
        for (text, expected) in cases {
            assert_eq!(LabelSelector::parse(text).unwrap().matches(&labels), expected, "{text}");
        }
    }

    #[test]
    fn what_is_no_selector_is_refused() {
        let cases = [
            ("a=b=c", "found '=', expected: ',' or 'end of string'"),
            ("a,", "found '', expected: identifier after ','"),
            (
                "n within (1)",
                "unable to parse requirement: found 'within', expected: '=', '!=', '==', 'in', notin'",
            ),
            ("a in b", "unable to parse requirement: found 'b' expected: '('"),
            ("(a)", "found '(', expected: !, identifier, or 'end of string'"),
            ("a in (b c)", "unable to parse requirement: found 'c', expected: ',' or ')'"),
            (
                "a > b",
                "unable to parse requirement: for 'Gt', 'Lt' operators, the value must be an integer",
            ),
        ];
        for (text, expected) in cases {
            let wrong = LabelSelector::parse(text).expect_err(text);
            assert_eq!(wrong.diagnostics().next().unwrap().message, expected, "{text}");
        }
    }
}
