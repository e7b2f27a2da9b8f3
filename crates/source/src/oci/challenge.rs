//! `WWW-Authenticate` challenges, and whether the token server of one may be used.

use std::collections::BTreeMap;

use http::HeaderMap;
use http::header::WWW_AUTHENTICATE;
use reqwest::Url;

use super::error::OciError;
use super::realms::TokenRealms;

/// An authentication challenge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Challenge {
    /// In lower case.
    pub(super) scheme: String,
    pub(super) parameters: BTreeMap<String, String>,
}

/// All challenges of a response.
pub(super) fn challenges(headers: &HeaderMap) -> Vec<Challenge> {
    let values = headers.get_all(WWW_AUTHENTICATE).iter();
    values.filter_map(|value| parse(value.to_str().ok()?)).collect()
}

/// The first supported challenge, or else the first.
pub(super) fn known(all: &[Challenge]) -> Option<Challenge> {
    let is_known = |it: &&Challenge| matches!(it.scheme.as_str(), "basic" | "bearer");
    all.iter().find(is_known).or(all.first()).cloned()
}

fn parse(header: &str) -> Option<Challenge> {
    let (scheme, mut rest) = token(header);
    if scheme.is_empty() {
        return None;
    }
    let mut parameters = BTreeMap::new();
    loop {
        let (name, after) = token(rest.trim_start_matches([' ', '\t', ',']));
        let Some(after) = after.strip_prefix('=').filter(|_| !name.is_empty()) else { break };
        let (value, after) = if let Some(quoted) = after.strip_prefix('"') {
            unquote(quoted)
        } else {
            let (value, after) = token(after);
            (value.to_owned(), after)
        };
        parameters.insert(name.to_ascii_lowercase(), value);
        rest = after;
    }
    Some(Challenge { scheme: scheme.to_ascii_lowercase(), parameters })
}

fn token(text: &str) -> (&str, &str) {
    let is_token = |sign: char| sign.is_ascii_graphic() && !"\"(),/:;<=>?@[]\\{}".contains(sign);
    text.split_at(text.find(|sign| !is_token(sign)).unwrap_or(text.len()))
}

/// The text before the closing quote, and the text after it.
fn unquote(text: &str) -> (String, &str) {
    let mut value = String::new();
    let mut signs = text.chars();
    while let Some(sign) = signs.next() {
        match sign {
            '"' => break,
            '\\' => value.extend(signs.next()),
            sign => value.push(sign),
        }
    }
    (value, signs.as_str())
}

/// The URL of the token server, if it is allowed.
pub(super) fn realm(
    challenge: &Challenge,
    registry: &str,
    plain: bool,
    realms: &TokenRealms,
) -> Result<Url, OciError> {
    let bad = |message: String| {
        OciError::unexpected(format!("invalid realm in www-authenticate: {message}"))
    };
    let Some(realm) = challenge.parameters.get("realm") else {
        return Err(OciError::unexpected("malformed www-authenticate, missing realm: map[]"));
    };
    let url =
        Url::parse(realm).map_err(|error| bad(format!("parsing realm {realm:?}: {error}")))?;
    match url.scheme() {
        "https" => {}
        "http" if plain => {}
        "http" => {
            return Err(bad(
                "realm scheme \"http\" not allowed for a secure registry; use https".to_owned()
            ));
        }
        other => {
            return Err(bad(format!(
                "realm scheme {other:?} not allowed; must be https (or http for insecure registries)"
            )));
        }
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(bad("realm must not bear credentials".to_owned()));
    }
    realms.check(registry, &url).map_err(bad)?;
    Ok(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn challenges_are_read() {
        let parsed = parse(
            r#"Bearer realm="https://auth.test/token?x=1,2",service="r.test",scope="repository:a:pull,push", error=invalid"#,
        )
        .expect("a challenge");
        assert_eq!(parsed.scheme, "bearer");
        let pairs: Vec<(&str, &str)> =
            parsed.parameters.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        assert_eq!(
            pairs,
            [
                ("error", "invalid"),
                ("realm", "https://auth.test/token?x=1,2"),
                ("scope", "repository:a:pull,push"),
                ("service", "r.test"),
            ]
        );
        assert_eq!(parse("Basic").map(|it| it.scheme), Some("basic".to_owned()));
        assert_eq!(parse(""), None);
        assert_eq!(parse("Bearer realm=\"unclosed").map(|it| it.parameters.len()), Some(1));
    }

    #[test]
    fn realms_that_are_not_the_registrys_are_not_asked() {
        let asked = |address: &str, plain| {
            let parameters = BTreeMap::from([("realm".to_owned(), address.to_owned())]);
            let challenge = Challenge { scheme: "bearer".to_owned(), parameters };
            realm(&challenge, "127.0.0.1:5000", plain, &TokenRealms::default()).is_ok()
        };
        for (address, plain, expected) in [
            ("https://auth.test/token", false, false),
            ("http://auth.test/token", true, false),
            ("https://127.0.0.1:5000/token", false, true),
            ("http://127.0.0.1:5000/token", false, false),
            ("https://user@127.0.0.1:5000/token", false, false),
            ("http://127.0.0.1:5000/token", true, true),
            ("http://127.0.0.1:5001/token", true, false),
            ("https://169.254.169.254/latest", false, false),
            ("https://[::1]/token", false, false),
            ("ftp://auth.test", true, false),
        ] {
            assert_eq!(asked(address, plain), expected, "{address}");
        }
    }
}
