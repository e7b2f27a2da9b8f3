//! Records what a real Kubernetes says about itself into `crates/schema/data`.
//!
//! `record cluster SERVER TOKEN` asks a fresh API server, `record types` asks the Go types it is
//! made of, and the other subjects ask Go's libraries what they do with generated cases, which are
//! kept as goldens of the tests. The asking is done by the Go program in `conformance/record`; here its answers are
//! reduced, laid out one member per line (so that a reader can find a member without parsing the
//! rest) and compressed.

mod cluster;

use std::collections::BTreeMap;
use std::error::Error;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use flate2::{Compression, GzBuilder};
use serde_json::Value;

/// The release whose Go modules `conformance/record/go.mod` names.
const RELEASE: &str = "1.35.4";

/// Entry point of the chore.
pub(crate) fn run(arguments: &[String]) -> Result<(), Box<dyn Error>> {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["cluster", server, token] => {
            let answer = ask(&["cluster", server, token])?;
            let release = cluster::release(&answer)?;
            if release != RELEASE {
                return Err(format!("the server is {release}, the Go modules are {RELEASE}").into());
            }
            store(&data("openapi"), &cluster::openapi(&answer)?)?;
            store(&data("discovery"), &cluster::discovery(&answer)?)?;
            store(&data("bootstrap"), &cluster::bootstrap(&answer)?)
        }
        ["types"] => {
            let answer = ask(&["types"])?;
            let members = answer.as_object().ok_or("the type table is no object")?;
            store(&data("gotypes"), &members.clone().into_iter().collect())
        }
        [subject @ ("decode" | "protobuf" | "patch")] => {
            let answer = ask(&[subject])?;
            let members = answer.as_object().ok_or("the cases are no object")?;
            let path = root().join(format!("crates/schema/tests/goldens/{subject}.json.gz"));
            store(&path, &members.clone().into_iter().collect())
        }
        _ => Err("usage: record cluster SERVER TOKEN | types | decode | protobuf | patch".into()),
    }
}

/// Runs the Go program and reads its answer.
fn ask(arguments: &[&str]) -> Result<Value, Box<dyn Error>> {
    let output = Command::new("go")
        .args(["run", "."])
        .args(arguments)
        .current_dir(root().join("conformance/record"))
        .stderr(Stdio::inherit())
        .output()?;
    if !output.status.success() {
        return Err(format!("go run . {}: {}", arguments.join(" "), output.status).into());
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// Writes `members` as one JSON object, one member per line, compressed without a time stamp.
fn store(path: &Path, members: &BTreeMap<String, Value>) -> Result<(), Box<dyn Error>> {
    let mut text = String::from("{\n");
    for (index, (name, member)) in members.iter().enumerate() {
        if index > 0 {
            text.push_str(",\n");
        }
        text.push_str(&serde_json::to_string(name)?);
        text.push(':');
        text.push_str(&serde_json::to_string(member)?);
    }
    text.push_str("\n}\n");
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let mut encoder = GzBuilder::new().write(fs::File::create(path)?, Compression::best());
    encoder.write_all(text.as_bytes())?;
    encoder.finish()?;
    Ok(())
}

/// Where a part of the recorded release lies.
fn data(subject: &str) -> PathBuf {
    root().join(format!("crates/schema/data/kubernetes-{RELEASE}.{subject}.json.gz"))
}

fn root() -> PathBuf {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    manifest.parent().expect("because xtask lies in the workspace").to_owned()
}
