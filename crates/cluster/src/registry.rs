//! The served resources: built-in ones, and those that CRDs add while the cluster runs.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

use sluice_schema::recorded;

use crate::builtin::BuiltIn;
use crate::kind::Kind;
use crate::resource::{Resource, Subresource};
use crate::store::GroupResource;
use crate::table::Columns;
use crate::{kinds, printers};

/// Group, version, plural.
type Address = (String, String, String);

/// All served resources.
pub(crate) struct Registry {
    builtin: BTreeMap<Address, Arc<Resource>>,
    custom: RwLock<BTreeMap<Address, Arc<Resource>>>,
}

impl Registry {
    /// The built-in resources of the recorded release.
    pub(crate) fn built_in() -> Self {
        let mut builtin = BTreeMap::new();
        for group in recorded::discovery().groups() {
            for version in &group.versions {
                for found in &version.resources {
                    let resource = Arc::new(built_in_resource(&group.name, &version.name, found));
                    builtin.insert(address(&resource), resource);
                }
            }
        }
        Self { builtin, custom: RwLock::default() }
    }

    /// The resource that is served at a path.
    pub(crate) fn find(&self, group: &str, version: &str, plural: &str) -> Option<Arc<Resource>> {
        let address = (group.to_owned(), version.to_owned(), plural.to_owned());
        if let Some(resource) = self.builtin.get(&address) {
            return Some(resource.clone());
        }
        self.custom.read().unwrap_or_else(PoisonError::into_inner).get(&address).cloned()
    }

    /// Whether a group is built in. Unknown resources of other groups get another 404.
    pub(crate) fn has_group(&self, group: &str) -> bool {
        self.builtin.values().any(|resource| resource.group == group)
    }

    /// Every served resource, in the order of group, version and plural.
    pub(crate) fn all(&self) -> Vec<Arc<Resource>> {
        let custom = self.custom.read().unwrap_or_else(PoisonError::into_inner);
        let mut out: Vec<Arc<Resource>> =
            self.builtin.values().chain(custom.values()).cloned().collect();
        out.sort_by_key(|left| address(left));
        out
    }

    /// One served version of every stored resource, for a walk over all objects.
    pub(crate) fn storages(&self) -> Vec<Arc<Resource>> {
        let mut by_storage: BTreeMap<GroupResource, Arc<Resource>> = BTreeMap::new();
        for resource in self.all() {
            if resource.allows("list") {
                by_storage.insert(resource.storage.clone(), resource);
            }
        }
        by_storage.into_values().collect()
    }

    /// A served version of the resource that is stored under `storage`; for built-in kinds the storage
    /// version.
    pub(crate) fn stored(&self, storage: &GroupResource) -> Option<Arc<Resource>> {
        let fits = |resource: &&Arc<Resource>| {
            resource.storage == *storage && resource.group == storage.group
        };
        if let Some(resource) = self.builtin.values().rfind(fits) {
            return Some(resource.clone());
        }
        let custom = self.custom.read().unwrap_or_else(PoisonError::into_inner);
        custom.values().rfind(fits).cloned()
    }

    /// A served version of a kind.
    pub(crate) fn by_kind(&self, group: &str, kind: &str) -> Option<Arc<Resource>> {
        let fits = |resource: &&Arc<Resource>| resource.group == group && resource.kind == kind;
        if let Some(resource) = self.builtin.values().rfind(fits) {
            return Some(resource.clone());
        }
        let custom = self.custom.read().unwrap_or_else(PoisonError::into_inner);
        custom.values().rfind(fits).cloned()
    }

    /// The custom resources, in the order of group, version and plural.
    pub(crate) fn custom(&self) -> Vec<Arc<Resource>> {
        let custom = self.custom.read().unwrap_or_else(PoisonError::into_inner);
        custom.values().cloned().collect()
    }

    /// The revision of the definition that a custom resource is served by.
    pub(crate) fn definition(&self, group: &str, plural: &str) -> Option<u64> {
        let custom = self.custom.read().unwrap_or_else(PoisonError::into_inner);
        let mut served = custom.values();
        let found = served.find(|served| served.group == group && served.plural == plural);
        found.map(|served| served.definition)
    }

    /// Serves exactly `resources` for a custom `group` and `plural`, in place of what was served.
    pub(crate) fn set_custom(&self, group: &str, plural: &str, resources: Vec<Resource>) {
        let mut custom = self.custom.write().unwrap_or_else(PoisonError::into_inner);
        custom.retain(|_, served| served.group != group || served.plural != plural);
        for resource in resources {
            let resource = Arc::new(resource);
            custom.insert(address(&resource), resource);
        }
    }
}

fn address(resource: &Resource) -> Address {
    (resource.group.clone(), resource.version.clone(), resource.plural.clone())
}

fn built_in_resource(group: &str, version: &str, found: &recorded::Resource) -> Resource {
    // Events of both groups are the same objects.
    let storage = match (group, found.name.as_str()) {
        ("events.k8s.io", "events") => GroupResource::new("", "events"),
        (group, name) => GroupResource::new(group, name),
    };
    let subresources = found
        .subresources
        .iter()
        .map(|sub| {
            let entry = Subresource {
                group: sub.kind_group.clone(),
                version: sub.kind_version.clone(),
                kind: sub.kind.clone(),
                verbs: sub.verbs.clone(),
            };
            (sub.name.clone(), entry)
        })
        .collect();
    let hooks = kinds::kind(group, &found.name);
    Resource {
        group: group.to_owned(),
        version: version.to_owned(),
        kind: found.kind.clone(),
        list_kind: format!("{}List", found.kind),
        plural: found.name.clone(),
        singular: found.singular.clone(),
        namespaced: found.namespaced,
        short_names: found.short_names.clone(),
        categories: found.categories.clone(),
        verbs: found.verbs.clone(),
        subresources,
        shape: Arc::new(BuiltIn::new(group, version, &found.kind, &hooks)),
        hooks,
        columns: printers::printer(group, &found.name).map_or(Columns::Default, Columns::BuiltIn),
        storage,
        deprecation: deprecation(group, &found.name),
        storage_hash: Some(found.storage_version_hash.clone()).filter(|hash| !hash.is_empty()),
        definition: 0,
    }
}

/// A kind that is not a resource: it appears only in bodies of requests to a subresource.
pub(crate) fn of_bodies(group: &str, version: &str, kind: &str, hooks: Arc<dyn Kind>) -> Resource {
    Resource {
        group: group.to_owned(),
        version: version.to_owned(),
        kind: kind.to_owned(),
        list_kind: String::new(),
        plural: String::new(),
        singular: String::new(),
        namespaced: true,
        short_names: Vec::new(),
        categories: Vec::new(),
        verbs: Vec::new(),
        subresources: BTreeMap::new(),
        shape: Arc::new(BuiltIn::new(group, version, kind, &hooks)),
        hooks,
        columns: Columns::Default,
        storage: GroupResource::new(group, ""),
        deprecation: None,
        storage_hash: None,
        definition: 0,
    }
}

/// The warning header for requests to a deprecated built-in resource.
fn deprecation(group: &str, plural: &str) -> Option<String> {
    let text = match (group, plural) {
        ("", "componentstatuses") => "v1 ComponentStatus is deprecated in v1.19+",
        ("", "endpoints") => {
            "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"
        }
        _ => return None,
    };
    Some(text.to_owned())
}
