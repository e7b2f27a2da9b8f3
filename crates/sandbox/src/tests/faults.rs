//! Every fault that a transport says it can do is noticed by a client, every other one is refused, and `docs/faults.md`
//! has the table of them.

use std::fmt::Write as _;
use std::time::Duration;

use http::Request;
use serde_json::json;
use sluice_base::fault::{Fault, Faults, Rule, Scope};
use sluice_cloud::Http as _;
use sluice_cluster::Cluster;
use sluice_source::bucket::{BucketAddress, BucketTransport as _, MemoryBucket};
use sluice_source::git::{GitAuth, GitTransport as _};
use sluice_source::http::HttpOptions;
use sluice_source::oci::Wire as _;
use tokio::time::{Instant, timeout};
use tower::ServiceExt as _;

use super::files;
use crate::Sandbox;

/// Everything with something in it to ask for.
fn filled() -> Sandbox {
    let cluster = Cluster::builder().seed(1).rollouts(false).workloads(false).build();
    let sandbox = Sandbox::on(cluster);
    sandbox.commit("platform.git", "a", &files("a: 1"));
    sandbox.buckets.insert("things", MemoryBucket::of(&[("a", "b")]));
    sandbox.endpoints.put("https://vault.test/", |_| (200, "content".to_owned()));
    sandbox
}

/// What a client gets that asks a server once, as a text.
async fn ask(sandbox: &Sandbox, server: &str, fault: &Fault) -> String {
    match server {
        "cluster" => {
            let maps = "/api/v1/namespaces/kube-system/configmaps";
            let (method, path, body) = match fault {
                Fault::WatchClosed { .. } | Fault::Gone => {
                    ("GET", format!("{maps}?watch=true"), String::new())
                }
                Fault::Conflict => {
                    let body = json!({"data": {"a": "b"}}).to_string();
                    ("PATCH", format!("{maps}/kube-root-ca.crt"), body)
                }
                _ => ("GET", maps.to_owned(), String::new()),
            };
            let request = Request::builder()
                .method(method)
                .uri(path)
                .header("content-type", "application/merge-patch+json")
                .body(http_body_util::Full::new(bytes::Bytes::from(body)))
                .unwrap();
            match sandbox.cluster.service().oneshot(request).await {
                Ok(answer) => {
                    let status = answer.status();
                    let body = http_body_util::BodyExt::collect(answer.into_body()).await;
                    format!("{status} {} bytes", body.unwrap().to_bytes().len())
                }
                Err(lost) => lost.to_string(),
            }
        }
        "git" => {
            let remote = sandbox.git.open("http://g/platform.git", &GitAuth::default()).unwrap();
            format!("{:?}", remote.list_refs(&[]).await)
        }
        "registry" => {
            let request = Request::get("https://r.test/v2/").body(bytes::Bytes::new()).unwrap();
            let answer = sandbox.registries.send(&HttpOptions::default(), request, 1000).await;
            format!("{answer:?}")
        }
        "bucket" => {
            let address = BucketAddress { bucket: "things".to_owned(), ..BucketAddress::default() };
            let reader = sandbox.buckets.open(&address).await.unwrap();
            format!("{:?}", reader.list("").await)
        }
        "endpoints" => {
            let request = Request::get("https://vault.test/a").body(Vec::new()).unwrap();
            format!("{:?}", sandbox.endpoints.send(request).await)
        }
        other => panic!("ask {other} for something here"),
    }
}

/// What is noticed of a fault: what the client gets, and after how long.
async fn noticed(server: usize, fault: Option<&Fault>, asked: &Fault) -> String {
    let sandbox = filled();
    tokio::time::sleep(Duration::from_secs(10)).await;
    let faults = &sandbox.faults()[server];
    if let Some(fault) = fault {
        faults.install(Rule::new(Scope::default(), fault.clone())).unwrap();
    }
    let began = Instant::now();
    let name = faults.transport().name;
    let got = timeout(Duration::from_mins(1), ask(&sandbox, name, asked)).await;
    format!("{got:?} after {:?}", began.elapsed())
}

#[tokio::test(start_paused = true)]
async fn what_a_transport_can_do_is_noticed_and_all_else_is_refused() {
    for server in 0..filled().faults().len() {
        for fault in Fault::one_of_each() {
            let faults: Faults = filled().faults()[server].clone();
            let transport = faults.transport();
            if (transport.can)(&fault) {
                let (with, without) = (
                    noticed(server, Some(&fault), &fault).await,
                    noticed(server, None, &fault).await,
                );
                assert_ne!(with, without, "{} ignores {fault:?}", transport.name);
            } else {
                let refused = faults.install(Rule::new(Scope::default(), fault.clone()));
                assert!(refused.is_err(), "{} takes {fault:?}", transport.name);
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn the_table_of_faults_is_in_the_docs() {
    let all = Sandbox::new(1).faults();
    let mut table = String::from("| fault |");
    for faults in &all {
        write!(table, " {} |", faults.transport().name).unwrap();
    }
    write!(table, "\n|---|{}", "---|".repeat(all.len())).unwrap();
    for fault in Fault::one_of_each() {
        let text = format!("{fault:?}");
        let name = text.split([' ', '{']).next().unwrap();
        write!(table, "\n| `{name}` |").unwrap();
        for faults in &all {
            let can = (faults.transport().can)(&fault);
            table.push_str(if can { " yes |" } else { " – |" });
        }
    }
    let docs = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/faults.md");
    let written = std::fs::read_to_string(docs).unwrap();
    assert!(written.contains(&table), "docs/faults.md should have:\n{table}");
}
