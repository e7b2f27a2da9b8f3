//! Keys for git over SSH: made or read, the host's scanned, and what is said about it. The real flux, where it is
//! installed, has to say the same to the same server.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use kube::api::{Api, DynamicObject};
use kube::discovery::ApiResource;
use regex::Regex;
use sluice_testkit::ssh::{Rules, SshServer, key};
use tempfile::TempDir;
use tokio::runtime::Runtime;

use crate::world::{What, World};

/// A command line, its exit code, and both outputs. `$H` is the server, `$K` its key, `$U` the public half of the
/// key in `user`, `$N` that of a key that was made; of private keys only the armour is left.
const CASES: &[(&str, i32, &str, &str)] = &[
    (
        "create secret git auth --url ssh://git@$H/app --private-key-file user --label a=b --export",
        0,
        "---\napiVersion: v1\nkind: Secret\nmetadata:\n  labels:\n    a: b\n  name: auth\n  namespace: flux-system\nstringData:\n  identity: |\n    -----BEGIN OPENSSH PRIVATE KEY-----\n    -----END OPENSSH PRIVATE KEY-----\n  identity.pub: |\n    ssh-ed25519 $U\n  known_hosts: '[127.0.0.1]:$P ecdsa-sha2-nistp256 $K'\n\n",
        "",
    ),
    (
        "create secret git auth --url ssh://git@$H/app --private-key-file locked --password secret --export",
        0,
        "---\napiVersion: v1\nkind: Secret\nmetadata:\n  name: auth\n  namespace: flux-system\nstringData:\n  identity: |\n    -----BEGIN OPENSSH PRIVATE KEY-----\n    -----END OPENSSH PRIVATE KEY-----\n  identity.pub: |\n    ssh-ed25519 $L\n  known_hosts: '[127.0.0.1]:$P ecdsa-sha2-nistp256 $K'\n  password: secret\n\n",
        "",
    ),
    (
        "create secret git auth --url ssh://git@$H/app --export",
        0,
        "---\napiVersion: v1\nkind: Secret\nmetadata:\n  name: auth\n  namespace: flux-system\nstringData:\n  identity: |\n    -----BEGIN PRIVATE KEY-----\n    -----END PRIVATE KEY-----\n  identity.pub: |\n    ecdsa-sha2-nistp384 $N\n  known_hosts: '[127.0.0.1]:$P ecdsa-sha2-nistp256 $K'\n\n",
        "",
    ),
    (
        "create secret git ec --url ssh://git@$H/app --ssh-ecdsa-curve p521",
        0,
        "",
        "✚ deploy key: ecdsa-sha2-nistp521 $N\n\n► git secret 'ec' created in 'flux-system' namespace\n",
    ),
    (
        "create secret git ed --url ssh://git@$H/app --ssh-key-algorithm ed25519",
        0,
        "",
        "✚ deploy key: ssh-ed25519 $N\n\n► git secret 'ed' created in 'flux-system' namespace\n",
    ),
    (
        "create secret git rs --url ssh://git@$H/app --ssh-key-algorithm rsa --ssh-rsa-bits 1024",
        0,
        "",
        "✚ deploy key: ssh-rsa $N\n\n► git secret 'rs' created in 'flux-system' namespace\n",
    ),
    (
        "create source git made --url ssh://git@$H/app --branch main --silent --label answered=yes --timeout 20s",
        0,
        "",
        "✚ generating GitRepository source\n✔ collected public key from SSH server:\n[127.0.0.1]:$P ecdsa-sha2-nistp256 $K\n✚ deploy key: ecdsa-sha2-nistp384 $N\n\n► applying secret with repository credentials\n✔ authentication configured\n► applying GitRepository source\n✔ GitRepository source created\n◎ waiting for GitRepository source reconciliation\n✔ GitRepository source reconciliation completed\n✔ fetched revision: main@sha1:1\n",
    ),
    (
        "create source git read --url ssh://git@$H/app --branch main --private-key-file user -s --label answered=yes --timeout 20s",
        0,
        "",
        "✚ generating GitRepository source\n✔ collected public key from SSH server:\n[127.0.0.1]:$P ecdsa-sha2-nistp256 $K\n✚ deploy key: ssh-ed25519 $U\n\n► applying secret with repository credentials\n✔ authentication configured\n► applying GitRepository source\n✔ GitRepository source created\n◎ waiting for GitRepository source reconciliation\n✔ GitRepository source reconciliation completed\n✔ fetched revision: main@sha1:1\n",
    ),
    (
        "create source git app --url ssh://git@$H/app --branch main --export",
        0,
        "---\napiVersion: source.toolkit.fluxcd.io/v1\nkind: GitRepository\nmetadata:\n  name: app\n  namespace: flux-system\nspec:\n  interval: 1m0s\n  ref:\n    branch: main\n  url: ssh://git@$H/app\n",
        "",
    ),
    (
        "create secret git auth --url ssh://git@127.0.0.1:1/x --export",
        1,
        "",
        "✗ SSH key scan for host 127.0.0.1:1 failed, error: dial tcp 127.0.0.1:1: connect: connection refused\n",
    ),
    (
        "create secret git auth --url ssh://git@$H/x --private-key-file nothing",
        1,
        "",
        "✗ failed to open private key file: open nothing: no such file or directory\n",
    ),
    (
        "create secret git auth --url ssh://git@$H/x --private-key-file user --password x",
        1,
        "",
        "✗ ssh: key is not password protected\n",
    ),
    (
        "create secret git auth --url ssh://git@$H/x --private-key-file locked",
        1,
        "",
        "✗ ssh: this private key is passphrase protected\n",
    ),
    (
        "create secret git auth --url ssh://git@$H/x --private-key-file locked -p wrong",
        1,
        "",
        "✗ x509: decryption password incorrect\n",
    ),
    (
        "create secret git auth --url ssh://git@$H/x --private-key-file user.pub",
        1,
        "",
        "✗ ssh: no key found\n",
    ),
    (
        "create secret git auth --url ssh://git@$H/x --ssh-key-algorithm dsa",
        1,
        "",
        "✗ invalid argument \"dsa\" for \"--ssh-key-algorithm\" flag: unsupported public key algorithm 'dsa', must be one of: rsa, ecdsa, ed25519\n",
    ),
    (
        "create secret git auth --url ssh://git@$H/x --ssh-rsa-bits 1000",
        1,
        "",
        "✗ invalid argument \"1000\" for \"--ssh-rsa-bits\" flag: RSA key bit size must be at least 1024\n",
    ),
    (
        "create source git auth --url ssh://git@$H/x --ssh-rsa-bits 1025",
        1,
        "",
        "✗ invalid argument \"1025\" for \"--ssh-rsa-bits\" flag: RSA key bit size must be a multiples of 8\n",
    ),
    (
        "create source git auth --url ssh://git@$H/x --ssh-rsa-bits many",
        1,
        "",
        "✗ invalid argument \"many\" for \"--ssh-rsa-bits\" flag: strconv.Atoi: parsing \"many\": invalid syntax\n",
    ),
    (
        "create source git auth --url ssh://git@$H/x --ssh-ecdsa-curve p2",
        1,
        "",
        "✗ invalid argument \"p2\" for \"--ssh-ecdsa-curve\" flag: unsupported curve 'p2', must be one of: p256, p384, p521\n",
    ),
    (
        "create source git auth --url ssh://git@$H/x --branch main --ca-file x",
        1,
        "",
        "✗ specifying a CA file is not supported for Git over SSH\n",
    ),
];

/// What only ours says: a hint below flux's words.
const HINTED: &[(&str, i32, &str)] = &[
    (
        "create source git auth --url git@git.test:org/app --branch main",
        1,
        "✗ git URL parse failed: parse \"git@git.test:org/app\": first path segment in URL cannot contain colon\nhint: write it as ssh://git@git.test/org/app\n",
    ),
    (
        "create secret git auth --url ssh://git@git.test:org/app",
        1,
        "✗ git URL parse failed: parse \"ssh://git@git.test:org/app\": invalid port \":org\" after host\nhint: what follows the colon of a host is its port; the path begins with a slash\n",
    ),
    (
        "create source git auth --url ssh://git@$H/app --branch main --private-key-file user",
        1,
        "✚ generating GitRepository source\n✔ collected public key from SSH server:\n[127.0.0.1]:$P ecdsa-sha2-nistp256 $K\n✚ deploy key: ssh-ed25519 $U\n\n✗ aborting\nhint: --silent does not ask; --private-key-file takes a key that the repository knows\n",
    ),
];

/// A cluster, a server of SSH, and a directory with keys.
struct Place {
    world: World,
    server: SshServer,
    directory: TempDir,
    /// What is written otherwise in the answers, because it differs from run to run.
    names: Vec<(String, &'static str)>,
    _runtime: Runtime,
}

impl Place {
    fn new() -> Self {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let runtime = runtime.expect("a runtime");
        let directory = tempfile::tempdir().expect("a directory");
        let root = directory.path();
        let user = key(root, "user", &["ed25519"], "");
        let locked = key(root, "locked", &["ed25519"], "secret");
        let host_keys =
            vec![key(root, "host-ed", &["ed25519"], ""), key(root, "host-ec", &["ecdsa"], "")];
        let data = |line: &str| line.split(' ').nth(1).unwrap_or_default().to_owned();
        let host = host_keys.last().map(|pair| data(&pair.public)).unwrap_or_default();
        let rules = Rules { root: root.to_owned(), host_keys, ..Rules::default() };
        let server = runtime.block_on(SshServer::start(rules));
        let names = vec![
            (format!("127.0.0.1:{}", server.port()), "$H"),
            (format!("[127.0.0.1]:{}", server.port()), "[127.0.0.1]:$P"),
            (host, "$K"),
            (data(&user.public), "$U"),
            (data(&locked.public), "$L"),
        ];
        let what =
            What { cluster: Some("platform".to_owned()), controller: true, ..What::default() };
        Self { world: World::start(&what), server, directory, names, _runtime: runtime }
    }

    fn run(&self, program: &Path, line: &str) -> (i32, String, String) {
        let host = format!("127.0.0.1:{}", self.server.port());
        let ran = Command::new(program)
            .args(line.split(' ').map(|part| part.replace("$H", &host)))
            .current_dir(self.directory.path())
            .env("KUBECONFIG", self.world.kubeconfig())
            .env("HOME", self.world.home())
            .stdin(Stdio::null())
            .output()
            .expect("the program starts");
        let text = |bytes: &[u8]| self.normal(&String::from_utf8_lossy(bytes));
        (ran.status.code().unwrap_or(-1), text(&ran.stdout), text(&ran.stderr))
    }

    fn normal(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for (real, name) in &self.names {
            text = text.replace(real, name);
        }
        let private = Regex::new(r"(?m)^    [A-Za-z0-9+/=]+\n").expect("it is a pattern");
        let public = Regex::new(r"AAAA[A-Za-z0-9+/]{40,}=*").expect("it is a pattern");
        public.replace_all(&private.replace_all(&text, ""), "$$N").into_owned()
    }
}

#[test]
fn keys_for_ssh_are_made_and_told_as_flux_does() {
    if !sluice_testkit::programs::need(&["git", "ssh-keygen"]) {
        return;
    }
    let ours = PathBuf::from(env!("CARGO_BIN_EXE_sluice"));
    let programs = [Some(ours.clone()), sluice_testkit::programs::peer("flux")];
    for program in programs.into_iter().flatten() {
        let place = Place::new();
        for (line, code, out, err) in CASES {
            let said = place.run(&program, line);
            let expected = (*code, (*out).to_owned(), (*err).to_owned());
            assert_eq!(said, expected, "{}: {line}", program.display());
        }
        let made = place.world.run(async |client| {
            let secrets = ApiResource::erase::<k8s_openapi::api::core::v1::Secret>(&());
            let api: Api<DynamicObject> =
                Api::namespaced_with(client.clone(), "flux-system", &secrets);
            api.get("made").await.expect("the secret of the source is there")
        });
        let fields: Vec<&String> =
            made.data["data"].as_object().expect("it has fields").keys().collect();
        assert_eq!(fields, ["identity", "identity.pub", "known_hosts"], "{}", program.display());
    }
    let place = Place::new();
    for (line, code, err) in HINTED {
        let said = place.run(&ours, line);
        assert_eq!(said, (*code, String::new(), (*err).to_owned()), "{line}");
    }
}
