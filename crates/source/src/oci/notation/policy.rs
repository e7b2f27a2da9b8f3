//! Trust policies: the trusted signers by repository, and the level of verification.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use super::subject;

/// All repositories, or all signers.
const WILDCARD: &str = "*";
/// The prefix of an identity that is the subject of a certificate.
const X509_SUBJECT: &str = "x509.subject";

/// An invalid policy, with notation's messages.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct PolicyError(String);

/// A trust policy.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TrustPolicy {
    #[serde(default)]
    version: String,
    #[serde(default)]
    trust_policies: Vec<Statement>,
}

/// The statement for some repositories.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Statement {
    #[serde(default)]
    name: String,
    #[serde(default)]
    registry_scopes: Vec<String>,
    signature_verification: Verification,
    #[serde(default)]
    trust_stores: Vec<String>,
    #[serde(default)]
    trusted_identities: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
struct Verification {
    #[serde(default)]
    level: String,
    #[serde(default, rename = "override")]
    changed: BTreeMap<String, String>,
}

/// The checks beside the integrity of the signature.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Check {
    Authenticity,
    AuthenticTimestamp,
    Expiry,
    Revocation,
}

/// The action after a failed check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Action {
    Enforce,
    Log,
    Skip,
}

/// The verification level of a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Level {
    authenticity: Action,
    timestamp: Action,
    expiry: Action,
    revocation: Action,
}

impl Level {
    pub(super) const SKIP: Self = Self {
        authenticity: Action::Skip,
        timestamp: Action::Skip,
        expiry: Action::Skip,
        revocation: Action::Skip,
    };

    pub(super) fn action(self, check: Check) -> Action {
        match check {
            Check::Authenticity => self.authenticity,
            Check::AuthenticTimestamp => self.timestamp,
            Check::Expiry => self.expiry,
            Check::Revocation => self.revocation,
        }
    }
}

impl TrustPolicy {
    /// Parses and validates a policy. Statements with the level `skip` need no trust stores and no identities;
    /// existing ones are ignored, as in Flux.
    pub fn parse(json: &[u8]) -> Result<Self, PolicyError> {
        let mut policy: Self =
            serde_json::from_slice(json).map_err(|error| PolicyError(error.to_string()))?;
        for statement in &mut policy.trust_policies {
            if statement.signature_verification.level == "skip" {
                statement.trust_stores.clear();
                statement.trusted_identities.clear();
            }
        }
        policy.check()?;
        Ok(policy)
    }

    fn check(&self) -> Result<(), PolicyError> {
        let bad = |message: String| Err(PolicyError(message));
        if self.version != "1.0" {
            return bad(format!(
                "trust policy document has unsupported version {:?}, supported versions are [\"1.0\"]",
                self.version
            ));
        }
        if self.trust_policies.is_empty() {
            return bad(
                "trust policy document can not have zero trust policy statements".to_owned()
            );
        }
        let (mut names, mut scopes) = (BTreeSet::new(), BTreeSet::new());
        for statement in &self.trust_policies {
            let name = &statement.name;
            if name.is_empty() {
                return bad(
                    "a trust policy statement is missing a name, every statement requires a name"
                        .to_owned(),
                );
            }
            if !names.insert(name) {
                return bad(format!(
                    "multiple trust policy statements use the same name {name:?}, statement names must be unique"
                ));
            }
            let level = statement.level()?;
            let lacks =
                statement.trust_stores.is_empty() || statement.trusted_identities.is_empty();
            if level != Level::SKIP && lacks {
                return bad(format!(
                    "trust policy statement {name:?} is either missing trust stores or trusted identities, both must be specified"
                ));
            }
            statement.check_stores()?;
            statement.check_identities()?;
            if statement.registry_scopes.is_empty() {
                return bad(format!(
                    "trust policy statement {name:?} has zero registry scopes, it must specify registry scopes with at least one value"
                ));
            }
            let is_all = |scope: &String| scope == WILDCARD;
            if statement.registry_scopes.len() > 1 && statement.registry_scopes.iter().any(is_all) {
                return bad(format!(
                    "trust policy statement {name:?} uses wildcard registry scope '*', a wildcard scope cannot be used in conjunction with other scope values"
                ));
            }
            for scope in &statement.registry_scopes {
                if !scopes.insert(scope) {
                    return bad(format!(
                        "registry scope {scope:?} is present in multiple trust policy statements, one registry scope value can only be associated with one statement"
                    ));
                }
            }
        }
        Ok(())
    }

    /// The statement for a repository: the one that names it, else the one for all.
    pub(super) fn applicable(&self, repository: &str) -> Result<&Statement, PolicyError> {
        let with = |scope: &str| {
            self.trust_policies.iter().find(|it| it.registry_scopes.iter().any(|one| one == scope))
        };
        with(repository).or_else(|| with(WILDCARD)).ok_or_else(|| {
            PolicyError(format!(
                "artifact {repository:?} has no applicable trust policy statement. Trust policy applicability for a given artifact is determined by registryScopes"
            ))
        })
    }
}

impl Statement {
    fn check_stores(&self) -> Result<(), PolicyError> {
        let name = &self.name;
        for store in &self.trust_stores {
            let Some((kind, named)) = store.split_once(':') else {
                return Err(PolicyError(format!(
                    "trust policy statement {name:?} has malformed trust store value {store:?}. The required format is <TrustStoreType>:<TrustStoreName>"
                )));
            };
            if !["ca", "signingAuthority", "tsa"].contains(&kind) {
                return Err(PolicyError(format!(
                    "trust policy statement {name:?} uses an unsupported trust store type {kind:?} in trust store value {store:?}"
                )));
            }
            let is_sign = |sign: char| sign.is_ascii_alphanumeric() || "_.-".contains(sign);
            if named.is_empty() || !named.chars().all(is_sign) {
                return Err(PolicyError(format!(
                    "trust policy statement {name:?} uses an unsupported trust store name {named:?} in trust store value {store:?}. Named store name needs to follow [a-zA-Z0-9_.-]+ format"
                )));
            }
        }
        Ok(())
    }

    fn check_identities(&self) -> Result<(), PolicyError> {
        let name = &self.name;
        let bad = |what: String| PolicyError(format!("trust policy statement {name:?} {what}"));
        let is_all = |identity: &String| identity == WILDCARD;
        if self.trusted_identities.len() > 1 && self.trusted_identities.iter().any(is_all) {
            return Err(bad("uses a wildcard trusted identity '*', a wildcard identity cannot be used in conjunction with other values".to_owned()));
        }
        let mut known: Vec<(&String, subject::Subject)> = Vec::new();
        for identity in self.trusted_identities.iter().filter(|it| !is_all(it)) {
            if identity.is_empty() {
                return Err(bad("has an empty trusted identity".to_owned()));
            }
            let Some((kind, value)) = identity.split_once(':') else {
                return Err(bad(format!("has trusted identity {identity:?} missing separator")));
            };
            if kind != X509_SUBJECT {
                continue;
            }
            if value.is_empty() {
                return Err(bad(format!(
                    "has trusted identity {identity:?} without an identity value"
                )));
            }
            let read = subject::parse(value)
                .map_err(|error| bad(format!("has trusted identity {identity:?}: {error}")))?;
            let overlaps = known.iter().find(|(_, other)| {
                subject::is_within(&read, other) || subject::is_within(other, &read)
            });
            if let Some((other, _)) = overlaps {
                return Err(bad(format!(
                    "has overlapping x509 trustedIdentities, {other:?} overlaps with {identity:?}"
                )));
            }
            known.push((identity, read));
        }
        Ok(())
    }

    /// The verification level.
    pub(super) fn level(&self) -> Result<Level, PolicyError> {
        let bad = |message: String| {
            let name = &self.name;
            PolicyError(format!(
                "trust policy statement {name:?} has invalid signatureVerification: {message}"
            ))
        };
        let (enforce, log) = (Action::Enforce, Action::Log);
        let mut level = match self.signature_verification.level.as_str() {
            "strict" => Level {
                authenticity: enforce,
                timestamp: enforce,
                expiry: enforce,
                revocation: enforce,
            },
            "permissive" => {
                Level { authenticity: enforce, timestamp: log, expiry: log, revocation: log }
            }
            "audit" => Level { authenticity: log, timestamp: log, expiry: log, revocation: log },
            "skip" if self.signature_verification.changed.is_empty() => return Ok(Level::SKIP),
            "skip" => return Err(bad("signature verification level \"skip\" can't be used to customize signature verification".to_owned())),
            "" => return Err(bad("signature verification level is empty or missing in the trust policy statement".to_owned())),
            other => return Err(bad(format!("invalid signature verification level {other:?}"))),
        };
        for (check, action) in &self.signature_verification.changed {
            let action = match action.as_str() {
                "enforce" => enforce,
                "log" => log,
                "skip" => Action::Skip,
                other => {
                    return Err(bad(format!(
                        "verification action {other:?} in custom signature verification is not supported"
                    )));
                }
            };
            if action == Action::Skip && check != "revocation" {
                return Err(bad(format!(
                    "{check:?} verification can not be skipped in custom signature verification"
                )));
            }
            match check.as_str() {
                "authenticity" => level.authenticity = action,
                "authenticTimestamp" => level.timestamp = action,
                "expiry" => level.expiry = action,
                "revocation" => level.revocation = action,
                "integrity" => return Err(bad("\"integrity\" verification can not be overridden in custom signature verification".to_owned())),
                other => return Err(bad(format!("verification type {other:?} in custom signature verification is not supported"))),
            }
        }
        Ok(level)
    }

    /// The name of its first trust store.
    pub(super) fn store_name(&self) -> &str {
        let first = self.trust_stores.first().map_or("", String::as_str);
        first.split_once(':').map_or(first, |(_, name)| name)
    }

    /// Whether it names a trust store of a type. All given certificates are in each store, as in Flux; the types
    /// say what they are trusted for.
    pub(super) fn has_store(&self, kind: &str) -> bool {
        self.trust_stores.iter().any(|store| store.split_once(':').map(|it| it.0) == Some(kind))
    }

    /// Whether it trusts a subject: an identity with all of its parts in the subject. A subject without readable
    /// parts matches only the wildcard.
    pub(super) fn trusts(&self, parts: Option<&[(String, String)]>) -> Result<(), String> {
        if self.trusted_identities.iter().any(|identity| identity == WILDCARD) {
            return Ok(());
        }
        let name = &self.name;
        let named: Vec<&str> = self
            .trusted_identities
            .iter()
            .filter_map(|it| it.split_once(':').filter(|it| it.0 == X509_SUBJECT))
            .map(|(_, value)| value)
            .collect();
        if named.is_empty() {
            return Err(format!(
                "no x509 trusted identities are configured in the trust policy {name:?}"
            ));
        }
        let parts = parts.ok_or("the subject of the signing certificate has parts with several values, or parts that are no text, and matches no trusted identity")?;
        let shown: Vec<String> =
            parts.iter().rev().map(|(kind, value)| format!("{kind}={value}")).collect();
        let signer = subject::of(&shown.join(","), parts)?;
        for one in named {
            if subject::is_within(&subject::parse(one)?, &signer) {
                return Ok(());
            }
        }
        Err(format!(
            "signing certificate from the digital signature does not match the X.509 trusted identities defined in the trust policy {name:?}"
        ))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn policy(level: &str, scopes: &[&str], identities: &[&str]) -> Result<TrustPolicy, String> {
        let document = json!({"version": "1.0", "trustPolicies": [{
            "name": "test", "registryScopes": scopes, "trustStores": ["ca:store"],
            "signatureVerification": {"level": level}, "trustedIdentities": identities,
        }]});
        TrustPolicy::parse(document.to_string().as_bytes()).map_err(|error| error.to_string())
    }

    #[test]
    fn the_statement_of_a_repository_is_found() {
        let one = policy("strict", &["r.test/a"], &["*"]).expect("a policy");
        assert!(one.applicable("r.test/a").is_ok());
        assert!(
            one.applicable("r.test/b")
                .expect_err("none")
                .to_string()
                .starts_with("artifact \"r.test/b\" has no applicable trust policy statement")
        );
        assert!(policy("audit", &["*"], &["*"]).expect("a policy").applicable("r.test/b").is_ok());
    }

    #[test]
    fn policies_that_make_no_sense_are_refused() {
        for (level, identities, message) in [
            (
                "",
                &["*"][..],
                "trust policy statement \"test\" has invalid signatureVerification: signature verification level is empty or missing in the trust policy statement",
            ),
            (
                "lax",
                &["*"],
                "trust policy statement \"test\" has invalid signatureVerification: invalid signature verification level \"lax\"",
            ),
            (
                "strict",
                &[],
                "trust policy statement \"test\" is either missing trust stores or trusted identities, both must be specified",
            ),
            (
                "strict",
                &["*", "x509.subject: C=US, ST=WA, O=acme"],
                "trust policy statement \"test\" uses a wildcard trusted identity '*', a wildcard identity cannot be used in conjunction with other values",
            ),
            (
                "strict",
                &["x509.subject: C=US, ST=WA, O=acme", "x509.subject: C=US, ST=WA, O=acme, CN=x"],
                "trust policy statement \"test\" has overlapping x509 trustedIdentities, \"x509.subject: C=US, ST=WA, O=acme\" overlaps with \"x509.subject: C=US, ST=WA, O=acme, CN=x\"",
            ),
            (
                "strict",
                &["acme"],
                "trust policy statement \"test\" has trusted identity \"acme\" missing separator",
            ),
            (
                "strict",
                &["x509.subject: CN=x"],
                "trust policy statement \"test\" has trusted identity \"x509.subject: CN=x\": distinguished name (DN) \" CN=x\" has no mandatory RDN attribute for \"C\", it must contain 'C', 'ST' or 'S', and 'O' RDN attributes at a minimum",
            ),
        ] {
            assert_eq!(policy(level, &["*"], identities), Err(message.to_owned()));
        }
        assert!(
            policy("skip", &["*"], &["*"]).is_ok(),
            "what a skipping statement has too much is ignored"
        );
    }

    #[test]
    fn identities_are_parts_of_subjects() {
        let subject: Vec<(String, String)> =
            [("C", "US"), ("ST", "WA"), ("O", "acme, inc"), ("CN", "x")]
                .map(|(kind, value)| (kind.to_owned(), value.to_owned()))
                .to_vec();
        for (identity, expected) in [
            ("*", true),
            ("x509.subject: C=US, ST=WA, O=acme\\, inc", true),
            ("x509.subject: C=US, ST=WA, O=acme\\, inc, CN=x", true),
            ("x509.subject: C=US, ST=WA, O=acme\\, inc, CN=y", false),
            ("x509.subject: C=US, ST=WA, O=acme", false),
            ("other: C=US, ST=WA, O=acme\\, inc", false),
        ] {
            let one = policy("strict", &["*"], &[identity]).expect("a policy");
            let statement = one.applicable("r.test/a").expect("a statement");
            assert_eq!(statement.trusts(Some(&subject)).is_ok(), expected, "{identity}");
            assert_eq!(statement.trusts(None).is_ok(), identity == "*", "{identity}");
        }
    }
}
