//! `sluice diff kustomization`.

use std::collections::BTreeSet;
use std::io::IsTerminal as _;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use serde_json::Value;
use sluice_api::Kustomization;
use sluice_base::clock::Clock;
use sluice_kustomize::flux::BuiltObject;
use sluice_ssa::{
    Action, Applier, ApplyOptions, Desired, Discovery, IgnoreRules, Inventory, ObjectKey, Owner,
    Planned, normalise, outdated,
};

use super::report::{Colours, report};
use crate::commands::build::{Build, Inputs, MASK, invalid_path, is_kustomization, is_same};
use crate::globals::Globals;
use crate::kinds::text_at;
use crate::outcome::{Failure, Outcome};
use crate::place;
use crate::session::{self, Session};
use crate::tell;

/// Compares what a Kustomization would apply, with the files of this machine as its source, with the
/// cluster. Values of Secrets are masked.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    inputs: Inputs,
    /// A Kustomization that the cluster does not have counts as new; needs --kustomization-file.
    #[arg(long)]
    ignore_not_found: bool,
    /// Taken for Flux's sake: there is no progress bar.
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    _progress_bar: Option<bool>,
}

/// Runs the command.
pub(super) fn run(arguments: &Arguments, globals: &Globals) -> Result<Outcome, Failure> {
    let inputs = &arguments.inputs;
    inputs.name()?;
    let path = inputs.directory();
    let path = path.ok_or_else(|| invalid_path(inputs.typed()).of_comparison())?;
    inputs.check_file()?;
    if arguments.ignore_not_found && inputs.kustomization_file.is_none() {
        let why = "kustomization file is required when assuming new kustomizations";
        return Err(Failure::flux(why).of_comparison());
    }
    let build = Build {
        // Each Kustomization that is found is compared on its own, not built into this one.
        recursive: false,
        ignore_not_found: arguments.ignore_not_found,
        ..inputs.build(path, globals)?
    };
    let colours = Colours::of(std::io::stdout().is_terminal());
    let found = session::with(globals, async |session| {
        let comparison = Comparison { session, colours, recursive: inputs.recursive };
        comparison.run(&build).await
    });
    let (text, differs) = found.map_err(Failure::of_comparison)?;
    tell::data(&text)?;
    if !differs {
        return Ok(Outcome::Fine);
    }
    tell::warning("identified at least one change, exiting with non-zero exit code");
    Ok(Outcome::Findings)
}

struct Comparison<'s> {
    session: &'s Session,
    colours: Colours,
    recursive: bool,
}

impl Comparison<'_> {
    /// The report, and whether anything differs.
    async fn run(&self, build: &Build) -> Result<(String, bool), Failure> {
        let built = build.run(Some(self.session)).await?;
        let typed: Kustomization = serde_json::from_value(built.kustomization.clone())
            .map_err(|error| Failure::flux(error.to_string()))?;
        let rules = typed.spec.ignore.as_deref().unwrap_or_default();
        let ignore =
            IgnoreRules::compile(rules).map_err(|error| Failure::flux(error.to_string()))?;
        let mut desired: Vec<Desired> = Vec::new();
        for BuiltObject { mut value, place } in built.objects {
            normalise(&mut value);
            desired.push(Desired { object: value, place });
        }
        let objects: Vec<Value> = desired.iter().map(|desired| desired.object.clone()).collect();
        let owner = Owner::kustomize();
        let options = ApplyOptions { ignore, ..ApplyOptions::kustomize(&owner, &[]) };
        let client = self.session.client.clone();
        let applier = Applier::new(client, Discovery::new(), owner, Arc::new(Wall));
        let planned = applier.plan(desired, &options).await;
        let failed = || planned.iter().filter_map(|plan| plan.as_ref().err());
        let places = place::lines_of(failed());
        let advice = outdated::advice(failed());
        let (mut out, mut differs, mut failures) = (String::new(), false, Vec::new());
        let mut seen = Vec::new();
        for (object, planned) in in_order(&objects, planned) {
            let planned = match planned {
                Ok(planned) => planned,
                Err(failure) => {
                    failures.push(failure);
                    continue;
                }
            };
            seen.push(planned.change.key.clone());
            let (text, changed) = self.told(object, &planned);
            out.push_str(&text);
            differs |= changed;
            let is_new = planned.change.action == Action::Created;
            if self.recursive
                && !is_new
                && is_kustomization(object)
                && !is_same(object, &built.kustomization)
            {
                let (text, changed) = Box::pin(self.inside(build, object)).await?;
                out.push_str(&text);
                differs |= changed;
            }
        }
        if !failures.is_empty() {
            let failure = Failure::flux(failures.join(", "));
            let hints: Vec<String> = places.into_iter().chain(advice).collect();
            if hints.is_empty() {
                return Err(failure);
            }
            return Err(failure.hint(hints.join("\nhint: ")));
        }
        if typed.spec.prune
            && let Some(stored) = typed.status.and_then(|status| status.inventory)
        {
            let old = Inventory::read(&stored).map_err(|error| Failure::flux(error.to_string()))?;
            let mut stale = old.minus(&Inventory::of_keys(seen));
            stale.sort();
            for key in stale {
                differs = true;
                out.push_str(&self.colours.removed(&format!("► {} deleted\n", subject(&key))));
            }
        }
        Ok((out, differs))
    }

    /// What is said about one object.
    fn told(&self, object: &Value, planned: &Planned) -> (String, bool) {
        let subject = subject(&planned.change.key);
        match (planned.change.action, &planned.drift) {
            (Action::Skipped, _) => (self.colours.noted(&format!("► {subject} skipped\n")), false),
            (Action::Created, _) => (self.colours.added(&format!("► {subject} created\n")), true),
            (Action::Configured, Some((live, merged))) => {
                let (mut live, mut merged) = (live.clone(), merged.clone());
                if is_masked(object) && !hide_values(&mut live, &mut merged) {
                    return (String::new(), false);
                }
                let report = report(&live, &merged, self.colours);
                (format!("► {subject} drifted\n{report}"), true)
            }
            _ => (String::new(), false),
        }
    }

    /// A Kustomization in this one.
    async fn inside(&self, build: &Build, object: &Value) -> Result<(String, bool), Failure> {
        let shown = subject(&ObjectKey::of(object));
        if object.pointer("/spec/kubeConfig").is_some() {
            let text = format!("⚠️ {shown} skipped: diff not supported for remote clusters\n");
            return Ok((self.colours.noted(&text), false));
        }
        let (text, differs) = self.run(&build.inside(object)?).await?;
        Ok(if differs {
            (format!("📁 {shown} changed\n{text}"), true)
        } else {
            (String::new(), false)
        })
    }
}

/// The plans in the order of the objects; plans come in the order of applying.
fn in_order(
    objects: &[Value],
    planned: Vec<Result<Planned, sluice_ssa::Failure>>,
) -> Vec<(&Value, Result<Planned, String>)> {
    let mut rest: Vec<Option<Result<Planned, sluice_ssa::Failure>>> =
        planned.into_iter().map(Some).collect();
    let mut ordered = Vec::new();
    for object in objects {
        let key = ObjectKey::of(object);
        let is_it = |plan: &Option<Result<Planned, sluice_ssa::Failure>>| {
            let of = match plan {
                Some(Ok(planned)) => Some(&planned.change.key.id),
                Some(Err(failure)) => failure.object.as_ref().map(|key| &key.id),
                None => None,
            };
            of.is_some_and(|id| {
                // Objects of the whole cluster lose a namespace that was written for them.
                (&id.group, &id.kind, &id.name) == (&key.id.group, &key.id.kind, &key.id.name)
                    && (id.namespace == key.id.namespace || id.namespace.is_empty())
            })
        };
        if let Some(plan) = rest.iter_mut().find(|plan| is_it(plan)).and_then(Option::take) {
            ordered.push((object, plan.map_err(|failure| failure.to_string())));
        }
    }
    ordered.extend(
        rest.into_iter().flatten().filter_map(|plan| {
            Some((objects.first()?, plan.map_err(|failure| failure.to_string())))
        }),
    );
    ordered
}

/// `Kind/namespace/name`.
fn subject(key: &ObjectKey) -> String {
    let id = &key.id;
    if id.namespace.is_empty() {
        format!("{}/{}", id.kind, id.name)
    } else {
        format!("{}/{}/{}", id.kind, id.namespace, id.name)
    }
}

/// Whether the build has masked values of a Secret.
fn is_masked(object: &Value) -> bool {
    let values = object.get("data").and_then(Value::as_object);
    let has_mask = |value: &Value| {
        let decoded = STANDARD.decode(value.as_str().unwrap_or_default()).unwrap_or_default();
        String::from_utf8_lossy(&decoded).contains(MASK)
    };
    text_at(object, "/kind") == "Secret"
        && values.is_some_and(|values| values.values().any(has_mask))
}

/// Hides values that nobody could compare; says whether the names differ.
fn hide_values(live: &mut Value, merged: &mut Value) -> bool {
    let names = |object: &mut Value| -> BTreeSet<String> {
        let values = object.get_mut("data").and_then(Value::as_object_mut);
        let mut names = BTreeSet::new();
        for (name, value) in values.into_iter().flatten() {
            *value = "*****".into();
            names.insert(name.clone());
        }
        names
    };
    names(live) != names(merged)
}

struct Wall;

impl Clock for Wall {
    fn now(&self) -> Timestamp {
        session::now()
    }
}
