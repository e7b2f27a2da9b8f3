//! Logs in the format of Flux's controllers: one JSON object per line on stderr, with `level`, `ts`, `msg` and the fields of
//! the pass: `controller`, `controllerKind`, `name`, `namespace`, `reconcileID`. `flux logs` reads these.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt;
use std::io::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use jiff::Timestamp;
use serde_json::{Map, Value, json};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

thread_local! {
    /// The current spans of this thread, innermost last.
    static ENTERED: RefCell<Vec<u64>> = const { RefCell::new(Vec::new()) };
}

/// A span: its fields, and its reference count.
struct Span {
    fields: Map<String, Value>,
    holders: usize,
}

/// Writes events of at least its level, with the fields of their spans.
pub(crate) struct JsonLines {
    level: Level,
    console: bool,
    next: AtomicU64,
    spans: Mutex<HashMap<u64, Span>>,
}

impl JsonLines {
    /// With a minimum level, and whether lines are for people.
    pub(crate) fn new(level: Level, console: bool) -> Self {
        Self { level, console, next: AtomicU64::new(1), spans: Mutex::default() }
    }

    fn spans(&self) -> std::sync::MutexGuard<'_, HashMap<u64, Span>> {
        self.spans.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The line of an event at a time.
    fn line(&self, event: &Event<'_>, now: Timestamp) -> String {
        let level = match *event.metadata().level() {
            Level::ERROR => "error",
            Level::WARN | Level::INFO => "info",
            Level::DEBUG => "debug",
            Level::TRACE => "trace",
        };
        let time = now.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string();
        let mut around = Map::new();
        ENTERED.with_borrow(|entered| {
            let spans = self.spans();
            for span in entered.iter().filter_map(|id| spans.get(id)) {
                around.extend(span.fields.clone());
            }
        });
        let object = around.get("controllerKind").and_then(Value::as_str).map(str::to_owned);
        if let Some(kind) = object {
            let named = json!({"name": around.get("name"), "namespace": around.get("namespace")});
            around.insert(kind, named);
        }
        let mut fields = Fields(around);
        event.record(&mut fields);
        let mut line = fields.0;
        let message = line.remove("msg").unwrap_or_default();
        if self.console {
            let text = message.as_str().unwrap_or_default();
            return format!("{time}\t{}\t{text}\t{}", level.to_uppercase(), Value::Object(line));
        }
        line.insert("level".to_owned(), level.into());
        line.insert("ts".to_owned(), time.into());
        line.insert("msg".to_owned(), message);
        Value::Object(line).to_string()
    }
}

impl Subscriber for JsonLines {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() <= self.level && metadata.target().starts_with("sluice")
    }

    fn new_span(&self, attributes: &Attributes<'_>) -> Id {
        let id = self.next.fetch_add(1, Ordering::Relaxed).max(1);
        let mut fields = Fields(Map::new());
        attributes.record(&mut fields);
        self.spans().insert(id, Span { fields: fields.0, holders: 1 });
        Id::from_u64(id)
    }

    fn record(&self, id: &Id, record: &Record<'_>) {
        let mut fields = Fields(Map::new());
        record.record(&mut fields);
        if let Some(span) = self.spans().get_mut(&id.into_u64()) {
            span.fields.extend(fields.0);
        }
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let line = self.line(event, Timestamp::now());
        // stderr is closed.
        let _ = writeln!(std::io::stderr().lock(), "{line}");
    }

    fn enter(&self, id: &Id) {
        ENTERED.with_borrow_mut(|entered| entered.push(id.into_u64()));
    }

    fn exit(&self, id: &Id) {
        ENTERED.with_borrow_mut(|entered| {
            if let Some(at) = entered.iter().rposition(|it| *it == id.into_u64()) {
                entered.remove(at);
            }
        });
    }

    fn clone_span(&self, id: &Id) -> Id {
        if let Some(span) = self.spans().get_mut(&id.into_u64()) {
            span.holders += 1;
        }
        id.clone()
    }

    fn try_close(&self, id: Id) -> bool {
        let mut spans = self.spans();
        let Some(span) = spans.get_mut(&id.into_u64()) else { return false };
        span.holders = span.holders.saturating_sub(1);
        let is_over = span.holders == 0;
        if is_over {
            spans.remove(&id.into_u64());
        }
        is_over
    }
}

struct Fields(Map<String, Value>);

impl Fields {
    fn put(&mut self, field: &Field, value: Value) {
        let name = if field.name() == "message" { "msg" } else { field.name() };
        self.0.insert(name.to_owned(), value);
    }
}

impl Visit for Fields {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.put(field, value.into());
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.put(field, value.into());
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.put(field, value.into());
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.put(field, value.into());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.put(field, format!("{value:?}").into());
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use serde_json::Value;
    use tracing::subscriber::with_default;
    use tracing::{Event, Level, Metadata, Subscriber, info, info_span};

    use super::JsonLines;

    /// Collects the lines for tests.
    struct Kept(JsonLines, &'static Mutex<Vec<String>>);

    impl Subscriber for Kept {
        fn enabled(&self, metadata: &Metadata<'_>) -> bool {
            self.0.enabled(metadata)
        }
        fn new_span(&self, attributes: &tracing::span::Attributes<'_>) -> tracing::Id {
            self.0.new_span(attributes)
        }
        fn record(&self, id: &tracing::Id, record: &tracing::span::Record<'_>) {
            self.0.record(id, record);
        }
        fn record_follows_from(&self, _: &tracing::Id, _: &tracing::Id) {}
        fn event(&self, event: &Event<'_>) {
            let line = self.0.line(event, jiff::Timestamp::UNIX_EPOCH);
            self.1.lock().unwrap().push(line);
        }
        fn enter(&self, id: &tracing::Id) {
            self.0.enter(id);
        }
        fn exit(&self, id: &tracing::Id) {
            self.0.exit(id);
        }
        fn clone_span(&self, id: &tracing::Id) -> tracing::Id {
            self.0.clone_span(id)
        }
        fn try_close(&self, id: tracing::Id) -> bool {
            self.0.try_close(id)
        }
    }

    #[test]
    fn a_line_says_which_pass_it_is_about() {
        static LINES: Mutex<Vec<String>> = Mutex::new(Vec::new());
        with_default(Kept(JsonLines::new(Level::INFO, false), &LINES), || {
            let span = info_span!(
                "pass",
                controller = "kustomization",
                controllerKind = "Kustomization",
                name = "apps",
                namespace = "flux-system",
                reconcileID = "1-2",
            );
            span.in_scope(|| info!(revision = "main@sha1:1", "Reconciliation finished"));
            drop(span);
            info!("outside");
        });
        let lines = LINES.lock().unwrap();
        let line: Value = serde_json::from_str(&lines[0]).unwrap();
        for (key, expected) in [
            ("ts", "1970-01-01T00:00:00.000Z"),
            ("level", "info"),
            ("msg", "Reconciliation finished"),
            ("controller", "kustomization"),
            ("controllerKind", "Kustomization"),
            ("name", "apps"),
            ("namespace", "flux-system"),
            ("reconcileID", "1-2"),
            ("revision", "main@sha1:1"),
        ] {
            assert_eq!(line[key], expected, "{key}");
        }
        assert_eq!(line["Kustomization"]["name"], "apps");
        assert!(!lines[1].contains("apps"), "{}", lines[1]);
    }
}
