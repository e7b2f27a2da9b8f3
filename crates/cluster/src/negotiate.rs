//! Content negotiation: the `Accept` header.

use http::HeaderMap;
use http::header::{ACCEPT, USER_AGENT};

use crate::request::Query;
use crate::status::Status;

/// The encoding of a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Encoding {
    Json,
    /// JSON for people with a browser or curl.
    Indented,
    Yaml,
}

impl Encoding {
    /// The media type of the answer.
    pub(crate) fn content_type(self) -> &'static str {
        match self {
            Self::Json | Self::Indented => "application/json",
            Self::Yaml => "application/yaml",
        }
    }
}

/// The content of a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// The object.
    Object,
    /// `PartialObjectMetadata`.
    Metadata,
    /// `PartialObjectMetadataList`.
    MetadataList,
    /// A table for people.
    Table,
    /// A table in the older version `meta.k8s.io/v1beta1`.
    OldTable,
}

/// The outcome of a negotiation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Wanted {
    pub(crate) encoding: Encoding,
    pub(crate) form: Form,
}

const ACCEPTED: &str = "application/json, application/yaml, application/vnd.kubernetes.protobuf";

/// Reads the `Accept` headers. Clauses are tried in their order, as upstream does.
pub(crate) fn negotiate(headers: &HeaderMap, query: &Query) -> Result<Wanted, Status> {
    let texts: Vec<&str> =
        headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok()).collect();
    let text = texts.join(",");
    let mut wanted = if text.trim().is_empty() {
        Wanted { encoding: Encoding::Json, form: Form::Object }
    } else {
        choose(&clauses(&text))?
    };
    if wanted.encoding == Encoding::Json && is_pretty(headers, query) {
        wanted.encoding = Encoding::Indented;
    }
    Ok(wanted)
}

fn choose(clauses: &[Clause<'_>]) -> Result<Wanted, Status> {
    if let Some(wanted) = clauses.iter().find_map(read_clause) {
        return Ok(wanted);
    }
    let served = clauses.iter().any(|clause| encoding_of(clause.media_type).is_some());
    if served {
        let message = format!("only the following media types are accepted: {ACCEPTED}");
        return Err(Status::new(406, "NotAcceptable", message));
    }
    // The router rejects types that no encoder supports before the resource is looked up.
    let message = format!("406: Not Acceptable\n\nAvailable representations: {ACCEPTED}");
    Err(Status::new(406, "NotAcceptable", message).with_details(serde_json::json!({})))
}

/// Whether to indent the response: by the `pretty` parameter, or for browsers and curl.
fn is_pretty(headers: &HeaderMap, query: &Query) -> bool {
    if query.get("pretty").is_some() {
        return query.flag("pretty");
    }
    let agent = headers.get(USER_AGENT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    ["curl", "Wget", "Mozilla/5.0"].iter().any(|name| agent.starts_with(name))
}

/// One media type with its parameters.
#[derive(Debug)]
pub(crate) struct Clause<'a> {
    pub(crate) media_type: &'a str,
    pub(crate) parameters: Vec<(&'a str, &'a str)>,
    quality: f32,
}

/// The clauses of an `Accept` header, best quality first, otherwise in their order.
pub(crate) fn clauses(text: &str) -> Vec<Clause<'_>> {
    let mut out: Vec<Clause<'_>> = text
        .split(',')
        .map(|clause| {
            let mut parts = clause.split(';').map(str::trim);
            let media_type = parts.next().unwrap_or_default();
            let parameters: Vec<(&str, &str)> =
                parts.filter_map(|part| part.split_once('=')).collect();
            let quality = parameters
                .iter()
                .find(|(name, _)| *name == "q")
                .and_then(|(_, value)| value.parse().ok())
                .unwrap_or(1.0);
            Clause { media_type, parameters, quality }
        })
        .collect();
    out.sort_by(|left, right| right.quality.total_cmp(&left.quality));
    out
}

fn read_clause(clause: &Clause<'_>) -> Option<Wanted> {
    let encoding = encoding_of(clause.media_type)?;
    let parameter = |name: &str| {
        clause.parameters.iter().find(|(key, _)| *key == name).map(|(_, value)| *value)
    };
    let form = match parameter("as") {
        None => Form::Object,
        Some(kind) => {
            let known = parameter("g") == Some("meta.k8s.io")
                && matches!(parameter("v"), Some("v1" | "v1beta1"));
            match kind {
                "Table" if known && parameter("v") == Some("v1beta1") => Form::OldTable,
                "Table" if known => Form::Table,
                "PartialObjectMetadata" if known => Form::Metadata,
                "PartialObjectMetadataList" if known => Form::MetadataList,
                _ => return None,
            }
        }
    };
    Some(Wanted { encoding, form })
}

fn encoding_of(media_type: &str) -> Option<Encoding> {
    match media_type {
        "application/json" | "*/*" | "application/*" => Some(Encoding::Json),
        "application/yaml" => Some(Encoding::Yaml),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_clause_that_can_be_served_wins() {
        let table = "application/json;as=Table;v=v1;g=meta.k8s.io";
        let cases = [
            ("", Some((Encoding::Json, Form::Object))),
            ("*/*", Some((Encoding::Json, Form::Object))),
            (table, Some((Encoding::Json, Form::Table))),
            (
                "application/vnd.kubernetes.protobuf,application/json",
                Some((Encoding::Json, Form::Object)),
            ),
            ("application/yaml", Some((Encoding::Yaml, Form::Object))),
            (
                "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1",
                Some((Encoding::Json, Form::MetadataList)),
            ),
            ("application/json;q=0.5,application/yaml", Some((Encoding::Yaml, Form::Object))),
            ("text/html", None),
            ("application/json;as=Nothing;v=v1;g=meta.k8s.io", None),
        ];
        for (accept, expected) in cases {
            let mut headers = HeaderMap::new();
            if !accept.is_empty() {
                headers.insert(ACCEPT, accept.parse().unwrap());
            }
            let got = negotiate(&headers, &Query::default())
                .ok()
                .map(|wanted| (wanted.encoding, wanted.form));
            assert_eq!(got, expected, "{accept}");
        }
    }
}
