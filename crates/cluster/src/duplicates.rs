//! Fields that stand twice in a JSON body, reported as `duplicate field "spec.x"`.

use std::collections::BTreeSet;
use std::fmt;

use serde::de::{DeserializeSeed, MapAccess, SeqAccess, Visitor};

/// The duplicate fields of `body`, each once, in the order they are met. Text that is no JSON has
/// none.
pub(crate) fn find(body: &[u8]) -> Vec<String> {
    let mut found = Vec::new();
    let mut reader = serde_json::Deserializer::from_slice(body);
    // The result is only whether it could be read, which the caller has found out already.
    let _ = Walk { path: String::new(), found: &mut found }.deserialize(&mut reader);
    let mut seen = BTreeSet::new();
    found.retain(|path| seen.insert(path.clone()));
    found.into_iter().map(|path| format!("duplicate field \"{path}\"")).collect()
}

struct Walk<'a> {
    path: String,
    found: &'a mut Vec<String>,
}

impl<'de> DeserializeSeed<'de> for Walk<'_> {
    type Value = ();

    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Walk<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON")
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        let mut index = 0;
        loop {
            let path = format!("{}[{index}]", self.path);
            if items.next_element_seed(Walk { path, found: self.found })?.is_none() {
                return Ok(());
            }
            index += 1;
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<(), A::Error> {
        let mut names = BTreeSet::new();
        while let Some(name) = entries.next_key::<String>()? {
            let path =
                if self.path.is_empty() { name.clone() } else { format!("{}.{name}", self.path) };
            if !names.insert(name) {
                self.found.push(path.clone());
            }
            entries.next_value_seed(Walk { path, found: self.found })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn duplicates_are_named_by_their_path() {
        let body = br#"{"a":1,"a":2,"spec":{"list":[{"x":1,"x":2,"x":3}]}}"#;
        assert_eq!(
            super::find(body),
            [r#"duplicate field "a""#, r#"duplicate field "spec.list[0].x""#]
        );
        assert!(super::find(b"{\"a\":").is_empty());
    }
}
