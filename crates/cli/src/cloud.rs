//! The environment of this process for clouds.

use std::sync::Arc;

use sluice_cloud::Environment;

/// The prefixes of their variables.
const PREFIXES: [&str; 6] =
    ["AWS_", "AZURE_", "GCE_", "GOOGLE_", "CLOUDSDK_", "STORAGE_EMULATOR_HOST"];

/// The variables of clouds, and access to files.
pub(crate) fn environment() -> Environment {
    let is_of_cloud = |name: &str| PREFIXES.iter().any(|prefix| name.starts_with(prefix));
    let variables = std::env::vars_os().filter_map(|(name, value)| {
        let (name, value) = (name.into_string().ok()?, value.into_string().ok()?);
        is_of_cloud(&name).then_some((name, value))
    });
    Environment {
        variables: variables.collect(),
        read: Arc::new(|path| std::fs::read_to_string(path)),
    }
}
