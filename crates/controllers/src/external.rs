//! Artifacts that others made: their addresses come from an object that any tenant may write, so they are
//! followed only where somebody said so.

use reqwest::Url;
use sluice_api::shared::artifact::Artifact;
use sluice_source::artifact::Digest;

/// The kind whose artifacts these are.
pub const KIND: &str = "ExternalArtifact";

/// Whether an artifact of an ExternalArtifact may be fetched: from a host on the list, and with a digest that
/// its bytes can be held against.
pub fn check(artifact: &Artifact, hosts: &[String]) -> Result<(), String> {
    if artifact.digest.parse::<Digest>().is_err() {
        return Err("its artifact has no digest".to_owned());
    }
    let host = host_of(&artifact.url)
        .ok_or_else(|| "the address of its artifact cannot be used".to_owned())?;
    if hosts.iter().any(|allowed| is_same(allowed, &host)) {
        return Ok(());
    }
    Err(format!("host '{host}' of its artifact is not in --external-artifact-hosts"))
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

    use super::check;

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
        ] {
            let artifact =
                Artifact { url: url.to_owned(), digest: digest.clone(), ..Artifact::default() };
            assert_eq!(check(&artifact, &hosts).is_ok(), expected, "{url}");
            let bare = Artifact { digest: String::new(), ..artifact };
            assert!(check(&bare, &hosts).is_err());
        }
    }
}
