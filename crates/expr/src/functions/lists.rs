//! Functions on lists.

use std::cmp::Ordering;

use super::{Call, Implementation, strings};
use crate::value::{EvalError, LIST_LIMIT, List, Outcome, Value, compare, contains, is_equal};

pub(super) fn find(name: &str) -> Option<Implementation> {
    Some(match name {
        "isSorted" => is_sorted,
        "sum" => sum,
        "min" | "max" => extreme,
        "indexOf" | "lastIndexOf" => index_of,
        "slice" => slice,
        "flatten" => flatten,
        "sort" | "@sortByAssociatedKeys" => sort,
        "lists.range" => range,
        "reverse" => reverse,
        "distinct" => distinct,
        "sets.contains" | "sets.equivalent" | "sets.intersects" => sets,
        _ => return None,
    })
}

/// The elements of a list argument.
fn elements<'v>(list: &List<'v>) -> Result<Vec<Value<'v>>, EvalError> {
    list.iter().collect()
}

fn comparable(value: &Value) -> bool {
    matches!(
        value,
        Value::Bool(_)
            | Value::Int(_)
            | Value::Uint(_)
            | Value::Double(_)
            | Value::String(_)
            | Value::Bytes(_)
            | Value::Duration(_)
            | Value::Timestamp(_)
    )
}

/// Whether the elements' type, seen at the first of them, is one that `fits`.
fn guarded<'v>(
    call: &Call,
    args: &[Value<'v>],
    fits: fn(&Value) -> bool,
) -> Result<Vec<Value<'v>>, EvalError> {
    let [Value::List(list)] = args else { return Err(call.mismatch(args)) };
    let values = elements(list)?;
    match values.first() {
        Some(first) if !fits(first) => Err(call.mismatch(args)),
        _ => Ok(values),
    }
}

fn is_sorted<'v>(call: &Call, args: &[Value<'v>]) -> Outcome<'v> {
    let values = guarded(call, args, comparable)?;
    for pair in values.windows(2) {
        if !comparable(&pair[1]) {
            return Err(EvalError::no_such_overload());
        }
        if matches!(compare(&pair[0], &pair[1]), Some(Ok(Ordering::Greater))) {
            return Ok(Value::Bool(false));
        }
    }
    Ok(Value::Bool(true))
}

fn sum<'v>(call: &Call, args: &[Value<'v>]) -> Outcome<'v> {
    let values = guarded(call, args, |value| {
        matches!(value, Value::Int(_) | Value::Uint(_) | Value::Double(_) | Value::Duration(_))
    })?;
    let mut total = match values.first() {
        None | Some(Value::Int(_)) => Value::Int(0),
        Some(Value::Uint(_)) => Value::Uint(0),
        Some(Value::Double(_)) => Value::Double(0.0),
        Some(_) => Value::Duration(0),
    };
    let add = super::implementation("_+_").ok_or_else(EvalError::no_such_overload)?;
    let adding = Call { function: "_+_", overload: None, pattern: None, later_format: false };
    for value in values {
        total = add(&adding, &[total, value])?;
    }
    Ok(total)
}

/// The zero that an empty list of a declared type sums up to.
pub(crate) fn empty_sum(overload: &str) -> Option<Value<'static>> {
    Some(match overload {
        "list_int_sum_int" => Value::Int(0),
        "list_uint_sum_uint" => Value::Uint(0),
        "list_double_sum_double" => Value::Double(0.0),
        "list_duration_sum_duration" => Value::Duration(0),
        _ => return None,
    })
}

fn extreme<'v>(call: &Call, args: &[Value<'v>]) -> Outcome<'v> {
    let values = guarded(call, args, comparable)?;
    let better = if call.function == "min" { Ordering::Greater } else { Ordering::Less };
    let mut best: Option<Value> = None;
    for value in values {
        if !comparable(&value) {
            return Err(EvalError::no_such_overload());
        }
        best = Some(match best {
            Some(best) if !matches!(compare(&best, &value), Some(Ok(o)) if o == better) => best,
            _ => value,
        });
    }
    best.ok_or_else(|| EvalError::new(format!("{} called on empty list", call.function)))
}

fn index_of<'v>(call: &Call, args: &[Value<'v>]) -> Outcome<'v> {
    let [Value::List(list), item] = args else { return strings::index_of(call, args) };
    let values =
        list.iter().map(|element| matches!(element.map(|e| is_equal(&e, item)), Ok(Ok(true))));
    let mut matches = values.enumerate().filter(|(_, equal)| *equal).map(|(index, _)| index);
    let found = if call.function == "indexOf" { matches.next() } else { matches.last() };
    Ok(Value::Int(found.map_or(-1, |index| i64::try_from(index).unwrap_or(i64::MAX))))
}

fn slice<'v>(call: &Call, args: &[Value<'v>]) -> Outcome<'v> {
    let [Value::List(list), Value::Int(start), Value::Int(end)] = args else {
        return Err(call.mismatch(args));
    };
    let refuse = |why: String| Err(EvalError::new(format!("cannot slice({start}, {end}), {why}")));
    let (Ok(first), Ok(last)) = (usize::try_from(*start), usize::try_from(*end)) else {
        return refuse("negative indexes not supported".to_owned());
    };
    if first > last {
        return refuse("start index must be less than or equal to end index".to_owned());
    }
    if list.len() < last {
        return refuse(format!("list is length {}", list.len()));
    }
    let values = list.iter().skip(first).take(last - first).collect::<Result<Vec<_>, _>>()?;
    Ok(Value::from(values))
}

/// The type of a receiver as this one message prints it.
fn receiver<'a>(value: &'a Value) -> &'a str {
    match value {
        Value::Map(_) => "map(dyn, dyn)",
        other => other.type_name(),
    }
}

fn flatten<'v>(_: &Call, args: &[Value<'v>]) -> Outcome<'v> {
    let depth = match args {
        [Value::List(_)] => 1,
        [Value::List(_), Value::Int(depth)] => *depth,
        [list] => {
            let name = receiver(list);
            return Err(EvalError::new(format!("no such overload: {name}.flatten()")));
        }
        [list, depth, ..] => {
            let (list, depth) = (receiver(list), depth.type_name());
            return Err(EvalError::new(format!("no such overload: {list}.flatten({depth})")));
        }
        [] => return Err(EvalError::no_such_overload()),
    };
    if depth < 0 {
        return Err(EvalError::new("level must be non-negative"));
    }
    let mut out = Vec::new();
    // Lists nest no deeper than the values they are made of; an explicit stack keeps ours flat.
    let Value::List(list) = &args[0] else { return Err(EvalError::no_such_overload()) };
    let mut pending = vec![(list.clone(), 0_usize, depth)];
    while let Some((list, index, depth)) = pending.pop() {
        let Some(element) = list.get(index) else { continue };
        pending.push((list, index + 1, depth));
        match element? {
            Value::List(inner) if depth > 0 => pending.push((inner, 0, depth - 1)),
            _ if out.len() == LIST_LIMIT => return Err(EvalError::cost_limit()),
            other => out.push(other),
        }
    }
    Ok(Value::from(out))
}

fn sort<'v>(call: &Call, args: &[Value<'v>]) -> Outcome<'v> {
    let (list, keys) = match args {
        [Value::List(list)] => (list, list),
        [Value::List(list), Value::List(keys)] => (list, keys),
        [first, ..] => {
            return Err(match first {
                Value::String(_) | Value::Timestamp(_) | Value::Duration(_) => {
                    EvalError::no_such_overload()
                }
                _ => EvalError::new(format!("no such overload: {}", call.function)),
            });
        }
        [] => return Err(EvalError::no_such_overload()),
    };
    if list.len() != keys.len() {
        return Err(EvalError::new(format!(
            "@sortByAssociatedKeys() expected a list of the same size as the associated keys \
             list, but got {} and {} elements respectively",
            list.len(),
            keys.len()
        )));
    }
    let (values, keys) = (elements(list)?, elements(keys)?);
    let Some(first) = keys.first() else { return Ok(args[0].clone()) };
    if !comparable(first) {
        return Err(EvalError::new("list elements must be comparable"));
    }
    if keys.len() > 1 && keys.iter().any(|key| key.type_name() != first.type_name()) {
        return Err(EvalError::new("list elements must have the same type"));
    }
    let mut paired: Vec<(Value, Value)> = keys.into_iter().zip(values).collect();
    paired.sort_by(|(one, _), (two, _)| match compare(one, two) {
        Some(Ok(ordering)) => ordering,
        _ => Ordering::Equal,
    });
    Ok(Value::from(paired.into_iter().map(|(_, value)| value).collect::<Vec<_>>()))
}

fn range<'v>(call: &Call, args: &[Value<'v>]) -> Outcome<'v> {
    let [Value::Int(count)] = args else { return Err(call.mismatch(args)) };
    if usize::try_from(*count).unwrap_or(0) > LIST_LIMIT {
        return Err(EvalError::cost_limit());
    }
    Ok(Value::from((0..*count).map(Value::Int).collect::<Vec<_>>()))
}

fn reverse<'v>(call: &Call, args: &[Value<'v>]) -> Outcome<'v> {
    match args {
        [Value::List(list)] => {
            let mut values = elements(list)?;
            values.reverse();
            Ok(Value::from(values))
        }
        [Value::String(text)] if call.later_format => Ok(strings::reverse(text)),
        _ => Err(call.mismatch(args)),
    }
}

fn distinct<'v>(call: &Call, args: &[Value<'v>]) -> Outcome<'v> {
    let [Value::List(list)] = args else { return Err(call.mismatch(args)) };
    let mut unique: Vec<Value> = Vec::new();
    for value in elements(list)? {
        if !unique.iter().any(|known| is_equal(&value, known) == Ok(true)) {
            unique.push(value);
        }
    }
    Ok(Value::from(unique))
}

fn sets<'v>(call: &Call, args: &[Value<'v>]) -> Outcome<'v> {
    let [Value::List(one), Value::List(two)] = args else { return Err(call.mismatch(args)) };
    let covers = |list: &List<'v>, sub: &List<'v>| -> Result<bool, EvalError> {
        for element in sub.iter() {
            if !contains(list, &element?)? {
                return Ok(false);
            }
        }
        Ok(true)
    };
    Ok(Value::Bool(match call.function {
        "sets.contains" => covers(one, two)?,
        "sets.equivalent" => covers(one, two)? && covers(two, one)?,
        _ => {
            let mut shared = false;
            for element in one.iter() {
                shared |= contains(two, &element?) == Ok(true);
            }
            shared
        }
    }))
}
