//! A git server that lies, and keys to sign with.

use std::sync::Arc;

use futures::FutureExt as _;
use futures::future::{BoxFuture, ready};
use russh::keys::ssh_key::private::Ed25519Keypair;
use russh::keys::ssh_key::{HashAlg, LineEnding, PrivateKey};
use sluice_source::git::{
    Cause, FetchRequest, GitAuth, GitRemote, GitTransport, ObjectId, ObjectKind, Objects,
    RemoteRef, Repository, TrustedKeys,
};

/// A server that lists the references it likes and sends every object it has, whatever is asked for.
#[derive(Clone, Default)]
pub(crate) struct Liar {
    pub(crate) refs: Vec<RemoteRef>,
    pub(crate) objects: Objects,
}

impl Liar {
    /// Claims that a reference points at an object, and at what an annotated tag leads to.
    pub(crate) fn claim(&mut self, name: &str, id: ObjectId, peeled: Option<ObjectId>) {
        self.refs.push(RemoteRef { name: name.to_owned(), id, peeled });
    }

    /// A server with the objects of a repository.
    pub(crate) fn with(repository: &Repository) -> Self {
        Self { refs: Vec::new(), objects: repository.objects().clone() }
    }
}

impl GitTransport for Liar {
    fn open(&self, _: &str, _: &GitAuth) -> Result<Arc<dyn GitRemote>, Cause> {
        Ok(Arc::new(self.clone()))
    }
}

impl GitRemote for Liar {
    fn list_refs<'a>(
        &'a self,
        prefixes: &'a [String],
    ) -> BoxFuture<'a, Result<Vec<RemoteRef>, Cause>> {
        let wanted = |found: &&RemoteRef| {
            prefixes.is_empty() || prefixes.iter().any(|prefix| found.name.starts_with(prefix))
        };
        ready(Ok(self.refs.iter().filter(wanted).cloned().collect())).boxed()
    }

    fn can_filter(&self) -> BoxFuture<'_, Result<bool, Cause>> {
        ready(Ok(true)).boxed()
    }

    fn can_want_any(&self) -> BoxFuture<'_, Result<bool, Cause>> {
        ready(Ok(true)).boxed()
    }

    fn fetch(&self, _: FetchRequest) -> BoxFuture<'_, Result<Objects, Cause>> {
        ready(Ok(self.objects.clone())).boxed()
    }
}

/// An SSH key that is the same in every run.
pub(crate) fn key(seed: u8) -> PrivateKey {
    PrivateKey::from(Ed25519Keypair::from_seed(&[seed; 32]))
}

/// Trust in an SSH key.
pub(crate) fn trust(key: &PrivateKey) -> TrustedKeys {
    let line = key.public_key().to_openssh().expect("a line");
    TrustedKeys { pgp: Vec::new(), ssh: vec![line] }
}

/// An armored signature as `git` makes it.
pub(crate) fn signature(key: &PrivateKey, payload: &str) -> String {
    let signed = key.sign("git", HashAlg::Sha512, payload.as_bytes()).expect("signed");
    signed.to_pem(LineEnding::LF).expect("armored")
}

/// A signed tag: its header lines, and what they say.
pub(crate) fn signed_tag(
    repository: &mut Repository,
    key: &PrivateKey,
    name: &str,
    (kind, target): (&str, ObjectId),
) -> ObjectId {
    let payload = format!(
        "object {target}\ntype {kind}\ntag {name}\ntagger Ada <ada@git.test> 1 +0000\n\na release\n"
    );
    let signed = format!("{payload}{}", signature(key, &payload));
    repository.add_object(ObjectKind::Tag, signed)
}

/// A commit with header lines of its own, signed as a whole.
pub(crate) fn signed_commit(
    repository: &mut Repository,
    key: &PrivateKey,
    headers: &str,
) -> ObjectId {
    let signature = signature(key, &format!("{headers}\nsigned\n"));
    let lines: Vec<&str> = signature.trim_end().lines().collect();
    let text = format!("{headers}gpgsig {}\n\nsigned\n", lines.join("\n "));
    repository.add_object(ObjectKind::Commit, text)
}
