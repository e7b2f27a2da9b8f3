//! The endpoints of the process: metrics, liveness and readiness.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use http::{Method, Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use sluice_runtime::metrics::Metrics;
use sluice_source::listen::{ConnectionLimits, serve};
use tokio::net::TcpListener;

use super::flags::address;
use crate::outcome::Failure;

/// The data of the endpoints.
#[derive(Clone, Default)]
pub(super) struct Endpoints {
    /// The metrics.
    pub(super) metrics: Arc<Metrics>,
    /// Whether the cluster was reached.
    pub(super) ready: Arc<AtomicBool>,
}

impl Endpoints {
    /// Opens an address, unless it is `0` or absent; returns the future that serves it until it is dropped.
    pub(super) async fn listen(
        &self,
        wanted: Option<&str>,
        what: &str,
        flag: &str,
    ) -> Result<Option<(SocketAddr, impl Future<Output = ()> + use<>)>, Failure> {
        let Some(text) = wanted.filter(|text| !text.is_empty() && *text != "0") else {
            return Ok(None);
        };
        let address = address(text).map_err(|error| Failure::new(format!("{flag}: {error}")))?;
        let refused = |error| {
            Failure::caused(format!("cannot serve {what} on {address}"), error)
                .hint(format!("choose another address with {flag}, or 0 for none"))
        };
        let listener = TcpListener::bind(address).await.map_err(refused)?;
        let bound = listener.local_addr().map_err(refused)?;
        Ok(Some((bound, self.clone().serve(listener))))
    }

    async fn serve(self, listener: TcpListener) {
        let handler = move |request: Request<Incoming>| {
            let answer = self.answer(request.method(), request.uri().path());
            async move { Ok::<_, Infallible>(answer) }
        };
        serve(listener, ConnectionLimits::default(), handler).await;
    }

    fn answer(&self, method: &Method, path: &str) -> Response<Full<Bytes>> {
        let ready = self.ready.load(Ordering::Relaxed);
        let (code, text) = match path.trim_end_matches('/') {
            _ if !matches!(*method, Method::GET | Method::HEAD) => {
                (StatusCode::METHOD_NOT_ALLOWED, "method not allowed\n".to_owned())
            }
            "/metrics" => (StatusCode::OK, self.metrics.render()),
            "/healthz" | "/healthz/ping" => (StatusCode::OK, "ok".to_owned()),
            "/readyz" | "/readyz/ping" if ready => (StatusCode::OK, "ok".to_owned()),
            "/readyz" | "/readyz/ping" => {
                let words = "[-]cluster failed: not reached yet\nreadyz check failed\n";
                (StatusCode::INTERNAL_SERVER_ERROR, words.to_owned())
            }
            _ => (StatusCode::NOT_FOUND, "404 page not found\n".to_owned()),
        };
        let mut answer = Response::new(Full::new(Bytes::from(text)));
        *answer.status_mut() = code;
        let kind = if path.starts_with("/metrics") {
            "text/plain; version=0.0.4; charset=utf-8"
        } else {
            "text/plain; charset=utf-8"
        };
        answer
            .headers_mut()
            .insert(http::header::CONTENT_TYPE, http::HeaderValue::from_static(kind));
        answer
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;

    use sluice_runtime::metrics::names::LEADER;
    use sluice_source::network::{Network, Purpose};

    use super::Endpoints;

    #[tokio::test]
    async fn health_readiness_and_metrics_are_told() {
        let endpoints = Endpoints::default();
        endpoints.metrics.set(&LEADER, &["a"], 1.0);
        assert!(endpoints.listen(Some("0"), "metrics", "--metrics-addr").await.unwrap().is_none());
        let listening = endpoints.listen(Some("127.0.0.1:0"), "metrics", "--metrics-addr").await;
        let (bound, serving) = listening.unwrap().unwrap();
        let serving = tokio::spawn(serving);
        let options = sluice_source::http::HttpOptions::default();
        let client = Network::new().client(Purpose::Operator, &options).unwrap();
        let get = async |path: &str| {
            let url = format!("http://{bound}{path}").parse().unwrap();
            let request = reqwest::Request::new(reqwest::Method::GET, url);
            let answer = client.execute(request).await.unwrap();
            (answer.status().as_u16(), answer.text().await.unwrap())
        };
        assert_eq!(get("/healthz").await, (200, "ok".to_owned()));
        assert_eq!(get("/readyz").await.0, 500);
        endpoints.ready.store(true, Ordering::Relaxed);
        assert_eq!(get("/readyz").await, (200, "ok".to_owned()));
        let (code, text) = get("/metrics").await;
        assert!(
            code == 200 && text.contains("leader_election_master_status{name=\"a\"} 1"),
            "{text}"
        );
        assert_eq!(get("/else").await.0, 404);
        let url = format!("http://{bound}/metrics").parse().unwrap();
        let posted = client.execute(reqwest::Request::new(reqwest::Method::POST, url)).await;
        assert_eq!(posted.unwrap().status().as_u16(), 405);
        serving.abort();
    }
}
