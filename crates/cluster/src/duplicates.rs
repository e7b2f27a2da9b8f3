//! Duplicate fields in a body, reported as `duplicate field "spec.x"`.
//!
//! Built-in kinds find them while decoding; this is for custom kinds, which have no Go type.

use std::collections::BTreeSet;

use sluice_schema::gotypes::Document;

/// The duplicate fields of a document, each once, in document order.
pub(crate) fn find(document: &Document) -> Vec<String> {
    let mut found = Vec::new();
    walk(document, "", &mut found);
    let mut seen = BTreeSet::new();
    found.retain(|path| seen.insert(path.clone()));
    found.into_iter().map(|path| format!("duplicate field \"{path}\"")).collect()
}

fn walk(document: &Document, path: &str, found: &mut Vec<String>) {
    match document {
        Document::Object(members) => {
            let mut names = BTreeSet::new();
            for (name, member) in members {
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                if !names.insert(name) {
                    found.push(path.clone());
                }
                walk(member, &path, found);
            }
        }
        Document::List(items) => {
            for (index, item) in items.iter().enumerate() {
                walk(item, &format!("{path}[{index}]"), found);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use sluice_schema::gotypes::Document;

    #[test]
    fn duplicates_are_named_by_their_path() {
        let body = br#"{"a":1,"a":2,"spec":{"list":[{"x":1,"x":2,"x":3}]}}"#;
        assert_eq!(
            super::find(&Document::parse(body).unwrap()),
            [r#"duplicate field "a""#, r#"duplicate field "spec.list[0].x""#]
        );
    }
}
