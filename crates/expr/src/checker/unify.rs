//! Which types fit where: substitutions for type parameters, and the rules of assignment.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::types::Type;

/// What is known about type parameters.
#[derive(Debug, Default)]
pub(crate) struct Mapping {
    bound: BTreeMap<Arc<str>, Type>,
    /// What the running trial replaced, so that it can be taken back.
    replaced: Vec<(Arc<str>, Option<Type>)>,
}

impl Mapping {
    fn find(&self, found: &Type) -> Option<&Type> {
        match found {
            Type::Parameter(name) => self.bound.get(name),
            _ => None,
        }
    }

    fn bind(&mut self, parameter: &Type, to: Type) {
        if let Type::Parameter(name) = parameter {
            let before = self.bound.insert(Arc::clone(name), to);
            self.replaced.push((Arc::clone(name), before));
        }
    }

    /// Runs a trial; what it bound stays only if it succeeds.
    fn trial(&mut self, fits: impl FnOnce(&mut Self) -> bool) -> bool {
        let outcome = fits(self);
        for (name, before) in std::mem::take(&mut self.replaced).into_iter().rev() {
            if outcome {
                continue;
            }
            match before {
                Some(before) => self.bound.insert(name, before),
                None => self.bound.remove(&name),
            };
        }
        outcome
    }

    /// `found` with all bound parameters replaced, unbound ones by `dyn` if `erase`.
    pub(crate) fn substitute(&self, found: &Type, erase: bool) -> Type {
        if let Some(bound) = self.find(found) {
            return self.substitute(bound, erase);
        }
        match found {
            Type::Parameter(_) if erase => Type::Dyn,
            other => other.rebuild(|inner| self.substitute(inner, erase)),
        }
    }

    /// Whether `one` fits `two`; only then does the mapping change.
    pub(crate) fn assign(&mut self, one: &Type, two: &Type) -> bool {
        self.trial(|mapping| mapping.fits(one, two))
    }

    /// Whether each of `given` fits its counterpart; only then does the mapping change.
    pub(crate) fn assign_all(&mut self, given: &[Type], wanted: &[Type]) -> bool {
        if given.len() != wanted.len() {
            return false;
        }
        self.trial(|mapping| given.iter().zip(wanted).all(|(one, two)| mapping.fits(one, two)))
    }

    fn fits(&mut self, one: &Type, two: &Type) -> bool {
        if let Type::Parameter(_) = two {
            let (valid, known) = self.substitution(one, two);
            if valid {
                return true;
            }
            if known {
                return false;
            }
        }
        if let Type::Parameter(_) = one {
            return self.substitution(two, one).0;
        }
        match (one, two) {
            (Type::Dyn | Type::Error, _)
            | (_, Type::Dyn | Type::Error)
            | (Type::Null, Type::Null)
            | (Type::Type(_) | Type::Bare("type"), Type::Type(_) | Type::Bare("type")) => true,
            (Type::Null, other) | (other, Type::Null) => nullable(other),
            (Type::List(one), Type::List(two)) | (Type::Optional(one), Type::Optional(two)) => {
                self.fits(one, two)
            }
            (Type::Map(key, value), Type::Map(other_key, other_value)) => {
                self.fits(key, other_key) && self.fits(value, other_value)
            }
            (Type::Object(one), Type::Object(two)) => one.name == two.name,
            _ => one == two,
        }
    }

    /// Whether `parameter` may stand for `found`, and whether it already stands for something.
    fn substitution(&mut self, found: &Type, parameter: &Type) -> (bool, bool) {
        if found == parameter {
            return (true, true);
        }
        if let Some(bound) = self.find(parameter).cloned() {
            if *found == bound {
                return (true, true);
            }
            if !self.fits(found, &bound) {
                return (false, true);
            }
            let general = most_general(found, &bound);
            if self.is_absent(parameter, &general) {
                self.bind(parameter, general);
            }
            return (true, true);
        }
        if self.is_absent(parameter, found) {
            self.bind(parameter, found.clone());
            return (true, false);
        }
        (false, false)
    }

    /// Whether `parameter` does not occur in `within`.
    fn is_absent(&self, parameter: &Type, within: &Type) -> bool {
        if parameter == within {
            return false;
        }
        match within {
            Type::Parameter(_) => {
                self.find(within).is_none_or(|bound| self.is_absent(parameter, bound))
            }
            other => other.parameters().iter().all(|inner| self.is_absent(parameter, inner)),
        }
    }
}

fn nullable(found: &Type) -> bool {
    matches!(
        found,
        Type::Optional(_)
            | Type::Ip
            | Type::Cidr
            | Type::Object(_)
            | Type::Quantity
            | Type::Url
            | Type::Semver
            | Type::Format
            | Type::Authorization(_)
            | Type::Duration
            | Type::Timestamp
    )
}

/// The more general of two types that fit each other.
pub(crate) fn most_general(one: &Type, two: &Type) -> Type {
    if is_equal_or_less_specific(one, two) { one.clone() } else { two.clone() }
}

fn is_equal_or_less_specific(one: &Type, two: &Type) -> bool {
    match (one, two) {
        (Type::Dyn | Type::Parameter(_), _) | (Type::Type(_), Type::Type(_)) => true,
        (_, Type::Dyn | Type::Parameter(_)) => false,
        (Type::List(one), Type::List(two)) | (Type::Optional(one), Type::Optional(two)) => {
            is_equal_or_less_specific(one, two)
        }
        (Type::Map(key, value), Type::Map(other_key, other_value)) => {
            is_equal_or_less_specific(key, other_key)
                && is_equal_or_less_specific(value, other_value)
        }
        _ => one == two,
    }
}

/// Adds the parameters a signature's type names.
pub(crate) fn parameters_of(found: &Type, names: &mut Vec<Arc<str>>) {
    if let Type::Parameter(name) = found {
        names.push(Arc::clone(name));
    }
    for inner in found.parameters() {
        parameters_of(inner, names);
    }
}

/// `found` with parameters replaced by name.
pub(crate) fn replace(found: &Type, names: &[(Arc<str>, Type)]) -> Type {
    match found {
        Type::Parameter(name) => names
            .iter()
            .find(|(known, _)| known == name)
            .map_or_else(|| found.clone(), |(_, replacement)| replacement.clone()),
        other => other.rebuild(|inner| replace(inner, names)),
    }
}
