//! HTTP endpoints without a network, by the beginning of their URL: clouds, vaults, files of remote bases.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use http::{Request, Response, StatusCode};
use sluice_cloud::{Answer, Http};

/// What answers at an endpoint: a status and a body.
type Handler = Arc<dyn Fn(&Request<Vec<u8>>) -> (u16, String) + Send + Sync>;

/// HTTP endpoints. Clones share everything.
#[derive(Clone, Default)]
pub struct Endpoints {
    handlers: Arc<Mutex<BTreeMap<String, Handler>>>,
}

impl Endpoints {
    /// Answers all requests to URLs that begin like this.
    pub fn put(
        &self,
        start: &str,
        handler: impl Fn(&Request<Vec<u8>>) -> (u16, String) + Send + Sync + 'static,
    ) {
        let mut handlers = self.handlers.lock().unwrap_or_else(PoisonError::into_inner);
        handlers.insert(start.to_owned(), Arc::new(handler));
    }

    fn find(&self, url: &str) -> Option<Handler> {
        let handlers = self.handlers.lock().unwrap_or_else(PoisonError::into_inner);
        let found = handlers.iter().find(|(start, _)| url.starts_with(start.as_str()));
        found.map(|(_, handler)| Arc::clone(handler))
    }

    fn answer(&self, request: &Request<Vec<u8>>) -> Result<Response<Vec<u8>>, String> {
        let url = request.uri().to_string();
        let handler = self.find(&url).ok_or_else(|| format!("{url}: no such host"))?;
        let (status, body) = handler(request);
        let mut response = Response::new(body.into_bytes());
        *response.status_mut() = StatusCode::from_u16(status).map_err(|error| error.to_string())?;
        Ok(response)
    }
}

impl Http for Endpoints {
    fn send(&self, request: Request<Vec<u8>>) -> Answer<'_> {
        Box::pin(async move { self.answer(&request) })
    }
}
