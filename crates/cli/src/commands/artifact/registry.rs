//! Access to registries, from the flags.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use sluice_cloud::{CacheLimits, CloudIdentity, Clouds, CloudsParts, NoAccounts};
use sluice_source::http::{HttpError, HttpOptions, TlsOptions, Web};
use sluice_source::network::{Network, Purpose};
use sluice_source::oci::{
    Access, Credentials, DockerConfig, NetworkWire, PullLimits, Reference, RegistryAccess,
    RemoteRepository, Repository, TokenRealms, Wire, log_in,
};

use super::{Login, Provider};
use crate::commands::serve::Wall;
use crate::outcome::Failure;
use crate::{cloud, tell};

/// A repository to open.
pub(super) struct Target<'a> {
    pub(super) repository: &'a Repository,
    pub(super) login: &'a Login,
    /// Whether plain HTTP is allowed.
    pub(super) insecure: bool,
    pub(super) access: Access,
}

/// An artifact by its URL, and the text after `oci://`.
pub(super) fn parse(url: &str) -> Result<(Reference, &str), Failure> {
    Reference::of_url(url).map_err(|error| Failure::flux(error.to_string()))
}

/// Opens a repository with credentials from the command line, a cloud or Docker's configuration.
async fn open(target: &Target<'_>) -> Result<RemoteRepository, Failure> {
    let Target { repository, login, insecure, access } = *target;
    let network = Network::new();
    let wire: Arc<dyn Wire> = Arc::new(NetworkWire::new(network.clone()));
    let credentials = match login.provider {
        Provider::Generic if !login.creds.is_empty() => {
            tell::action("logging in to registry with credentials");
            Credentials::of_argument(&login.creds).map_err(|error| {
                Failure::flux(format!("could not login with credentials: {error}"))
            })?
        }
        Provider::Generic => docker_config()?.resolve(repository),
        provider => {
            tell::action("logging in to registry with provider credentials");
            let (name, address) = (provider.name(), repository.to_string());
            let whoever = whoever_runs_this(&network)
                .map_err(|error| Failure::caused("cannot make an HTTP client", error))?;
            log_in(&whoever, name, &address).await.map_err(|error| {
                Failure::flux(format!("error during login with provider: {error}"))
            })?
        }
    };
    let tls = TlsOptions { insecure, ..TlsOptions::default() };
    let opened = RegistryAccess {
        wire,
        connection: HttpOptions { tls, ..HttpOptions::default() },
        credentials,
        realms: TokenRealms::parse(&login.registry_token_realms)
            .map_err(|error| Failure::flux(format!("--registry-token-realms: {error}")))?,
    };
    let repository = repository.clone().insecure(insecure);
    Ok(RemoteRepository::new(opened, repository, access, PullLimits::default()))
}

/// The cloud identity of this process.
fn whoever_runs_this(network: &Network) -> Result<CloudIdentity, HttpError> {
    let clouds = Clouds::new(CloudsParts {
        environment: cloud::environment(),
        http: Arc::new(Web::new(network, Purpose::Cloud)?),
        accounts: Arc::new(NoAccounts),
        clock: Arc::new(Wall),
        limits: CacheLimits::default(),
        allows_accounts: false,
        trusted_hosts: Vec::new(),
    });
    Ok(clouds.controller())
}

/// Docker's configuration, or Podman's if there is none.
fn docker_config() -> Result<DockerConfig, Failure> {
    let variable =
        |name: &str| std::env::var_os(name).filter(|it| !it.is_empty()).map(PathBuf::from);
    let home = variable("HOME").map(|home| home.join(".docker"));
    let docker = [variable("DOCKER_CONFIG"), home].into_iter().flatten();
    let podman = variable("XDG_RUNTIME_DIR").map(|it| it.join("containers/auth.json"));
    let mut candidates = docker
        .map(|directory| directory.join("config.json"))
        .chain(variable("REGISTRY_AUTH_FILE"))
        .chain(podman);
    match candidates.find(|path| path.is_file()) {
        Some(path) => read(&path),
        None => Ok(DockerConfig::default()),
    }
}

fn read(path: &Path) -> Result<DockerConfig, Failure> {
    let failed = |error: &dyn std::fmt::Display| {
        Failure::flux(format!("loading config file: {}: {error}", path.display()))
    };
    let text = std::fs::read(path).map_err(|error| failed(&error))?;
    DockerConfig::parse(&text).map_err(|error| failed(&error))
}

/// Opens a repository and runs an operation, within the command's timeout.
pub(super) fn with<T>(
    target: &Target<'_>,
    timeout: Duration,
    work: impl AsyncFnOnce(&RemoteRepository) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::flux(error.to_string()))?;
    runtime.block_on(async {
        let done = async { work(&open(target).await?).await };
        match tokio::time::timeout(timeout, done).await {
            Ok(outcome) => outcome,
            Err(_) => Err(Failure::flux("context deadline exceeded")),
        }
    })
}
