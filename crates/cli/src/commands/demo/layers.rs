//! How far the layers have got, read from the cluster.

use std::time::Duration;

use jiff::Timestamp;
use kube::api::{Api, ListParams};
use sluice_api::kustomize::kustomization::Kustomization;
use sluice_api::shared::condition::Condition;
use sluice_kstatus::{Assessment, Status, assess, assess_job};
use sluice_ssa::{Inventory, ObjectKey};

use super::stage::Stage;
use crate::screen::{Screen, Tone, bar};

const LAYER: &str = "platform.example.com/layer";
const OWNER: &str = "platform.example.com/owner";
/// No line is longer.
pub(super) const WIDTH: usize = 80;

/// How far a layer is with a revision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// Its turn has not come.
    Waiting,
    /// What it depends on is not ready.
    Held,
    /// Applied; its health is being proved.
    Proving,
    /// Applied and healthy.
    Ready,
    /// It cannot be applied, or did not get healthy.
    Failed,
}

/// A Kustomization of the platform.
#[derive(Debug, Clone)]
pub(super) struct Layer {
    pub(super) number: String,
    pub(super) name: String,
    pub(super) owner: String,
    /// The condition that says how it is.
    pub(super) ready: Option<Condition>,
    /// The revision that was applied and got healthy last.
    pub(super) applied: String,
    attempted: String,
    /// What it has applied.
    pub(super) objects: Vec<ObjectKey>,
}

impl Layer {
    fn of(found: &Kustomization) -> Self {
        let label = |name: &str| {
            let labels = found.metadata.labels.as_ref();
            labels.and_then(|labels| labels.get(name)).cloned().unwrap_or_default()
        };
        let status = found.status.clone().unwrap_or_default();
        let conditions = status.conditions.unwrap_or_default();
        let inventory = status.inventory.unwrap_or_default();
        Self {
            number: label(LAYER),
            name: found.metadata.name.clone().unwrap_or_default(),
            owner: label(OWNER),
            ready: conditions.into_iter().find(|condition| condition.r#type == "Ready"),
            applied: status.last_applied_revision.unwrap_or_default(),
            attempted: status.last_attempted_revision.unwrap_or_default(),
            objects: Inventory::read(&inventory).map_or(Vec::new(), |read| read.keys().to_vec()),
        }
    }

    /// How far it is with a revision.
    pub(super) fn state(&self, revision: &str) -> State {
        let Some(ready) = &self.ready else { return State::Waiting };
        match (ready.status.as_str(), ready.reason.as_str()) {
            ("True", _) if self.applied == revision => State::Ready,
            ("False", "DependencyNotReady") => State::Held,
            ("False", _) if self.attempted == revision => State::Failed,
            _ if self.attempted == revision && !self.objects.is_empty() => State::Proving,
            _ => State::Waiting,
        }
    }

    /// What its Ready condition says.
    pub(super) fn message(&self) -> &str {
        self.ready.as_ref().map_or("", |ready| &ready.message)
    }

    /// Since when its Ready condition is as it is.
    pub(super) fn since(&self) -> Timestamp {
        self.ready.as_ref().map_or(Timestamp::MAX, |ready| ready.last_transition_time.0)
    }
}

/// All layers, from the lowest up.
pub(super) async fn layers(stage: &Stage) -> Result<Vec<Layer>, kube::Error> {
    let api: Api<Kustomization> = Api::namespaced(stage.client.clone(), super::stage::FLUX);
    let list = match api.list(&ListParams::default().labels(LAYER)).await {
        Ok(list) => list,
        Err(kube::Error::Api(status)) if status.code == 404 => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut layers: Vec<Layer> = list.items.iter().map(Layer::of).collect();
    layers.sort_by(|one, other| (&one.number, &one.name).cmp(&(&other.number, &other.name)));
    Ok(layers)
}

/// How many objects of a layer are as they should be, and what the first that is not says.
pub(super) async fn progress(
    stage: &Stage,
    layer: &Layer,
) -> Result<(usize, Option<String>), kube::Error> {
    let (mut current, mut open) = (0, None);
    for key in &layer.objects {
        let assessed = stage.object(key).await?.and_then(|found| {
            let is_job = key.id.kind == "Job";
            let assessed = if is_job { assess_job(&found) } else { assess(&found, stage.now()) };
            assessed.ok()
        });
        match assessed {
            Some(Assessment { status: Status::Current, .. }) => current += 1,
            other if open.is_none() => {
                let says = other.map_or_else(String::new, |assessed| assessed.message);
                open = Some(format!("{} {}: {says}", key.id.kind, key.id.name));
            }
            _ => {}
        }
    }
    Ok((current, open))
}

/// The line of a layer: where it stands, since when, and what about it.
pub(super) fn row(
    screen: &Screen,
    layer: &Layer,
    state: State,
    at: Option<Duration>,
    progress: (usize, &str),
) -> String {
    let (word, tone) = match state {
        State::Waiting => ("waits", Tone::Faint),
        State::Held => ("held", Tone::Faint),
        State::Proving => ("proving", Tone::Strong),
        State::Ready => ("ready", Tone::Good),
        State::Failed => ("failed", Tone::Bad),
    };
    let done = if state == State::Ready { layer.objects.len() } else { progress.0 };
    // A layer whose turn has not come has done nothing, not everything that it has.
    let of = layer.objects.len().max(1);
    let at = at.map_or_else(String::new, clock);
    let head = format!("    {} {:<12} {:<9} ", layer.number, layer.name, layer.owner);
    let room = WIDTH - head.chars().count() - "██████████ proving   0:00  ".chars().count();
    let detail = shortened(progress.1, room);
    let state = screen.tone(tone, &format!("{word:<8}"));
    format!("{head}{} {state} {at:>5}  {detail}", bar(done, of)).trim_end().to_owned()
}

/// `0:04`
pub(super) fn clock(time: Duration) -> String {
    format!("{}:{:02}", time.as_secs() / 60, time.as_secs() % 60)
}

/// A text cut so that it fits.
pub(super) fn shortened(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    let start: String = text.chars().take(width.saturating_sub(1)).collect();
    format!("{}…", start.trim_end())
}

/// `needs services`
pub(super) fn held(layer: &Layer) -> String {
    let needed = layer.message().split('\'').nth(1).and_then(|id| id.split('/').nth(1));
    needed.map_or_else(|| layer.message().to_owned(), |needed| format!("needs {needed}"))
}

/// `Deployment gateway`: what a failed health check waited for, or all that is said.
pub(super) fn unhealthy(layer: &Layer) -> String {
    let waited = layer.message().split_once('[').and_then(|(_, rest)| rest.split_once(" status"));
    let mut parts = waited.map_or("", |(id, _)| id).split('/');
    match (parts.next(), parts.next_back()) {
        (Some(kind), Some(name)) => format!("{kind} {name}"),
        _ => layer.message().to_owned(),
    }
}

/// A text in lines of a width; only words longer than a line are longer.
pub(super) fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let line = lines.last_mut().expect("there is a first line and none is taken away");
        if line.is_empty() {
            word.clone_into(line);
        } else if line.chars().count() + 1 + word.chars().count() <= width {
            line.push(' ');
            line.push_str(word);
        } else {
            lines.push(word.to_owned());
        }
    }
    lines
}
