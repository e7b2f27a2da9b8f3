//! A server of SSH on a loopback port that runs the real `git upload-pack`.

mod connection;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use russh::keys::decode_secret_key;
use russh::keys::ssh_key::PublicKey;
use russh::server;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use connection::Connection;

/// A server of the repositories below a directory; it ends with this value.
#[derive(Debug)]
pub struct SshServer {
    address: SocketAddr,
    door: Door,
    task: JoinHandle<()>,
}

/// How a server is.
#[derive(Debug, Clone, Default)]
pub struct Rules {
    /// Where the repositories lie.
    pub root: PathBuf,
    /// The keys that show who the server is.
    pub host_keys: Vec<KeyPair>,
    /// Whether it speaks version 0 only: the variable with the protocol's version is not passed on.
    pub only_version_zero: bool,
}

/// Who may come in.
#[derive(Debug, Clone, Default)]
struct Door {
    rules: Rules,
    authorised: Arc<Mutex<Vec<PublicKey>>>,
    logins: Arc<AtomicU32>,
}

/// Both halves of a key, as `ssh-keygen` writes them.
#[derive(Debug, Clone)]
pub struct KeyPair {
    /// The private half, in its armour.
    pub private: String,
    /// The line of the public half.
    pub public: String,
}

impl SshServer {
    /// Starts a server.
    pub async fn start(rules: Rules) -> Self {
        let keys = rules.host_keys.iter().map(|key| {
            decode_secret_key(&key.private, None).expect("a host's key is not encrypted")
        });
        let config = Arc::new(server::Config {
            keys: keys.collect(),
            auth_rejection_time: std::time::Duration::ZERO,
            ..server::Config::default()
        });
        let door = Door { rules, ..Door::default() };
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a loopback port is free");
        let address = listener.local_addr().expect("a listener has an address");
        let inner = door.clone();
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let connection = Connection::new(inner.clone());
                let session = server::run_stream(Arc::clone(&config), stream, connection).await;
                if let Ok(session) = session {
                    tokio::spawn(session);
                }
            }
        });
        Self { address, door, task }
    }

    /// Lets the owner of a key in, as the user `git`.
    pub fn authorise(&self, public: &str) {
        let key = PublicKey::from_openssh(public.trim()).expect("it is the line of a public key");
        self.door.authorised().push(key);
    }

    /// The port.
    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// The server's name in `known_hosts`.
    pub fn name(&self) -> String {
        format!("[127.0.0.1]:{}", self.port())
    }

    /// The address of a repository.
    pub fn url(&self, path: &str) -> String {
        format!("ssh://git@127.0.0.1:{}/{path}", self.port())
    }

    /// How often somebody has shown a key.
    pub fn logins(&self) -> u32 {
        self.door.logins.load(Ordering::SeqCst)
    }
}

impl Drop for SshServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Door {
    fn authorised(&self) -> std::sync::MutexGuard<'_, Vec<PublicKey>> {
        self.authorised.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A new key: `kind` are the words behind `-t`.
pub fn key(directory: &Path, name: &str, kind: &[&str], passphrase: &str) -> KeyPair {
    let path = directory.join(name);
    let status = Command::new("ssh-keygen")
        .args(["-q", "-N", passphrase, "-C", "", "-t"])
        .args(kind)
        .arg("-f")
        .arg(&path)
        .status();
    assert!(status.expect("ssh-keygen runs").success());
    let read = |path: PathBuf| std::fs::read_to_string(path).expect("ssh-keygen wrote it");
    let public = read(path.with_extension("pub")).trim().to_owned();
    KeyPair { private: read(path), public }
}
