//! Patches of kustomize: a strategic merge, and operations of JSON patch. A line `===` parts object and patch.

use sluice_kustomize::{MergeOptions, json_patch_text, merge_text};

use crate::make::{numbered, reason};
use crate::{Format, Hostile, Outcome};

pub(super) const FORMAT: Format = Format { name: "patches", parse, seeds, hostile };

fn parse(input: &[u8]) -> Outcome {
    let text = String::from_utf8_lossy(input);
    let (object, patch) = text.split_once("\n===\n").unwrap_or((&text, "a: b\n"));
    let merged = merge_text(patch, object, MergeOptions::default()).map(drop).map_err(reason);
    let patched = json_patch_text(patch, object).map(drop).map_err(reason);
    merged.or(patched)
}

const OBJECT: &str = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec:\n  template:\n    spec:\n      containers:\n      - name: a\n        image: x\n";

fn with(patch: &str) -> Vec<u8> {
    format!("{OBJECT}\n===\n{patch}").into_bytes()
}

fn seeds() -> Vec<Vec<u8>> {
    vec![
        with(
            "spec:\n  template:\n    spec:\n      containers:\n      - name: a\n        $patch: delete\n      - name: b\n",
        ),
        with(
            "- {op: add, path: /metadata/labels, value: {a: b}}\n- {op: move, from: /spec, path: /x}\n- {op: test, path: /kind, value: Deployment}\n",
        ),
    ]
}

fn hostile() -> Vec<Hostile> {
    let copies: String =
        std::iter::once("- {op: add, path: /a, value: {x: [1,1,1,1,1,1,1,1]}}\n".to_owned())
            .chain((0..60).map(|number| format!("- {{op: copy, from: /a, path: /a/c{number}}}\n")))
            .collect();
    let text: String =
        std::iter::once(format!("- {{op: add, path: /a, value: [\"{}\"]}}\n", "x".repeat(1000)))
            .chain((0..40).map(|_| "- {op: copy, from: /a, path: /a/-}\n".to_owned()))
            .collect();
    let deeper: String = (0..60)
        .map(|number| {
            let value = format!("{}1{}", "{a: ".repeat(100), "}".repeat(100));
            format!("- {{op: add, path: /x{}, value: {value}}}\n", "/a".repeat(100 * number))
        })
        .collect();
    let inside: String = std::iter::once("- {op: add, path: /a, value: {b: 1}}\n".to_owned())
        .chain((0..3000).map(|_| "- {op: copy, from: /a, path: /a/b}\n".to_owned()))
        .collect();
    let list = |count| numbered("      - name: c{n}\n        image: x\n", count);
    let start = "spec:\n  template:\n    spec:\n      containers:\n";
    vec![
        ("copies that double", with(&copies)),
        ("copies into a list that double", with(&text)),
        ("operations that nest ever deeper", with(&deeper)),
        ("copies that nest ever deeper", with(&inside)),
        (
            "20,000 operations",
            with(&"- {op: add, path: /metadata/labels/a, value: b}\n".repeat(15_000)),
        ),
        (
            "a path of 100,000 steps",
            with(&format!("- {{op: add, path: {}, value: b}}\n", "/a".repeat(100_000))),
        ),
        (
            "a place in a list beyond all",
            with(
                "- {op: add, path: /spec/template/spec/containers/18446744073709551615, value: b}\n",
            ),
        ),
        ("20,000 containers", with(&format!("{start}{}", list(15_000)))),
        (
            "20,000 containers deleted",
            with(&format!(
                "{start}{}",
                numbered("      - name: c{n}\n        $patch: delete\n", 12_000)
            )),
        ),
        ("containers of one name", with(&format!("{start}{}", "      - name: a\n".repeat(30_000)))),
        (
            "an order of 30,000",
            with(&format!(
                "spec:\n  template:\n    spec:\n      $setElementOrder/containers:\n{}",
                numbered("      - name: c{n}\n", 30_000)
            )),
        ),
        (
            "a patch that is nested",
            with(&format!("{}1{}", "{a: ".repeat(50_000), "}".repeat(50_000))),
        ),
        ("directives everywhere", with(&"$patch: replace\n".repeat(30_000))),
    ]
}
