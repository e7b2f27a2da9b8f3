//! Equality and order.
//!
//! Comparing values of different types is false in the language, but values that Kubernetes reads
//! with a schema and its own types answer it with an error; both are kept.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value as Json;

use super::collection::{Key, Kind, List, Map, element_key};
use super::{EvalError, Value};
use crate::functions::numbers::{compare_double_int, compare_double_uint, compare_int_uint};

/// `one == two`, where null equals only null.
pub(crate) fn equal(one: &Value, two: &Value) -> Result<bool, EvalError> {
    match (one, two) {
        (Value::Null, Value::Null) => Ok(true),
        (Value::Null, _) | (_, Value::Null) => Ok(false),
        _ => is_equal(one, two),
    }
}

/// What the left value's own comparison says.
pub(crate) fn is_equal(one: &Value, two: &Value) -> Result<bool, EvalError> {
    let differ = || Err(EvalError::no_such_overload());
    Ok(match (one, two) {
        (Value::Null, other) => matches!(other, Value::Null),
        (Value::Bool(one), Value::Bool(two)) => one == two,
        (Value::Int(one), Value::Int(two)) | (Value::Duration(one), Value::Duration(two)) => {
            one == two
        }
        (Value::Uint(one), Value::Uint(two)) => one == two,
        (Value::Double(one), Value::Double(two)) => one.partial_cmp(two) == Some(Ordering::Equal),
        (Value::Int(int), Value::Uint(uint)) | (Value::Uint(uint), Value::Int(int)) => {
            compare_int_uint(*int, *uint) == Ordering::Equal
        }
        (Value::Double(double), Value::Int(int)) | (Value::Int(int), Value::Double(double)) => {
            !double.is_nan() && compare_double_int(*double, *int) == Ordering::Equal
        }
        (Value::Double(double), Value::Uint(uint)) | (Value::Uint(uint), Value::Double(double)) => {
            !double.is_nan() && compare_double_uint(*double, *uint) == Ordering::Equal
        }
        (Value::String(one), Value::String(two)) => **one == **two,
        (Value::Bytes(one), Value::Bytes(two)) => one == two,
        (Value::Timestamp(one), Value::Timestamp(two)) => one.instant() == two.instant(),
        (Value::Type(one), Value::Type(two)) => one == two,
        (Value::Optional(one), Value::Optional(two)) => match (one, two) {
            (None, None) => true,
            (Some(one), Some(two)) => return is_equal(one, two),
            _ => false,
        },
        (Value::List(one), Value::List(two)) => return lists(one, two),
        (Value::List(one), _) if one.kind != Kind::Plain => return differ(),
        (Value::Map(one), Value::Map(two)) => return maps(one, two),
        (Value::Quantity(one), Value::Quantity(two)) => one == two,
        (Value::Url(one), Value::Url(two)) => one.to_string() == two.to_string(),
        (Value::Semver(one), Value::Semver(two)) => one.compare(two) == Ordering::Equal,
        (Value::Format(one), Value::Format(two)) => one.name == two.name,
        (Value::Ip(one), Value::Ip(two)) => one == two,
        (Value::Cidr(one), Value::Cidr(two)) => one == two,
        (
            Value::Map(Map::Typed(..))
            | Value::Quantity(_)
            | Value::Url(_)
            | Value::Semver(_)
            | Value::Format(_)
            | Value::Ip(_)
            | Value::Cidr(_),
            _,
        ) => return differ(),
        (Value::Preserved(one), Value::Preserved(two)) => one == two,
        (Value::Preserved(json), other) => is_json(other, json),
        _ => false,
    })
}

/// Whether a value was read from just this JSON.
fn is_json(value: &Value, json: &Json) -> bool {
    match (value, json) {
        (Value::Bool(one), Json::Bool(two)) => one == two,
        (Value::Int(one), Json::Number(two)) => two.as_i64() == Some(*one),
        (Value::Double(one), Json::Number(two)) => two.is_f64() && two.as_f64() == Some(*one),
        (Value::String(one), Json::String(two)) => **one == **two,
        _ => false,
    }
}

fn lists(one: &List, two: &List) -> Result<bool, EvalError> {
    if one.len() != two.len() {
        return Ok(false);
    }
    match one.kind {
        Kind::Plain => {
            for (one, two) in one.iter().zip(two.iter()) {
                // An element that is in error does not make two lists differ.
                if let (Ok(one), Ok(two)) = (one, two)
                    && equal(&one, &two) == Ok(false)
                {
                    return Ok(false);
                }
            }
        }
        Kind::Typed => {
            for (one, two) in one.iter().zip(two.iter()) {
                if !is_equal(&one?, &two?)? {
                    return Ok(false);
                }
            }
        }
        Kind::Set => {
            let known = one.iter().collect::<Result<Vec<_>, _>>()?;
            let scalars: Option<BTreeSet<Key>> = known.iter().map(Key::of).collect();
            for other in two.iter() {
                let other = other?;
                // Scalars are looked up; only what cannot be is searched for.
                let found = match (&scalars, Key::of(&other)) {
                    (Some(scalars), Some(key)) => scalars.contains(&key),
                    _ => known.iter().any(|known| is_equal(known, &other) == Ok(true)),
                };
                if !found {
                    return Ok(false);
                }
            }
        }
        Kind::Keyed(keys) => {
            let mut known = BTreeMap::new();
            for element in one.iter() {
                let element = element?;
                known.insert(element_key(&element, keys), element);
            }
            for other in two.iter() {
                let other = other?;
                let Some(known) = known.get(&element_key(&other, keys)) else {
                    return Ok(false);
                };
                if !is_equal(known, &other)? {
                    return Ok(false);
                }
            }
        }
    }
    Ok(true)
}

fn maps(one: &Map, two: &Map) -> Result<bool, EvalError> {
    if one.len() != two.len() {
        return Ok(false);
    }
    let Map::Typed(object, schema) = one else {
        for key in one.keys() {
            let (Some(one), Some(two)) = (one.find(&key), two.find(&key)) else {
                return Ok(false);
            };
            if let (Ok(one), Ok(two)) = (one, two)
                && equal(&one, &two) == Ok(false)
            {
                return Ok(false);
            }
        }
        return Ok(true);
    };
    for (key, value) in *object {
        if schema.property(key).is_some() {
            match (one.find_str(key), two.find_str(key)) {
                (None, None) => {}
                (Some(one), Some(two)) => {
                    if !is_equal(&one?, &two?)? {
                        return Ok(false);
                    }
                }
                _ => return Ok(false),
            }
        } else {
            let Map::Typed(other, _) = two else { return Err(EvalError::no_such_overload()) };
            if other.get(key).is_some_and(|other| other != value) {
                return Ok(false);
            }
        }
    }
    Ok(true)
}

/// Whether the list has an element equal to `value`.
pub(crate) fn contains(list: &List, value: &Value) -> Result<bool, EvalError> {
    if list.kind == Kind::Plain {
        return Ok(list.iter().flatten().any(|element| is_equal(value, &element) == Ok(true)));
    }
    let mut failure = None;
    for element in list.iter() {
        match element.and_then(|element| is_equal(&element, value)) {
            Ok(true) => return Ok(true),
            Ok(false) => {}
            Err(error) => failure = failure.or(Some(error)),
        }
    }
    failure.map_or(Ok(false), Err)
}

/// The order of two values, if values of these types have one.
pub(crate) fn compare(one: &Value, two: &Value) -> Option<Result<Ordering, EvalError>> {
    let nan = |double: f64| double.is_nan();
    let unordered = || Some(Err(EvalError::new("NaN values cannot be ordered")));
    Some(Ok(match (one, two) {
        (Value::Double(one), _) if nan(*one) => {
            return match two {
                Value::Double(_) | Value::Int(_) | Value::Uint(_) => unordered(),
                _ => None,
            };
        }
        (Value::Double(_) | Value::Int(_) | Value::Uint(_), Value::Double(two)) if nan(*two) => {
            return unordered();
        }
        (Value::Bool(one), Value::Bool(two)) => one.cmp(two),
        (Value::Int(one), Value::Int(two)) | (Value::Duration(one), Value::Duration(two)) => {
            one.cmp(two)
        }
        (Value::Uint(one), Value::Uint(two)) => one.cmp(two),
        (Value::Double(one), Value::Double(two)) => one.partial_cmp(two)?,
        (Value::Int(int), Value::Uint(uint)) => compare_int_uint(*int, *uint),
        (Value::Uint(uint), Value::Int(int)) => compare_int_uint(*int, *uint).reverse(),
        (Value::Double(double), Value::Int(int)) => compare_double_int(*double, *int),
        (Value::Int(int), Value::Double(double)) => compare_double_int(*double, *int).reverse(),
        (Value::Double(double), Value::Uint(uint)) => compare_double_uint(*double, *uint),
        (Value::Uint(uint), Value::Double(double)) => compare_double_uint(*double, *uint).reverse(),
        (Value::String(one), Value::String(two)) => (**one).cmp(&**two),
        (Value::Bytes(one), Value::Bytes(two)) => one.cmp(two),
        (Value::Timestamp(one), Value::Timestamp(two)) => one.instant().cmp(&two.instant()),
        _ => return None,
    }))
}
