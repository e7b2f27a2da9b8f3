//! An unreachable cluster ends a command at once, with one line.
//!
//! Most commands continue after an error response, and some ignore it. That would be wrong if there is no response at all:
//! `stats` would count nothing, `uninstall` would claim to be done.

use std::error::Error;

use http::{Method, Request};
use kube::Client;
use kube::client::Body;
use sluice_source::dial;
use sluice_source::http::unanswered;
use tokio::sync::mpsc;
use tower::service_fn;

use crate::outcome::Failure;

/// Where an unreachable cluster is reported.
pub(super) struct Lost(mpsc::Receiver<String>);

/// A client that reports requests which do not get through, and never answers them.
pub(super) fn reporting(client: &Client, server: &str) -> (Client, Lost) {
    let (own, namespace) = (client.clone(), client.default_namespace().to_owned());
    let (report, reports) = mpsc::channel(1);
    let server = server.to_owned();
    let service = service_fn(move |request: Request<Body>| {
        let (own, report, server) = (own.clone(), report.clone(), server.clone());
        async move {
            match own.send(request).await {
                Ok(answer) => Ok::<_, kube::Error>(answer),
                Err(error) => {
                    // Another request may have been faster; one report is enough.
                    let _ = report.try_send(message(&error, &server));
                    std::future::pending().await
                }
            }
        }
    });
    (Client::new(service, namespace), Lost(reports))
}

impl Lost {
    /// Waits until a request does not get through.
    pub(super) async fn failure(&mut self) -> Failure {
        match self.0.recv().await {
            Some(why) if why.contains("certificate") => {
                Failure::flux(why).hint("--certificate-authority sets the authority that signed it")
            }
            Some(why) => Failure::flux(why)
                .hint("is the cluster running? --kubeconfig and --context choose another"),
            None => std::future::pending().await,
        }
    }
}

/// Flux's message for an unreachable cluster.
pub(crate) fn message(error: &kube::Error, server: &str) -> String {
    let server = server.trim_end_matches('/');
    let address = server.split_once("://").map_or(server, |(_, rest)| rest);
    let error: &(dyn Error + 'static) = error;
    let causes = std::iter::successors(Some(error), |error| (**error).source());
    // Only errors of a socket or the resolver need Go's message; those of TLS and HTTP are used as they are.
    let is_resolver = causes.clone().any(|cause| cause.to_string().starts_with("dns error"));
    let socket = causes.clone().filter_map(|cause| cause.downcast_ref::<std::io::Error>());
    let socket = socket.into_iter().find(|it| is_resolver || it.raw_os_error().is_some());
    let url = format!("{server}/api");
    let asked = match socket {
        Some(error) => format!("Get \"{url}\": {}", dial::message(error, address)),
        None => unanswered(&Method::GET, &url, error),
    };
    format!("failed to get server groups: {asked}")
}
