//! JSON values in block style, as `sigs.k8s.io/yaml` prints them.

use std::borrow::Cow;

use serde_json::{Map, Number, Value};

use super::order;
use super::scalar::Analysis;
use super::writer::Writer;
use sluice_base::go::float;

use crate::Dialect;
use crate::resolve::{Meaning, is_base_sixty, resolve};
use crate::token::ScalarStyle;

/// `value` as `yaml.Marshal` of `sigs.k8s.io/yaml` prints it.
///
/// Keys are sorted, sequences inside mappings are not indented, lines are folded at the first space
/// after column 80, and a text is quoted where YAML 1.1 would take it for something else.
pub fn from_json(value: &Value) -> String {
    let mut writer = Writer::new(Dialect::V2, 2, Some(80));
    writer.value(value, Place::Root);
    writer.write_indent();
    writer.out
}

/// The position of a value in its parent.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Root,
    Item,
    Field,
    SimpleKey,
    ComplexKey,
}

impl Writer {
    fn value(&mut self, value: &Value, place: Place) {
        match value {
            Value::Null => self.literal("null"),
            Value::Bool(true) => self.literal("true"),
            Value::Bool(false) => self.literal("false"),
            Value::Number(number) => self.literal(&number_text(number)),
            Value::String(text) => self.text(text, place),
            Value::Array(items) if items.is_empty() => self.empty("[", "]"),
            Value::Object(fields) if fields.is_empty() => self.empty("{", "}"),
            Value::Array(items) => self.items(items, place),
            Value::Object(fields) => self.fields(fields),
        }
    }

    /// Writes a keyword or a number, which is plain in every context.
    pub(super) fn literal(&mut self, text: &str) {
        if !self.whitespace {
            self.put(' ');
        }
        self.put_ascii(text);
        self.whitespace = false;
        self.indention = false;
    }

    pub(super) fn empty(&mut self, open: &str, close: &str) {
        self.write_indicator_as(open, true, true, false);
        self.write_indicator(close, false);
    }

    pub(super) fn text(&mut self, text: &str, place: Place) {
        if is_word(text) {
            return self.literal(text);
        }
        let folded = fold_next_lines(text);
        let text = folded.as_ref();
        let analysis = Analysis::of(text, self.dialect);
        let simple_key = place == Place::SimpleKey;
        let wanted = if text.contains('\n') {
            ScalarStyle::Literal
        } else if resolve(text, self.dialect) == Meaning::Text && !is_base_sixty(text) {
            ScalarStyle::Plain
        } else {
            ScalarStyle::DoubleQuoted
        };
        let style = self.select_style(wanted, text, analysis, simple_key);
        let indent = self.indent;
        self.indent = self.deeper();
        self.write_scalar(text, style, simple_key);
        self.indent = indent;
    }

    /// The indentation of the content of the current collection.
    fn deeper(&self) -> isize {
        if self.indent < 0 {
            self.step.cast_signed()
        } else {
            self.indent + self.step.cast_signed()
        }
    }

    fn items(&mut self, items: &[Value], place: Place) {
        let indent = self.enter_items(place);
        for item in items {
            self.start_item();
            self.value(item, Place::Item);
        }
        self.indent = indent;
    }

    /// Goes to the indentation of a sequence's items; gives the one to go back to.
    pub(super) fn enter_items(&mut self, place: Place) -> isize {
        let indent = self.indent;
        let in_mapping = matches!(place, Place::Field | Place::ComplexKey);
        if indent < 0 {
            self.indent = 0;
        } else if !in_mapping || self.indention {
            self.indent = self.deeper();
        }
        indent
    }

    pub(super) fn start_item(&mut self) {
        self.write_indent();
        self.write_indicator_as("-", true, false, true);
    }

    fn fields(&mut self, fields: &Map<String, Value>) {
        let mut sorted: Vec<(&String, &Value)> = fields.iter().collect();
        order::sort_by_key(&mut sorted, Dialect::V2, |(name, _)| name);
        let indent = self.enter_fields();
        for (name, field) in sorted {
            self.field_name(name);
            self.value(field, Place::Field);
        }
        self.indent = indent;
    }

    /// Goes to the indentation of a mapping's fields; gives the one to go back to.
    pub(super) fn enter_fields(&mut self) -> isize {
        let indent = self.indent;
        self.indent = if indent < 0 { 0 } else { self.deeper() };
        indent
    }

    /// Writes a field's name with its colon, on a line of its own.
    pub(super) fn field_name(&mut self, name: &str) {
        self.write_indent();
        let simple = is_word(name) || !Analysis::of(name, self.dialect).multiline;
        if simple && name.len() <= 128 {
            self.text(name, Place::SimpleKey);
            self.write_indicator(":", false);
        } else {
            self.write_indicator_as("?", true, false, true);
            self.text(name, Place::ComplexKey);
            self.write_indent();
            self.write_indicator_as(":", true, false, true);
        }
    }
}

/// Whether a string is written plainly in every context.
fn is_word(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_alphabetic())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_./".contains(&byte))
        && resolve(text, Dialect::V2) == Meaning::Text
}

/// `text` as go-yaml reads it from JSON: U+0085 is a line break there, and quoted lines are folded.
fn fold_next_lines(text: &str) -> Cow<'_, str> {
    const NEXT_LINE: char = '\u{85}';
    if !text.contains(NEXT_LINE) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find([' ', NEXT_LINE]) {
        let (before, from) = rest.split_at(start);
        let after = from.trim_start_matches([' ', NEXT_LINE]);
        let gap = &from[..from.len() - after.len()];
        out.push_str(before);
        match gap.matches(NEXT_LINE).count() {
            0 => out.push_str(gap),
            1 => out.push(' '),
            breaks => out.extend(std::iter::repeat_n('\n', breaks - 1)),
        }
        rest = after;
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// A number as it comes out of Go's JSON and go-yaml's reading of that.
fn number_text(number: &Number) -> String {
    match number.as_f64() {
        Some(value) if number.is_f64() => {
            let json = float::json(value);
            match resolve(&json, Dialect::V2) {
                Meaning::Integer(value) => value.to_string(),
                Meaning::Unsigned(value) => value.to_string(),
                _ => float::yaml(value),
            }
        }
        _ => number.to_string(),
    }
}
