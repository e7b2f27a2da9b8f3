//! Cases whose answers are the library's own; the bulk of them is recorded.

use super::*;

fn version(text: &str) -> Version {
    Version::parse(text).expect("a version")
}

#[test]
fn ranges_take_what_the_library_takes() {
    let cases = [
        ("*", "1.2.3", true),
        ("*", "1.2.3-rc1", false),
        (">=1.0.0-0", "1.2.3-rc1", true),
        ("1.x", "1.9.0", true),
        ("~1.2", "1.3.0", false),
        ("^0.2.3", "0.2.9", true),
        ("^0.2.3", "0.3.0", false),
        ("1.2 - 1.4", "1.4.5", true),
        (">=1.0 <2 || =3.0.0", "3.0.0", true),
        ("!=1.2", "1.2.7", false),
        (">11", "11.1.0", false),
        ("<=1.2", "1.2.9", true),
        ("=1.2.3+meta", "1.2.3+other", true),
    ];
    for (range, text, expected) in cases {
        let range = Constraint::parse(range).expect("a range");
        assert_eq!(range.check(&version(text)), expected, "{range:?} {text}");
    }
}

#[test]
fn versions_are_read_loosely_and_tags_need_three_numbers() {
    for text in ["v1.2.3", "1", "1.2", "1.2.3-a.b+c", "01.2.3", "v0"] {
        assert!(Version::parse(text).is_ok(), "{text}");
    }
    for text in ["", "v", "1.2.3.4", "1.2.3-01", "1.2.3-", "1..2", "a", "1.2.3+", "V1.2.3"] {
        assert!(Version::parse(text).is_err(), "{text}");
    }
    assert!(Version::parse_tag("v1.2").is_err());
    assert!(Version::parse_tag("v1.2.3").is_ok());
}

#[test]
fn the_newest_comes_first() {
    let range = Constraint::parse("*").expect("a range");
    let found = sorted(&range, ["v1.0.0", "2.0.0", "latest", "1.10.0", "1.9.0"]);
    let texts: Vec<&str> = found.iter().map(Version::original).collect();
    assert_eq!(texts, ["2.0.0", "1.10.0", "1.9.0", "v1.0.0"]);
}
