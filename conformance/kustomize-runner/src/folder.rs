//! A case as a directory, to be looked at and built by hand.

use std::io;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::case::{Answer, Request};

/// Writes the files below `tree/`, both answers, and how to build them.
pub(crate) fn write(
    folder: &Path,
    request: &Request,
    real: &Answer,
    ours: &Answer,
) -> io::Result<()> {
    let tree = folder.join("tree");
    if folder.exists() {
        std::fs::remove_dir_all(folder)?;
    }
    std::fs::create_dir_all(&tree)?;
    let texts = request.files.iter().map(|(path, text)| (path, text.clone().into_bytes()));
    let bytes = request.binary.iter();
    let bytes = bytes.map(|(path, text)| (path, STANDARD.decode(text).unwrap_or_default()));
    for (path, content) in texts.chain(bytes) {
        let file = tree.join(path.trim_start_matches('/'));
        if let Some(parent) = file.parent() {
            std::fs::create_dir_all(parent)?;
        }
        std::fs::write(file, content)?;
    }
    for (name, answer) in [("kustomize", real), ("sluice", ours)] {
        let text = if answer.ok { &answer.yaml } else { &answer.error };
        std::fs::write(folder.join(format!("{name}.out")), text)?;
        std::fs::write(folder.join(format!("{name}.legacy.out")), &answer.legacy)?;
    }
    let arguments = format!(
        "kustomize build --reorder none --load-restrictor {} tree{}\n",
        if request.options.load_restrictor == "none" {
            "LoadRestrictionsNone"
        } else {
            "LoadRestrictionsRootOnly"
        },
        request.absolute_root()
    );
    std::fs::write(folder.join("command"), arguments)?;
    std::fs::write(folder.join("request.json"), serde_json::to_vec(request)?)
}
