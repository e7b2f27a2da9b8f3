//! Compares an answer with the recorded one, part by part.

use serde_json::Value;

use crate::golden::Answer;

/// One place where two answers differ.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// `status`, `header NAME`, `masked RULE`, or a path into the body or the events.
    pub place: String,
    /// What the real server says there; `None` when it says nothing.
    pub real: Option<Value>,
    /// What the other one says there.
    pub ours: Option<Value>,
}

/// Every place where `ours` differs from `real`.
pub fn compare(real: &Answer, ours: &Answer) -> Vec<Difference> {
    let mut differences = Vec::new();
    let mut put = |place: String, real: Option<Value>, ours: Option<Value>| {
        if real != ours {
            differences.push(Difference { place, real, ours });
        }
    };
    put("status".to_owned(), Some(real.status.into()), Some(ours.status.into()));
    for name in
        real.headers.keys().chain(ours.headers.keys().filter(|n| !real.headers.contains_key(*n)))
    {
        let value =
            |answer: &Answer| answer.headers.get(name).map(|values| Value::from(values.clone()));
        put(format!("header {name}"), value(real), value(ours));
    }
    put("indented".to_owned(), Some(real.indented.into()), Some(ours.indented.into()));
    let fields = |answer: &Answer| Some(Value::from(answer.unsorted_fields.clone()));
    put("fieldsV1 text".to_owned(), fields(real), fields(ours));
    descend("body", real.body.as_ref(), ours.body.as_ref(), &mut differences);
    descend("text", real.text.as_ref(), ours.text.as_ref(), &mut differences);
    let events = |answer: &Answer| answer.events.clone().map(Value::Array);
    descend("events", events(real).as_ref(), events(ours).as_ref(), &mut differences);
    if differences.is_empty() && real.masked != ours.masked {
        let counts = |answer: &Answer| serde_json::to_value(&answer.masked).ok();
        differences.push(Difference {
            place: "masked".to_owned(),
            real: counts(real),
            ours: counts(ours),
        });
    }
    differences
}

fn descend(place: &str, real: Option<&Value>, ours: Option<&Value>, out: &mut Vec<Difference>) {
    match (real, ours) {
        (Some(Value::Object(one)), Some(Value::Object(other))) => {
            for key in one.keys().chain(other.keys().filter(|key| !one.contains_key(*key))) {
                descend(&format!("{place}/{key}"), one.get(key), other.get(key), out);
            }
        }
        (Some(Value::Array(one)), Some(Value::Array(other))) => {
            for index in 0..one.len().max(other.len()) {
                descend(&format!("{place}/{index}"), one.get(index), other.get(index), out);
            }
        }
        (real, ours) if real != ours => {
            out.push(Difference {
                place: place.to_owned(),
                real: real.cloned(),
                ours: ours.cloned(),
            });
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn status_headers_types_order_and_masks_all_count() {
        let base = Answer { status: 200, body: Some(json!({"a": [1, 2]})), ..Answer::default() };
        assert!(compare(&base, &base).is_empty());
        let place = |other: Answer| compare(&base, &other).first().map(|d| d.place.clone());
        let with = |body: Value| Answer { body: Some(body), ..base.clone() };
        assert_eq!(place(Answer { status: 201, ..base.clone() }).as_deref(), Some("status"));
        assert_eq!(place(with(json!({"a": [1.0, 2]}))).as_deref(), Some("body/a/0"));
        assert_eq!(place(with(json!({"a": [2, 1]}))).as_deref(), Some("body/a/0"));
        assert_eq!(place(with(json!({"a": [1, 2], "b": null}))).as_deref(), Some("body/b"));
        let warned = Answer {
            headers: [("warning".to_owned(), vec!["w".to_owned()])].into(),
            ..base.clone()
        };
        assert_eq!(place(warned).as_deref(), Some("header warning"));
        let masked = Answer { masked: [("uid".to_owned(), 1)].into(), ..base.clone() };
        assert_eq!(place(masked).as_deref(), Some("masked"));
    }
}
