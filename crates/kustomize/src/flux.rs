//! What Flux does around a kustomize build, as plain functions: no client, no controller, no disk.
//!
//! [`build`] is the whole of it: [`generate`] makes the kustomization file that `fluxcd/pkg/kustomize` would write
//! into the artifact, as a tree on top of it; `secure` keeps every path below the artifact's root; [`substitute`]
//! replaces variables in the built objects, in the grammar of `envsubst`.

mod build;
mod envsubst;
mod generate;
mod metadata;
mod overlay;
mod reads;
mod secure;
mod substitute;

pub use build::{
    BuildError, Built, BuiltObject, Decryption, Inputs, ObjectName, Problem, Purpose, Spec, Stage,
    Undecrypted, build,
};
pub use envsubst::{Envsubst, EnvsubstError, Missing, Template};
pub use generate::{Generated, Ignore, Overrides, generate};
pub use metadata::set_common_metadata;
pub use overlay::OverlayTree;
pub use secure::SecureTree;
pub use substitute::{Mode, Strategy, Substitution, Variables, substitute};
