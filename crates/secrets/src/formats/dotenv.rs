//! Lines of `NAME=value`, with newlines in values written as `\n`.

use crate::tree::{Branch, Comment, Item, Value};

pub(super) fn load(text: &[u8]) -> Result<Vec<Branch>, String> {
    let mut branch = Branch::new();
    for line in text.split(|byte| *byte == b'\n') {
        match line {
            [] => {}
            [b'#', comment @ ..] => {
                branch.push(Item::Comment(Comment { text: comment.to_vec(), inline: false }));
            }
            line => {
                // The line may contain a secret, so the error does not show it.
                let equals = line.iter().position(|byte| *byte == b'=');
                let (name, value) = equals
                    .and_then(|at| line.split_at_checked(at))
                    .ok_or("invalid dotenv input line")?;
                let value = replace(value.get(1..).unwrap_or_default(), b"\\n", b"\n");
                let name = String::from_utf8_lossy(name).into_owned();
                branch.push(Item::Field(name, Value::Text(value)));
            }
        }
    }
    Ok(vec![branch])
}

pub(super) fn emit(branches: &[Branch]) -> Result<Vec<u8>, String> {
    let mut out = Vec::new();
    for item in branches.first().into_iter().flatten() {
        match item {
            Item::Comment(comment) => {
                out.push(b'#');
                out.extend(&comment.text);
            }
            Item::Field(name, Value::List(_) | Value::Branch(_)) => {
                return Err(format!(
                    "cannot use complex value in dotenv file; offending key {name}"
                ));
            }
            Item::Field(name, value) => {
                out.extend(name.as_bytes());
                out.push(b'=');
                out.extend(replace(&value.to_plain(), b"\n", b"\\n"));
            }
        }
        out.push(b'\n');
    }
    Ok(out)
}

fn replace(text: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((first, after)) = rest.split_first() {
        if let Some(after) = rest.strip_prefix(from) {
            out.extend(to);
            rest = after;
        } else {
            out.push(*first);
            rest = after;
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{emit, load};

    #[test]
    fn line_breaks_go_there_and_back() {
        let text = b"# head\nA=1\nB=a=b\\nc\nEMPTY=\n";
        assert_eq!(emit(&load(text).expect("it is dotenv")), Ok(text.to_vec()));
        let error = load(b"hunter2").expect_err("there is no =");
        assert!(!error.contains("hunter2"));
    }
}
