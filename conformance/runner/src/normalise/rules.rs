//! The table of rules: what may differ between two runs, and what stands for it.

use std::sync::LazyLock;

use regex::{Captures, Regex};
use serde_json::Value;

use super::{Context, Leaf};

/// A named replacement, with the proof that it hides no more than it should.
pub(super) struct Rule {
    pub(super) name: &'static str,
    pub(super) rewrite: fn(&mut Context, &Leaf<'_>) -> Option<Value>,
    /// Two documents that become equal.
    #[cfg_attr(not(test), expect(dead_code, reason = "the tests read the pairs"))]
    pub(super) equal: (&'static str, &'static str),
    /// Two documents that must stay different.
    #[cfg_attr(not(test), expect(dead_code, reason = "the tests read the pairs"))]
    pub(super) differ: (&'static str, &'static str),
}

/// Applied in this order; a later rule sees what an earlier one left.
pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "certificate",
        rewrite: certificate,
        equal: (
            r#"{"ca":"-----BEGIN CERTIFICATE-----\nAA\n-----END CERTIFICATE-----\n"}"#,
            r#"{"ca":"-----BEGIN CERTIFICATE-----\nBB\n-----END CERTIFICATE-----\n"}"#,
        ),
        differ: (
            r#"{"ca":"-----BEGIN CERTIFICATE-----\nAA\n-----END CERTIFICATE-----\n"}"#,
            r#"{"ca":""}"#,
        ),
    },
    Rule {
        name: "token",
        rewrite: token,
        equal: (r#"{"token":"eyJhbGci.eyJhdWQi.c2ln"}"#, r#"{"token":"eyJhbGcx.eyJhdWQx.c2lx"}"#),
        differ: (r#"{"token":"eyJhbGci.eyJhdWQi.c2ln"}"#, r#"{"token":"eyJhbGci"}"#),
    },
    Rule {
        name: "continue",
        rewrite: continue_token,
        equal: (
            r#"{"metadata":{"continue":"eyJ2IjoibWV0YSJ9"}}"#,
            r#"{"metadata":{"continue":"eyJ2IjoibWV0YSJ8"}}"#,
        ),
        differ: (
            r#"{"metadata":{"continue":"eyJ2IjoibWV0YSJ9"}}"#,
            r#"{"metadata":{"continue":""}}"#,
        ),
    },
    Rule {
        name: "time",
        rewrite: time,
        equal: (r#"{"t":"2026-11-15T04:00:00Z"}"#, r#"{"t":"2027-11-15T04:00:00Z"}"#),
        differ: (r#"{"t":"2026-11-15T04:00:00Z"}"#, r#"{"t":"2026-11-15T04:00:00.000000Z"}"#),
    },
    Rule {
        name: "generated name",
        rewrite: generated_name,
        equal: (
            r#"[{"metadata":{"generateName":"a-","name":"a-bcdfg"}},"a-bcdfg"]"#,
            r#"[{"metadata":{"generateName":"a-","name":"a-zzzzz"}},"a-zzzzz"]"#,
        ),
        differ: (
            r#"[{"metadata":{"generateName":"a-","name":"a-bcdfg"}},"a-bcdfg"]"#,
            r#"[{"metadata":{"generateName":"a-","name":"a-zzzzz"}},"a-bcdfg"]"#,
        ),
    },
    Rule {
        name: "template hash",
        rewrite: template_hash,
        equal: (
            r#"[{"metadata":{"labels":{"pod-template-hash":"5d8f6"}}},"web-5d8f6"]"#,
            r#"[{"metadata":{"labels":{"pod-template-hash":"7b9c4"}}},"web-7b9c4"]"#,
        ),
        differ: (
            r#"[{"metadata":{"labels":{"pod-template-hash":"5d8f6"}}},"web-5d8f6"]"#,
            r#"[{"metadata":{"labels":{"pod-template-hash":"7b9c4"}}},"web-5d8f6"]"#,
        ),
    },
    Rule {
        name: "token volume",
        rewrite: token_volume,
        equal: (r#"{"name":"kube-api-access-bcdfg"}"#, r#"{"name":"kube-api-access-24567"}"#),
        differ: (r#"{"name":"kube-api-access-bcdfg"}"#, r#"{"name":"kube-api-access-"}"#),
    },
    Rule {
        name: "uid",
        rewrite: uid,
        equal: (
            r#"["11111111-2222-4333-8444-555555555555","11111111-2222-4333-8444-555555555555"]"#,
            r#"["21111111-2222-4333-8444-555555555555","21111111-2222-4333-8444-555555555555"]"#,
        ),
        differ: (
            r#"["11111111-2222-4333-8444-555555555555","11111111-2222-4333-8444-555555555555"]"#,
            r#"["11111111-2222-4333-8444-555555555555","21111111-2222-4333-8444-555555555555"]"#,
        ),
    },
    Rule {
        name: "object version",
        rewrite: object_version,
        equal: (
            r#"[{"metadata":{"name":"a","uid":"1","resourceVersion":"7"}},{"metadata":{"name":"a","uid":"1","resourceVersion":"9"}}]"#,
            r#"[{"metadata":{"name":"a","uid":"1","resourceVersion":"70"}},{"metadata":{"name":"a","uid":"1","resourceVersion":"1000"}}]"#,
        ),
        differ: (
            r#"[{"metadata":{"name":"a","uid":"1","resourceVersion":"7"}},{"metadata":{"name":"a","uid":"1","resourceVersion":"9"}}]"#,
            r#"[{"metadata":{"name":"a","uid":"1","resourceVersion":"9"}},{"metadata":{"name":"a","uid":"1","resourceVersion":"7"}}]"#,
        ),
    },
    Rule {
        name: "list version",
        rewrite: list_version,
        // A list's version may lie anywhere between two writes that the script can see.
        equal: (
            r#"[{"metadata":{"name":"a","uid":"1","resourceVersion":"7"}},{"kind":"L","metadata":{"resourceVersion":"7"}}]"#,
            r#"[{"metadata":{"name":"a","uid":"1","resourceVersion":"7"}},{"kind":"L","metadata":{"resourceVersion":"12"}}]"#,
        ),
        differ: (
            r#"[{"metadata":{"name":"a","uid":"1","resourceVersion":"7"}},{"kind":"L","metadata":{"resourceVersion":"7"}}]"#,
            r#"[{"metadata":{"name":"a","uid":"1","resourceVersion":"7"}},{"kind":"L","metadata":{"resourceVersion":"6"}}]"#,
        ),
    },
    Rule {
        name: "version in a message",
        rewrite: version_in_message,
        equal: (
            r#"{"message":"too old resource version: 1 (20)"}"#,
            r#"{"message":"too old resource version: 1 (30)"}"#,
        ),
        differ: (
            r#"{"message":"too old resource version: 1 (20)"}"#,
            r#"{"message":"too old resource version: 1"}"#,
        ),
    },
    Rule {
        name: "cluster address",
        rewrite: cluster_address,
        equal: (r#"["10.96.3.4","10.96.3.4"]"#, r#"["10.96.9.9","10.96.9.9"]"#),
        differ: (r#"["10.96.3.4","10.96.3.4"]"#, r#"["10.96.3.4","None"]"#),
    },
    Rule {
        name: "node port",
        rewrite: node_port,
        equal: (
            r#"{"metadata":{"name":"a"},"spec":{"ports":[{"nodePort":30001}]}}"#,
            r#"{"metadata":{"name":"a"},"spec":{"ports":[{"nodePort":32001}]}}"#,
        ),
        differ: (
            r#"{"metadata":{"name":"a"},"spec":{"ports":[{"nodePort":30001}]}}"#,
            r#"{"metadata":{"name":"a"},"spec":{"ports":[{"nodePort":80}]}}"#,
        ),
    },
    Rule {
        name: "server address",
        rewrite: server_address,
        equal: (r#"{"serverAddress":"127.0.0.1:6443"}"#, r#"{"serverAddress":"127.0.0.1:443"}"#),
        differ: (r#"{"serverAddress":"127.0.0.1:6443"}"#, r#"{"serverAddress":""}"#),
    },
    Rule {
        name: "hash",
        rewrite: document_hash,
        equal: (
            r#"{"u":"/openapi/v3/api/v1?hash=AB12"}"#,
            r#"{"u":"/openapi/v3/api/v1?hash=CD34"}"#,
        ),
        differ: (r#"{"u":"/openapi/v3/api/v1?hash=AB12"}"#, r#"{"u":"/openapi/v3/api/v1"}"#),
    },
    Rule {
        name: "age",
        rewrite: age,
        equal: (r#"{"rows":[{"cells":["a","3s"]}]}"#, r#"{"rows":[{"cells":["a","1m2s"]}]}"#),
        differ: (r#"{"rows":[{"cells":["a","3s"]}]}"#, r#"{"rows":[{"cells":["a","<unknown>"]}]}"#),
    },
];

macro_rules! pattern {
    ($name:ident, $text:literal) => {
        static $name: LazyLock<Regex> =
            LazyLock::new(|| Regex::new($text).expect("because the pattern is a constant"));
    };
}

pattern!(TIME, r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z");
pattern!(UID, r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}");
pattern!(TOKEN, r"eyJ[\w-]+\.[\w-]+\.[\w-]+");
pattern!(TOKEN_VOLUME, r"kube-api-access-[a-z0-9]{5}\b");
pattern!(CERTIFICATE, r"(?s)-----BEGIN CERTIFICATE-----.*-----END CERTIFICATE-----\n?");
pattern!(TOO_OLD, r"(too old resource version: \d+ )\(\d+\)");
pattern!(TOO_LARGE, r"(Too large resource version: \d+, current: )\d+");
pattern!(
    QUOTED,
    r#"((?:ResourceVersion in object meta: |ResourceVersion in record \(|resourceVersion\\*"?: ?\\*"?))(\d+)"#
);
pattern!(ADDRESS, r"\b10\.96\.\d{1,3}\.\d{1,3}\b");
pattern!(PORT, r":(3[0-2]\d{3})/");
pattern!(SERVER, r"\b127\.0\.0\.1:\d+\b");
pattern!(HASH, r"\?hash=[0-9A-F]+");
pattern!(PREFIX, r#""generateName": "([^"]+)""#);
pattern!(AGE, r"^(\d+[smhd]){1,2}$");

/// Replaces each match that the script does not say itself.
fn replace(
    context: &mut Context,
    leaf: &Leaf<'_>,
    pattern: &Regex,
    mut stand_in: impl FnMut(&mut Context, &Captures<'_>) -> Option<String>,
) -> Option<Value> {
    let text = leaf.value.as_str()?;
    if !pattern.is_match(text) {
        return None;
    }
    let script = std::mem::take(&mut context.script_text);
    let new = pattern.replace_all(text, |captures: &Captures<'_>| {
        let whole = &captures[0];
        let own = (!script.contains(whole)).then(|| stand_in(context, captures)).flatten();
        own.unwrap_or_else(|| whole.to_owned())
    });
    context.script_text = script;
    (new != text).then(|| Value::String(new.into_owned()))
}

fn time(context: &mut Context, leaf: &Leaf<'_>) -> Option<Value> {
    replace(context, leaf, &TIME, |_, captures| {
        Some(if captures.get(1).is_some() { "<microtime>" } else { "<time>" }.to_owned())
    })
}

fn uid(context: &mut Context, leaf: &Leaf<'_>) -> Option<Value> {
    replace(context, leaf, &UID, |context, captures| {
        let known = context.uids.get(&captures[0]).cloned();
        let name = known.unwrap_or_else(|| context.number("uid", &captures[0]).to_string());
        Some(format!("<uid:{name}>"))
    })
}

fn token(context: &mut Context, leaf: &Leaf<'_>) -> Option<Value> {
    replace(context, leaf, &TOKEN, |_, _| Some("<token>".to_owned()))
}

fn token_volume(context: &mut Context, leaf: &Leaf<'_>) -> Option<Value> {
    replace(context, leaf, &TOKEN_VOLUME, |_, _| Some("kube-api-access-<suffix>".to_owned()))
}

fn certificate(context: &mut Context, leaf: &Leaf<'_>) -> Option<Value> {
    replace(context, leaf, &CERTIFICATE, |_, _| Some("<certificate>".to_owned()))
}

fn cluster_address(context: &mut Context, leaf: &Leaf<'_>) -> Option<Value> {
    replace(context, leaf, &ADDRESS, |context, captures| {
        let known = context.allocated.get(&captures[0]).cloned();
        Some(
            known.unwrap_or_else(|| {
                format!("<address:{}>", context.number("address", &captures[0]))
            }),
        )
    })
}

fn server_address(context: &mut Context, leaf: &Leaf<'_>) -> Option<Value> {
    replace(context, leaf, &SERVER, |_, _| Some("<server>".to_owned()))
}

fn document_hash(context: &mut Context, leaf: &Leaf<'_>) -> Option<Value> {
    replace(context, leaf, &HASH, |_, _| Some("?hash=<hash>".to_owned()))
}

fn version_in_message(context: &mut Context, leaf: &Leaf<'_>) -> Option<Value> {
    let old =
        |_: &mut Context, captures: &Captures<'_>| Some(format!("{}(<version>)", &captures[1]));
    let large =
        |_: &mut Context, captures: &Captures<'_>| Some(format!("{}<version>", &captures[1]));
    replace(context, leaf, &TOO_OLD, old)
        .or_else(|| replace(context, leaf, &TOO_LARGE, large))
        .or_else(|| {
            replace(context, leaf, &QUOTED, |context, captures| {
                let rank = context.rank(captures[2].parse().ok()?)?;
                Some(format!("{}<version:{rank}>", &captures[1]))
            })
        })
}

fn age(_: &mut Context, leaf: &Leaf<'_>) -> Option<Value> {
    let [.., cells, _] = leaf.path else { return None };
    if cells != "cells" {
        return None;
    }
    // Scripts are full of letters that look like an age: `k8s` for one.
    AGE.is_match(leaf.value.as_str()?).then(|| Value::String("<age>".to_owned()))
}

fn generated_name(context: &mut Context, leaf: &Leaf<'_>) -> Option<Value> {
    let text = leaf.value.as_str()?;
    let mut new = text.to_owned();
    // The name of an object that was refused shows only in the refusal.
    for prefix in PREFIX.captures_iter(&context.script_text) {
        let prefix = &prefix[1];
        let pattern = format!("{}[bcdfghjklmnpqrstvwxz2-9]{{5}}\\b", regex::escape(prefix));
        if let Ok(pattern) = Regex::new(&pattern) {
            new = pattern
                .replace_all(&new, |name: &Captures<'_>| match context.generated.get(&name[0]) {
                    Some(stand_in) => stand_in.clone(),
                    None => format!("{prefix}<suffix>"),
                })
                .into_owned();
        }
    }
    for (name, stand_in) in &context.generated {
        if new.contains(name.as_str()) {
            new = new.replace(name.as_str(), stand_in);
        }
    }
    (new != text).then_some(Value::String(new))
}

fn template_hash(context: &mut Context, leaf: &Leaf<'_>) -> Option<Value> {
    let text = leaf.value.as_str()?;
    let mut new = text.to_owned();
    for (hash, stand_in) in &context.hashes {
        if new.contains(hash.as_str()) {
            new = new.replace(hash.as_str(), stand_in);
        }
    }
    (new != text).then_some(Value::String(new))
}

fn continue_token(_: &mut Context, leaf: &Leaf<'_>) -> Option<Value> {
    let filled = leaf.value.as_str().is_some_and(|text| !text.is_empty());
    (filled && leaf.path.ends_with(&["metadata".to_owned(), "continue".to_owned()]))
        .then(|| Value::String("<continue>".to_owned()))
}

fn node_port(context: &mut Context, leaf: &Leaf<'_>) -> Option<Value> {
    if leaf.value.is_string() {
        return replace(context, leaf, &PORT, |context, captures| {
            Some(format!(":{}/", context.allocated.get(&captures[1])?))
        });
    }
    let port = leaf.value.as_u64().filter(|port| (30000..=32767).contains(port))?;
    let key = leaf.path.last()?;
    if !matches!(key.as_str(), "nodePort" | "healthCheckNodePort")
        || context.script_text.contains(&port.to_string())
    {
        return None;
    }
    context.allocated.get(&port.to_string()).cloned().map(Value::String)
}

fn version_of(leaf: &Leaf<'_>) -> Option<u64> {
    if leaf.path.last().is_none_or(|key| key != "resourceVersion") {
        return None;
    }
    leaf.value.as_str()?.parse().ok()
}

fn object_version(context: &mut Context, leaf: &Leaf<'_>) -> Option<Value> {
    let version = version_of(leaf).filter(|_| !leaf.of_list)?;
    // A version that the script wrote itself and no object has stays as it is.
    Some(Value::String(format!("<version:{}>", context.rank(version)?)))
}

fn list_version(context: &mut Context, leaf: &Leaf<'_>) -> Option<Value> {
    let version = version_of(leaf).filter(|version| leaf.of_list && *version > 0)?;
    Some(Value::String(format!("<version:{}+>", context.floor(version))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::golden::Answer;
    use crate::play::{Exchange, Payload};

    fn normalised(document: &str) -> Vec<Answer> {
        let exchange = Exchange {
            title: "t".to_owned(),
            request: "GET /".to_owned(),
            status: 200,
            headers: std::collections::BTreeMap::default(),
            payload: Payload::Json(serde_json::from_str(document).expect("the pair is JSON")),
            indented: false,
            unsorted_fields: Vec::new(),
            masks: Vec::new(),
            unordered: Vec::new(),
            quiet: false,
            unmet: false,
        };
        super::super::normalise("", vec![exchange])
    }

    #[test]
    fn every_rule_makes_its_pair_equal() {
        for rule in RULES {
            assert_eq!(normalised(rule.equal.0), normalised(rule.equal.1), "{}", rule.name);
            let masked = normalised(rule.equal.0)[0].masked.get(rule.name).copied();
            assert!(masked > Some(0), "{} is not counted", rule.name);
        }
    }

    #[test]
    fn every_rule_has_a_pair_that_still_differs() {
        for rule in RULES {
            let (one, other) = (normalised(rule.differ.0), normalised(rule.differ.1));
            assert_ne!(one[0].body, other[0].body, "{}", rule.name);
        }
    }

    #[test]
    fn what_a_script_says_itself_is_kept() {
        let mut context = Context::new(r#"{"t":"2026-11-15T04:00:00Z"}"#);
        let said = Value::String("2026-11-15T04:00:00Z".to_owned());
        assert_eq!(time(&mut context, &Leaf { path: &[], of_list: false, value: &said }), None);
    }
}
