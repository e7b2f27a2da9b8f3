//! Resource amounts are multiples of a thousandth: finer ones are rounded up when they are read.

use serde_json::Value;
use sluice_base::quantity::Quantity;

use crate::value::at_mut;

/// Rounds the quantities of the resource lists at `paths`.
pub(super) fn round_up(object: &mut Value, paths: &[&str]) {
    for path in paths {
        let Some(amounts) = at_mut(object, path).and_then(Value::as_object_mut) else { continue };
        for amount in amounts.values_mut() {
            let Some(finer) = amount.as_str().and_then(|text| Quantity::parse(text).ok()) else {
                continue;
            };
            let rounded = finer.milli_value().map(Quantity::from_milli);
            if let Some(rounded) = rounded.filter(|rounded| *rounded > finer) {
                *amount = rounded.to_string().into();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    #[test]
    fn nothing_is_finer_than_a_thousandth() {
        let mut object =
            json!({"spec": {"hard": {"a": "100u", "b": "1500m", "c": "1Gi", "d": "1100u"}}});
        super::round_up(&mut object, &["spec.hard", "spec.absent"]);
        let expected = json!({"a": "1m", "b": "1500m", "c": "1Gi", "d": "2m"});
        assert_eq!(object["spec"]["hard"], expected);
    }
}
