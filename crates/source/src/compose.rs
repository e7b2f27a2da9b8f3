//! Builds a tree of parts of other trees, by copying as `cp` does, for ArtifactGenerators.
//!
//! Sources have aliases. A step copies `@alias/path or pattern` to `@artifact/path`. Steps run in order;
//! later ones replace, or merge into, the files of earlier ones.

mod copy;
mod hash;
mod merge;
mod pattern;

use std::collections::BTreeMap;
use std::sync::Arc;

pub use hash::content_hash;

use crate::tree::SourceTree;

/// How a step treats existing files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Strategy {
    /// Files replace files.
    #[default]
    Overwrite,
    /// YAML files are merged into existing ones, like the values of Helm charts.
    Merge,
    /// Archives are unpacked.
    Extract,
}

/// One copy step.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CopyStep {
    /// The source, as `@alias/pattern`.
    pub from: String,
    /// The destination, as `@artifact/path`.
    pub to: String,
    /// Patterns to exclude.
    pub exclude: Vec<String>,
    /// How existing files are treated.
    pub strategy: Strategy,
}

/// Why a tree cannot be built; names the step.
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

/// Runs the steps in order.
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
