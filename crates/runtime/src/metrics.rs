//! Numbers about what the controllers do, for Prometheus.
//!
//! A [`Metrics`] is a handle that is handed around, never a global: simulations side by side count apart. What
//! there is to count is a table in `names`; a series comes into being with its first value, and those of an
//! object go with it.

pub mod names;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What a number is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// It only grows.
    Counter,
    /// It is what it is now.
    Gauge,
    /// Many values, counted by size.
    Histogram(Buckets),
}

/// The upper bounds of a histogram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Buckets {
    /// Ten, growing by the same factor from 10 ms to half an hour.
    Reconciliation,
    /// Forty, from 5 ms to a minute.
    Pass,
    /// Ten, growing tenfold from 10 ns.
    Work,
}

impl Buckets {
    fn bounds(self) -> Vec<f64> {
        match self {
            Self::Reconciliation => {
                let (least, most, steps) = (0.01_f64, 1800.0_f64, 10_i32);
                let factor = (most / least).powf(1.0 / f64::from(steps - 1));
                (0..steps).map(|step| least * factor.powi(step)).collect()
            }
            Self::Pass => PASS.to_vec(),
            Self::Work => (-8..=1).map(|power| 10_f64.powi(power)).collect(),
        }
    }
}

const PASS: [f64; 40] = [
    0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9,
    1.0, 1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 15.0, 20.0,
    25.0, 30.0, 40.0, 50.0, 60.0,
];

/// Something that is counted or measured.
#[derive(Debug)]
pub struct Metric {
    /// Its name.
    pub name: &'static str,
    /// What it is, for people.
    pub help: &'static str,
    /// What kind of number it is.
    pub kind: Kind,
    /// The names of its labels, in alphabetical order, as they are printed.
    pub labels: &'static [&'static str],
}

#[derive(Debug, Clone)]
enum Sample {
    Number(f64),
    Spread { bounds: Vec<f64>, counts: Vec<u64>, sum: f64, count: u64 },
}

struct Family {
    metric: &'static Metric,
    series: BTreeMap<Vec<String>, Sample>,
}

/// A number that is asked for when the others are read.
type Asked = (&'static Metric, Vec<String>, Box<dyn Fn() -> f64 + Send + Sync>);

#[derive(Default)]
struct Families {
    known: BTreeMap<&'static str, Family>,
    asked: Vec<Asked>,
}

/// All numbers of a process.
#[derive(Default)]
pub struct Metrics(Mutex<Families>);

impl std::fmt::Debug for Metrics {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Metrics").finish_non_exhaustive()
    }
}

impl Metrics {
    fn lock(&self) -> MutexGuard<'_, Families> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, metric: &'static Metric, labels: &[&str], change: impl FnOnce(&mut Sample)) {
        let mut families = self.lock();
        let family = families
            .known
            .entry(metric.name)
            .or_insert_with(|| Family { metric, series: BTreeMap::new() });
        let labels = labels.iter().map(|label| (*label).to_owned()).collect();
        change(family.series.entry(labels).or_insert_with(|| metric.empty()));
    }

    /// Adds to a counter.
    pub fn add(&self, metric: &'static Metric, labels: &[&str], more: f64) {
        self.change(metric, labels, |sample| {
            if let Sample::Number(number) = sample {
                *number += more;
            }
        });
    }

    /// Sets a gauge.
    pub fn set(&self, metric: &'static Metric, labels: &[&str], value: f64) {
        self.change(metric, labels, |sample| *sample = Sample::Number(value));
    }

    /// Takes a value into a histogram.
    pub fn observe(&self, metric: &'static Metric, labels: &[&str], value: f64) {
        self.change(metric, labels, |sample| {
            if let Sample::Spread { bounds, counts, sum, count } = sample {
                for (bound, below) in bounds.iter().zip(counts) {
                    *below += u64::from(value <= *bound);
                }
                *sum += value;
                *count += 1;
            }
        });
    }

    /// Forgets a series: what it was about is gone.
    pub fn forget(&self, metric: &'static Metric, labels: &[&str]) {
        if let Some(family) = self.lock().known.get_mut(metric.name) {
            let labels: Vec<String> = labels.iter().map(|label| (*label).to_owned()).collect();
            family.series.remove(&labels);
        }
    }

    /// A gauge whose value is asked for whenever the numbers are read.
    pub fn ask(
        &self,
        metric: &'static Metric,
        labels: &[&str],
        value: impl Fn() -> f64 + Send + Sync + 'static,
    ) {
        let labels = labels.iter().map(|label| (*label).to_owned()).collect();
        self.lock().asked.push((metric, labels, Box::new(value)));
    }

    /// All numbers in Prometheus' text format, in the order of their names.
    pub fn render(&self) -> String {
        let mut families = self.lock();
        let asked: Vec<_> = families
            .asked
            .iter()
            .map(|(metric, labels, value)| (*metric, labels.clone(), value()))
            .collect();
        for (metric, labels, value) in asked {
            let family = families
                .known
                .entry(metric.name)
                .or_insert_with(|| Family { metric, series: BTreeMap::new() });
            family.series.insert(labels, Sample::Number(value));
        }
        let mut out = String::new();
        for family in families.known.values().filter(|family| !family.series.is_empty()) {
            family.render(&mut out);
        }
        out
    }
}

impl Metric {
    fn empty(&self) -> Sample {
        match self.kind {
            Kind::Counter | Kind::Gauge => Sample::Number(0.0),
            Kind::Histogram(buckets) => {
                let bounds = buckets.bounds();
                Sample::Spread { counts: vec![0; bounds.len()], bounds, sum: 0.0, count: 0 }
            }
        }
    }
}

impl Family {
    fn render(&self, out: &mut String) {
        let Metric { name, help, kind, labels } = self.metric;
        let kind = match kind {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
            Kind::Histogram(_) => "histogram",
        };
        let _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} {kind}");
        for (values, sample) in &self.series {
            let pairs: Vec<String> = labels
                .iter()
                .zip(values)
                .map(|(label, value)| format!("{label}=\"{}\"", escaped(value)))
                .collect();
            let with = |more: Option<String>| {
                let all: Vec<&String> = pairs.iter().chain(more.as_ref()).collect();
                if all.is_empty() {
                    return String::new();
                }
                let all: Vec<&str> = all.into_iter().map(String::as_str).collect();
                format!("{{{}}}", all.join(","))
            };
            match sample {
                Sample::Number(number) => {
                    let _ = writeln!(out, "{name}{} {number}", with(None));
                }
                Sample::Spread { bounds, counts, sum, count } => {
                    for (bound, below) in bounds.iter().zip(counts) {
                        let bucket = with(Some(format!("le=\"{bound}\"")));
                        let _ = writeln!(out, "{name}_bucket{bucket} {below}");
                    }
                    let all = with(Some("le=\"+Inf\"".to_owned()));
                    let plain = with(None);
                    let _ = writeln!(out, "{name}_bucket{all} {count}");
                    let _ = writeln!(out, "{name}_sum{plain} {sum}\n{name}_count{plain} {count}");
                }
            }
        }
    }
}

fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::{Metrics, names};

    #[test]
    fn numbers_are_printed_as_prometheus_reads_them() {
        let metrics = Metrics::default();
        metrics.add(&names::RECONCILIATIONS, &["kustomization", "success"], 1.0);
        metrics.add(&names::RECONCILIATIONS, &["kustomization", "success"], 1.0);
        metrics.set(&names::SUSPENDED, &["Kustomization", "a\"b", "apps"], 1.0);
        metrics.observe(&names::RECONCILE_DURATION, &["Kustomization", "a", "apps"], 0.02);
        metrics.ask(&names::QUEUE_DEPTH, &["x", "x", ""], || 3.0);
        let text = metrics.render();
        for line in [
            "# TYPE controller_runtime_reconcile_total counter",
            "controller_runtime_reconcile_total{controller=\"kustomization\",result=\"success\"} 2",
            "gotk_suspend_status{kind=\"Kustomization\",name=\"a\\\"b\",namespace=\"apps\"} 1",
            "gotk_reconcile_duration_seconds_bucket{kind=\"Kustomization\",name=\"a\",namespace=\"apps\",le=\"0.01\"} 0",
            "gotk_reconcile_duration_seconds_bucket{kind=\"Kustomization\",name=\"a\",namespace=\"apps\",le=\"+Inf\"} 1",
            "gotk_reconcile_duration_seconds_sum{kind=\"Kustomization\",name=\"a\",namespace=\"apps\"} 0.02",
            "workqueue_depth{controller=\"x\",name=\"x\",priority=\"\"} 3",
        ] {
            assert!(text.lines().any(|it| it == line), "{line}\n{text}");
        }
        metrics.forget(&names::RECONCILE_DURATION, &["Kustomization", "a", "apps"]);
        assert!(!metrics.render().contains("gotk_reconcile_duration_seconds"));
    }
}
