//! Values, as far as possible borrowed from the JSON they were read from.

mod collection;
mod equality;
mod typed;

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

use serde_json::Value as Json;

pub(crate) use collection::{Items, Kind as ListKind};
pub use collection::{Key, List, Map};
pub(crate) use equality::{compare, contains, equal, is_equal};

use crate::functions::cidr::Cidr;
use crate::functions::formats::Format;
use crate::functions::quantity::Quantity;
use crate::functions::semver::Semver;
use crate::functions::url::Url;
use crate::time::Timestamp;
use crate::types::Type;

/// A value of the language; `'v` is the life of the object it was read from.
#[derive(Clone, Debug)]
pub enum Value<'v> {
    /// `null`.
    Null,
    /// A truth value.
    Bool(bool),
    /// A signed integer.
    Int(i64),
    /// An unsigned integer.
    Uint(u64),
    /// A floating point number.
    Double(f64),
    /// A string.
    String(Text<'v>),
    /// Bytes.
    Bytes(Arc<[u8]>),
    /// A span of time in nanoseconds.
    Duration(i64),
    /// A point in time.
    Timestamp(Timestamp),
    /// A list.
    List(List<'v>),
    /// A map or an object.
    Map(Map<'v>),
    /// A value or none.
    Optional(Option<Arc<Value<'v>>>),
    /// A type by its name.
    Type(Arc<str>),
    /// A quantity.
    Quantity(Quantity),
    /// A URL.
    Url(Arc<Url>),
    /// A semantic version.
    Semver(Arc<Semver>),
    /// A named format.
    Format(&'static Format),
    /// An IP address.
    Ip(IpAddr),
    /// A network.
    Cidr(Cidr),
    /// Something a schema preserves without saying what it is; it can only be compared.
    Preserved(&'v Json),
}

/// Text that is borrowed from an object or shared.
#[derive(Clone, Debug)]
pub enum Text<'v> {
    /// Borrowed from an object.
    Borrowed(&'v str),
    /// Made by an expression.
    Shared(Arc<str>),
}

impl std::ops::Deref for Text<'_> {
    type Target = str;
    fn deref(&self) -> &str {
        match self {
            Text::Borrowed(text) => text,
            Text::Shared(text) => text,
        }
    }
}

impl From<String> for Value<'_> {
    fn from(text: String) -> Self {
        Value::String(Text::Shared(Arc::from(text)))
    }
}

impl<'v> From<&'v str> for Value<'v> {
    fn from(text: &'v str) -> Self {
        Value::String(Text::Borrowed(text))
    }
}

impl<'v> From<Vec<Value<'v>>> for Value<'v> {
    fn from(values: Vec<Value<'v>>) -> Self {
        Value::List(List::from(values))
    }
}

/// Why an evaluation came to no value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EvalError {
    message: Arc<str>,
    cancelled: bool,
}

impl EvalError {
    pub(crate) fn new(message: impl AsRef<str>) -> Self {
        Self { message: Arc::from(message.as_ref()), cancelled: false }
    }

    /// The error of arguments that no overload takes.
    pub(crate) fn no_such_overload() -> Self {
        Self::new("no such overload")
    }

    pub(crate) fn cost_limit() -> Self {
        Self {
            message: Arc::from("operation cancelled: actual cost limit exceeded"),
            cancelled: true,
        }
    }

    /// Whether the evaluation was stopped because it cost too much; nothing absorbs such an error.
    pub fn is_cancelled(&self) -> bool {
        self.cancelled
    }
}

impl fmt::Display for EvalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for EvalError {}

/// The most bytes a text may have, and the most elements a list: far beyond what any object holds,
/// and what an expression could otherwise multiply without end.
pub(crate) const TEXT_LIMIT: usize = 16 << 20;
pub(crate) const LIST_LIMIT: usize = 1_000_000;

/// A value, or the error that takes its place.
pub(crate) type Outcome<'v> = Result<Value<'v>, EvalError>;

impl<'v> Value<'v> {
    /// The value of JSON without a schema: numbers with a fraction are doubles, the rest ints.
    pub fn from_json(json: &'v Json) -> Value<'v> {
        match json {
            Json::Null => Value::Null,
            Json::Bool(value) => Value::Bool(*value),
            Json::Number(number) => match number.as_i64() {
                Some(value) => Value::Int(value),
                None => Value::Double(number.as_f64().unwrap_or(f64::NAN)),
            },
            Json::String(text) => Value::String(Text::Borrowed(text)),
            Json::Array(items) => Value::List(List::native(items)),
            Json::Object(object) => Value::Map(Map::Native(object)),
        }
    }

    /// An optional with a value.
    pub fn some(value: Value<'v>) -> Value<'v> {
        Value::Optional(Some(Arc::new(value)))
    }

    /// The empty optional.
    pub const NONE: Value<'static> = Value::Optional(None);

    /// The text, if this is a string.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Value::String(text) => Some(text),
            _ => None,
        }
    }

    /// The name of the value's type as `type(x)` gives it.
    pub fn type_name(&self) -> &str {
        match self {
            Value::Null => "null_type",
            Value::Bool(_) => "bool",
            Value::Int(_) => "int",
            Value::Uint(_) => "uint",
            Value::Double(_) => "double",
            Value::String(_) => "string",
            Value::Bytes(_) => "bytes",
            Value::Duration(_) => "google.protobuf.Duration",
            Value::Timestamp(_) => "google.protobuf.Timestamp",
            Value::List(_) => "list",
            Value::Map(_) => "map",
            Value::Optional(_) => "optional_type",
            Value::Type(_) => "type",
            Value::Quantity(_) => "kubernetes.Quantity",
            Value::Url(_) => "kubernetes.URL",
            Value::Semver(_) => "kubernetes.Semver",
            Value::Format(_) => "kubernetes.NamedFormat",
            Value::Ip(_) => "net.IP",
            Value::Cidr(_) => "net.CIDR",
            Value::Preserved(_) => "unknown",
        }
    }

    /// The name of the Go type that upstream holds such a value in; some errors show it.
    pub(crate) fn go_type(&self) -> &'static str {
        match self {
            Value::Null => "types.Null",
            Value::Bool(_) => "types.Bool",
            Value::Int(_) => "types.Int",
            Value::Uint(_) => "types.Uint",
            Value::Double(_) => "types.Double",
            Value::String(_) => "types.String",
            Value::Bytes(_) => "types.Bytes",
            Value::Duration(_) => "types.Duration",
            Value::Timestamp(_) => "types.Timestamp",
            Value::List(_) => "*types.baseList",
            Value::Map(_) => "*types.baseMap",
            Value::Optional(_) => "*types.Optional",
            Value::Type(_) => "*types.Type",
            Value::Quantity(_) => "cel.Quantity",
            Value::Url(_) => "cel.URL",
            Value::Semver(_) => "cel.Semver",
            Value::Format(_) => "cel.Format",
            Value::Ip(_) => "cel.IP",
            Value::Cidr(_) => "cel.CIDR",
            Value::Preserved(_) => "*common.unknownPreserved",
        }
    }

    /// The static type of a literal.
    pub(crate) fn type_of(&self) -> Type {
        match self {
            Value::Null => Type::Null,
            Value::Bool(_) => Type::Bool,
            Value::Int(_) => Type::Int,
            Value::Uint(_) => Type::Uint,
            Value::Double(_) => Type::Double,
            Value::String(_) => Type::String,
            Value::Bytes(_) => Type::Bytes,
            _ => Type::Dyn,
        }
    }

    /// How many elements, characters or bytes there are, for values that have any.
    pub(crate) fn size(&self) -> Option<usize> {
        match self {
            Value::String(text) => Some(text.chars().count()),
            Value::Bytes(bytes) => Some(bytes.len()),
            Value::List(list) => Some(list.len()),
            Value::Map(map) => Some(map.len()),
            _ => None,
        }
    }

    /// Whether `optional.ofNonZeroValue` takes the value for nothing.
    pub(crate) fn is_zero(&self) -> bool {
        match self {
            Value::Null => true,
            Value::Bool(value) => !value,
            Value::Int(value) | Value::Duration(value) => *value == 0,
            Value::Uint(value) => *value == 0,
            Value::Double(value) => *value == 0.0,
            Value::Timestamp(time) => time.is_zero(),
            Value::String(text) => text.is_empty(),
            Value::Bytes(bytes) => bytes.is_empty(),
            Value::List(list) => list.is_empty() && list.has_zero(),
            Value::Map(map) => map.is_empty() && map.has_zero(),
            _ => false,
        }
    }
}
