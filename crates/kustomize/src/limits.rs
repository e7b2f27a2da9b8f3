//! Limits of a build. Upstream has none: its process builds for one user, ours for all tenants.
//!
//! A small kustomization can refer to bases that refer to two bases each, and a generator can use one file a
//! thousand times.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::failure::{Failure, Result};

/// The nesting of bases. Each uses stack.
pub(crate) const DEEPEST_BASE: usize = 32;
/// Accumulated directories, each as often as it is referred to.
const MOST_BASES: usize = 10_000;
/// Objects.
const MOST_OBJECTS: usize = 100_000;
/// Bytes of all generator data.
const MOST_GENERATED: usize = 32 << 20;
/// Bytes of a name prefix or suffix; names have 253 at most.
const LONGEST_AFFIX: usize = 1024;
/// Parts of a field path, as deep as documents nest.
const DEEPEST_FIELD: usize = 512;

/// The usage of a build; clones share it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Taken {
    bases: Arc<AtomicUsize>,
    generated: Arc<AtomicUsize>,
}

impl Taken {
    /// Counts an accumulated directory at a depth.
    pub(crate) fn base(&self, depth: usize) -> Result<()> {
        if depth > DEEPEST_BASE {
            return Err(exceeded(DEEPEST_BASE, "bases in each other"));
        }
        within(self.bases.fetch_add(1, Ordering::Relaxed), MOST_BASES, "bases")
    }

    /// Counts generator data.
    pub(crate) fn generated(&self, bytes: usize) -> Result<()> {
        let before = self.generated.fetch_add(bytes, Ordering::Relaxed);
        within(before.saturating_add(bytes), MOST_GENERATED, "bytes of generated data")
    }
}

/// Checks the number of objects of a directory.
pub(crate) fn objects(count: usize) -> Result<()> {
    within(count, MOST_OBJECTS, "objects")
}

/// Checks a name prefix or suffix.
pub(crate) fn affix(text: &str) -> Result<()> {
    within(text.len(), LONGEST_AFFIX, "bytes in a prefix or suffix of names")
}

/// Checks a field path.
pub(crate) fn field_path(path: &str) -> Result<()> {
    let steps = path.bytes().filter(|byte| *byte == b'.').count();
    within(steps, DEEPEST_FIELD, "steps in a field path")
}

fn within(found: usize, limit: usize, what: &str) -> Result<()> {
    if found > limit { Err(exceeded(limit, what)) } else { Ok(()) }
}

fn exceeded(limit: usize, what: &str) -> Failure {
    Failure::new(format!("the build exceeds the limit of {limit} {what}"))
}
