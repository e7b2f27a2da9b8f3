//! Decryption of one run of a Flux build: the keys at hand, the answers of key services, and which have none yet.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

use serde_json::Value;
use sluice_base::need::Need;
use sluice_base::redacted::Redacted;
use sluice_kustomize::flux::{Decryption, Undecrypted};
use sluice_kustomize::{Answers, FileTree};

use super::{CheckError, Checked, Decryptor, Finding, KeyRing, OnBrokenMac, may_be_sealed};
use crate::cipher::DataKey;
use crate::keys::{KeyService, MasterKey, NoKey};

/// Decrypts for one run of a build.
pub struct BuildDecryption<'a> {
    keys: Keys<'a>,
    on_broken_mac: OnBrokenMac,
    checked: Checked,
    /// Documents the values of which are not those that were encrypted.
    pub findings: Vec<Finding>,
}

/// Keys at hand, and what key services have answered.
struct Keys<'a> {
    ring: &'a KeyRing,
    answers: &'a Answers,
    /// The data keys that were needed and have no answer yet.
    missed: Mutex<BTreeSet<Need>>,
}

impl KeyService for Keys<'_> {
    fn decrypt(&self, key: &MasterKey) -> Result<DataKey, NoKey> {
        if let Some(answer) = self.answers.data_keys.get(key) {
            return Ok(answer.clone()?);
        }
        let answer = self.ring.decrypt(key);
        if answer == Err(NoKey::Unasked) {
            let mut missed = self.missed.lock().unwrap_or_else(PoisonError::into_inner);
            missed.insert(Need::DataKey(key.clone()));
        }
        answer
    }
}

impl Keys<'_> {
    fn needs(&self) -> Undecrypted {
        let mut missed = self.missed.lock().unwrap_or_else(PoisonError::into_inner);
        Undecrypted::Needs(std::mem::take(&mut missed))
    }
}

impl<'a> BuildDecryption<'a> {
    /// Decrypts with keys at hand and with the answers of key services.
    pub fn new(ring: &'a KeyRing, answers: &'a Answers, on_broken_mac: OnBrokenMac) -> Self {
        Self {
            keys: Keys { ring, answers, missed: Mutex::default() },
            on_broken_mac,
            checked: Checked::default(),
            findings: Vec::new(),
        }
    }
}

impl Decryption for BuildDecryption<'_> {
    fn filter(&self) -> fn(&[u8]) -> bool {
        may_be_sealed
    }

    fn files(
        &mut self,
        tree: &dyn FileTree,
        root: &str,
        directory: &str,
    ) -> Result<BTreeMap<String, Redacted<Vec<u8>>>, Undecrypted> {
        let decryptor = Decryptor::new(&self.keys, self.on_broken_mac);
        match decryptor.decrypt_sources(tree, root, directory) {
            Ok(sources) => {
                self.findings.extend(sources.findings);
                Ok(sources.files)
            }
            Err(error) if error.is_unasked() => Err(self.keys.needs()),
            Err(error) => Err(Undecrypted::Failed(error.to_string())),
        }
    }

    fn check(&mut self, files: &BTreeMap<String, Vec<u8>>) -> Result<(), Undecrypted> {
        let files = files.iter().map(|(path, content)| (path.as_str(), content.as_slice()));
        match Decryptor::new(&self.keys, self.on_broken_mac).check_files(files) {
            Ok(mut checked) => {
                self.findings.append(&mut checked.findings);
                self.checked = checked;
                Ok(())
            }
            Err(CheckError::Unasked) => Err(self.keys.needs()),
            Err(error) => Err(Undecrypted::Failed(error.to_string())),
        }
    }

    fn object(&mut self, object: &mut Value) -> Result<(), Undecrypted> {
        let decryptor = Decryptor::new(&self.keys, self.on_broken_mac);
        match decryptor.decrypt_resource(object, &self.checked, &mut self.findings) {
            Ok(_) => Ok(()),
            Err(error) if error.is_unasked() => Err(self.keys.needs()),
            Err(error) => Err(Undecrypted::Failed(error.to_string())),
        }
    }
}
