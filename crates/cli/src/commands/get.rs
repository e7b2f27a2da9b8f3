//! `sluice get`: objects and their state, as `flux get` prints them.

mod selector;
mod suspension;

use clap::ValueEnum;
use futures::{StreamExt as _, TryStreamExt as _};
use kube::api::{ListParams, WatchEvent, WatchParams};
use serde_json::{Value, json};
use sluice_runtime::status::api_resource;

use crate::error_class::Classes;
use crate::globals::Globals;
use crate::kinds::{Column, Family, Get, KINDS, Kind, Target, Verb, What, text_at};
use crate::outcome::{Failure, Outcome};
use crate::session::{self, ApiFailure, Session};
use crate::{table, tell};
use selector::StatusSelector;

/// Prints objects and their state.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    target: Target<Get>,
    #[command(flatten)]
    how: How,
}

#[derive(Debug, clap::Args)]
struct How {
    /// Objects of all namespaces.
    #[arg(short = 'A', long, global = true)]
    all_namespaces: bool,
    /// Omits the headings.
    #[arg(long, global = true)]
    no_header: bool,
    /// Watches for changes.
    #[arg(short, long, global = true)]
    watch: bool,
    /// Only objects with a condition, such as ready=false or ready!=true.
    #[arg(long, global = true, value_name = "TYPE=STATUS")]
    status_selector: Option<String>,
    /// Only objects with these labels.
    #[arg(short, long, global = true, value_name = "SELECTOR")]
    label_selector: Option<String>,
    /// Includes the sources of a Kustomization or HelmRelease.
    #[arg(long, global = true)]
    show_source: bool,
    /// The output format; wide shows class, cause and place of failures, ages, and since when and why an object is suspended.
    #[arg(short, long, global = true, value_enum, default_value_t = Output::Table)]
    output: Output,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Output {
    Table,
    Wide,
    Json,
    Yaml,
}

/// Runs `sluice get`.
pub(crate) fn run(arguments: &Arguments, globals: &Globals) -> Result<Outcome, Failure> {
    let how = &arguments.how;
    let name = arguments.target.names.first().map(String::as_str);
    session::with(globals, async |session| match arguments.target.what {
        What::One(kind) if how.watch => watch(session, kind, name, how).await,
        What::One(kind) => one(session, kind, name, how).await,
        What::All(_) if how.watch => {
            Err(Failure::flux("expected a single resource type, but found all"))
        }
        What::All(family) => all(session, family, name, how).await,
    })?;
    Ok(Outcome::Fine)
}

async fn one(
    session: &Session,
    kind: &'static Kind,
    name: Option<&str>,
    how: &How,
) -> Result<(), Failure> {
    let objects = list(session, kind, name, how).await?;
    if objects.is_empty() {
        let place = place(session, how);
        return Err(Failure::flux(match name {
            Some(name) => missing(kind, name, &place),
            None => format!("no {} objects found in {place} namespace", kind.name()),
        }));
    }
    let chosen = select(kind, objects, how)?;
    match how.output {
        Output::Table | Output::Wide => {
            let classes = classes(session, &chosen, how).await;
            tell::data(&of_kind(kind, &chosen, &classes, how, false))
        }
        Output::Json | Output::Yaml => tell::data(&written(chosen, name.is_some(), how.output)),
    }
}

fn place(session: &Session, how: &How) -> String {
    if how.all_namespaces { "any".to_owned() } else { format!("{:?}", session.namespace) }
}

fn missing(kind: &Kind, name: &str, place: &str) -> String {
    format!("{} object '{name}' not found in {place} namespace", kind.name())
}

/// Several kinds, one table each. A kind that is not installed is skipped; a failing one is reported, and the next one
/// follows.
async fn all(
    session: &Session,
    family: Option<Family>,
    name: Option<&str>,
    how: &How,
) -> Result<(), Failure> {
    let mut collected = Vec::new();
    for kind in KINDS.iter().filter(|kind| kind.is_among(family)) {
        let objects = match list(session, kind, name, how).await {
            Ok(objects) => objects,
            Err(failure) if failure.is_no_kind() => continue,
            Err(failure) => {
                tell::failure(&failure.to_string());
                continue;
            }
        };
        if objects.is_empty() {
            if let Some(name) = name {
                tell::failure(&missing(kind, name, &place(session, how)));
            }
            continue;
        }
        let chosen = match select(kind, objects, how) {
            Ok(chosen) => chosen,
            Err(failure) => {
                tell::failure(failure.message());
                continue;
            }
        };
        match how.output {
            _ if chosen.is_empty() => {}
            Output::Table | Output::Wide => {
                let classes = classes(session, &chosen, how).await;
                tell::data(&format!("{}\n", of_kind(kind, &chosen, &classes, how, true)))?;
            }
            Output::Json | Output::Yaml => collected.extend(chosen),
        }
    }
    match how.output {
        Output::Table | Output::Wide => Ok(()),
        Output::Json | Output::Yaml => tell::data(&written(collected, false, how.output)),
    }
}

async fn list(
    session: &Session,
    kind: &Kind,
    name: Option<&str>,
    how: &How,
) -> Result<Vec<Value>, ApiFailure> {
    session.list(kind, how.all_namespaces, &params(name, how)?).await
}

fn params(name: Option<&str>, how: &How) -> Result<ListParams, ApiFailure> {
    let mut params = ListParams::default();
    if let Some(name) = name {
        params = params.fields(&format!("metadata.name={name}"));
    }
    if let Some(labels) = &how.label_selector {
        selector::check_labels(labels)
            .map_err(|message| ApiFailure::Refused { code: 400, message })?;
        params = params.labels(labels);
    }
    Ok(params)
}

fn select(kind: &Kind, mut objects: Vec<Value>, how: &How) -> Result<Vec<Value>, Failure> {
    if let Some(text) = how.status_selector.as_deref().filter(|text| !text.is_empty()) {
        let selector = StatusSelector::parse(text)?;
        objects.retain(|object| selector.matches(kind, object));
    }
    Ok(objects)
}

/// The class of failures, if it is shown.
async fn classes(session: &Session, objects: &[Value], how: &How) -> Classes {
    let namespace = (!how.all_namespaces).then_some(session.namespace.as_str());
    match how.output {
        Output::Wide => Classes::read(session, namespace, objects).await,
        _ => Classes::default(),
    }
}

/// The table of a kind's objects.
fn of_kind(
    kind: &Kind,
    objects: &[Value],
    classes: &Classes,
    how: &How,
    with_kind: bool,
) -> String {
    let columns = || kind.columns.iter().filter(|column| how.show_source || !is_reference(column));
    let mut headings = Vec::new();
    if !how.no_header {
        headings.extend(how.all_namespaces.then_some("Namespace"));
        headings.push("Name");
        headings.extend(columns().map(|column| column.heading()));
        headings.extend(["Ready", "Message"]);
        if how.output == Output::Wide {
            headings.extend(["Error class", "Cause", "Place", "Age", "Suspended since"]);
        }
    }
    let row = |object: &Value| {
        let mut row = Vec::new();
        if how.all_namespaces {
            row.push(text_at(object, "/metadata/namespace").to_owned());
        }
        let name = text_at(object, "/metadata/name");
        row.push(if with_kind {
            format!("{}/{name}", kind.name().to_lowercase())
        } else {
            name.to_owned()
        });
        row.extend(columns().map(|column| column.text(kind, object)));
        let (status, message) = kind.ready(object);
        row.extend([status, message]);
        if how.output == Output::Wide {
            row.push(classes.of(object).unwrap_or_default().to_owned());
            row.push(classes.causes(object).unwrap_or_default().replace('\n', "; "));
            row.push(classes.places(object).unwrap_or_default().replace('\n', "; "));
            row.push(suspension::age(object));
            row.push(suspension::summary(kind, object));
        }
        row
    };
    table::render(&headings, &objects.iter().map(row).collect::<Vec<_>>())
}

fn is_reference(column: &Column) -> bool {
    *column == Column::Reference
}

fn written(mut objects: Vec<Value>, single: bool, output: Output) -> String {
    objects.iter_mut().for_each(drop_bookkeeping);
    let document = match objects.pop() {
        Some(only) if single && objects.is_empty() => only,
        last => {
            objects.extend(last);
            json!({"apiVersion": "v1", "kind": "List", "items": objects})
        }
    };
    match output {
        Output::Json => format!("{document:#}\n"),
        _ => sluice_yaml::from_json(&document),
    }
}

/// Removes managed fields, as kubectl does.
pub(crate) fn drop_bookkeeping(object: &mut Value) {
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("managedFields");
    }
}

/// Watches the objects of a kind until the timeout.
async fn watch(
    session: &Session,
    kind: &Kind,
    name: Option<&str>,
    how: &How,
) -> Result<(), Failure> {
    let namespace = (!how.all_namespaces).then_some(session.namespace.as_str());
    let api = session.api(&api_resource(&kind.definition), namespace);
    let listed = params(name, how)?;
    let mut params = WatchParams::default();
    params.field_selector.clone_from(&listed.field_selector);
    params.label_selector.clone_from(&listed.label_selector);
    let failed = |error: kube::Error| Failure::flux(error.to_string());
    let mut changes = api.watch(&params, "0").await.map_err(failed)?.boxed();
    let mut heading = !how.no_header;
    while let Some(change) = changes.try_next().await.map_err(failed)? {
        let object = match change {
            WatchEvent::Added(object)
            | WatchEvent::Modified(object)
            | WatchEvent::Deleted(object) => serde_json::to_value(object).unwrap_or_default(),
            WatchEvent::Bookmark(_) => continue,
            WatchEvent::Error(status) => return Err(Failure::flux(status.message)),
        };
        let chosen = select(kind, vec![object], how)?;
        let classes = classes(session, &chosen, how).await;
        let mut text = of_kind(kind, &chosen, &classes, how, false);
        if !std::mem::take(&mut heading) && !how.no_header {
            text = text.split_once('\n').map(|(_, rows)| rows.to_owned()).unwrap_or_default();
        }
        tell::data(&text)?;
    }
    Ok(())
}

impl Kind {
    /// Whether `get all` shows it: everything but artifact generators, or one family.
    fn is_among(&self, family: Option<Family>) -> bool {
        let own = self.family();
        self.takes(Verb::Get)
            && own != Some(Family::Artifact)
            && (family.is_none() || own == family)
    }
}
