//! Creates, finds and changes nodes. Untouched nodes keep their order, style and comments.

use std::borrow::Cow;

use serde_json::Value;

use super::{Content, Node};
use sluice_base::go::float;

use crate::Dialect;
use crate::error::Error;
use crate::resolve::{Meaning, resolve};
use crate::token::ScalarStyle;

impl Node {
    /// A text; it is quoted where YAML would take it for something else.
    pub fn text(value: impl Into<String>) -> Self {
        Self::scalar("!!str", value)
    }

    /// A scalar with a short tag such as `!!int`.
    pub fn scalar(tag: impl Into<Cow<'static, str>>, value: impl Into<String>) -> Self {
        let content = Content::Scalar { value: value.into(), style: ScalarStyle::Plain };
        Self { content, tag: tag.into(), ..Self::default() }
    }

    /// A sequence in block style.
    pub fn sequence(items: Vec<Self>) -> Self {
        let content = Content::Sequence { items, flow: false };
        Self { content, tag: "!!seq".into(), ..Self::default() }
    }

    /// A mapping in block style.
    pub fn mapping(fields: Vec<(Self, Self)>) -> Self {
        let content = Content::Mapping { fields, flow: false };
        Self { content, tag: "!!map".into(), ..Self::default() }
    }

    /// The tree of a JSON value, in block style and in the order of its keys.
    pub fn from_json(value: &Value) -> Self {
        match value {
            Value::Null => Self::scalar("!!null", "null"),
            Value::Bool(truth) => Self::scalar("!!bool", truth.to_string()),
            Value::Number(number) => match number.as_f64() {
                Some(value) if number.is_f64() => {
                    let text = float::yaml(value);
                    Self::scalar(resolve(&text, Dialect::V3).tag(), text)
                }
                _ => Self::scalar("!!int", number.to_string()),
            },
            Value::String(text) => Self::text(text.as_str()),
            Value::Array(items) => Self::sequence(items.iter().map(Self::from_json).collect()),
            Value::Object(fields) => {
                let fields = fields.iter();
                Self::mapping(
                    fields
                        .map(|(name, field)| (Self::text(name.as_str()), Self::from_json(field)))
                        .collect(),
                )
            }
        }
    }

    /// The text of a scalar of any type.
    pub fn as_text(&self) -> Option<&str> {
        match &self.content {
            Content::Scalar { value, .. } => Some(value),
            _ => None,
        }
    }

    /// Whether it is a scalar that means nothing.
    pub fn is_null(&self) -> bool {
        self.short_tag() == "!!null"
    }

    /// The items of a sequence; none for anything else.
    pub fn items(&self) -> &[Self] {
        match &self.content {
            Content::Sequence { items, .. } => items,
            _ => &[],
        }
    }

    /// The items of a sequence, to change.
    pub fn items_mut(&mut self) -> Option<&mut Vec<Self>> {
        match &mut self.content {
            Content::Sequence { items, .. } => Some(items),
            _ => None,
        }
    }

    /// The fields of a mapping in their order; none for anything else.
    pub fn fields(&self) -> &[(Self, Self)] {
        match &self.content {
            Content::Mapping { fields, .. } => fields,
            _ => &[],
        }
    }

    /// The fields of a mapping, to change.
    pub fn fields_mut(&mut self) -> Option<&mut Vec<(Self, Self)>> {
        match &mut self.content {
            Content::Mapping { fields, .. } => Some(fields),
            _ => None,
        }
    }

    /// The value of the first field with that key.
    pub fn field(&self, name: &str) -> Option<&Self> {
        self.fields().iter().find(|(key, _)| key.as_text() == Some(name)).map(|(_, value)| value)
    }

    /// The value of the first field with that key, to change.
    pub fn field_mut(&mut self, name: &str) -> Option<&mut Self> {
        let mut fields = self.fields_mut()?.iter_mut();
        fields.find(|(key, _)| key.as_text() == Some(name)).map(|(_, value)| value)
    }

    /// The value behind a path of keys.
    pub fn at(&self, path: &[&str]) -> Option<&Self> {
        path.iter().try_fold(self, |node, name| node.field(name))
    }

    /// The value behind a path of keys, to change.
    pub fn at_mut(&mut self, path: &[&str]) -> Option<&mut Self> {
        path.iter().try_fold(self, |node, name| node.field_mut(name))
    }

    /// The value of a field of a mapping, which is made by `make` and put last if it is missing;
    /// nothing where the node is no mapping.
    pub fn field_or_insert_with(
        &mut self,
        name: &str,
        make: impl FnOnce() -> Self,
    ) -> Option<&mut Self> {
        let fields = self.fields_mut()?;
        let index = fields.iter().position(|(key, _)| key.as_text() == Some(name));
        let index = index.unwrap_or_else(|| {
            fields.push((Self::text(name), make()));
            fields.len() - 1
        });
        fields.get_mut(index).map(|(_, value)| value)
    }

    /// Sets a field of a mapping: in its place if it is there, else last. A scalar that replaces a
    /// scalar takes over its quotes, and a new text is quoted where YAML 1.1 would take it for
    /// something else, as kustomize's setter does. Gives what was there.
    pub fn set_field(&mut self, name: &str, mut value: Self) -> Option<Self> {
        let Some(old) = self.field_mut(name) else {
            if let Content::Scalar { value: text, style } = &mut value.content
                && *style == ScalarStyle::Plain
                && value.tag == "!!str"
                && is_special_in_yaml_1_1(text)
            {
                *style = ScalarStyle::DoubleQuoted;
            }
            self.fields_mut()?.push((Self::text(name), value));
            return None;
        };
        if let (Content::Scalar { style: old, .. }, Content::Scalar { style, .. }) =
            (&old.content, &mut value.content)
        {
            *style = *old;
        }
        Some(std::mem::replace(old, value))
    }

    /// Removes the first field with that key, and gives it.
    pub fn remove_field(&mut self, name: &str) -> Option<(Self, Self)> {
        let fields = self.fields_mut()?;
        let index = fields.iter().position(|(key, _)| key.as_text() == Some(name))?;
        Some(fields.remove(index))
    }

    /// Changes the text of a scalar and leaves how it is written; a new tag follows the new text
    /// unless quotes or a written tag hold it.
    pub fn set_text(&mut self, text: impl Into<String>) {
        if let Content::Scalar { value, style } = &mut self.content {
            *value = text.into();
            if *style == ScalarStyle::Plain && !self.tagged {
                self.tag = resolve(value, Dialect::V3).tag().into();
            }
        }
    }
}

/// Whether a reader of YAML 1.1 takes `text`, written plainly, for something other than text. Such
/// a text is quoted when it is set as a string, so that both kinds of reader agree.
pub fn is_special_in_yaml_1_1(text: &str) -> bool {
    if text.is_empty() || text.contains('\n') {
        return false;
    }
    // Most strings are plain words, and only a few of those have another type.
    let is_word = text.starts_with(|first: char| first.is_ascii_alphabetic())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_./".contains(&byte));
    if is_word {
        return resolve(text, Dialect::V2) != Meaning::Text;
    }
    match crate::to_json(text.as_bytes(), crate::Duplicates::LastWins) {
        Ok(value) => !value.is_some_and(|value| value.is_string()),
        Err(Error::Unsupported(_)) => true,
        Err(Error::Syntax { .. } | Error::Values(_)) => false,
    }
}
