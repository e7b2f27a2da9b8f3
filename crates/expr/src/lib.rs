//! CEL as Kubernetes and Flux have it, bounded in size and time.
//!
//! An [`Env`] declares variables and libraries and compiles expressions into [`Program`]s, which
//! are evaluated within a [`Cost`]. Errors of both steps are worded as cel-go words them.

mod ast;
mod checker;
mod env;
mod escape;
mod estimate;
mod eval;
pub mod flux;
mod functions;
pub mod kubernetes;
mod lexer;
mod literal;
mod macros;
mod parser;
mod plan;
mod program;
mod schema;
mod signatures;
mod source;
mod time;
mod types;
mod validators;
mod value;

pub use env::Env;
pub use functions::cidr::Cidr;
pub use functions::formats::Format;
pub use functions::quantity::Quantity;
pub use functions::semver::Semver;
pub use functions::url::Url;
pub use program::{Cost, Program, Variables};
pub use signatures::Library;
pub use source::CompileError;
pub use time::Timestamp;
pub use types::{ObjectType, Type};
pub use value::{EvalError, Key, List, Map, Text, Value};
