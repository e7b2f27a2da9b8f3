//! The client of registries against one in memory: who may come in, what is found, what goes wrong.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use sluice_base::fault::{Fault, Rule, Scope};
use sluice_source::archive::{Modes, pack_with};
use sluice_source::http::HttpOptions;
use sluice_source::network::Network;
use sluice_source::oci::{
    Access, Credentials, Descriptor, Doorkeeper, Image, Index, Manifest, MemoryRegistry,
    NetworkWire, NewArtifact, OciError, Platform, PullLimits, RegistryAccess, RemoteRepository,
    Repository, TokenRealms, Wire, layer, media,
};

use super::support::tree;

const APP: &str = "org/app";

fn remote_at(wire: Arc<dyn Wire>, name: &str, credentials: Credentials) -> RemoteRepository {
    let access = RegistryAccess {
        wire,
        connection: HttpOptions::default(),
        credentials,
        realms: TokenRealms::default(),
    };
    let repository = Repository::parse(name).expect("a name");
    RemoteRepository::new(access, repository, Access::Push, PullLimits { layer: 1 << 20 })
}

fn remote(registry: &MemoryRegistry, credentials: Credentials) -> RemoteRepository {
    remote_at(Arc::new(registry.clone()), "r.test/org/app", credentials)
}

fn anybody(registry: &MemoryRegistry) -> RemoteRepository {
    remote(registry, Credentials::default())
}

fn named(username: &str, password: &str) -> Credentials {
    Credentials { username: username.into(), password: password.into(), ..Credentials::default() }
}

/// A registry with one artifact under the tag `v1`.
fn registry() -> (MemoryRegistry, Descriptor) {
    let registry = MemoryRegistry::new();
    let layer = registry.put_blob(APP, media::FLUX_CONTENT, "content of the layer");
    let manifest = Manifest { layers: vec![layer], ..Manifest::default() };
    let descriptor = registry.put_manifest(APP, Some("v1"), &manifest);
    (registry, descriptor)
}

async fn pull(remote: &RemoteRepository, tag: &str) -> Result<Bytes, OciError> {
    let digest = remote.resolve(&remote.repository().tag(tag)).await?;
    let image = remote.image(&remote.repository().digest(&digest.to_string())).await?;
    let found = layer(&image, "").map_err(|error| OciError::Unexpected(error.to_string()))?;
    remote.blob(found).await
}

async fn said(remote: &RemoteRepository, tag: &str) -> String {
    match pull(remote, tag).await {
        Ok(content) => String::from_utf8_lossy(&content).into_owned(),
        Err(error) => error.to_string(),
    }
}

#[tokio::test(start_paused = true)]
async fn who_knows_the_secret_comes_in() {
    let (registry, _) = registry();
    let identity = Credentials { identity_token: "identity".into(), ..Credentials::default() };
    let content = "content of the layer";
    let refused =
        |at: &str| format!("GET https://r.test/{at}: UNAUTHORIZED: authentication required");
    let at_registry = refused("v2/org/app/manifests/v1");
    let at_token = refused("token?scope=repository%3Aorg%2Fapp%3Apush%2Cpull&service=r.test");
    for (door, credentials, expected) in [
        (Doorkeeper::Open, Credentials::default(), content),
        (Doorkeeper::Basic("a".into(), "b".into()), named("a", "b"), content),
        (Doorkeeper::Basic("a".into(), "b".into()), named("a", "x"), at_registry.as_str()),
        (Doorkeeper::Basic("a".into(), "b".into()), Credentials::default(), at_registry.as_str()),
        (Doorkeeper::Bearer("a".into(), "b".into()), named("a", "b"), content),
        (Doorkeeper::Bearer("a".into(), "b".into()), named("a", "x"), at_token.as_str()),
        (Doorkeeper::Identity("identity".into()), identity, content),
    ] {
        registry.guard(door.clone());
        assert_eq!(said(&remote(&registry, credentials), "v1").await, expected, "{door:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_token_that_ran_out_is_renewed() {
    let (registry, _) = registry();
    registry.guard(Doorkeeper::Bearer("a".into(), "b".into()));
    let remote = remote(&registry, named("a", "b"));
    pull(&remote, "v1").await.expect("let in");
    registry.expire_tokens();
    assert_eq!(said(&remote, "v1").await, "content of the layer");
    let tokens = registry.requests().into_iter().filter(|line| line.contains("/token"));
    assert_eq!(tokens.count(), 2);
}

/// Lets the next so many requests to addresses with a text in them meet a fault.
fn fail(registry: &MemoryRegistry, part: &str, times: u64, fault: Fault) {
    let rule = Rule::new(Scope::default().address(part), fault).times(times);
    registry.faults().install(rule).expect("registries can do it");
}

#[tokio::test(start_paused = true)]
async fn what_passes_is_waited_for_and_what_does_not_is_told() {
    let (registry, descriptor) = registry();
    let at = "https://r.test/v2/org/app";
    let blob = format!("{at}/blobs/");
    let slow = r#"{"errors":[{"code":"TOOMANYREQUESTS","message":"slow down"}]}"#;
    let denied = r#"{"errors":[{"code":"DENIED","message":"not yours"}]}"#;
    let content = "content of the layer".to_owned();
    let broken = "error verifying sha256 checksum after reading 20 bytes; got \"sha256:";
    for (path, times, fault, expected) in [
        ("/manifests/", 2, Fault::refuse(500), content.clone()),
        ("/manifests/", 2, Fault::Reset, content.clone()),
        ("/blobs/", 2, Fault::refuse_saying(429, slow), content.clone()),
        (
            "/blobs/",
            3,
            Fault::refuse_saying(429, slow),
            format!("GET {blob}…: TOOMANYREQUESTS: slow down"),
        ),
        (
            "/blobs/",
            3,
            Fault::refuse(503),
            format!("GET {blob}…: unexpected status code 503 Service Unavailable"),
        ),
        (
            "/blobs/",
            1,
            Fault::refuse_saying(403, denied),
            format!("GET {blob}…: DENIED: not yours"),
        ),
        ("/blobs/", 3, Fault::Reset, format!("Get \"{blob}…\": connection reset by peer")),
        ("/blobs/", 1, Fault::Truncate, "error verifying size; got 10, want 20".to_owned()),
        ("/blobs/", 1, Fault::Garble, format!("{broken}…")),
        (
            "/v2/",
            9,
            Fault::refuse(403),
            "GET https://r.test/v2/: unexpected status code 403 Forbidden".to_owned(),
        ),
    ] {
        fail(&registry, path, times, fault.clone());
        let said = said(&anybody(&registry), "v1").await;
        registry.faults().clear();
        let expected: Vec<&str> = expected.split('…').collect();
        assert!(
            said.starts_with(expected[0]) && said.ends_with(expected.last().expect("one")),
            "{fault:?}: {said}"
        );
    }
    let unknown = said(&anybody(&registry), "v9").await;
    assert_eq!(
        unknown,
        format!("GET {at}/manifests/v9: MANIFEST_UNKNOWN: manifest unknown; unknown tag=v9")
    );
    fail(&registry, "/manifests/", 1, Fault::Garble);
    let remote = anybody(&registry);
    let wrong = remote.image(&remote.repository().digest(&descriptor.digest)).await;
    let wrong = wrong.expect_err("another digest").to_string();
    assert!(
        wrong.starts_with("manifest digest: \"sha256:")
            && wrong.contains("does not match requested digest"),
        "{wrong}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_stall_ends_when_the_caller_has_waited_enough() {
    let (registry, _) = registry();
    fail(&registry, "/blobs/", 1, Fault::Stall);
    let remote = anybody(&registry);
    let waited = tokio::time::timeout(Duration::from_mins(1), pull(&remote, "v1")).await;
    assert!(waited.is_err());
    assert_eq!(said(&remote, "v1").await, "content of the layer");
}

#[tokio::test(start_paused = true)]
async fn tags_come_in_pages() {
    let registry = MemoryRegistry::new();
    for at in 0..25 {
        registry.put_raw(APP, Some(&format!("v{at:02}")), media::MANIFEST, "{}");
    }
    registry.page(10);
    let tags = anybody(&registry).tags().await.expect("tags");
    assert_eq!(tags.len(), 25);
    assert_eq!(tags.last().map(String::as_str), Some("v24"));
    let lists = registry.requests().into_iter().filter(|line| line.contains("/tags/list"));
    assert_eq!(lists.count(), 3);
    let none = remote_at(Arc::new(registry), "r.test/org/none", Credentials::default());
    assert_eq!(
        none.tags().await.expect_err("no such repository").to_string(),
        "GET https://r.test/v2/org/none/tags/list?n=1000: NAME_UNKNOWN: repository name not known to registry; map[name:org/none]"
    );
}

#[tokio::test(start_paused = true)]
async fn an_index_leads_to_its_child_for_linux_on_amd64() {
    let (registry, descriptor) = registry();
    let child = |architecture: &str, descriptor: &Descriptor| Descriptor {
        platform: Some(Platform { architecture: architecture.into(), os: "linux".into() }),
        ..descriptor.clone()
    };
    let other = registry.put_manifest(APP, None, &Manifest::default());
    let manifests = vec![child("arm64", &other), child("amd64", &descriptor)];
    registry.put_index(APP, Some("all"), &Index { manifests, ..Index::default() });
    assert_eq!(said(&anybody(&registry), "all").await, "content of the layer");
    let index = Index { manifests: vec![child("arm64", &other)], ..Index::default() };
    let index = registry.put_index(APP, Some("arm"), &index);
    assert_eq!(
        said(&anybody(&registry), "arm").await,
        format!("no child with platform linux/amd64 in index r.test/org/app@{}", index.digest)
    );
}

#[tokio::test(start_paused = true)]
async fn nothing_larger_than_allowed_is_taken() {
    let registry = MemoryRegistry::new();
    let layer = registry.put_blob(APP, media::FLUX_CONTENT, vec![0; 2 << 20]);
    let lying = Descriptor { size: 20, ..layer.clone() };
    for (tag, layer) in [("large", &layer), ("lying", &lying)] {
        let manifest = Manifest { layers: vec![layer.clone()], ..Manifest::default() };
        registry.put_manifest(APP, Some(tag), &manifest);
    }
    let large = said(&anybody(&registry), "large").await;
    assert!(
        large.ends_with("of 2097152 bytes is larger than the limit of 1048576 bytes"),
        "{large}"
    );
    let lying = said(&anybody(&registry), "lying").await;
    assert!(lying.ends_with("the answer is larger than 65536 bytes"), "{lying}");
}

#[tokio::test(start_paused = true)]
async fn referrers_are_found_by_list_and_by_tag() {
    let (registry, subject) = registry();
    let manifest = Manifest {
        artifact_type: Some("test/signature".into()),
        subject: Some(subject.clone()),
        ..Manifest::default()
    };
    let signature = registry.put_manifest(APP, None, &manifest);
    let digest = subject.digest.parse().expect("a digest");
    let found = anybody(&registry).referrers(&digest).await.expect("a list");
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].artifact_type.as_deref(), Some("test/signature"));
    registry.list_referrers(false);
    assert_eq!(anybody(&registry).referrers(&digest).await.expect("none"), []);
    let index = Index { manifests: vec![signature.clone()], ..Index::default() };
    registry.put_index(APP, Some(&subject.digest.replace(':', "-")), &index);
    let found = anybody(&registry).referrers(&digest).await.expect("a list");
    assert_eq!(found, [signature]);
}

fn new_artifact() -> NewArtifact {
    let files = tree(&[("a.yaml", "a: 1\n"), ("deep/b.yaml", "b: 2\n")]);
    NewArtifact {
        content: pack_with(&files, |_, _| false, Modes::PUSHED).expect("memory takes it"),
        source: "https://git.test/app".into(),
        revision: "main@sha1:abc".into(),
        created: "1970-01-01T00:00:00Z".into(),
        annotations: [("team".to_owned(), "blue".to_owned())].into(),
    }
}

#[tokio::test]
async fn what_is_pushed_over_a_loopback_can_be_pulled_and_tagged() {
    let registry = MemoryRegistry::new();
    registry.guard(Doorkeeper::Bearer("a".into(), "b".into()));
    let any = "127.0.0.1:0".parse().expect("an address");
    let (address, serving) = registry.clone().listen(any).await.expect("a port");
    let serving = tokio::spawn(serving);
    let wire = Arc::new(NetworkWire::new(Network::new()));
    let remote = remote_at(wire.clone(), &format!("{address}/org/app"), named("a", "b"));
    let artifact = new_artifact();
    let digest = artifact.push(&remote, "v1").await.expect("pushed");
    assert_eq!(registry.tagged(APP, "v1"), Some(digest.clone()));
    remote.tag(&remote.repository().tag("v1"), "latest").await.expect("tagged");
    assert_eq!(registry.tagged(APP, "latest"), Some(digest));
    let Image { manifest, .. } =
        remote.image(&remote.repository().tag("latest")).await.expect("an image");
    assert_eq!(manifest.annotation("team"), "blue");
    assert_eq!(remote.blob(&manifest.layers[0]).await.expect("a layer"), artifact.content);
    let stranger = remote_at(wire, &format!("{address}/org/app"), Credentials::default());
    let refused = stranger.tags().await.expect_err("a stranger").to_string();
    assert!(refused.contains("UNAUTHORIZED: authentication required"), "{refused}");
    serving.abort();
    let _ = serving.await;
    let gone = remote_at(
        Arc::new(NetworkWire::new(Network::new())),
        &format!("{address}/org/app"),
        Credentials::default(),
    );
    let refused = gone.tags().await.expect_err("nobody there").to_string();
    assert!(refused.contains("connect: connection refused"), "{refused}");
}
