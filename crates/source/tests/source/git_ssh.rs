//! Repositories over SSH: our client, and a small server that runs the real `git upload-pack`.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use russh::keys::ssh_key::PublicKey;
use russh::keys::{PrivateKey, decode_secret_key};
use russh::server::{self, Auth, ChannelOpenHandle, Handler, Msg, Session, VerifiedPublicKey};
use russh::{Channel, ChannelId};
use sluice_source::git::{AuthError, GitAuth, GitLimits, Network, SshOptions};
use sluice_source::http::HttpClients;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use crate::git_real::{git, is_installed};
use crate::support::{branch, chain, listing, network, request};

/// What the server is told.
#[derive(Clone)]
struct Rules {
    root: PathBuf,
    user_key: PublicKey,
    /// Whether the variable with the protocol's version is passed on.
    takes_version: bool,
    logins: Arc<AtomicU32>,
}

struct Connection {
    rules: Rules,
    channel: Option<Channel<Msg>>,
    version: Option<String>,
}

impl Handler for Connection {
    type Error = russh::Error;

    async fn auth_publickey(
        &mut self,
        user: &str,
        key: VerifiedPublicKey<'_>,
    ) -> Result<Auth, Self::Error> {
        self.rules.logins.fetch_add(1, Ordering::SeqCst);
        let is_known = key.public_key.key_data() == self.rules.user_key.key_data();
        Ok(if user == "git" && is_known { Auth::Accept } else { Auth::reject() })
    }

    async fn channel_open_session(
        &mut self,
        channel: Channel<Msg>,
        reply: ChannelOpenHandle,
        _: &mut Session,
    ) -> Result<(), Self::Error> {
        self.channel = Some(channel);
        reply.accept().await;
        Ok(())
    }

    async fn env_request(
        &mut self,
        _: ChannelId,
        name: &str,
        value: &str,
        _: &mut Session,
    ) -> Result<(), Self::Error> {
        if name == "GIT_PROTOCOL" && self.rules.takes_version {
            self.version = Some(value.to_owned());
        }
        Ok(())
    }

    async fn exec_request(
        &mut self,
        id: ChannelId,
        command: &[u8],
        session: &mut Session,
    ) -> Result<(), Self::Error> {
        let command = String::from_utf8_lossy(command).into_owned();
        let path =
            command.trim_start_matches("git-upload-pack '").trim_end_matches('\'').to_owned();
        let root = self.rules.root.join(path.trim_start_matches('/'));
        session.channel_success(id)?;
        let channel = self.channel.take().expect("a channel was opened");
        let mut program = tokio::process::Command::new("git");
        program.arg("upload-pack").arg(root).env("GIT_CONFIG_GLOBAL", "/dev/null");
        program.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        if let Some(version) = &self.version {
            program.env("GIT_PROTOCOL", version);
        }
        let mut child = program.spawn().expect("git runs");
        tokio::spawn(async move {
            let mut input = child.stdin.take().expect("piped");
            let mut output = child.stdout.take().expect("piped");
            let mut complaint = child.stderr.take().expect("piped");
            let (mut from, to) = channel.split();
            let mut reader = from.make_reader();
            let mut writer = to.make_writer();
            let mut errors = to.make_writer_ext(Some(1));
            tokio::select! {
                () = async { let _ = tokio::io::copy(&mut reader, &mut input).await; } => {}
                () = async {
                    let _ = tokio::io::copy(&mut output, &mut writer).await;
                    let _ = tokio::io::copy(&mut complaint, &mut errors).await;
                } => {}
            }
            let _ = child.kill().await;
            let _ = to.close().await;
        });
        Ok(())
    }
}

struct Server {
    address: SocketAddr,
    task: JoinHandle<()>,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(rules: Rules, host_key: PrivateKey) -> Server {
    let config = Arc::new(server::Config {
        keys: vec![host_key],
        auth_rejection_time: std::time::Duration::ZERO,
        ..server::Config::default()
    });
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a loopback port");
    let address = listener.local_addr().expect("an address");
    let task = tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let connection = Connection { rules: rules.clone(), channel: None, version: None };
            if let Ok(session) = server::run_stream(Arc::clone(&config), stream, connection).await {
                tokio::spawn(session);
            }
        }
    });
    Server { address, task }
}

/// A new key pair: the private half as it is stored, and the public line.
fn key(directory: &Path, name: &str, kind: &[&str], passphrase: &str) -> (String, String) {
    let path = directory.join(name);
    let status = Command::new("ssh-keygen")
        .args(["-q", "-N", passphrase, "-C", "", "-t"])
        .args(kind)
        .arg("-f")
        .arg(&path)
        .status();
    assert!(status.expect("ssh-keygen runs").success());
    let read = |path: PathBuf| std::fs::read_to_string(path).expect("a key");
    (read(path.clone()), read(path.with_extension("pub")).trim().to_owned())
}

fn repository(root: &Path) {
    git(root, &["init", "-q", "app"]);
    std::fs::write(root.join("app/file"), "over ssh\n").expect("written");
    git(&root.join("app"), &["add", "."]);
    git(&root.join("app"), &["commit", "-qm", "one"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_of_every_kind_open_a_repository() {
    if !is_installed() || Command::new("ssh-keygen").arg("-?").output().is_err() {
        return;
    }
    let directory = tempfile::tempdir().expect("a directory");
    let root = directory.path();
    repository(root);
    let kinds: [(&[&str], &str, bool); 5] = [
        (&["ed25519"], "", true),
        (&["rsa", "-b", "2048"], "", true),
        (&["ecdsa"], "", false),
        (&["ed25519"], "secret", false),
        (&["rsa", "-b", "2048", "-m", "PEM"], "", true),
    ];
    for (index, (kind, passphrase, takes_version)) in kinds.into_iter().enumerate() {
        let (identity, public) = key(root, &format!("user{index}"), kind, passphrase);
        let (host, host_public) = key(root, &format!("host{index}"), &["ed25519"], "");
        let logins = Arc::new(AtomicU32::new(0));
        let rules = Rules {
            root: root.to_owned(),
            user_key: PublicKey::from_openssh(&public).expect("a key"),
            takes_version,
            logins: Arc::clone(&logins),
        };
        let server = serve(rules, decode_secret_key(&host, None).expect("a key")).await;
        let port = server.address.port();
        let url = format!("ssh://git@127.0.0.1:{port}/app/.git");
        let auth = GitAuth {
            username: "git".into(),
            password: passphrase.into(),
            identity: identity.into_bytes(),
            known_hosts: format!("[127.0.0.1]:{port} {host_public}\n").into_bytes(),
            ..GitAuth::default()
        };
        let main = request(&url, branch("main"));
        let found = sluice_source::git::clone(&network(), &main, &auth).await;
        let found = found.map_err(|error| chain(&error)).expect("cloned");
        let sluice_source::git::Cloned::Checkout(found) = found else { panic!("{found:?}") };
        assert_eq!(listing(&found.files), ["file over ssh"], "{kind:?}");
        // One login serves the refs and the objects.
        assert_eq!(logins.load(Ordering::SeqCst), 1, "{kind:?}");

        let absent = request(&format!("ssh://git@127.0.0.1:{port}/nope"), branch("main"));
        let error =
            sluice_source::git::clone(&network(), &absent, &auth).await.expect_err("absent");
        assert!(chain(&error).contains("repository not found"), "{}", chain(&error));
        if !passphrase.is_empty() {
            let bare = GitAuth { password: String::new(), ..auth.clone() };
            let url = url.parse().expect("an address");
            assert_eq!(bare.validate(&url), Err(AuthError::EncryptedIdentity));
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_is_not_known_and_a_key_that_is_not_wanted_are_refused() {
    if !is_installed() || Command::new("ssh-keygen").arg("-?").output().is_err() {
        return;
    }
    let directory = tempfile::tempdir().expect("a directory");
    let root = directory.path();
    repository(root);
    let (identity, public) = key(root, "user", &["ed25519"], "");
    let (stranger, _) = key(root, "stranger", &["ed25519"], "");
    let (host, host_public) = key(root, "host", &["ed25519"], "");
    let (_, other_public) = key(root, "other", &["ed25519"], "");
    let logins = Arc::new(AtomicU32::new(0));
    let rules = Rules {
        root: root.to_owned(),
        user_key: PublicKey::from_openssh(&public).expect("a key"),
        takes_version: true,
        logins: Arc::clone(&logins),
    };
    let server = serve(rules, decode_secret_key(&host, None).expect("a key")).await;
    let port = server.address.port();
    let url = format!("ssh://git@127.0.0.1:{port}/app/.git");
    let name = format!("[127.0.0.1]:{port}");
    let cases = [
        (
            &identity,
            format!("elsewhere.test {host_public}"),
            "ssh: handshake failed: knownhosts: key is unknown",
        ),
        (
            &identity,
            format!("{name} {other_public}"),
            "ssh: handshake failed: knownhosts: key mismatch",
        ),
        (
            &identity,
            format!("@revoked {name} {host_public}"),
            "ssh: handshake failed: knownhosts: key mismatch",
        ),
        (&stranger, format!("{name} {host_public}"), "ssh: unable to authenticate"),
    ];
    for (identity, known_hosts, message) in cases {
        let auth = GitAuth {
            username: "git".into(),
            identity: identity.clone().into_bytes(),
            known_hosts: known_hosts.into_bytes(),
            ..GitAuth::default()
        };
        let main = request(&url, branch("main"));
        let error = sluice_source::git::clone(&network(), &main, &auth).await.expect_err("refused");
        assert!(chain(&error).contains(message), "{} does not say {message}", chain(&error));
    }
    // Only the last got as far as showing its key.
    assert_eq!(logins.load(Ordering::SeqCst), 1);
    let strict = SshOptions {
        key_exchanges: vec!["curve25519-sha256".into()],
        host_keys: vec!["ssh-ed25519".into()],
    };
    let auth = GitAuth {
        username: "git".into(),
        identity: identity.into_bytes(),
        known_hosts: format!("{name} {host_public}").into_bytes(),
        ..GitAuth::default()
    };
    let transport = Network::new(HttpClients::new(), strict, GitLimits::default());
    let main = request(&url, branch("main"));
    let found = sluice_source::git::clone(&transport, &main, &auth).await;
    assert!(found.is_ok(), "{found:?}");
    let unknown = SshOptions { key_exchanges: vec!["nothing".into()], ..SshOptions::default() };
    let transport = Network::new(HttpClients::new(), unknown, GitLimits::default());
    let error = sluice_source::git::clone(&transport, &main, &auth).await.expect_err("refused");
    assert!(chain(&error).contains("unsupported key exchange"), "{}", chain(&error));
}
