//! The recorded answers of the real server: what they hold and how they are kept.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::script::Script;

/// The largest golden that is kept as plain text.
const PLAIN: usize = 96 * 1024;

/// The normalised answers of one script.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Golden {
    /// The `gitVersion` of the server that gave the answers.
    pub server: String,
    /// A checksum of the script; answers to another text are of no use.
    pub script: String,
    /// The answers in the order of the requests.
    pub answers: Vec<Answer>,
}

/// One normalised answer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// The step's title.
    pub title: String,
    /// Method and path.
    pub request: String,
    /// The status code.
    pub status: u16,
    /// The compared headers.
    pub headers: BTreeMap<String, Vec<String>>,
    /// A JSON body.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<Value>,
    /// A body that is no JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<Value>,
    /// The events of a stream.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub events: Option<Vec<Value>>,
    /// Whether a JSON body was indented.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub indented: bool,
    /// Texts of `fieldsV1` whose keys do not come in plain sorted order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unsorted_fields: Vec<Value>,
    /// How many values each rule replaced.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub masked: BTreeMap<String, usize>,
    /// Played only to bring about a state.
    #[serde(skip)]
    pub quiet: bool,
}

/// Why a golden cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum GoldenError {
    /// The file is absent or unreadable.
    #[error("{0}")]
    File(PathBuf, #[source] std::io::Error),
    /// The file is not what the recorder writes.
    #[error("{0}")]
    Format(PathBuf, #[source] serde_json::Error),
    /// The script was changed after its answers were recorded.
    #[error("{0} was recorded from another text of its script: record it anew")]
    Stale(PathBuf),
}

impl Golden {
    /// The golden of a script from the answers that a server gave.
    pub fn of(script: &Script, server: &str, answers: Vec<Answer>) -> Self {
        Self { server: server.to_owned(), script: checksum(&script.text), answers }
    }

    /// Reads the golden of a script, and refuses one that was recorded from another text.
    pub fn read(folder: &Path, script: &Script) -> Result<Self, GoldenError> {
        let plain = folder.join(&script.area).join(format!("{}.json", script.name));
        let packed = plain.with_extension("json.gz");
        let path = if packed.exists() { packed } else { plain };
        let failed = |error| GoldenError::File(path.clone(), error);
        let mut bytes = std::fs::read(&path).map_err(failed)?;
        if path.extension().is_some_and(|ending| ending == "gz") {
            let mut text = Vec::new();
            flate2::read::GzDecoder::new(bytes.as_slice())
                .read_to_end(&mut text)
                .map_err(failed)?;
            bytes = text;
        }
        let golden: Self = serde_json::from_slice(&bytes)
            .map_err(|error| GoldenError::Format(path.clone(), error))?;
        if golden.script == checksum(&script.text) {
            Ok(golden)
        } else {
            Err(GoldenError::Stale(path))
        }
    }

    /// Writes the golden of a script, packed when it is large.
    pub fn write(&self, folder: &Path, script: &Script) -> Result<(), GoldenError> {
        let plain = folder.join(&script.area).join(format!("{}.json", script.name));
        let packed = plain.with_extension("json.gz");
        let mut text = serde_json::to_vec_pretty(self)
            .map_err(|error| GoldenError::Format(plain.clone(), error))?;
        text.push(b'\n');
        let (path, other) = if text.len() > PLAIN { (packed, plain) } else { (plain, packed) };
        let failed = |error| GoldenError::File(path.clone(), error);
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent).map_err(failed)?;
        }
        if path.extension().is_some_and(|ending| ending == "gz") {
            let mut encoder =
                flate2::GzBuilder::new().mtime(0).write(Vec::new(), flate2::Compression::best());
            encoder.write_all(&text).map_err(failed)?;
            text = encoder.finish().map_err(failed)?;
        }
        std::fs::write(&path, text).map_err(failed)?;
        match std::fs::remove_file(&other) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(GoldenError::File(other, error))
            }
            _ => Ok(()),
        }
    }
}

/// FNV-1a of a text: enough to notice that a script was edited.
fn checksum(text: &str) -> String {
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    for byte in text.bytes() {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    format!("{hash:016x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_golden_of_an_edited_script_is_refused() {
        let folder = std::env::temp_dir().join(format!("sluice-golden-{}", std::process::id()));
        let script = Script::parse("a", "b", "### one\nGET /\n").expect("it parses");
        let golden = Golden { script: checksum(&script.text), ..Golden::default() };
        golden.write(&folder, &script).expect("it is written");
        assert_eq!(Golden::read(&folder, &script).expect("it is read"), golden);
        let edited = Script::parse("a", "b", "### one\nGET /other\n").expect("it parses");
        assert!(matches!(Golden::read(&folder, &edited), Err(GoldenError::Stale(_))));
        std::fs::remove_dir_all(folder).expect("it is removed");
    }
}
