//! The client of registries against the real `registry`, and against what the real `flux` pushed.
//! Where they are not installed, the test says so.

use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use sluice_source::archive::{ArchiveLimits, Modes, pack_with, unpack};
use sluice_source::http::HttpOptions;
use sluice_source::network::Network;
use sluice_source::oci::{
    Access, Credentials, NetworkWire, NewArtifact, PullLimits, RegistryAccess, RemoteRepository,
    Repository, TokenRealms, media,
};
use tokio::process::{Child, Command};

use sluice_testkit::programs::peer;

use super::support::{listing, tree};

/// The real registry, on a port of its own.
#[expect(clippy::disallowed_methods, reason = "a server of the tests connects, not the product")]
async fn start(program: PathBuf, directory: &std::path::Path) -> (Child, String) {
    let free = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = free.local_addr().expect("an address").to_string();
    drop(free);
    let config = format!(
        "version: 0.1\nstorage:\n  inmemory: {{}}\nhttp:\n  addr: {address}\nlog:\n  level: error\n"
    );
    let path = directory.join("config.yml");
    std::fs::write(&path, config).expect("a file");
    let mut command = Command::new(program);
    command.arg("serve").arg(path).stdout(Stdio::null()).stderr(Stdio::null());
    let child = command.kill_on_drop(true).spawn().expect("a program");
    for _ in 0..200 {
        if tokio::net::TcpStream::connect(&address).await.is_ok() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    (child, address)
}

fn remote(name: &str) -> RemoteRepository {
    let access = RegistryAccess {
        wire: Arc::new(NetworkWire::new(Network::new())),
        connection: HttpOptions::default(),
        credentials: Credentials::default(),
        realms: TokenRealms::default(),
    };
    let repository = Repository::parse(name).expect("a name");
    RemoteRepository::new(access, repository, Access::Push, PullLimits::default())
}

#[tokio::test]
async fn the_real_registry_takes_and_gives_artifacts() {
    let Some(registry) = peer("registry") else { return };
    let directory = tempfile::tempdir().expect("a directory");
    let (_child, address) = start(registry, directory.path()).await;
    let remote = remote(&format!("{address}/org/app"));
    let files = tree(&[("a.yaml", "a: 1\n"), ("deep/b.yaml", "b: 2\n")]);
    let artifact = NewArtifact {
        content: pack_with(&files, |_, _| false, Modes::PUSHED).expect("memory takes it"),
        source: "https://git.test/app".into(),
        revision: "main@sha1:abc".into(),
        created: "1970-01-01T00:00:00Z".into(),
        annotations: [].into(),
    };
    let digest = artifact.push(&remote, "v1.0.0").await.expect("pushed");
    for at in 1..30 {
        let tag = format!("v1.0.{at}");
        remote.tag(&remote.repository().tag("v1.0.0"), &tag).await.expect("tagged");
    }
    let resolved = remote.resolve(&remote.repository().tag("v1.0.29")).await.expect("resolved");
    assert_eq!(resolved, digest);
    assert_eq!(remote.tags().await.expect("tags").len(), 30);
    let unknown = remote.resolve(&remote.repository().tag("v9")).await.expect_err("no such tag");
    assert_eq!(
        unknown.to_string(),
        format!(
            "GET http://{address}/v2/org/app/manifests/v9: MANIFEST_UNKNOWN: manifest unknown; unknown tag=v9"
        )
    );
    assert_eq!(remote.referrers(&digest).await.expect("a list"), []);

    let Some(flux) = peer("flux") else { return };
    let source = directory.path().join("files");
    std::fs::create_dir_all(source.join("deep")).expect("a directory");
    std::fs::write(source.join("a.yaml"), "a: 1\n").expect("a file");
    std::fs::write(source.join("deep/b.yaml"), "b: 2\n").expect("a file");
    let pushed = Command::new(&flux)
        .args(["push", "artifact", &format!("oci://{address}/org/flux:v1"), "--reproducible"])
        .args(["--source", "https://git.test/app", "--revision", "main@sha1:abc", "--path"])
        .arg(&source)
        .output()
        .await
        .expect("a program");
    assert!(pushed.status.success(), "{}", String::from_utf8_lossy(&pushed.stderr));
    let theirs = self::remote(&format!("{address}/org/flux"));
    let image = theirs.image(&theirs.repository().tag("v1")).await.expect("an image");
    let layer = image.manifest.layers.first().expect("a layer");
    assert_eq!(layer.media_type, media::FLUX_CONTENT);
    let content = theirs.blob(layer).await.expect("a layer");
    let unpacked = unpack(&content, ArchiveLimits::default()).expect("an archive");
    assert_eq!(listing(&unpacked), listing(&files));
    // The same layer gives the same artifact, to the digest: only the packing differs.
    let same = NewArtifact { content, ..artifact };
    let again = same.push(&theirs, "again").await.expect("pushed");
    assert_eq!(again, image.digest);

    let out = directory.path().join("out");
    std::fs::create_dir_all(&out).expect("a directory");
    let pulled = Command::new(&flux)
        .args(["pull", "artifact", &format!("oci://{address}/org/app:v1.0.0"), "-o"])
        .arg(&out)
        .output()
        .await
        .expect("a program");
    assert!(pulled.status.success(), "{}", String::from_utf8_lossy(&pulled.stderr));
    assert_eq!(std::fs::read_to_string(out.join("deep/b.yaml")).expect("a file"), "b: 2\n");
}
