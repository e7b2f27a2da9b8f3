//! Selects a tag by a version range, and a layer by a media type.

use regex::Regex;

use super::client::Image;
use super::manifest::Descriptor;
use super::media::HELM_CHART;
use sluice_base::semver::{Constraint, Version};

/// Why nothing was selected, with Flux's messages.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SelectError {
    /// An invalid range.
    #[error("semver '{range}' parse error: {cause}")]
    Range {
        /// The range.
        range: String,
        /// The cause.
        cause: String,
    },
    /// No tag matches the range.
    #[error("no match found for semver: {0}")]
    NoMatch(String),
    /// The artifact has no layers.
    #[error("no layers found in artifact")]
    NoLayers,
    /// No layer has the media type.
    #[error("failed to find layer with media type '{0}' in artifact")]
    NoSuchLayer(String),
}

/// The newest tag in a range, among those that a filter accepts. In tags of Helm charts `_` stands for `+`,
/// which is not allowed in tags.
pub fn newest_tag(
    tags: &[String],
    range: &str,
    filter: Option<&Regex>,
    media_type: &str,
) -> Result<String, SelectError> {
    let constraint = Constraint::parse(range).map_err(|error| SelectError::Range {
        range: range.to_owned(),
        cause: error.to_string(),
    })?;
    let is_chart = media_type == HELM_CHART;
    let versions = tags
        .iter()
        .filter(|tag| filter.is_none_or(|filter| filter.is_match(tag)))
        .filter_map(|tag| {
            let text = if is_chart { tag.replace('_', "+") } else { tag.clone() };
            Version::parse_tag(&text).ok()
        })
        .filter(|version| constraint.check(version));
    let newest = versions.max_by(Version::precedence);
    let newest = newest.ok_or_else(|| SelectError::NoMatch(range.to_owned()))?;
    let text = newest.original();
    Ok(if is_chart { text.replace('+', "_") } else { text.to_owned() })
}

/// The layer with a media type, or the first one.
pub fn layer<'a>(image: &'a Image, media_type: &str) -> Result<&'a Descriptor, SelectError> {
    let layers = &image.manifest.layers;
    let first = layers.first().ok_or(SelectError::NoLayers)?;
    if media_type.is_empty() {
        return Ok(first);
    }
    layers
        .iter()
        .find(|layer| layer.media_type == media_type)
        .ok_or_else(|| SelectError::NoSuchLayer(media_type.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn newest(range: &str, filter: &str, media_type: &str) -> Result<String, String> {
        let tags = ["latest", "6.1.4", "6.1.5", "6.1.6-rc.1", "v6.0.0", "6.2.0_b1", "6.1.6"];
        let tags = tags.map(ToOwned::to_owned);
        let filter =
            Some(filter).filter(|it| !it.is_empty()).map(|it| Regex::new(it).expect("one"));
        newest_tag(&tags, range, filter.as_ref(), media_type).map_err(|error| error.to_string())
    }

    #[test]
    fn the_newest_tag_of_a_range_is_taken() {
        for (range, filter, media_type, expected) in [
            (">= 6.1.0", "", "", Ok("6.1.6")),
            (">= 6.1.0-0", ".*-rc.*", "", Ok("6.1.6-rc.1")),
            ("< 6.1.0", "", "", Ok("v6.0.0")),
            ("*", "", HELM_CHART, Ok("6.2.0_b1")),
            ("> 7", "", "", Err("no match found for semver: > 7")),
            ("> 6", "^x", "", Err("no match found for semver: > 6")),
            ("what", "", "", Err("semver 'what' parse error: improper constraint: \"what\"")),
        ] {
            let expected = expected.map(ToOwned::to_owned).map_err(ToOwned::to_owned);
            assert_eq!(newest(range, filter, media_type), expected, "{range} {filter}");
        }
    }
}
