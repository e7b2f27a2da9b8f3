//! The URL of a git repository, parsed as in Go.

use crate::outcome::Failure;

/// The parts of a URL.
pub(super) struct Address<'u> {
    pub(super) scheme: &'u str,
    /// The host and its port.
    pub(super) host: &'u str,
}

impl<'u> Address<'u> {
    /// Parses a URL. The short form of SSH (`git@host:path`) is not one.
    pub(super) fn parse(url: &'u str) -> Result<Self, Failure> {
        let failed =
            |why: &str| Failure::flux(format!("git URL parse failed: parse {url:?}: {why}"));
        let Some((scheme, rest)) = url.split_once("://") else {
            let first = url.split('/').next().unwrap_or_default();
            if let Some((user_and_host, path)) = url.split_once(':').filter(|_| first.contains(':'))
            {
                let hint = format!("write it as ssh://{user_and_host}/{path}");
                return Err(failed("first path segment in URL cannot contain colon").hint(hint));
            }
            return Ok(Self { scheme: "", host: "" });
        };
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
        let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
        if let Some((before, port)) = host.rsplit_once(':')
            && (!before.contains(':') || before.ends_with(']'))
            && !port.bytes().all(|c| c.is_ascii_digit())
        {
            let hint = "what follows the colon of a host is its port; the path begins with a slash";
            return Err(failed(&format!("invalid port \":{port}\" after host")).hint(hint));
        }
        Ok(Self { scheme, host })
    }

    /// Fails for schemes that git does not support.
    pub(super) fn of_git(self) -> Result<Self, Failure> {
        if ["ssh", "http", "https"].contains(&self.scheme) {
            return Ok(self);
        }
        let scheme = self.scheme;
        Err(Failure::flux(format!(
            "git URL scheme '{scheme}' not supported, can be: ssh, http and https"
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::Address;

    #[test]
    fn addresses_have_a_scheme_and_a_host() {
        let table = [
            ("https://git.test/x", "https git.test"),
            ("ssh://git@git.test:2222/x", "ssh git.test:2222"),
            ("ssh://git@[::1]:22/x", "ssh [::1]:22"),
            ("ssh:///x", "ssh "),
            ("/a/b:c", " "),
            (
                "git@git.test:a/b",
                "git URL parse failed: parse \"git@git.test:a/b\": first path segment in URL cannot contain colon",
            ),
            (
                "ssh://git@git.test:a/b",
                "git URL parse failed: parse \"ssh://git@git.test:a/b\": invalid port \":a\" after host",
            ),
        ];
        for (url, expected) in table {
            let found = match Address::parse(url) {
                Ok(Address { scheme, host }) => format!("{scheme} {host}"),
                Err(failure) => failure.message().to_owned(),
            };
            assert_eq!(found, expected);
        }
    }
}
