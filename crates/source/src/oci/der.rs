//! The part of DER that certificates and keys need: consecutive tagged values.

/// The tags that matter here.
pub(super) const BOOLEAN: u8 = 0x01;
pub(super) const INTEGER: u8 = 0x02;
pub(super) const BIT_STRING: u8 = 0x03;
pub(super) const OCTET_STRING: u8 = 0x04;
pub(super) const OBJECT: u8 = 0x06;
pub(super) const UTF8_STRING: u8 = 0x0c;
pub(super) const SEQUENCE: u8 = 0x30;
pub(super) const SET: u8 = 0x31;

/// One value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Value<'a> {
    pub(super) tag: u8,
    /// Its content.
    pub(super) content: &'a [u8],
    /// The whole value with tag and length.
    pub(super) whole: &'a [u8],
}

/// Reads consecutive values; an invalid one ends it.
#[derive(Debug, Clone)]
pub(super) struct Reader<'a>(pub(super) &'a [u8]);

impl<'a> Reader<'a> {
    /// The next value, if it has that tag.
    pub(super) fn expect(&mut self, tag: u8) -> Option<Value<'a>> {
        let before = self.0;
        let found = self.next().filter(|value| value.tag == tag);
        if found.is_none() {
            self.0 = before;
        }
        found
    }

    /// A reader for the content of the next value, which must have that tag.
    pub(super) fn open(&mut self, tag: u8) -> Option<Reader<'a>> {
        self.expect(tag).map(|value| Reader(value.content))
    }
}

impl<'a> Iterator for Reader<'a> {
    type Item = Value<'a>;

    fn next(&mut self) -> Option<Value<'a>> {
        let all = self.0;
        let (&tag, rest) = all.split_first()?;
        let (&first, rest) = rest.split_first()?;
        let (length, rest) = if first < 0x80 {
            (usize::from(first), rest)
        } else {
            // A length of more than four bytes is larger than any certificate.
            let count = usize::from(first & 0x7f);
            if count == 0 || count > 4 {
                return None;
            }
            let (bytes, rest) = rest.split_at_checked(count)?;
            (bytes.iter().fold(0, |length, byte| length << 8 | usize::from(*byte)), rest)
        };
        let (content, rest) = rest.split_at_checked(length)?;
        let whole = all.get(..all.len() - rest.len())?;
        self.0 = rest;
        Some(Value { tag, content, whole })
    }
}

/// The blocks of a PEM text: label and content. Invalid base64 is skipped.
pub(super) fn pem_blocks(text: &[u8]) -> Vec<(String, Vec<u8>)> {
    use base64::Engine as _;
    let text = String::from_utf8_lossy(text);
    let mut blocks = Vec::new();
    let mut rest = text.as_ref();
    while let Some((_, after)) = rest.split_once("-----BEGIN ") {
        let Some((label, after)) = after.split_once("-----") else { break };
        let Some((body, after)) = after.split_once(&format!("-----END {label}-----")) else {
            break;
        };
        let body: String = body.split_whitespace().collect();
        if let Ok(content) = base64::prelude::BASE64_STANDARD.decode(body) {
            blocks.push((label.to_owned(), content));
        }
        rest = after;
    }
    blocks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_and_what_is_none_ends_it() {
        let mut reader =
            Reader(&[0x30, 0x03, 0x02, 0x01, 0x05, 0x04, 0x81, 0x01, 0xff, 0x02, 0x09]);
        let mut inner = reader.open(SEQUENCE).expect("a sequence");
        assert_eq!(inner.expect(INTEGER).map(|it| it.content), Some(&[5_u8][..]));
        assert_eq!(reader.expect(SEQUENCE), None);
        assert_eq!(reader.expect(OCTET_STRING).map(|it| it.content), Some(&[255_u8][..]));
        assert_eq!(reader.next(), None);
        assert_eq!(Reader(&[0x30, 0x85, 1, 1, 1, 1, 1]).next(), None);
        assert_eq!(Reader(&[0x30, 0x84, 0xff, 0xff, 0xff, 0xff]).next(), None);
    }

    #[test]
    fn blocks_of_pem_are_found() {
        let text = b"x\n-----BEGIN A-----\nYWI\nYw==\n-----END A-----\n-----BEGIN B-----\nYQ==\n-----END B-----";
        let blocks = pem_blocks(text);
        let found: Vec<(&str, &[u8])> =
            blocks.iter().map(|(label, content)| (label.as_str(), content.as_slice())).collect();
        assert_eq!(found, [("B", &b"a"[..])]);
    }
}
