//! `--status-selector` and `--label-selector`.

use serde_json::Value;

use crate::kinds::{Kind, Readiness, text_at};
use crate::outcome::Failure;

/// A condition that objects must have, or must not have.
#[derive(Debug)]
pub(super) struct StatusSelector<'t> {
    condition: &'t str,
    status: &'t str,
    wanted: bool,
}

impl<'t> StatusSelector<'t> {
    /// Parses `type=status` or `type!=status`.
    pub(super) fn parse(text: &'t str) -> Result<Self, Failure> {
        let parts = match text.split_once("!=") {
            Some((condition, status)) => Some((condition, status, false)),
            None => text.split_once('=').map(|(condition, status)| (condition, status, true)),
        };
        let (condition, status, wanted) = parts.ok_or_else(|| {
            Failure::flux(format!(
                "expected status selector in type=status or type!=status format, but found: {text}"
            ))
        })?;
        Ok(Self { condition, status, wanted })
    }

    /// Whether an object matches. Case is ignored, and the last condition of a type counts.
    pub(super) fn matches(&self, kind: &Kind, object: &Value) -> bool {
        let has = match kind.readiness {
            Readiness::Always(_) => {
                self.condition.eq_ignore_ascii_case("ready")
                    && self.status.eq_ignore_ascii_case("true")
            }
            Readiness::Conditions | Readiness::UnlessRegistry(_) => {
                let all = object.pointer("/status/conditions").and_then(Value::as_array);
                all.into_iter()
                    .flatten()
                    .rfind(|one| text_at(one, "/type").eq_ignore_ascii_case(self.condition))
                    .is_some_and(|one| text_at(one, "/status").eq_ignore_ascii_case(self.status))
            }
        };
        has == self.wanted
    }
}

/// Fails for invalid label selectors, before the API server does.
pub(super) fn check_labels(text: &str) -> Result<(), String> {
    let mut depth = 0_u32;
    for part in text.split(|c| match c {
        '(' => {
            depth += 1;
            false
        }
        ')' => {
            depth = depth.saturating_sub(1);
            false
        }
        ',' => depth == 0,
        _ => false,
    }) {
        let value = part.split_once('=').map(|(_, value)| value.trim_start_matches('='));
        if value.is_some_and(|value| value.contains('=')) {
            return Err(format!(
                "unable to parse label selector: couldn't parse the selector string {text:?}: \
                 found '=', expected: ',' or 'end of string'"
            ));
        }
    }
    Ok(())
}
