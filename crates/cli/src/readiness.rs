//! Whether an object is ready, as in Flux's client.

use serde_json::Value;
use sluice_kstatus::Status;

use crate::kinds::{Kind, condition};
use crate::outcome::Failure;
use crate::session::{Session, now};

/// Checks an object: returns it once it is ready; `None` while it is in progress.
pub(crate) async fn look(
    session: &Session,
    kind: &Kind,
    name: &str,
) -> Result<Option<Value>, Failure> {
    let object = session.get(kind, &session.namespace, name).await?;
    if !kind.is_static(&object) && !is_observed(&object) {
        return Ok(None);
    }
    Ok(settled(&object)?.then_some(object))
}

/// Whether the Ready condition is about the current generation.
fn is_observed(object: &Value) -> bool {
    let number = |value: &Value, path: &str| value.pointer(path).and_then(Value::as_i64);
    let generation = number(object, "/metadata/generation").unwrap_or_default();
    let observed = number(object, "/status/observedGeneration").unwrap_or_default();
    let Some(ready) = condition(object, "Ready").filter(|_| observed >= 1) else { return false };
    match number(ready, "/observedGeneration").unwrap_or_default() {
        0 => observed == generation,
        of_condition => of_condition == generation,
    }
}

/// Whether the object is current in kstatus; a failure unless it is in progress.
pub(crate) fn settled(object: &Value) -> Result<bool, Failure> {
    let assessment =
        sluice_kstatus::assess(object, now()).map_err(|error| Failure::flux(error.to_string()))?;
    match assessment.status {
        Status::Current => Ok(true),
        Status::InProgress => Ok(false),
        _ => Err(Failure::flux(assessment.message)),
    }
}
