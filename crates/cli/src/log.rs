//! Logs as Flux's controllers write them: one JSON object in a line on stderr, with `level`, `ts` and `msg`.

use std::fmt;
use std::io::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};

use jiff::Timestamp;
use serde_json::{Map, Value};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

/// Writes what is at least as weighty as its level. Spans are not written.
pub(crate) struct JsonLines {
    level: Level,
    spans: AtomicU64,
}

impl JsonLines {
    /// With the least weighty level that is written.
    pub(crate) fn new(level: Level) -> Self {
        Self { level, spans: AtomicU64::new(1) }
    }
}

impl Subscriber for JsonLines {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() <= self.level && metadata.target().starts_with("sluice")
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(self.spans.fetch_add(1, Ordering::Relaxed).max(1))
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let level = match *event.metadata().level() {
            Level::ERROR => "error",
            Level::WARN | Level::INFO => "info",
            Level::DEBUG | Level::TRACE => "debug",
        };
        let mut line = Map::new();
        line.insert("level".to_owned(), level.into());
        line.insert("ts".to_owned(), Timestamp::now().to_string().into());
        let mut fields = Fields(line);
        event.record(&mut fields);
        // Nothing is left to do if stderr is gone.
        let _ = writeln!(std::io::stderr().lock(), "{}", Value::Object(fields.0));
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
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
