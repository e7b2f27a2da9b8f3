//! The result of a build: objects as values, as text, as files.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use sluice_base::place::Place;
use sluice_yaml::{Node, from_json};

use crate::failure::{Diagnostic, Failure, Gathered, Result};
use crate::id::{CLUSTER_SCOPED, ResourceId};
use crate::openapi::Schema;
use crate::place::EntryPlaces;
use crate::resource::{Resource, annotation};
use crate::resources::Resources;

/// The minimum number of objects per thread.
const WORTH_A_THREAD: usize = 64;

/// The objects of a kustomization.
#[derive(Debug)]
pub struct Build {
    objects: Vec<BuiltObject>,
    warnings: Vec<Diagnostic>,
    threads: usize,
}

/// One object of a build.
#[derive(Debug)]
struct BuiltObject {
    content: Content,
    id: ResourceId,
    place: Option<Place>,
}

/// An object in its cheapest form: most are printed directly from their tree, and only those that kustomize's conversion
/// through text might change are values.
#[derive(Debug)]
enum Content {
    Tree(Node),
    Value(Value),
}

impl Content {
    fn to_value(&self) -> Value {
        match self {
            // An ordinary tree has a value.
            Self::Tree(node) => node.to_json().unwrap_or_default(),
            Self::Value(value) => value.clone(),
        }
    }

    fn into_value(self) -> Value {
        match self {
            Self::Tree(node) => node.to_json().unwrap_or_default(),
            Self::Value(value) => value,
        }
    }

    fn to_yaml(&self) -> String {
        match self {
            Self::Tree(node) => node.ordinary_to_printed().unwrap_or_default(),
            Self::Value(value) => from_json(value),
        }
    }
}

/// Which build annotations are kept.
#[derive(Debug, Clone, Copy)]
pub(super) struct Keeps {
    pub(super) origins: bool,
    pub(super) changes: bool,
}

/// How resources become objects.
#[derive(Clone, Copy)]
pub(super) struct Making<'m> {
    pub(super) schema: &'m Schema,
    pub(super) keeps: Keeps,
    pub(super) places: Option<&'m dyn EntryPlaces>,
}

impl Build {
    pub(super) fn of(
        resources: Resources,
        making: Making<'_>,
        threads: usize,
        warnings: Vec<Diagnostic>,
    ) -> Result<Self> {
        let mut list = resources.into_list();
        let made = share(&mut list, threads, |part| {
            let objects = part.iter_mut().map(|resource| object(resource, &making));
            objects.collect::<Vec<_>>()
        });
        let mut wrong = Gathered::default();
        let objects = made.into_iter().flatten().filter_map(|object| wrong.take(object)).collect();
        wrong.finish()?;
        Ok(Self { objects, warnings, threads })
    }

    /// The objects as kustomize prints them.
    pub fn to_yaml(&self) -> String {
        let mut parts: Vec<&BuiltObject> = self.objects.iter().collect();
        let texts = share(&mut parts, self.threads, |part| {
            let mut text = String::new();
            for object in part {
                text.push_str("---\n");
                text.push_str(&object.content.to_yaml());
            }
            text
        });
        let mut text = texts.concat();
        if text.starts_with("---\n") {
            // Objects are separated by lines; there is none before the first.
            text.drain(.."---\n".len());
        }
        text
    }

    /// The objects, in order.
    pub fn objects(&self) -> impl Iterator<Item = Value> {
        self.objects.iter().map(|object| object.content.to_value())
    }

    /// The objects, in order, moved out.
    pub fn into_objects(self) -> Vec<Value> {
        self.objects.into_iter().map(|object| object.content.into_value()).collect()
    }

    /// The objects, in order, each with the place that it is written at, if the build was asked for places.
    pub fn into_placed_objects(self) -> Vec<(Value, Option<Place>)> {
        let objects = self.objects.into_iter();
        objects.map(|object| (object.content.into_value(), object.place)).collect()
    }

    /// One file for each object, with kustomize's names: kind and name, and the namespace if there are several.
    pub fn to_files(&self) -> BTreeMap<String, String> {
        let ids = self.objects.iter().map(|object| object.id.effective_namespace());
        let namespaces: BTreeSet<&str> = ids.filter(|name| *name != CLUSTER_SCOPED).collect();
        let mut files = BTreeMap::new();
        for BuiltObject { content, id, .. } in &self.objects {
            let namespace = id.effective_namespace();
            let is_told = namespaces.len() > 1 && namespace != CLUSTER_SCOPED;
            let parts = [
                if is_told { namespace } else { "" },
                &id.gvk.group,
                &id.gvk.version,
                &id.gvk.kind,
                &id.name,
            ];
            let parts: Vec<String> =
                parts.into_iter().filter(|part| !part.is_empty()).map(str::to_lowercase).collect();
            files.insert(format!("{}.yaml", parts.join("_")), content.to_yaml());
        }
        files
    }

    /// Deprecation warnings.
    pub fn warnings(&self) -> &[Diagnostic] {
        &self.warnings
    }
}

/// Converts a resource to an object.
fn object(resource: &mut Resource, making: &Making<'_>) -> Result<BuiltObject> {
    strip(resource, making.keeps)?;
    let id = resource.id(making.schema);
    let place = making.places.and_then(|entries| resource.place(entries));
    let node = std::mem::take(&mut resource.node);
    if node.is_ordinary() {
        return Ok(BuiltObject { content: Content::Tree(node), id, place });
    }
    let value = node.marshal_json().map_err(|error| {
        let failure = Failure::from(error).about(Resource::describe(&node));
        match &resource.file {
            Some(file) => failure.in_file_at(file, node.position),
            None => failure,
        }
    })?;
    Ok(BuiltObject { content: Content::Value(value), id, place })
}

/// Removes build annotations, and annotations that were not requested.
fn strip(resource: &mut Resource, keeps: Keeps) -> Result<()> {
    resource.edit_annotations(|annotations| {
        for name in annotation::OF_THE_BUILD {
            annotations.remove(name);
        }
        if !keeps.origins {
            annotations.remove(annotation::ORIGIN);
        }
        if !keeps.changes {
            annotations.remove(annotation::TRANSFORMATIONS);
        }
    })
}

/// Processes parts of a list in parallel if that pays; the results are in order.
pub(crate) fn share<T: Send, R: Send>(
    list: &mut [T],
    threads: usize,
    work: impl Fn(&mut [T]) -> R + Sync,
) -> Vec<R> {
    let threads = threads.min(list.len() / WORTH_A_THREAD).max(1);
    if threads == 1 {
        return vec![work(list)];
    }
    let mut parts = list.chunks_mut(list.len().div_ceil(threads));
    let own = parts.next();
    std::thread::scope(|scope| {
        let running: Vec<_> = parts.map(|part| scope.spawn(|| work(part))).collect();
        // The current thread takes part: its memory grows more cheaply than that of new threads.
        let first = own.map(&work);
        let joined = running.into_iter().map(std::thread::ScopedJoinHandle::join);
        let rest = joined.map(|it| it.unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        first.into_iter().chain(rest).collect()
    })
}
