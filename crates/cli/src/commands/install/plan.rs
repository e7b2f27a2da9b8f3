//! The plan of an installation, with the labels of all its objects.

use clap::ValueEnum;
use serde_json::{Map, Value, json};
use sluice_controllers::table::Controller;

use crate::outcome::Failure;

/// The version of Flux that these manifests replace; `flux check` shows it.
pub(crate) const VERSION: &str = "v2.9.5";
/// The label of all objects of an installation.
pub(crate) const PART_OF: &str = "app.kubernetes.io/part-of";

/// The layout of the controllers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Profile {
    /// One Deployment that fetches, without rights on the cluster, and one that applies.
    Split,
    /// One Deployment for everything.
    Single,
}

/// Flux's controllers that this program does not have yet, with the groups of their kinds, and the kind if others of the
/// group belong to another controller.
pub(super) const ELSEWHERE: [(&str, &str, Option<&str>); 4] = [
    ("helm-controller", "helm.toolkit.fluxcd.io", None),
    ("notification-controller", "notification.toolkit.fluxcd.io", None),
    ("image-automation-controller", "image.toolkit.fluxcd.io", Some("ImageUpdateAutomation")),
    ("image-reflector-controller", "image.toolkit.fluxcd.io", None),
];

/// What is to be installed.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    pub(crate) namespace: String,
    pub(crate) profile: Profile,
    pub(crate) image: String,
    pub(crate) controllers: Vec<Controller>,
    pub(crate) network_policy: bool,
    pub(crate) watch_all_namespaces: bool,
    /// Whether Kustomizations only impersonate service accounts of their namespace.
    pub(crate) lockdown: bool,
    /// Whether objects may name service accounts for workload identity.
    pub(crate) workload_identity: bool,
    pub(crate) log_level: &'static str,
    pub(crate) toleration_keys: Vec<String>,
    pub(crate) cluster_domain: String,
    pub(crate) image_pull_secret: Option<String>,
    pub(crate) events_addr: String,
}

/// The image of this version. It is not published: it exists where it was built or loaded, and `--image` names another
/// one.
pub(crate) fn default_image() -> String {
    format!("sluice:v{}", env!("CARGO_PKG_VERSION"))
}

/// The controllers of these names, in Flux's order, each once.
pub(crate) fn controllers<'a>(
    names: impl Iterator<Item = &'a String>,
) -> Result<Vec<Controller>, Failure> {
    let mut found = Vec::new();
    for name in names {
        match Controller::find(name) {
            Some(controller) => found.push(controller),
            None if ELSEWHERE.iter().any(|(known, ..)| known == name) => {
                return Err(Failure::flux(format!("component {name} is not available"))
                    .hint("upstream's can run beside: its own manifests, in the same namespace"));
            }
            None => {
                let known: Vec<&str> = Controller::ALL.iter().map(|known| known.name()).collect();
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

/// A Deployment: its name and its components.
pub(crate) struct Unit<'a> {
    pub(crate) name: &'static str,
    pub(crate) controllers: &'a [Controller],
}

/// A Deployment is named after the first controller that runs in it.
fn name(controllers: &[Controller]) -> &'static str {
    controllers.first().map_or("sluice", |controller| controller.name())
}

impl Unit<'_> {
    /// Whether it makes artifacts.
    pub(crate) fn fetches(&self) -> bool {
        self.controllers.iter().any(|controller| controller.makes_artifacts())
    }

    /// Whether it applies objects.
    pub(crate) fn applies(&self) -> bool {
        self.controllers.iter().any(|controller| controller.applies())
    }
}

impl Plan {
    /// The Deployments.
    pub(crate) fn units(&self) -> Vec<Unit<'_>> {
        let unit = |controllers| Unit { name: name(controllers), controllers };
        match self.profile {
            Profile::Single => vec![Unit { name: "sluice", controllers: &self.controllers }],
            // What makes artifacts shares a store; they are in order, so it comes first.
            Profile::Split => {
                self.controllers.chunk_by(|_, next| !next.applies()).map(unit).collect()
            }
        }
    }

    /// Whether artifacts are composed.
    pub(crate) fn watches_sources(&self) -> bool {
        self.controllers.contains(&Controller::Watcher)
    }

    /// The name of a cluster-scoped object, unique for each installation.
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
