//! The Azure environment: public, China, government, or described by a file.

use serde_json::Value;

use crate::{CloudError, Environment};

/// The variable with the path of the file.
const FILE: &str = "AZURE_ENVIRONMENT_FILEPATH";

/// The endpoints of an Azure environment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AzureEnvironment {
    /// The endpoint of the resource manager.
    pub manager: String,
    /// The audience of tokens for the resource manager.
    pub audience: String,
    /// The suffix of registry names, if a file defines it.
    pub registry_suffix: Option<String>,
    /// Whether a file describes it.
    pub is_custom: bool,
}

impl AzureEnvironment {
    /// The environment from a file, or from the authority host.
    pub fn of(environment: &Environment) -> Result<Self, CloudError> {
        if environment.variables.contains_key(FILE) {
            return Self::of_file(environment);
        }
        let authority = environment.get("AZURE_AUTHORITY_HOST").unwrap_or_default();
        let (manager, audience) = if authority.contains("chinacloudapi.cn") {
            ("https://management.chinacloudapi.cn", "https://management.core.chinacloudapi.cn/")
        } else if authority.contains("microsoftonline.us") {
            ("https://management.usgovcloudapi.net", "https://management.core.usgovcloudapi.net/")
        } else {
            ("https://management.azure.com", "https://management.core.windows.net/")
        };
        Ok(Self {
            manager: manager.to_owned(),
            audience: audience.to_owned(),
            registry_suffix: None,
            is_custom: false,
        })
    }

    fn of_file(environment: &Environment) -> Result<Self, CloudError> {
        let path = environment
            .get(FILE)
            .ok_or_else(|| CloudError(format!("environment variable {FILE} is not set")))?;
        let text = environment.file(path)?;
        let value: Value =
            serde_json::from_str(&text).map_err(|error| CloudError(format!("{path}: {error}")))?;
        let field = |name: &str| {
            let text = value.get(name).and_then(Value::as_str);
            text.filter(|text| !text.is_empty()).map(str::to_owned)
        };
        match (field("resourceManagerEndpoint"), field("tokenAudience")) {
            (Some(manager), Some(audience)) => Ok(Self {
                manager,
                audience,
                registry_suffix: field("containerRegistryDNSSuffix"),
                is_custom: true,
            }),
            _ => Err(CloudError(
                "resourceManagerEndpoint and tokenAudience must be set in the environment file"
                    .to_owned(),
            )),
        }
    }

    /// The scope of tokens for registries.
    pub fn registry_scope(&self) -> String {
        if self.is_custom {
            return format!("{}/.default", self.manager);
        }
        "https://containerregistry.azure.net/.default".to_owned()
    }
}
