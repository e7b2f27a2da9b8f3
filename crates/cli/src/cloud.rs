//! What clouds look at in the environment of this process, for logins to their registries.

use std::sync::Arc;

use sluice_source::oci::CloudEnvironment;

/// What the names of their variables begin with.
const PREFIXES: [&str; 3] = ["AWS_", "AZURE_", "GCE_"];

/// The variables of clouds, and files as the disk has them.
pub(crate) fn environment() -> CloudEnvironment {
    let is_of_cloud = |name: &str| PREFIXES.iter().any(|prefix| name.starts_with(prefix));
    let variables = std::env::vars_os().filter_map(|(name, value)| {
        let (name, value) = (name.into_string().ok()?, value.into_string().ok()?);
        is_of_cloud(&name).then_some((name, value))
    });
    CloudEnvironment {
        variables: variables.collect(),
        read: Arc::new(|path| std::fs::read_to_string(path)),
    }
}
