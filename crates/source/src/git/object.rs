//! Objects of a repository: their names, and a collection of them in memory.

use std::collections::HashMap;
use std::fmt;
use std::str::FromStr;

use bytes::Bytes;

use super::error::{Cause, malformed};
use crate::artifact::hex;

/// The SHA-1 name of an object.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectId([u8; 20]);

/// What an object is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ObjectKind {
    /// A commit.
    Commit,
    /// A directory.
    Tree,
    /// The content of a file.
    Blob,
    /// An annotated tag.
    Tag,
}

/// An object without its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Object {
    /// What it is.
    pub kind: ObjectKind,
    /// Its content.
    pub data: Bytes,
}

/// Objects by name. Whatever is in here has the name it is found by: names are computed, never
/// believed.
#[derive(Debug, Clone, Default)]
pub struct Objects {
    by_id: HashMap<ObjectId, Object>,
}

impl ObjectId {
    /// The name of an object.
    pub fn of(kind: ObjectKind, data: &[u8]) -> Self {
        let mut context = ring::digest::Context::new(&ring::digest::SHA1_FOR_LEGACY_USE_ONLY);
        context.update(format!("{} {}\0", kind.name(), data.len()).as_bytes());
        context.update(data);
        let mut id = [0; 20];
        id.copy_from_slice(context.finish().as_ref());
        Self(id)
    }

    /// The name in its binary form.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(Self)
    }

    /// The binary form.
    pub fn as_bytes(&self) -> &[u8; 20] {
        &self.0
    }
}

impl fmt::Display for ObjectId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&hex(&self.0))
    }
}

impl fmt::Debug for ObjectId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

impl FromStr for ObjectId {
    type Err = Cause;

    fn from_str(text: &str) -> Result<Self, Cause> {
        let digit =
            |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
        let mut id = [0; 20];
        let bytes = text.as_bytes();
        if bytes.len() != 40 {
            return Err(malformed(format!("{text:?} is not an object name")));
        }
        for (out, pair) in id.iter_mut().zip(bytes.chunks_exact(2)) {
            let [Some(high), Some(low)] = [pair[0], pair[1]].map(digit) else {
                return Err(malformed(format!("{text:?} is not an object name")));
            };
            *out = high << 4 | low;
        }
        Ok(Self(id))
    }
}

impl ObjectKind {
    /// The word in an object's header.
    pub fn name(self) -> &'static str {
        match self {
            Self::Commit => "commit",
            Self::Tree => "tree",
            Self::Blob => "blob",
            Self::Tag => "tag",
        }
    }

    /// The kind with a name.
    pub fn of_name(name: &str) -> Option<Self> {
        [Self::Commit, Self::Tree, Self::Blob, Self::Tag]
            .into_iter()
            .find(|kind| kind.name() == name)
    }
}

impl Objects {
    /// Adds an object and says its name.
    pub fn insert(&mut self, kind: ObjectKind, data: impl Into<Bytes>) -> ObjectId {
        let data = data.into();
        let id = ObjectId::of(kind, &data);
        self.by_id.entry(id).or_insert(Object { kind, data });
        id
    }

    /// The object with a name.
    pub fn get(&self, id: &ObjectId) -> Option<&Object> {
        self.by_id.get(id)
    }

    /// Whether it is here.
    pub fn contains(&self, id: &ObjectId) -> bool {
        self.by_id.contains_key(id)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.by_id.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.by_id.is_empty()
    }

    /// Takes all of another collection in.
    pub fn extend(&mut self, other: Self) {
        self.by_id.extend(other.by_id);
    }

    /// The content of an object that has to be here and of a kind.
    pub fn expect(&self, id: &ObjectId, kind: ObjectKind) -> Result<&Bytes, Cause> {
        match self.by_id.get(id) {
            Some(object) if object.kind == kind => Ok(&object.data),
            Some(object) => Err(malformed(format!(
                "object {id} is a {}, not a {}",
                object.kind.name(),
                kind.name()
            ))),
            None => Err(Cause::ObjectNotFound(id.to_string())),
        }
    }
}
