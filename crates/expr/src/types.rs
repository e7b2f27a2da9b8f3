//! The types of the language as the checker knows them, and how they print.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// A type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Type {
    /// Known only when evaluated.
    Dyn,
    /// `null`.
    Null,
    /// `bool`.
    Bool,
    /// `int`, 64 bits.
    Int,
    /// `uint`, 64 bits.
    Uint,
    /// `double`.
    Double,
    /// `string`.
    String,
    /// `bytes`.
    Bytes,
    /// A point in time.
    Timestamp,
    /// A span of time.
    Duration,
    /// A list of one element type.
    List(Arc<Type>),
    /// A map of one key type and one value type.
    Map(Arc<Type>, Arc<Type>),
    /// An object with declared fields.
    Object(Arc<ObjectType>),
    /// A value or none.
    Optional(Arc<Type>),
    /// The type of a type.
    Type(Arc<Type>),
    /// A type of types or of optionals that says no more, by its name.
    Bare(&'static str),
    /// A Kubernetes quantity.
    Quantity,
    /// A parsed URL.
    Url,
    /// A semantic version.
    Semver,
    /// A named format of the format library.
    Format,
    /// An IP address.
    Ip,
    /// A network.
    Cidr,
    /// One of the authorizer's types, by its last name.
    Authorization(&'static str),
    /// A parameter of a signature, or a variable of the checker.
    Parameter(Arc<str>),
    /// The type of an expression that has already been complained about.
    Error,
}

/// An object's name and fields; two with the same name are the same type.
#[derive(Debug)]
pub struct ObjectType {
    /// The name, unique in an environment.
    pub name: String,
    /// The fields by their escaped names.
    pub fields: BTreeMap<String, Type>,
}

impl PartialEq for ObjectType {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for ObjectType {}

impl Type {
    /// A list of `element`.
    pub fn list(element: Type) -> Type {
        Type::List(Arc::new(element))
    }

    /// A map from `key` to `value`.
    pub fn map(key: Type, value: Type) -> Type {
        Type::Map(Arc::new(key), Arc::new(value))
    }

    /// An optional `inner`.
    pub fn optional(inner: Type) -> Type {
        Type::Optional(Arc::new(inner))
    }

    /// The name without parameters, as `type(x)` and runtime messages show it.
    pub fn runtime_name(&self) -> &str {
        match self {
            Type::Dyn => "dyn",
            Type::Null => "null_type",
            Type::Bool => "bool",
            Type::Int => "int",
            Type::Uint => "uint",
            Type::Double => "double",
            Type::String => "string",
            Type::Bytes => "bytes",
            Type::Timestamp => "google.protobuf.Timestamp",
            Type::Duration => "google.protobuf.Duration",
            Type::List(_) => "list",
            Type::Map(..) => "map",
            Type::Object(object) => &object.name,
            Type::Optional(_) => "optional_type",
            Type::Type(_) => "type",
            Type::Quantity => "kubernetes.Quantity",
            Type::Url => "kubernetes.URL",
            Type::Semver => "kubernetes.Semver",
            Type::Format => "kubernetes.NamedFormat",
            Type::Ip => "net.IP",
            Type::Cidr => "net.CIDR",
            Type::Authorization(name) | Type::Bare(name) => name,
            Type::Parameter(name) => name,
            Type::Error => "!error!",
        }
    }

    /// The name with parameters, as messages about whole expressions print it.
    pub fn full_name(&self) -> String {
        let parameters: Vec<String> = self.parameters().into_iter().map(Type::full_name).collect();
        if parameters.is_empty() {
            self.runtime_name().to_owned()
        } else {
            format!("{}({})", self.runtime_name(), parameters.join(", "))
        }
    }

    /// The types this one is made of.
    pub(crate) fn parameters(&self) -> Vec<&Type> {
        match self {
            Type::List(inner) | Type::Optional(inner) | Type::Type(inner) => vec![inner],
            Type::Map(key, value) => vec![key, value],
            _ => Vec::new(),
        }
    }

    /// The type with its parameters replaced.
    pub(crate) fn rebuild(&self, mut replace: impl FnMut(&Type) -> Type) -> Type {
        match self {
            Type::List(inner) => Type::list(replace(inner)),
            Type::Optional(inner) => Type::optional(replace(inner)),
            Type::Type(inner) => Type::Type(Arc::new(replace(inner))),
            Type::Map(key, value) => Type::map(replace(key), replace(value)),
            other => other.clone(),
        }
    }

    /// Whether two types are the same but for the names of parameters.
    pub(crate) fn is_equivalent(&self, other: &Type) -> bool {
        match (self, other) {
            (Type::Parameter(_), Type::Parameter(_)) => true,
            (Type::Object(one), Type::Object(two)) => one.name == two.name,
            _ => {
                let (one, two) = (self.parameters(), other.parameters());
                std::mem::discriminant(self) == std::mem::discriminant(other)
                    && self.runtime_name() == other.runtime_name()
                    && one.len() == two.len()
                    && one.iter().zip(two).all(|(one, two)| one.is_equivalent(two))
            }
        }
    }

    /// The type a signature's text names; upper-case letters are parameters.
    pub(crate) fn parse(text: &str) -> Type {
        let inner = |prefix: &str| text.strip_prefix(prefix)?.strip_suffix(')');
        if let Some(element) = inner("list(") {
            return Type::list(Type::parse(element));
        }
        if let Some(element) = inner("optional_type(") {
            return Type::optional(Type::parse(element));
        }
        if let Some(element) = inner("type(") {
            return Type::Type(Arc::new(Type::parse(element)));
        }
        if let Some((key, value)) = inner("map(").and_then(|pair| pair.split_once(", ")) {
            return Type::map(Type::parse(key), Type::parse(value));
        }
        match text {
            "dyn" => Type::Dyn,
            "bool" => Type::Bool,
            "int" => Type::Int,
            "uint" => Type::Uint,
            "double" => Type::Double,
            "string" => Type::String,
            "bytes" => Type::Bytes,
            "timestamp" => Type::Timestamp,
            "duration" => Type::Duration,
            "kubernetes.Quantity" => Type::Quantity,
            "kubernetes.URL" => Type::Url,
            "kubernetes.Semver" => Type::Semver,
            "kubernetes.NamedFormat" => Type::Format,
            "net.IP" => Type::Ip,
            "net.CIDR" => Type::Cidr,
            _ => AUTHORIZATION
                .iter()
                .find(|name| **name == text)
                .map_or_else(|| Type::Parameter(Arc::from(text)), |name| Type::Authorization(name)),
        }
    }
}

/// The authorizer's types.
const AUTHORIZATION: &[&str] = &[
    "kubernetes.authorization.Authorizer",
    "kubernetes.authorization.PathCheck",
    "kubernetes.authorization.GroupCheck",
    "kubernetes.authorization.ResourceCheck",
    "kubernetes.authorization.Decision",
];

/// As the messages of the checker print it.
impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Type::Null => f.write_str("null"),
            Type::Timestamp => f.write_str("timestamp"),
            Type::Duration => f.write_str("duration"),
            Type::List(element) => write!(f, "list({element})"),
            Type::Map(key, value) => write!(f, "map({key}, {value})"),
            Type::Optional(inner) => write!(f, "optional_type({inner})"),
            Type::Type(inner) => write!(f, "type({inner})"),
            other => f.write_str(other.runtime_name()),
        }
    }
}
