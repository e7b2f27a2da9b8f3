//! What may differ between the outputs of two runs of a session.

use std::sync::LazyLock;

use regex::Regex;

struct Rule {
    #[cfg_attr(not(test), expect(dead_code, reason = "the tests name the rule that fails"))]
    name: &'static str,
    pattern: &'static str,
    stand_in: &'static str,
    /// Two texts that become equal.
    #[cfg_attr(not(test), expect(dead_code, reason = "the tests read the pairs"))]
    equal: (&'static str, &'static str),
    /// Two texts that must stay different.
    #[cfg_attr(not(test), expect(dead_code, reason = "the tests read the pairs"))]
    differ: (&'static str, &'static str),
}

/// Applied in this order.
const RULES: &[Rule] = &[
    Rule {
        name: "token",
        pattern: r"eyJ[\w-]+\.[\w-]+\.[\w-]+",
        stand_in: "<token>",
        equal: ("eyJhbGci.eyJhdWQi.c2ln", "eyJhbGcx.eyJhdWQx.c2lx"),
        differ: ("eyJhbGci.eyJhdWQi.c2ln", "eyJhbGci"),
    },
    Rule {
        name: "certificate",
        pattern: r"(?s)-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----",
        stand_in: "<certificate>",
        equal: (
            "-----BEGIN CERTIFICATE-----\nA\n-----END CERTIFICATE-----",
            "-----BEGIN CERTIFICATE-----\nB\n-----END CERTIFICATE-----",
        ),
        differ: ("-----BEGIN CERTIFICATE-----\nA\n-----END CERTIFICATE-----", "A"),
    },
    Rule {
        name: "time",
        pattern: r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(Z| [+-]\d{4}( UTC)?)",
        stand_in: "<time>",
        equal: ("2026-11-15T04:00:00Z", "2027-11-15T05:00:00Z"),
        differ: ("2026-11-15T04:00:00Z", "2026-11-15"),
    },
    Rule {
        name: "long time",
        pattern: r"(Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d \w{3} \d{4} \d\d:\d\d:\d\d [+-]\d{4}",
        stand_in: "<time>",
        equal: ("Sun, 15 Nov 2026 04:10:09 +0000", "Mon, 16 Nov 2026 04:10:09 +0000"),
        differ: ("Sun, 15 Nov 2026 04:10:09 +0000", "<unset>"),
    },
    Rule {
        name: "uid",
        pattern: r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",
        stand_in: "<uid>",
        equal: ("11111111-2222-4333-8444-555555555555", "21111111-2222-4333-8444-555555555555"),
        differ: ("11111111-2222-4333-8444-555555555555", "11111111"),
    },
    Rule {
        name: "version",
        pattern: r#"(resourceVersion"?: ?|Resource Version: +)"?\d+"?"#,
        stand_in: "$1<version>",
        equal: (r#"resourceVersion: "7""#, r#"resourceVersion: "9""#),
        differ: (r#"resourceVersion: "7""#, r#"resourceVersion: """#),
    },
    Rule {
        name: "difference file",
        pattern: r"(/tmp|/var/folders)/\S*?/?(LIVE|MERGED)-\d+/",
        stand_in: "$2/",
        equal: ("--- /tmp/LIVE-12/v1.ConfigMap", "--- /tmp/LIVE-34/v1.ConfigMap"),
        differ: ("--- /tmp/LIVE-12/v1.ConfigMap", "--- /tmp/MERGED-12/v1.ConfigMap"),
    },
    Rule {
        name: "cluster address",
        pattern: r"\b10\.96\.\d{1,3}\.\d{1,3}\b",
        stand_in: "<address>",
        equal: ("10.96.3.4", "10.96.9.9"),
        differ: ("10.96.3.4", "None"),
    },
    Rule {
        name: "pod address",
        pattern: r"\b10\.(0|244)\.\d{1,3}\.\d{1,3}\b",
        stand_in: "<pod address>",
        equal: ("10.0.0.4", "10.244.1.9"),
        differ: ("10.0.0.4", "<none>"),
    },
    Rule {
        name: "server",
        pattern: r"127\.0\.0\.1:\d+",
        stand_in: "<server>",
        equal: ("https://127.0.0.1:6443", "https://127.0.0.1:443"),
        differ: ("https://127.0.0.1:6443", "http://127.0.0.1:443"),
    },
    Rule {
        name: "pod suffix",
        pattern: r"(<hash:\d+>-|\bonce-|kube-api-access-)[bcdfghjklmnpqrstvwxz2-9]{5}\b",
        stand_in: "$1<suffix>",
        equal: ("web-5d8f6c7b9d-bcdfg", "web-6d8f6c7b9d-zzzzz"),
        differ: ("web-5d8f6c7b9d-bcdfg", "web-bcdfg"),
    },
    Rule {
        name: "age",
        pattern: r"(?m)(^|\s|\()(\d{1,2}[smh]){1,2}( ago|\)|\s|$)",
        stand_in: "$1<age>$3",
        equal: ("web  3s\n", "web  1m2s\n"),
        differ: ("web  3s\n", "web  <none>\n"),
    },
    Rule {
        name: "width",
        pattern: r"(\S) {2,}",
        stand_in: "$1  ",
        equal: ("a     b", "a  b"),
        differ: ("  a  b", "    a  b"),
    },
    Rule {
        name: "line end",
        pattern: r"(?m) +$",
        stand_in: "",
        equal: ("a \n", "a\n"),
        differ: ("a \nb", "a b"),
    },
];

static PATTERNS: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    RULES
        .iter()
        .map(|rule| Regex::new(rule.pattern).expect("because the pattern is a constant"))
        .collect()
});

static HASH: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"([a-z]-|pod-template-hash=)([bcdfghjklmnpqrstvwxz2456789]{8,10})\b")
        .expect("because the pattern is a constant")
});

/// The hashes of pod templates that a session has shown. Another server may hash otherwise: what counts is which are the same.
#[derive(Default)]
pub(super) struct Hashes(Vec<String>);

impl Hashes {
    fn replace(&mut self, text: &str) -> String {
        let replaced = HASH.replace_all(text, |found: &regex::Captures<'_>| {
            let hash = &found[2];
            // A word is no hash.
            if !hash.contains(|c: char| c.is_ascii_digit()) {
                return found[0].to_owned();
            }
            let at = self.0.iter().position(|known| known == hash).unwrap_or_else(|| {
                self.0.push(hash.to_owned());
                self.0.len() - 1
            });
            format!("{}<hash:{}>", &found[1], at + 1)
        });
        replaced.into_owned()
    }
}

/// Replaces everything that the rules name.
pub(super) fn normalise(text: &str, hashes: &mut Hashes) -> String {
    let mut text = hashes.replace(text);
    for (rule, pattern) in RULES.iter().zip(PATTERNS.iter()) {
        text = pattern.replace_all(&text, rule.stand_in).into_owned();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_makes_its_pair_equal_and_leaves_its_other_pair_different() {
        for rule in RULES {
            let alone = |text| normalise(text, &mut Hashes::default());
            assert_eq!(alone(rule.equal.0), alone(rule.equal.1), "{}", rule.name);
            assert_ne!(alone(rule.differ.0), alone(rule.differ.1), "{}", rule.name);
        }
    }

    #[test]
    fn hashes_are_compared_by_which_are_the_same() {
        let session = |turns: [&str; 2]| {
            let mut hashes = Hashes::default();
            turns.map(|turn| normalise(turn, &mut hashes))
        };
        let once = session(["web-5d8f6c7b9d", "pod-template-hash=5d8f6c7b9d"]);
        assert_eq!(once, session(["web-6d8f6c7b9d", "pod-template-hash=6d8f6c7b9d"]));
        assert_ne!(once, session(["web-5d8f6c7b9d", "pod-template-hash=6d8f6c7b9d"]));
        assert_eq!(session(["web-frontends", ""])[0], "web-frontends");
    }
}
