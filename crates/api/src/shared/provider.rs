//! Whose credentials sources use.

use crate::schema::choice;

choice! {
    /// Whose credentials to use: given ones, or those of a cloud.
    pub enum CloudProvider {
        Generic = "generic",
        Aws = "aws",
        Azure = "azure",
        Gcp = "gcp",
    }
}
