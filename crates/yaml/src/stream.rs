//! Splits streams into documents by their text, before they are parsed.
//!
//! Neither Kubernetes nor kustomize lets the parser find the documents of a stream, so that an invalid one does not
//! affect the others; each has its own rule for separators.

use crate::error::Error;

/// The documents of `text` as the `YAMLReader` of Kubernetes cuts them.
///
/// Any line that starts with `---` separates, and only white space and a comment may follow on it.
/// Line breaks become line feeds. A separator with nothing before it is the first line of a document.
pub fn split_for_kubernetes(text: &str) -> Result<Vec<String>, Error> {
    let mut documents = Vec::new();
    let mut document = String::new();
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("---") {
            let rest = rest.trim();
            if !rest.is_empty() && !rest.starts_with('#') {
                return Err(Error::Unsupported(format!("invalid Yaml document separator: {rest}")));
            }
            if !document.is_empty() {
                documents.push(std::mem::take(&mut document));
                continue;
            }
        }
        document.push_str(line);
        document.push('\n');
    }
    documents.extend(Some(document).filter(|document| !document.is_empty()));
    Ok(documents)
}

/// The documents of `text` as kustomize cuts them; it turns CR LF into LF before.
///
/// A separator is a whole line, with a line break in front, so the `---` of a text's first line
/// belongs to the first document, and of two in a row the second belongs to what follows. The line
/// break in front stays with the document before it, as the end of its last scalar may hang on it.
pub fn split_for_kustomize(text: &str) -> Result<Vec<&str>, Error> {
    let mut documents = Vec::new();
    let mut start = 0;
    let mut from = 0;
    while let Some(found) = text[from..].find("\n---").map(|found| from + found) {
        let Some(end) = text[found + 1..].find('\n').map(|end| found + 1 + end) else { break };
        let rest = text[found + 4..end].trim();
        if !rest.is_empty() && !rest.starts_with('#') {
            let separator = text[found..end].trim();
            return Err(Error::Unsupported(format!("invalid document separator: {separator}")));
        }
        documents.push(&text[start..=found]);
        start = end + 1;
        from = start;
    }
    if !text.is_empty() {
        documents.push(&text[start..]);
    }
    Ok(documents)
}

#[cfg(test)]
mod tests {
    use super::{split_for_kubernetes, split_for_kustomize};

    #[test]
    fn kustomize_wants_a_line_break_in_front() {
        let cases: [(&str, &[&str]); 6] = [
            ("", &[]),
            ("a: 1", &["a: 1"]),
            ("---\na: 1\n---\nb: 2\n", &["---\na: 1\n", "b: 2\n"]),
            ("a\n---\n---\nb", &["a\n", "---\nb"]),
            ("a\n--- # c\nb\n---", &["a\n", "b\n---"]),
            ("a\n ---\nb", &["a\n ---\nb"]),
        ];
        for (text, documents) in cases {
            assert_eq!(split_for_kustomize(text).unwrap(), documents, "{text:?}");
        }
        let error = split_for_kustomize("a\n---x: y\nb").expect_err("a key");
        assert_eq!(error.to_string(), "invalid document separator: ---x: y");
    }

    #[test]
    fn kubernetes_cuts_at_every_separator() {
        let cases: [(&str, &[&str]); 5] = [
            ("", &[]),
            ("a: 1", &["a: 1\n"]),
            ("---\na: 1\r\n---\nb: 2\n", &["---\na: 1\n", "b: 2\n"]),
            ("a\n--- # c\n---\nb", &["a\n", "---\nb\n"]),
            ("a\n---", &["a\n"]),
        ];
        for (text, documents) in cases {
            assert_eq!(split_for_kubernetes(text).unwrap(), documents, "{text:?}");
        }
        let error = split_for_kubernetes("a\n--- b\n").expect_err("content");
        assert_eq!(error.to_string(), "invalid Yaml document separator: b");
    }
}
