//! How controllers are operated: metrics, shard, namespace, backoff, concurrency, and the gate of a Topology.

use std::collections::BTreeMap;
use std::sync::Arc;

use sluice_runtime::gate::SharedGate;
use sluice_runtime::metrics::Metrics;
use sluice_runtime::queue::Backoff;
use sluice_runtime::selector::Selector;

use crate::table::Controller;

/// How controllers are operated. By default every object is theirs, and no gate holds any.
#[derive(Debug, Clone, Default)]
pub struct Operation {
    /// Takes metrics.
    pub metrics: Arc<Metrics>,
    /// `--watch-label-selector`: the objects that are theirs. Sources of others are only built from.
    pub shard: Selector,
    /// The one namespace that is watched, with `--watch-all-namespaces=false`.
    pub namespace: Option<String>,
    /// `--min-retry-delay` and `--max-retry-delay`
    pub backoff: Backoff,
    /// How many objects of a kind are worked on at a time, where a controller has a number of its own.
    pub concurrent: BTreeMap<Controller, usize>,
    /// Asked before objects take in new revisions.
    pub gate: SharedGate,
}

/// A name for a pass, from chance between 0 and 1: a version 4 uuid.
pub fn new_id(chance: &(dyn Fn() -> f64 + Send + Sync)) -> String {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the fraction of 32 bits fits them"
    )]
    let bits = || (chance() * f64::from(u32::MAX)) as u32;
    let (first, second, third, fourth) = (bits(), bits(), bits(), bits());
    format!(
        "{first:08x}-{:04x}-4{:03x}-{:04x}-{:04x}{fourth:08x}",
        second >> 16,
        second & 0xfff,
        (third >> 16) & 0x3fff | 0x8000,
        third & 0xffff,
    )
}
