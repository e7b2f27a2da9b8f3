//! Git's smart protocol over SSH: one login, one `git-upload-pack`, several requests.

mod keypair;
mod known_hosts;
mod scan;

use std::borrow::Cow;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use futures::future::BoxFuture;
use futures::stream::BoxStream;
use futures::{FutureExt as _, StreamExt as _};
use reqwest::Url;
use russh::client::{self, Handle};
use russh::keys::ssh_key::{Algorithm, HashAlg, Kdf, PrivateKey};
use russh::keys::{PrivateKeyWithHashAlg, PublicKeyOrCertificate, decode_secret_key};
use russh::{ChannelMsg, ChannelWriteHalf, Preferred, kex};

use super::auth::GitAuth;
use super::error::{Cause, shown};
use super::incoming::{Incoming, filtered};
use super::object::Objects;
use super::pack::GitLimits;
use super::protocol::{Advertisement, fetch_request, list_request};
use super::remote::{FetchRequest, GitRemote, RemoteRef};
use crate::network::{DialError, Network, Purpose};
pub use keypair::{KeyAlgorithm, KeyPair, KeyPairError};
use known_hosts::HostKey;
pub(super) use known_hosts::KnownHosts;
pub use scan::{ScanError, scan_host_key};

const PORT: u16 = 22;

/// The inactivity timeout of a server.
const SILENCE: Duration = Duration::from_secs(30);

/// The maximum length of a server's error output that is kept.
const COMPLAINT: usize = 4096;

/// The allowed algorithms (`--ssh-kex-algos`, `--ssh-hostkey-algos`); the library's defaults if
/// empty.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SshOptions {
    /// Key exchanges, the preferred one first.
    pub key_exchanges: Vec<String>,
    /// Host keys, the preferred one first.
    pub host_keys: Vec<String>,
}

/// Whether a private key is encrypted.
pub(super) fn is_encrypted(identity: &[u8]) -> bool {
    let text = String::from_utf8_lossy(identity);
    matches!(decode_secret_key(&text, None), Err(russh::keys::Error::KeyIsEncrypted))
}

/// The maximum number of key derivation rounds of a private key. `ssh-keygen` writes 24, cautious people a few hundred.
const MOST_ROUNDS: u32 = 1024;

/// Parses a private key. Decrypting one with four billion rounds would block a worker for years.
pub(super) fn read_private_key(
    text: &str,
    passphrase: Option<&str>,
) -> Result<PrivateKey, russh::keys::Error> {
    if passphrase.is_some()
        && let Ok(locked) = PrivateKey::from_openssh(text)
        && let Kdf::Bcrypt { rounds, .. } = locked.kdf()
        && *rounds > MOST_ROUNDS
    {
        return Err(russh::keys::Error::CouldNotReadKey);
    }
    decode_secret_key(text, passphrase)
}

/// A repository over SSH.
pub(super) struct SshRemote {
    login: Login,
    command: String,
    limits: GitLimits,
    /// An idle session.
    idle: Mutex<Option<Conversation>>,
}

struct Login {
    network: Network,
    purpose: Purpose,
    host: String,
    port: u16,
    user: String,
    key: Arc<PrivateKey>,
    known: Arc<KnownHosts>,
    config: Arc<client::Config>,
}

/// A running `git-upload-pack`. Dropping it closes the connection.
struct Conversation {
    _session: Handle<HostCheck>,
    out: ChannelWriteHalf<client::Msg>,
    incoming: Incoming<'static>,
    server: Advertisement,
}

impl SshRemote {
    pub(super) fn open(
        network: Network,
        url: &Url,
        auth: &GitAuth,
        options: &SshOptions,
        limits: GitLimits,
    ) -> Result<Self, Cause> {
        let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']).to_owned();
        let port = url.port().unwrap_or(PORT);
        let identity = String::from_utf8_lossy(auth.identity.expose());
        let password = auth.password.expose();
        let passphrase = (!password.is_empty()).then_some(password.as_str());
        let key = read_private_key(&identity, passphrase).map_err(ssh_error)?;
        let text = String::from_utf8_lossy(&auth.known_hosts);
        let known = KnownHosts::parse(&text, &host, port).map_err(Cause::Ssh)?;
        let config = client::Config {
            preferred: preferred(options, &known)?,
            inactivity_timeout: Some(SILENCE),
            nodelay: true,
            ..client::Config::default()
        };
        let login = Login {
            network,
            purpose: auth.purpose,
            host,
            port,
            user: if auth.username.is_empty() { "git".to_owned() } else { auth.username.clone() },
            key: Arc::new(key),
            known: Arc::new(known),
            config: Arc::new(config),
        };
        Ok(Self {
            login,
            command: upload_pack(&super::auth::percent_decoded(url.path()))?,
            limits,
            idle: Mutex::default(),
        })
    }

    /// A session that is ready for a request: the idle one, or a new one.
    async fn converse(&self) -> Result<Conversation, Cause> {
        let idle = self.idle().take();
        match idle {
            Some(conversation) => Ok(conversation),
            None => self.connect().await,
        }
    }

    /// Keeps a session for the next request. Version 0 has none after a fetch.
    fn keep(&self, conversation: Conversation) {
        *self.idle() = Some(conversation);
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Option<Conversation>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn connect(&self) -> Result<Conversation, Cause> {
        let session = self.login.connect().await?;
        let channel = session.channel_open_session().await.map_err(ssh_error)?;
        // A server that ignores the variable uses version 0.
        channel.set_env(false, "GIT_PROTOCOL", "version=2").await.map_err(ssh_error)?;
        channel.exec(true, self.command.as_bytes()).await.map_err(ssh_error)?;
        let (input, out) = channel.split();
        let mut incoming = Incoming::new(stream(input));
        let server = incoming.advertisement(self.limits).await?;
        Ok(Conversation { _session: session, out, incoming, server })
    }
}

impl Login {
    async fn connect(&self) -> Result<Handle<HostCheck>, Cause> {
        let check = HostCheck { known: Arc::clone(&self.known) };
        let stream = self.network.dial(self.purpose, &self.host, self.port).await;
        let stream = stream.map_err(|error| match error {
            DialError::Refused(refusal) => Cause::Ssh(refusal.to_string()),
            // The message of the SSH library.
            DialError::Failed(error) => ssh_error(russh::Error::IO(error)),
        })?;
        let connecting = client::connect_stream(Arc::clone(&self.config), stream, check);
        let mut session = connecting.await.map_err(|error| match error {
            Refused::Unknown => {
                Cause::Ssh("handshake failed: knownhosts: key is unknown".to_owned())
            }
            Refused::Mismatch => {
                Cause::Ssh("handshake failed: knownhosts: key mismatch".to_owned())
            }
            Refused::Ssh(error) => ssh_error(error),
        })?;
        let hash = match self.key.algorithm() {
            Algorithm::Rsa { .. } => session
                .best_supported_rsa_hash()
                .await
                .map_err(ssh_error)?
                .unwrap_or(Some(HashAlg::Sha256)),
            _ => None,
        };
        let key = PrivateKeyWithHashAlg::new(Arc::clone(&self.key), hash);
        let answer = session.authenticate_publickey(&self.user, key).await.map_err(ssh_error)?;
        if answer.success() {
            return Ok(session);
        }
        Err(Cause::Ssh(
            "handshake failed: ssh: unable to authenticate, attempted methods [none publickey], \
             no supported methods remain"
                .to_owned(),
        ))
    }
}

impl GitRemote for SshRemote {
    fn list_refs<'a>(
        &'a self,
        prefixes: &'a [String],
    ) -> BoxFuture<'a, Result<Vec<RemoteRef>, Cause>> {
        async move {
            let mut conversation = self.converse().await?;
            let refs = if conversation.server.is_v2 {
                conversation.out.data_bytes(list_request(prefixes)).await.map_err(ssh_error)?;
                conversation.incoming.refs(prefixes, self.limits).await?
            } else {
                filtered(&conversation.server.refs, prefixes)
            };
            self.keep(conversation);
            Ok(refs)
        }
        .boxed()
    }

    fn can_filter(&self) -> BoxFuture<'_, Result<bool, Cause>> {
        async {
            let conversation = self.converse().await?;
            let can = conversation.server.can_filter();
            self.keep(conversation);
            Ok(can)
        }
        .boxed()
    }

    fn can_want_any(&self) -> BoxFuture<'_, Result<bool, Cause>> {
        async {
            let conversation = self.converse().await?;
            let can = conversation.server.can_want_any();
            self.keep(conversation);
            Ok(can)
        }
        .boxed()
    }

    fn fetch(&self, request: FetchRequest) -> BoxFuture<'_, Result<Objects, Cause>> {
        async move {
            let mut conversation = self.converse().await?;
            let question = fetch_request(&request, &conversation.server);
            conversation.out.data_bytes(question).await.map_err(ssh_error)?;
            let limits = self.limits.within(request.budget);
            let objects = conversation.incoming.objects(&conversation.server, limits).await?;
            if conversation.server.is_v2 {
                self.keep(conversation);
            }
            Ok(objects)
        }
        .boxed()
    }
}

/// The command for a path, quoted so that it is one argument and never an option.
fn upload_pack(path: &str) -> Result<String, Cause> {
    if !path.starts_with('/') || path.contains(['\0', '\n', '\r']) {
        return Err(Cause::Url(format!("{:?} is no path of a repository", shown(path))));
    }
    let quoted = path.replace('\'', r"'\''");
    Ok(format!("git-upload-pack '{quoted}'"))
}

/// Verifies the server's host key.
struct HostCheck {
    known: Arc<KnownHosts>,
}

#[derive(Debug)]
enum Refused {
    Unknown,
    Mismatch,
    Ssh(russh::Error),
}

impl From<russh::Error> for Refused {
    fn from(error: russh::Error) -> Self {
        Self::Ssh(error)
    }
}

impl client::Handler for HostCheck {
    type Error = Refused;

    async fn check_server_key(&mut self, shown: &PublicKeyOrCertificate) -> Result<bool, Refused> {
        let PublicKeyOrCertificate::PublicKey { key, .. } = shown else {
            return Err(Refused::Unknown);
        };
        match self.known.judge(key.key_data()) {
            HostKey::Known => Ok(true),
            HostKey::Unknown => Err(Refused::Unknown),
            HostKey::Mismatch | HostKey::Revoked => Err(Refused::Mismatch),
        }
    }
}

/// The library's algorithms, limited to the allowed ones and to the types of the host's known keys, so that
/// the server presents one of them. Host keys are not verified with SHA-1 unless the flag names
/// `ssh-rsa`.
fn preferred(options: &SshOptions, known: &KnownHosts) -> Result<Preferred, Cause> {
    let mut preferred = Preferred::DEFAULT;
    if !options.key_exchanges.is_empty() {
        let mut names = Vec::new();
        for name in &options.key_exchanges {
            let found = kex::Name::try_from(name.as_str())
                .map_err(|()| Cause::Ssh(format!("unsupported key exchange {name:?}")))?;
            names.push(found);
        }
        names.extend([
            kex::EXTENSION_SUPPORT_AS_CLIENT,
            kex::EXTENSION_OPENSSH_STRICT_KEX_AS_CLIENT,
        ]);
        preferred.kex = Cow::Owned(names);
    }
    let allowed: Vec<Algorithm> = if options.host_keys.is_empty() {
        let kinds = known.algorithms();
        let is_known = |algorithm: &&Algorithm| {
            kinds.is_empty() || kinds.iter().any(|kind| same_kind(kind, algorithm))
        };
        let is_safe = |algorithm: &&Algorithm| !matches!(algorithm, Algorithm::Rsa { hash: None });
        preferred.key.iter().filter(is_safe).filter(is_known).cloned().collect()
    } else {
        let read = |name: &String| {
            Algorithm::new(name).map_err(|_| Cause::Ssh(format!("unsupported host key {name:?}")))
        };
        options.host_keys.iter().map(read).collect::<Result<_, _>>()?
    };
    preferred.key = Cow::Owned(allowed);
    Ok(preferred)
}

fn same_kind(one: &Algorithm, other: &Algorithm) -> bool {
    matches!((one, other), (Algorithm::Rsa { .. }, Algorithm::Rsa { .. })) || one == other
}

/// The standard output of the command. Its error output is the error when it ends.
fn stream(input: russh::ChannelReadHalf) -> BoxStream<'static, Result<Bytes, Cause>> {
    futures::stream::unfold((input, Vec::new()), |(mut input, mut complaint)| async move {
        loop {
            match input.wait().await {
                Some(ChannelMsg::Data { data }) => return Some((Ok(data), (input, complaint))),
                Some(ChannelMsg::ExtendedData { data, .. }) => {
                    let room = COMPLAINT.saturating_sub(complaint.len());
                    complaint
                        .extend_from_slice(data.get(..room.min(data.len())).unwrap_or_default());
                }
                Some(ChannelMsg::Failure) => {
                    let error = Cause::Ssh("the server refuses to run git-upload-pack".to_owned());
                    return Some((Err(error), (input, complaint)));
                }
                Some(_) => {}
                None if complaint.is_empty() => return None,
                None => {
                    let error = complained(&String::from_utf8_lossy(&complaint));
                    complaint.clear();
                    return Some((Err(error), (input, complaint)));
                }
            }
        }
    })
    .boxed()
}

/// Recognises the messages of common servers for missing repositories.
fn complained(text: &str) -> Cause {
    const ABSENT: [&str; 4] = [
        "not found",
        "does not exist",
        "does not appear to be a git repository",
        "could not be found",
    ];
    let text = shown(text.trim());
    let lower = text.to_lowercase();
    if ABSENT.iter().any(|words| lower.contains(words)) {
        return Cause::RepositoryNotFound(text);
    }
    Cause::Remote(text)
}

fn ssh_error(error: impl std::fmt::Display) -> Cause {
    Cause::Ssh(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_one_word_of_the_command() {
        for (path, expected) in [
            ("/org/app.git", Some("git-upload-pack '/org/app.git'")),
            ("/a'; touch x; '", Some(r"git-upload-pack '/a'\''; touch x; '\'''")),
            ("/$(touch x)`y`", Some("git-upload-pack '/$(touch x)`y`'")),
            ("-oProxyCommand=x", None),
            ("--upload-pack=x", None),
            ("/a\ntouch x", None),
            ("/a\0b", None),
            ("", None),
        ] {
            assert_eq!(upload_pack(path).ok().as_deref(), expected, "{path:?}");
        }
    }

    #[test]
    fn host_keys_are_not_proved_by_sha1_unless_the_flag_says_so() {
        let known = KnownHosts::default();
        let offered = |options: &SshOptions| preferred(options, &known).expect("known names").key;
        let weak = Algorithm::Rsa { hash: None };
        assert!(!offered(&SshOptions::default()).contains(&weak));
        let legacy = SshOptions { host_keys: vec!["ssh-rsa".into()], ..SshOptions::default() };
        assert!(offered(&legacy).contains(&weak));
    }
}
