//! Folds: what `all`, `map` and the other comprehension macros become.

use std::sync::Arc;

use super::{Evaluator, Slot, price};
use crate::functions::{Call, operators};
use crate::program::{CallNode, FoldNode};
use crate::value::{EvalError, Items, ListKind, Map, Outcome, Value};

impl<'p, 'v> Evaluator<'p, 'v, '_> {
    pub(super) fn fold(&mut self, fold: &'p FoldNode) -> Outcome<'v> {
        let range = self.eval(&fold.range)?;
        self.slots[fold.accumulator] = Slot::Lazy(&fold.initial);
        match (&range, fold.second) {
            (Value::List(list), second) => {
                for (index, element) in list.iter().enumerate() {
                    let first = match second {
                        Some(second) => {
                            self.slots[second] = Slot::Ready(element);
                            Ok(Value::Int(i64::try_from(index).unwrap_or(i64::MAX)))
                        }
                        None => element,
                    };
                    self.slots[fold.first] = Slot::Ready(first);
                    if !self.iterate(fold)? {
                        break;
                    }
                }
            }
            (Value::Map(map), second) => {
                for key in map.keys() {
                    if let Some(second) = second {
                        let value = map.find(&key).unwrap_or(Ok(Value::Null));
                        self.slots[second] = Slot::Ready(value);
                    }
                    self.slots[fold.first] = Slot::Ready(Ok(key));
                    if !self.iterate(fold)? {
                        break;
                    }
                }
            }
            (other, Some(_)) => {
                let kind = other.go_type();
                let message = format!("unsupported comprehension range type: {kind}");
                return Err(EvalError::new(message));
            }
            (other, None) => {
                let kind = other.go_type();
                return Err(EvalError::new(format!("got '{kind}', expected iterable type")));
            }
        }
        let result = self.eval(&fold.result);
        self.slots[fold.accumulator] = Slot::Empty;
        result
    }

    /// One round; whether there may be another.
    fn iterate(&mut self, fold: &'p FoldNode) -> Result<bool, EvalError> {
        match self.eval(&fold.condition) {
            Ok(Value::Bool(false)) => return Ok(false),
            Err(error) if error.is_cancelled() => return Err(error),
            _ => {}
        }
        let next = self.eval(&fold.step);
        if let Err(error) = &next
            && error.is_cancelled()
        {
            return Err(error.clone());
        }
        self.slots[fold.accumulator] = Slot::Ready(next);
        Ok(true)
    }

    /// Adds to the accumulator in place and takes it out; the round puts it back.
    pub(super) fn accumulate(&mut self, slot: usize, call: &'p CallNode) -> Outcome<'v> {
        // Reading the accumulator costs as reading any variable does.
        let current = self.local(slot);
        self.slots[slot] = Slot::Empty;
        self.spend(1)?;
        let mut args = vec![Ok(Value::Null)];
        for arg in &call.args {
            let value = self.eval(arg);
            if let Err(error) = &value
                && error.is_cancelled()
            {
                return Err(error.clone());
            }
            args.push(value);
        }
        let result = grow(call, current, &args[1..]);
        let price = price::call(&call.function, call.overload, &args, &Ok(Value::Null));
        self.spend(price)?;
        result
    }
}

fn grow<'v>(call: &CallNode, current: Outcome<'v>, args: &[Outcome<'v>]) -> Outcome<'v> {
    let current = current?;
    let mut added = Vec::with_capacity(args.len());
    for arg in args {
        added.push(arg.clone()?);
    }
    let context =
        Call { function: &call.function, overload: None, pattern: None, later_format: false };
    match (current, &added[..]) {
        (Value::List(mut list), [Value::List(more)]) => {
            if let (Items::Values(values), ListKind::Plain) = (&mut list.items, list.kind) {
                let values = Arc::make_mut(values);
                for element in more.iter() {
                    values.push(element?);
                }
                return Ok(Value::List(list));
            }
            list.concat(more)
        }
        (Value::Map(Map::Values(mut entries)), _) => {
            operators::insert_all(Arc::make_mut(&mut entries), &added, &context, &added)?;
            Ok(Value::Map(Map::Values(entries)))
        }
        _ => Err(EvalError::no_such_overload()),
    }
}
