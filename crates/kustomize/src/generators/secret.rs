//! Generates Secrets.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sluice_yaml::Node;

use super::{Arguments, config_map, finish, key_values, object};
use crate::access::{self, Kind};
use crate::failure::Result;
use crate::resource::Resource;
use crate::transformers::Load;

/// The longest line of base64.
const LINE: usize = 70;

/// A Secret, `Opaque` by default.
pub(super) fn generate(arguments: &Arguments, kind: &str, files: &dyn Load) -> Result<Resource> {
    let mut node = object("Secret", arguments)?;
    let kind = if kind.is_empty() { "Opaque" } else { kind };
    access::set(&mut node, "type", Node::text(kind))?;
    let values = key_values::load(arguments, files)?;
    access::lookup_create(&mut node, &["data"], Kind::Mapping)?;
    for (key, value) in values {
        config_map::put(&mut node, "data", &key, access::lines(base64_lines(&value)))?;
    }
    finish(node, arguments)
}

/// Base64 in lines, each with a newline; a short value has none.
pub(super) fn base64_lines(bytes: &[u8]) -> String {
    let text = STANDARD.encode(bytes);
    if text.len() < LINE {
        return text;
    }
    let mut lines = String::with_capacity(text.len() + text.len() / LINE + 1);
    let mut rest = text.as_str();
    while !rest.is_empty() {
        let (line, after) = rest.split_at(LINE.min(rest.len()));
        lines.push_str(line);
        lines.push('\n');
        rest = after;
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::base64_lines;

    #[test]
    fn base64_is_cut_after_seventy_characters() {
        assert_eq!(base64_lines(b"abc"), "YWJj");
        assert_eq!(base64_lines(&[0; 51]), "A".repeat(68));
        assert_eq!(base64_lines(&[0; 54]), format!("{}\nAA\n", "A".repeat(70)));
    }
}
