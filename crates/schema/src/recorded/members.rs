//! A compressed JSON object with one member per line, parsed member by member.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::sync::OnceLock;

use flate2::read::GzDecoder;
use serde_json::Value;

/// The members of a recorded file by name.
pub(crate) struct Members {
    text: String,
    places: BTreeMap<String, Member>,
}

struct Member {
    start: usize,
    end: usize,
    value: OnceLock<Value>,
}

impl Members {
    /// Unpacks a recorded file and finds its members, without parsing them.
    pub(crate) fn unpack(compressed: &[u8]) -> Self {
        let mut text = String::new();
        GzDecoder::new(compressed)
            .read_to_string(&mut text)
            .expect("because the recorded file is compiled in and a test unpacks it");
        let mut places = BTreeMap::new();
        let mut line_start = 0;
        for line in text.split_inclusive('\n') {
            let member = line.trim_end().trim_end_matches(',');
            if let Some((name, _)) =
                member.strip_prefix('"').and_then(|rest| rest.split_once("\":"))
            {
                let start = line_start + name.len() + 3;
                let end = line_start + member.len();
                places.insert(name.to_owned(), Member { start, end, value: OnceLock::new() });
            }
            line_start += line.len();
        }
        Self { text, places }
    }

    /// The member `name`.
    pub(crate) fn get(&self, name: &str) -> Option<&Value> {
        self.places.get(name).map(|member| self.parse(member))
    }

    /// The text of the member `name`, for readers that parse into types of their own.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.places.get(name).map(|member| &self.text[member.start..member.end])
    }

    /// The name of the member as it is kept here, which lives as long as the file.
    pub(crate) fn name(&self, name: &str) -> Option<&str> {
        self.places.get_key_value(name).map(|(name, _)| name.as_str())
    }

    /// All names in order.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.places.keys().map(String::as_str)
    }

    /// All members in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.places.iter().map(|(name, member)| (name.as_str(), self.parse(member)))
    }

    fn parse<'a>(&self, member: &'a Member) -> &'a Value {
        member.value.get_or_init(|| {
            serde_json::from_str(&self.text[member.start..member.end])
                .expect("because the recorded file is compiled in and a test parses it")
        })
    }
}
