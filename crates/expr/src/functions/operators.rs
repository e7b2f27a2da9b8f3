//! Arithmetic, comparison, membership, size.

use std::cmp::Ordering;
use std::sync::Arc;

use super::{Call, Implementation};
use crate::time::Timestamp;
use crate::value::{EvalError, Outcome, TEXT_LIMIT, Value, compare, contains};

pub(super) fn find(name: &str) -> Option<Implementation> {
    Some(match name {
        "_+_" => add,
        "_-_" => subtract,
        "_*_" => multiply,
        "_/_" => divide,
        "_%_" => modulo,
        "-_" => negate,
        "!_" => not,
        "_<_" | "_<=_" | "_>_" | "_>=_" => order,
        "@in" => is_in,
        "size" => size,
        "type" => type_of,
        "dyn" => |_, args| Ok(args[0].clone()),
        "cel.@mapInsert" => map_insert,
        _ => return None,
    })
}

/// The error for a left operand of a type without the operator: types that receive calls have a shorter
/// message.
fn unsupported(call: &Call, left: &Value) -> EvalError {
    match left {
        Value::String(_) | Value::Timestamp(_) | Value::Duration(_) => {
            EvalError::no_such_overload()
        }
        _ => EvalError::new(format!("no such overload: {}", call.function)),
    }
}

fn overflow(kind: &str) -> EvalError {
    EvalError::new(format!("{kind} overflow"))
}

fn int<'v>(result: Option<i64>) -> Outcome<'v> {
    result.map(Value::Int).ok_or_else(|| overflow("integer"))
}

fn uint<'v>(result: Option<u64>) -> Outcome<'v> {
    result.map(Value::Uint).ok_or_else(|| overflow("unsigned integer"))
}

fn duration<'v>(result: Option<i64>) -> Outcome<'v> {
    result.map(Value::Duration).ok_or_else(|| overflow("integer"))
}

fn timestamp<'v>(result: Result<Timestamp, &'static str>) -> Outcome<'v> {
    result.map(Value::Timestamp).map_err(EvalError::new)
}

fn add<'v>(call: &Call, args: &[Value<'v>]) -> Outcome<'v> {
    let together = match (&args[0], &args[1]) {
        (Value::String(one), Value::String(two)) => one.len() + two.len(),
        (Value::Bytes(one), Value::Bytes(two)) => one.len() + two.len(),
        _ => 0,
    };
    // The cost is counted after the sum is made, and lets it be a hundred megabytes.
    if together > TEXT_LIMIT {
        return Err(EvalError::cost_limit());
    }
    match (&args[0], &args[1]) {
        (Value::Int(one), Value::Int(two)) => int(one.checked_add(*two)),
        (Value::Uint(one), Value::Uint(two)) => uint(one.checked_add(*two)),
        (Value::Double(one), Value::Double(two)) => Ok(Value::Double(one + two)),
        (Value::String(one), Value::String(two)) => {
            Ok(Value::from(format!("{}{}", &**one, &**two)))
        }
        (Value::Bytes(one), Value::Bytes(two)) => {
            Ok(Value::Bytes(one.iter().chain(two.iter()).copied().collect::<Arc<[u8]>>()))
        }
        (Value::List(one), Value::List(two)) => one.concat(two),
        (Value::Duration(one), Value::Duration(two)) => duration(one.checked_add(*two)),
        (Value::Duration(span), Value::Timestamp(time))
        | (Value::Timestamp(time), Value::Duration(span)) => timestamp(time.add(*span)),
        (
            Value::Int(_)
            | Value::Uint(_)
            | Value::Double(_)
            | Value::String(_)
            | Value::Bytes(_)
            | Value::List(_)
            | Value::Duration(_)
            | Value::Timestamp(_),
            _,
        ) => Err(EvalError::no_such_overload()),
        (left, _) => Err(unsupported(call, left)),
    }
}

fn subtract<'v>(call: &Call, args: &[Value<'v>]) -> Outcome<'v> {
    match (&args[0], &args[1]) {
        (Value::Int(one), Value::Int(two)) => int(one.checked_sub(*two)),
        (Value::Uint(one), Value::Uint(two)) => uint(one.checked_sub(*two)),
        (Value::Double(one), Value::Double(two)) => Ok(Value::Double(one - two)),
        (Value::Duration(one), Value::Duration(two)) => duration(one.checked_sub(*two)),
        (Value::Timestamp(time), Value::Duration(span)) => match span.checked_neg() {
            Some(span) => timestamp(time.add(span)),
            None => Err(overflow("integer")),
        },
        (Value::Timestamp(one), Value::Timestamp(two)) => duration(one.since(two)),
        (
            Value::Int(_)
            | Value::Uint(_)
            | Value::Double(_)
            | Value::Duration(_)
            | Value::Timestamp(_),
            _,
        ) => Err(EvalError::no_such_overload()),
        (left, _) => Err(unsupported(call, left)),
    }
}

fn multiply<'v>(call: &Call, args: &[Value<'v>]) -> Outcome<'v> {
    match (&args[0], &args[1]) {
        (Value::Int(one), Value::Int(two)) => int(one.checked_mul(*two)),
        (Value::Uint(one), Value::Uint(two)) => uint(one.checked_mul(*two)),
        (Value::Double(one), Value::Double(two)) => Ok(Value::Double(one * two)),
        (Value::Int(_) | Value::Uint(_) | Value::Double(_), _) => {
            Err(EvalError::no_such_overload())
        }
        (left, _) => Err(unsupported(call, left)),
    }
}

fn divide<'v>(call: &Call, args: &[Value<'v>]) -> Outcome<'v> {
    match (&args[0], &args[1]) {
        (Value::Int(_), Value::Int(0)) | (Value::Uint(_), Value::Uint(0)) => {
            Err(EvalError::new("division by zero"))
        }
        (Value::Int(one), Value::Int(two)) => int(one.checked_div(*two)),
        (Value::Uint(one), Value::Uint(two)) => uint(one.checked_div(*two)),
        (Value::Double(one), Value::Double(two)) => Ok(Value::Double(one / two)),
        (Value::Int(_) | Value::Uint(_) | Value::Double(_), _) => {
            Err(EvalError::no_such_overload())
        }
        (left, _) => Err(unsupported(call, left)),
    }
}

fn modulo<'v>(call: &Call, args: &[Value<'v>]) -> Outcome<'v> {
    match (&args[0], &args[1]) {
        (Value::Int(_), Value::Int(0)) | (Value::Uint(_), Value::Uint(0)) => {
            Err(EvalError::new("modulus by zero"))
        }
        (Value::Int(one), Value::Int(two)) => int(one.checked_rem(*two)),
        (Value::Uint(one), Value::Uint(two)) => uint(one.checked_rem(*two)),
        (Value::Int(_) | Value::Uint(_), _) => Err(EvalError::no_such_overload()),
        (left, _) => Err(unsupported(call, left)),
    }
}

fn negate<'v>(call: &Call, args: &[Value<'v>]) -> Outcome<'v> {
    match &args[0] {
        Value::Int(value) => int(value.checked_neg()),
        Value::Double(value) => Ok(Value::Double(-value)),
        Value::Bool(_) => Err(EvalError::no_such_overload()),
        Value::Duration(value) => duration(value.checked_neg()),
        other => Err(unsupported(call, other)),
    }
}

fn not<'v>(_: &Call, args: &[Value<'v>]) -> Outcome<'v> {
    match &args[0] {
        Value::Bool(value) => Ok(Value::Bool(!value)),
        _ => Err(EvalError::no_such_overload()),
    }
}

fn order<'v>(call: &Call, args: &[Value<'v>]) -> Outcome<'v> {
    let ordering = match compare(&args[0], &args[1]) {
        Some(ordering) => ordering?,
        None => {
            return Err(match &args[0] {
                Value::Bool(_)
                | Value::Bytes(_)
                | Value::Double(_)
                | Value::Int(_)
                | Value::Uint(_) => EvalError::no_such_overload(),
                left => unsupported(call, left),
            });
        }
    };
    Ok(Value::Bool(match call.function {
        "_<_" => ordering == Ordering::Less,
        "_<=_" => ordering != Ordering::Greater,
        "_>_" => ordering == Ordering::Greater,
        _ => ordering != Ordering::Less,
    }))
}

fn is_in<'v>(_: &Call, args: &[Value<'v>]) -> Outcome<'v> {
    match &args[1] {
        Value::List(list) => contains(list, &args[0]).map(Value::Bool),
        Value::Map(map) => match map.find(&args[0]) {
            Some(Err(error)) => Err(error),
            found => Ok(Value::Bool(found.is_some())),
        },
        _ => Err(EvalError::no_such_overload()),
    }
}

fn size<'v>(call: &Call, args: &[Value<'v>]) -> Outcome<'v> {
    match args[0].size() {
        Some(size) => Ok(Value::Int(i64::try_from(size).unwrap_or(i64::MAX))),
        None => Err(unsupported(call, &args[0])),
    }
}

fn type_of<'v>(_: &Call, args: &[Value<'v>]) -> Outcome<'v> {
    match &args[0] {
        Value::Preserved(_) => Err(EvalError::new(
            "type conversion to 'type' not supported for values preserved by \
             x-kubernetes-preserve-unknown-fields",
        )),
        value => Ok(Value::Type(Arc::from(value.type_name()))),
    }
}

/// The general form of a map's insertion; folds insert in place.
fn map_insert<'v>(call: &Call, args: &[Value<'v>]) -> Outcome<'v> {
    match &args[0] {
        Value::Map(map) => {
            let mut entries = std::collections::BTreeMap::new();
            for key in map.keys() {
                if let Some(value) = map.find(&key) {
                    insert(&mut entries, &key, value?)?;
                }
            }
            insert_all(&mut entries, &args[1..], call, args)?;
            Ok(Value::Map(crate::value::Map::Values(Arc::new(entries))))
        }
        _ => Err(call.mismatch(args)),
    }
}

type Entries<'v> = std::collections::BTreeMap<crate::value::Key, Value<'v>>;

/// Inserts a key and a value, or all entries of a map.
pub(crate) fn insert_all<'v>(
    entries: &mut Entries<'v>,
    added: &[Value<'v>],
    call: &Call,
    args: &[Value<'v>],
) -> Result<(), EvalError> {
    match added {
        [key, value] => insert(entries, key, value.clone()),
        [Value::Map(map)] => {
            for key in map.keys() {
                if let Some(value) = map.find(&key) {
                    insert(entries, &key, value?)?;
                }
            }
            Ok(())
        }
        _ => Err(call.mismatch(args)),
    }
}

fn insert<'v>(
    entries: &mut Entries<'v>,
    key: &Value<'v>,
    value: Value<'v>,
) -> Result<(), EvalError> {
    let Some(name) = crate::value::Key::of(key) else {
        return Err(EvalError::new(format!("unsupported key type: {}", key.type_name())));
    };
    if entries.contains_key(&name) {
        let shown = super::convert::display(key);
        return Err(EvalError::new(format!("insert failed: key {shown} already exists")));
    }
    entries.insert(name, value);
    Ok(())
}
