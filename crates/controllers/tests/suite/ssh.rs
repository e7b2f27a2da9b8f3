//! GitRepositories over SSH: a small server that runs the real `git upload-pack`. Time is real here; without
//! git and ssh-keygen there is nothing to do.

use std::io::{Read as _, Write as _};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use russh::keys::ssh_key::PublicKey;
use russh::keys::{PrivateKey, decode_secret_key};
use russh::server::{self, Auth, ChannelOpenHandle, Handler, Msg, Session, VerifiedPublicKey};
use russh::{Channel, ChannelId};
use serde_json::json;
use sluice_source::git::{GitLimits, Network, SshOptions};
use sluice_source::http::HttpClients;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use crate::ground::{Ground, namespace, repository_with, said, secret};

struct Connection {
    root: PathBuf,
    user_key: PublicKey,
    channel: Option<Channel<Msg>>,
}

impl Handler for Connection {
    type Error = russh::Error;

    async fn auth_publickey(
        &mut self,
        user: &str,
        key: VerifiedPublicKey<'_>,
    ) -> Result<Auth, Self::Error> {
        let is_known = key.public_key.key_data() == self.user_key.key_data();
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

    async fn exec_request(
        &mut self,
        id: ChannelId,
        command: &[u8],
        session: &mut Session,
    ) -> Result<(), Self::Error> {
        let command = String::from_utf8_lossy(command).into_owned();
        let path = command.trim_start_matches("git-upload-pack '").trim_end_matches('\'');
        let path = self.root.join(path.trim_start_matches('/'));
        session.channel_success(id)?;
        tokio::spawn(upload_pack(path, self.channel.take().unwrap()));
        Ok(())
    }
}

/// Runs git between the two ends of a channel.
async fn upload_pack(path: PathBuf, channel: Channel<Msg>) {
    let mut child = Command::new("git")
        .arg("upload-pack")
        .arg(path)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let (mut input, mut output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let (mut from, to) = channel.split();
    let mut writer = to.make_writer();
    let (pieces, mut arriving) = tokio::sync::mpsc::channel::<Vec<u8>>(16);
    let reading = tokio::task::spawn_blocking(move || {
        let mut buffer = vec![0; 16384];
        while let Ok(length @ 1..) = output.read(&mut buffer) {
            if pieces.blocking_send(buffer[..length].to_vec()).is_err() {
                break;
            }
        }
    });
    tokio::spawn(async move {
        let mut reader = from.make_reader();
        let mut buffer = vec![0; 16384];
        while let Ok(length @ 1..) = reader.read(&mut buffer).await {
            if input.write_all(&buffer[..length]).is_err() {
                break;
            }
        }
    });
    while let Some(piece) = arriving.recv().await {
        let _ = writer.write_all(&piece).await;
    }
    let _ = reading.await;
    let _ = child.wait();
    let _ = to.close().await;
}

async fn serve(root: &Path, user_key: &str, host_key: PrivateKey) -> SocketAddr {
    let config = Arc::new(server::Config { keys: vec![host_key], ..server::Config::default() });
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (root, user_key) = (root.to_owned(), PublicKey::from_openssh(user_key).unwrap());
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let connection =
                Connection { root: root.clone(), user_key: user_key.clone(), channel: None };
            if let Ok(session) = server::run_stream(Arc::clone(&config), stream, connection).await {
                tokio::spawn(session);
            }
        }
    });
    address
}

/// A new key pair: the private half as it is stored, and the public line.
fn key(directory: &Path, name: &str) -> (String, String) {
    let path = directory.join(name);
    let made = Command::new("ssh-keygen")
        .args(["-q", "-N", "", "-C", "", "-t", "ed25519", "-f"])
        .arg(&path)
        .status();
    assert!(made.unwrap().success());
    let read = |path: PathBuf| std::fs::read_to_string(path).unwrap();
    (read(path.clone()), read(path.with_extension("pub")).trim().to_owned())
}

fn git(directory: &Path, arguments: &[&str]) {
    let who =
        ["-c", "user.name=Ada", "-c", "user.email=ada@git.test", "-c", "init.defaultBranch=main"];
    let output = Command::new("git").current_dir(directory).args(who).args(arguments).output();
    assert!(output.unwrap().status.success(), "{arguments:?}");
}

#[tokio::test]
async fn a_host_has_to_be_known_and_a_key_wanted() {
    let has = |program: &str| Command::new(program).arg("--help").output().is_ok();
    if !has("git") || !has("ssh-keygen") {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    git(root, &["init", "-q", "app"]);
    std::fs::write(root.join("app/a.yaml"), "a").unwrap();
    git(&root.join("app"), &["add", "."]);
    git(&root.join("app"), &["commit", "-qm", "one"]);
    let (identity, public) = key(root, "user");
    let (stranger, _) = key(root, "stranger");
    let (host, host_public) = key(root, "host");
    let (_, other_public) = key(root, "other");
    let address = serve(root, &public, decode_secret_key(&host, None).unwrap()).await;
    let mut ground = Ground::idle().await;
    let network = Network::new(HttpClients::new(), SshOptions::default(), GitLimits::default());
    ground.workshop().transport = Arc::new(network);
    ground.start();
    ground.apply(namespace()).await;
    let name = format!("[127.0.0.1]:{}", address.port());
    let good = format!("{name} {host_public}");
    let url = format!("ssh://git@{address}/app/.git");
    let data = |identity: &str, hosts: &str| json!({"identity": identity, "known_hosts": hosts});
    let object = repository_with("app", json!({"url": url, "secretRef": {"name": "key"}}));
    ground.apply(object.clone()).await;
    for (data, words) in [
        (data(&identity, &format!("{name} {other_public}")), "knownhosts: key mismatch"),
        (data(&identity, &format!("elsewhere.test {host_public}")), "knownhosts: key is unknown"),
        (data(&stranger, &good), "ssh: unable to authenticate"),
    ] {
        ground.apply(secret("key", &data)).await;
        let failed = ground.until(&object, |it| said(it, "Ready").contains(words)).await;
        let start = "False GitOperationFailed: failed to checkout and determine revision: ";
        assert!(said(&failed, "Ready").starts_with(start), "{}", said(&failed, "Ready"));
    }
    let bare = secret("key", &json!({"identity": identity, "known_hosts": ""}));
    ground.apply(bare).await;
    let words = "False AuthenticationFailed: failed to configure authentication options: invalid 'ssh' auth option: 'known_hosts' is required";
    ground.until_ready_says(&object, words).await;
    // The right Secret is enough: nobody has to ask.
    ground.apply(secret("key", &data(&identity, &good))).await;
    let ready = ground.until(&object, |it| said(it, "Ready").starts_with("True Succeeded")).await;
    assert_eq!(said(&ready, "FetchFailed"), "");
    ground.stop().await;
}
