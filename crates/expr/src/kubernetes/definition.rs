//! Errors of a definition's rules.

use serde_json::Value as Json;
use sluice_base::gojson;

use super::sizes::{REQUEST, Sizes};
use super::{Compiled, compile, declare, path};
use crate::schema::{ListType, Rule, Schema};
use sluice_base::go::quote;

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

/// The most one rule may be estimated to cost.
const RULE_LIMIT: u64 = 10_000_000;
/// The most all rules of a schema may be estimated to cost.
const SCHEMA_LIMIT: u64 = 100_000_000;

/// Everything wrong with the rules of the schema at `path`, in upstream's order: first what is
/// wrong with the fields of rules, then what is wrong with their expressions, then their costs.
pub fn refusals(schema: &Json, path: &str) -> Vec<Refusal> {
    let schema = Schema::parse(schema);
    let mut found = Found::default();
    let place = Place { typed: Some(true), uncorrelated: None, count: Some(1) };
    walk(&schema, path, &place, &mut found);
    let Found { mut fields, mut expressions, mut costs } = found;
    fields.append(&mut expressions);
    let total = costs.iter().fold(0_u64, |total, (_, cost)| total.saturating_add(*cost));
    if total > SCHEMA_LIMIT {
        costs.retain(|(_, cost)| *cost >= SCHEMA_LIMIT / 100);
        costs.sort_by_key(|(_, cost)| std::cmp::Reverse(*cost));
        for (path, _) in costs.into_iter().take(4) {
            let detail = "contributed to estimated rule cost total exceeding cost limit for \
                          entire OpenAPIv3 schema";
            fields.push(forbidden(path, detail.to_owned()));
        }
        let what = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema";
        fields.push(forbidden(path.to_owned(), too_expensive(what, total, SCHEMA_LIMIT)));
    }
    fields
}

#[derive(Default)]
struct Found {
    fields: Vec<Refusal>,
    expressions: Vec<Refusal>,
    /// What each expression may cost.
    costs: Vec<(String, u64)>,
}

/// What is known of the place of a schema.
#[derive(Clone, Copy)]
struct Place<'p> {
    /// Whether values here have a type, and whether that is of a whole resource.
    typed: Option<bool>,
    /// The innermost list around it with elements that do not correlate.
    uncorrelated: Option<&'p str>,
    /// How many values there may be, if anything limits them.
    count: Option<u64>,
}

fn forbidden(path: String, detail: String) -> Refusal {
    Refusal { path, kind: "Forbidden", value: String::new(), detail }
}

/// The complaint about a cost beyond a limit.
#[expect(clippy::cast_precision_loss, reason = "a factor for people need not be exact")]
fn too_expensive(what: &str, cost: u64, limit: u64) -> String {
    let factor = cost as f64 / limit as f64;
    let factor = if factor > 100.0 {
        "more than 100x".to_owned()
    } else if factor < 1.5 {
        format!("{factor:.6}x")
    } else {
        format!("{factor:.1}x")
    };
    format!(
        "{what} exceeds budget by factor of {factor} (try simplifying the rule, or adding \
         maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)"
    )
}

/// How many values there may be in one of a schema, if anything limits them.
fn contained(schema: &Schema) -> Option<u64> {
    let limit = |limit: Option<i64>| limit.map(|limit| u64::try_from(limit).unwrap_or(0));
    match schema.kind.as_str() {
        "object" if schema.additional.is_some() => limit(schema.max_properties),
        "array" => limit(schema.max_items),
        _ => Some(1),
    }
}

fn walk(schema: &Schema, path: &str, place: &Place, found: &mut Found) {
    let before = found.fields.len();
    let below = |inner: &Schema| Place {
        typed: place.typed.map(|_| inner.embedded),
        uncorrelated: place.uncorrelated,
        count: match (place.count, contained(schema)) {
            (Some(count), Some(contained)) => Some(count.saturating_mul(contained)),
            _ => None,
        },
    };
    if let Some(additional) = schema.additional.as_deref() {
        let path = format!("{path}.additionalProperties");
        walk(additional, &path, &below(additional), found);
    }
    for (name, property) in schema.properties.iter().flatten() {
        let path = format!("{path}.properties[{name}]");
        walk(property, &path, &below(property), found);
    }
    for (index, nested) in schema.all_of.iter().enumerate() {
        let place = Place { typed: None, ..*place };
        walk(nested, &format!("{path}.allOf[{index}]"), &place, found);
    }
    if let Some(items) = schema.items.as_deref() {
        let inner = format!("{path}.items");
        let correlated = schema.list_type == ListType::Map;
        let uncorrelated = place.uncorrelated.or((!correlated).then_some(path));
        walk(items, &inner, &Place { uncorrelated, ..below(items) }, found);
    }
    for (index, rule) in schema.rules.iter().enumerate() {
        let path = format!("{path}.x-kubernetes-validations[{index}]");
        fields(rule, schema, &path, &mut found.fields);
    }
    let Some(root) = place.typed else { return };
    if schema.rules.is_empty() || found.fields.len() > before {
        return;
    }
    let declared = declare::declare(schema, root, super::SELF_TYPE);
    let (Some(declared), Some(sizes)) = (declared, Sizes::of(schema, root)) else {
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
    // Where nothing limits how many values there are, the size of a request does.
    let requested = REQUEST / (sizes.least + 1);
    let count = place.count.unwrap_or_else(|| u64::try_from(requested).unwrap_or(0));
    for (index, rule) in schema.rules.iter().enumerate() {
        let path = format!("{path}.x-kubernetes-validations[{index}]");
        let compiled = compile(rule, &declared, schema, Some(&sizes));
        expressions(rule, &compiled, &path, (place.uncorrelated, count), found);
    }
}

/// What is wrong with the expressions of a rule, of which there may be `count` values.
fn expressions(
    rule: &Rule,
    compiled: &Compiled,
    path: &str,
    (uncorrelated, count): (Option<&str>, u64),
    found: &mut Found,
) {
    let at = |field: &str| format!("{path}.{field}");
    let cost = compiled.most.saturating_mul(count);
    if cost > RULE_LIMIT {
        let detail = too_expensive("estimated rule cost", cost, RULE_LIMIT);
        found.expressions.push(forbidden(at("rule"), detail));
    }
    found.costs.push((at("rule"), cost));
    let invalid = |field: &str, value: String, detail: &str| Refusal {
        path: at(field),
        kind: "Invalid value",
        value,
        detail: detail.to_owned(),
    };
    if let Err(error) = &compiled.program {
        found.expressions.push(invalid("rule", shown(rule), error));
    }
    if let Some(error) = &compiled.message_error {
        found.expressions.push(invalid("messageExpression", shown(rule), error));
    } else if compiled.message.is_some() {
        let cost = compiled.message_most;
        if cost > RULE_LIMIT {
            let detail = too_expensive("estimated messageExpression cost", cost, RULE_LIMIT);
            found.expressions.push(forbidden(at("messageExpression"), detail));
        }
        found.costs.push((at("messageExpression"), cost));
    }
    match (compiled.uses_old_self, uncorrelated, rule.optional_old_self) {
        (true, Some(within), _) => {
            let detail = format!(
                "oldSelf cannot be used on the uncorrelatable portion of the schema within {within}"
            );
            found.expressions.push(invalid("rule", quote(&rule.expression), &detail));
        }
        (false, _, Some(value)) => {
            let detail = "may not be set if oldSelf is not used in rule";
            found.expressions.push(invalid("optionalOldSelf", value.to_string(), detail));
        }
        _ => {}
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
