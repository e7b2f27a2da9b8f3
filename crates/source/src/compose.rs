//! A tree made of parts of other trees, by copying as `cp` does: what an ArtifactGenerator asks for.
//!
//! Sources are known by an alias. A step takes `@alias/path or pattern` and puts it at `@artifact/path`;
//! steps are done in order, and later ones replace, or merge into, what earlier ones left.

mod copy;
mod hash;
mod merge;
mod pattern;

use std::collections::BTreeMap;
use std::sync::Arc;

pub use hash::content_hash;

use crate::tree::SourceTree;

/// What a step does with what is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Strategy {
    /// Files replace files.
    #[default]
    Overwrite,
    /// YAML files are merged into YAML files, as values of Helm charts are.
    Merge,
    /// Archives are unpacked.
    Extract,
}

/// One step.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CopyStep {
    /// What, as `@alias/pattern`.
    pub from: String,
    /// Where to, as `@artifact/path`.
    pub to: String,
    /// Patterns of what is left out.
    pub exclude: Vec<String>,
    /// What happens to what is there.
    pub strategy: Strategy,
}

/// Why a tree cannot be made; says the step and what is wrong with it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ComposeError(String);

impl ComposeError {
    fn new(words: impl Into<String>) -> Self {
        Self(words.into())
    }
}

/// Sources by their alias.
pub type Sources = BTreeMap<String, Arc<SourceTree>>;

/// Does the steps, one after another.
pub fn compose(steps: &[CopyStep], sources: &Sources) -> Result<SourceTree, ComposeError> {
    let mut made = SourceTree::default();
    for step in steps {
        copy::apply(step, sources, &mut made).map_err(|error| {
            ComposeError(format!(
                "failed to apply copy operations: failed to apply copy operation from '{}' to '{}': {error}",
                step.from, step.to
            ))
        })?;
    }
    Ok(made)
}

#[cfg(test)]
mod tests;
