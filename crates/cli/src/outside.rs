//! What commands reach outside of a cluster: repositories and files on other machines.

use std::sync::Arc;

use sluice_controllers::bases::Bases;
use sluice_controllers::outside::Outside;
use sluice_source::git::{GitLimits, Network, SshOptions};
use sluice_source::http::{HttpClients, Web};

use crate::outcome::Failure;

/// Runs a build again and again until the bases on other machines that it needs are there. They are fetched
/// without credentials.
pub(crate) async fn with_bases<T, E>(
    build: impl Fn(&Bases) -> Result<T, E>,
) -> Result<Result<T, E>, Failure> {
    let bases = Bases::default();
    let mut outside = None;
    loop {
        let built = build(&bases);
        if built.is_ok() || !bases.are_wanted() {
            return Ok(built);
        }
        let outside = match &mut outside {
            Some(outside) => outside,
            none => none.insert(network()?),
        };
        bases.fetch(outside).await;
    }
}

fn network() -> Result<Outside, Failure> {
    let clients = HttpClients::new();
    let cannot = |error| Failure::caused("cannot make an HTTP client", error);
    let web = Arc::new(Web::new(&clients).map_err(cannot)?);
    let git = Network::new(clients, SshOptions::default(), GitLimits::default());
    Ok(Outside { web, ..Outside::sealed(Arc::new(git)) })
}
