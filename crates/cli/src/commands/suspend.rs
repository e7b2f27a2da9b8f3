//! `sluice suspend`: suspends the reconciliation of objects, and records by whom and why.

mod record;

use std::collections::BTreeSet;

use kube::api::ListParams;
use serde_json::json;
use sluice_api::names::sluice::SUSPENDED_BY;
use sluice_base::duration::GoDuration;

use crate::globals::Globals;
use crate::kinds::{Kind, Suspend, Target, What, text_at};
use crate::outcome::{Failure, Outcome};
use crate::session::{self, Session};
use crate::tell;
pub(crate) use record::Record;

/// Suspends the reconciliation of objects.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    target: Target<Suspend>,
    /// All objects of the kind in the namespace.
    #[arg(long, global = true)]
    all: bool,
    #[command(flatten)]
    why: Why,
}

/// What is recorded with a suspension.
#[derive(Debug, clap::Args)]
struct Why {
    /// The reason; `get -o wide` shows it.
    #[arg(long, global = true, value_name = "TEXT")]
    reason: Option<String>,
    /// The end: a time such as 2026-08-19T12:00:00Z, or a duration from now such as 4h.
    #[arg(long, global = true, value_name = "WHEN")]
    until: Option<String>,
    /// The ticket.
    #[arg(long, global = true, value_name = "ID")]
    ticket: Option<String>,
}

impl Why {
    fn is_given(&self) -> bool {
        self.reason.is_some() || self.until.is_some() || self.ticket.is_some()
    }
}

/// Runs `sluice suspend`.
pub(crate) fn run(arguments: &Arguments, globals: &Globals) -> Result<Outcome, Failure> {
    let What::One(kind) = arguments.target.what else { return Ok(Outcome::Fine) };
    if arguments.target.names.is_empty() && !arguments.all {
        return Err(Failure::flux(format!("{} name is required", kind.human)));
    }
    let suspended =
        session::with(globals, async |session| suspend(session, kind, arguments).await)?;
    if suspended > 0 && !arguments.why.is_given() {
        tell::warning("no reason is recorded: give one with --reason, --until and --ticket");
    }
    Ok(Outcome::Fine)
}

/// Suspends the named objects; returns their number.
async fn suspend(session: &Session, kind: &Kind, arguments: &Arguments) -> Result<usize, Failure> {
    let record =
        if arguments.why.is_given() { Some(arguments.why.record(session).await?) } else { None };
    if arguments.target.names.is_empty() {
        return match patch(session, kind, &ListParams::default(), record.as_ref()).await? {
            0 => Err(Failure::flux("no objects found")),
            suspended => Ok(suspended),
        };
    }
    let namespace = &session.namespace;
    let (mut seen, mut suspended) = (BTreeSet::new(), 0);
    for name in arguments.target.names.iter().filter(|name| seen.insert(*name)) {
        let params = ListParams::default().fields(&format!("metadata.name={name}"));
        match patch(session, kind, &params, record.as_ref()).await {
            Ok(0) => {
                tell::failure(&format!(
                    "{} {name} not found in {namespace} namespace",
                    kind.name()
                ));
            }
            Ok(count) => suspended += count,
            Err(failure) => tell::failure(&format!(
                "failed suspending {} {name} in {namespace} namespace: {}",
                kind.name(),
                failure.message()
            )),
        }
    }
    Ok(suspended)
}

/// Suspends the listed objects; returns their number.
async fn patch(
    session: &Session,
    kind: &Kind,
    params: &ListParams,
    record: Option<&Record>,
) -> Result<usize, Failure> {
    let objects = session.list(kind, false, params).await?;
    for object in &objects {
        let name = text_at(object, "/metadata/name");
        tell::action(&format!(
            "suspending {} {name} in {} namespace",
            kind.human, session.namespace
        ));
        let mut patch = json!({"spec": {"suspend": true}});
        if let Some(record) = record {
            patch["metadata"] = json!({"annotations": {SUSPENDED_BY: record.write()}});
        }
        session.patch(kind, name, &patch).await?;
        tell::success(&format!("{} suspended", kind.human));
    }
    Ok(objects.len())
}

impl Why {
    async fn record(&self, session: &Session) -> Result<Record, Failure> {
        let now = session::now();
        let until = match &self.until {
            None => None,
            Some(text) => Some(match GoDuration::parse(text) {
                Ok(span) => sluice_base::time::format_seconds(now + span.to_std()),
                Err(_) => text
                    .parse::<jiff::Timestamp>()
                    .map(sluice_base::time::format_seconds)
                    .map_err(|_| {
                        Failure::flux(format!(
                            "--until is neither a moment nor a duration: {text:?}"
                        ))
                    })?,
            }),
        };
        Ok(Record {
            by: record::who(session).await,
            at: sluice_base::time::format_seconds(now),
            reason: self.reason.clone(),
            until,
            ticket: self.ticket.clone(),
        })
    }
}
