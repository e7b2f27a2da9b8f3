//! The CRDs: `crds` writes the files generated from the types, `record-crds` records what upstream's
//! say, and `compare-crds` compares ours with upstream's as Go's module cache has them now.

mod facts;

use std::error::Error;
use std::fs;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use flate2::read::GzDecoder;
use flate2::{Compression, GzBuilder};
use serde_json::Value;

use self::facts::Comparison;

/// What upstream's CRDs say, recorded from the versions in the name.
const RECORDED: &str = "conformance/crds/upstream-flux-2.9.5-operator-0.58.1.json.gz";

/// Writes one file per CRD and removes those that no kind answers for.
pub(crate) fn write(_arguments: &[String]) -> Result<(), Box<dyn Error>> {
    let directory = root().join("crates/api/crds");
    if directory.exists() {
        fs::remove_dir_all(&directory)?;
    }
    fs::create_dir_all(&directory)?;
    for (name, text) in files() {
        fs::write(directory.join(name), text)?;
    }
    Ok(())
}

/// Records upstream's CRDs.
pub(crate) fn record(_arguments: &[String]) -> Result<(), Box<dyn Error>> {
    let upstream = ask_upstream()?;
    let file = fs::File::create(root().join(RECORDED))?;
    let mut out = GzBuilder::new().write(file, Compression::best());
    out.write_all(upstream.to_string().as_bytes())?;
    out.finish()?;
    Ok(())
}

/// Compares our CRDs with upstream's and prints every difference.
#[expect(clippy::print_stdout, reason = "the comparison is what the operator asked for")]
pub(crate) fn compare(_arguments: &[String]) -> Result<(), Box<dyn Error>> {
    let upstream = ask_upstream()?;
    if upstream != recorded()? {
        println!("note: upstream's CRDs are no longer as recorded; run `record-crds`");
    }
    let comparison = comparison(&upstream)?;
    println!("{comparison}");
    if comparison.is_clean() { Ok(()) } else { Err("the CRDs differ from upstream's".into()) }
}

/// The generated files by name.
fn files() -> Vec<(String, String)> {
    let header = "# Generated from the types in crates/api by `cargo run -p xtask -- crds`.\n---\n";
    sluice_api::crds()
        .iter()
        .map(|crd| {
            let text = |pointer: &str| {
                crd.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned()
            };
            let name = format!("{}_{}.yaml", text("/spec/group"), text("/spec/names/plural"));
            (name, header.to_owned() + &sluice_yaml::from_json(crd))
        })
        .collect()
}

fn comparison(upstream: &Value) -> Result<Comparison, Box<dyn Error>> {
    let crds = upstream["crds"].as_array().ok_or("the record holds no list of CRDs")?;
    Ok(Comparison::new(crds, &sluice_api::crds()))
}

fn recorded() -> Result<Value, Box<dyn Error>> {
    let mut text = String::new();
    GzDecoder::new(fs::File::open(root().join(RECORDED))?).read_to_string(&mut text)?;
    Ok(serde_json::from_str(&text)?)
}

/// What the CRDs in Go's module cache say.
fn ask_upstream() -> Result<Value, Box<dyn Error>> {
    let output = Command::new(root().join("conformance/crds/upstream"))
        .stdout(Stdio::piped())
        .spawn()?
        .wait_with_output()?;
    if !output.status.success() {
        return Err("conformance/crds/upstream failed".into());
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::fs;

    use serde_json::json;

    use super::{comparison, files, recorded, root};

    #[test]
    fn the_crds_say_what_upstreams_say() {
        let comparison = comparison(&recorded().unwrap()).unwrap();
        println!("{comparison}");
        assert!(comparison.facts() > 3000, "too few facts were compared");
        assert!(comparison.is_clean(), "{comparison}");
    }

    #[test]
    fn a_change_of_any_kind_is_seen() {
        let upstream = recorded().unwrap();
        let schema = "/crds/15/spec/versions/0/schema/openAPIV3Schema/properties/spec";
        let changes = [
            ("/crds/15/spec/names/shortNames", json!(["git"])),
            ("/crds/15/spec/names/categories", json!(["all"])),
            ("/crds/15/spec/scope", json!("Cluster")),
            ("/crds/15/spec/versions/0/served", json!(false)),
            ("/crds/15/spec/versions/0/subresources", json!({})),
            ("/crds/15/spec/versions/0/additionalPrinterColumns/0/jsonPath", json!(".spec")),
            (&format!("{schema}/required"), json!(["url"])),
            (&format!("{schema}/properties/url/pattern"), json!("^x$")),
            (&format!("{schema}/properties/url/type"), json!("integer")),
            (&format!("{schema}/properties/timeout/default"), json!("1s")),
            (&format!("{schema}/properties/provider/enum"), json!(["aws"])),
            (&format!("{schema}/x-kubernetes-validations/0/rule"), json!("true")),
            (&format!("{schema}/properties/sparseCheckout/items/type"), json!("object")),
            (&format!("{schema}/properties/ref/properties/branch"), json!({})),
        ];
        for (pointer, value) in changes {
            let mut changed = upstream.clone();
            *changed.pointer_mut(pointer).expect(pointer) = value;
            let comparison = comparison(&changed).unwrap();
            assert!(!comparison.is_clean(), "{pointer} went unseen");
        }
    }

    #[test]
    fn the_words_are_those_of_upstream() {
        use sluice_api::names::{annotations, conditions, events, finalizers, reasons};
        let upstream = recorded().unwrap();
        let words = |kind: &str| -> Vec<String> {
            serde_json::from_value(upstream["words"][kind].clone()).unwrap()
        };
        for (kind, ours) in [
            ("conditions", conditions::ALL),
            ("reasons", reasons::ALL),
            ("metadata", events::METADATA),
        ] {
            let mut ours = ours.to_vec();
            ours.sort_unstable();
            assert_eq!(ours, words(kind), "{kind}");
        }
        // Upstream puts most of these together from parts, so only the whole ones are compared.
        for (kind, ours) in [("annotations", annotations::ALL), ("finalizers", finalizers::ALL)] {
            let missing: Vec<String> =
                words(kind).into_iter().filter(|word| !ours.contains(&word.as_str())).collect();
            assert_eq!(missing, Vec::<String>::new(), "{kind}");
        }
    }

    #[test]
    fn the_generated_files_are_fresh() {
        let expected: BTreeMap<String, String> = files().into_iter().collect();
        let mut found = BTreeMap::new();
        for entry in fs::read_dir(root().join("crates/api/crds")).unwrap() {
            let entry = entry.unwrap();
            let text = fs::read_to_string(entry.path()).unwrap();
            found.insert(entry.file_name().into_string().unwrap(), text);
        }
        let names = |files: &BTreeMap<String, String>| files.keys().cloned().collect::<Vec<_>>();
        assert_eq!(names(&expected), names(&found), "run `cargo run -p xtask -- crds`");
        for (name, text) in &expected {
            assert!(found[name] == *text, "{name} is stale: run `cargo run -p xtask -- crds`");
        }
    }
}
