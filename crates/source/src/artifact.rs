//! Artifacts: a stored file with its path, revision and digest.

mod digest;
mod revision;

use sluice_base::time::Time;

pub(crate) use digest::hex;
pub use digest::{Digest, DigestAlgorithm, DigestError, Hasher};
pub use revision::Revision;
pub use sluice_api::shared::artifact::Artifact;

/// The path of an artifact in the store: `<kind>/<namespace>/<name>/<file>`, the kind in lower case.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ArtifactPath {
    directory: String,
    file: String,
}

/// A path segment that is not a plain name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} cannot be part of an artifact's path")]
pub struct ArtifactPathError(String);

impl ArtifactPath {
    /// The path of one file of one object.
    pub fn new(
        kind: &str,
        namespace: &str,
        name: &str,
        file: &str,
    ) -> Result<Self, ArtifactPathError> {
        for part in [kind, namespace, name, file] {
            if !is_plain(part) {
                return Err(ArtifactPathError(part.to_owned()));
            }
        }
        let kind = kind.to_lowercase();
        Ok(Self { directory: format!("{kind}/{namespace}/{name}"), file: file.to_owned() })
    }

    /// Parses a path in the store.
    pub fn of_path(path: &str) -> Result<Self, ArtifactPathError> {
        match path.split('/').collect::<Vec<_>>().as_slice() {
            [kind, namespace, name, file] => Self::new(kind, namespace, name, file),
            _ => Err(ArtifactPathError(path.to_owned())),
        }
    }

    /// Parses the path in the status of an object, which must be one of that object's own: a tenant can
    /// write a status, and may choose only among the files of its own object.
    pub fn of_object(
        kind: &str,
        namespace: &str,
        name: &str,
        path: &str,
    ) -> Result<Self, ArtifactPathError> {
        let file = path.rsplit('/').next().unwrap_or_default();
        let own = Self::new(kind, namespace, name, file)?;
        if own.path() == path { Ok(own) } else { Err(ArtifactPathError(path.to_owned())) }
    }

    /// The path below the root of the store.
    pub fn path(&self) -> String {
        format!("{}/{}", self.directory, self.file)
    }

    /// The directory of the object.
    pub fn directory(&self) -> &str {
        &self.directory
    }

    /// The name of the file.
    pub fn file(&self) -> &str {
        &self.file
    }

    /// Another file of the same object.
    pub fn sibling(&self, file: &str) -> Result<Self, ArtifactPathError> {
        if !is_plain(file) {
            return Err(ArtifactPathError(file.to_owned()));
        }
        Ok(Self { directory: self.directory.clone(), file: file.to_owned() })
    }

    /// The URL of the artifact on a server. An advertised address with a scheme is used as it is.
    pub fn url(&self, advertised: &str) -> String {
        let scheme = if advertised.starts_with("http://") || advertised.starts_with("https://") {
            ""
        } else {
            "http://"
        };
        format!("{scheme}{}/{}", advertised.trim_end_matches('/'), self.path())
    }

    /// The artifact for a status, after its content is stored.
    pub fn artifact(
        &self,
        advertised: &str,
        revision: &Revision,
        digest: &Digest,
        size: u64,
        made: Time,
    ) -> Artifact {
        Artifact {
            digest: digest.to_string(),
            last_update_time: made,
            metadata: None,
            path: self.path(),
            revision: revision.to_string(),
            size: Some(i64::try_from(size).unwrap_or(i64::MAX)),
            url: self.url(advertised),
            unknown: sluice_api::schema::Unknown::default(),
        }
    }
}

/// Whether it is a single name: no path, no `..`.
fn is_plain(part: &str) -> bool {
    !part.is_empty() && !part.starts_with('.') && !part.contains(['/', '\\', '\0'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_a_path_of_four_plain_names() {
        let place = ArtifactPath::new("GitRepository", "apps", "web", "abc.tar.gz").expect("plain");
        assert_eq!(place.path(), "gitrepository/apps/web/abc.tar.gz");
        assert_eq!(ArtifactPath::of_path(&place.path()), Ok(place));
        for bad in ["", ".", "..", "a/b", "a\\b", ".hidden", "nul\0"] {
            assert!(ArtifactPath::new("Bucket", "apps", "web", bad).is_err(), "{bad:?}");
        }
        assert!(ArtifactPath::of_path("gitrepository/apps/../../etc/passwd").is_err());
    }

    #[test]
    fn an_object_names_files_of_its_own_only() {
        let of = |path: &str| ArtifactPath::of_object("GitRepository", "apps", "web", path);
        assert!(of("gitrepository/apps/web/a.tar.gz").is_ok());
        for foreign in [
            "gitrepository/platform/web/a.tar.gz",
            "gitrepository/apps/web2/a.tar.gz",
            "gitrepository/apps/we/b/a.tar.gz",
            "gitrepository/apps/web/../web2/a.tar.gz",
            "bucket/apps/web/a.tar.gz",
            "GitRepository/apps/web/a.tar.gz",
            "gitrepository/APPS/web/a.tar.gz",
            "/gitrepository/apps/web/a.tar.gz",
            "gitrepository/apps/web//a.tar.gz",
            "gitrepository/apps/web/..",
            "gitrepository/apps/web/.1-1.tmp",
            "gitrepository/apps/web/",
            "a.tar.gz",
            "",
        ] {
            assert!(of(foreign).is_err(), "{foreign:?}");
        }
    }

    #[test]
    fn an_advertised_address_with_a_scheme_is_kept() {
        let place = ArtifactPath::new("Bucket", "a", "b", "c").expect("plain");
        assert_eq!(
            place.url("source-controller.flux-system.svc.cluster.local."),
            "http://source-controller.flux-system.svc.cluster.local./bucket/a/b/c"
        );
        assert_eq!(place.url("https://artifacts.test/"), "https://artifacts.test/bucket/a/b/c");
    }
}
