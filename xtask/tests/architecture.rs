//! The invariants of ARCHITECTURE.md that a test can hold.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// Every crate and its level. A crate may use any lower level.
const LEVELS: [(&str, u8); 21] = [
    ("sluice", 5),
    ("sluice-controllers", 4),
    ("sluice-fleet", 4),
    ("sluice-rehearsal", 4),
    ("sluice-sandbox", 4),
    ("sluice-runtime", 3),
    ("sluice-ssa", 3),
    ("sluice-cluster", 3),
    ("sluice-source", 2),
    ("sluice-secrets", 2),
    ("sluice-kustomize", 1),
    ("sluice-helm", 1),
    ("sluice-gotmpl", 1),
    ("sluice-topology", 1),
    ("sluice-schema", 1),
    ("sluice-expr", 1),
    ("sluice-kstatus", 1),
    ("sluice-cloud", 1),
    ("sluice-api", 0),
    ("sluice-yaml", 0),
    ("sluice-base", 0),
];

/// Uses within a level that are part of the design.
const SIBLINGS: [(&str, &str); 9] = [
    ("sluice-helm", "sluice-gotmpl"),
    ("sluice-ssa", "sluice-runtime"),
    ("sluice-rehearsal", "sluice-controllers"),
    ("sluice-rehearsal", "sluice-sandbox"),
    ("sluice-kustomize", "sluice-schema"),
    ("sluice-api", "sluice-yaml"),
    ("sluice-api", "sluice-base"),
    ("sluice-yaml", "sluice-base"),
    ("sluice-schema", "sluice-expr"),
];

/// What stands beside the product and may use all of it; the product uses none of these.
const ASIDE: [&str; 6] = [
    "xtask",
    "sluice-conformance",
    "sluice-kustomize-conformance",
    "sluice-bench",
    "sluice-testkit",
    "sluice-hostile",
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the workspace").to_owned()
}

fn packages() -> Vec<Value> {
    let output = Command::new(env!("CARGO"))
        .current_dir(root())
        .args(["metadata", "--format-version", "1", "--offline", "--no-deps"])
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("cargo metadata is JSON");
    metadata["packages"].as_array().expect("packages are a list").clone()
}

#[test]
fn arrows_point_down() {
    let levels: BTreeMap<&str, u8> = LEVELS.into_iter().collect();
    let mut wrong = Vec::new();
    for package in packages() {
        let name = package["name"].as_str().unwrap_or_default();
        if ASIDE.contains(&name) {
            continue;
        }
        let Some(level) = levels.get(name) else {
            wrong.push(format!(
                "{name} has no level; give it one in this test and in ARCHITECTURE.md"
            ));
            continue;
        };
        for dependency in package["dependencies"].as_array().into_iter().flatten() {
            let target = dependency["name"].as_str().unwrap_or_default();
            if !target.starts_with("sluice") || dependency["kind"] == "dev" {
                continue;
            }
            let below = levels.get(target).is_some_and(|found| found < level);
            if !below && !SIBLINGS.contains(&(name, target)) {
                wrong.push(format!("{name} uses {target}, which is not below it"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn engines_name_no_runtime_no_file_system_and_no_client() {
    const FORBIDDEN: [&str; 7] = [
        "tokio::",
        "std::fs",
        "TcpStream",
        "UdpSocket",
        "std::env::",
        "SystemTime::now",
        "kube::Client",
    ];
    let mut wrong = Vec::new();
    for (name, level) in LEVELS {
        let folder = root().join("crates").join(name.trim_start_matches("sluice-")).join("src");
        if level > 1 || !folder.is_dir() {
            continue;
        }
        for file in rust_files(&folder) {
            let text = std::fs::read_to_string(&file).expect("sources are readable");
            // Tests may read files; they stand at the end of a file or in files of their own.
            let code = text.split("#[cfg(test)]").next().unwrap_or_default();
            let is_test = file
                .components()
                .any(|part| part.as_os_str() == "tests.rs" || part.as_os_str() == "tests");
            for word in FORBIDDEN {
                if !is_test && code.contains(word) {
                    wrong.push(format!("{} names {word}", file.display()));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Clippy's `disallowed-methods` cannot name methods of traits.
#[test]
fn clients_of_clusters_are_made_in_one_place() {
    let mut found = Vec::new();
    for name in ["cli", "controllers", "runtime", "secrets", "source", "ssa"] {
        for file in rust_files(&root().join("crates").join(name).join("src")) {
            let text = std::fs::read_to_string(&file).expect("sources are readable");
            let code = text.split("#[cfg(test)]").next().unwrap_or_default();
            if code.contains("Client::try_from(") || code.contains("ClientBuilder::try_from(") {
                found.push(file);
            }
        }
    }
    assert!(found.is_empty(), "use sluice_controllers::outside::cluster_client: {found:?}");
}

#[test]
fn there_is_no_mod_rs_and_no_grab_bag() {
    const NAMES: [&str; 5] = ["mod.rs", "utils.rs", "util.rs", "helpers.rs", "common.rs"];
    let found: Vec<_> = rust_files(&root().join("crates"))
        .into_iter()
        .filter(|file| file.file_name().is_some_and(|name| NAMES.iter().any(|bad| name == *bad)))
        .collect();
    assert!(found.is_empty(), "{found:?}");
}

#[test]
fn objects_keep_key_order_and_numbers_stay_numbers() {
    // Cargo unifies features over the workspace: if any crate turns one on, it is on here too.
    let value: Value = serde_json::from_str(r#"{"b": 1, "a": 2}"#).expect("this is JSON");
    assert_eq!(value.to_string(), r#"{"a":2,"b":1}"#, "serde_json's preserve_order is on");
    let huge: Result<Value, _> = serde_json::from_str("1e999");
    assert!(huge.is_err(), "serde_json's arbitrary_precision is on");
}

fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let mut out = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                out.push(path);
            }
        }
    }
    out.sort();
    out
}
