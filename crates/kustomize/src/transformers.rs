//! Transformers: each changes the resources of a build in one way, and lives in one file.

use std::borrow::Cow;

use crate::failure::Result;
use crate::openapi::Schema;
use crate::resources::Resources;

/// One way to change resources.
pub(crate) trait Transformer {
    /// Changes the resources.
    fn transform(&self, resources: &mut Resources, schema: &Schema) -> Result<()>;
}

/// Files as a transformer or generator asks for them: by paths relative to its kustomization, within what
/// the build may read.
pub(crate) trait Load {
    /// The content of a file.
    fn load(&self, path: &str) -> Result<Cow<'_, [u8]>>;

    /// The directory of the kustomization.
    fn root(&self) -> &str;
}
