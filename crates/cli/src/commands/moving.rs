//! `sluice move`: moves an object from one Kustomization to another across commits, without deleting it.
//!
//! The logic is in `sluice_controllers::moving`; this file prints. The command can be stopped at any time and run again:
//! it continues from the current state.

use std::fmt::Write as _;

use sluice_controllers::moving::{Move, MoveError, Progress};
use sluice_runtime::key::Key;

use crate::globals::Globals;
use crate::outcome::{Failure, Outcome};
use crate::session::{self, Session, find_resource};
use crate::tell;

/// Moves an object from one Kustomization to another without deleting it.
///
/// Within one commit this needs no command. Across commits the command marks the object first, so that it is not
/// pruned; then it waits until the old owner has released it and the new one has applied it, checks that it is still
/// the same object, and removes the mark.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The object: KIND/NAME or KIND/NAMESPACE/NAME.
    object: String,
    /// The Kustomization that owns it: ks/NAME or ks/NAMESPACE/NAME.
    #[arg(long, value_name = "KUSTOMIZATION")]
    from: String,
    /// The Kustomization that should own it.
    #[arg(long, value_name = "KUSTOMIZATION")]
    to: String,
    /// Prints the plan and its progress, and changes nothing.
    #[arg(long)]
    dry_run: bool,
    /// Aborts the move: removes the mark while the old owner still has the object.
    #[arg(long, conflicts_with = "dry_run")]
    abort: bool,
}

/// Runs `sluice move`.
pub(crate) fn run(arguments: &Arguments, globals: &Globals) -> Result<Outcome, Failure> {
    let done = session::with(globals, async |session| {
        let moving = read(session, arguments).await?;
        work(session, &moving, arguments).await
    });
    match done {
        Ok(outcome) => Ok(outcome),
        Err(failure) if failure.message() == session::DEADLINE => {
            tell::failure("not moved yet; nothing is lost: the mark keeps it");
            tell::action("run the same command again to go on, or with --abort to give it up");
            Ok(Outcome::Findings)
        }
        Err(failure) => Err(failure.in_own_style()),
    }
}

/// The parsed arguments.
async fn read(session: &Session, arguments: &Arguments) -> Result<Move, Failure> {
    let wrong = |what: &str, text: &str| {
        Failure::new(format!("{text:?} is no {what}"))
            .hint("write KIND/NAME or KIND/NAMESPACE/NAME")
    };
    let parts: Vec<&str> = arguments.object.split('/').collect();
    let (kind, namespace, name) = match parts.as_slice() {
        [kind, name] => (*kind, session.namespace.as_str(), *name),
        [kind, namespace, name] => (*kind, *namespace, *name),
        _ => return Err(wrong("object", &arguments.object)),
    };
    let found = find_resource(&session.client, kind).await?;
    let namespace = if found.namespaced { namespace } else { "" };
    let owner = |text: &str| {
        let parts: Vec<&str> = text.split('/').collect();
        let is_kind = |kind: &str| {
            ["ks", "kustomization", "kustomizations"].contains(&kind.to_lowercase().as_str())
        };
        match parts.as_slice() {
            [kind, name] if is_kind(kind) => Ok(Key::new(session.namespace.clone(), *name)),
            [kind, namespace, name] if is_kind(kind) => Ok(Key::new(*namespace, *name)),
            _ => Err(wrong("Kustomization", text).hint("write ks/NAME or ks/NAMESPACE/NAME")),
        }
    };
    Ok(Move {
        resource: found.resource,
        object: Key::new(namespace, name),
        from: owner(&arguments.from)?,
        to: owner(&arguments.to)?,
    })
}

async fn work(session: &Session, moving: &Move, arguments: &Arguments) -> Result<Outcome, Failure> {
    let client = &session.client;
    let seen = moving.look(client).await.map_err(failure)?;
    if arguments.dry_run {
        tell::data(&plan(moving, &seen))?;
        return Ok(Outcome::Fine);
    }
    if arguments.abort {
        return abort(session, moving, &seen).await;
    }
    if seen.is_done() {
        tell::success(&format!("{} is where it belongs already", name(moving)));
        return Ok(Outcome::Fine);
    }
    if !seen.is_marked && !seen.has_moved() {
        moving.mark(client, &seen).await.map_err(failure)?;
        tell::success(&format!("{} is marked: it will not be pruned", name(moving)));
    }
    let mut last = None;
    let moved = session
        .poll(async || {
            let seen = moving.look(client).await.map_err(failure)?;
            let stands = (seen.has_left, seen.has_arrived);
            if last.replace(stands) != Some(stands) {
                waits(moving, &seen);
            }
            if !seen.is_marked && !seen.has_moved() {
                return Err(Failure::new(format!(
                    "{} was replaced by another object",
                    name(moving)
                )));
            }
            Ok(seen.has_moved().then_some(seen))
        })
        .await?;
    if moved.is_marked {
        moving.unmark(client).await.map_err(failure)?;
        tell::success("it is the same object as before; the mark is taken away");
    }
    let after = moving.look(client).await.map_err(failure)?;
    if !after.is_done() {
        return Err(Failure::new(format!("{} is not where it belongs after all", name(moving))));
    }
    tell::success(&format!("{} is moved from {} to {}", name(moving), moving.from, moving.to));
    Ok(Outcome::Fine)
}

async fn abort(session: &Session, moving: &Move, seen: &Progress) -> Result<Outcome, Failure> {
    if seen.has_left && !seen.has_arrived {
        return Err(Failure::new(format!(
            "{} has no owner now, and would stay without one if its mark were removed",
            name(moving)
        ))
        .hint(format!("put it back where {} has it, or go on", moving.from)));
    }
    moving.unmark(&session.client).await.map_err(failure)?;
    tell::success(&format!("{} is not moved; the mark is taken away", name(moving)));
    Ok(Outcome::Fine)
}

fn name(moving: &Move) -> String {
    format!("{}/{}", moving.resource.kind, moving.object)
}

/// What the command waits for.
fn waits(moving: &Move, seen: &Progress) {
    if !seen.has_left {
        tell::waiting(&format!("commit: take it out of {} ({})", seen.source, moving.from));
    }
    if !seen.has_arrived {
        let suspended = if seen.is_awaited_suspended { ", which is suspended" } else { "" };
        tell::waiting(&format!("commit: put it into {} ({}{suspended})", seen.target, moving.to));
    }
}

/// The steps, and whether each is done.
fn plan(moving: &Move, seen: &Progress) -> String {
    let steps = [
        (seen.is_marked || seen.is_done(), "mark it, so that it is not pruned".to_owned()),
        (seen.has_left, format!("take it out of {} ({}), by a commit", seen.source, moving.from)),
        (seen.has_arrived, format!("put it into {} ({}), by a commit", seen.target, moving.to)),
        (seen.is_done(), "check that it is the same object, and take the mark away".to_owned()),
    ];
    let mut text = format!("{} from {} to {}\n", name(moving), moving.from, moving.to);
    for (number, (is_done, step)) in steps.iter().enumerate() {
        let mark = if *is_done { "done" } else { "open" };
        let _ = writeln!(text, "  {}  {mark}  {step}", number + 1);
    }
    text
}

fn failure(error: MoveError) -> Failure {
    let message = error.to_string();
    match error {
        MoveError::Api { source, .. } => Failure::caused(message, source),
        _ => Failure::new(message),
    }
}
