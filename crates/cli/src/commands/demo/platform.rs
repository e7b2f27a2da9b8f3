//! The repository of `examples/four-layers`, which is part of this binary.

use std::collections::BTreeMap;

use sluice_source::tree::{SourceTree, TreeError};

macro_rules! files {
    ($($path:literal)*) => {
        &[$(($path, include_str!(concat!("../../../../../examples/four-layers/", $path)))),*]
    };
}

/// Every file of the repository. A test compares the list with the directory.
const FILES: &[(&str, &str)] = files![
    "README.md"
    "applications/reports/kustomization.yaml"
    "applications/reports/nightly.yaml"
    "applications/reports/secret-claim.yaml"
    "applications/reports/viewer.yaml"
    "applications/shop/kustomization.yaml"
    "applications/shop/route.yaml"
    "applications/shop/web.yaml"
    "applications/shop/worker.yaml"
    "clusters/demo/1-primitives.yaml"
    "clusters/demo/2-controllers.yaml"
    "clusters/demo/3-services.yaml"
    "clusters/demo/4-applications.yaml"
    "clusters/demo/cluster-settings.yaml"
    "controllers/issuer/deployment.yaml"
    "controllers/issuer/kustomization.yaml"
    "controllers/issuer/rbac.yaml"
    "controllers/kustomization.yaml"
    "controllers/policy/deployment.yaml"
    "controllers/policy/kustomization.yaml"
    "controllers/policy/rbac.yaml"
    "controllers/policy/self-test.yaml"
    "controllers/secret-sync/deployment.yaml"
    "controllers/secret-sync/kustomization.yaml"
    "controllers/secret-sync/rbac.yaml"
    "primitives/definitions/certificates.yaml"
    "primitives/definitions/kustomization.yaml"
    "primitives/definitions/routes.yaml"
    "primitives/definitions/secretclaims.yaml"
    "primitives/guardrails/kustomization.yaml"
    "primitives/guardrails/priorities.yaml"
    "primitives/guardrails/tenants.yaml"
    "primitives/kustomization.yaml"
    "primitives/namespaces/kustomization.yaml"
    "primitives/namespaces/namespaces.yaml"
    "services/gateway/certificate.yaml"
    "services/gateway/deployment.yaml"
    "services/gateway/disruption.yaml"
    "services/gateway/ingress-class.yaml"
    "services/gateway/kustomization.yaml"
    "services/gateway/service.yaml"
    "services/kustomization.yaml"
    "services/logs/daemon-set.yaml"
    "services/logs/kustomization.yaml"
    "services/metrics/kustomization.yaml"
    "services/metrics/service.yaml"
    "services/metrics/stateful-set.yaml"
];

/// One change to a file: where, what was there, what is there now.
pub(super) type Edit = (&'static str, &'static str, &'static str);

/// The files of a platform repository, as the next commit will hold them.
#[derive(Debug, Clone)]
pub(super) struct Platform {
    files: BTreeMap<String, String>,
}

/// A change that cannot be made.
#[derive(Debug, thiserror::Error)]
pub(super) enum EditError {
    /// The text that is to be replaced is not there.
    #[error("{path} does not hold {text:?}")]
    NotFound {
        /// The file.
        path: String,
        /// What it should hold.
        text: String,
    },
    /// A path that no tree can hold.
    #[error(transparent)]
    Tree(#[from] TreeError),
}

impl Platform {
    /// The repository as it is in this binary.
    pub(super) fn as_embedded() -> Self {
        let owned = |(path, text): &(&str, &str)| ((*path).to_owned(), (*text).to_owned());
        Self { files: FILES.iter().map(owned).collect() }
    }

    /// Changes files.
    pub(super) fn edit(&mut self, edits: &[Edit]) -> Result<(), EditError> {
        for (path, from, to) in edits {
            let file = self.files.get_mut(*path).filter(|file| file.contains(from));
            let Some(file) = file else {
                return Err(EditError::NotFound {
                    path: (*path).to_owned(),
                    text: (*from).to_owned(),
                });
            };
            *file = file.replacen(from, to, 1);
        }
        Ok(())
    }

    /// The files as a tree that can be committed.
    pub(super) fn tree(&self) -> Result<SourceTree, EditError> {
        let mut tree = SourceTree::default();
        for (path, text) in &self.files {
            tree.insert_file(path, text.clone())?;
        }
        Ok(tree)
    }
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use super::{FILES, Platform};

    fn walk(root: &Path, folder: &Path, found: &mut Vec<String>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                walk(root, &path, found);
            } else {
                let path = path.strip_prefix(root).unwrap();
                found.push(path.to_str().unwrap().replace('\\', "/"));
            }
        }
    }

    #[test]
    fn every_file_of_the_example_is_part_of_the_binary() {
        let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../examples/four-layers");
        let mut found = Vec::new();
        walk(&root, &root, &mut found);
        found.sort();
        let listed: Vec<&str> = FILES.iter().map(|(path, _)| *path).collect();
        assert_eq!(listed, found);
    }

    #[test]
    fn an_edit_that_finds_nothing_is_an_error() {
        let mut platform = Platform::as_embedded();
        let error = platform.edit(&[("services/kustomization.yaml", "no such text", "")]);
        assert_eq!(
            error.unwrap_err().to_string(),
            r#"services/kustomization.yaml does not hold "no such text""#
        );
    }
}
