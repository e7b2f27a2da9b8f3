//! Remote bases of commands.

use std::sync::Arc;

use sluice_controllers::bases::Bases;
use sluice_controllers::egress::Egress;
use sluice_source::git::{GitLimits, GitOverNetwork, SshOptions};
use sluice_source::http::Web;
use sluice_source::network::{HostPattern, Network, Policy, Purpose};

use crate::outcome::Failure;

/// Repeats a build until all remote bases that it needs are fetched. They are fetched without credentials, from public
/// hosts and from private ones that the user lists.
pub(crate) async fn with_bases<T, E>(
    content_hosts: &[HostPattern],
    build: impl Fn(&Bases) -> Result<T, E>,
) -> Result<Result<T, E>, Failure> {
    let bases = Bases::default();
    let mut outside = None;
    loop {
        let built = build(&bases);
        if built.is_ok() || !bases.are_wanted() {
            return Ok(built);
        }
        let egress = match &mut outside {
            Some(egress) => egress,
            none => none.insert(network(content_hosts)?),
        };
        bases.fetch(egress).await;
    }
}

fn network(content_hosts: &[HostPattern]) -> Result<Egress, Failure> {
    let policy = Policy { content_hosts: content_hosts.to_vec(), ..Policy::default() };
    let network = Network::with(policy);
    let cannot = |error| Failure::caused("cannot make an HTTP client", error);
    let content = Arc::new(Web::new(&network, Purpose::Content).map_err(cannot)?);
    let git = GitOverNetwork::new(network, SshOptions::default(), GitLimits::default());
    Ok(Egress { content, ..Egress::sealed(Arc::new(git)) })
}
