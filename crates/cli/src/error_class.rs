//! Class and places of an object's failure: from its newest event, or else from its reason.

use std::collections::BTreeMap;

use kube::api::ListParams;
use kube::discovery::ApiResource;
use serde_json::{Map, Value};
use sluice_api::names::sluice::{CAUSE, ERROR_CLASS, ERROR_CLASSES, PLACE};
use sluice_ssa::ErrorClass;

use crate::kinds::{condition, text_at};
use crate::session::Session;

/// The classes in events, by uid and reason: of the failure, and of each object that failed.
#[derive(Debug, Default)]
pub(crate) struct Classes(BTreeMap<(String, String), Said>);

/// What an event says about a failure.
#[derive(Debug)]
struct Said {
    class: String,
    /// The class of each object that failed.
    each: Value,
    /// Where the objects that failed are written, one in a line.
    places: Option<String>,
    /// What pods and events of the objects that failed say, one in a line.
    causes: Option<String>,
}

impl Classes {
    /// Reads the events of a namespace, or of all, if an object is not ready. Without the right to read them, classes come
    /// from reasons.
    pub(crate) async fn read<'a>(
        session: &Session,
        namespace: Option<&str>,
        objects: impl IntoIterator<Item = &'a Value>,
    ) -> Self {
        if !objects.into_iter().any(|object| reason(object).is_some()) {
            return Self::default();
        }
        let resource = ApiResource::erase::<k8s_openapi::api::core::v1::Event>(&());
        let events = session.list_resource(&resource, namespace, &ListParams::default()).await;
        Self::of_events(events.unwrap_or_default())
    }

    fn of_events(mut events: Vec<Value>) -> Self {
        let key = |event: &Value| {
            let annotations = event.pointer("/metadata/annotations").and_then(Value::as_object);
            let class = annotations?.get(ERROR_CLASS)?.as_str()?.to_owned();
            let each = annotations?.get(ERROR_CLASSES).and_then(Value::as_str);
            let each = each.and_then(|each| serde_json::from_str(each).ok()).unwrap_or_default();
            let text = |name: &str| Some(annotations?.get(name)?.as_str()?.to_owned());
            let (places, causes) = (text(PLACE), text(CAUSE));
            let uid = text_at(event, "/involvedObject/uid").to_owned();
            let said = Said { class, each, places, causes };
            Some(((uid, text_at(event, "/reason").to_owned()), said))
        };
        // The newest comes last, and wins.
        events.sort_by_cached_key(|event| text_at(event, "/lastTimestamp").to_owned());
        Self(events.iter().filter_map(key).collect())
    }

    /// The class of an object's failure; `None` if it is ready or the class is not known.
    pub(crate) fn of(&self, object: &Value) -> Option<&str> {
        let said = self.said_of(object).map(|said| said.class.as_str());
        said.or_else(|| ErrorClass::of_reason(reason(object)?).map(ErrorClass::as_str))
    }

    /// The objects that failed, each with its class; empty if not known.
    pub(crate) fn each(&self, object: &Value) -> Value {
        self.said_of(object).map(|said| said.each.clone()).unwrap_or_default()
    }

    /// Where the objects that failed are written, one in a line.
    pub(crate) fn places(&self, object: &Value) -> Option<&str> {
        self.said_of(object)?.places.as_deref()
    }

    /// What pods and events of the objects that failed say, one in a line.
    pub(crate) fn causes(&self, object: &Value) -> Option<&str> {
        self.said_of(object)?.causes.as_deref()
    }

    fn said_of(&self, object: &Value) -> Option<&Said> {
        let reason = reason(object)?.to_owned();
        self.0.get(&(text_at(object, "/metadata/uid").to_owned(), reason))
    }

    /// The number of failing objects of each class.
    pub(crate) fn count(&self, objects: &[Value]) -> Map<String, Value> {
        let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
        for class in objects.iter().filter_map(|object| self.of(object)) {
            *counts.entry(class).or_default() += 1;
        }
        counts.into_iter().map(|(class, count)| (class.to_owned(), count.into())).collect()
    }
}

/// Why an object is not ready.
fn reason(object: &Value) -> Option<&str> {
    let ready = condition(object, "Ready").filter(|it| text_at(it, "/status") == "False")?;
    Some(text_at(ready, "/reason"))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::Classes;

    fn event(at: &str, reason: &str, class: &str) -> Value {
        json!({
            "involvedObject": {"uid": "1"}, "reason": reason, "lastTimestamp": at,
            "metadata": {"annotations": {"sluice.dev/error-class": class}},
        })
    }

    fn object(status: &str, reason: &str) -> Value {
        let ready = json!({"type": "Ready", "status": status, "reason": reason});
        json!({"metadata": {"uid": "1"}, "status": {"conditions": [ready]}})
    }

    #[test]
    fn the_newest_event_decides_and_else_the_reason() {
        let classes = Classes::of_events(vec![
            event("2026-01-01T00:00:02Z", "ReconciliationFailed", "quota"),
            event("2026-01-01T00:00:01Z", "ReconciliationFailed", "rbac"),
            json!({"involvedObject": {"uid": "1"}, "reason": "PruneFailed"}),
        ]);
        let failing = object("False", "ReconciliationFailed");
        assert_eq!(classes.of(&failing), Some("quota"));
        assert_eq!(classes.of(&object("True", "ReconciliationFailed")), None);
        assert_eq!(classes.of(&object("False", "PruneFailed")), None);
        assert_eq!(classes.of(&object("False", "BuildFailed")), Some("desired-state"));
        let counted = classes.count(&[failing, object("False", "DependencyNotReady")]);
        assert_eq!(Value::from(counted), json!({"dependency": 1, "quota": 1}));
        let mut several = event("2026-01-01T00:00:03Z", "ReconciliationFailed", "rbac");
        let each = json!([{"class": "rbac", "object": "ConfigMap/a"}, {"class": "quota", "object": "Pod/b"}]);
        several["metadata"]["annotations"]["sluice.dev/error-classes"] = each.to_string().into();
        let failing = object("False", "ReconciliationFailed");
        assert_eq!(Classes::of_events(vec![several]).each(&failing), each);
        assert_eq!(classes.each(&failing), Value::Null);
    }
}
