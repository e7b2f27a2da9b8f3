//! One connection: who comes in, and the program that answers.

use std::process::Stdio;
use std::sync::atomic::Ordering;

use russh::server::{Auth, ChannelOpenHandle, Handler, Msg, Session, VerifiedPublicKey};
use russh::{Channel, ChannelId};
use tokio::process::Command;

use super::Door;

pub(super) struct Connection {
    door: Door,
    channel: Option<Channel<Msg>>,
    version: Option<String>,
}

impl Connection {
    pub(super) fn new(door: Door) -> Self {
        Self { door, channel: None, version: None }
    }
}

impl Handler for Connection {
    type Error = russh::Error;

    async fn auth_publickey(
        &mut self,
        user: &str,
        key: VerifiedPublicKey<'_>,
    ) -> Result<Auth, Self::Error> {
        self.door.logins.fetch_add(1, Ordering::SeqCst);
        let shown = key.public_key.key_data();
        let is_known = self.door.authorised().iter().any(|key| key.key_data() == shown);
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
        if name == "GIT_PROTOCOL" && !self.door.rules.only_version_zero {
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
        let path = command.trim_start_matches("git-upload-pack '").trim_end_matches('\'');
        let repository = self.door.rules.root.join(path.trim_start_matches('/'));
        session.channel_success(id)?;
        let mut program = Command::new("git");
        program.arg("upload-pack").arg(repository).env("GIT_CONFIG_GLOBAL", "/dev/null");
        if let Some(version) = &self.version {
            program.env("GIT_PROTOCOL", version);
        }
        let channel = self.channel.take().expect("a channel was opened");
        tokio::spawn(talk(program, channel));
        Ok(())
    }
}

/// Runs a program between the two ends of a channel.
async fn talk(mut program: Command, channel: Channel<Msg>) {
    program.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = program.spawn().expect("git runs");
    let mut input = child.stdin.take().expect("it is piped");
    let mut output = child.stdout.take().expect("it is piped");
    let mut complaint = child.stderr.take().expect("it is piped");
    let (mut from, to) = channel.split();
    let mut reader = from.make_reader();
    let mut writer = to.make_writer();
    let mut errors = to.make_writer_ext(Some(1));
    tokio::select! {
        biased;
        () = async {
            // An end that goes away early ends the talk.
            let _ = tokio::io::copy(&mut output, &mut writer).await;
            let _ = tokio::io::copy(&mut complaint, &mut errors).await;
        } => {}
        () = async { let _ = tokio::io::copy(&mut reader, &mut input).await; } => {}
    }
    let _ = child.kill().await;
    let _ = to.close().await;
}
