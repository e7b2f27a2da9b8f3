//! Which Azure this is: the public one, China's, the government's, or one that a file describes.

use serde_json::Value;

use crate::{CloudError, Environment};

/// The variable that names the file.
const FILE: &str = "AZURE_ENVIRONMENT_FILEPATH";

/// What differs between one Azure and another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AzureWorld {
    /// Where resources are described.
    pub manager: String,
    /// For whom tokens are that ask there.
    pub audience: String,
    /// What the names of registries end with, where a file says it.
    pub registry_suffix: Option<String>,
    /// Whether a file describes it.
    pub is_custom: bool,
}

impl AzureWorld {
    /// The one that the environment tells of: by a file, or by the address of its directory.
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
