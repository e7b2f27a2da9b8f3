//! The value of `--watch-label-selector`: a label selector with its text, of which the name of the lease is made.

use std::collections::BTreeMap;

use sluice_base::labels;
pub use sluice_base::labels::SelectorError;

/// Selects objects by their labels; without requirements, all.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Selector {
    text: String,
    labels: labels::Selector,
}

impl Selector {
    /// Reads `a=b,c!=d,e in (f,g),h notin (i),j,!k`.
    pub fn parse(text: &str) -> Result<Self, SelectorError> {
        Ok(Self { labels: labels::Selector::parse(text)?, text: text.trim().to_owned() })
    }

    /// The selector as it was written; empty where it means all.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether labels fit.
    pub fn matches(&self, labels: Option<&BTreeMap<String, String>>) -> bool {
        let label = |key: &str| labels.and_then(|labels| labels.get(key)).map(String::as_str);
        self.labels.matches(label)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::Selector;

    #[test]
    fn a_shard_is_selected_by_its_key() {
        let shard = BTreeMap::from([("sharding.fluxcd.io/key".to_owned(), "shard1".to_owned())]);
        // selector, whether it fits a labelled object, whether it fits a bare one
        let cases = [
            ("", true, true),
            (" sharding.fluxcd.io/key == shard1 ", true, false),
            ("sharding.fluxcd.io/key!=shard1", false, true),
            ("!sharding.fluxcd.io/key", false, true),
        ];
        for (text, labelled, bare) in cases {
            let selector = Selector::parse(text).unwrap();
            assert_eq!(selector.matches(Some(&shard)), labelled, "{text}");
            assert_eq!(selector.matches(None), bare, "{text}");
            assert_eq!(selector.as_str(), text.trim());
        }
    }
}
