//! `sluice stats`: counts the running, failing and suspended objects of each kind, and names the bottleneck.

mod bottleneck;

use clap::ValueEnum;
use kube::api::ListParams;
use serde_json::{Value, json};

use crate::error_class::Classes;
use crate::globals::Globals;
use crate::kinds::{self, text_at};
use crate::outcome::{Failure, Outcome};
use crate::session::{self, Session};
use crate::{table, tell};

/// Counts objects of Flux and names the bottleneck.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Objects of all namespaces.
    #[arg(short = 'A', long)]
    all_namespaces: bool,
    /// The output format.
    #[arg(short, long, value_enum, default_value_t = Output::Table)]
    output: Output,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Output {
    Table,
    Json,
    Yaml,
}

/// The kinds that are counted, in their order.
const COUNTED: [&str; 13] = [
    "GitRepository",
    "OCIRepository",
    "HelmRepository",
    "HelmChart",
    "Bucket",
    "Kustomization",
    "HelmRelease",
    "Alert",
    "Provider",
    "Receiver",
    "ImageUpdateAutomation",
    "ImagePolicy",
    "ImageRepository",
];

const HEADINGS: [&str; 5] = ["Reconcilers", "Running", "Failing", "Suspended", "Storage"];

/// Counts of one kind.
#[derive(Debug, Default)]
struct Count {
    kind: &'static str,
    running: usize,
    failing: usize,
    suspended: usize,
    bytes: i64,
}

/// Runs `sluice stats`.
pub(crate) fn run(arguments: &Arguments, globals: &Globals) -> Result<Outcome, Failure> {
    session::with(globals, async |session| show(session, arguments).await)?;
    Ok(Outcome::Fine)
}

async fn show(session: &Session, arguments: &Arguments) -> Result<(), Failure> {
    let mut counts = Vec::new();
    let mut all = Vec::new();
    for kind in COUNTED.into_iter().filter_map(kinds::named) {
        // A kind that cannot be listed counts as empty, as in Flux.
        let objects = session.list(kind, arguments.all_namespaces, &ListParams::default()).await;
        let objects = objects.unwrap_or_default();
        counts.push(Count::of(kind.name(), &objects));
        all.extend(objects);
    }
    let namespace = (!arguments.all_namespaces).then_some(session.namespace.as_str());
    let bottleneck = bottleneck::find(&all);
    let counted = |classes: &Classes| {
        json!({
            "failingByClass": classes.count(&all),
            "reconcilers": counts.iter().map(Count::to_value).collect::<Vec<_>>(),
            "bottleneck": bottleneck.as_ref().map(bottleneck::Bottleneck::to_value),
        })
    };
    match arguments.output {
        Output::Table => {
            tell::data(&table::render(
                &HEADINGS,
                &counts.iter().map(Count::row).collect::<Vec<_>>(),
            ))?;
            if let Some(found) = &bottleneck {
                tell::warning(&found.summary());
            }
            Ok(())
        }
        Output::Json | Output::Yaml => {
            let counted = counted(&Classes::read(session, namespace, &all).await);
            tell::data(&match arguments.output {
                Output::Json => format!("{counted:#}\n"),
                _ => sluice_yaml::from_json(&counted),
            })
        }
    }
}

impl Count {
    fn of(kind: &'static str, objects: &[Value]) -> Self {
        let mut count = Self { kind, ..Self::default() };
        for object in objects {
            let suspended = object.pointer("/spec/suspend").and_then(Value::as_bool);
            if suspended.unwrap_or_default() {
                count.suspended += 1;
            } else {
                count.running += 1;
            }
            let conditions = object.pointer("/status/conditions").and_then(Value::as_array);
            let fails = |one: &&Value| {
                text_at(one, "/type") == "Ready" && text_at(one, "/status") == "False"
            };
            count.failing += conditions.into_iter().flatten().filter(fails).count();
            let size = object.pointer("/status/artifact/size").and_then(Value::as_i64);
            count.bytes += size.unwrap_or_default();
        }
        count
    }

    fn row(&self) -> Vec<String> {
        vec![
            self.kind.to_owned(),
            self.running.to_string(),
            self.failing.to_string(),
            self.suspended.to_string(),
            size(self.bytes),
        ]
    }

    fn to_value(&self) -> Value {
        json!({
            "kind": self.kind,
            "running": self.running,
            "failing": self.failing,
            "suspended": self.suspended,
            "storageBytes": self.bytes,
        })
    }
}

/// Bytes for people, in powers of 1024.
fn size(bytes: i64) -> String {
    match bytes {
        0 => "-".to_owned(),
        _ if bytes < 1024 => format!("{bytes} B"),
        _ => {
            let (mut unit, mut units) =
                (1024_i64, ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"].iter());
            let mut name = units.next();
            while bytes / unit >= 1024 {
                unit *= 1024;
                name = units.next();
            }
            // Tenths, rounded half to even as Go prints them; exact in 128 bits.
            #[expect(clippy::cast_precision_loss, reason = "one digit behind the point is printed")]
            let value = bytes as f64 / unit as f64;
            format!("{value:.1} {}", name.unwrap_or(&"EiB"))
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn sizes_have_one_digit_behind_the_point() {
        let table = [
            (0, "-"),
            (1, "1 B"),
            (1023, "1023 B"),
            (1024, "1.0 KiB"),
            (1536, "1.5 KiB"),
            (1_048_575, "1024.0 KiB"),
            (1_048_576, "1.0 MiB"),
            (5_368_709_120, "5.0 GiB"),
        ];
        for (bytes, text) in table {
            assert_eq!(super::size(bytes), text);
        }
    }
}
