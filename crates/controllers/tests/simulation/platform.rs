//! What the repository holds: objects in parts, one part for each Kustomization. It is what commits are written
//! from, and what the cluster is compared with.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use sluice_source::tree::SourceTree;

/// The namespace of everything that is applied.
pub(crate) const NAMESPACE: &str = "shop";
/// The annotation that tells versions of an object apart.
pub(crate) const VALUE: &str = "sim.test/value";

/// An object's kind and name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Thing {
    pub(crate) kind: &'static str,
    pub(crate) name: String,
}

/// The kinds of things, with their groups and versions.
pub(crate) const KINDS: [(&str, &str, &str); 5] = [
    ("ConfigMap", "", "v1"),
    ("Secret", "", "v1"),
    ("ServiceAccount", "", "v1"),
    ("Service", "", "v1"),
    ("Deployment", "apps", "v1"),
];

impl Thing {
    pub(crate) fn new(kind: &str, name: &str) -> Self {
        let known = KINDS.iter().find(|(known, ..)| *known == kind).unwrap();
        Self { kind: known.0, name: name.to_owned() }
    }

    /// The object, with a value to tell its versions apart.
    pub(crate) fn object(&self, value: u64) -> Value {
        let (kind, group, version) = KINDS.into_iter().find(|it| it.0 == self.kind).unwrap();
        let api_version =
            if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") };
        let mut object = json!({
            "apiVersion": api_version, "kind": kind,
            "metadata": {
                "name": self.name, "namespace": NAMESPACE,
                "annotations": {VALUE: value.to_string()},
            },
        });
        match kind {
            "ConfigMap" => object["data"] = json!({"value": value.to_string()}),
            "Secret" => object["stringData"] = json!({"value": value.to_string()}),
            "Service" => {
                object["spec"] = json!({"selector": {"app": self.name}, "ports": [{"port": 80}]});
            }
            "Deployment" => object["spec"] = workload(&self.name, &json!({})),
            _ => {}
        }
        object
    }

    /// The thing that an inventory names so.
    pub(crate) fn of_id(id: &str) -> Option<Self> {
        let [_, name, _, kind] = id.split('_').collect::<Vec<_>>()[..] else { return None };
        let known = KINDS.iter().find(|(known, ..)| *known == kind)?;
        Some(Self { kind: known.0, name: name.to_owned() })
    }

    /// How an inventory names it.
    pub(crate) fn id(&self) -> String {
        let group = KINDS.iter().find(|it| it.0 == self.kind).unwrap().1;
        format!("{NAMESPACE}_{}_{group}_{}", self.name, self.kind)
    }
}

fn workload(name: &str, requests: &Value) -> Value {
    json!({
        "replicas": 1,
        "selector": {"matchLabels": {"app": name}},
        "template": {
            "metadata": {"labels": {"app": name}},
            "spec": {"containers": [
                {"name": "main", "image": "registry.test/main:1", "resources": {"requests": requests}},
            ]},
        },
    })
}

/// What can be wrong with a part of a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Breakage {
    /// A file that is no YAML.
    Unreadable,
    /// An object that no server takes.
    Refused,
    /// An object in a namespace that is not there.
    Homeless,
    /// A Deployment that never gets well.
    Unhealthy,
}

impl Breakage {
    pub(crate) const ALL: [Self; 4] =
        [Self::Unreadable, Self::Refused, Self::Homeless, Self::Unhealthy];

    /// Whether everything can be applied nevertheless.
    pub(crate) fn is_applied(self) -> bool {
        self == Self::Unhealthy
    }

    fn file(self) -> String {
        let object = match self {
            Self::Unreadable => return "kind: [\n".to_owned(),
            Self::Refused => Thing::new("ConfigMap", "Not_A_Name").object(0),
            Self::Homeless => {
                let mut object = Thing::new("ConfigMap", "homeless").object(0);
                object["metadata"]["namespace"] = "nowhere".into();
                object
            }
            Self::Unhealthy => {
                let mut object = Thing::new("Deployment", BROKEN).object(0);
                object["spec"] = workload(BROKEN, &json!({"cpu": "4000"}));
                object
            }
        };
        object.to_string()
    }
}

/// The Deployment that never gets well.
pub(crate) const BROKEN: &str = "broken";

/// One part of the repository.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Part {
    pub(crate) things: BTreeMap<Thing, u64>,
    pub(crate) broken: Option<Breakage>,
}

impl Part {
    /// Everything a whole apply of it leaves in the cluster.
    pub(crate) fn holds(&self, thing: &Thing) -> bool {
        let unhealthy = self.broken == Some(Breakage::Unhealthy);
        self.things.contains_key(thing)
            || (unhealthy && thing.kind == "Deployment" && thing.name == BROKEN)
    }

    /// Whether it builds to nothing.
    pub(crate) fn is_empty(&self) -> bool {
        self.things.is_empty() && self.broken.is_none()
    }

    /// Whether a pass over it can prune.
    pub(crate) fn can_prune(&self) -> bool {
        !self.is_empty() && self.broken.is_none_or(Breakage::is_applied)
    }
}

/// All of the repository.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Platform {
    pub(crate) parts: BTreeMap<&'static str, Part>,
}

impl Platform {
    /// The parts, each with something in it.
    pub(crate) fn new(parts: &[&'static str]) -> Self {
        let part = |name: &&'static str| {
            let thing = Thing::new("ConfigMap", &format!("first-of-{name}"));
            (*name, Part { things: BTreeMap::from([(thing, 0)]), broken: None })
        };
        Self { parts: parts.iter().map(part).collect() }
    }

    /// Where a thing is, among the parts of these Kustomizations.
    pub(crate) fn holder(
        &self,
        thing: &Thing,
        among: &BTreeSet<&'static str>,
    ) -> Option<&'static str> {
        let holds = |(name, part): (&&'static str, &Part)| {
            (among.contains(name) && part.holds(thing)).then_some(*name)
        };
        self.parts.iter().find_map(holds)
    }

    /// The files of a commit.
    pub(crate) fn files(&self) -> SourceTree {
        let mut tree = SourceTree::default();
        for (name, part) in &self.parts {
            let mut names = Vec::new();
            let mut put = |file: String, content: String| {
                tree.insert_file(&format!("{name}/{file}"), content.into_bytes()).unwrap();
                names.push(file);
            };
            for (thing, value) in &part.things {
                let file = format!("{}-{}.yaml", thing.kind.to_lowercase(), thing.name);
                put(file, thing.object(*value).to_string());
            }
            if let Some(broken) = part.broken {
                put("broken.yaml".to_owned(), broken.file());
            }
            let file = json!({
                "apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization",
                "resources": names,
            });
            let path = format!("{name}/kustomization.yaml");
            tree.insert_file(&path, file.to_string().into_bytes()).unwrap();
        }
        tree
    }
}
