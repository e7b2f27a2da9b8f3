//! GET of a collection: consistent, with selectors, in pages.

use std::borrow::Cow;
use std::ops::Deref;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::Response;
use serde_json::{Map, Value, json};
use sluice_base::clock::Clock as _;
use sluice_base::go::quote;
use sluice_schema::field::{FieldError, Path};
use sluice_schema::gotypes::Document;

use crate::body::{self, Body};
use crate::call::Call;
use crate::negotiate::Form;
use crate::selector::{FieldSelector, LabelSelector};
use crate::status::Status;
use crate::store::Unreadable;
use crate::table;

/// An item of a list: as stored, or converted to the version of the request.
pub(crate) enum Item {
    Stored(Arc<Value>),
    Made(Value),
}

impl Deref for Item {
    type Target = Value;

    fn deref(&self) -> &Value {
        match self {
            Self::Stored(value) => value,
            Self::Made(value) => value,
        }
    }
}

/// The result of a list, in the version of the request.
pub(crate) struct Selection {
    pub(crate) items: Vec<Item>,
    revision: u64,
    continue_token: Option<String>,
    remaining: Option<usize>,
}

pub(crate) fn serve(call: &Call) -> Result<Response<Body>, Status> {
    respond(call, select(call)?)
}

/// The selectors of a request.
pub(crate) fn selectors(call: &Call) -> Result<(LabelSelector, FieldSelector), Status> {
    let labels = LabelSelector::parse(call.query.get("labelSelector").unwrap_or_default())?;
    let fields = FieldSelector::parse(call.query.get("fieldSelector").unwrap_or_default())?;
    fields.check(&call.resource)?;
    Ok((labels, fields))
}

/// The key prefix of the request's scope.
pub(crate) fn prefix(call: &Call) -> String {
    if call.resource.namespaced && !call.info.namespace.is_empty() {
        format!("{}/", call.info.namespace)
    } else {
        String::new()
    }
}

/// Selects the objects of a list or delete-collection request.
pub(crate) fn select(call: &Call) -> Result<Selection, Status> {
    let (labels, fields) = selectors(call)?;
    let limit = number(call, "limit")?;
    let token = call.query.text("continue").map(Continue::decode).transpose()?;
    check_options(call)?;
    let at = revision_wanted(call, token.as_ref())?;
    let prefix = prefix(call);
    let after = token.as_ref().map(|token| format!("{prefix}{}", token.start));
    let listing = call
        .state
        .store
        .list(&call.resource.storage, &prefix, after.as_deref(), at)
        .map_err(|unreadable| explain(call, unreadable, token.as_ref(), at))?;
    let mut items = Vec::new();
    let mut rest = listing.items.iter();
    let mut last = None;
    for (key, stored) in rest.by_ref() {
        let object = call.resource.shape.served(&stored.value);
        if call.fits_path(&object)
            && labels.matches(&object)
            && fields.matches(&call.resource, &object)
        {
            items.push(match object {
                Cow::Borrowed(_) => Item::Stored(stored.value.clone()),
                Cow::Owned(made) => Item::Made(made),
            });
            last = Some(key);
            if limit.is_some_and(|limit| items.len() >= limit) {
                break;
            }
        }
    }
    let selects_all = labels.is_empty() && fields.is_empty();
    let left = rest.len();
    let continue_token = last.filter(|_| left > 0 && limit.is_some()).map(|key| {
        Continue {
            revision: Some(listing.revision),
            start: key.strip_prefix(prefix.as_str()).unwrap_or(key).to_owned(),
        }
        .encode()
    });
    let remaining = (continue_token.is_some() && selects_all).then_some(left);
    Ok(Selection { items, revision: listing.revision, continue_token, remaining })
}

/// The list, in the requested form.
pub(crate) fn respond(call: &Call, selection: Selection) -> Result<Response<Body>, Status> {
    let mut metadata = Map::new();
    metadata.insert("resourceVersion".to_owned(), selection.revision.to_string().into());
    let resource = &call.resource;
    if let Some(token) = selection.continue_token {
        metadata.insert("continue".to_owned(), token.into());
    } else if resource.shape.is_custom() && call.wanted.form == Form::Object {
        // Lists of custom objects are maps in Go, so empty fields are not omitted.
        metadata.insert("continue".to_owned(), "".into());
    }
    if let Some(remaining) = selection.remaining {
        metadata.insert("remainingItemCount".to_owned(), remaining.into());
    }
    let items = selection.items.iter().map(Deref::deref);
    let answer = match call.wanted.form {
        Form::Object => {
            let mut list = Map::new();
            list.insert("kind".to_owned(), resource.list_kind.as_str().into());
            list.insert("apiVersion".to_owned(), resource.api_version().into());
            list.insert("metadata".to_owned(), metadata.into());
            // Typed lists have the kind once; lists of custom objects with every item.
            let names = !resource.shape.is_custom();
            return Ok(body::list(call.wanted.encoding, list, items, names));
        }
        Form::Metadata | Form::MetadataList => {
            let items: Vec<Value> = items.map(table::partial).collect();
            // Upstream encodes an empty list of this kind as null.
            let items = if items.is_empty() { Value::Null } else { items.into() };
            json!({
                "kind": "PartialObjectMetadataList", "apiVersion": "meta.k8s.io/v1",
                "metadata": metadata, "items": items,
            })
        }
        Form::Table | Form::OldTable => {
            let include = super::include(call)?;
            let now = call.state.clock.now();
            let rows = resource.columns.rows(items, include, now);
            table::table(
                call.wanted.form,
                metadata.into(),
                Some(resource.columns.definitions()),
                rows,
            )
        }
    };
    Ok(body::object(200, call.wanted.encoding, &answer))
}

fn number(call: &Call, name: &str) -> Result<Option<usize>, Status> {
    let Some(text) = call.query.text(name) else { return Ok(None) };
    match text.parse::<i64>() {
        Ok(value) => Ok(usize::try_from(value).ok().filter(|value| *value > 0)),
        Err(_) => Err(Status::bad_request(format!(
            "strconv.ParseInt: parsing {}: invalid syntax",
            quote(text)
        ))),
    }
}

/// Validates resourceVersion, resourceVersionMatch and continue together.
fn check_options(call: &Call) -> Result<(), Status> {
    let matching = call.query.text("resourceVersionMatch");
    let version = call.query.text("resourceVersion");
    let continued = call.query.text("continue").is_some();
    let mut errors = Vec::new();
    if call.query.get("sendInitialEvents").is_some() {
        errors.push(FieldError::forbidden(
            &Path::new("sendInitialEvents"),
            "sendInitialEvents is forbidden for list",
        ));
    }
    if let Some(matching) = matching {
        let path = Path::new("resourceVersionMatch");
        if version.is_none() {
            errors.push(FieldError::forbidden(
                &path,
                "resourceVersionMatch is forbidden unless resourceVersion is provided",
            ));
        }
        if continued {
            errors.push(FieldError::forbidden(
                &path,
                "resourceVersionMatch is forbidden when continue is provided",
            ));
        }
        if !matches!(matching, "Exact" | "NotOlderThan") {
            errors.push(FieldError::not_supported(&path, matching, &["Exact", "NotOlderThan", ""]));
        }
        if matching == "Exact" && version == Some("0") {
            errors.push(FieldError::forbidden(
                &path,
                "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"",
            ));
        }
    }
    if errors.is_empty() {
        Ok(())
    } else {
        Err(Status::invalid("meta.k8s.io", "ListOptions", "", &errors))
    }
}

/// The revision to list at; `None` is the newest.
fn revision_wanted(call: &Call, token: Option<&Continue>) -> Result<Option<u64>, Status> {
    if let Some(token) = token {
        if call.query.text("resourceVersion").is_some_and(|version| version != "0") {
            return Err(Status::bad_request(
                "specifying resource version is not allowed when using continue",
            ));
        }
        return Ok(token.revision);
    }
    let Some(text) = call.query.text("resourceVersion") else { return Ok(None) };
    let version = parse_version(text)?;
    let exact = match call.query.text("resourceVersionMatch") {
        Some("Exact") => true,
        Some(_) => false,
        None => call.query.text("limit").is_some() && version > 0,
    };
    if version > call.state.store.revision() {
        return Err(too_large(version, call.state.store.revision()));
    }
    Ok(exact.then_some(version))
}

/// Parses a resource version of a query.
pub(crate) fn parse_version(text: &str) -> Result<u64, Status> {
    text.parse().map_err(|_| {
        let why = format!("strconv.ParseUint: parsing {}: invalid syntax", quote(text));
        let error = FieldError::invalid(&Path::new("resourceVersion"), text, why);
        Status::bad_request(format!("invalid resource version: {error}"))
    })
}

/// 504: the revision is in the future.
pub(crate) fn too_large(wanted: u64, current: u64) -> Status {
    let message = format!("Timeout: Too large resource version: {wanted}, current: {current}");
    Status::new(504, "Timeout", message).with_details(json!({
        "causes": [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}],
        "retryAfterSeconds": 1,
    }))
}

fn explain(call: &Call, why: Unreadable, token: Option<&Continue>, at: Option<u64>) -> Status {
    match (why, token) {
        (Unreadable::Compacted, Some(token)) => Status {
            continue_token: Some(Continue { revision: None, start: token.start.clone() }.encode()),
            ..Status::expired(
                "The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list.",
            )
        },
        (Unreadable::Compacted, None) => {
            Status::expired("The resourceVersion for the provided list is too old.")
        }
        (Unreadable::Future, _) => too_large(at.unwrap_or_default(), call.state.store.revision()),
    }
}

/// A continue token.
#[derive(Debug, PartialEq, Eq)]
struct Continue {
    /// The revision of the first page; `None` continues with the current state.
    revision: Option<u64>,
    /// The last key that was listed, without the prefix.
    start: String,
}

impl Continue {
    fn encode(&self) -> String {
        let revision = self.revision.map_or(-1, |revision| i64::try_from(revision).unwrap_or(-1));
        // Upstream starts at the next possible key: the last one with a zero byte appended.
        let token = json!({
            "v": "meta.k8s.io/v1", "rv": revision, "start": format!("{}\u{0}", self.start),
        });
        URL_SAFE_NO_PAD.encode(token.to_string())
    }

    fn decode(text: &str) -> Result<Self, Status> {
        let invalid = |why: &str| {
            Status::bad_request(format!("invalid continue token: continue key is not valid: {why}"))
        };
        let bytes = URL_SAFE_NO_PAD
            .decode(text)
            .map_err(|error| invalid(&format!("illegal base64 data: {error}")))?;
        let token: Value =
            Document::parse(&bytes).map_err(|error| invalid(&error.to_string()))?.into_value();
        if token["v"] != "meta.k8s.io/v1" {
            return Err(invalid("server does not recognize this encoded version"));
        }
        let revision = token["rv"].as_i64().unwrap_or_default();
        if revision == 0 {
            return Err(invalid(
                "incorrect encoded start resourceVersion (version meta.k8s.io/v1)",
            ));
        }
        let start = token["start"].as_str().unwrap_or_default();
        if start.is_empty() {
            return Err(invalid("encoded start key empty (version meta.k8s.io/v1)"));
        }
        Ok(Self {
            revision: u64::try_from(revision).ok(),
            start: start.trim_end_matches('\u{0}').to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Continue;

    #[test]
    fn a_continue_token_comes_back_as_it_went() {
        for revision in [Some(7), None] {
            let token = Continue { revision, start: "a/b".to_owned() };
            assert_eq!(Continue::decode(&token.encode()).unwrap(), token);
        }
        for bad in ["%", "e30", "bm8"] {
            assert!(Continue::decode(bad).is_err(), "{bad}");
        }
    }
}
