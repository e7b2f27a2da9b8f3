//! Keys and values of ConfigMaps and Secrets: from env files, literals and files.

use std::collections::BTreeMap;

use super::Arguments;
use crate::failure::{Failure, Result};
use crate::transformers::Load;

type Pair = (String, Vec<u8>);

/// All pairs of the generator; keys must be unique.
pub(super) fn load(arguments: &Arguments, files: &dyn Load) -> Result<BTreeMap<String, Vec<u8>>> {
    let pairs = pairs(arguments, files).map_err(|failure| failure.context("loading KV pairs"))?;
    let mut all = BTreeMap::new();
    for (key, value) in pairs {
        if all.contains_key(&key) {
            let name = &arguments.name;
            return Err(Failure::new(format!(
                "configmap {name} illegally repeats the key `{key}`"
            )));
        }
        all.insert(key, value);
    }
    Ok(all)
}

fn pairs(arguments: &Arguments, files: &dyn Load) -> Result<Vec<Pair>> {
    let Arguments { envs, literals, files: paths, .. } = arguments;
    let mut all = Vec::new();
    for path in envs {
        let pairs = files.load(path).and_then(|content| {
            files.generated(content.len())?;
            lines(&content)
        });
        all.extend(pairs.map_err(|failure| {
            failure.context(format_args!("env source files: [{}]", envs.join(" ")))
        })?);
    }
    for source in literals {
        all.push(literal(source).map_err(|failure| {
            failure.context(format_args!("literal sources [{}]", literals.join(" ")))
        })?);
    }
    for source in paths {
        all.push(file(source, files).map_err(|failure| {
            failure.context(format_args!("file sources: [{}]", paths.join(" ")))
        })?);
    }
    Ok(all)
}

/// Parses `key=value`; quotes around the value are removed.
fn literal(source: &str) -> Result<Pair> {
    match source.split_once('=') {
        Some((key, value)) if !key.is_empty() => {
            Ok((key.to_owned(), without_quotes(value).as_bytes().to_vec()))
        }
        _ => Err(Failure::new(format!("invalid literal source {source}, expected key=value"))),
    }
}

fn without_quotes(text: &str) -> &str {
    for quote in ['"', '\''] {
        if let Some(inner) = text.strip_prefix(quote).and_then(|text| text.strip_suffix(quote)) {
            return inner;
        }
    }
    text
}

/// Parses `path`, with the last part as the key, or `key=path`.
fn file(source: &str, files: &dyn Load) -> Result<Pair> {
    let (key, path) = match source.split_once('=') {
        None => (last_part(source), source),
        Some((_, path)) if path.contains('=') => {
            return Err(Failure::new(format!(
                "source {source:?} key name or file path contains '='"
            )));
        }
        Some(("", path)) => {
            return Err(Failure::new(format!(
                "missing key name for file path {path:?} in source {source:?}"
            )));
        }
        Some((key, "")) => {
            return Err(Failure::new(format!(
                "missing file path for key name {key:?} in source {source:?}"
            )));
        }
        Some(pair) => pair,
    };
    let content = files.load(path)?;
    files.generated(content.len())?;
    Ok((key.to_owned(), content.into_owned()))
}

/// The last part of a path, as in Go's `path.Base`.
fn last_part(path: &str) -> &str {
    let path_without = path.trim_end_matches('/');
    match path_without {
        "" if path.is_empty() => ".",
        "" => "/",
        rest => rest.rsplit('/').next().unwrap_or(rest),
    }
}

/// The pairs of an env file: one `KEY=value` per line. Quotes are kept, and a key without `=` has an empty
/// value.
fn lines(content: &[u8]) -> Result<Vec<Pair>> {
    let mut pairs = Vec::new();
    for (index, line) in scan(content).enumerate() {
        let Ok(line) = std::str::from_utf8(line) else {
            let shown = String::from_utf8_lossy(line);
            return Err(Failure::new(format!("line {line:?} has invalid utf8 bytes : {shown}")));
        };
        let mark = Some('\u{feff}').filter(|_| index == 0);
        let line = mark.and_then(|mark| line.strip_prefix(mark)).unwrap_or(line);
        let line = line.trim_start();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let (key, value) = line.split_once('=').unwrap_or((line, ""));
        if !key.is_empty() {
            pairs.push((key.to_owned(), value.as_bytes().to_vec()));
        }
    }
    Ok(pairs)
}

/// The maximum line length of Go's scanner, which stops there silently.
const LONGEST: usize = 64 * 1024;

/// Lines as in Go's `bufio.Scanner`: without a carriage return, and none after a line that is too long.
fn scan(content: &[u8]) -> impl Iterator<Item = &[u8]> {
    let lines = content.split_inclusive(|&byte| byte == b'\n');
    lines.take_while(|line| line.len() < LONGEST).map(|line| {
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        line.strip_suffix(b"\r").unwrap_or(line)
    })
}

#[cfg(test)]
mod tests {
    use super::{last_part, lines, literal, without_quotes};

    fn text(pair: (String, Vec<u8>)) -> (String, String) {
        (pair.0, String::from_utf8(pair.1).unwrap())
    }

    #[test]
    fn lines_are_read_as_they_are() {
        let content = "\u{feff}A=1\r\n  B = \"x\" \n# C=3\n\nD\n=e\nF=a=b";
        let pairs: Vec<_> = lines(content.as_bytes()).unwrap().into_iter().map(text).collect();
        let expected = [("A", "1"), ("B ", " \"x\" "), ("D", ""), ("F", "a=b")];
        let expected = expected.map(|(key, value)| (key.to_owned(), value.to_owned()));
        assert_eq!(pairs, expected);
        assert!(lines(b"A=\xff").is_err());
    }

    #[test]
    fn literals_lose_one_layer_of_quotes() {
        assert_eq!(text(literal("a=\"b=c\"").unwrap()), ("a".to_owned(), "b=c".to_owned()));
        assert_eq!(without_quotes("\""), "\"");
        assert_eq!(without_quotes("'a\""), "'a\"");
        assert_eq!(without_quotes("''a''"), "'a'");
        for wrong in ["=a", "a", ""] {
            assert!(literal(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_key_of_a_file_is_its_name() {
        assert_eq!(last_part("a/b.txt"), "b.txt");
        assert_eq!(last_part("b/"), "b");
        assert_eq!(last_part(""), ".");
    }
}
