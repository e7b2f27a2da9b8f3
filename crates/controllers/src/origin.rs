//! Which sources read the same place: two GitRepositories of one repository, and their like.
//!
//! Addresses are compared in one form each. That two sources are alike decides only whether an object is kept a
//! little longer by the one that would delete it; nothing is read from a source because of it that could not be
//! read anyway.

use std::time::Duration;

use reqwest::Url;
use serde_json::{Value, json};
use sluice_api::names::conditions::READY;
use sluice_api::shared::artifact::Artifact;
use sluice_api::shared::condition::{Condition, ConditionStatus};
use sluice_api::source::bucket::Bucket;
use sluice_api::source::gitrepository::{GitReference, GitRepository};
use sluice_api::source::ocirepository::OCIRepository;
use sluice_base::duration::GoDuration;
use sluice_runtime::index::Reference;
use sluice_runtime::key::Key;

use crate::sources::{SourceArtifact, Sources};

/// How long a fetch may take where nothing is said.
const TIMEOUT: Duration = Duration::from_mins(1);

/// A source with where it reads from, and how it is doing.
#[derive(Debug, Clone)]
pub(crate) struct Reading {
    /// The source.
    pub(crate) source: Reference,
    /// Kind, address and reference.
    place: String,
    /// What else decides about the files of the artifact.
    selection: Value,
    /// What it read last.
    pub(crate) artifact: Option<SourceArtifact>,
    /// The longest time between two fetches, and what a fetch may take.
    pub(crate) pace: Duration,
    /// Why it will not fetch soon, if so.
    pub(crate) obstacle: Option<&'static str>,
}

impl Reading {
    /// Whether both follow the same reference of the same repository.
    pub(crate) fn is_of_same_place(&self, other: &Self) -> bool {
        self.place == other.place
    }

    /// Whether both make the same artifact of the same revision.
    pub(crate) fn is_twin(&self, other: &Self) -> bool {
        self.place == other.place && self.selection == other.selection
    }

    /// Whether it has not read yet what another has: theirs is another revision, and not an older one.
    pub(crate) fn is_behind(&self, theirs: &Artifact) -> bool {
        self.artifact.as_ref().is_none_or(|own| {
            own.revision != theirs.revision && own.last_update_time <= theirs.last_update_time
        })
    }
}

impl Sources {
    /// All sources that read a place which others may read as well.
    pub(crate) fn readings(&self) -> Vec<Reading> {
        let git = self.git.list();
        let oci = self.oci.list();
        let buckets = self.bucket.list();
        let all = git.iter().map(|it| of_git(it)).chain(oci.iter().map(|it| of_oci(it)));
        let all = all.chain(buckets.iter().map(|it| of_bucket(it)));
        let with_artifact =
            |it: Reading| Reading { artifact: self.artifact(&it.source).flatten(), ..it };
        all.map(with_artifact).collect()
    }
}

/// A GitRepository; its artifact is looked up by the caller.
fn of_git(object: &GitRepository) -> Reading {
    let spec = &object.spec;
    let status = object.status.as_ref();
    Reading {
        source: Reference::new("GitRepository", Key::of(&object.metadata)),
        place: format!("git {} {}", address(&spec.url), git_reference(spec.r#ref.as_ref())),
        selection: json!({
            "ignore": spec.ignore, "include": spec.include, "sparseCheckout": spec.sparse_checkout,
            "recurseSubmodules": spec.recurse_submodules.unwrap_or(false), "verify": spec.verify,
        }),
        artifact: None,
        pace: pace(spec.interval, spec.timeout),
        obstacle: obstacle(spec.suspend, status.and_then(|status| status.conditions.as_ref())),
    }
}

fn of_oci(object: &OCIRepository) -> Reading {
    let spec = &object.spec;
    let status = object.status.as_ref();
    let reference = spec.r#ref.as_ref().map_or(json!({"tag": "latest"}), |it| json!(it));
    Reading {
        source: Reference::new("OCIRepository", Key::of(&object.metadata)),
        place: format!("oci {} {reference}", address(&spec.url)),
        selection: json!({
            "ignore": spec.ignore, "layerSelector": spec.layer_selector, "verify": spec.verify,
        }),
        artifact: None,
        pace: pace(spec.interval, spec.timeout),
        obstacle: obstacle(spec.suspend, status.and_then(|status| status.conditions.as_ref())),
    }
}

fn of_bucket(object: &Bucket) -> Reading {
    let spec = &object.spec;
    let status = object.status.as_ref();
    let (name, prefix) = (&spec.bucket_name, spec.prefix.as_deref().unwrap_or_default());
    Reading {
        source: Reference::new("Bucket", Key::of(&object.metadata)),
        place: format!("bucket {} {name:?} {prefix:?}", address(&spec.endpoint)),
        selection: json!({"ignore": spec.ignore}),
        artifact: None,
        pace: pace(spec.interval, spec.timeout),
        obstacle: obstacle(spec.suspend, status.and_then(|status| status.conditions.as_ref())),
    }
}

fn pace(interval: GoDuration, timeout: Option<GoDuration>) -> Duration {
    interval.to_std().saturating_add(timeout.map_or(TIMEOUT, GoDuration::to_std))
}

fn obstacle(suspend: Option<bool>, conditions: Option<&Vec<Condition>>) -> Option<&'static str> {
    if suspend.unwrap_or(false) {
        return Some("is suspended");
    }
    let is_failing = |it: &Condition| it.r#type == READY && it.status == ConditionStatus::False;
    conditions.into_iter().flatten().any(is_failing).then_some("is failing")
}

/// An address without scheme, user, default port, `.git` and what else does not tell repositories apart.
fn address(text: &str) -> String {
    let text = text.trim();
    // `git@host:path` is ssh, and an endpoint of a bucket has no scheme at all.
    let with_scheme = match text.split_once(':') {
        _ if text.contains("://") => text.to_owned(),
        Some((host, path))
            if !host.contains('/') && !path.starts_with(|it: char| it.is_ascii_digit()) =>
        {
            format!("ssh://{host}/{path}")
        }
        _ => format!("https://{text}"),
    };
    let Ok(url) = Url::parse(&with_scheme) else { return text.to_owned() };
    let host = url.host_str().unwrap_or_default().trim_end_matches('.').to_ascii_lowercase();
    let default = match url.scheme() {
        "http" => 80,
        "ssh" => 22,
        _ => 443,
    };
    let port = url.port().filter(|port| *port != default);
    let port = port.map_or_else(String::new, |port| format!(":{port}"));
    let path: Vec<&str> = url.path().split('/').filter(|part| !part.is_empty()).collect();
    let path = path.join("/");
    let path = path.strip_suffix(".git").unwrap_or(&path);
    // A query may name another repository; a fragment is none of the server's business, and is kept all the same.
    let rest = url.as_str().find(['?', '#']).and_then(|at| url.as_str().get(at..));
    format!("{host}{port}/{path}{}", rest.unwrap_or_default())
}

/// The reference that is followed; a branch and its full name are the same.
fn git_reference(reference: Option<&GitReference>) -> String {
    let text = |field: &Option<String>| field.clone().filter(|text| !text.is_empty());
    let Some(wanted) = reference else { return "refs/heads/master".to_owned() };
    let branch = text(&wanted.branch).map(|branch| format!("refs/heads/{branch}"));
    let tag = text(&wanted.tag).map(|tag| format!("refs/tags/{tag}"));
    match (text(&wanted.commit), text(&wanted.name), text(&wanted.semver), tag, branch) {
        (None, Some(name), ..) => name,
        (None, None, None, Some(tag), _) => tag,
        (None, None, None, None, branch) => branch.unwrap_or("refs/heads/master".to_owned()),
        _ => json!(wanted).to_string(),
    }
}

#[cfg(test)]
mod tests {
    use sluice_api::source::gitrepository::GitReference;

    use super::{address, git_reference};

    #[test]
    fn addresses_of_one_repository_have_one_form() {
        for same in [
            &[
                "https://git.test/org/repo",
                "https://git.test/org/repo.git",
                "https://git.test/org/repo/",
                "https://GIT.test./org//repo",
                "https://git.test:443/org/repo",
                "http://git.test:80/org/repo",
                "https://user:token@git.test/org/repo",
                "ssh://git@git.test/org/repo.git",
                "ssh://git@git.test:22/org/repo",
                "git@git.test:org/repo.git",
                "oci://git.test/org/repo",
            ][..],
            &["minio.test:9000", "https://minio.test:9000/", "MINIO.test:9000"][..],
        ] {
            for other in same {
                assert_eq!(address(other), address(same[0]), "{other}");
            }
        }
    }

    #[test]
    fn other_repositories_have_others() {
        let all = [
            "https://git.test/org/repo",
            "https://git.test/org/Repo",
            "https://git.test/org/repo2",
            "https://git.test/org",
            "https://git.test:8443/org/repo",
            "https://git.test.evil/org/repo",
            "https://evil.test/git.test/org/repo",
            "https://git.test@evil.test/org/repo",
            "https://evil.test/?https://git.test/org/repo",
            "https://evil.test/#/git.test/org/repo",
            "no address",
        ];
        for (at, one) in all.iter().enumerate() {
            for other in &all[at + 1..] {
                assert_ne!(address(one), address(other), "{one} {other}");
            }
        }
    }

    #[test]
    fn references_are_compared_by_what_they_follow() {
        let of = |branch: &str, name: &str, tag: &str| {
            let text = |it: &str| Some(it.to_owned());
            git_reference(Some(&GitReference {
                branch: text(branch),
                name: text(name),
                tag: text(tag),
                ..GitReference::default()
            }))
        };
        assert_eq!(of("main", "", ""), of("", "refs/heads/main", ""));
        assert_eq!(of("", "", "v1"), of("", "refs/tags/v1", ""));
        assert_eq!(git_reference(None), of("master", "", ""));
        assert_ne!(of("main", "", ""), of("prod", "", ""));
        assert_ne!(of("main", "", ""), of("", "", "main"));
    }
}
