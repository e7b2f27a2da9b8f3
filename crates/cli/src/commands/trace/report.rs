//! The lines of a trace. Their widths are Flux's, down to those that do not line up.

use std::fmt::Write as _;

use serde_json::Value;

use crate::kinds::{condition, text_at};
use crate::moment;

/// Sections of lines, each a label padded to a width and a value.
pub(super) struct Report {
    text: String,
    width: usize,
}

impl Report {
    /// Begins with the object itself.
    pub(super) fn about(object: &Value, width: usize) -> Self {
        let mut report = Self { text: "\n".to_owned(), width };
        let name = text_at(object, "/metadata/name");
        report.line("Object", &format!("{}/{name}", text_at(object, "/kind")));
        report.line_if("Namespace", text_at(object, "/metadata/namespace"));
        report.line("Status", "Managed by Flux");
        report
    }

    /// Begins a section about an object.
    pub(super) fn section(&mut self, kind: &str, object: &Value) {
        self.text.push_str("---\n");
        self.line(kind, text_at(object, "/metadata/name"));
        self.line("Namespace", text_at(object, "/metadata/namespace"));
    }

    /// One line.
    pub(super) fn line(&mut self, label: &str, value: &str) {
        let width = self.width;
        let label = format!("{label}:");
        let _ = writeln!(self.text, "{label:<width$}{value}");
    }

    /// One line, if the value is not empty.
    pub(super) fn line_if(&mut self, label: &str, value: &str) {
        if !value.is_empty() {
            self.line(label, value);
        }
    }

    /// The revision of an object's artifact, if it has one.
    pub(super) fn revision(&mut self, object: &Value) {
        if let Some(artifact) = object.pointer("/status/artifact") {
            self.line("Revision", text_at(artifact, "/revision"));
        }
    }

    /// The last reconciliation of the object.
    pub(super) fn reconciled(&mut self, ready: Option<&Value>) {
        self.state(ready, false);
    }

    /// The same, with another text for failures.
    fn state(&mut self, ready: Option<&Value>, tells_failure: bool) {
        let Some(ready) = ready else { return self.line("Status", "Unknown") };
        let ended = if tells_failure && text_at(ready, "/status") == "False" {
            "Last reconciliation failed at"
        } else {
            "Last reconciled at"
        };
        let moment = moment::spelled(text_at(ready, "/lastTransitionTime"));
        self.line("Status", &format!("{ended} {moment}"));
        self.line("Message", text_at(ready, "/message"));
    }

    /// The whole text.
    pub(super) fn finish(self) -> String {
        self.text
    }
}

/// The section about a source.
pub(super) fn source_report(report: &mut Report, source: &Value, of_kustomization: bool) {
    let kind = text_at(source, "/kind");
    report.width = match kind {
        "GitRepository" if !of_kustomization => 15,
        "OCIRepository" | "ExternalArtifact" => 17,
        _ => report.width,
    };
    report.section(kind, source);
    if kind == "ExternalArtifact" {
        let part = |path| text_at(source, path);
        let (kind, namespace, name) = (
            part("/spec/sourceRef/kind"),
            part("/spec/sourceRef/namespace"),
            part("/spec/sourceRef/name"),
        );
        report.line("Source", &format!("{kind}/{namespace}/{name}"));
    } else {
        report.line("URL", text_at(source, "/spec/url"));
    }
    let third = match kind {
        "GitRepository" => Some(("Branch", "branch")),
        "OCIRepository" => Some(("Digest", "digest")),
        _ => None,
    };
    if let Some(third) = third {
        let given =
            [("Tag", "tag"), ("Tag", "semver"), third].into_iter().find_map(|(label, field)| {
                let value = text_at(source.pointer("/spec/ref")?, &format!("/{field}"));
                (!value.is_empty()).then_some((label, value))
            });
        if let Some((label, value)) = given {
            report.line(label, value);
        }
    }
    report.revision(source);
    if of_kustomization && kind != "GitRepository" {
        origin(report, source);
    }
    report.state(condition(source, "Ready"), kind != "HelmRepository");
}

/// The origin in an artifact's annotations. A missing one leaves an empty line, if there are annotations at
/// all.
fn origin(report: &mut Report, source: &Value) {
    let Some(metadata) = source.pointer("/status/artifact/metadata").and_then(Value::as_object)
    else {
        return;
    };
    if metadata.is_empty() {
        return;
    }
    for (label, name) in [
        ("Origin Revision: ", "org.opencontainers.image.revision"),
        ("Origin Source:   ", "org.opencontainers.image.source"),
    ] {
        match metadata.get(name).and_then(Value::as_str) {
            Some(value) if !value.is_empty() => {
                let _ = writeln!(report.text, "{label}{value}");
            }
            _ => report.text.push('\n'),
        }
    }
}
