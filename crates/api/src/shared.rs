//! What several kinds have in common.

pub mod artifact;
pub mod condition;
pub mod health;
pub mod inventory;
pub mod kustomize;
pub mod provider;
pub mod reference;
pub mod selector;
pub mod signature;
