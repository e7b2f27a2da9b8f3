//! Peels a tag to its commit by the objects themselves, without trusting the server.

use super::commit::{Commit, Tag};
use super::error::{Cause, malformed};
use super::object::{ObjectId, ObjectKind, Objects};

/// The maximum number of tags that point at tags.
const DEEPEST: usize = 8;

/// The commit that an object leads to, and the outermost tag on the way.
pub(super) fn peel(objects: &Objects, id: ObjectId) -> Result<(Commit, Option<Tag>), Cause> {
    let mut outermost: Option<Tag> = None;
    let mut at = id;
    let mut named: Option<ObjectKind> = None;
    for _ in 0..=DEEPEST {
        let object = objects.get(&at).ok_or_else(|| Cause::ObjectNotFound(at.to_string()))?;
        // The type that a tag states for its target has to be true.
        if let Some(kind) = named {
            objects.expect(&at, kind)?;
        }
        match object.kind {
            ObjectKind::Commit => return Ok((Commit::parse(at, &object.data)?, outermost)),
            ObjectKind::Tag => {
                let tag = Tag::parse(at, &object.data)?;
                at = tag.target;
                named = Some(tag.target_kind);
                outermost.get_or_insert(tag);
            }
            other if named.is_none() => {
                return Err(malformed(format!("object {at} is a {}, not a commit", other.name())));
            }
            other => return Err(malformed(format!("tag {id} leads to a {}", other.name()))),
        }
    }
    Err(Cause::TooLarge { what: "tags in each other", limit: DEEPEST as u64 })
}
