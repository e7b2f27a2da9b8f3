//! What Flux does around a kustomize build, as plain functions: no client, no controller, no disk.
//!
//! ```text
//! artifact ─ SecureTree ─ generate ─▶ OverlayTree ─ secure_build ─▶ objects ─ substitute ─▶ metadata ─▶ apply
//! ```
//!
//! `generate` answers with the kustomization file that `fluxcd/pkg/kustomize` would write into the
//! artifact, as a tree on top of it; `secure` keeps every path below the artifact's root; `substitute`
//! replaces variables in what was built, in the grammar that `envsubst` has.

mod envsubst;
mod generate;
mod metadata;
mod overlay;
mod reads;
mod secure;
mod substitute;

pub use envsubst::{Envsubst, EnvsubstError, Missing, Template};
pub use generate::{Generated, Ignore, Overrides, generate};
pub use metadata::set_common_metadata;
pub use overlay::OverlayTree;
pub use reads::{LoggedRemote, LoggedTree, ReadLog};
pub use secure::{SecureTree, secure_build};
pub use substitute::{Mode, Strategy, Substitution, Variables, substitute};
