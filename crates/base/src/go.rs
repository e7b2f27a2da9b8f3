//! Go's own behaviour, once for the whole product: quoting, printing of floats and values, regular expressions.
//!
//! Texts that upstream's programs print are observable, so each function here is compared with Go by the ten
//! thousand (`conformance/golayer`, `tests/go_layer.rs`). JSON is in [`crate::gojson`], durations and times in
//! [`crate::duration`] and [`crate::time`], label selectors in [`crate::labels`].

pub mod float;
pub mod quote;
pub mod regexp;
pub mod value;

pub use quote::quote;
