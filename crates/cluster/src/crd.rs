//! Kinds made at run time: CustomResourceDefinitions and what they serve.

pub(crate) mod openapi;
