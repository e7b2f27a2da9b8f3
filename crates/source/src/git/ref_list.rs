//! Lists of refs from a server, filtered and bounded.

use super::error::{Cause, malformed, shown};
use super::object::ObjectId;
use super::pack::GitLimits;
use super::protocol::refuse_error;
use super::remote::RemoteRef;

/// Collects refs within limits. Drops invalid names, and names that were not requested.
#[derive(Debug)]
pub(super) struct RefReader {
    prefixes: Vec<String>,
    found: Vec<RemoteRef>,
    /// The number of listed refs, including dropped ones.
    listed: u64,
    bytes: u64,
    limits: GitLimits,
}

impl RefReader {
    /// Keeps refs that begin with one of the prefixes; all if there is no prefix.
    pub(super) fn new(prefixes: &[String], limits: GitLimits) -> Self {
        Self { prefixes: prefixes.to_vec(), found: Vec::new(), listed: 0, bytes: 0, limits }
    }

    /// Takes a line of the response to `ls-refs`.
    pub(super) fn take(&mut self, line: &str) -> Result<(), Cause> {
        refuse_error(line)?;
        let mut words = line.split(' ');
        let (Some(id), Some(name)) = (words.next(), words.next()) else {
            return Err(malformed(format!("ref line {:?}", shown(line))));
        };
        if id == "unborn" {
            return self.count();
        }
        let peeled =
            words.find_map(|field| field.strip_prefix("peeled:")).map(str::parse).transpose()?;
        self.add(name, id.parse()?, peeled)
    }

    /// Takes a ref.
    pub(super) fn add(
        &mut self,
        name: &str,
        id: ObjectId,
        peeled: Option<ObjectId>,
    ) -> Result<(), Cause> {
        self.count()?;
        let limit = self.limits.ref_name_bytes;
        if name.len() as u64 > limit {
            return Err(Cause::TooLarge { what: "bytes in the name of a reference", limit });
        }
        let is_wanted =
            self.prefixes.is_empty() || self.prefixes.iter().any(|start| name.starts_with(start));
        if !is_wanted || !is_ref_name(name) {
            return Ok(());
        }
        self.bytes += name.len() as u64;
        let limit = self.limits.ref_names_bytes;
        if self.bytes > limit {
            return Err(Cause::TooLarge { what: "bytes in the names of references", limit });
        }
        self.found.push(RemoteRef { name: name.to_owned(), id, peeled });
        Ok(())
    }

    /// Sets the peeled id of the last ref, if it has this name.
    pub(super) fn peel_last(&mut self, name: &str, id: ObjectId) {
        if let Some(last) = self.found.last_mut().filter(|last| last.name == name) {
            last.peeled = Some(id);
        }
    }

    /// The number of listed refs.
    pub(super) fn listed(&self) -> u64 {
        self.listed
    }

    /// The refs that were kept.
    pub(super) fn take_refs(&mut self) -> Vec<RemoteRef> {
        std::mem::take(&mut self.found)
    }

    fn count(&mut self) -> Result<(), Cause> {
        self.listed += 1;
        if self.listed > self.limits.refs {
            return Err(Cause::TooLarge { what: "refs", limit: self.limits.refs });
        }
        Ok(())
    }
}

/// Whether a name is a valid ref name (`git check-ref-format`) or `HEAD`.
fn is_ref_name(name: &str) -> bool {
    let is_part = |part: &str| {
        let is_lock = part.len() >= 5 && part.as_bytes().ends_with(b".lock");
        !part.is_empty() && !part.starts_with('.') && !is_lock
    };
    let is_bad = |sign: char| sign.is_control() || " ~^:?*[\\".contains(sign);
    let has_root = name.starts_with("refs/") || name == "HEAD";
    has_root
        && name.split('/').all(is_part)
        && !name.contains(is_bad)
        && !name.contains("..")
        && !name.contains("@{")
        && !name.ends_with('.')
}
