//! Optional values.

use std::sync::Arc;

use super::{Call, Implementation};
use crate::value::{EvalError, Outcome, Value};

pub(super) fn find(name: &str) -> Option<Implementation> {
    Some(match name {
        "optional.of" => |_, args| Ok(Value::some(args[0].clone())),
        "optional.ofNonZeroValue" => {
            |_, args| Ok(if args[0].is_zero() { Value::NONE } else { Value::some(args[0].clone()) })
        }
        "optional.none" => |_, _| Ok(Value::NONE),
        "value" | "hasValue" => access,
        "first" | "last" => end,
        "optional.unwrap" | "unwrapOpt" => unwrap,
        _ => return None,
    })
}

fn access<'v>(call: &Call, args: &[Value<'v>]) -> Outcome<'v> {
    let [Value::Optional(inner)] = args else { return Err(call.mismatch(args)) };
    if call.function == "hasValue" {
        return Ok(Value::Bool(inner.is_some()));
    }
    match inner {
        Some(value) => Ok(Arc::unwrap_or_clone(Arc::clone(value))),
        None => Err(EvalError::new("optional.none() dereference")),
    }
}

fn end<'v>(call: &Call, args: &[Value<'v>]) -> Outcome<'v> {
    let [Value::List(list)] = args else { return Err(call.mismatch(args)) };
    let index = if call.function == "first" { 0 } else { list.len().saturating_sub(1) };
    match list.get(index) {
        Some(value) => Ok(Value::some(value?)),
        None => Ok(Value::NONE),
    }
}

fn unwrap<'v>(call: &Call, args: &[Value<'v>]) -> Outcome<'v> {
    let [Value::List(list)] = args else { return Err(call.mismatch(args)) };
    let mut values = Vec::new();
    for (index, element) in list.iter().enumerate() {
        match element? {
            Value::Optional(None) => {}
            Value::Optional(Some(value)) => values.push(Arc::unwrap_or_clone(value)),
            _ if index == 0 => return Err(call.mismatch(args)),
            other => {
                let shown = super::convert::display(&other);
                return Err(EvalError::new(format!("value {shown} is not optional")));
            }
        }
    }
    Ok(Value::from(values))
}
