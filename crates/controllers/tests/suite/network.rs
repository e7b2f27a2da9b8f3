//! Attacks over the network: what a repository, an object or a server says must not lead the controllers to
//! hosts that are none of the tenant's business. Sockets and time are real here.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use sluice_controllers::egress::Reachable;
use sluice_source::git::{GitLimits, GitOverNetwork, SshOptions};
use sluice_source::http::Web;
use sluice_source::network::{Network, Policy, Purpose};
use sluice_source::server::ArtifactServer;

use crate::egress::service;
use crate::ground::{
    Ground, URL, config_map_file, kustomization, namespace, repository, repository_with, said,
    secret,
};

/// Lets the controllers use the real network, where content may name these hosts.
fn connect(ground: &mut Ground, content_hosts: &[&str]) {
    let content_hosts = content_hosts.iter().map(|host| host.parse().unwrap()).collect();
    let network = Network::with(Policy { content_hosts, ..Policy::default() });
    ground.egress().web = Arc::new(Web::new(&network, Purpose::Cloud).unwrap());
    ground.egress().content = Arc::new(Web::new(&network, Purpose::Content).unwrap());
    let git = GitOverNetwork::new(network, SshOptions::default(), GitLimits::default());
    ground.egress().git = Arc::new(git);
}

/// What becomes of Kustomizations with these kustomization files, beside a ConfigMap of their own.
async fn built(files: &[String]) -> Vec<String> {
    let mut ground = Ground::idle().await;
    connect(&mut ground, &[]);
    let mut tree = Vec::new();
    for (at, file) in files.iter().enumerate() {
        tree.push((format!("app-{at}/kustomization.yaml"), file.clone()));
        tree.push((format!("app-{at}/own.yaml"), config_map_file(&format!("own-{at}"), "1")));
    }
    let tree: Vec<_> = tree.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    ground.commit("files", &tree);
    ground.apply(namespace()).await;
    ground.apply(repository()).await;
    ground.start();
    let names: Vec<String> = (0..files.len()).map(|at| format!("app-{at}")).collect();
    let apps = names.iter().map(|name| kustomization(name, name, json!({"timeout": "1m"})));
    let apps: Vec<Value> = apps.collect();
    for app in &apps {
        ground.apply(app.clone()).await;
    }
    let mut ready = Vec::new();
    for app in &apps {
        ready.push(said(&ground.until(app, is_over).await, "Ready"));
    }
    ground.stop().await;
    ready
}

/// Whether a build came to an end, be it a bad one.
fn is_over(object: &Value) -> bool {
    ["True ", "False BuildFailed"].iter().any(|end| said(object, "Ready").starts_with(end))
}

/// A server inside of the network that holds a secret.
async fn victim() -> (SocketAddr, Arc<Mutex<Vec<String>>>) {
    let secret = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: stolen}\ndata: {key: secret}\n";
    service(move |_| (200, secret.to_owned())).await
}

/// A Kustomization whose generator, patch or other field names a file by URL is refused, and nobody is asked.
#[tokio::test]
async fn a_generator_does_not_show_what_a_url_answers() {
    let (victim, asked) = victim().await;
    let url = format!("http://{victim}/latest/meta-data/");
    let fields = [
        format!("configMapGenerator: [{{name: loot, files: ['x={url}']}}]"),
        format!("secretGenerator: [{{name: loot, files: ['x={url}']}}]"),
        format!("configMapGenerator: [{{name: loot, envs: ['{url}']}}]"),
        format!("patches: [{{path: '{url}'}}]"),
        format!("configurations: ['{url}']"),
        format!("crds: ['{url}']"),
        format!("replacements: [{{path: '{url}'}}]"),
        format!("openapi: {{path: '{url}'}}"),
    ];
    let files = fields.iter().map(|field| format!("resources: [own.yaml]\n{field}\n"));
    let files: Vec<String> = files.collect();
    for (field, ready) in fields.iter().zip(built(&files).await) {
        assert!(ready.contains("only resources and components may be URLs"), "{field}: {ready}");
    }
    assert_eq!(*asked.lock().unwrap(), Vec::<String>::new());
}

/// A remote base at a loopback address is refused, and nobody is asked.
#[tokio::test]
async fn a_remote_base_does_not_reach_loopback() {
    let (victim, asked) = victim().await;
    let port = victim.port();
    let hosts = [
        "127.0.0.1",
        "localhost",
        "2130706433",
        "0x7f.1",
        "0177.0.0.1",
        "[::ffff:127.0.0.1]",
        "127.1",
        "a@127.0.0.1",
        "0.0.0.0",
        "127.0.0.1.",
        "%31%32%37.0.0.1",
    ];
    let files = hosts.map(|host| format!("resources: ['http://{host}:{port}/x.yaml']\n"));
    for (host, ready) in hosts.iter().zip(built(&files).await) {
        assert!(ready.starts_with("False BuildFailed"), "{host}: {ready}");
        assert!(ready.contains("--allow-content-hosts"), "{host}: {ready}");
    }
    assert_eq!(*asked.lock().unwrap(), Vec::<String>::new());
}

/// Another tenant's artifact is on the artifact server, which answers everybody inside of the network.
#[tokio::test]
async fn a_repository_does_not_read_another_tenants_artifact() {
    let mut ground = Ground::idle().await;
    connect(&mut ground, &[]);
    let server = ArtifactServer::new(ground.sandbox.artifacts.clone());
    let (address, serving) = server.listen("127.0.0.1:0".parse().unwrap()).await.unwrap();
    let serving = tokio::spawn(serving);
    ground.backends().advertised = address.to_string();
    ground.commit("the victim's", &[("secret.yaml", "password: 1234")]);
    ground.apply(namespace()).await;
    let victim = repository_with("victim", json!({"url": URL}));
    ground.apply(victim.clone()).await;
    ground.start();
    let found = ground.until(&victim, |it| it.pointer("/status/artifact/url").is_some()).await;
    let url = found["status"]["artifact"]["url"].as_str().unwrap().to_owned();
    let evil = "https://git.test/evil";
    let file = format!("configMapGenerator: [{{name: loot, files: ['x={url}']}}]\n");
    ground.commit_to(evil, "the attacker's", &[("app/kustomization.yaml", &file)]);
    ground.apply(repository_with("platform", json!({"url": evil}))).await;
    let app = kustomization("app", "app", json!({"targetNamespace": "apps"}));
    ground.apply(app.clone()).await;
    let found = ground.until(&app, is_over).await;
    assert!(said(&found, "Ready").starts_with("False BuildFailed"), "{}", said(&found, "Ready"));
    ground.stop().await;
    serving.abort();
}

/// A git base at a loopback address is refused.
#[tokio::test]
async fn a_git_base_does_not_reach_loopback() {
    let (victim, asked) = service(|_| (404, String::new())).await;
    let bases = ["app.git//dir?ref=main", "app.git"];
    let files = bases.map(|base| format!("resources: ['http://{victim}/{base}']\n"));
    let ready = built(&files).await;
    assert!(ready.iter().all(|ready| ready.starts_with("False BuildFailed")), "{ready:?}");
    assert_eq!(*asked.lock().unwrap(), Vec::<String>::new());
}

/// A server that drips one byte now and then cannot hold a worker beyond the timeout of the Kustomization.
#[tokio::test]
async fn remote_content_ends_with_the_timeout_of_the_kustomization() {
    use tokio::io::AsyncWriteExt as _;
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let _ =
                    stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\n").await;
                while stream.write_all(b"#").await.is_ok() {
                    tokio::time::sleep(Duration::from_millis(500)).await;
                }
            });
        }
    });
    let bases: Vec<String> = (0..20).map(|at| format!("http://{address}/{at}.yaml")).collect();
    let file = format!("resources: {}\n", json!(bases));
    let started = std::time::Instant::now();
    let mut ground = Ground::idle().await;
    connect(&mut ground, &["127.0.0.1"]);
    ground.commit("files", &[("app/kustomization.yaml", &file)]);
    ground.apply(namespace()).await;
    ground.apply(repository()).await;
    ground.start();
    let app = kustomization("app", "app", json!({"timeout": "30s"}));
    ground.apply(app.clone()).await;
    let found = ground.until(&app, is_over).await;
    assert!(started.elapsed() < Duration::from_secs(90), "{:?}", started.elapsed());
    let ready = said(&found, "Ready");
    assert!(ready.contains("remote content was not there within the timeout of 30s"), "{ready}");
    ground.stop().await;
}

/// A kubeconfig of a tenant leads to a metadata service, by its server or by a proxy.
#[tokio::test]
async fn a_kubeconfig_does_not_reach_a_metadata_service() {
    let mut ground = Ground::idle().await;
    ground.egress().clusters = Arc::new(Reachable(Network::new()));
    ground.commit("files", &[("app/a.yaml", &config_map_file("a", "1"))]);
    ground.apply(namespace()).await;
    ground.apply(repository()).await;
    ground.start();
    let policy = "only the controllers' own cloud identity may reach";
    for (name, cluster, expected) in [
        ("server", "server: 'https://169.254.169.254'", policy),
        ("decimal", "server: 'https://2852039166'", policy),
        ("mapped", "server: 'https://[::ffff:169.254.169.254]'", policy),
        ("plain", "server: 'http://169.254.170.2/v2/credentials'", policy),
        (
            "proxy",
            "server: 'https://api.test', proxy-url: 'http://169.254.169.254'",
            "proxies of clusters",
        ),
    ] {
        let config = format!(
            "apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts: [{{name: c, context: {{cluster: a, user: u}}}}]\nclusters: [{{name: a, cluster: {{{cluster}}}}}]\nusers: [{{name: u, user: {{token: t}}}}]\n"
        );
        ground.apply(secret(name, &json!({"value": config}))).await;
        let spec = json!({"kubeConfig": {"secretRef": {"name": name}}, "timeout": "30s"});
        let app = kustomization(name, "app", spec);
        ground.apply(app.clone()).await;
        let is_over = |it: &Value| said(it, "Ready").starts_with("False Recon");
        let found = ground.until(&app, is_over).await;
        assert!(said(&found, "Ready").contains(expected), "{name}: {}", said(&found, "Ready"));
    }
    ground.stop().await;
}
