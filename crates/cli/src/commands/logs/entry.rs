//! A line of a controller's log, and the filters of lines.

use serde::Deserialize;

/// The parsed fields of a line; controllers write more.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Entry {
    #[serde(rename = "ts")]
    time: String,
    level: String,
    #[serde(rename = "msg")]
    message: String,
    error: String,
    #[serde(rename = "reconciler kind")]
    kind: String,
    #[serde(rename = "controllerKind")]
    controller_kind: String,
    name: String,
    namespace: String,
}

impl Entry {
    /// The line for people.
    pub(super) fn line(&self) -> String {
        let Self { time, level, message, error, name, namespace, .. } = self;
        let kind = if self.kind.is_empty() { &self.controller_kind } else { &self.kind };
        let object = if name.is_empty() { String::new() } else { format!("/{name}.{namespace}") };
        format!("{time} {level} {kind}{object} - {message} {error}\n")
    }
}

/// The filters; absent ones match everything.
#[derive(Debug, Default)]
pub(super) struct Filter {
    pub(super) level: Option<String>,
    pub(super) kind: Option<String>,
    pub(super) name: Option<String>,
    pub(super) namespace: Option<String>,
}

impl Filter {
    /// Whether a line matches.
    pub(super) fn takes(&self, entry: &Entry) -> bool {
        let same = |wanted: &Option<String>, text: &str| {
            wanted.as_deref().is_none_or(|wanted| wanted.eq_ignore_ascii_case(text))
        };
        self.level.as_deref().is_none_or(|level| level == entry.level)
            && (same(&self.kind, &entry.kind) || same(&self.kind, &entry.controller_kind))
            && same(&self.name, &entry.name)
            && same(&self.namespace, &entry.namespace)
    }
}

#[cfg(test)]
mod tests {
    use super::{Entry, Filter};

    const LINE: &str = r#"{"level":"info","ts":"2026-08-19T12:00:00.000Z","msg":"done","controller":"kustomization","controllerKind":"Kustomization","Kustomization":{"name":"web","namespace":"apps"},"namespace":"apps","name":"web","reconcileID":"1"}"#;

    #[test]
    fn a_line_names_the_object() {
        let entry: Entry = serde_json::from_str(LINE).expect("it is JSON");
        assert_eq!(entry.line(), "2026-08-19T12:00:00.000Z info Kustomization/web.apps - done \n");
    }

    #[test]
    fn filters_mind_no_case_but_for_levels() {
        let entry: Entry = serde_json::from_str(LINE).expect("it is JSON");
        let some = |text: &str| Some(text.to_owned());
        assert!(Filter::default().takes(&entry));
        assert!(Filter { kind: some("kustomization"), ..Filter::default() }.takes(&entry));
        assert!(Filter { namespace: some("APPS"), ..Filter::default() }.takes(&entry));
        assert!(!Filter { level: some("error"), ..Filter::default() }.takes(&entry));
        assert!(!Filter { name: some("api"), ..Filter::default() }.takes(&entry));
    }
}
