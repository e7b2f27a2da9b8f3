//! The implementations of functions. Each takes values of any type, because calls over dynamic values are dispatched
//! at run time.

pub(crate) mod cidr;
pub(crate) mod clock;
pub(crate) mod convert;
pub(crate) mod encoders;
pub(crate) mod format;
pub(crate) mod formats;
pub(crate) mod ip;
pub(crate) mod lists;
pub(crate) mod numbers;
pub(crate) mod operators;
pub(crate) mod optionals;
pub(crate) mod quantity;
pub(crate) mod regexes;
pub(crate) mod semver;
pub(crate) mod strings;
pub(crate) mod url;

use crate::value::{EvalError, Outcome, Value};
use regexes::Pattern;

/// What a function may need to know besides its arguments.
pub(crate) struct Call<'c> {
    /// Its name.
    pub(crate) function: &'c str,
    /// The overload, if only one fits.
    pub(crate) overload: Option<&'static str>,
    /// The pattern, if it was constant and has been compiled.
    pub(crate) pattern: Option<&'c Pattern>,
    /// Whether `format` follows its later rules.
    pub(crate) later_format: bool,
}

impl Call<'_> {
    /// The error of arguments that no overload of the function takes.
    pub(crate) fn mismatch(&self, args: &[Value]) -> EvalError {
        let types: Vec<&str> = args.iter().map(Value::type_name).collect();
        EvalError::new(format!("no such overload: {}({})", self.function, types.join(", ")))
    }
}

/// A function.
pub(crate) type Implementation = for<'c, 'v> fn(&Call<'c>, &[Value<'v>]) -> Outcome<'v>;

/// The function of this name; calling conventions that need the evaluator are not here.
pub(crate) fn implementation(name: &str) -> Option<Implementation> {
    operators::find(name)
        .or_else(|| convert::find(name))
        .or_else(|| strings::find(name))
        .or_else(|| clock::find(name))
        .or_else(|| lists::find(name))
        .or_else(|| optionals::find(name))
        .or_else(|| regexes::find(name))
        .or_else(|| url::find(name))
        .or_else(|| ip::find(name))
        .or_else(|| cidr::find(name))
        .or_else(|| quantity::find(name))
        .or_else(|| formats::find(name))
        .or_else(|| encoders::find(name))
}
