//! How the cluster is reached: by whom the kubeconfig or the pod's account says, and every request counted.

use std::path::Path;
use std::sync::Arc;

use http::header::USER_AGENT;
use http::{HeaderValue, Request};
use kube::client::Body;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use sluice_runtime::metrics::Metrics;
use sluice_runtime::metrics::names::{API_REQUESTS, THROTTLED};
use tower::service_fn;

use crate::outcome::Failure;

/// A client of the cluster that a kubeconfig names, or else of the one that this runs in.
pub(super) async fn client(
    kubeconfig: Option<&Path>,
    metrics: Arc<Metrics>,
) -> Result<Client, Failure> {
    let mut config = match kubeconfig {
        Some(path) => {
            let failed = |error| {
                Failure::caused(format!("cannot read the kubeconfig {}", path.display()), error)
            };
            let read = Kubeconfig::read_from(path).map_err(failed)?;
            Config::from_custom_kubeconfig(read, &KubeConfigOptions::default())
                .await
                .map_err(failed)?
        }
        None => Config::infer().await.map_err(|error| {
            Failure::caused("no cluster is known", error)
                .hint("name a kubeconfig with --kubeconfig or in KUBECONFIG")
        })?,
    };
    // The API server's audit log tells by this who asked.
    let agent = HeaderValue::from_static(concat!("sluice/", env!("CARGO_PKG_VERSION")));
    config.headers.push((USER_AGENT, agent));
    let host = config.cluster_url.authority().map(ToString::to_string).unwrap_or_default();
    let client = Client::try_from(config)
        .map_err(|error| Failure::caused("cannot reach the cluster", error))?;
    Ok(counted(&client, metrics, host))
}

/// A client whose requests are counted by what became of them.
fn counted(client: &Client, metrics: Arc<Metrics>, host: String) -> Client {
    let (own, namespace) = (client.clone(), client.default_namespace().to_owned());
    let host: Arc<str> = host.into();
    let service = service_fn(move |request: Request<Body>| {
        let (own, metrics, host) = (own.clone(), Arc::clone(&metrics), Arc::clone(&host));
        async move {
            let method = request.method().as_str().to_owned();
            let answer = own.send(request).await;
            let code = answer.as_ref().map_or_else(
                |_| "<error>".to_owned(),
                |answer| answer.status().as_u16().to_string(),
            );
            metrics.add(&API_REQUESTS, &[&code, &host, &method], 1.0);
            if code == "429" {
                metrics.add(&THROTTLED, &[&host], 1.0);
            }
            answer
        }
    });
    Client::new(service, namespace)
}
