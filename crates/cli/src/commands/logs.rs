//! `sluice logs`: prints the logs of the controllers, one readable line each.

mod entry;
mod pods;

use clap::ValueEnum;
use futures::AsyncBufReadExt as _;
use futures::stream::{SelectAll, StreamExt as _, TryStreamExt as _};
use k8s_openapi::api::core::v1::Pod;
use kube::api::{Api, LogParams};
use sluice_base::duration::GoDuration;

use crate::globals::Globals;
use crate::outcome::{Failure, Outcome};
use crate::session::{self, Session};
use crate::tell;
use entry::{Entry, Filter};

/// Prints the logs of the controllers.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Only lines of a level.
    #[arg(long, value_enum)]
    level: Option<Level>,
    /// Only lines about objects of a kind.
    #[arg(long)]
    kind: Option<String>,
    /// Only lines about objects with a name.
    #[arg(long)]
    name: Option<String>,
    /// Prints new lines as they are written.
    #[arg(short, long)]
    follow: bool,
    /// The number of last lines to read.
    #[arg(long, default_value_t = -1, allow_negative_numbers = true, value_name = "LINES")]
    tail: i64,
    /// The namespace of the controllers.
    #[arg(long, default_value = "flux-system", value_name = "NAME")]
    flux_namespace: String,
    /// Lines about objects of all namespaces.
    #[arg(short = 'A', long)]
    all_namespaces: bool,
    /// Only lines newer than a duration.
    #[arg(long, value_name = "DURATION")]
    since: Option<GoDuration>,
    /// Only lines after a time (RFC 3339).
    #[arg(long, value_name = "TIME")]
    since_time: Option<String>,
    /// Arguments, which are an error as in Flux.
    #[arg(hide = true)]
    rest: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Level {
    Debug,
    Info,
    Error,
}

/// Runs `sluice logs`.
pub(crate) fn run(arguments: &Arguments, globals: &Globals) -> Result<Outcome, Failure> {
    if !arguments.rest.is_empty() {
        return Err(Failure::flux("no argument required"));
    }
    session::with(globals, async |session| show(session, arguments).await)?;
    Ok(Outcome::Fine)
}

async fn show(session: &Session, arguments: &Arguments) -> Result<(), Failure> {
    let namespace = &arguments.flux_namespace;
    let pods = pods::of_flux(session, namespace).await?;
    let params = params(arguments)?;
    let filter = Filter {
        level: arguments
            .level
            .and_then(|level| level.to_possible_value().map(|v| v.get_name().to_owned())),
        kind: arguments.kind.clone(),
        name: arguments.name.clone(),
        namespace: (!arguments.all_namespaces).then(|| session.namespace.clone()),
    };
    let api: Api<Pod> = Api::namespaced(session.client.clone(), namespace);
    let mut failed = false;
    let mut followed = SelectAll::new();
    for pod in &pods {
        let container = (pod.containers > 1).then(|| "manager".to_owned());
        let stream = api.log_stream(&pod.name, &LogParams { container, ..params.clone() }).await;
        let mut lines = match stream {
            Ok(stream) => stream.lines().boxed(),
            Err(error) => {
                failed = true;
                tell::plain_error(&format!("failed getting logs: {}\n", said(&error)));
                continue;
            }
        };
        if arguments.follow && pods.len() > 1 {
            followed.push(lines);
            continue;
        }
        while let Ok(Some(line)) = lines.try_next().await {
            if !print(&line, &filter)? {
                break;
            }
        }
    }
    while let Some(line) = followed.next().await {
        let Ok(line) = line else { continue };
        print(&line, &filter)?;
    }
    if failed && !(arguments.follow && pods.len() > 1) {
        return Err(Failure::flux("failed to collect logs from all Flux pods"));
    }
    Ok(())
}

/// Prints a line if it matches; returns false when the pod's log need not be read further.
fn print(line: &str, filter: &Filter) -> Result<bool, Failure> {
    if !line.starts_with('{') {
        return Ok(true);
    }
    match serde_json::from_str::<Entry>(line) {
        Ok(entry) => {
            if filter.takes(&entry) {
                tell::data(&entry.line())?;
            }
            Ok(true)
        }
        Err(error) => {
            tell::failure(&format!("parse error: {error}"));
            Ok(false)
        }
    }
}

fn params(arguments: &Arguments) -> Result<LogParams, Failure> {
    let given = arguments.since_time.as_deref().filter(|text| !text.is_empty());
    let since = arguments.since.filter(|since| !since.to_std().is_zero());
    if given.is_some() && since.is_some() {
        return Err(Failure::flux(
            "at most one of `sinceTime` or `sinceDuration` may be specified",
        ));
    }
    let since_time = match given {
        Some(text) => Some(
            text.parse::<jiff::Timestamp>()
                .map_err(|_| Failure::flux(format!("{text} is not a valid (RFC3339) time")))?,
        ),
        None => None,
    };
    let whole = |since: GoDuration| i64::try_from((since.to_std().as_millis() + 500) / 1000).ok();
    Ok(LogParams {
        follow: arguments.follow,
        tail_lines: Some(arguments.tail).filter(|tail| *tail > -1),
        since_time,
        since_seconds: since.and_then(whole),
        ..LogParams::default()
    })
}

fn said(error: &kube::Error) -> String {
    match error {
        kube::Error::Api(status) => status.message.clone(),
        other => other.to_string(),
    }
}
