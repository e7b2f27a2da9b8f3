//! A cluster that cannot be reached ends a command at once, with one line that says so.
//!
//! Most commands go on when a request is refused, and some keep quiet about it. That is right for a refusal, and
//! wrong where nobody is there to refuse: `stats` would count nothing, `uninstall` would claim to be done.

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
pub(super) fn telling(client: &Client, server: &str) -> (Client, Lost) {
    let (own, namespace) = (client.clone(), client.default_namespace().to_owned());
    let (tell, told) = mpsc::channel(1);
    let server = server.to_owned();
    let service = service_fn(move |request: Request<Body>| {
        let (own, tell, server) = (own.clone(), tell.clone(), server.clone());
        async move {
            match own.send(request).await {
                Ok(answer) => Ok::<_, kube::Error>(answer),
                Err(error) => {
                    // Others may have been faster; one line is enough.
                    let _ = tell.try_send(words(&error, &server));
                    std::future::pending().await
                }
            }
        }
    });
    (Client::new(service, namespace), Lost(told))
}

impl Lost {
    /// Waits until a request did not get through.
    pub(super) async fn told(&mut self) -> Failure {
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

/// What Flux says of a cluster that is not reached at its address.
pub(crate) fn words(error: &kube::Error, server: &str) -> String {
    let server = server.trim_end_matches('/');
    let address = server.split_once("://").map_or(server, |(_, rest)| rest);
    let error: &(dyn Error + 'static) = error;
    let causes = std::iter::successors(Some(error), |error| (**error).source());
    // Only what a socket or the resolver says has words of its own; TLS and HTTP speak for themselves.
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
