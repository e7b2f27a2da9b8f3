//! Advice for objects with versions of Flux's kinds that are no longer served.

use sluice_api::versions::successor;

use crate::failure::{ApiError, Failure};
use crate::object::ObjectKey;

/// The advice for failures that are about versions with a successor; `None` if there are none.
pub fn advice<'f>(failures: impl IntoIterator<Item = &'f Failure>) -> Option<String> {
    let outdated = failures.into_iter().filter_map(|failure| {
        let key = failure.object.as_ref()?;
        let new = successor(&key.id.group, &key.version, &key.id.kind)?;
        failure
            .message
            .ends_with(&unserved(key))
            .then(|| format!("{key} ({} to {new})", key.version))
    });
    let outdated: Vec<String> = outdated.collect();
    (!outdated.is_empty()).then(|| {
        format!(
            "`sluice migrate -f PATH` rewrites old API versions in files: {}",
            outdated.join(", ")
        )
    })
}

/// The message for a version that is not served.
fn unserved(key: &ObjectKey) -> String {
    let api_version = format!("{}/{}", key.id.group, key.version);
    ApiError::NoMatch { kind: key.id.kind.clone(), api_version }.to_string()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::advice;
    use crate::failure::{ApiError, Failure};
    use crate::object::ObjectKey;

    fn failure(api_version: &str, kind: &str, error: &ApiError) -> Failure {
        let object = json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": "a", "namespace": "apps"}});
        Failure::dry_run(&ObjectKey::of(&object), error)
    }

    fn no_match(api_version: &str, kind: &str) -> Failure {
        let error = ApiError::NoMatch { kind: kind.into(), api_version: api_version.into() };
        failure(api_version, kind, &error)
    }

    #[test]
    fn only_versions_that_have_a_successor_and_are_not_served_are_advised_about() {
        let old = "image.toolkit.fluxcd.io/v1beta2";
        let refused = ApiError::Transport("gone".into());
        let failures = [
            no_match(old, "ImagePolicy"),
            no_match("source.toolkit.fluxcd.io/v1beta2", "OCIRepository"),
            no_match("image.toolkit.fluxcd.io/v1", "ImagePolicy"),
            no_match("example.com/v1beta1", "ImagePolicy"),
            failure(old, "ImageRepository", &refused),
        ];
        let words = "`sluice migrate -f PATH` rewrites old API versions in files: \
                     ImagePolicy/apps/a (v1beta2 to v1), OCIRepository/apps/a (v1beta2 to v1)";
        assert_eq!(advice(&failures).as_deref(), Some(words));
        assert_eq!(advice(&failures[2..]), None);
    }
}
