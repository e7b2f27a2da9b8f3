//! Which signatures count: the types, hashes, times and keys that git itself makes and Flux takes.

#![cfg(unix)]

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use pgp::armor::{self, BlockType};
use pgp::composed::{ArmorOptions, Deserializable as _, DetachedSignature, SignedSecretKey};
use pgp::crypto::hash::HashAlgorithm;
use pgp::packet::{
    Notation, PacketTrait as _, Signature, SignatureConfig, SignatureType, Subpacket, SubpacketData,
};
use pgp::types::{Duration, KeyDetails as _, Password, SigningKey as _, Timestamp};
use russh::keys::signature::Signer as _;
use russh::keys::ssh_key::private::KeypairData;
use russh::keys::ssh_key::{HashAlg, LineEnding, PrivateKey, SshSig};
use sluice_source::git::{Checkout, Commit, ObjectId, ObjectKind, TrustedKeys, VerifyMode};

use sluice_testkit::programs::need;

use crate::hostile;
use crate::support::{bare_checkout, later, verified};

/// What is signed; as git writes a commit.
const PAYLOAD: &str = "tree 4b825dc642cb6eb9a060e54bf8d69288fbee4904\nauthor A <a@b> 1 +0000\n\
                       committer A <a@b> 1 +0000\n\nsigned\n";

/// A checkout of a commit with an armored signature.
fn commit(armored: &str) -> Checkout {
    let lines: Vec<&str> = armored.trim_end().lines().collect();
    let text = PAYLOAD.replacen("\n\n", &format!("\ngpgsig {}\n\n", lines.join("\n ")), 1);
    let id = ObjectId::of(ObjectKind::Commit, text.as_bytes());
    bare_checkout(Commit::parse(id, text.as_bytes()).expect("a commit"))
}

/// A home directory of gpg.
struct Gpg {
    directory: tempfile::TempDir,
}

impl Gpg {
    fn new() -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let private = std::fs::Permissions::from_mode(0o700);
        std::fs::set_permissions(directory.path(), private).expect("made private");
        Self { directory }
    }

    fn home(&self) -> &Path {
        self.directory.path()
    }

    fn run(&self, arguments: &[&str]) -> String {
        let quiet =
            ["--batch", "--quiet", "--yes", "--pinentry-mode", "loopback", "--passphrase", ""];
        let output = Command::new("gpg")
            .env("GNUPGHOME", self.home())
            .args(quiet)
            .args(arguments)
            .output()
            .expect("gpg runs");
        let problem = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{arguments:?}: {problem}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Makes a key that is a day old, and gives its two halves.
    fn key(&self, who: &str, usage: &str, life: &str) -> (SignedSecretKey, TrustedKeys) {
        self.key_of("ed25519", who, usage, life)
    }

    fn key_of(
        &self,
        algorithm: &str,
        who: &str,
        usage: &str,
        life: &str,
    ) -> (SignedSecretKey, TrustedKeys) {
        let born = (later(-1).as_second()).to_string();
        let born = ["--faked-system-time", &born];
        self.run(&[&born[..], &["--quick-generate-key", who, algorithm, usage, life]].concat());
        let secret = self.run(&["--armor", "--export-secret-keys", who]);
        let (secret, _) = SignedSecretKey::from_string(&secret).expect("a key");
        (secret, self.trust(who))
    }

    fn trust(&self, who: &str) -> TrustedKeys {
        TrustedKeys { pgp: vec![self.run(&["--armor", "--export", who])], ssh: Vec::new() }
    }
}

impl Drop for Gpg {
    fn drop(&mut self) {
        let mut ended = Command::new("gpgconf");
        let _ = ended.env("GNUPGHOME", self.home()).args(["--kill", "gpg-agent"]).output();
    }
}

/// How a signature is made.
struct Making {
    typ: SignatureType,
    hash: HashAlgorithm,
    created: i64,
    more: Vec<Subpacket>,
    data: Vec<u8>,
}

impl Default for Making {
    fn default() -> Self {
        Self {
            typ: SignatureType::Binary,
            hash: HashAlgorithm::Sha256,
            created: later(0).as_second() - 60,
            more: Vec::new(),
            data: PAYLOAD.as_bytes().to_vec(),
        }
    }
}

fn made(key: &SignedSecretKey, making: Making) -> Signature {
    let primary = &key.primary_key;
    let mut config = SignatureConfig::v4(making.typ, primary.algorithm(), making.hash);
    let created = Timestamp::from_secs(u32::try_from(making.created).expect("a moment"));
    let regular = |data| Subpacket::regular(data).expect("it fits");
    config.hashed_subpackets = vec![
        regular(SubpacketData::SignatureCreationTime(created)),
        regular(SubpacketData::IssuerFingerprint(primary.fingerprint())),
    ];
    config.hashed_subpackets.extend(making.more);
    config.unhashed_subpackets = vec![regular(SubpacketData::IssuerKeyId(primary.legacy_key_id()))];
    // By hand, because the library signs documents only.
    let mut hasher = making.hash.new_hasher().expect("a known hash");
    hasher.update(&making.data);
    let length = config.hash_signature_data(&mut hasher).expect("hashed");
    hasher.update(&config.trailer(length).expect("a trailer"));
    let hash = hasher.finalize();
    let signed = primary.sign(&Password::empty(), making.hash, &hash).expect("signed");
    Signature::from_config(config, [hash[0], hash[1]], signed).expect("a signature")
}

fn armored(signature: Signature) -> String {
    let signature = DetachedSignature::new(signature);
    signature.to_armored_string(ArmorOptions::default()).expect("armored")
}

fn judged(armored: &str, keys: &TrustedKeys) -> Result<String, String> {
    verified(&commit(armored), VerifyMode::Head, keys, later(0))
}

#[test]
fn only_binary_document_signatures_of_pgp_count() {
    if !need(&["gpg"]) {
        return;
    }
    let gpg = Gpg::new();
    let (key, keys) = gpg.key("ada@t.test", "sign", "never");
    judged(&armored(made(&key, Making::default())), &keys).expect("as git makes it");
    // The library hashes the first byte alone for these two: one of them, made once over "t", would sign
    // every commit.
    let first = b"t".to_vec();
    for making in [
        Making { typ: SignatureType::Timestamp, data: first.clone(), ..Making::default() },
        Making { typ: SignatureType::Standalone, data: first, ..Making::default() },
        Making { typ: SignatureType::Text, ..Making::default() },
        Making { typ: SignatureType::CertPositive, ..Making::default() },
        Making { typ: SignatureType::SubkeyBinding, ..Making::default() },
        Making { typ: SignatureType::Key, ..Making::default() },
    ] {
        let typ = making.typ;
        let found = judged(&armored(made(&key, making)), &keys);
        assert!(found.is_err(), "{typ:?}: {found:?}");
    }
}

#[test]
fn weak_hashes_of_pgp_do_not_count() {
    if !need(&["gpg"]) {
        return;
    }
    let gpg = Gpg::new();
    let (key, keys) = gpg.key_of("rsa2048", "ada@t.test", "sign", "never");
    for (hash, counts) in [
        (HashAlgorithm::Md5, false),
        (HashAlgorithm::Ripemd160, false),
        // As in Flux; collisions are looked for.
        (HashAlgorithm::Sha1, true),
        (HashAlgorithm::Sha256, true),
        (HashAlgorithm::Sha512, true),
    ] {
        let found = judged(&armored(made(&key, Making { hash, ..Making::default() })), &keys);
        assert_eq!(found.is_ok(), counts, "{hash:?}: {found:?}");
    }
}

#[test]
fn signatures_of_another_time_do_not_count() {
    if !need(&["gpg"]) {
        return;
    }
    let gpg = Gpg::new();
    let (key, keys) = gpg.key("ada@t.test", "sign", "never");
    let now = later(0).as_second();
    let life = |seconds| {
        let life = SubpacketData::SignatureExpirationTime(Duration::from_secs(seconds));
        vec![Subpacket::regular(life).expect("it fits")]
    };
    for (name, created, more, counts) in [
        ("a minute old", now - 60, Vec::new(), true),
        ("of tomorrow", now + 86_400, Vec::new(), false),
        ("older than its key", now - 10 * 86_400, Vec::new(), false),
        ("expired", now - 3600, life(60), false),
        ("not yet expired", now - 3600, life(7200), true),
    ] {
        let found =
            judged(&armored(made(&key, Making { created, more, ..Making::default() })), &keys);
        assert_eq!(found.is_ok(), counts, "{name}: {found:?}");
    }
    let notation =
        Notation { readable: true, name: "only@t.test".into(), value: "for lunch".into() };
    let critical = Subpacket::critical(SubpacketData::Notation(notation)).expect("it fits");
    let more = vec![critical];
    let found = judged(&armored(made(&key, Making { more, ..Making::default() })), &keys);
    assert!(found.is_err(), "a condition that nobody here knows: {found:?}");
}

#[test]
fn keys_that_may_not_sign_do_not_count() {
    if !need(&["gpg"]) {
        return;
    }
    let gpg = Gpg::new();
    for usage in ["cert", "auth"] {
        let who = format!("{usage}@t.test");
        let (key, keys) = gpg.key(&who, usage, "never");
        let found = judged(&armored(made(&key, Making::default())), &keys);
        assert!(found.is_err(), "{usage}: {found:?}");
    }
    let (key, keys) = gpg.key("short@t.test", "sign", "10d");
    let signed = commit(&armored(made(&key, Making::default())));
    verified(&signed, VerifyMode::Head, &keys, later(0)).expect("not expired yet");
    assert!(verified(&signed, VerifyMode::Head, &keys, later(11)).is_err(), "expired");
    // Its own certificate of revocation is imported; the same signature counts no longer.
    let print = gpg.run(&["--list-keys", "--with-colons", "short@t.test"]);
    let print = print.lines().find(|line| line.starts_with("fpr:")).expect("a fingerprint");
    let print = print.split(':').nth(9).expect("a fingerprint");
    let revocation = gpg.home().join(format!("openpgp-revocs.d/{print}.rev"));
    let text = std::fs::read_to_string(&revocation).expect("gpg wrote one");
    std::fs::write(&revocation, text.replace(":-----BEGIN", "-----BEGIN")).expect("written");
    gpg.run(&["--import", &revocation.display().to_string()]);
    let keys = gpg.trust("short@t.test");
    let found = verified(&signed, VerifyMode::Head, &keys, later(0));
    assert!(found.is_err(), "revoked: {found:?}");
}

#[test]
fn several_signatures_in_one_block_do_not_count() {
    if !need(&["gpg"]) {
        return;
    }
    let gpg = Gpg::new();
    let (ada, keys) = gpg.key("ada@t.test", "sign", "never");
    let (eve, _) = gpg.key("eve@t.test", "sign", "never");
    let good = made(&ada, Making::default());
    let foreign = made(&eve, Making::default());
    let replayed = made(&ada, Making { data: b"another commit".to_vec(), ..Making::default() });
    for (name, block) in [
        ("a foreign one first", [&foreign, &good]),
        ("a foreign one last", [&good, &foreign]),
        ("one of another commit", [&foreign, &replayed]),
    ] {
        let mut packets = Vec::new();
        for signature in block {
            signature.to_writer_with_header(&mut packets).expect("memory takes it");
        }
        let mut text = Vec::new();
        armor::write(&Raw(packets), BlockType::Signature, &mut text, None, true).expect("armored");
        let found = judged(&String::from_utf8(text).expect("text"), &keys);
        let error = found.expect_err(name);
        assert!(error.contains("more than one signature"), "{name}: {error}");
    }
}

struct Raw(Vec<u8>);

impl pgp::ser::Serialize for Raw {
    fn to_writer<W: std::io::Write>(&self, writer: &mut W) -> pgp::errors::Result<()> {
        writer.write_all(&self.0)?;
        Ok(())
    }

    fn write_len(&self) -> usize {
        self.0.len()
    }
}

/// An SSH signature with everything chosen by hand.
fn by_ssh(key: &PrivateKey, namespace: &str, hash: HashAlg) -> String {
    let signed = key.sign(namespace, hash, PAYLOAD.as_bytes()).expect("signed");
    signed.to_pem(LineEnding::LF).expect("armored")
}

#[test]
fn ssh_signatures_for_something_else_do_not_count() {
    let key = hostile::key(1);
    let keys = hostile::trust(&key);
    for (namespace, counts) in [("git", true), ("file", false), ("email", false), ("Git", false)] {
        for hash in [HashAlg::Sha256, HashAlg::Sha512] {
            let found = judged(&by_ssh(&key, namespace, hash), &keys);
            assert_eq!(found.is_ok(), counts, "{namespace} {hash}: {found:?}");
        }
    }
}

#[test]
fn ssh_signatures_by_sha1_do_not_count() {
    if !need(&["ssh-keygen"]) {
        return;
    }
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("key").display().to_string();
    let made = Command::new("ssh-keygen")
        .args(["-q", "-t", "rsa", "-b", "2048", "-N", "", "-f", &path])
        .status();
    assert!(made.expect("it runs").success());
    let text = std::fs::read_to_string(&path).expect("a key");
    let key = PrivateKey::from_openssh(text).expect("a key");
    let keys = hostile::trust(&key);
    let KeypairData::Rsa(pair) = key.key_data() else { panic!("not an RSA key") };
    for (hash, counts) in
        [(Some(HashAlg::Sha512), true), (Some(HashAlg::Sha256), true), (None, false)]
    {
        let data = SshSig::signed_data("git", HashAlg::Sha512, PAYLOAD.as_bytes()).expect("data");
        let signature = (pair, hash).sign(&data);
        let public = key.public_key().key_data().clone();
        let signed = SshSig::new(public, "git", HashAlg::Sha512, signature).expect("a signature");
        let found = judged(&signed.to_pem(LineEnding::LF).expect("armored"), &keys);
        assert_eq!(found.is_ok(), counts, "{hash:?}: {found:?}");
    }
}

#[test]
fn authorities_and_expired_lines_of_ssh_sign_nothing() {
    let key = hostile::key(1);
    let line = key.public_key().to_openssh().expect("a line");
    let signed = by_ssh(&key, "git", HashAlg::Sha512);
    for (options, counts) in [
        ("", true),
        ("restrict ", true),
        ("cert-authority ", false),
        ("restrict,cert-authority,no-pty ", false),
        ("expiry-time=\"20200101\" ", false),
        ("expiry-time=\"202001010000Z\" ", false),
        ("expiry-time=\"29990101\" ", true),
        ("expiry-time=\"some day\" ", false),
    ] {
        let keys = TrustedKeys { pgp: Vec::new(), ssh: vec![format!("{options}{line}")] };
        let found = judged(&signed, &keys);
        assert_eq!(found.is_ok(), counts, "{options}: {found:?}");
    }
}

#[test]
fn a_signature_is_over_the_whole_object_but_itself() {
    let key = hostile::key(1);
    let keys = hostile::trust(&key);
    let armored = hostile::signature(&key, PAYLOAD);
    let lines = armored.trim_end().lines().collect::<Vec<_>>().join("\n ");
    let head = "tree 4b825dc642cb6eb9a060e54bf8d69288fbee4904";
    let with = |from: &str, to: &str| PAYLOAD.replacen(from, to, 1);
    let signed = |text: String| text.replacen("\n\n", &format!("\ngpgsig {lines}\n\n"), 1);
    let parent = format!("{head}\nparent {}\n", "1".repeat(40));
    // A header that is left out of the payload can smuggle nothing into what is read.
    let smuggled = format!("\ngpgsig-sha256 x\n tree {}\n\n", "2".repeat(40));
    let cases = [
        ("as it is", signed(PAYLOAD.to_owned()), true),
        ("another parent", signed(with(&format!("{head}\n"), &parent)), false),
        ("another message", signed(with("signed", "forged")), false),
        ("a byte of nothing", signed(with("signed", "signed\0x")), false),
        ("no last newline", signed(PAYLOAD.trim_end().to_owned()), false),
        ("an unknown header", signed(with("\n\n", "\nx y\n\n")), false),
        ("in another header", signed(with("\n\n", &smuggled)), true),
    ];
    for (name, text, counts) in cases {
        let id = ObjectId::of(ObjectKind::Commit, text.as_bytes());
        let commit = Commit::parse(id, text.as_bytes()).expect("a commit");
        assert_eq!(commit.tree.to_string(), "4b825dc642cb6eb9a060e54bf8d69288fbee4904", "{name}");
        let found = verified(&bare_checkout(commit), VerifyMode::Head, &keys, later(0));
        assert_eq!(found.is_ok(), counts, "{name}: {found:?}");
    }
}
