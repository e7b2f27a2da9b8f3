//! JSON without duplicate keys: parsers differ in which one they use, so the same signed document could have two
//! meanings.

use std::collections::BTreeSet;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

/// Parses a document; `None` if it is invalid or has a duplicate key.
pub(super) fn parse(json: &[u8]) -> Option<Value> {
    serde_json::from_slice::<Unambiguous>(json).ok().map(|read| read.0)
}

struct Unambiguous(Value);

impl<'de> Deserialize<'de> for Unambiguous {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reader).map(Unambiguous)
    }
}

struct Reader;

impl<'de> Visitor<'de> for Reader {
    type Value = Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("JSON")
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Value, A::Error> {
        let mut all = Vec::new();
        while let Some(one) = list.next_element::<Unambiguous>()? {
            all.push(one.0);
        }
        Ok(all.into())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Value, A::Error> {
        let (mut all, mut known) = (Map::new(), BTreeSet::new());
        while let Some((key, value)) = fields.next_entry::<String, Unambiguous>()? {
            // Go matches field names case-insensitively.
            if !known.insert(key.to_lowercase()) {
                return Err(Error::custom("a key is there twice"));
            }
            all.insert(key, value.0);
        }
        Ok(all.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_is_read_unless_a_key_is_there_twice() {
        for text in [r#"{"a":[1,-2,0.5,null,true,"x\/\ud83d\ude00"],"b":{"a":{}}}"#, "[]", "7"] {
            assert_eq!(parse(text.as_bytes()), serde_json::from_str(text).ok(), "{text}");
        }
        for text in [
            r#"{"a":1,"a":1}"#,
            r#"{"x":{"a":1,"b":2,"a":3}}"#,
            r#"[{"alg":1,"ALG":1}]"#,
            r#"{"a":1,"\u0061":2}"#,
            "{} {}",
            "",
        ] {
            assert_eq!(parse(text.as_bytes()), None, "{text}");
        }
    }
}
