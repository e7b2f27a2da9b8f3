//! The parts of times and durations.

use super::{Call, Implementation};
use crate::time::{self, Timestamp};
use crate::value::{EvalError, Outcome, Value};

pub(super) fn find(name: &str) -> Option<Implementation> {
    Some(match name {
        "getFullYear" | "getMonth" | "getDayOfYear" | "getDayOfMonth" | "getDate"
        | "getDayOfWeek" | "getHours" | "getMinutes" | "getSeconds" | "getMilliseconds" => get,
        _ => return None,
    })
}

fn get<'v>(call: &Call, args: &[Value<'v>]) -> Outcome<'v> {
    let part = match args {
        [Value::Timestamp(time)] => timestamp_part(call.function, time, 0),
        [Value::Timestamp(time), Value::String(zone)] => {
            timestamp_part(call.function, time, offset(zone)?)
        }
        [Value::Duration(span)] => match call.function {
            "getHours" => span / 3_600_000_000_000,
            "getMinutes" => span / 60_000_000_000,
            "getSeconds" => span / 1_000_000_000,
            "getMilliseconds" => span / 1_000_000,
            _ => return Err(call.mismatch(args)),
        },
        _ => return Err(call.mismatch(args)),
    };
    Ok(Value::Int(part))
}

fn timestamp_part(function: &str, time: &Timestamp, offset: i64) -> i64 {
    let civil = time::civil(time.seconds + offset);
    match function {
        "getFullYear" => civil.year,
        "getMonth" => civil.month - 1,
        "getDayOfYear" => civil.day_of_year,
        "getDayOfMonth" => civil.day - 1,
        "getDate" => civil.day,
        "getDayOfWeek" => civil.weekday,
        "getHours" => civil.hour,
        "getMinutes" => civil.minute,
        "getSeconds" => civil.second,
        _ => i64::from(time.nanos / 1_000_000),
    }
}

/// The seconds a zone is ahead of UTC: `+hh:mm`, or a name, of which only UTC's are known.
fn offset(zone: &str) -> Result<i64, EvalError> {
    let Some((hours, minutes)) = zone.split_once(':') else {
        return match zone {
            "" | "UTC" | "Local" => Ok(0),
            _ => Err(EvalError::new(format!("unknown time zone {zone}"))),
        };
    };
    let number = |text: &str| {
        text.parse::<i64>().map_err(|_| {
            EvalError::new(format!(
                "strconv.Atoi: parsing {}: invalid syntax",
                sluice_base::go::quote(text)
            ))
        })
    };
    let (hours, minutes) = (number(hours)?, number(minutes)?);
    let ahead = if zone.starts_with('-') {
        hours.saturating_mul(60).saturating_sub(minutes)
    } else {
        hours.saturating_mul(60).saturating_add(minutes)
    };
    Ok(ahead.saturating_mul(60).clamp(-1 << 40, 1 << 40))
}
