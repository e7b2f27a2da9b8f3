//! Artifact commands with Flux's arguments: `sluice push|pull|list|tag|diff|build artifact`.
//!
//! One file each; shared parts are here, in `registry.rs` (credentials) and in `local.rs` (local files).

pub(crate) mod build;
pub(crate) mod diff;
pub(crate) mod list;
mod local;
pub(crate) mod pull;
pub(crate) mod push;
mod registry;
pub(crate) mod tag;

use clap::ValueEnum;

/// The provider of a registry's credentials.
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

/// Access to a registry.
#[derive(Debug, clap::Args)]
pub(crate) struct Login {
    /// `<username>:<password>` or a token for the registry; by default Docker's configuration is used.
    #[arg(long, value_name = "CREDENTIALS", default_value = "", hide_default_value = true)]
    creds: String,
    /// Provider of the credentials.
    #[arg(long, value_enum, default_value = "generic")]
    provider: Provider,
    /// Token servers of registries, such as registry.example.com=auth.example.com. The registry's own host and
    /// those of common public registries are allowed by default.
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
