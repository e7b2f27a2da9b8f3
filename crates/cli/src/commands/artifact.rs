//! Artifacts in registries, with Flux's arguments: `sluice push|pull|list|tag|diff|build artifact`.
//!
//! One file each; what they share is here and in `registry.rs` (who we are) and `local.rs` (what is on the
//! disk).

pub(crate) mod build;
pub(crate) mod diff;
pub(crate) mod list;
mod local;
pub(crate) mod pull;
pub(crate) mod push;
mod registry;
pub(crate) mod tag;

use clap::ValueEnum;

/// Who issues the credentials for a registry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Provider {
    /// Docker's configuration, or `--creds`.
    Generic,
    /// Amazon.
    Aws,
    /// Microsoft.
    Azure,
    /// Google.
    Gcp,
}

/// How a registry is opened.
#[derive(Debug, clap::Args)]
pub(crate) struct Login {
    /// `<username>:<password>` or a token for the registry; otherwise Docker's configuration is read.
    #[arg(long, value_name = "CREDENTIALS", default_value = "", hide_default_value = true)]
    creds: String,
    /// Who issues the credentials.
    #[arg(long, value_enum, default_value = "generic")]
    provider: Provider,
    /// Hosts that may issue tokens for registries, such as registry.example.com=auth.example.com. Those of a
    /// registry itself and of the usual public registries need no mention.
    #[arg(long, value_delimiter = ',', value_name = "PAIRS")]
    registry_token_realms: Vec<String>,
}

impl Provider {
    /// The name of the cloud.
    fn name(self) -> &'static str {
        match self {
            Self::Generic => "generic",
            Self::Aws => "aws",
            Self::Azure => "azure",
            Self::Gcp => "gcp",
        }
    }
}
