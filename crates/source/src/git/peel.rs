//! From a tag to the commit it leads to, by the objects themselves: a server's word is not asked for.

use super::commit::{Commit, Tag};
use super::error::{Cause, malformed};
use super::object::{ObjectId, ObjectKind, Objects};

/// Tags may point at tags so many times in a row.
const DEEPEST: usize = 8;

/// The commit that an object leads to, and the outermost of the tags on the way.
pub(super) fn peel(objects: &Objects, id: ObjectId) -> Result<(Commit, Option<Tag>), Cause> {
    let mut outermost: Option<Tag> = None;
    let mut at = id;
    let mut named: Option<ObjectKind> = None;
    for _ in 0..=DEEPEST {
        let object = objects.get(&at).ok_or_else(|| Cause::ObjectNotFound(at.to_string()))?;
        // What a tag says about the type of its object is as good as any other claim.
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
