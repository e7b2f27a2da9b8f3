//! Commits and tags: their fields, their signature and the signed payload.

use jiff::Timestamp;

use super::error::{Cause, malformed};
use super::object::{ObjectId, ObjectKind, Objects};

/// The author, committer or tagger: a person and a time.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Identity {
    /// Name.
    pub name: String,
    /// Mail address.
    pub email: String,
    /// The time.
    pub when: Timestamp,
}

/// A commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Commit {
    /// Its object id.
    pub id: ObjectId,
    /// The root directory.
    pub tree: ObjectId,
    /// The parent commits.
    pub parents: Vec<ObjectId>,
    /// The author.
    pub author: Identity,
    /// The committer.
    pub committer: Identity,
    /// The message.
    pub message: String,
    /// The armored signature; empty if there is none.
    pub signature: String,
    /// The number of signatures; verification requires exactly one.
    pub signatures: usize,
    /// The commit without its signature, which is what was signed.
    pub payload: Vec<u8>,
}

/// An annotated tag.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tag {
    /// Its object id.
    pub id: ObjectId,
    /// The object it points at.
    pub target: ObjectId,
    /// The kind of that object.
    pub target_kind: ObjectKind,
    /// Its name as a tag.
    pub name: String,
    /// The tagger.
    pub tagger: Identity,
    /// The message.
    pub message: String,
    /// The armored signature; empty if there is none.
    pub signature: String,
    /// The tag without its signature, which is what was signed.
    pub payload: Vec<u8>,
}

/// The starts of signatures at the end of a tag.
const SIGNATURE_STARTS: [&[u8]; 3] = [
    b"-----BEGIN PGP SIGNATURE-----",
    b"-----BEGIN SSH SIGNATURE-----",
    b"-----BEGIN SIGNED MESSAGE-----",
];

impl Commit {
    /// Parses a commit of a collection.
    pub fn find(objects: &Objects, id: ObjectId) -> Result<Self, Cause> {
        Self::parse(id, objects.expect(&id, ObjectKind::Commit)?)
    }

    /// Parses a commit.
    pub fn parse(id: ObjectId, data: &[u8]) -> Result<Self, Cause> {
        let mut commit = Self {
            id,
            tree: id,
            parents: Vec::new(),
            author: Identity::default(),
            committer: Identity::default(),
            message: String::new(),
            signature: String::new(),
            signatures: 0,
            payload: Vec::with_capacity(data.len()),
        };
        let mut order = HeaderOrder::new("commit", id, COMMIT_HEADERS);
        let (headers, message) = split_headers(data);
        let mut key: &[u8] = b"";
        for line in headers {
            // A line with a leading space continues the header before it.
            let (name, value) = split_once(line, b' ');
            let starts = !name.is_empty();
            if starts {
                key = name;
            }
            if starts {
                order.take(key)?;
            }
            match key {
                b"gpgsig" => {
                    commit.signatures += usize::from(starts);
                    commit.signature.push_str(&String::from_utf8_lossy(value));
                    commit.signature.push('\n');
                    continue;
                }
                b"gpgsig-sha256" => continue,
                b"tree" if starts => commit.tree = id_of(value)?,
                b"parent" if starts => commit.parents.push(id_of(value)?),
                b"author" if starts => commit.author = Identity::parse(value),
                b"committer" if starts => commit.committer = Identity::parse(value),
                _ => {}
            }
            commit.payload.extend_from_slice(line);
            commit.payload.push(b'\n');
        }
        order.finish()?;
        if let Some(message) = message {
            commit.payload.push(b'\n');
            commit.payload.extend_from_slice(message);
            commit.message = String::from_utf8_lossy(message).into_owned();
        }
        Ok(commit)
    }

    /// The first line of the message, cut after 50 characters.
    pub fn short_message(&self) -> String {
        let subject = self.message.split('\n').next().unwrap_or_default();
        match subject.char_indices().nth(50) {
            Some((end, _)) => format!("{}...", subject.get(..end).unwrap_or(subject)),
            None => subject.to_owned(),
        }
    }
}

impl Tag {
    /// Parses a tag of a collection.
    pub fn find(objects: &Objects, id: ObjectId) -> Result<Self, Cause> {
        Self::parse(id, objects.expect(&id, ObjectKind::Tag)?)
    }

    /// Parses a tag.
    pub fn parse(id: ObjectId, data: &[u8]) -> Result<Self, Cause> {
        let signed_at = SIGNATURE_STARTS
            .iter()
            .filter_map(|start| last_line_start(data, start))
            .max()
            .unwrap_or(data.len());
        let (payload, signature) = data.split_at(signed_at);
        let (headers, message) = split_headers(payload);
        let (mut target, mut target_kind) = (None, None);
        let mut name = String::new();
        let mut tagger = Identity::default();
        let mut order = HeaderOrder::new("tag", id, TAG_HEADERS);
        for line in headers {
            let (key, value) = split_once(line, b' ');
            order.take(key)?;
            match key {
                b"object" => target = Some(id_of(value)?),
                b"type" => target_kind = ObjectKind::of_name(&String::from_utf8_lossy(value)),
                b"tag" => name = String::from_utf8_lossy(value).into_owned(),
                b"tagger" => tagger = Identity::parse(value),
                _ => {}
            }
        }
        order.finish()?;
        let (Some(target), Some(target_kind)) = (target, target_kind) else {
            return Err(malformed(format!("tag {id} points at nothing")));
        };
        Ok(Self {
            id,
            target,
            target_kind,
            name,
            tagger,
            message: String::from_utf8_lossy(message.unwrap_or_default()).into_owned(),
            signature: String::from_utf8_lossy(signature).into_owned(),
            payload: payload.to_vec(),
        })
    }
}

impl Identity {
    /// Parses `Name <mail> seconds zone`; invalid parts are empty, as in git.
    fn parse(value: &[u8]) -> Self {
        let text = String::from_utf8_lossy(value);
        let Some((name, rest)) = text.split_once('<') else {
            return Self { name: text.trim().to_owned(), ..Self::default() };
        };
        let (email, rest) = rest.rsplit_once('>').unwrap_or((rest, ""));
        let seconds = rest.split_whitespace().next().and_then(|seconds| seconds.parse().ok());
        let when = seconds.and_then(|seconds| Timestamp::from_second(seconds).ok());
        Self {
            name: name.trim().to_owned(),
            email: email.to_owned(),
            when: when.unwrap_or_default(),
        }
    }
}

/// The headers that git expects in a fixed order. Git stops at the first unexpected one and never looks for
/// them again: only we would read a later header of the same name.
const COMMIT_HEADERS: &[Header] = &[
    Header { name: b"tree", repeats: false, needed: true },
    Header { name: b"parent", repeats: true, needed: false },
    Header { name: b"author", repeats: false, needed: false },
    Header { name: b"committer", repeats: false, needed: false },
];
const TAG_HEADERS: &[Header] = &[
    Header { name: b"object", repeats: false, needed: true },
    Header { name: b"type", repeats: false, needed: true },
    Header { name: b"tag", repeats: false, needed: false },
    Header { name: b"tagger", repeats: false, needed: false },
];

struct Header {
    name: &'static [u8],
    repeats: bool,
    needed: bool,
}

/// Checks the order of an object's headers.
struct HeaderOrder {
    object: &'static str,
    id: ObjectId,
    headers: &'static [Header],
    /// The next header that is allowed.
    next: usize,
    /// Whether other headers have begun; none of the ordered ones may follow.
    is_over: bool,
}

impl HeaderOrder {
    fn new(object: &'static str, id: ObjectId, headers: &'static [Header]) -> Self {
        Self { object, id, headers, next: 0, is_over: false }
    }

    fn take(&mut self, name: &[u8]) -> Result<(), Cause> {
        let Some(place) = self.headers.iter().position(|header| header.name == name) else {
            self.is_over = true;
            return Ok(());
        };
        let skipped = self.headers.get(self.next..place).unwrap_or_default();
        if self.is_over || place < self.next || skipped.iter().any(|header| header.needed) {
            return Err(self.broken(name));
        }
        self.next = if self.headers.get(place).is_some_and(|header| header.repeats) {
            place
        } else {
            place + 1
        };
        Ok(())
    }

    fn finish(&self) -> Result<(), Cause> {
        let missing = self.headers.get(self.next..).unwrap_or_default();
        match missing.iter().find(|header| header.needed) {
            Some(header) => {
                let name = String::from_utf8_lossy(header.name);
                Err(malformed(format!("{} {} has no {name}", self.object, self.id)))
            }
            None => Ok(()),
        }
    }

    fn broken(&self, name: &[u8]) -> Cause {
        let name = String::from_utf8_lossy(name);
        malformed(format!("{} {} has its {name} header out of place", self.object, self.id))
    }
}

/// The parents of a commit, which follow its tree.
pub(super) fn parents(data: &[u8]) -> Result<Vec<ObjectId>, Cause> {
    let (headers, _) = split_headers(data);
    let lines = headers.skip(1).map(|line| split_once(line, b' '));
    lines.take_while(|(name, _)| *name == b"parent").map(|(_, id)| id_of(id)).collect()
}

/// The header lines, and the message after the empty line.
fn split_headers(data: &[u8]) -> (impl Iterator<Item = &[u8]>, Option<&[u8]>) {
    let end = data.windows(2).position(|pair| pair == b"\n\n");
    let (headers, message) = match end {
        Some(end) => (data.get(..end), data.get(end + 2..)),
        None => (data.strip_suffix(b"\n").or(Some(data)), None),
    };
    (headers.unwrap_or_default().split(|byte| *byte == b'\n'), message)
}

fn split_once(line: &[u8], separator: u8) -> (&[u8], &[u8]) {
    match line.iter().position(|byte| *byte == separator) {
        Some(at) => (line.get(..at).unwrap_or_default(), line.get(at + 1..).unwrap_or_default()),
        None => (line, &[]),
    }
}

fn id_of(value: &[u8]) -> Result<ObjectId, Cause> {
    String::from_utf8_lossy(value).parse()
}

/// The start of the last line that begins with a text.
fn last_line_start(data: &[u8], start: &[u8]) -> Option<usize> {
    let mut at = 0;
    let mut found = None;
    for line in data.split_inclusive(|byte| *byte == b'\n') {
        if line.starts_with(start) {
            found = Some(at);
        }
        at += line.len();
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const TREE: &str = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";

    #[test]
    fn a_signature_is_taken_out_of_the_payload() {
        let plain = format!(
            "tree {TREE}\nparent {TREE}\nauthor A B <a@b> 12 +0000\ncommitter C <c@d> 34 +0100\n\
             encoding UTF-8\n\nsubject\n\nbody\n"
        );
        let signed = plain.replace(
            "encoding",
            "gpgsig -----BEGIN PGP SIGNATURE-----\n \n abc\n -----END PGP SIGNATURE-----\nencoding",
        );
        let id = ObjectId::of(ObjectKind::Commit, signed.as_bytes());
        let commit = Commit::parse(id, signed.as_bytes()).expect("a commit");
        assert_eq!(commit.payload, plain.as_bytes());
        assert_eq!(
            commit.signature,
            "-----BEGIN PGP SIGNATURE-----\n\nabc\n-----END PGP SIGNATURE-----\n"
        );
        assert_eq!(commit.author.name, "A B");
        assert_eq!(commit.committer.when.as_second(), 34);
        assert_eq!((commit.parents.len(), commit.short_message().as_str()), (1, "subject"));
    }

    #[test]
    fn a_tag_is_signed_at_its_end() {
        let plain = format!("object {TREE}\ntype tree\ntag v1\ntagger A <a@b> 1 +0000\n\nfirst\n");
        let signed = format!("{plain}-----BEGIN SSH SIGNATURE-----\nabc\n");
        let id = ObjectId::of(ObjectKind::Tag, signed.as_bytes());
        let tag = Tag::parse(id, signed.as_bytes()).expect("a tag");
        assert_eq!(tag.payload, plain.as_bytes());
        assert!(tag.signature.starts_with("-----BEGIN SSH"));
        assert_eq!((tag.name.as_str(), tag.target_kind), ("v1", ObjectKind::Tree));
    }

    #[test]
    fn the_subject_is_cut_after_fifty_characters() {
        let id = ObjectId::of(ObjectKind::Commit, b"");
        let text = format!("tree {TREE}\n\n{}\n", "é".repeat(51));
        let commit = Commit::parse(id, text.as_bytes()).expect("a commit");
        assert_eq!(commit.short_message(), format!("{}...", "é".repeat(50)));
    }
}
