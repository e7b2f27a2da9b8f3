//! What the process was started with, as far as clouds look at it. It is handed in.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use crate::CloudError;

/// Reads a file.
pub type ReadFile = dyn Fn(&str) -> std::io::Result<String> + Send + Sync;

/// Variables, and the files that they name.
#[derive(Clone)]
pub struct Environment {
    /// Variables by name.
    pub variables: BTreeMap<String, String>,
    /// Reads a file that a variable names: tokens are renewed there.
    pub read: Arc<ReadFile>,
}

impl Default for Environment {
    /// Nothing at all.
    fn default() -> Self {
        let read = |_: &str| Err(std::io::ErrorKind::NotFound.into());
        Self { variables: BTreeMap::new(), read: Arc::new(read) }
    }
}

/// Names, never values.
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

    /// The address of a service that a variable may name, without a slash at its end.
    pub fn address(&self, name: &str, default: &str) -> String {
        self.get(name).unwrap_or(default).trim_end_matches('/').to_owned()
    }

    /// What a file holds.
    pub fn file(&self, path: &str) -> Result<String, CloudError> {
        (self.read)(path).map_err(|error| CloudError(format!("cannot read {path}: {error}")))
    }
}
