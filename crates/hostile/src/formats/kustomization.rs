//! Kustomization files with what lies beside them, built. An input is a text of files, `-- path --` before each.

use sluice_kustomize::{MemoryTree, Options, build};

use crate::make::{files, numbered, reason};
use crate::{Format, Hostile, Outcome};

pub(super) const FORMAT: Format = Format { name: "kustomizations", parse, seeds, hostile };

fn parse(input: &[u8]) -> Outcome {
    let mut tree = MemoryTree::default();
    for (path, content) in files(&String::from_utf8_lossy(input)) {
        tree.insert(format!("/{path}"), content);
    }
    let built = build(&tree, "/", &Options::default()).map_err(reason)?;
    drop(built.to_yaml());
    Ok(())
}

const MAP: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {a: b}\n";

fn of(kustomization: &str, others: &[(&str, &str)]) -> Vec<u8> {
    let mut text = format!("-- kustomization.yaml --\n{kustomization}\n");
    for (path, content) in others {
        text.push_str(&format!("-- {path} --\n{content}\n"));
    }
    text.into_bytes()
}

fn seeds() -> Vec<Vec<u8>> {
    vec![
        of("resources: [a.yaml]\nnamePrefix: p-\nlabels:\n- pairs: {a: b}\n", &[("a.yaml", MAP)]),
        of(
            "resources: [base]\npatches:\n- patch: '[{op: add, path: /data/x, value: y}]'\n  target: {kind: ConfigMap}\n",
            &[("base/kustomization.yaml", "resources: [a.yaml]\n"), ("base/a.yaml", MAP)],
        ),
        of(
            "configMapGenerator:\n- name: g\n  literals: [a=b]\n  files: [f]\nreplacements:\n- source: {kind: ConfigMap, name: g, fieldPath: data.a}\n  targets:\n  - select: {kind: ConfigMap}\n    fieldPaths: [data.z]\n    options: {create: true}\n",
            &[("f", "content")],
        ),
        of(
            "resources: [a.yaml]\ncomponents: [c]\nvars:\n- name: V\n  objref: {apiVersion: v1, kind: ConfigMap, name: a}\n  fieldref: {fieldpath: metadata.name}\n",
            &[
                ("a.yaml", MAP),
                (
                    "c/kustomization.yaml",
                    "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\nnameSuffix: -s\n",
                ),
            ],
        ),
    ]
}

/// Directories of which each has the next one twice.
fn doubling(depth: usize) -> Vec<u8> {
    let mut text = "-- kustomization.yaml --\nresources: [d0/a, d0/b]\n".to_owned();
    for level in 0..depth {
        for side in ["a", "b"] {
            text.push_str(&format!(
                "-- d{level}/{side}/kustomization.yaml --\nnamePrefix: {side}\nresources: [../../d{next}/a, ../../d{next}/b]\n",
                next = level + 1
            ));
        }
    }
    for side in ["a", "b"] {
        text.push_str(&format!("-- d{depth}/{side}/kustomization.yaml --\nresources: [a.yaml]\n-- d{depth}/{side}/a.yaml --\n{MAP}"));
    }
    text.into_bytes()
}

fn chain(depth: usize) -> Vec<u8> {
    let mut text = "-- kustomization.yaml --\nresources: [d0]\n".to_owned();
    for level in 0..depth {
        text.push_str(&format!(
            "-- d{level}/kustomization.yaml --\nresources: [../d{}]\nnamePrefix: x\n",
            level + 1
        ));
    }
    text.push_str(&format!(
        "-- d{depth}/kustomization.yaml --\nresources: [a.yaml]\n-- d{depth}/a.yaml --\n{MAP}"
    ));
    text.into_bytes()
}

fn hostile() -> Vec<Hostile> {
    let laughs = {
        let mut text = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n".to_owned();
        for level in 1..11 {
            let inner = vec![format!("*a{}", level - 1); 10].join(",");
            text.push_str(&format!("a{level}: &a{level} [{inner}]\n"));
        }
        text
    };
    let maps = numbered("---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a{n}}\n", 5000);
    let base = ("b/kustomization.yaml", "resources: [a.yaml]\n");
    vec![
        ("a base that is itself", of("resources: [.]\n", &[])),
        ("bases in a circle", of("resources: [a]\n", &[("a/kustomization.yaml", "resources: [../b]\n"), ("b/kustomization.yaml", "resources: [../a]\n")])),
        ("a component that is itself", of("components: [c]\n", &[("c/kustomization.yaml", "kind: Component\napiVersion: kustomize.config.k8s.io/v1alpha1\ncomponents: [../c]\n")])),
        ("bases that double 30 times", doubling(30)),
        ("bases 2000 deep", chain(2000)),
        ("aliases in a resource", of("resources: [a.yaml]\n", &[("a.yaml", &format!("{MAP}{laughs}"))])),
        ("aliases in a base's kustomization", of("resources: [b]\n", &[("b/kustomization.yaml", &format!("{laughs}resources: [a.yaml]\n")), ("b/a.yaml", MAP)])),
        ("aliases in a patch", of("resources: [b]\npatches: [{path: p.yaml}]\n", &[base, ("b/a.yaml", MAP), ("p.yaml", &format!("{MAP}{laughs}"))])),
        ("20,000 literals", of(&format!("configMapGenerator:\n- name: g\n  literals:\n{}", numbered("  - k{n}=v\n", 20_000)), &[])),
        ("5000 generators", of(&format!("configMapGenerator:\n{}", numbered("- name: g{n}\n  literals: [a=b]\n", 5000)), &[])),
        ("one file generated 5000 times", of(&format!("configMapGenerator:\n- name: g\n  files:\n{}", numbered("  - k{n}=f\n", 5000)), &[("f", &"x".repeat(100_000))])),
        ("5000 resources", of("resources: [a.yaml]\nnamePrefix: p-\n", &[("a.yaml", &maps)])),
        ("500 patches", of(&format!("resources: [a.yaml]\npatches:\n{}", "- patch: '- {op: add, path: /data/x, value: y}'\n  target: {kind: ConfigMap}\n".repeat(500)), &[("a.yaml", MAP)])),
        ("a selector that goes back and forth", of("resources: [a.yaml]\npatches:\n- patch: '[{op: add, path: /data/x, value: y}]'\n  target: {name: '(a*)*(a*)*(a*)*b'}\n", &[("a.yaml", &MAP.replace("name: a", &format!("name: {}", "a".repeat(200))))])),
        ("a selector of a billion", of("resources: [a.yaml]\npatches:\n- patch: 'x'\n  target: {name: '((a{1000}){1000}){1000}'}\n", &[("a.yaml", MAP)])),
        ("a field path of 50,000 steps", of(&format!("resources: [a.yaml]\nreplacements:\n- source: {{kind: ConfigMap, fieldPath: data.a}}\n  targets:\n  - select: {{kind: ConfigMap}}\n    fieldPaths: [{}]\n    options: {{create: true}}\n", vec!["a"; 50_000].join(".")), &[("a.yaml", MAP)])),
        ("2000 variables", of(&format!("resources: [a.yaml]\nvars:\n{}", numbered("- name: V{n}\n  objref: {apiVersion: v1, kind: ConfigMap, name: a}\n", 2000)), &[("a.yaml", MAP)])),
        ("a prefix of a mebibyte", of(&format!("resources: [a.yaml]\nnamePrefix: {}\n", "p".repeat(1 << 20)), &[("a.yaml", &maps)])),
        ("nested lists of objects", of("resources: [a.yaml]\n", &[("a.yaml", &format!("{}{}", "{apiVersion: v1, kind: List, items: [".repeat(2000), "]}".repeat(2000)))])),
        ("2000 files that are not there", of(&format!("resources:\n{}", numbered("- f{n}.yaml\n", 2000)), &[])),
    ]
}
