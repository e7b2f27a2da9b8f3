//! The custom resources of Flux and Flux Operator, and the CRDs made from them.
