//! GET of a collection with `watch`: the initial state if requested, then every change.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::StreamExt as _;
use http::Response;
use serde_json::{Value, json};
use sluice_base::clock::Clock as _;
use sluice_base::go::quote;
use sluice_schema::field::{FieldError, Path};
use tokio::time::Instant;

use super::list;
use crate::body::{self, Body};
use crate::call::Call;
use crate::negotiate::{Encoding, Form};
use crate::selector::{FieldSelector, LabelSelector};
use crate::status::Status;
use crate::store::watch::{Ended, Watch};
use crate::store::{Change, Event};
use crate::table::{self, Include};

/// The interval of bookmarks.
const BOOKMARK_PERIOD: Duration = Duration::from_mins(1);
/// The shortest timeout, in seconds, of a watch that sets none; the longest is twice that.
const SHORTEST_TIMEOUT: u64 = 1800;

pub(crate) fn serve(call: &Arc<Call>) -> Result<Response<Body>, Status> {
    check_options(call)?;
    let (labels, fields) = list::selectors(call)?;
    let initial_wanted =
        call.query.get("sendInitialEvents").map(|_| call.query.flag("sendInitialEvents"));
    let since = match call.query.text("resourceVersion") {
        None => 0,
        Some(text) => list::parse_version(text).map_err(|status| {
            let message = status.message.trim_start_matches("invalid resource version: ");
            Status::new(500, "", message)
        })?,
    };
    let store = &call.state.store;
    let sends_state = initial_wanted.unwrap_or(since == 0);
    let include = super::include(call)?;
    let mut pending = VecDeque::new();
    let bookmarks = call.query.flag("allowWatchBookmarks");
    let mut form = EventForm { call: call.clone(), include, headed: false };
    let from = if sends_state {
        if since > store.revision() {
            return Err(list::too_large(since, store.revision()));
        }
        let prefix = list::prefix(call);
        let listing = store
            .list(&call.resource.storage, &prefix, None, None)
            .map_err(|_| Status::internal("the newest state could not be listed"))?;
        for (_, stored) in &listing.items {
            let object = call.resource.shape.served(&stored.value);
            if call.fits_path(&object)
                && labels.matches(&object)
                && fields.matches(&call.resource, &object)
            {
                pending.push_back(form.event("ADDED", &object));
            }
        }
        if initial_wanted == Some(true) && bookmarks {
            pending.push_back(form.bookmark(listing.revision, true));
        }
        listing.revision
    } else if since == 0 {
        store.revision()
    } else {
        since
    };
    let content_type = match call.wanted.encoding {
        Encoding::Json | Encoding::Indented => "application/json",
        Encoding::Yaml => "application/yaml;stream=watch",
    };
    let watch = match store.watch(&call.resource.storage, from) {
        Ok(watch) => watch,
        Err(ended) => {
            // As upstream's cache does: the stream begins, and its first event is the error. Clients treat a 410
            // before the stream as a failure to be retried unchanged.
            let lines = match ended {
                Ended::Closed => Vec::new(),
                Ended::Expired(oldest) => {
                    vec![form.line("ERROR", &expired(from, oldest).to_value())]
                }
            };
            return Ok(body::stream(content_type, futures::stream::iter(lines).boxed()));
        }
    };
    let timeout = match call.query.text("timeoutSeconds").and_then(|text| text.parse::<u64>().ok())
    {
        Some(seconds) if seconds > 0 => seconds,
        _ => SHORTEST_TIMEOUT + call.state.random.below(SHORTEST_TIMEOUT),
    };
    let now = Instant::now();
    let stream = Stream {
        form,
        labels,
        fields,
        prefix: list::prefix(call),
        watch,
        pending,
        bookmarks,
        next_bookmark: now + BOOKMARK_PERIOD,
        end: now + Duration::from_secs(timeout),
        over: false,
    };
    let bytes = futures::stream::unfold(stream, |mut stream| async move {
        stream.next().await.map(|bytes| (bytes, stream))
    });
    Ok(body::stream(content_type, bytes.boxed()))
}

/// 410: the history now starts after revision `oldest`.
fn expired(from: u64, oldest: u64) -> Status {
    Status::expired(format!("too old resource version: {from} ({oldest})"))
}

/// Validates sendInitialEvents, resourceVersion and resourceVersionMatch together.
fn check_options(call: &Call) -> Result<(), Status> {
    let matching = call.query.text("resourceVersionMatch");
    let initial = call.query.get("sendInitialEvents");
    let mut errors = Vec::new();
    let path = Path::new("resourceVersionMatch");
    if initial.is_some() && matching != Some("NotOlderThan") {
        errors.push(FieldError::forbidden(
            &path,
            "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan",
        ));
    }
    match (initial, matching) {
        (None, Some(_)) => errors.push(FieldError::forbidden(
            &path,
            "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided",
        )),
        (Some(_), Some(other)) if other != "NotOlderThan" => {
            errors.push(FieldError::not_supported(&path, other, &["NotOlderThan"]));
        }
        _ => {}
    }
    if call.query.text("continue").is_some() {
        errors.push(FieldError::forbidden(
            &path,
            "resourceVersionMatch is forbidden when continue is provided",
        ));
    }
    if errors.is_empty() {
        Ok(())
    } else {
        Err(Status::invalid("meta.k8s.io", "ListOptions", "", &errors))
    }
}

/// The encoding of events.
struct EventForm {
    call: Arc<Call>,
    include: Include,
    /// Whether a table's columns have been sent.
    headed: bool,
}

impl EventForm {
    fn event(&mut self, kind: &str, object: &Value) -> Bytes {
        let shown = match self.call.wanted.form {
            Form::Object => object.clone(),
            Form::Metadata | Form::MetadataList => table::partial(object),
            Form::Table | Form::OldTable => {
                let columns = &self.call.resource.columns;
                let definitions = (!self.headed).then(|| columns.definitions());
                self.headed = true;
                let row = columns.row(object, self.include, self.call.state.clock.now());
                let version = crate::metadata::text(object, "resourceVersion");
                table::table(
                    self.call.wanted.form,
                    json!({"resourceVersion": version}),
                    definitions,
                    vec![row],
                )
            }
        };
        self.line(kind, &shown)
    }

    fn bookmark(&mut self, revision: u64, initial_events_end: bool) -> Bytes {
        let resource = &self.call.resource;
        let mut object = json!({
            "kind": resource.kind,
            "apiVersion": resource.api_version(),
            "metadata": {"resourceVersion": revision.to_string()},
        });
        if initial_events_end {
            object["metadata"]["annotations"] = json!({"k8s.io/initial-events-end": "true"});
        }
        if !resource.shape.is_custom() {
            resource.shape.normalize(&mut object);
        }
        self.event("BOOKMARK", &object)
    }

    fn line(&self, kind: &str, object: &Value) -> Bytes {
        match self.call.wanted.encoding {
            Encoding::Json | Encoding::Indented => {
                let mut out = format!("{{\"type\":{},\"object\":", quote(kind));
                out.push_str(&crate::managed::to_json(object));
                out.push_str("}\n");
                out.into()
            }
            Encoding::Yaml => {
                let event = json!({"type": kind, "object": object});
                format!("---\n{}", sluice_yaml::from_json(&event)).into()
            }
        }
    }
}

struct Stream {
    form: EventForm,
    labels: LabelSelector,
    fields: FieldSelector,
    prefix: String,
    watch: Watch,
    pending: VecDeque<Bytes>,
    bookmarks: bool,
    next_bookmark: Instant,
    end: Instant,
    over: bool,
}

impl Stream {
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            if let Some(bytes) = self.pending.pop_front() {
                return Some(bytes);
            }
            if self.over {
                return None;
            }
            match self.watch.take() {
                Ok(events) => {
                    for event in events {
                        self.translate(&event);
                    }
                    if !self.pending.is_empty() {
                        continue;
                    }
                }
                Err(Ended::Closed) => return None,
                Err(Ended::Expired(oldest)) => {
                    let status = expired(self.watch.seen(), oldest).to_value();
                    self.over = true;
                    return Some(self.form.line("ERROR", &status));
                }
            }
            let wake = if self.bookmarks { self.next_bookmark.min(self.end) } else { self.end };
            tokio::select! {
                biased;
                () = self.watch.changed() => {}
                () = tokio::time::sleep_until(wake) => {
                    if wake >= self.end {
                        return None;
                    }
                    self.next_bookmark = wake + BOOKMARK_PERIOD;
                    return Some(self.form.bookmark(self.watch.seen(), false));
                }
            }
        }
    }

    /// Translates an event: an object that starts to match is added, one that stops is deleted.
    fn translate(&mut self, event: &Event) {
        if !event.key.starts_with(&self.prefix) {
            return;
        }
        let call = self.form.call.clone();
        let resource = &call.resource;
        let fits = |value: &Value| {
            call.fits_path(value)
                && self.labels.matches(value)
                && self.fields.matches(resource, value)
        };
        let object = resource.shape.served(&event.object.value);
        let before = event.previous.as_ref().map(|previous| resource.shape.served(&previous.value));
        let was = before.as_ref().is_some_and(|before| fits(before));
        let is = event.change != Change::Deleted && fits(&object);
        match (was, is) {
            (false, false) => {}
            (false, true) => {
                let line = self.form.event("ADDED", &object);
                self.pending.push_back(line);
            }
            (true, true) => {
                let line = self.form.event("MODIFIED", &object);
                self.pending.push_back(line);
            }
            (true, false) if event.change == Change::Deleted => {
                let line = self.form.event("DELETED", &object);
                self.pending.push_back(line);
            }
            (true, false) => {
                // The last state that matched, at the revision at which it stopped matching.
                let mut last = before.map(std::borrow::Cow::into_owned).unwrap_or_default();
                crate::metadata::set(
                    &mut last,
                    "resourceVersion",
                    event.object.revision.to_string(),
                );
                let line = self.form.event("DELETED", &last);
                self.pending.push_back(line);
            }
        }
    }
}
