//! `sbom [--output FILE] [--target TRIPLE]`: the software bill of materials of the `sluice` binary, as CycloneDX 1.6.
//!
//! The same commit gives the same bytes on every machine: there is no time, no path and no random number in it, and the
//! serial number is derived from the content.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

/// The package that is shipped.
const SHIPPED: &str = "sluice";

/// The platform of the bill, unless a flag names another one.
const TARGET: &str = "x86_64-unknown-linux-gnu";

pub(crate) fn run(arguments: &[String]) -> Result<(), Box<dyn Error>> {
    let option = |name: &str| {
        let at = arguments.iter().position(|argument| argument == name)?;
        arguments.get(at + 1).map(String::as_str)
    };
    let bill = bill(Path::new("."), option("--target").unwrap_or(TARGET))?;
    match option("--output") {
        Some(file) => std::fs::write(file, bill)?,
        None => print(&bill),
    }
    Ok(())
}

#[expect(clippy::print_stdout, reason = "the bill is this chore's data")]
fn print(bill: &str) {
    print!("{bill}");
}

/// The bill of the workspace at `root`, for one platform.
fn bill(root: &Path, target: &str) -> Result<String, Box<dyn Error>> {
    let metadata = metadata(root, target)?;
    let checksums = checksums(&std::fs::read_to_string(root.join("Cargo.lock"))?);
    let packages: BTreeMap<&str, &Value> = list(&metadata["packages"])
        .iter()
        .filter_map(|package| Some((package["id"].as_str()?, package)))
        .collect();
    let nodes: BTreeMap<&str, &Value> = list(&metadata["resolve"]["nodes"])
        .iter()
        .filter_map(|node| Some((node["id"].as_str()?, node)))
        .collect();
    let top = packages
        .iter()
        .find(|(_, package)| package["name"] == SHIPPED)
        .map(|(id, _)| *id)
        .ok_or("the workspace has no package of the shipped name")?;
    let mut found = BTreeSet::from([top]);
    let mut open = vec![top];
    let mut edges: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    while let Some(id) = open.pop() {
        let node = nodes.get(id).ok_or_else(|| format!("{id} is not resolved"))?;
        let below = edges.entry(reference(packages[id])).or_default();
        for dependency in list(&node["deps"]) {
            let used = list(&dependency["dep_kinds"]).iter().any(|kind| kind["kind"] != "dev");
            let Some(id) = dependency["pkg"].as_str().filter(|_| used) else { continue };
            below.insert(reference(packages[id]));
            if found.insert(id) {
                open.push(id);
            }
        }
    }
    let components: Vec<Value> = found
        .iter()
        .filter(|id| **id != top)
        .map(|id| component(packages[*id], &checksums))
        .collect::<Result<_, _>>()?;
    let graph: Vec<Value> =
        edges.into_iter().map(|(of, on)| json!({"ref": of, "dependsOn": on})).collect();
    let mut bill = json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "component": component(packages[top], &checksums)?,
            "properties": [{"name": "sluice:target", "value": target}],
        },
        "components": components,
        "dependencies": graph,
    });
    bill["serialNumber"] = serial(&serde_json::to_vec(&bill)?).into();
    Ok(format!("{}\n", serde_json::to_string_pretty(&bill)?))
}

fn metadata(root: &Path, target: &str) -> Result<Value, Box<dyn Error>> {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let output = Command::new(cargo)
        .current_dir(root)
        .args(["metadata", "--format-version", "1", "--locked", "--filter-platform", target])
        .output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned().into());
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// The checksums of Cargo.lock, by name and version.
fn checksums(lock: &str) -> BTreeMap<(String, String), String> {
    let field = |block: &str, name: &str| {
        let line = block.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(" = \""));
        line.and_then(|rest| rest.strip_suffix('"')).map(str::to_owned)
    };
    lock.split("[[package]]")
        .filter_map(|block| {
            let key = (field(block, "name")?, field(block, "version")?);
            Some((key, field(block, "checksum")?))
        })
        .collect()
}

/// One crate. A crate of a registry without a checksum is an error: the bill could not be checked against anything.
fn component(
    package: &Value,
    checksums: &BTreeMap<(String, String), String>,
) -> Result<Value, Box<dyn Error>> {
    let (name, version) = (text(&package["name"]), text(&package["version"]));
    let mut component = json!({
        "type": if name == SHIPPED { "application" } else { "library" },
        "bom-ref": reference(package),
        "name": name,
        "version": version,
        "purl": reference(package),
    });
    if let Some(license) = package["license"].as_str() {
        // Some crates still write the old form with a slash.
        component["licenses"] = json!([{"expression": license.replace('/', " OR ")}]);
    }
    if package["source"].is_string() {
        let checksum = checksums
            .get(&(name.to_owned(), version.to_owned()))
            .ok_or_else(|| format!("Cargo.lock has no checksum of {name} {version}"))?;
        component["hashes"] = json!([{"alg": "SHA-256", "content": checksum}]);
    }
    Ok(component)
}

fn reference(package: &Value) -> String {
    format!("pkg:cargo/{}@{}", text(&package["name"]), text(&package["version"]))
}

/// A UUID (version 8: of our own making) from the content's digest.
fn serial(content: &[u8]) -> String {
    let mut bytes = [0_u8; 16];
    bytes.copy_from_slice(&Sha256::digest(content)[..16]);
    bytes[6] = (bytes[6] & 0x0f) | 0x80;
    bytes[8] = (bytes[8] & 0x3f) | 0x80;
    let hex = format!("{:032x}", u128::from_be_bytes(bytes));
    let parts = [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]];
    format!("urn:uuid:{}", parts.join("-"))
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use serde_json::Value;

    use super::{TARGET, bill};

    #[test]
    fn the_bill_repeats_and_names_what_is_shipped_and_nothing_else() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let written = bill(root, TARGET).unwrap();
        assert_eq!(written, bill(root, TARGET).unwrap());
        let here = root.to_str().unwrap();
        assert!(!written.contains(here), "the bill names a path of this machine");
        let bill: Value = serde_json::from_str(&written).unwrap();
        let components = bill["components"].as_array().unwrap();
        let names: Vec<&str> =
            components.iter().filter_map(|component| component["name"].as_str()).collect();
        for there in ["sluice-source", "rustls", "ring", "tokio", "serde_derive"] {
            assert!(names.contains(&there), "{there} is missing");
        }
        for absent in ["criterion", "proptest", "sluice-testkit", "xtask"] {
            assert!(!names.contains(&absent), "{absent} is not shipped");
        }
        for component in components {
            let ours = component["name"].as_str().unwrap().starts_with("sluice-");
            assert_eq!(ours, component["hashes"].is_null(), "{component}");
            assert!(component["licenses"].is_array(), "{component}");
        }
    }
}
