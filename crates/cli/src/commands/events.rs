//! `sluice events`: the Kubernetes events of Flux's objects, oldest first.

mod about;

use clap::ValueEnum;
use futures::stream::{SelectAll, StreamExt as _, TryStreamExt as _};
use kube::api::{ListParams, WatchEvent, WatchParams};
use kube::discovery::ApiResource;
use serde_json::{Value, json};
use sluice_api::names::sluice::{CAUSE, PLACE};
use sluice_base::time;

use super::get::drop_bookkeeping;
use crate::age;
use crate::globals::Globals;
use crate::kinds::{self, text_at};
use crate::outcome::{Failure, Outcome};
use crate::session::{self, Session, now};
use crate::{table, tell};
use about::About;

/// Prints the events of Flux's objects.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Events of all namespaces.
    #[arg(short = 'A', long)]
    all_namespaces: bool,
    /// Prints new events as they come.
    #[arg(short, long)]
    watch: bool,
    /// Only events of a kind or an object, and of its sources.
    #[arg(long = "for", value_name = "KIND[/NAME]")]
    about: Option<String>,
    /// Only events of these types: Normal, Warning.
    #[arg(long, value_delimiter = ',', value_name = "TYPES")]
    types: Vec<String>,
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

/// The namespaces and selectors of events.
#[derive(Debug)]
struct Place {
    namespace: Option<String>,
    fields: Option<String>,
}

/// Runs `sluice events`.
pub(crate) fn run(arguments: &Arguments, globals: &Globals) -> Result<Outcome, Failure> {
    let known = |given: &String| ["normal", "warning"].contains(&given.to_lowercase().as_str());
    if let Some(other) = arguments.types.iter().find(|given| !known(given)) {
        return Err(Failure::flux(format!(
            "type '{other}' not supported. Supported types are Normal, Warning"
        )));
    }
    session::with(globals, async |session| show(session, arguments).await)?;
    Ok(Outcome::Fine)
}

async fn show(session: &Session, arguments: &Arguments) -> Result<(), Failure> {
    let own = (!arguments.all_namespaces).then(|| session.namespace.clone());
    let about = match &arguments.about {
        Some(text) => Some(About::parse(text)?),
        None => None,
    };
    let sources = match &about {
        Some(about) => about.sources(session).await?,
        None => Vec::new(),
    };
    let elsewhere = sources.iter().any(|source| Some(&source.namespace) != own.as_ref());
    let with_namespace = own.is_none() || elsewhere;
    let mut places = vec![Place { namespace: own, fields: about.as_ref().map(About::fields) }];
    places.extend(
        sources
            .iter()
            .map(|s| Place { namespace: Some(s.namespace.clone()), fields: Some(s.fields()) }),
    );
    if arguments.watch {
        return watch(session, &places, arguments, with_namespace).await;
    }
    let mut events = Vec::new();
    for place in &places {
        let mut params = ListParams::default().limit(500);
        params.field_selector.clone_from(&place.fields);
        let listed = session.list_resource(&resource(), place.namespace.as_deref(), &params).await;
        events.extend(
            listed.map_err(|error| Failure::flux(format!("error getting events: {error}")))?,
        );
    }
    events.sort_by_cached_key(last_time);
    events.retain(|event| is_wanted(event, arguments));
    events.iter_mut().for_each(drop_bookkeeping);
    match arguments.output {
        Output::Json => return tell::data(&format!("{:#}\n", list_of(&events))),
        Output::Yaml => return tell::data(&sluice_yaml::from_json(&list_of(&events))),
        Output::Table => {}
    }
    if events.is_empty() {
        tell::failure(&if arguments.all_namespaces {
            "No events found.".to_owned()
        } else {
            format!("No events found in {} namespace.", session.namespace)
        });
        return Ok(());
    }
    let rows: Vec<Vec<String>> = events.iter().map(|event| row(event, with_namespace)).collect();
    tell::data(&table::render(headings(with_namespace), &rows))
}

fn list_of(events: &[Value]) -> Value {
    json!({"apiVersion": "v1", "kind": "List", "items": events})
}

fn resource() -> ApiResource {
    ApiResource::erase::<k8s_openapi::api::core::v1::Event>(&())
}

const HEADINGS: [&str; 6] = ["Namespace", "Last seen", "Type", "Reason", "Object", "Message"];

fn headings(with_namespace: bool) -> &'static [&'static str] {
    const { HEADINGS.as_slice() }.get(usize::from(!with_namespace)..).unwrap_or_default()
}

/// Prints new events of all namespaces and selectors.
async fn watch(
    session: &Session,
    places: &[Place],
    arguments: &Arguments,
    with_namespace: bool,
) -> Result<(), Failure> {
    let failed = |error: kube::Error| Failure::flux(error.to_string());
    let mut changes = SelectAll::new();
    for place in places {
        let mut params = WatchParams::default();
        params.field_selector.clone_from(&place.fields);
        let api = session.api(&resource(), place.namespace.as_deref());
        changes.push(api.watch(&params, "0").await.map_err(failed)?.boxed());
    }
    let mut is_first = true;
    while let Some(change) = changes.try_next().await.map_err(failed)? {
        let (WatchEvent::Added(event) | WatchEvent::Modified(event)) = change else { continue };
        let event = serde_json::to_value(event).unwrap_or_default();
        if !is_wanted(&event, arguments) {
            continue;
        }
        let heading = if std::mem::take(&mut is_first) { headings(with_namespace) } else { &[] };
        tell::data(&table::render(heading, &[row(&event, with_namespace)]))?;
    }
    Ok(())
}

fn is_wanted(event: &Value, arguments: &Arguments) -> bool {
    let kind = kinds::named(text_at(event, "/involvedObject/kind"));
    let of_type = |wanted: &String| wanted.eq_ignore_ascii_case(text_at(event, "/type"));
    kind.is_some_and(about::has_events)
        && (arguments.types.is_empty() || arguments.types.iter().any(of_type))
}

fn row(event: &Value, with_namespace: bool) -> Vec<String> {
    let text = |path| text_at(event, path).to_owned();
    let object = format!("{}/{}", text("/involvedObject/kind"), text("/involvedObject/name"));
    let mut message = text("/message");
    let annotations = event.pointer("/metadata/annotations");
    for name in [CAUSE, PLACE] {
        if let Some(known) = annotations.and_then(|all| all.get(name)).and_then(Value::as_str) {
            message = format!("{} ({})", message.trim_end(), known.replace('\n', "; "));
        }
    }
    let mut row = vec![last_seen(event), text("/type"), text("/reason"), object, message];
    if with_namespace {
        row.insert(0, text("/metadata/namespace"));
    }
    row
}

/// The last time of an event; those without one come first.
fn last_time(event: &Value) -> Option<jiff::Timestamp> {
    let series = "/series/lastObservedTime";
    let path = if event.get("series").is_some_and(|series| !series.is_null()) {
        series
    } else if is_set(event, "/lastTimestamp") {
        "/lastTimestamp"
    } else {
        "/eventTime"
    };
    moment(event, path)
}

fn moment(event: &Value, path: &str) -> Option<jiff::Timestamp> {
    time::parse_micros(text_at(event, path)).or_else(|_| time::parse(text_at(event, path))).ok()
}

fn is_set(event: &Value, path: &str) -> bool {
    !text_at(event, path).is_empty()
}

fn last_seen(event: &Value) -> String {
    let since = |path| match moment(event, path) {
        Some(then) => age::human(then.duration_until(now())),
        None => "<unknown>".to_owned(),
    };
    let first =
        if is_set(event, "/eventTime") { since("/eventTime") } else { since("/firstTimestamp") };
    let count = |path: &str| event.pointer(path).and_then(Value::as_i64).unwrap_or_default();
    if event.get("series").is_some_and(|series| !series.is_null()) {
        let last = since("/series/lastObservedTime");
        format!("{last} (x{} over {first})", count("/series/count"))
    } else if count("/count") > 1 {
        format!("{} (x{} over {first})", since("/lastTimestamp"), count("/count"))
    } else {
        first
    }
}
