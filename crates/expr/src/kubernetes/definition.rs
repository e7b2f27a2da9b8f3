//! What a definition is refused for because of its rules.

use serde_json::Value as Json;
use sluice_base::gojson;

use super::{compile, declare, path};
use crate::functions::quote;
use crate::schema::{ListType, Rule, Schema};

/// One thing wrong with a rule of a definition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The path, beginning with the one given.
    pub path: String,
    /// The kind of error, as it prints: `Invalid value`, `Required value`, and so on.
    pub kind: &'static str,
    /// The value shown, as it prints; empty if none is.
    pub value: String,
    /// The message.
    pub detail: String,
}

/// The reasons a rule may give.
const REASONS: &[&str] =
    &["FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"];

/// Everything wrong with the rules of the schema at `path`, in upstream's order: first what is
/// wrong with the fields of rules, then what is wrong with their expressions.
pub fn refusals(schema: &Json, path: &str) -> Vec<Refusal> {
    let schema = Schema::parse(schema);
    let mut found = Found::default();
    walk(&schema, path, Some(true), None, &mut found);
    found.fields.append(&mut found.expressions);
    found.fields
}

#[derive(Default)]
struct Found {
    fields: Vec<Refusal>,
    expressions: Vec<Refusal>,
}

/// `typed` says whether the place has a type, and whether that is of a whole resource;
/// `uncorrelated` is the innermost list around it whose elements have no past.
fn walk(
    schema: &Schema,
    path: &str,
    typed: Option<bool>,
    uncorrelated: Option<&str>,
    found: &mut Found,
) {
    let before = found.fields.len();
    let below = |inner: &Schema| typed.map(|_| inner.embedded);
    if let Some(additional) = schema.additional.as_deref() {
        let path = format!("{path}.additionalProperties");
        walk(additional, &path, below(additional), uncorrelated, found);
    }
    for (name, property) in schema.properties.iter().flatten() {
        let path = format!("{path}.properties[{name}]");
        walk(property, &path, below(property), uncorrelated, found);
    }
    for (index, nested) in schema.all_of.iter().enumerate() {
        walk(nested, &format!("{path}.allOf[{index}]"), None, uncorrelated, found);
    }
    if let Some(items) = schema.items.as_deref() {
        let inner = format!("{path}.items");
        let correlated = schema.list_type == ListType::Map;
        let uncorrelated = uncorrelated.or((!correlated).then_some(path));
        walk(items, &inner, below(items), uncorrelated, found);
    }
    for (index, rule) in schema.rules.iter().enumerate() {
        let path = format!("{path}.x-kubernetes-validations[{index}]");
        fields(rule, schema, &path, &mut found.fields);
    }
    let Some(root) = typed else { return };
    if schema.rules.is_empty() || found.fields.len() > before {
        return;
    }
    let Some(declared) = declare::declare(schema, root, super::SELF_TYPE) else {
        found.expressions.push(Refusal {
            path: format!("{path}.x-kubernetes-validations"),
            kind: "Internal error",
            value: String::new(),
            detail: "internal error: failed to construct type information for \
                     x-kubernetes-validations rules: unable to convert structural schema to CEL \
                     declarations"
                .to_owned(),
        });
        return;
    };
    for (index, rule) in schema.rules.iter().enumerate() {
        let path = format!("{path}.x-kubernetes-validations[{index}]");
        let compiled = compile(rule, &declared, schema);
        let mut invalid = |field: &str, value: String, detail: String| {
            let path = format!("{path}.{field}");
            found.expressions.push(Refusal { path, kind: "Invalid value", value, detail });
        };
        if let Err(error) = compiled.program {
            invalid("rule", shown(rule), error);
        }
        if let Some(error) = compiled.message_error {
            invalid("messageExpression", shown(rule), error);
        }
        match (compiled.uses_old_self, uncorrelated, rule.optional_old_self) {
            (true, Some(within), _) => {
                let detail = format!(
                    "oldSelf cannot be used on the uncorrelatable portion of the schema within \
                     {within}"
                );
                invalid("rule", quote(&rule.expression), detail);
            }
            (false, _, Some(value)) => {
                let detail = "may not be set if oldSelf is not used in rule";
                invalid("optionalOldSelf", value.to_string(), detail.to_owned());
            }
            _ => {}
        }
    }
}

fn has_line_break(text: &str) -> bool {
    text.contains(['\n', '\r'])
}

fn fields(rule: &Rule, schema: &Schema, path: &str, refusals: &mut Vec<Refusal>) {
    let mut refuse = |field: &str, kind: &'static str, value: &str, detail: &str| {
        let value = if kind == "Required value" { String::new() } else { quote(value) };
        let path = format!("{path}.{field}");
        refusals.push(Refusal { path, kind, value, detail: detail.to_owned() });
    };
    let (text, message) = (rule.expression.trim(), rule.message.trim());
    if text.is_empty() {
        refuse("rule", "Required value", "", "rule is not specified");
    } else if !rule.message.is_empty() && message.is_empty() {
        refuse("message", "Invalid value", &rule.message, "must be non-empty if specified");
    } else if has_line_break(message) {
        refuse("message", "Invalid value", &rule.message, "must not contain line breaks");
    } else if has_line_break(text) && message.is_empty() {
        let detail = "message must be specified if rule contains line breaks";
        refuse("message", "Required value", "", detail);
    }
    if !rule.message_expression.is_empty() && rule.message_expression.trim().is_empty() {
        let detail = "messageExpression must be non-empty if specified";
        refuse("messageExpression", "Required value", "", detail);
    }
    if let Some(reason) = &rule.reason
        && !REASONS.contains(&reason.as_str())
    {
        let known: Vec<String> = REASONS.iter().map(|reason| quote(reason)).collect();
        let detail = format!("supported values: {}", known.join(", "));
        refuse("reason", "Unsupported value", reason, &detail);
    }
    let field_path = &rule.field_path;
    if field_path.is_empty() {
        return;
    }
    if field_path.trim().is_empty() {
        refuse("fieldPath", "Invalid value", field_path, "must be non-empty if specified");
    }
    if has_line_break(field_path) {
        refuse("fieldPath", "Invalid value", field_path, "must not contain line breaks");
    }
    if path::parse(field_path, schema).is_err() {
        refuse("fieldPath", "Invalid value", field_path, "must be a valid path");
    }
}

/// A rule as the JSON of the struct that upstream holds it in.
fn shown(rule: &Rule) -> String {
    let text = |text: &str| gojson::to_string(&Json::String(text.to_owned()));
    let reason = rule.reason.as_deref().map_or("null".to_owned(), text);
    let optional = rule.optional_old_self.map_or("null".to_owned(), |flag| flag.to_string());
    format!(
        "{{\"Rule\":{},\"Message\":{},\"MessageExpression\":{},\"Reason\":{reason},\
         \"FieldPath\":{},\"OptionalOldSelf\":{optional}}}",
        text(&rule.expression),
        text(&rule.message),
        text(&rule.message_expression),
        text(&rule.field_path),
    )
}
