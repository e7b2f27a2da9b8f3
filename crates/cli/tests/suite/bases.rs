//! Bases on other machines, in every command that builds: a repository and a file, each behind a server on a
//! loopback port. The real flux, where it is installed, builds the same from them.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use jiff::Timestamp;
use sluice_source::git::{GitServer, Identity, MemoryTransport, NewCommit, Repository};
use sluice_source::tree::SourceTree;
use tempfile::TempDir;
use tokio::runtime::Runtime;

use crate::world::{What, World};

const KUSTOMIZATION: &str = "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: far, namespace: flux-system}\nspec: {interval: 1m, path: ., prune: false, sourceRef: {kind: GitRepository, name: platform}}\n";

fn config_map(name: &str) -> String {
    format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}, namespace: default}}\ndata: {{a: b}}\n"
    )
}

struct Place {
    world: World,
    directory: TempDir,
    _runtime: Runtime,
}

impl Place {
    fn new() -> Self {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let runtime = runtime.expect("a runtime");
        let git = runtime.block_on(async {
            let any = "127.0.0.1:0".parse().expect("an address");
            let (address, serving) =
                GitServer::new(repositories()).listen(any).await.expect("a port");
            tokio::spawn(serving);
            address
        });
        let files = serve_files();
        let directory = tempfile::tempdir().expect("a directory");
        let write = |path: &str, text: &str| {
            let path = directory.path().join(path);
            std::fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
            std::fs::write(path, text).expect("a file");
        };
        write("ks.yaml", KUSTOMIZATION);
        let resources =
            format!("resources:\n- http://{git}/bases.git//web?ref=v1\n- http://{files}/b.yaml\n");
        write("app/kustomization.yaml", &resources);
        write("lost/kustomization.yaml", &format!("resources:\n- http://{files}/none.yaml\n"));
        let what = What { cluster: Some("platform".to_owned()), ..What::default() };
        Self { world: World::start(&what), directory, _runtime: runtime }
    }

    fn run(&self, program: &Path, line: &str) -> (i32, String, String) {
        let ran = Command::new(program)
            .args(line.split(' '))
            .current_dir(self.directory.path())
            .env("KUBECONFIG", self.world.kubeconfig())
            .env("NO_COLOR", "1")
            .stdin(Stdio::null())
            .output()
            .expect("the program starts");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (ran.status.code().unwrap_or(-1), text(&ran.stdout), text(&ran.stderr))
    }
}

/// One repository, with a base under a tag that its branch has left behind.
fn repositories() -> MemoryTransport {
    let mut repository = Repository::new("main");
    for (name, tag) in [("a", Some("v1")), ("later", None)] {
        let mut files = SourceTree::default();
        let insert = |files: &mut SourceTree, path: &str, text: String| {
            files.insert_file(path, text.into_bytes()).expect("a path");
        };
        insert(&mut files, "web/a.yaml", config_map(name));
        insert(&mut files, "web/kustomization.yaml", "resources: [a.yaml]\n".to_owned());
        let by = Identity::new("Ada", "ada@git.test", Timestamp::UNIX_EPOCH);
        let new = NewCommit { branch: "main", message: name, files: &files, by };
        let id = repository.commit(&new);
        if let Some(tag) = tag {
            repository.tag(tag, id);
        }
    }
    let git = MemoryTransport::default();
    git.insert("bases.git", repository);
    git
}

/// Serves `/b.yaml` and nothing else; says where.
fn serve_files() -> std::net::SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let mut lines = BufReader::new(&stream).lines();
            let first = lines.next().and_then(Result::ok).unwrap_or_default();
            // The rest of the question, up to its empty line.
            let _ = lines.find(|line| line.as_ref().is_ok_and(String::is_empty));
            let (status, body) = if first.contains("/b.yaml ") {
                ("200 OK", config_map("b"))
            } else {
                ("404 Not Found", String::new())
            };
            let length = body.len();
            let head = format!("HTTP/1.1 {status}\r\ncontent-length: {length}\r\n");
            let _ =
                (&stream).write_all(format!("{head}connection: close\r\n\r\n{body}").as_bytes());
        }
    });
    address
}

#[test]
fn bases_on_other_machines_are_built_by_every_command() {
    const ALLOWED: &str = "--allow-content-hosts=127.0.0.1";
    const BUILD: &str = "build ks far --path app --kustomization-file ks.yaml";
    let ours = PathBuf::from(env!("CARGO_BIN_EXE_sluice"));
    let place = Place::new();
    let refused = place.run(&ours, &format!("{BUILD} --dry-run"));
    assert!(refused.2.contains("--allow-content-hosts=127.0.0.1 allows it"), "{refused:?}");
    let dry = place.run(&ours, &format!("{BUILD} --dry-run {ALLOWED}"));
    assert_eq!((dry.0, dry.2.as_str()), (0, ""), "{dry:?}");
    let names: Vec<&str> = dry.1.lines().filter(|line| line.starts_with("  name: ")).collect();
    assert_eq!(names, ["  name: a", "  name: b"], "{}", dry.1);
    let diff = "diff ks far --path app --kustomization-file ks.yaml --ignore-not-found --progress-bar=false";
    let compared = place.run(&ours, &format!("{diff} {ALLOWED}"));
    let created = "► ConfigMap/default/a created\n► ConfigMap/default/b created\n";
    assert_eq!((compared.0, compared.1.as_str()), (1, created), "{compared:?}");
    let engine = place.run(&ours, &format!("kustomize build app {ALLOWED}"));
    assert_eq!(engine.0, 0, "{engine:?}");
    assert_eq!(engine.1.matches("kind: ConfigMap").count(), 2);
    let lost = "build ks far --path lost --kustomization-file ks.yaml --dry-run";
    let refused = place.run(&ours, &format!("{lost} {ALLOWED}"));
    assert_eq!(refused.0, 1);
    assert!(refused.2.starts_with("✗ kustomize build failed: "), "{}", refused.2);
    assert!(refused.2.contains("none.yaml"), "{}", refused.2);
    if let Some(flux) = sluice_testkit::programs::peer("flux") {
        assert_eq!(place.run(&flux, &format!("{BUILD} --dry-run")), dry);
        assert_eq!(place.run(&flux, diff), compared);
        let theirs = place.run(&flux, lost);
        assert_eq!((theirs.0, &theirs.1), (1, &refused.1));
        assert!(theirs.2.starts_with("✗ kustomize build failed: "), "{}", theirs.2);
    }
}
