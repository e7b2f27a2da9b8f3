//! `push`, `pull`, `list`, `tag`, `diff` and `build artifact` against a registry in memory: what they say, and
//! that the real flux, where it is installed, says the same.

use std::path::{Path, PathBuf};
use std::process::Command;

use sluice_source::oci::{Doorkeeper, MemoryRegistry};

/// What a command line says: its exit code, and both outputs.
#[derive(Debug, PartialEq, Eq)]
struct Said {
    code: i32,
    out: String,
    err: String,
}

/// Command lines and what is said to them. `$R` is the registry, `$D` a digest.
const CASES: &[(&str, i32, &str, &str)] = &[
    ("push artifact", 1, "", "✗ artifact URL is required\n"),
    ("push artifact oci://$R/app:v1", 1, "", "✗ --source is required\n"),
    ("push artifact oci://$R/app:v1 --source s", 1, "", "✗ --revision is required\n"),
    ("push artifact oci://$R/app:v1 --source s --revision r", 1, "", "✗ invalid path \"\"\n"),
    (
        "push artifact $R/app:v1 --source s --revision r --path files",
        1,
        "",
        "✗ URL must be in format 'oci://<domain>/<org>/<repo>'\n",
    ),
    (
        "push artifact oci://$R/APP:v1 --source s --revision r --path files",
        1,
        "",
        "✗ 'oci://$R/APP:v1' invalid URL: could not parse reference: $R/APP:v1\n",
    ),
    (
        "push artifact oci://$R/app:v1 --source s --revision r --path nowhere",
        1,
        "",
        "✗ invalid path 'nowhere', must point to an existing directory or file: stat nowhere: no such file or directory\n",
    ),
    (
        "push artifact oci://$R/app:v1 --source s --revision r --path files -a x",
        1,
        "",
        "✗ invalid annotation x, must be in the format key=value\n",
    ),
    (
        "push artifact oci://$R/app:v1 --source https://git.test/x --revision main@sha1:abc --path files --reproducible",
        0,
        "",
        "► pushing artifact to $R/app:v1\n✔ artifact successfully pushed to $R/app@$D\n",
    ),
    (
        "push artifact oci://$R/app:v2 --source https://git.test/x --revision main@sha1:abc --path files --reproducible -o json",
        0,
        "{\n  \"url\": \"oci://$R/app@$D\",\n  \"repository\": \"$R/app\",\n  \"tag\": \"v2\",\n  \"digest\": \"$D\"\n}\n",
        "",
    ),
    (
        "push artifact oci://$R/app:1.10 --source https://git.test/x --revision main@sha1:abc --path files/a.yaml --reproducible -o yaml",
        0,
        "digest: $D\nrepository: $R/app\ntag: \"1.10\"\nurl: oci://$R/app@$D\n",
        "",
    ),
    ("tag artifact", 1, "", "✗ artifact name is required\n"),
    ("tag artifact oci://$R/app:v1", 1, "", "✗ --tag is required\n"),
    (
        "tag artifact oci://$R/app:v1 --tag latest --tag 1.0.0",
        0,
        "",
        "► tagging artifact\n✔ artifact tagged as $R/app:latest\n✔ artifact tagged as $R/app:1.0.0\n",
    ),
    (
        "tag artifact oci://$R/app:v9 --tag latest",
        1,
        "",
        "► tagging artifact\n✗ tagging artifact failed: fetching \"$R/app:v9\": GET http://$R/v2/app/manifests/v9: MANIFEST_UNKNOWN: manifest unknown; unknown tag=v9\n",
    ),
    ("list artifacts", 1, "", "✗ artifact repository URL is required\n"),
    (
        "list artifacts oci://$R/app --filter-semver >=1.0.0",
        0,
        "ARTIFACT                  \tDIGEST                                                                 \tSOURCE            \tREVISION      \n$R/app:1.0.0\t$D\thttps://git.test/x\tmain@sha1:abc\t\n",
        "",
    ),
    (
        "list artifacts oci://$R/app --filter-regex ^v1",
        0,
        "ARTIFACT               \tDIGEST                                                                 \tSOURCE            \tREVISION      \n$R/app:v1\t$D\thttps://git.test/x\tmain@sha1:abc\t\n",
        "",
    ),
    (
        "list artifacts oci://$R/app --filter-semver what",
        1,
        "",
        "✗ semver 'what' parse error: improper constraint: \"what\"\n",
    ),
    (
        "list artifacts oci://$R/none",
        1,
        "",
        "✗ listing tags failed: GET http://$R/v2/none/tags/list?n=1000: NAME_UNKNOWN: repository name not known to registry; map[name:none]\n",
    ),
    ("pull artifact", 1, "", "✗ artifact URL is required\n"),
    ("pull artifact oci://$R/app:v1", 1, "", "✗ output path cannot be empty\n"),
    (
        "pull artifact oci://$R/app:v1 -o nowhere",
        1,
        "",
        "✗ invalid output path \"nowhere\": stat nowhere: no such file or directory\n",
    ),
    (
        "pull artifact oci://$R/app:v1 -o out",
        0,
        "",
        "► pulling artifact from $R/app:v1\n✔ source https://git.test/x\n✔ revision main@sha1:abc\n✔ digest $R/app@$D\n✔ artifact content extracted to out\n",
    ),
    (
        "pull artifact oci://$R/app:v9 -o out",
        1,
        "",
        "► pulling artifact from $R/app:v9\n✗ GET http://$R/v2/app/manifests/v9: MANIFEST_UNKNOWN: manifest unknown; unknown tag=v9\n",
    ),
    ("diff artifact", 1, "", "✗ artifact URL is required\n"),
    ("diff artifact oci://$R/app:v1", 1, "", "✗ invalid path \"\"\n"),
    (
        "diff artifact oci://$R/app:v1 --path nowhere",
        1,
        "",
        "✗ invalid path 'nowhere', must point to an existing directory or file\n",
    ),
    ("diff artifact oci://$R/app:v1 --path files", 0, "", "✔ no changes detected\n"),
    (
        "diff artifact oci://$R/app:v1 --path files/a.yaml",
        1,
        "",
        "✗ the remote artifact contents differs from the local one\n",
    ),
    ("build artifact", 1, "", "✗ invalid path \"\"\n"),
    (
        "build artifact -p nowhere",
        1,
        "",
        "✗ invalid path 'nowhere', must point to an existing directory or file\n",
    ),
    (
        "build artifact -p files -o built.tgz",
        0,
        "",
        "► building artifact from files\n✔ artifact created at built.tgz\n",
    ),
];

/// A registry, and a directory with files to push.
struct Place {
    registry: MemoryRegistry,
    address: String,
    directory: tempfile::TempDir,
    _runtime: tokio::runtime::Runtime,
}

impl Place {
    fn new() -> Self {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let runtime = runtime.expect("a runtime");
        let registry = MemoryRegistry::new();
        let any = "127.0.0.1:0".parse().expect("an address");
        let (address, serving) = runtime.block_on(registry.clone().listen(any)).expect("a port");
        runtime.spawn(serving);
        let directory = tempfile::tempdir().expect("a directory");
        for (path, text) in [
            ("files/a.yaml", "a: 1\n"),
            ("files/deep/b.yaml", "b: 2\n"),
            ("files/logo.png", "left out"),
            ("files/.gitignore", "left out"),
            ("out/a.yaml", "old\n"),
        ] {
            let path = directory.path().join(path);
            std::fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
            std::fs::write(path, text).expect("a file");
        }
        Self { registry, address: address.to_string(), directory, _runtime: runtime }
    }

    fn run(&self, program: &Path, line: &str) -> Said {
        let arguments = line.split(' ').map(|part| part.replace("$R", &self.address));
        let ran = Command::new(program)
            .args(arguments)
            .current_dir(self.directory.path())
            .env_clear()
            .env("HOME", self.directory.path())
            .output()
            .expect("a program");
        let text = |bytes: &[u8]| self.normal(&String::from_utf8_lossy(bytes));
        Said {
            code: ran.status.code().unwrap_or(-1),
            out: text(&ran.stdout),
            err: text(&ran.stderr),
        }
    }

    /// Without the port and the digests, which differ from run to run and from program to program.
    fn normal(&self, text: &str) -> String {
        let text = text.replace(&self.address, "$R");
        let mut out = String::new();
        let mut rest = text.as_str();
        while let Some((before, after)) = rest.split_once("sha256:") {
            out.push_str(before);
            out.push_str("$D");
            rest = after.trim_start_matches(|sign: char| sign.is_ascii_hexdigit());
        }
        out.push_str(rest);
        out
    }
}

fn ours() -> PathBuf {
    PathBuf::from(env!("CARGO_BIN_EXE_sluice"))
}

#[test]
fn artifact_commands_say_what_flux_says() {
    let programs = [Some(ours()), sluice_testkit::programs::peer("flux")];
    for program in programs.into_iter().flatten() {
        let place = Place::new();
        for (line, code, out, err) in CASES {
            let said = place.run(&program, line);
            // The width of a column is that of the address.
            let squeeze = |text: &str| {
                text.split(' ').filter(|it| !it.is_empty()).collect::<Vec<_>>().join(" ")
            };
            let expected = Said { code: *code, out: squeeze(out), err: (*err).to_owned() };
            // Flux has no hints; ours are compared in `own`.
            let err = said.err.split_inclusive('\n').filter(|line| !line.starts_with("hint: "));
            let said = Said { out: squeeze(&said.out), err: err.collect(), ..said };
            assert_eq!(said, expected, "{}: {line}", program.display());
        }
        let read = |path: &str| std::fs::read_to_string(place.directory.path().join(path)).ok();
        assert_eq!(read("out/a.yaml").as_deref(), Some("a: 1\n"));
        assert_eq!(read("out/deep/b.yaml").as_deref(), Some("b: 2\n"));
        assert_eq!(read("out/logo.png"), None);
    }
}

#[test]
fn what_ours_pushes_flux_takes_and_the_other_way_round() {
    let Some(flux) = sluice_testkit::programs::peer("flux") else { return };
    let place = Place::new();
    let push = "--source s --revision r --path files --reproducible";
    assert_eq!(place.run(&flux, &format!("push artifact oci://$R/app:flux {push}")).code, 0);
    assert_eq!(place.run(&ours(), &format!("push artifact oci://$R/app:ours {push}")).code, 0);
    // Flux compares packed bytes, which depend on who packs; ours compares files.
    assert_eq!(place.run(&ours(), "diff artifact oci://$R/app:flux --path files").code, 0);
    assert_eq!(place.run(&ours(), "diff artifact oci://$R/app:ours --path files").code, 0);
    assert_eq!(place.run(&flux, "pull artifact oci://$R/app:ours -o out").code, 0);
    let text = std::fs::read_to_string(place.directory.path().join("out/deep/b.yaml"));
    assert_eq!(text.expect("a file"), "b: 2\n");
}

#[test]
fn credentials_come_from_the_command_line_and_from_docker() {
    let place = Place::new();
    place.registry.guard(Doorkeeper::Basic("ada".into(), "secret".into()));
    let list = "list artifacts oci://$R/none";
    let refused = place.run(&ours(), list);
    assert_eq!(refused.code, 1);
    assert!(refused.err.contains("UNAUTHORIZED: authentication required"), "{refused:?}");
    let known = "NAME_UNKNOWN";
    let given = place.run(&ours(), &format!("{list} --creds ada:secret"));
    assert!(
        given.err.starts_with("► logging in to registry with credentials\n")
            && given.err.contains(known),
        "{given:?}"
    );
    let config = format!(r#"{{"auths": {{"{}": {{"auth": "YWRhOnNlY3JldA=="}}}}}}"#, place.address);
    std::fs::create_dir(place.directory.path().join(".docker")).expect("a directory");
    std::fs::write(place.directory.path().join(".docker/config.json"), config).expect("a file");
    assert!(place.run(&ours(), list).err.contains(known));
}
