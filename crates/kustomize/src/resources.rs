//! The objects of a build in order, indexed by current and former ids.
//!
//! kustomize keeps a list and scans it for every lookup, which makes large builds quadratic. Here the index is built on
//! first use, follows single changes, and is dropped when everything may have changed.

use std::collections::HashMap;
use std::sync::Arc;

use crate::failure::{Failure, Result};
use crate::id::{IdKey, ResourceId};
use crate::openapi::Schema;
use crate::place::Entry;
use crate::resource::Resource;

/// The objects of a build.
#[derive(Debug, Clone, Default)]
pub(crate) struct Resources {
    list: Vec<Resource>,
    index: Option<Index>,
    /// The entry that is at work on them, if what changes resources is to be remembered.
    changing: Option<Arc<Entry>>,
}

/// Positions of resources, by current id, ascending.
#[derive(Debug, Clone, Default)]
struct Index {
    current: HashMap<IdKey, Vec<usize>>,
    /// The number of ids that more than one resource has.
    collisions: usize,
    /// Built on first use: most lists are only checked for duplicates.
    history: Option<History>,
}

/// Positions of resources, by current and former ids.
#[derive(Debug, Clone, Default)]
struct History {
    ids: HashMap<IdKey, Vec<usize>>,
    /// By name alone, of any kind.
    names: HashMap<String, Vec<usize>>,
}

impl Index {
    fn of(list: &[Resource], schema: &Schema) -> Self {
        let mut index = Self::default();
        for (position, resource) in list.iter().enumerate() {
            index.add(position, resource, schema);
        }
        index
    }

    fn add(&mut self, position: usize, resource: &Resource, schema: &Schema) {
        // A deleted one has no id.
        if resource.is_empty() {
            return;
        }
        let positions = self.current.entry(resource.id(schema).key()).or_default();
        insert(positions, position);
        self.collisions += usize::from(positions.len() == 2);
        if let Some(history) = &mut self.history {
            history.add(position, resource, schema);
        }
    }

    fn remove(&mut self, position: usize, resource: &Resource, schema: &Schema) {
        if resource.is_empty() {
            return;
        }
        if let Some(positions) = self.current.get_mut(&resource.id(schema).key()) {
            self.collisions -= usize::from(positions.len() == 2);
            remove(positions, position);
        }
        if let Some(history) = &mut self.history {
            history.remove(position, resource, schema);
        }
    }
}

impl History {
    fn of(list: &[Resource], schema: &Schema) -> Self {
        let mut history = Self::default();
        for (position, resource) in list.iter().enumerate() {
            if !resource.is_empty() {
                history.add(position, resource, schema);
            }
        }
        history
    }

    /// The current and former ids of a resource.
    fn all(resource: &Resource, schema: &Schema) -> impl Iterator<Item = ResourceId> {
        resource.previous_ids().into_iter().chain([resource.id(schema)])
    }

    fn add(&mut self, position: usize, resource: &Resource, schema: &Schema) {
        for id in Self::all(resource, schema) {
            insert(self.ids.entry(id.key()).or_default(), position);
            insert(self.names.entry(id.name).or_default(), position);
        }
    }

    fn remove(&mut self, position: usize, resource: &Resource, schema: &Schema) {
        for id in Self::all(resource, schema) {
            let found = [self.ids.get_mut(&id.key()), self.names.get_mut(&id.name)];
            found.into_iter().flatten().for_each(|positions| remove(positions, position));
        }
    }
}

fn insert(positions: &mut Vec<usize>, position: usize) {
    if let Err(at) = positions.binary_search(&position) {
        positions.insert(at, position);
    }
}

fn remove(positions: &mut Vec<usize>, position: usize) {
    if let Ok(at) = positions.binary_search(&position) {
        positions.remove(at);
    }
}

fn registered(resource: &Resource, schema: &Schema) -> Failure {
    let id = resource.id(schema);
    let failure = Failure::new(format!("may not add resource with an already registered id: {id}"));
    let failure = match &resource.file {
        Some(file) => failure.in_file(file),
        None => failure,
    };
    failure.at(resource.node.position)
}

impl Resources {
    pub(crate) fn len(&self) -> usize {
        self.list.len()
    }

    pub(crate) fn iter(&self) -> std::slice::Iter<'_, Resource> {
        self.list.iter()
    }

    pub(crate) fn get(&self, position: usize) -> Option<&Resource> {
        self.list.get(position)
    }

    /// All resources, mutable; the index is rebuilt on next use.
    pub(crate) fn iter_mut(&mut self) -> std::slice::IterMut<'_, Resource> {
        self.index = None;
        self.list.iter_mut()
    }

    /// The list itself, to reorder or to remove from.
    pub(crate) fn list_mut(&mut self) -> &mut Vec<Resource> {
        self.index = None;
        &mut self.list
    }

    /// The resources, in order.
    pub(crate) fn into_list(self) -> Vec<Resource> {
        self.list
    }

    /// All resources, for changes that keep every id and its history.
    pub(crate) fn iter_mut_keeping_ids(&mut self) -> std::slice::IterMut<'_, Resource> {
        self.list.iter_mut()
    }

    /// One resource, for changes that keep its id and history.
    pub(crate) fn get_mut_keeping_ids(&mut self, position: usize) -> Option<&mut Resource> {
        self.list.get_mut(position)
    }

    /// Drops the index: after a change of the schema, kinds may have another scope.
    pub(crate) fn forget_index(&mut self) {
        self.index = None;
    }

    fn index(&mut self, schema: &Schema) -> &mut Index {
        self.index.get_or_insert_with(|| Index::of(&self.list, schema))
    }

    fn history(&mut self, schema: &Schema) -> &mut History {
        let index = self.index.get_or_insert_with(|| Index::of(&self.list, schema));
        index.history.get_or_insert_with(|| History::of(&self.list, schema))
    }

    /// Changes one resource, and updates the index.
    pub(crate) fn change<T>(
        &mut self,
        position: usize,
        schema: &Schema,
        change: impl FnOnce(&mut Resource) -> T,
    ) -> Option<T> {
        let resource = self.list.get_mut(position)?;
        if let Some(index) = &mut self.index {
            index.remove(position, resource, schema);
        }
        let result = change(resource);
        if let Some(index) = &mut self.index {
            index.add(position, resource, schema);
        }
        Some(result)
    }

    /// Says which entry changes resources from here on; nothing where that is not asked for.
    pub(crate) fn set_changing(&mut self, entry: Option<Entry>) {
        self.changing = entry.map(Arc::new);
    }

    /// The entry that is at work, if what changes resources is to be remembered.
    pub(crate) fn changing(&self) -> Option<Arc<Entry>> {
        self.changing.clone()
    }

    /// Remembers that the entry at work has changed a resource, with a patch of a file if it names one.
    pub(crate) fn note_change(&mut self, position: usize, file: Option<(&Arc<str>, usize)>) {
        if let Some(entry) = &self.changing
            && let Some(resource) = self.list.get_mut(position)
        {
            resource.changed_by(entry, file.map(|(file, line)| (Arc::clone(file), line)));
        }
    }

    /// Positions of the resources with this current id.
    pub(crate) fn with_current_id(&mut self, id: &ResourceId, schema: &Schema) -> Vec<usize> {
        self.index(schema).current.get(&id.key()).cloned().unwrap_or_default()
    }

    /// Positions of the resources with this current or former id, without deleted ones.
    pub(crate) fn with_any_id(&mut self, id: &ResourceId, schema: &Schema) -> Vec<usize> {
        self.history(schema).ids.get(&id.key()).cloned().unwrap_or_default()
    }

    /// Positions of the resources with this current or former name, without deleted ones.
    pub(crate) fn with_any_name(&mut self, name: &str, schema: &Schema) -> Vec<usize> {
        self.history(schema).names.get(name).cloned().unwrap_or_default()
    }

    /// The first two resources with the same id, if any.
    pub(crate) fn first_collision(&mut self, schema: &Schema) -> Option<(&Resource, &Resource)> {
        let index = self.index(schema);
        if index.collisions == 0 {
            return None;
        }
        let shared = index.current.values().filter(|positions| positions.len() > 1);
        let &[first, second] = shared.min()?.first_chunk()?;
        Some((self.list.get(first)?, self.list.get(second)?))
    }

    /// The only resource with this current or former id, for a patch without a target.
    pub(crate) fn the_one_with_any_id(
        &mut self,
        id: &ResourceId,
        schema: &Schema,
    ) -> Result<usize> {
        let found = self.with_any_id(id, schema);
        let problem = match found.as_slice() {
            [one] => return Ok(*one),
            [] => "no",
            _ => "multiple",
        };
        Err(Failure::new(format!(
            "{problem} matches for Id {id}; failed to find unique target for patch {id}"
        )))
    }

    /// Adds a resource with a new id.
    pub(crate) fn append(&mut self, resource: Resource, schema: &Schema) -> Result<()> {
        let position = self.list.len();
        let id = resource.id(schema);
        let index = self.index(schema);
        if index.current.get(&id.key()).is_some_and(|found| !found.is_empty()) {
            return Err(registered(&resource, schema));
        }
        index.add(position, &resource, schema);
        self.list.push(resource);
        Ok(())
    }

    /// Adds all resources of another list; reports all duplicate ids.
    pub(crate) fn append_all(&mut self, others: Self, schema: &Schema) -> Result<()> {
        if self.list.is_empty() {
            // There are no duplicates, and the index need not be built twice.
            *self = others;
            return Ok(());
        }
        let mut wrong = crate::failure::Gathered::default();
        for resource in others.list {
            wrong.take(self.append(resource, schema));
        }
        wrong.finish()
    }

    /// Fails for two resources with the same id, as after a patch renamed one.
    pub(crate) fn check_unique(&mut self, schema: &Schema) -> Result<()> {
        let list = std::mem::take(&mut self.list);
        self.index = Some(Index::default());
        let mut wrong = crate::failure::Gathered::default();
        for resource in list {
            wrong.take(self.append(resource, schema));
        }
        wrong.finish()
    }

    /// Like [`Resources::check_unique`], with an existing index.
    pub(crate) fn check_collisions(&mut self, schema: &Schema) -> Result<()> {
        self.first_collision(schema).map_or(Ok(()), |(_, second)| Err(registered(second, schema)))
    }

    /// Replaces a resource, and updates the index.
    pub(crate) fn replace(&mut self, position: usize, by: Resource, schema: &Schema) {
        self.change(position, schema, |resource| *resource = by);
    }

    /// Removes deleted resources.
    pub(crate) fn drop_empty(&mut self) {
        if self.list.iter().any(Resource::is_empty) {
            self.index = None;
            self.list.retain(|resource| !resource.is_empty());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Resources;
    use crate::openapi::Schema;
    use crate::resource::Resource;

    fn config_map(name: &str) -> Resource {
        let text = format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\n");
        Resource::new(sluice_yaml::parse(text.as_bytes()).unwrap().remove(0).root)
    }

    #[test]
    fn resources_are_found_by_who_they_are_and_were() {
        let schema = Schema::builtin();
        let mut all = Resources::default();
        all.append(config_map("a"), &schema).unwrap();
        all.append(config_map("b"), &schema).unwrap();
        let again = all.append(config_map("a"), &schema).expect_err("twice");
        assert_eq!(
            again.diagnostics().next().unwrap().message,
            "may not add resource with an already registered id: ConfigMap.v1.[noGrp]/a.[noNs]"
        );
        let old = all.get(0).unwrap().id(&schema);
        all.change(0, &schema, |resource| {
            resource.store_id(&schema)?;
            resource.set_name("c")
        });
        assert_eq!(all.with_current_id(&old, &schema), [] as [usize; 0]);
        assert_eq!(all.with_any_id(&old, &schema), [0]);
        all.append(config_map("a"), &schema).unwrap();
        assert!(all.the_one_with_any_id(&old, &schema).is_err());
        assert_eq!(all.with_any_id(&old, &schema), [0, 2]);
        all.check_unique(&schema).unwrap();
    }
}
