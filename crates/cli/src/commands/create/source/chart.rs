//! `sluice create source chart`.

use serde_json::json;

use super::super::made::{Maker, Words, kind};
use super::Verification;
use crate::outcome::Failure;
use crate::tell;

/// Creates a HelmChart.
#[derive(Debug, clap::Args)]
pub(in super::super) struct Arguments {
    /// The name.
    name: Option<String>,
    /// The chart's name, or its path in the source.
    #[arg(long)]
    chart: Option<String>,
    /// The version, or a range of versions.
    #[arg(long)]
    chart_version: Option<String>,
    /// The source, as KIND/NAME.
    #[arg(long)]
    source: Option<String>,
    /// The reconcile strategy: ChartVersion or Revision.
    #[arg(long, default_value = "ChartVersion")]
    reconcile_strategy: String,
    #[command(flatten)]
    verification: Verification,
}

const KINDS: [&str; 3] = ["HelmRepository", "GitRepository", "Bucket"];

/// Runs the command.
pub(super) fn run(wanted: &Arguments, maker: &Maker<'_>) -> Result<(), Failure> {
    let name = Maker::name(wanted.name.as_deref())?;
    let source = wanted.source.as_deref();
    let source = source.ok_or_else(|| Failure::flux("chart source is required"))?;
    let refused = |why: String| {
        Failure::flux(format!("invalid argument {source:?} for \"--source\" flag: {why}"))
    };
    let parts = source
        .split_once('/')
        .filter(|(kind, name)| !kind.is_empty() && !name.is_empty() && !name.contains('/'));
    let (given, of) = parts.ok_or_else(|| {
        refused(format!("invalid helm chart source '{source}', must be in format <kind>/<name>"))
    })?;
    let source_kind = KINDS.into_iter().find(|kind| kind.eq_ignore_ascii_case(given));
    let source_kind = source_kind.ok_or_else(|| {
        let all = KINDS.join(", ");
        refused(format!("source kind '{given}' is not supported, must be one of: {all}"))
    })?;
    let chart = wanted.chart.as_deref().filter(|chart| !chart.is_empty());
    let chart = chart.ok_or_else(|| Failure::flux("chart name or path is required"))?;
    let verification = wanted.verification.spec()?;
    tell::generated("generating HelmChart source");
    let spec = json!({
        "chart": chart,
        "version": wanted.chart_version,
        "interval": maker.interval.to_string(),
        "reconcileStrategy": wanted.reconcile_strategy,
        "sourceRef": {"kind": source_kind, "name": of},
        "verify": verification,
    });
    let kind = kind("HelmChart")?;
    let object = maker.object(kind, name, &spec)?;
    if maker.export {
        return Maker::print(&object);
    }
    let words = Words { object: "HelmChart source", written: "source" };
    maker.apply_source(kind, object, &words, None)
}
