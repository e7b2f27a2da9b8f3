//! `metav1.LabelSelector`: `matchLabels` and `matchExpressions`.

use serde_json::Value;

use super::parse::{Release, new};
use super::{Operator, Selector, SelectorError};
use crate::go::quote;

impl Selector {
    /// The selector that an object of type `metav1.LabelSelector` is, as `LabelSelectorAsSelector` converts it.
    ///
    /// Null selects nothing, which is `None`; an empty object selects everything.
    pub fn from_object(object: &Value) -> Result<Option<Self>, SelectorError> {
        let Some(fields) = object.as_object() else { return Ok(None) };
        let mut requirements = Vec::new();
        for (key, value) in
            fields.get("matchLabels").and_then(Value::as_object).into_iter().flatten()
        {
            let values = vec![value.as_str().unwrap_or_default().to_owned()];
            let requirement = new(key, Operator::Equals, values, Release::Current);
            requirements.push(requirement.map_err(SelectorError)?);
        }
        for item in fields.get("matchExpressions").and_then(Value::as_array).into_iter().flatten() {
            let operator = match text(item, "operator") {
                "In" => Operator::In,
                "NotIn" => Operator::NotIn,
                "Exists" => Operator::Exists,
                "DoesNotExist" => Operator::DoesNotExist,
                other => {
                    let other = quote(other);
                    return Err(SelectorError(format!(
                        "{other} is not a valid label selector operator"
                    )));
                }
            };
            let values = item.get("values").and_then(Value::as_array).into_iter().flatten();
            let values = values.filter_map(|value| value.as_str().map(str::to_owned)).collect();
            let requirement = new(text(item, "key"), operator, values, Release::Current);
            requirements.push(requirement.map_err(SelectorError)?);
        }
        Ok(Some(Self::sorted(requirements)))
    }
}

fn text<'v>(item: &'v Value, field: &str) -> &'v str {
    item.get(field).and_then(Value::as_str).unwrap_or_default()
}
