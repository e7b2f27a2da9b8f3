//! The functions and their overloads.

mod table;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use crate::types::Type;

/// A group of functions that an environment has or has not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Library {
    /// Operators, conversions and what else the language itself has.
    Core,
    /// Optional values and their syntax.
    Optionals,
    /// Macros with two variables.
    TwoVariables,
    /// `cel.bind`.
    Bindings,
    /// Base64.
    Encoders,
    /// Functions on strings.
    Strings,
    /// `reverse` on strings and the later rules of `format`.
    StringsReverse,
    /// Lists taken as sets.
    Sets,
    /// Kubernetes' functions on lists.
    Lists,
    /// Later functions on lists: sorting, slicing, ranges.
    ExtendedLists,
    /// Searching by regular expression.
    Regex,
    /// URLs.
    Urls,
    /// IP addresses.
    Ip,
    /// Networks.
    Cidr,
    /// Quantities.
    Quantity,
    /// Semantic versions.
    Semver,
    /// Named formats.
    Formats,
    /// The authorizer's checks; they are declared, but nothing makes an authorizer yet.
    Authorizer,
}

impl Library {
    /// What Kubernetes 1.35 has in its expressions.
    pub const KUBERNETES: &'static [Library] = &[
        Library::Core,
        Library::Optionals,
        Library::TwoVariables,
        Library::Strings,
        Library::Sets,
        Library::Lists,
        Library::ExtendedLists,
        Library::Regex,
        Library::Urls,
        Library::Ip,
        Library::Cidr,
        Library::Quantity,
        Library::Semver,
        Library::Formats,
        Library::Authorizer,
    ];

    /// What Flux has in its expressions.
    pub const FLUX: &'static [Library] = &[
        Library::Core,
        Library::Optionals,
        Library::Strings,
        Library::StringsReverse,
        Library::Sets,
        Library::Encoders,
    ];

    pub(crate) fn bit(self) -> u32 {
        1 << self as u32
    }
}

/// A row of the table.
struct Row {
    library: Library,
    function: &'static str,
    member: bool,
    id: &'static str,
    args: &'static str,
    result: &'static str,
}

/// One signature of a function.
#[derive(Debug)]
pub(crate) struct Overload {
    /// The library that declares it.
    pub(crate) library: Library,
    /// Whether it is called on a receiver, which is the first argument.
    pub(crate) member: bool,
    /// Its name among all overloads.
    pub(crate) id: &'static str,
    /// What it takes.
    pub(crate) args: Vec<Type>,
    /// What it gives.
    pub(crate) result: Type,
}

/// A function's name in the table, and its overloads in order.
pub(crate) type Function = (&'static str, Vec<Overload>);

static FUNCTIONS: LazyLock<BTreeMap<&'static str, Function>> = LazyLock::new(|| {
    let mut functions: BTreeMap<&'static str, Function> = BTreeMap::new();
    for row in table::ROWS {
        let args = row.args.split(';').filter(|arg| !arg.is_empty()).map(Type::parse).collect();
        let overload = Overload {
            library: row.library,
            member: row.member,
            id: row.id,
            args,
            result: Type::parse(row.result),
        };
        functions.entry(row.function).or_insert((row.function, Vec::new())).1.push(overload);
    }
    functions
});

/// The function of this name, if a library of `libraries` declares it.
pub(crate) fn find(name: &str, libraries: u32) -> Option<&'static Function> {
    let function = FUNCTIONS.get(name)?;
    let declared = function.1.iter().any(|overload| libraries & overload.library.bit() != 0);
    declared.then_some(function)
}
