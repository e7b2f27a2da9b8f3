//! Whatever is asked, the answer comes soon, and nothing panics.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};

use flate2::read::GzDecoder;
use serde_json::{Value as Json, json};
use sluice_expr::kubernetes::{ObjectSchema, Rules};
use sluice_expr::{Cost, Env, Value};

fn eval(text: &str, limit: u64) -> Result<String, String> {
    let program = Env::kubernetes().compile(text).map_err(|error| error.to_string())?;
    let variables: BTreeMap<String, Value> = BTreeMap::new();
    let result = program.eval(&variables, &mut Cost::limited(limit));
    result.map(|value| format!("{value:?}")).map_err(|error| error.to_string())
}

#[test]
fn an_evaluation_ends_when_it_has_cost_its_limit() {
    let loops = "lists.range(1000).all(a, lists.range(1000).all(b, lists.range(1000).all(c, a + b \
                 + c >= 0)))";
    let error = "operation cancelled: actual cost limit exceeded";
    assert_eq!(eval(loops, 100_000), Err(error.to_owned()));
    for absorbed in [
        format!("({loops}) || true"),
        format!("false && ({loops}) ? 1 == 1 : ({loops})"),
        format!("[1].exists(x, ({loops}))"),
        format!("[1].map(x, ({loops})).size() == 1"),
        "lists.range(1000000000).size() > 0".to_owned(),
    ] {
        assert_eq!(eval(&absorbed, 100_000), Err(error.to_owned()), "{absorbed}");
    }
}

#[test]
fn building_a_list_costs_time_in_proportion() {
    // In place, this is done at once; by copying, it would be two hundred million steps.
    let text = "lists.range(20000).map(x, x).map(x, x + 1).filter(x, x > 0).size()";
    assert_eq!(eval(text, u64::MAX), Ok("Int(20000)".to_owned()));
    let text = "lists.range(20000).transformMap(i, v, v).size()";
    assert_eq!(eval(text, u64::MAX), Ok("Int(20000)".to_owned()));
}

#[test]
fn what_nests_as_deep_as_allowed_fits_the_stack_of_a_thread() {
    let nested = |before: &str, inside: &str, after: &str, depth: usize| {
        format!("{}{inside}{}", before.repeat(depth), after.repeat(depth))
    };
    let deep = [
        nested("(", "1", ")", 249),
        nested("[", "1", "]", 249),
        nested("{'a': ", "1", "}", 249),
        nested("!(", "true", ")", 249),
        nested("-(", "1", ")", 249),
        nested("true ? 1 : ", "2", "", 248),
        nested("dyn(", "1", ")", 248),
        nested("[1].map(x, ", "x", ")", 100),
        nested("[1].all(x, ", "true", ")", 100),
        nested("optional.of(", "1", ")", 240),
        nested("1 + (", "1", ")", 124),
        nested("[1].exists(x, x == 1 && ", "true", ")", 80),
    ];
    for text in deep {
        let shown: String = text.chars().take(40).collect();
        let result = eval(&text, u64::MAX);
        assert!(result.is_ok(), "{shown}: {result:?}");
    }
    for text in [nested("(", "1", ")", 100_000), nested("[", "", "", 100_000), "1+".repeat(50_000)]
    {
        let refused = eval(&text, u64::MAX);
        assert!(refused.is_err_and(|error| error.len() < 100_000));
    }
}

#[test]
fn a_macro_that_copies_its_target_cannot_blow_up() {
    let chained = format!("optional.of(1){}", ".optMap(x, x)".repeat(60));
    let error = eval(&chained, u64::MAX).unwrap_err();
    assert_eq!(error, "ERROR: <input>:-1:0: expression expands beyond limit: 300000 nodes");
}

#[test]
fn nothing_an_expression_builds_outgrows_memory() {
    let long = format!("'{}'", "a".repeat(20_000));
    let error = "operation cancelled: actual cost limit exceeded";
    let bind = |name: &str, value: &str, body: &str| format!("[{value}].map({name}, {body})");
    for body in [
        bind("x", &long, "x.replace('', x)"),
        bind("x", &long, "lists.range(100000).map(i, x).join().size()"),
        bind("x", &long, &format!("'{}'.format(lists.range(9000).map(i, x))", "%s".repeat(9000))),
        bind("l", "lists.range(3000000)", "(l + l + l).size()"),
        bind("l", "lists.range(3000)", "l.map(i, l).flatten().size()"),
        "lists.range(300000).distinct().size()".to_owned(),
        "sets.contains(lists.range(300000), lists.range(300000))".to_owned(),
    ] {
        let shown: String = body.chars().filter(|c| *c != 'a').take(80).collect();
        assert_eq!(eval(&body, 1 << 30), Err(error.to_owned()), "{shown}");
    }
}

#[test]
fn a_pattern_takes_bounded_memory_and_linear_time() {
    let error = eval("'a'.find('((a{100}){100}){100}') == ''", u64::MAX);
    assert!(error.is_err_and(|error| error.starts_with("error parsing regexp")));
    let text = format!("'{}'.matches('(a*)*b')", "a".repeat(5000));
    assert_eq!(eval(&text, u64::MAX), Ok("Bool(false)".to_owned()));
}

#[test]
fn sets_of_many_elements_compare_in_little_time() {
    let schema = json!({"type": "array", "x-kubernetes-list-type": "set",
        "items": {"type": "integer"}});
    let schema = ObjectSchema::new(&schema, false);
    let ascending: Vec<u32> = (0..50_000).collect();
    let descending: Vec<u32> = (0..50_000).rev().collect();
    let (new, old) = (json!(ascending), json!(descending));
    let declared = schema.declared().unwrap().clone();
    let env = Env::kubernetes()
        .with_variable("self", declared.clone())
        .with_variable("oldSelf", declared);
    let program = env.compile("self == oldSelf && (self + oldSelf).size() == 50000").unwrap();
    let variables = BTreeMap::from([
        ("self".to_owned(), schema.read(&new).unwrap()),
        ("oldSelf".to_owned(), schema.read(&old).unwrap()),
    ]);
    let result = program.eval(&variables, &mut Cost::limited(u64::MAX));
    assert!(matches!(result, Ok(Value::Bool(true))), "{result:?}");
}

#[test]
fn a_schema_of_any_shape_is_read() {
    let mut deep = json!({"type": "string", "x-kubernetes-validations": [{"rule": "self == 'x'"}]});
    for _ in 0..100 {
        deep = json!({"type": "object", "properties": {"a": deep}});
    }
    let _ = Rules::new(&deep, true).validate(&json!({"a": {"a": 1}}), None);
    for odd in [
        json!(null),
        json!([1]),
        json!("x"),
        json!({"properties": 1, "items": [], "allOf": 2}),
        json!({"type": 5, "x-kubernetes-validations": [1, {"rule": 2}]}),
        json!({"type": "object", "x-kubernetes-validations": [{"rule": "self.a"}]}),
    ] {
        let rules = Rules::new(&odd, true);
        for object in [json!(null), json!(1), json!([]), json!({"a": {}})] {
            let _ = rules.validate(&object, Some(&object));
        }
    }
}

/// A small generator of numbers, so that every run tries the same.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap_or(0) % sides.max(1)
    }
}

#[test]
fn damaged_expressions_are_answered_without_panic() {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/recorded/apiserver-0.35.4-cel-go-0.26.0.jsonl.gz"
    );
    let reader = BufReader::new(GzDecoder::new(std::fs::File::open(path).unwrap()));
    let rules: Vec<Vec<char>> = reader
        .lines()
        .filter_map(|line| {
            let record: Json = serde_json::from_str(&line.unwrap()).unwrap();
            let rule = record["question"]["rule"].as_str()?;
            (rule.len() < 200).then(|| rule.chars().collect())
        })
        .collect();
    let mut dice = Dice(7);
    let pieces = [
        "(", ")", "[", "]", "{", "}", ".", "?", ":", ",", "'", "\"", "\\", "1", "-", "in", "all",
        " ", "\u{e9}", "&&", "null", "self", "%", "0x", "b'", "e9", "u", "\n",
    ];
    for _ in 0..6000 {
        let mut text = rules[dice.roll(rules.len())].clone();
        for _ in 0..=dice.roll(3) {
            let at = dice.roll(text.len() + 1);
            match dice.roll(3) {
                0 if at < text.len() => {
                    text.remove(at);
                }
                1 => {
                    let piece = pieces[dice.roll(pieces.len())];
                    text.splice(at..at, piece.chars());
                }
                _ => {
                    let other = &rules[dice.roll(rules.len())];
                    let start = dice.roll(other.len());
                    let end = (start + dice.roll(12)).min(other.len());
                    text.splice(at..at, other[start..end].iter().copied());
                }
            }
        }
        let text: String = text.iter().collect();
        let _ = eval(&text, 100_000);
        if let Ok(program) = Env::flux().parse(&text) {
            let variables: BTreeMap<String, Value> = BTreeMap::new();
            let _ = program.eval(&variables, &mut Cost::limited(100_000));
        }
    }
}
