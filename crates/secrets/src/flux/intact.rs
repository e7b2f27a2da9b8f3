//! Integrity of the files of a build.
//!
//! The MAC covers the values of all documents of a file in order, and a build splits files into objects; so it is
//! checked on each file that a build reads. An object that is decrypted after the build must consist of encrypted
//! values of such files: an object that a build assembles from other parts, or that was read in a form that SOPS
//! never writes, was not checked.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value as Json;
use sluice_yaml::{Content, Node, parse};

use super::{Decryptor, Finding, OnBrokenMac};
use crate::document::{Error, Integrity, Tampering, WalkError, decrypt_branches};
use crate::formats::{Format, Metadatas};
use crate::tree::{Branch, Item, Value};

/// The prefix of encrypted values.
const SEALED: &[u8] = b"ENC[AES256_GCM,";

/// An encrypted value and its path.
type Sealed = (String, Vec<u8>);

/// The result of checking the files of a build.
#[derive(Debug, Default)]
pub struct Checked {
    /// Files that were changed after encryption.
    pub findings: Vec<Finding>,
    macs: Macs,
}

/// The MACs of the files.
#[derive(Debug, Default)]
struct Macs {
    /// The valid ones, with the encrypted values that they cover.
    right: BTreeMap<Vec<u8>, BTreeSet<Sealed>>,
    /// The invalid ones.
    wrong: BTreeSet<Vec<u8>>,
}

/// Why files are rejected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CheckError {
    /// A remote key service has to be asked first.
    #[error("a key service has not been asked yet")]
    Unasked,
    /// A file was changed, and only unchanged ones are accepted.
    #[error("{place}: failed to verify sops data integrity: {tampering}")]
    Altered {
        /// The file.
        place: String,
        /// How it was changed.
        tampering: Tampering,
    },
}

/// Whether a file may contain encrypted values, possibly with escapes, and so has to be checked.
pub fn may_be_sealed(content: &[u8]) -> bool {
    content.contains(&b'\\') || holds(content, SEALED) || holds(content, b"!!")
}

fn holds(content: &[u8], part: &[u8]) -> bool {
    content.windows(part.len()).any(|window| window == part)
}

impl Decryptor<'_> {
    /// Checks the files that a build has read. Files without a key are skipped: decrypting them fails later, if they are
    /// decrypted.
    pub fn check_files<'f>(
        &self,
        files: impl IntoIterator<Item = (&'f str, &'f [u8])>,
    ) -> Result<Checked, CheckError> {
        let (mut checked, mut unasked) = (Checked::default(), false);
        for (place, content) in files {
            for outcome in self.documents(place, content, &mut checked.macs) {
                match outcome {
                    Err(None) => unasked = true,
                    Err(Some(tampering)) => self.note(&mut checked.findings, place, tampering)?,
                    Ok(()) => {}
                }
            }
        }
        if unasked { Err(CheckError::Unasked) } else { Ok(checked) }
    }

    fn note(
        &self,
        findings: &mut Vec<Finding>,
        place: &str,
        tampering: Tampering,
    ) -> Result<(), CheckError> {
        let place = place.to_owned();
        if self.on_broken_mac == OnBrokenMac::Refuse {
            return Err(CheckError::Altered { place, tampering });
        }
        findings.push(Finding { place, tampering });
        Ok(())
    }

    /// Checks an object that is about to be decrypted: its encrypted values must be those of a valid file. An object
    /// of a file with a finding is already reported.
    pub(super) fn check_object(
        &self,
        object: &Json,
        place: &str,
        checked: &Checked,
        findings: &mut Vec<Finding>,
    ) -> Result<(), CheckError> {
        let mac = object.pointer("/sops/mac").and_then(Json::as_str).unwrap_or_default();
        let mut sealed = BTreeSet::new();
        for (name, value) in object.as_object().into_iter().flatten() {
            if name != "sops" {
                sealed_in_json(&mut vec![name.clone()], value, &mut sealed);
            }
        }
        let Macs { right, wrong } = &checked.macs;
        if right.get(mac.as_bytes()).is_some_and(|covered| sealed.is_subset(covered))
            || wrong.contains(mac.as_bytes())
        {
            return Ok(());
        }
        self.note(findings, place, Tampering::Unverified)
    }

    /// Checks the documents of one file, those with the same MAC together. `Err(None)` means that a key has yet to be
    /// asked.
    fn documents(
        &self,
        place: &str,
        content: &[u8],
        macs: &mut Macs,
    ) -> Vec<Result<(), Option<Tampering>>> {
        if !may_be_sealed(content) {
            return Vec::new();
        }
        let is_sealed = |branch: &Branch, format| {
            !matches!(mac_of(branch, format), Mac::None) || !sealed_in(branch).is_empty()
        };
        let Some((format, branches)) = load(place, content) else {
            // Without encrypted values it may be anything; a build would not read it as objects.
            let is_odd = holds(content, SEALED);
            return is_odd
                .then_some(Err(Some(Tampering::Foreign("another form"))))
                .into_iter()
                .collect();
        };
        if !branches.iter().any(|branch| is_sealed(branch, format)) {
            return Vec::new();
        }
        if format == Format::Yaml && has_anchors(content) {
            return vec![Err(Some(Tampering::Foreign("an anchor")))];
        }
        let is_single = branches.len() == 1;
        let mut groups: Vec<(Vec<u8>, Vec<Branch>)> = Vec::new();
        let mut outcomes = Vec::new();
        for branch in branches {
            match mac_of(&branch, format) {
                Mac::Is(mac) => match groups.iter_mut().find(|(known, _)| *known == mac) {
                    Some((_, group)) => group.push(branch),
                    None => groups.push((mac, vec![branch])),
                },
                Mac::Missing => {
                    outcomes.push(Err(Some(Tampering::Missing(String::new()))));
                }
                Mac::None if sealed_in(&branch).is_empty() => {}
                Mac::None => outcomes.push(Err(Some(Tampering::Stripped))),
            }
        }
        for (mac, group) in groups {
            let sealed: BTreeSet<Sealed> = group.iter().flat_map(sealed_in).collect();
            let mut outcome = self.group(format, group);
            // Some values are written differently in a JSON document.
            if let Err(Some(_)) = &outcome
                && is_single
                && content.trim_ascii_start().starts_with(b"{")
                && let Ok(again) = Format::Json.load(content)
                && self.group(Format::Json, again).is_ok()
            {
                outcome = Ok(true);
            }
            match &outcome {
                Ok(true) => macs.right.entry(mac).or_default().extend(sealed),
                Err(Some(_)) => {
                    macs.wrong.insert(mac);
                }
                Ok(false) | Err(None) => {}
            }
            outcomes.push(outcome.map(drop));
        }
        outcomes
    }

    /// Checks documents that were encrypted together; returns whether there is a key for them.
    fn group(&self, format: Format, group: Vec<Branch>) -> Result<bool, Option<Tampering>> {
        match decrypt_branches(group, format, self.keys) {
            Ok(decrypted) => match decrypted.integrity() {
                Integrity::Whole => Ok(true),
                Integrity::Broken(tampering) => Err(Some(tampering.clone())),
            },
            Err(error) if error.is_unasked() => Err(None),
            Err(Error::Walk(WalkError::Value(why))) => Err(Some(Tampering::Unreadable(why))),
            Err(Error::Walk(_)) => Err(Some(Tampering::Foreign("a value in the clear"))),
            // Without its key it cannot be decrypted either, and that error is reported then.
            Err(_) => Ok(false),
        }
    }
}

/// Reads a file in its format. JSON is YAML, and may contain several documents for a build.
fn load(place: &str, content: &[u8]) -> Option<(Format, Vec<Branch>)> {
    let flat = |format: Format| matches!(format, Format::Dotenv | Format::Ini).then_some(format);
    let (named, marked) = (flat(Format::of_path(place)), Format::detect(content).and_then(flat));
    let by_name = named.filter(|named| named.marks(content));
    let formats = [by_name, Some(Format::Yaml), marked, named].into_iter().flatten();
    formats.into_iter().find_map(|format| Some((format, format.load(content).ok()?)))
}

/// The MAC of a document.
enum Mac {
    Is(Vec<u8>),
    /// There is other metadata of SOPS.
    Missing,
    /// There is no metadata of SOPS.
    None,
}

fn mac_of(branch: &Branch, format: Format) -> Mac {
    let field = |branch: &Branch, wanted: &str| {
        branch.iter().find_map(|item| match item {
            Item::Field(name, value) if name == wanted => Some(value.clone()),
            _ => None,
        })
    };
    let (mac, is_there) = match format.metadatas() {
        Metadatas::FlatAtTop => {
            let is_flat =
                |item: &Item| matches!(item, Item::Field(name, _) if name.starts_with("sops_"));
            (field(branch, "sops_mac"), branch.iter().any(is_flat))
        }
        Metadatas::Nested | Metadatas::FlatInside => match field(branch, "sops") {
            Some(Value::Branch(metadata)) => {
                // Any object may have a field with this name; SOPS also writes `lastmodified`.
                let is_sops = field(&metadata, "lastmodified").is_some();
                (field(&metadata, "mac"), is_sops)
            }
            _ => (None, false),
        },
    };
    match mac {
        Some(Value::Text(mac)) if !mac.is_empty() => Mac::Is(mac),
        _ if is_there => Mac::Missing,
        _ => Mac::None,
    }
}

/// The encrypted values of a document, without the metadata.
fn sealed_in(branch: &Branch) -> BTreeSet<Sealed> {
    let mut out = BTreeSet::new();
    for item in branch {
        match item {
            Item::Field(name, _) if name == "sops" || name.starts_with("sops_") => {}
            Item::Field(name, value) => sealed_in_value(&mut vec![name.clone()], value, &mut out),
            Item::Comment(_) => {}
        }
    }
    out
}

fn sealed_in_value(path: &mut Vec<String>, at: &Value, out: &mut BTreeSet<Sealed>) {
    match at {
        Value::Text(text) if text.starts_with(SEALED) => {
            out.insert((path.join(":"), text.clone()));
        }
        Value::List(items) => items.iter().for_each(|item| sealed_in_value(path, item, out)),
        Value::Branch(fields) => {
            for item in fields {
                if let Item::Field(name, value) = item {
                    path.push(name.clone());
                    sealed_in_value(path, value, out);
                    path.pop();
                }
            }
        }
        _ => {}
    }
}

fn sealed_in_json(path: &mut Vec<String>, at: &Json, out: &mut BTreeSet<Sealed>) {
    match at {
        Json::String(text) if text.as_bytes().starts_with(SEALED) => {
            out.insert((path.join(":"), text.clone().into_bytes()));
        }
        Json::Array(items) => items.iter().for_each(|item| sealed_in_json(path, item, out)),
        Json::Object(fields) => {
            for (name, value) in fields {
                path.push(name.clone());
                sealed_in_json(path, value, out);
                path.pop();
            }
        }
        _ => {}
    }
}

/// Whether it has anchors: SOPS writes none, and parsers differ in how they resolve them.
fn has_anchors(content: &[u8]) -> bool {
    fn is_in(node: &Node) -> bool {
        node.anchor.is_some()
            || matches!(node.content, Content::Alias(_))
            || node.items().iter().any(is_in)
            || node.fields().iter().any(|(key, value)| is_in(key) || is_in(value))
    }
    parse(content).is_ok_and(|documents| documents.iter().any(|document| is_in(&document.root)))
}
