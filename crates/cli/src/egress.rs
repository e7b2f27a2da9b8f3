//! What commands reach outside of a cluster: repositories and files on other machines.

use std::cell::OnceCell;
use std::sync::Arc;

use sluice_base::need::{Need, Step};
use sluice_controllers::egress::Egress;
use sluice_controllers::needs::{self, Answer, Endless, drive};
use sluice_kustomize::Answers;
use sluice_source::git::{GitLimits, GitOverNetwork, SshOptions};
use sluice_source::http::Web;
use sluice_source::network::{HostPattern, Network, Policy, Purpose};

use crate::outcome::Failure;

/// Why a build with remote bases ended without a result.
enum Ended<E> {
    Build(E),
    Command(Failure),
}

impl<E> From<Endless> for Ended<E> {
    fn from(endless: Endless) -> Self {
        Self::Command(Failure::new(endless.to_string()))
    }
}

/// Runs a build until the remote bases that it needs are there. They are fetched without credentials, from the
/// Internet and from the private hosts that the user lists.
pub(crate) async fn with_remote_bases<T, E>(
    content_hosts: &[HostPattern],
    build: impl Fn(&Answers) -> Result<Step<T>, E>,
) -> Result<Result<T, E>, Failure> {
    // Most builds need nothing, and a client that reads the system's certificates takes longer than they do.
    let egress = OnceCell::new();
    let run = |answers: Arc<Answers>| std::future::ready(build(&answers).map_err(Ended::Build));
    let answer = |need: Need| {
        let egress = &egress;
        async move {
            let egress = if let Some(egress) = egress.get() {
                egress
            } else {
                let made = network(content_hosts).map_err(Ended::Command)?;
                egress.get_or_init(|| made)
            };
            Ok(match need {
                Need::File(url) => needs::fetch_file(egress, &url).await,
                Need::Repository(wanted) => needs::fetch_repository(egress, &wanted).await,
                Need::DataKey(_) => Answer::DataKey(Err("commands decrypt nothing".to_owned())),
            })
        }
    };
    match drive(run, answer).await {
        Ok(built) => Ok(Ok(built)),
        Err(Ended::Build(error)) => Ok(Err(error)),
        Err(Ended::Command(failure)) => Err(failure),
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
