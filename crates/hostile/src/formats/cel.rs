//! CEL expressions of Flux and of Kubernetes, over one object.

use serde_json::json;
use sluice_expr::flux::Expression;

use crate::make::{join, nested, reason, times};
use crate::{Format, Hostile, Outcome};

pub(super) const FORMAT: Format = Format { name: "CEL expressions", parse, seeds, hostile };

fn parse(input: &[u8]) -> Outcome {
    let text = String::from_utf8_lossy(input);
    let object = json!({
        "metadata": {"name": "a", "labels": {"a": "b"}},
        "status": {"conditions": [{"type": "Ready", "status": "True"}], "list": vec![1; 100]},
    });
    let checked = Expression::compile(&text, &["self"], None).map_err(reason);
    if let Ok(checked) = &checked {
        let _ = checked.is_true_with(&[("self", &object)].into());
    }
    let parsed = Expression::parse(&text).map_err(reason);
    match parsed {
        Ok(parsed) => parsed.is_true_of(&object).map(drop).map_err(reason).or(checked.map(drop)),
        Err(error) => Err(error),
    }
}

fn seeds() -> Vec<Vec<u8>> {
    [
        "status.conditions.exists(c, c.type == 'Ready' && c.status == 'True')",
        "self.metadata.name.startsWith('a') ? size(self.status.list) > 1 : has(self.x)",
        "[1, 2.5, 'a', b'x', true, null, {'a': 1u}].map(x, string(x)).join(',') != ''",
        "quantity('1Gi').isGreaterThan(quantity('1Mi')) || timestamp('2024-01-01T00:00:00Z') > timestamp('2023-01-01T00:00:00Z')",
        "'a-b-c'.split('-').all(p, p.matches('^[a-z]$')) && semver('1.2.3').isLessThan(semver('2.0.0'))",
    ]
    .map(|text| text.as_bytes().to_vec())
    .to_vec()
}

fn hostile() -> Vec<Hostile> {
    let list = format!("[{}]", vec!["1"; 1000].join(","));
    let loops = |depth: usize| {
        let (mut open, mut close) = (String::new(), String::new());
        for level in 0..depth {
            open.push_str(&format!("status.list.all(v{level}, "));
            close.push(')');
        }
        format!("{open}true{close}").into_bytes()
    };
    let doubled = |depth: usize| {
        (0..depth).fold("'aaaaaaaaaa'".to_owned(), |text, _| format!("[{text}].map(x, x + x)[0]"))
    };
    vec![
        ("loops in each other, ten deep", loops(10)),
        ("loops in each other, 200 deep", loops(200)),
        ("a text that doubles forty times", format!("{} == ''", doubled(40)).into_bytes()),
        (
            "a list that doubles",
            format!(
                "size({}) > 0",
                (0..40).fold(list.clone(), |text, _| format!("[{text}].map(x, x + x)[0]"))
            )
            .into_bytes(),
        ),
        ("brackets in each other", nested("(", "1", ")", 100_000)),
        ("lists in each other", nested("[", "1", "]", 100_000)),
        ("minus minus minus", join(&[&times("-", 100_000), b"1 == 1"])),
        ("not not not", join(&[&times("!", 100_000), b"true"])),
        ("questions in each other", nested("true ? ", "1", " : 1", 50_000)),
        ("50,000 sums", times("1 + ", 50_000)),
        ("50,000 ors", join(&[&times("false || ", 50_000), b"true"])),
        ("fields of fields", join(&[b"self", &times(".a", 100_000)])),
        ("an index of an index", join(&[b"self", &times("['a']", 50_000)])),
        (
            "a pattern that goes back and forth",
            b"'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'.matches('(a*)*(a*)*b')".to_vec(),
        ),
        ("a pattern of a billion", b"'a'.matches('((a{1000}){1000}){1000}')".to_vec()),
        (
            "a pattern of 100,000 letters",
            format!("'a'.matches('{}')", "a?".repeat(100_000)).into_bytes(),
        ),
        ("a text of a mebibyte", format!("'{}' == ''", "x".repeat(1 << 20)).into_bytes()),
        ("a format of stars", b"'%s'.format([[1,2,3]]) == ''".to_vec()),
        (
            "a replacement that grows",
            format!("'{}'.replace('a', '{}') == ''", "a".repeat(10_000), "b".repeat(10_000))
                .into_bytes(),
        ),
        (
            "a join that grows",
            format!("{list}.map(x, '{}').join('{}') == ''", "a".repeat(5000), "b".repeat(5000))
                .into_bytes(),
        ),
        ("a number without end", join(&[&times("9", 1 << 18), b" == 1"])),
        ("a text without end", join(&[b"'", &times("a", 1 << 18)])),
    ]
}
