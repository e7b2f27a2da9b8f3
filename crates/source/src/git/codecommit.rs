//! `provider: aws`: the password for CodeCommit is a signature of the repository's URL.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use reqwest::Url;
use sluice_cloud::aws::{AwsKeys, Signer};

use super::auth::GitAuth;

/// The URL is not one of CodeCommit; with Flux's messages.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CodeCommitError {
    /// Not https.
    #[error("AWS CodeCommit authentication requires an HTTPS Git URL")]
    Scheme,
    /// Another host.
    #[error("invalid AWS CodeCommit Git URL: {0}")]
    Host(String),
}

/// The region in the name of CodeCommit's host.
pub fn codecommit_region(url: &Url) -> Result<&str, CodeCommitError> {
    if url.scheme() != "https" {
        return Err(CodeCommitError::Scheme);
    }
    let host = url.host_str().unwrap_or_default();
    let starts =
        ["git-codecommit.", "git-codecommit-fips."].iter().any(|start| host.starts_with(start));
    let ends = [".amazonaws.com", ".amazonaws.com.cn"].iter().any(|end| host.ends_with(end));
    match host.split('.').nth(1) {
        Some(region) if starts && ends && host.split('.').count() >= 4 => Ok(region),
        _ => Err(CodeCommitError::Host(host.to_owned())),
    }
}

/// Adds name and password for a CodeCommit repository. They are valid for 15 minutes.
pub fn codecommit_auth(
    url: &Url,
    keys: &AwsKeys,
    auth: GitAuth,
    now: Timestamp,
) -> Result<GitAuth, CodeCommitError> {
    let region = codecommit_region(url)?;
    let host = url.host_str().unwrap_or_default();
    let moment = TimeZone::UTC.to_datetime(now).strftime("%Y%m%dT%H%M%S").to_string();
    let request = format!("GIT\n{}\n\nhost:{host}\n\nhost\n", url.path());
    let signature =
        Signer { keys, region, service: "codecommit", now }.signature(&moment, &request);
    Ok(GitAuth {
        username: format!("{}%{}", keys.access_key(), keys.session_token()),
        password: format!("{moment}Z{signature}").into(),
        ..auth
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_password_is_a_signature_with_its_time() {
        let url = "https://git-codecommit.eu-west-1.amazonaws.com/v1/repos/app";
        let url = Url::parse(url).expect("an address");
        let credentials = AwsKeys::new("AKID", "SECRET", "SESSION");
        let now = Timestamp::from_second(1_700_000_000).expect("a moment");
        let auth =
            codecommit_auth(&url, &credentials, GitAuth::default(), now).expect("credentials");
        assert_eq!(auth.username, "AKID%SESSION");
        // Computed independently, by the rules of Signature Version 4.
        assert_eq!(auth.password.expose(), PASSWORD);
    }

    const PASSWORD: &str =
        "20231114T221320Z1fef073098f3ceee35330d47a920877ab9ba503ebb1963051b4972d18873eba0";

    #[test]
    fn other_hosts_are_refused() {
        for (text, message) in [
            (
                "http://git-codecommit.x.amazonaws.com/r",
                "AWS CodeCommit authentication requires an HTTPS Git URL",
            ),
            ("https://github.com/r", "invalid AWS CodeCommit Git URL: github.com"),
            (
                "https://git-codecommit.evil.test/r",
                "invalid AWS CodeCommit Git URL: git-codecommit.evil.test",
            ),
        ] {
            let url = Url::parse(text).expect("an address");
            assert_eq!(codecommit_region(&url).expect_err("refused").to_string(), message);
        }
    }
}
