//! CEL as Kubernetes and Flux have it, bounded in size and time.
//!
//! ```text
//! text ─ lexer ─ parser (macros, literal) ─► ast        source: positions, errors as cel-go prints them
//!   ─ checker (types, signatures, validators) ─► typed tree, or CompileErrors
//!   ─ estimate ─► the maximum cost, which Kubernetes limits when a definition is created
//!   ─ plan ─► Program ─ eval (functions, value) within a Cost ─► Value, or EvalError
//! ```
//!
//! | part | files |
//! |---|---|
//! | syntax | `lexer`, `parser/` (`recovery` is ANTLR's), `macros` (`all`, `map`, `has`), `literal`, `escape`, `ast` |
//! | types | `types`, `checker/`, `signatures/table` (one row per overload), `validators`, `schema` (structural schemas) |
//! | cost | `estimate/` before, `eval/price` during evaluation |
//! | evaluation | `plan`, `program`, `eval/` (`fold`: comprehensions, `path`: selection), `value/` |
//! | libraries | `functions/`, one file each: strings, lists, regexes, url, ip, cidr, quantity, semver, format, optionals |
//! | users | `kubernetes/`: `x-kubernetes-validations`; `flux`: health checks, readiness expressions, filters |
//!
//! Start reading at [`Env`], which declares variables and libraries and compiles expressions, then `eval.rs`. A new
//! function is a row in `signatures/table.rs`, an implementation in `functions/`, and its cost in `estimate/calls.rs`
//! and `eval/price.rs`. **Invariant:** values borrow from the JSON they come from; messages are cel-go's.

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
