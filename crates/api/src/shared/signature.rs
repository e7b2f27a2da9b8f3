//! Signatures of charts and artifacts.

use crate::schema::{choice, object};

object! {
    /// An identity that a keyless signature must have.
    pub struct OidcIdentityMatch {
        /// Regular expression for the issuer.
        pub issuer: String,
        /// Regular expression for the subject.
        pub subject: String,
    }
}

choice! {
    /// The tool a signature was made with.
    pub enum SignatureProvider {
        Cosign = "cosign",
        Notation = "notation",
    }
}
