//! What is written down about a suspension: one annotation, as JSON.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sluice_api::names::sluice::SUSPENDED_BY;

use crate::kinds::text_at;
use crate::session::Session;

/// The user that suspended an object, with time and reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Record {
    pub(crate) by: String,
    pub(crate) at: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) until: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) ticket: Option<String>,
}

impl Record {
    /// The record on an object, if it is readable.
    pub(crate) fn of(object: &Value) -> Option<Self> {
        let annotation = object.pointer("/metadata/annotations")?.get(SUSPENDED_BY)?.as_str()?;
        serde_json::from_str(annotation).ok()
    }

    /// The annotation's value.
    pub(super) fn write(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// The text for people; `age` is the time since.
    pub(crate) fn summary(&self, age: String) -> String {
        let mut text = age;
        text.push_str(" by ");
        text.push_str(&self.by);
        if let Some(reason) = &self.reason {
            text.push_str(": ");
            text.push_str(reason);
        }
        for (before, part) in [(" (", &self.ticket), (" until ", &self.until)] {
            let Some(part) = part else { continue };
            text.push_str(before);
            text.push_str(part);
            if before == " (" {
                text.push(')');
            }
        }
        text
    }
}

/// The user that the API server authenticates us as; the local user if it does not say.
pub(super) async fn who(session: &Session) -> String {
    let review = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"});
    let request = http::Request::post("/apis/authentication.k8s.io/v1/selfsubjectreviews")
        .header(http::header::CONTENT_TYPE, "application/json")
        .body(review.to_string().into_bytes());
    if let Ok(request) = request
        && let Ok(answer) = session.client.request::<Value>(request).await
    {
        let name = text_at(&answer, "/status/userInfo/username");
        if !name.is_empty() {
            return name.to_owned();
        }
    }
    std::env::var("USER").unwrap_or_else(|_| "unknown".to_owned())
}

#[cfg(test)]
mod tests {
    use super::Record;

    #[test]
    fn a_record_is_read_as_it_was_written() {
        let record = Record {
            by: "alice".to_owned(),
            at: "2026-08-19T12:00:00Z".to_owned(),
            reason: Some("incident".to_owned()),
            until: None,
            ticket: Some("OPS-7".to_owned()),
        };
        let object = serde_json::json!({
            "metadata": {"annotations": {"sluice.dev/suspended-by": record.write()}},
        });
        assert_eq!(Record::of(&object), Some(record.clone()));
        assert_eq!(record.summary("3d".to_owned()), "3d by alice: incident (OPS-7)");
    }

    #[test]
    fn what_others_wrote_there_is_not_a_record() {
        let object = serde_json::json!({
            "metadata": {"annotations": {"sluice.dev/suspended-by": "somebody"}},
        });
        assert_eq!(Record::of(&object), None);
    }
}
