//! Label selectors, as flags have them.

use sluice_base::labels::Selector;

use crate::make::{nested, numbered, reason, times};
use crate::{Format, Hostile, Outcome};

pub(super) const FORMAT: Format = Format { name: "label selectors", parse, seeds, hostile };

fn parse(input: &[u8]) -> Outcome {
    let selector = Selector::parse(&String::from_utf8_lossy(input)).map_err(reason)?;
    let _ = selector.matches(|key| (key == "a").then_some("b"));
    Ok(())
}

fn seeds() -> Vec<Vec<u8>> {
    vec![b"a=b,c!=d,e in (f,g),h notin (i),j,!k".to_vec(), b"x.io/y==z".to_vec()]
}

fn hostile() -> Vec<Hostile> {
    vec![
        ("100,000 requirements", numbered("k{n}=v,", 80_000).into_bytes()),
        ("100,000 values", format!("a in ({})", numbered("v{n},", 100_000)).into_bytes()),
        ("brackets in each other", nested("(", "a", ")", 200_000)),
        ("a bracket without end", [b"a in (".to_vec(), times("x,", 300_000)].concat()),
        ("not not not", times("!", 1 << 20)),
        ("commas", times(",", 1 << 20)),
        ("a key of a mebibyte", times("a", 1 << 20)),
    ]
}
