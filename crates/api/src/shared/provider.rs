//! Providers of credentials.

use crate::schema::choice;

choice! {
    /// Provider of credentials: a Secret, or a cloud.
    pub enum CloudProvider {
        Generic = "generic",
        Aws = "aws",
        Azure = "azure",
        Gcp = "gcp",
    }
}
