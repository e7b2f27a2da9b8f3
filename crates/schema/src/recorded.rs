//! Data of a real Kubernetes 1.35.4: OpenAPI, discovery, the objects of a fresh cluster.
//!
//! The data was recorded by `xtask record` and is compressed in the binary. It is unpacked on first use, and only the
//! part that is needed is parsed.

mod discovery;
mod members;
mod openapi;

use std::sync::OnceLock;

use serde_json::Value;

pub use discovery::{Discovery, Group, Resource, Subresource, Version};
pub use openapi::OpenApi;

pub(crate) use members::Members;

/// The release the data was recorded from.
pub const RELEASE: &str = "1.35.4";

/// All OpenAPI v3 documents.
pub fn openapi() -> &'static OpenApi {
    static OPENAPI: OnceLock<OpenApi> = OnceLock::new();
    OPENAPI.get_or_init(|| {
        OpenApi::new(Members::unpack(include_bytes!("../data/kubernetes-1.35.4.openapi.json.gz")))
    })
}

/// The groups, versions and resources of the built-in kinds.
pub fn discovery() -> &'static Discovery {
    static DISCOVERY: OnceLock<Discovery> = OnceLock::new();
    DISCOVERY.get_or_init(|| {
        Discovery::new(Members::unpack(include_bytes!(
            "../data/kubernetes-1.35.4.discovery.json.gz"
        )))
    })
}

/// The objects of a fresh cluster, by the path of their list (`/api/v1/namespaces`), in path and
/// name order.
///
/// Identities, versions, generations, times and field managers are left out; the server that takes
/// them in makes its own. The Service, Endpoints and EndpointSlice `kubernetes` have the address
/// 192.0.2.10 and the port of the recorded server.
pub fn bootstrap() -> impl Iterator<Item = (&'static str, &'static [Value])> {
    static BOOTSTRAP: OnceLock<Members> = OnceLock::new();
    BOOTSTRAP
        .get_or_init(|| {
            Members::unpack(include_bytes!("../data/kubernetes-1.35.4.bootstrap.json.gz"))
        })
        .iter()
        .map(|(path, list)| (path, list.as_array().map_or(&[][..], Vec::as_slice)))
}

/// The answer to `GET /version`.
pub fn version() -> &'static Value {
    openapi().version()
}

#[cfg(test)]
mod tests;
