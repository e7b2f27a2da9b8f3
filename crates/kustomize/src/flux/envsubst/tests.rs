//! Forms of each operator, the oddities, and the bounds.

use super::functions::Budget;
use super::{Envsubst, EnvsubstError, MAX_DEPTH, Missing, Template};

fn evaluate(text: &str, missing: Missing) -> Result<String, EnvsubstError> {
    let value_of = |name: &str| match name {
        "name" => Some(b"web-frontend.example".as_slice()),
        "path" => Some(b"/srv/data/file.tar.gz".as_slice()),
        "mixed" => Some("ÄbcÖ".as_bytes()),
        "empty" => Some(b"".as_slice()),
        "number" => Some(b"3".as_slice()),
        _ => None,
    };
    let out = Template::parse(text.as_bytes())?.evaluate(missing, value_of)?;
    Ok(String::from_utf8_lossy(&out).into_owned())
}

#[test]
fn every_operator_has_a_result() {
    for (text, expected) in [
        ("a $name $ b", "a $name $ b"),
        ("$${name} $$$${name}", "${name} $${name}"),
        ("<${name}>", "<web-frontend.example>"),
        ("${#name} ${#mixed}", "20 6"),
        ("${mixed^^} ${mixed,,} ${name^} ${mixed,}", "ÄBCÖ äbcö Web-frontend.example äbcÖ"),
        ("${name:4} ${name:4:5} ${name:-7}", "frontend.example front web-frontend.example"),
        (
            "${name:1:-1} ${name: -3} ${name:x}",
            "eb-frontend.exampl web-frontend.example web-frontend.example",
        ),
        ("${name:99}${name:5:-99}${name:2:0}|", "|"),
        ("${path#*/} ${path##*/}", "srv/data/file.tar.gz file.tar.gz"),
        ("${path%.*} ${path%%.*}", "/srv/data/file.tar /srv/data/file"),
        ("${name/e/E} ${name//e/E}", "wEb-frontend.example wEb-frontEnd.ExamplE"),
        ("${name/#web/app} ${name/%example/org}", "app-frontend.example web-frontend.org"),
        ("${name/-/} ${name/#web/}", "webfrontend.example web-frontend.example"),
        (r"${path//\//-}", "-srv-data-file.tar.gz"),
        ("${mixed//${empty}/.}", ".Ä.b.c.Ö."),
        ("${empty:-a${number}b} ${empty:=x} ${empty=y} ${empty:?z}", "a3b x y z"),
        ("${number:+x} ${empty:+x}", "3 x"),
        ("${name:${number}:${#number}}", "-"),
    ] {
        assert_eq!(evaluate(text, Missing::Error).as_deref(), Ok(expected), "{text}");
    }
}

#[test]
fn what_is_wrong_is_said_with_its_place() {
    for (text, reason, offset) in [
        ("ab ${", Envsubst::VariableName, 3),
        ("${-a}", Envsubst::VariableName, 0),
        ("${name", Envsubst::MissingClosingBrace, 0),
        ("${name-default}", Envsubst::MissingClosingBrace, 0),
        ("${name:}", Envsubst::Argument, 0),
        ("${name:é}", Envsubst::BadSubstitution, 0),
        ("${name:", Envsubst::BadSubstitution, 0),
        ("${#}", Envsubst::BadSubstitution, 0),
        ("x ${name:-${a b}}", Envsubst::MissingClosingBrace, 10),
        ("x ${empty:-${gone}}", Envsubst::NotSet("gone".to_owned()), 11),
        ("${gone^^}", Envsubst::NotSet("gone".to_owned()), 0),
    ] {
        let error = evaluate(text, Missing::Error).expect_err(text);
        assert_eq!((error.reason, error.offset), (reason, offset), "{text}");
    }
    assert_eq!(evaluate("<${gone}${gone:1}>", Missing::Empty).as_deref(), Ok("<>"));
    assert_eq!(evaluate("<${gone:-d}>", Missing::Error).as_deref(), Ok("<d>"));
}

#[test]
fn growth_nesting_and_matching_are_bounded() {
    let big = vec![b'a'; 1 << 20];
    let run = |text: &str| {
        let value_of = |_: &str| Some(big.as_slice());
        let mut budget = Budget { steps: 1000, ..Budget::default() };
        Template::parse(text.as_bytes())?.evaluate_within(&mut budget, Missing::Error, value_of)
    };
    let reason = |text: &str| run(text).expect_err("it is too much").reason;
    assert_eq!(reason("${a//a/${a}}"), Envsubst::TooLarge);
    assert_eq!(reason(&"${a}".repeat(40)), Envsubst::TooLarge);
    assert_eq!(reason("${a##*b*b*c}"), Envsubst::TooLong);
    let deep = |depth: usize| "${a:-".repeat(depth) + &"}".repeat(depth);
    assert_eq!(reason(&deep(MAX_DEPTH + 1)), Envsubst::TooDeep);
    assert_eq!(reason(&"${a:-".repeat(100_000)), Envsubst::TooDeep);
    // A bound in the number of dollar signs would be quadratic in upstream's way of skipping them.
    assert_eq!(run(&"$$".repeat(1 << 20)).map(|out| out.len()), Ok(1 << 20));
}
