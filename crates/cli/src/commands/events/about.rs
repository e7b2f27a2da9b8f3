//! `--for`: a kind or an object, with its sources.

use serde_json::Value;

use crate::kinds::{self, Kind};
use crate::outcome::Failure;
use crate::session::Session;

/// The object or kind of `--for`.
pub(super) struct About {
    kind: &'static Kind,
    name: Option<String>,
}

/// An object with events that are printed as well.
pub(super) struct Source {
    kind: String,
    name: String,
    pub(super) namespace: String,
}

impl Source {
    /// The field selector of its events.
    pub(super) fn fields(&self) -> String {
        format!("involvedObject.kind={},involvedObject.name={}", self.kind, self.name)
    }
}

/// Whether Flux prints the events of a kind: all but those of external artifacts.
pub(super) fn has_events(kind: &Kind) -> bool {
    kind.name() != "ExternalArtifact"
}

impl About {
    /// Parses `kind` or `kind/name`.
    pub(super) fn parse(text: &str) -> Result<Self, Failure> {
        let (word, name) = match text.split_once('/') {
            Some(("", name)) if !name.contains('/') => (name, None),
            Some((kind, name)) if !name.contains('/') => (kind, Some(name.to_owned())),
            _ => (text, None),
        };
        if word.is_empty() {
            return Err(Failure::flux("--for selector must be of format <kind>[/<name>]"));
        }
        let kind = kinds::worded(word).filter(|kind| has_events(kind));
        let kind = kind.ok_or_else(|| {
            Failure::flux(format!("'{word}' is not a recognized Flux kind"))
                .hint("write the kind before the name, as Kustomization/NAME or ks/NAME")
        })?;
        Ok(Self { kind, name: name.filter(|name| !name.is_empty()) })
    }

    /// The field selector of its events.
    pub(super) fn fields(&self) -> String {
        let kind = self.kind.name();
        match &self.name {
            Some(name) => format!("involvedObject.kind={kind},involvedObject.name={name}"),
            None => format!("involvedObject.kind={kind}"),
        }
    }

    /// The sources of the object.
    pub(super) async fn sources(&self, session: &Session) -> Result<Vec<Source>, Failure> {
        let Some(name) = &self.name else { return Ok(Vec::new()) };
        let (path, fixed, elsewhere) = match self.kind.name() {
            "Kustomization" | "HelmChart" => ("spec.sourceRef", None, true),
            "HelmRelease" => ("spec.chart.spec.sourceRef", None, true),
            "Alert" => ("spec.providerRef", Some("Provider"), false),
            "ImagePolicy" => ("spec.imageRepositoryRef", Some("ImageRepository"), true),
            _ => return Ok(Vec::new()),
        };
        let own = &session.namespace;
        let object = session.get(self.kind, own, name).await?;
        let text = |field: &str| {
            let path = format!("/{}/{field}", path.replace('.', "/"));
            object.pointer(&path).and_then(Value::as_str).map(str::to_owned)
        };
        let required = |field: &str| {
            text(field).ok_or_else(|| {
                Failure::flux(format!("field '{path}.{field}' for '{own}/{name}' not found"))
            })
        };
        let kind = match fixed {
            Some(kind) => kind.to_owned(),
            None => required("kind")?,
        };
        let source = required("name")?;
        let namespace = text("namespace").filter(|_| elsewhere).unwrap_or_else(|| own.clone());
        let mut sources = vec![Source { kind, name: source, namespace: namespace.clone() }];
        if self.kind.name() == "HelmRelease" {
            let chart = format!("{own}-{name}");
            sources.push(Source { kind: "HelmChart".to_owned(), name: chart, namespace });
        }
        Ok(sources)
    }
}
