//! The plan of an installation, with the labels of all its objects.

use clap::ValueEnum;
use serde_json::{Map, Value, json};

use crate::outcome::Failure;

/// The version of Flux that these manifests replace; `flux check` shows it.
pub(crate) const VERSION: &str = "v2.9.5";
/// The label of everything that belongs to an installation.
pub(crate) const PART_OF: &str = "app.kubernetes.io/part-of";

/// The layout of the controllers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Profile {
    /// One Deployment that fetches, without rights on the cluster, and one that applies.
    Split,
    /// One Deployment for everything.
    Single,
}

/// A controller that this program can be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Component {
    Source,
    Watcher,
    Kustomize,
}

/// Flux's controllers that this program is not yet.
const ELSEWHERE: [&str; 4] = [
    "helm-controller",
    "notification-controller",
    "image-reflector-controller",
    "image-automation-controller",
];

impl Component {
    pub(crate) const ALL: [Self; 3] = [Self::Source, Self::Watcher, Self::Kustomize];

    /// Flux's name.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Source => "source-controller",
            Self::Watcher => "source-watcher",
            Self::Kustomize => "kustomize-controller",
        }
    }
}

/// What is to be installed.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    pub(crate) namespace: String,
    pub(crate) profile: Profile,
    pub(crate) image: String,
    pub(crate) components: Vec<Component>,
    pub(crate) network_policy: bool,
    pub(crate) watch_all_namespaces: bool,
    /// Whether Kustomizations only ever act as accounts of their namespace.
    pub(crate) lockdown: bool,
    /// Whether objects may name service accounts for workload identity.
    pub(crate) workload_identity: bool,
    pub(crate) log_level: &'static str,
    pub(crate) toleration_keys: Vec<String>,
    pub(crate) cluster_domain: String,
    pub(crate) image_pull_secret: Option<String>,
    pub(crate) events_addr: String,
}

/// The image of this very version. Nothing is published under this name: it is there where it was
/// built or loaded, and `--image` names it elsewhere.
pub(crate) fn default_image() -> String {
    format!("sluice:v{}", env!("CARGO_PKG_VERSION"))
}

/// The components that are meant, in Flux's order, each once.
pub(crate) fn components<'a>(
    names: impl Iterator<Item = &'a String>,
) -> Result<Vec<Component>, Failure> {
    let mut found = Vec::new();
    for name in names {
        let component = Component::ALL.into_iter().find(|component| component.name() == name);
        match component {
            Some(component) => found.push(component),
            None if ELSEWHERE.contains(&name.as_str()) => {
                return Err(Failure::flux(format!("component {name} is not available"))
                    .hint("upstream's can run beside: its own manifests, in the same namespace"));
            }
            None => {
                let known: Vec<&str> = Component::ALL.iter().map(|known| known.name()).collect();
                return Err(Failure::flux(format!("component {name} is not available"))
                    .hint(format!("choose among {}", known.join(", "))));
            }
        }
    }
    if found.is_empty() {
        return Err(Failure::flux("no component is to be installed"));
    }
    found.sort();
    found.dedup();
    Ok(found)
}

/// A Deployment of the installation: its name and what runs in it.
pub(crate) struct Unit<'a> {
    pub(crate) name: &'static str,
    pub(crate) components: &'a [Component],
}

/// A Deployment is named after the first that runs in it.
fn name(components: &[Component]) -> &'static str {
    components.first().map_or("sluice", |component| component.name())
}

impl Unit<'_> {
    /// Whether artifacts are made here.
    pub(crate) fn fetches(&self) -> bool {
        !self.applies() || self.components.len() > 1
    }

    /// Whether objects are applied from here.
    pub(crate) fn applies(&self) -> bool {
        self.components.contains(&Component::Kustomize)
    }
}

impl Plan {
    /// The Deployments.
    pub(crate) fn units(&self) -> Vec<Unit<'_>> {
        let unit = |components| Unit { name: name(components), components };
        match self.profile {
            Profile::Single => vec![Unit { name: "sluice", components: &self.components }],
            // What makes artifacts shares a store; they are in order, so it comes first.
            Profile::Split => self
                .components
                .chunk_by(|_, next| *next != Component::Kustomize)
                .map(unit)
                .collect(),
        }
    }

    /// Whether artifacts are made of parts of others.
    pub(crate) fn watches_sources(&self) -> bool {
        self.components.contains(&Component::Watcher)
    }

    /// The name of an object that there may be one of for each installation.
    pub(crate) fn suffixed(&self, name: &str) -> String {
        format!("{name}-{}", self.namespace)
    }

    /// The labels of all objects.
    pub(crate) fn labels(&self) -> Map<String, Value> {
        let labels = json!({
            "app.kubernetes.io/instance": self.namespace,
            PART_OF: "flux",
            "app.kubernetes.io/version": VERSION,
        });
        labels.as_object().cloned().unwrap_or_default()
    }

    /// Labels of all objects, and more.
    pub(crate) fn labels_and(&self, more: &[(&str, &str)]) -> Value {
        let mut labels = self.labels();
        for (name, value) in more {
            labels.insert((*name).to_owned(), (*value).into());
        }
        Value::Object(labels)
    }
}
