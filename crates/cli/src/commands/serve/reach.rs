//! The client of the cluster, from the kubeconfig or the pod's account, with metrics of requests.

use std::path::Path;
use std::sync::Arc;

use http::header::USER_AGENT;
use http::{HeaderValue, Request};
use kube::Client;
use kube::client::Body;
use kube::config::KubeConfigOptions;
use sluice_controllers::egress::cluster_client;
use sluice_runtime::metrics::Metrics;
use sluice_runtime::metrics::names::{API_REQUESTS, THROTTLED};
use sluice_source::network::{Network, Purpose};
use tower::service_fn;

use crate::kubeconfig;
use crate::outcome::Failure;

/// A client of the cluster of a kubeconfig, or of the pod's cluster; and its address.
pub(super) async fn client(
    path: Option<&Path>,
    metrics: Arc<Metrics>,
) -> Result<(Client, String), Failure> {
    let config = kubeconfig::config(path, &KubeConfigOptions::default()).await;
    let mut config = config.map_err(Failure::in_own_style)?;
    kubeconfig::check_address(&config).map_err(Failure::in_own_style)?;
    // The API server's audit log shows this user agent.
    let agent = HeaderValue::from_static(concat!("sluice/", env!("CARGO_PKG_VERSION")));
    config.headers.push((USER_AGENT, agent));
    let address = config.cluster_url.to_string();
    let host = config.cluster_url.authority().map(ToString::to_string).unwrap_or_default();
    let client = cluster_client(&Network::new(), Purpose::Operator, config)
        .map_err(|error| Failure::caused("cannot reach the cluster", error))?;
    Ok((counted(&client, metrics, host), address))
}

/// A client with metrics of its requests by result.
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
