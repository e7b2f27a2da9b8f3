//! The names of the API beside its fields: annotations, labels, finalizers, conditions, reasons and event
//! metadata. They are Flux 2.9's, except for those in [`sluice`].

pub mod annotations;
pub mod conditions;
pub mod events;
pub mod finalizers;
pub mod labels;
pub mod reasons;
pub mod sluice;

/// The value that turns something on.
pub const ENABLED: &str = "enabled";

/// The value that turns something off.
pub const DISABLED: &str = "disabled";

/// Declares names together with a list of all of them.
macro_rules! names {
    ($(#[doc = $all_doc:literal])+ $all:ident; $($(#[doc = $doc:literal])+ $name:ident = $word:literal;)+) => {
        $($(#[doc = $doc])+ pub const $name: &str = $word;)+

        $(#[doc = $all_doc])+
        pub const $all: &[&str] = &[$($name),+];
    };
}

use names;
