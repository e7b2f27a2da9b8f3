//! Git objects: their ids, and a collection of them in memory.

use std::collections::HashMap;
use std::fmt;
use std::str::FromStr;

use bytes::Bytes;
use sha1_checked::{Digest as _, Sha1};

use super::error::{Cause, malformed, shown};
use crate::artifact::hex;

/// The SHA-1 id of an object.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectId([u8; 20]);

/// The type of an object.
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

/// An object without its id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Object {
    /// Its type.
    pub kind: ObjectKind,
    /// Its content.
    pub data: Bytes,
}

/// Objects by id. Ids are always computed from the content, never taken from the remote.
#[derive(Debug, Clone, Default)]
pub struct Objects {
    by_id: HashMap<ObjectId, Object>,
}

/// Computes ids, and detects crafted SHA-1 collisions.
#[derive(Default)]
struct Hasher(Sha1);

impl Hasher {
    fn of(kind: ObjectKind, data: &[u8]) -> Self {
        let mut hasher = Self::default();
        hasher.feed(format!("{} {}\0", kind.name(), data.len()).as_bytes());
        hasher.feed(data);
        hasher
    }

    fn feed(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    fn finish(self) -> Result<ObjectId, Cause> {
        let result = self.0.try_finalize();
        let id = ObjectId((*result.hash()).into());
        if result.has_collision() { Err(Cause::Collision(id.to_string())) } else { Ok(id) }
    }
}

impl ObjectId {
    /// The id of an object of our own. Received objects go through [`Objects::receive`].
    pub fn of(kind: ObjectKind, data: &[u8]) -> Self {
        let mut context = ring::digest::Context::new(&ring::digest::SHA1_FOR_LEGACY_USE_ONLY);
        context.update(format!("{} {}\0", kind.name(), data.len()).as_bytes());
        context.update(data);
        let mut id = [0; 20];
        id.copy_from_slice(context.finish().as_ref());
        Self(id)
    }

    /// The id from its binary form.
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
            return Err(malformed(format!("{:?} is not an object name", shown(text))));
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
    /// The name in an object's header.
    pub fn name(self) -> &'static str {
        match self {
            Self::Commit => "commit",
            Self::Tree => "tree",
            Self::Blob => "blob",
            Self::Tag => "tag",
        }
    }

    /// Parses a name.
    pub fn of_name(name: &str) -> Option<Self> {
        [Self::Commit, Self::Tree, Self::Blob, Self::Tag]
            .into_iter()
            .find(|kind| kind.name() == name)
    }
}

impl Objects {
    /// Adds a received object, unless it is part of a SHA-1 collision.
    pub fn receive(&mut self, kind: ObjectKind, data: Bytes) -> Result<ObjectId, Cause> {
        let id = Hasher::of(kind, &data).finish()?;
        self.by_id.entry(id).or_insert(Object { kind, data });
        Ok(id)
    }

    /// Adds an object of our own and returns its id.
    pub fn insert(&mut self, kind: ObjectKind, data: impl Into<Bytes>) -> ObjectId {
        let data = data.into();
        let id = ObjectId::of(kind, &data);
        self.by_id.entry(id).or_insert(Object { kind, data });
        id
    }

    /// The object with an id.
    pub fn get(&self, id: &ObjectId) -> Option<&Object> {
        self.by_id.get(id)
    }

    /// Whether the object is in the collection.
    pub fn contains(&self, id: &ObjectId) -> bool {
        self.by_id.contains_key(id)
    }

    /// The number of objects.
    pub fn len(&self) -> usize {
        self.by_id.len()
    }

    /// Whether the collection is empty.
    pub fn is_empty(&self) -> bool {
        self.by_id.is_empty()
    }

    /// Adds all objects of another collection.
    pub fn extend(&mut self, other: Self) {
        self.by_id.extend(other.by_id);
    }

    /// The content of an object; an error if it is missing or of another type.
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

#[cfg(test)]
mod tests {
    use super::*;

    /// The prefixes of the two files of 2017 with the same SHA-1.
    const SHATTERED: [&[u8]; 2] =
        [include_bytes!("object/shattered-1.bin"), include_bytes!("object/shattered-2.bin")];

    #[test]
    fn content_that_was_made_to_collide_has_no_name() {
        let plain = |bytes: &[u8]| {
            ring::digest::digest(&ring::digest::SHA1_FOR_LEGACY_USE_ONLY, bytes).as_ref().to_vec()
        };
        assert_ne!(SHATTERED[0], SHATTERED[1]);
        assert_eq!(plain(SHATTERED[0]), plain(SHATTERED[1]), "published as a collision");
        for bytes in SHATTERED {
            let mut hasher = Hasher::default();
            hasher.feed(bytes);
            let error = hasher.finish().expect_err("a collision");
            assert!(error.to_string().contains("SHA-1 collision"), "{error}");
        }
    }

    #[test]
    fn what_is_received_has_the_name_that_git_gives() {
        let mut objects = Objects::default();
        for (kind, data) in
            [(ObjectKind::Blob, "hello\n".to_owned()), (ObjectKind::Tree, String::new())]
        {
            let id = objects.receive(kind, data.clone().into()).expect("no collision");
            assert_eq!(id, ObjectId::of(kind, data.as_bytes()));
        }
        let id = ObjectId::of(ObjectKind::Blob, b"hello\n");
        assert_eq!(id.to_string(), "ce013625030ba8dba906f756967f9e9ca394464a");
    }
}
