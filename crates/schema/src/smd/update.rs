//! Ownership after a write: the update of an object, and the apply of a configuration.

use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::Arc;

use serde_json::Value;

use super::compare::Comparison;
use super::element::Path;
use super::filter::Filter;
use super::model::TypeRef;
use super::set::FieldSet;
use super::typed::Duplicates;
use super::values;

/// What one manager owns, in the version it wrote in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VersionedSet {
    /// The fields.
    pub set: FieldSet,
    /// The version the paths are of.
    pub api_version: String,
    /// Whether the manager applied its configuration, as opposed to updating the object.
    pub applied: bool,
}

/// What everybody owns, by the manager's identity.
pub type Managers = BTreeMap<String, VersionedSet>;

/// A field that another manager owns with another value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflict {
    /// The other manager's identity.
    pub manager: String,
    /// The field.
    pub path: Path,
}

/// Why a write is not possible.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UpdateError {
    /// Others own what would change; managers in the order of their identities.
    Conflicts(Vec<Conflict>),
    /// Objects do not have their types, or cannot be converted.
    Failed(String),
}

/// Why an object was not converted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConvertError {
    /// The version does not exist: managers of fields in it are dropped.
    MissingVersion,
    /// The version exists, but the object cannot be had in it.
    Failed(String),
}

/// The versions of a kind.
pub trait Versions {
    /// The type of the kind in a version, or nothing where the version does not exist.
    fn types(&self, api_version: &str) -> Option<TypeRef>;
    /// The object in another version.
    fn convert(&self, object: &Value, api_version: &str) -> Result<Value, ConvertError>;
}

/// An object with its type. Cheap to clone, because conversions to the same version are the rule.
#[derive(Clone)]
struct Typed<'v> {
    value: Held<'v>,
    types: TypeRef,
}

#[derive(Clone)]
enum Held<'v> {
    Borrowed(&'v Value),
    Shared(Arc<Value>),
}

/// Computes ownership for one kind.
pub struct Updater<'a> {
    /// The versions of the kind.
    pub versions: &'a dyn Versions,
    /// Per version, what this endpoint lets anybody own.
    pub filters: &'a BTreeMap<String, Filter>,
}

impl Updater<'_> {
    /// Ownership after `live` was replaced with `new` by `manager`.
    pub fn update(
        &self,
        live: &Value,
        new: &Value,
        version: &str,
        types: &TypeRef,
        managers: Managers,
        manager: &str,
    ) -> Result<Managers, UpdateError> {
        let live = Typed { value: Held::Borrowed(live), types: types.clone() };
        let new = Typed { value: Held::Borrowed(new), types: types.clone() };
        let managers = self.reconcile(&live, managers)?;
        let (mut managers, compare) =
            self.change(&live, &new, version, managers, manager, Force::Yes)?;
        let own = managers.remove(manager).map(|owned| owned.set).unwrap_or_default();
        let mut set =
            own.difference(&compare.removed).union(&compare.modified).union(&compare.added);
        if let Some(filter) = self.filters.get(version) {
            set = filter.apply(&set);
        }
        if !set.is_empty() {
            let owned = VersionedSet { set, api_version: version.to_owned(), applied: false };
            managers.insert(manager.to_owned(), owned);
        }
        Ok(managers)
    }

    /// The object and its ownership after `manager` applied `config`; no object where nothing changes.
    #[expect(clippy::too_many_arguments, reason = "one request, named at its only call")]
    pub fn apply(
        &self,
        live: &Value,
        config: &Value,
        version: &str,
        types: &TypeRef,
        managers: Managers,
        manager: &str,
        force: bool,
    ) -> Result<(Option<Value>, Managers), UpdateError> {
        let live = Typed { value: Held::Borrowed(live), types: types.clone() };
        let mut managers = self.reconcile(&live, managers)?;
        let merged = types
            .merge(&live.value, config)
            .map_err(|faults| failed(format!("failed to merge config: {faults}")))?;
        let merged = Typed::new(merged, types.clone());
        let mut set = types.field_set(config);
        if let Some(filter) = self.filters.get(version) {
            set = filter.apply(&set);
        }
        let owned = VersionedSet { set, api_version: version.to_owned(), applied: true };
        let last = managers.insert(manager.to_owned(), owned);
        let new = self
            .prune(merged, &managers, version, last.as_ref())
            .map_err(|why| failed(format!("failed to prune fields: {why}")))?;
        let force = if force { Force::Yes } else { Force::No };
        let (managers, _) = self.change(&live, &new, version, managers, manager, force)?;
        let new = new.value.into_value();
        let new = if values::equal(&live.value, &new) { None } else { Some(new) };
        Ok((new, managers))
    }

    /// What a change from `old` to `new` takes from everybody but `writer`.
    fn change(
        &self,
        old: &Typed<'_>,
        new: &Typed<'_>,
        version: &str,
        mut managers: Managers,
        writer: &str,
        force: Force,
    ) -> Result<(Managers, Comparison), UpdateError> {
        let mut versions = BTreeMap::new();
        versions.insert(version.to_owned(), self.changes(old, new, version)?);
        let mut conflicts = Vec::new();
        let mut obsolete = Vec::new();
        for (manager, owned) in &managers {
            if manager == writer {
                continue;
            }
            if !versions.contains_key(&owned.api_version) {
                let there = &owned.api_version;
                let (old, new) = match (self.convert(old, there), self.convert(new, there)) {
                    (Ok(old), Ok(new)) => (old, new),
                    (Err(ConvertError::Failed(why)), _) => {
                        return Err(failed(format!("failed to convert old object: {why}")));
                    }
                    (Err(ConvertError::MissingVersion), _)
                    | (_, Err(ConvertError::MissingVersion)) => {
                        obsolete.push(manager.clone());
                        continue;
                    }
                    (_, Err(ConvertError::Failed(why))) => {
                        return Err(failed(format!("failed to convert new object: {why}")));
                    }
                };
                versions.insert(there.clone(), self.changes(&old, &new, there)?);
            }
            let changes = &versions[&owned.api_version];
            let contested = owned.set.intersection(&changes.touched);
            if !contested.is_empty() {
                conflicts.push((manager.clone(), contested));
            }
        }
        if force == Force::No && !conflicts.is_empty() {
            let named = conflicts.into_iter().flat_map(|(manager, set)| {
                set.paths().into_iter().map(move |path| Conflict { manager: manager.clone(), path })
            });
            return Err(UpdateError::Conflicts(named.collect()));
        }
        for manager in obsolete {
            managers.remove(&manager);
        }
        for (manager, contested) in conflicts {
            if let Some(owned) = managers.get_mut(&manager) {
                owned.set = owned.set.difference(&contested);
            }
        }
        for (manager, owned) in &mut managers {
            if manager != writer
                && let Some(changes) = versions.get(&owned.api_version)
                && !changes.comparison.removed.is_empty()
            {
                owned.set = owned.set.difference(&changes.comparison.removed);
            }
        }
        managers.retain(|_, owned| !owned.set.is_empty());
        let changes = versions.remove(version).expect("the writer's version was compared first");
        Ok((managers, changes.comparison))
    }

    fn changes(
        &self,
        old: &Typed<'_>,
        new: &Typed<'_>,
        version: &str,
    ) -> Result<Changes, UpdateError> {
        let mut comparison = old
            .types
            .compare(&old.value, &new.value)
            .map_err(|faults| failed(format!("failed to compare objects: {faults}")))?;
        if let Some(filter) = self.filters.get(version) {
            comparison.removed = filter.apply(&comparison.removed);
            comparison.modified = filter.apply(&comparison.modified);
            comparison.added = filter.apply(&comparison.added);
        }
        let touched = comparison.modified.union(&comparison.added);
        Ok(Changes { comparison, touched })
    }

    /// Removes what the manager applied last time and does not apply now, unless another manager owns
    /// it or it was never the manager's.
    fn prune<'v>(
        &self,
        merged: Typed<'v>,
        managers: &Managers,
        version: &str,
        last: Option<&VersionedSet>,
    ) -> Result<Typed<'v>, String> {
        let Some(last) = last.filter(|last| !last.set.is_empty()) else { return Ok(merged) };
        let at_last = match self.convert(&merged, &last.api_version) {
            Ok(converted) => converted,
            Err(ConvertError::MissingVersion) => return Ok(merged),
            Err(ConvertError::Failed(why)) => {
                return Err(format!(
                    "failed to convert merged object to last applied version: {why}"
                ));
            }
        };
        drop(merged);
        let last_set = at_last.types.with_named_parents(&last.set);
        let mut pruned = (*at_last.value).clone();
        at_last.types.remove_items(&mut pruned, &last_set);
        let pruned = Typed::new(pruned, at_last.types.clone());
        let (pruned, merged_set) = self
            .add_back_owned(at_last.clone(), pruned, &last.api_version, managers)
            .map_err(|why| format!("failed add back owned items: {why}"))?;
        let pruned = self
            .add_back_dangling(at_last, merged_set, &pruned, &last.api_version, &last_set)
            .map_err(|why| format!("failed add back dangling items: {why}"))?;
        match self.convert(&pruned, version) {
            Ok(converted) => Ok(converted),
            Err(ConvertError::Failed(why)) => Err(why),
            Err(ConvertError::MissingVersion) => {
                Err(format!("no corresponding type for {version}"))
            }
        }
    }

    fn add_back_owned<'v>(
        &self,
        mut merged: Typed<'v>,
        mut pruned: Typed<'v>,
        pruned_version: &str,
        managers: &Managers,
    ) -> Result<(Typed<'v>, Option<FieldSet>), String> {
        let mut owned: BTreeMap<&str, FieldSet> = BTreeMap::new();
        for manager in managers.values() {
            let set = owned.entry(&manager.api_version).or_default();
            *set = set.union(&manager.set);
        }
        // The pruned version first: another may need what was pruned to be converted to.
        let mut versions: Vec<(&str, FieldSet)> = Vec::with_capacity(owned.len());
        if let Some(set) = owned.remove(pruned_version) {
            versions.push((pruned_version, set));
        }
        versions.extend(owned);
        // All fields at the pruned version, for the step after this.
        let mut merged_set = None;
        for (version, set) in versions {
            let there = match self.convert(&merged, version) {
                Ok(there) => there,
                Err(ConvertError::MissingVersion) => continue,
                Err(ConvertError::Failed(why)) => {
                    return Err(format!(
                        "failed to convert merged object at version {version}: {why}"
                    ));
                }
            };
            let pruned_there = match self.convert(&pruned, version) {
                Ok(pruned_there) => pruned_there,
                Err(ConvertError::MissingVersion) => continue,
                Err(ConvertError::Failed(why)) => {
                    return Err(format!(
                        "failed to convert pruned object at version {version}: {why}"
                    ));
                }
            };
            let types = &there.types;
            let all = types.with_named_parents(&types.field_set(&there.value));
            let kept = types
                .with_named_parents(&types.field_set(&pruned_there.value))
                .union(&types.with_named_parents(&set));
            let mut value = (*there.value).clone();
            types.remove_items(&mut value, &all.difference(&kept));
            pruned = Typed::new(value, types.clone());
            if version == pruned_version {
                merged_set = Some(all);
            }
            merged = there;
        }
        Ok((pruned, merged_set))
    }

    fn add_back_dangling<'v>(
        &self,
        merged: Typed<'v>,
        merged_set: Option<FieldSet>,
        pruned: &Typed<'v>,
        version: &str,
        last: &FieldSet,
    ) -> Result<Typed<'v>, String> {
        let pruned = match self.convert(pruned, version) {
            Ok(pruned) => pruned,
            Err(ConvertError::MissingVersion) => return Ok(merged),
            Err(ConvertError::Failed(why)) => {
                return Err(format!(
                    "failed to convert pruned object to last applied version: {why}"
                ));
            }
        };
        let types = merged.types;
        let pruned_set = types.with_named_parents(&types.field_set(&pruned.value));
        let merged_set =
            merged_set.unwrap_or_else(|| types.with_named_parents(&types.field_set(&merged.value)));
        let mut value = merged.value.into_value();
        types.remove_items(&mut value, &merged_set.difference(&pruned_set).intersection(last));
        Ok(Typed::new(value, types))
    }

    /// Brings what everybody owns under today's schema; versions that are gone drop out.
    fn reconcile(&self, live: &Typed<'_>, managers: Managers) -> Result<Managers, UpdateError> {
        let mut out = Managers::new();
        for (manager, mut owned) in managers {
            let types = match self.convert(live, &owned.api_version) {
                Ok(converted) => converted.types,
                Err(ConvertError::MissingVersion) => continue,
                Err(ConvertError::Failed(why)) => return Err(failed(why)),
            };
            if let Some(set) = types.reconcile_field_set(&owned.set).map_err(failed)? {
                owned.set = set;
            }
            out.insert(manager, owned);
        }
        Ok(out)
    }

    fn convert<'v>(&self, object: &Typed<'v>, version: &str) -> Result<Typed<'v>, ConvertError> {
        if object.value.get("apiVersion").and_then(Value::as_str) == Some(version) {
            return Ok(object.clone());
        }
        let value = self.versions.convert(&object.value, version)?;
        let types = self.versions.types(version).ok_or(ConvertError::MissingVersion)?;
        types
            .validate(&value, Duplicates::Refused)
            .map_err(|faults| ConvertError::Failed(faults.to_string()))?;
        Ok(Typed::new(value, types))
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Force {
    Yes,
    No,
}

/// What changed in one version, and the part of it that can be contested.
struct Changes {
    comparison: Comparison,
    touched: FieldSet,
}

impl Typed<'_> {
    fn new(value: Value, types: TypeRef) -> Self {
        Self { value: Held::Shared(Arc::new(value)), types }
    }
}

impl Held<'_> {
    fn into_value(self) -> Value {
        match self {
            Self::Borrowed(value) => value.clone(),
            Self::Shared(value) => Arc::unwrap_or_clone(value),
        }
    }
}

impl Deref for Held<'_> {
    type Target = Value;

    fn deref(&self) -> &Value {
        match self {
            Self::Borrowed(value) => value,
            Self::Shared(value) => value,
        }
    }
}

fn failed(why: String) -> UpdateError {
    UpdateError::Failed(why)
}
