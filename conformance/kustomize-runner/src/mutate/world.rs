//! What a mutation needs to know about a tree: its layers, and the objects each of them sees.

use serde_json::{Map, Value};

use crate::case::{Request, absolute};
use crate::mutate::random::Random;

/// The names a kustomization file may have.
pub(crate) const FILE_NAMES: [&str; 3] =
    ["kustomization.yaml", "kustomization.yml", "Kustomization"];

/// A kustomization that the build reaches.
#[derive(Clone, Debug)]
pub(crate) struct Layer {
    /// Its file.
    pub(crate) file: String,
    /// Its directory.
    pub(crate) directory: String,
    /// What it says.
    pub(crate) fields: Map<String, Value>,
    /// The objects that come through it, by their place in the world.
    pub(crate) objects: Vec<usize>,
}

/// An object in a file.
#[derive(Clone, Debug)]
pub(crate) struct Object {
    /// Its file.
    pub(crate) file: String,
    /// The whole object.
    pub(crate) value: Value,
}

impl Object {
    /// A field of it as text, or nothing.
    pub(crate) fn text(&self, pointer: &str) -> &str {
        self.value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
    }

    /// Its kind.
    pub(crate) fn kind(&self) -> &str {
        self.text("/kind")
    }

    /// Its name.
    pub(crate) fn name(&self) -> &str {
        self.text("/metadata/name")
    }
}

/// All layers, the root first, and all objects.
#[derive(Clone, Debug, Default)]
pub(crate) struct World {
    pub(crate) layers: Vec<Layer>,
    pub(crate) objects: Vec<Object>,
}

impl World {
    /// Looks a tree through from its root.
    pub(crate) fn of(request: &Request) -> Self {
        let mut world = Self::default();
        world.visit(request, &request.absolute_root(), 0);
        world
    }

    fn visit(&mut self, request: &Request, directory: &str, depth: usize) -> Vec<usize> {
        let file = FILE_NAMES
            .iter()
            .map(|name| absolute(directory, name))
            .find(|file| request.files.contains_key(file));
        let Some(file) = file.filter(|_| depth < 12) else { return Vec::new() };
        let Some(Value::Object(fields)) =
            request.files.get(&file).and_then(|text| read(text).pop())
        else {
            return Vec::new();
        };
        let place = self.layers.len();
        let seen = self.layers.iter().any(|layer| layer.file == file);
        if !seen {
            self.layers.push(Layer {
                file,
                directory: directory.to_owned(),
                fields: fields.clone(),
                objects: Vec::new(),
            });
        }
        let mut objects = Vec::new();
        for field in ["resources", "bases", "components"] {
            for entry in fields.get(field).and_then(Value::as_array).into_iter().flatten() {
                let path = absolute(directory, entry.as_str().unwrap_or_default());
                if let Some(text) = request.files.get(&path) {
                    objects.extend(self.read_objects(&path, text));
                } else {
                    objects.extend(self.visit(request, &path, depth + 1));
                }
            }
        }
        if let Some(layer) = self.layers.get_mut(place).filter(|_| !seen) {
            layer.objects.clone_from(&objects);
        }
        objects
    }

    fn read_objects(&mut self, file: &str, text: &str) -> Vec<usize> {
        let known = self.objects.iter().enumerate().filter(|(_, object)| object.file == file);
        let known: Vec<usize> = known.map(|(index, _)| index).collect();
        if !known.is_empty() {
            return known;
        }
        let start = self.objects.len();
        let objects = read(text).into_iter().filter(|value| value.get("kind").is_some());
        self.objects.extend(objects.map(|value| Object { file: file.to_owned(), value }));
        (start..self.objects.len()).collect()
    }

    /// Some layer.
    pub(crate) fn layer(&self, random: &mut Random) -> Option<&Layer> {
        random.pick(&self.layers)
    }

    /// Some layer and an object that comes through it.
    pub(crate) fn pair(&self, random: &mut Random) -> Option<(&Layer, &Object)> {
        self.pair_where(random, |_| true)
    }

    /// The same with a condition on the object.
    pub(crate) fn pair_where(
        &self,
        random: &mut Random,
        fits: impl Fn(&Object) -> bool,
    ) -> Option<(&Layer, &Object)> {
        let layer = self.layer(random)?;
        let objects = layer.objects.iter().filter_map(|index| self.objects.get(*index));
        let fitting: Vec<&Object> = objects.filter(|object| fits(object)).collect();
        random.pick(&fitting).map(|object| (layer, *object))
    }
}

/// The documents of a text that can be read.
pub(crate) fn read(text: &str) -> Vec<Value> {
    let documents = sluice_yaml::parse(text.as_bytes()).unwrap_or_default();
    documents.iter().filter_map(|document| document.to_json().ok()).collect()
}

impl Layer {
    /// Writes the layer's file with a change, which always can be done.
    #[expect(clippy::unnecessary_wraps, reason = "it is what most mutations end with")]
    pub(crate) fn change(
        &self,
        request: &mut Request,
        change: impl FnOnce(&mut Map<String, Value>),
    ) -> Option<()> {
        let mut fields = self.fields.clone();
        change(&mut fields);
        let text = sluice_yaml::from_json(&Value::Object(fields));
        request.files.insert(self.file.clone(), text);
        Some(())
    }

    /// Adds an entry to one of the layer's lists.
    pub(crate) fn append(&self, request: &mut Request, field: &str, entry: Value) -> Option<()> {
        self.change(request, |fields| append(fields, field, entry))
    }

    /// Writes a file of our own beside the layer's, and returns its name.
    pub(crate) fn add_file(&self, request: &mut Request, stem: &str, text: String) -> String {
        let mut number = 1;
        let taken = |number| {
            let name = format!("{stem}-{number}.yaml");
            request.files.contains_key(&absolute(&self.directory, &name))
        };
        while taken(number) {
            number += 1;
        }
        let name = format!("{stem}-{number}.yaml");
        request.files.insert(absolute(&self.directory, &name), text);
        name
    }
}

/// Adds an entry to a list, which may not be there yet.
pub(crate) fn append(fields: &mut Map<String, Value>, field: &str, entry: Value) {
    match fields.get_mut(field) {
        Some(Value::Array(list)) => list.push(entry),
        _ => drop(fields.insert(field.to_owned(), Value::Array(vec![entry]))),
    }
}

/// The paths of all values inside a value that are not the value itself: keys, and places in lists.
pub(crate) fn paths(value: &Value) -> Vec<Vec<String>> {
    fn walk(value: &Value, path: &mut Vec<String>, all: &mut Vec<Vec<String>>) {
        let inner: Vec<(String, &Value)> = match value {
            Value::Object(fields) => fields.iter().map(|(k, v)| (k.clone(), v)).collect(),
            Value::Array(items) => {
                items.iter().enumerate().map(|(i, v)| (i.to_string(), v)).collect()
            }
            _ => Vec::new(),
        };
        for (key, value) in inner {
            path.push(key);
            all.push(path.clone());
            walk(value, path, all);
            path.pop();
        }
    }
    let mut all = Vec::new();
    walk(value, &mut Vec::new(), &mut all);
    all
}

/// A path as a JSON pointer.
pub(crate) fn pointer(path: &[String]) -> String {
    path.iter()
        .fold(String::new(), |text, part| text + "/" + &part.replace('~', "~0").replace('/', "~1"))
}
