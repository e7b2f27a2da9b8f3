//! Artifacts that others made: their addresses come from an object that any tenant may write, so they are
//! followed only where somebody said so.

use reqwest::Url;
use sluice_source::artifact::Digest;

use crate::sources::SourceArtifact;

/// The kind whose artifacts these are.
pub const KIND: &str = "ExternalArtifact";

/// Kinds whose artifacts servers of Flux's layout have, as their paths name them.
const KINDS: [&str; 6] =
    ["gitrepository", "ocirepository", "bucket", "helmchart", "helmrepository", "externalartifact"];

/// Whether an artifact of an ExternalArtifact may be fetched: from a host on the list, with a digest that its
/// bytes can be held against, and not if its address is that of another object's artifact. One that is made
/// here is read from the store; its address does not matter.
pub fn check(artifact: &SourceArtifact, hosts: &[String]) -> Result<(), String> {
    if artifact.digest.parse::<Digest>().is_err() {
        return Err("its artifact has no digest".to_owned());
    }
    if artifact.made_here {
        return Ok(());
    }
    let host = host_of(&artifact.url)
        .ok_or_else(|| "the address of its artifact cannot be used".to_owned())?;
    if !hosts.iter().any(|allowed| is_same(allowed, &host)) {
        return Err(format!("host '{host}' of its artifact is not in --external-artifact-hosts"));
    }
    if names_another(artifact) {
        return Err("the address of its artifact is that of another object".to_owned());
    }
    Ok(())
}

/// Whether an address has the form of Flux's artifact servers, `/KIND/NAMESPACE/NAME/FILE`, and names another
/// object than the one with the address. What could be read in two ways counts as another one.
fn names_another(artifact: &SourceArtifact) -> bool {
    let Ok(url) = Url::parse(&artifact.url) else { return true };
    let path = url.path();
    if path.contains(['%', '\\']) || path.contains("//") {
        return true;
    }
    let parts: Vec<&str> = path.trim_start_matches('/').split('/').collect();
    let [.., kind, namespace, name, _] = parts.as_slice() else { return false };
    let kind = kind.to_ascii_lowercase();
    let key = &artifact.of.key;
    KINDS.contains(&kind.as_str())
        && (kind != "externalartifact" || *namespace != key.namespace || *name != key.name)
}

/// The host of an address, with its port if it names one. An address without a scheme is one of plain HTTP.
pub fn host_of(address: &str) -> Option<String> {
    let address =
        if address.contains("://") { address.to_owned() } else { format!("http://{address}") };
    let url = Url::parse(&address).ok()?;
    if !matches!(url.scheme(), "http" | "https") {
        return None;
    }
    let host = url.host_str()?;
    Some(match url.port() {
        Some(port) => format!("{host}:{port}"),
        None => host.to_owned(),
    })
}

/// The dot of a full name makes no difference.
fn is_same(one: &str, other: &str) -> bool {
    one.trim_end_matches('.').eq_ignore_ascii_case(other.trim_end_matches('.'))
}

#[cfg(test)]
mod tests {
    use sluice_api::shared::artifact::Artifact;
    use sluice_runtime::index::Reference;
    use sluice_runtime::key::Key;

    use super::{KIND, check};
    use crate::sources::SourceArtifact;

    #[test]
    fn only_hosts_on_the_list_and_digests_will_do() {
        let hosts = ["source.test".to_owned(), "Other.test:8080".to_owned()];
        let digest = format!("sha256:{}", "0".repeat(64));
        for (url, expected) in [
            ("http://source.test/a", true),
            ("https://source.test./a", true),
            ("http://other.test:8080/a", true),
            ("http://other.test/a", false),
            ("http://source.test:81/a", false),
            ("http://source.test@evil.test/a", false),
            ("http://169.254.169.254/latest", false),
            ("file:///etc/passwd", false),
            ("", false),
            ("http://source.test/builds/17.tar.gz", true),
            ("http://source.test/externalartifact/apps/own/a.tar.gz", true),
            ("http://source.test/prefix/externalartifact/apps/own/a.tar.gz", true),
            ("http://source.test/externalartifact/apps/other/a.tar.gz", false),
            ("http://source.test/externalartifact/platform/own/a.tar.gz", false),
            ("http://source.test/gitrepository/apps/own/a.tar.gz", false),
            ("http://source.test/GitRepository/platform/x/a.tar.gz", false),
            ("http://source.test/prefix/gitrepository/platform/x/a.tar.gz", false),
            ("http://source.test/git%72epository/platform/x/a.tar.gz", false),
            ("http://source.test//gitrepository/platform//x/a.tar.gz", false),
            ("http://source.test/a/../gitrepository/platform/x/a.tar.gz", false),
            ("http://source.test/gitrepository\\platform\\x\\a.tar.gz", false),
        ] {
            let artifact =
                Artifact { url: url.to_owned(), digest: digest.clone(), ..Artifact::default() };
            let of = Reference::new(KIND, Key::new("apps", "own"));
            let artifact = SourceArtifact { of, artifact, made_here: false };
            assert_eq!(check(&artifact, &hosts).is_ok(), expected, "{url}");
            let mut bare = artifact.clone();
            bare.artifact.digest = String::new();
            assert!(check(&bare, &hosts).is_err());
            let here = SourceArtifact { made_here: true, ..artifact };
            assert!(check(&here, &hosts).is_ok(), "{url}: it is not fetched at all");
        }
    }
}
