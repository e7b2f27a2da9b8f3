//! The environment variables and files of the process, as an argument.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use crate::CloudError;

/// Reads a file.
pub type ReadFile = dyn Fn(&str) -> std::io::Result<String> + Send + Sync;

/// Environment variables, and the files that they name.
#[derive(Clone)]
pub struct Environment {
    /// Variables by name.
    pub variables: BTreeMap<String, String>,
    /// Reads a file that a variable names; tokens are renewed there.
    pub read: Arc<ReadFile>,
}

impl Default for Environment {
    /// An empty environment.
    fn default() -> Self {
        let read = |_: &str| Err(std::io::ErrorKind::NotFound.into());
        Self { variables: BTreeMap::new(), read: Arc::new(read) }
    }
}

/// Shows names, never values.
impl fmt::Debug for Environment {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_set().entries(self.variables.keys()).finish()
    }
}

impl Environment {
    /// A variable that is not empty.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// The address of a service from a variable, without a final slash.
    pub fn address(&self, name: &str, default: &str) -> String {
        self.get(name).unwrap_or(default).trim_end_matches('/').to_owned()
    }

    /// The content of a file.
    pub fn file(&self, path: &str) -> Result<String, CloudError> {
        (self.read)(path).map_err(|error| CloudError(format!("cannot read {path}: {error}")))
    }
}
