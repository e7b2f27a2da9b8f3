//! Trust policies: for which repositories whose signatures count, and how strictly.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

/// A policy that cannot be used, in notation's words.
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

/// What holds for some repositories.
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

/// What is checked, beside that the signature is one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Check {
    Authenticity,
    AuthenticTimestamp,
    Expiry,
}

/// What happens when a check fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Action {
    Enforce,
    Log,
    Skip,
}

/// How strict a statement is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Level {
    authenticity: Action,
    timestamp: Action,
    expiry: Action,
}

impl Level {
    pub(super) const SKIP: Self =
        Self { authenticity: Action::Skip, timestamp: Action::Skip, expiry: Action::Skip };

    pub(super) fn action(self, check: Check) -> Action {
        match check {
            Check::Authenticity => self.authenticity,
            Check::AuthenticTimestamp => self.timestamp,
            Check::Expiry => self.expiry,
        }
    }
}

impl TrustPolicy {
    /// Reads a policy and checks that it makes sense. Statements that skip need no trust stores and
    /// no identities; those they have are ignored, as Flux ignores them.
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
            for store in &statement.trust_stores {
                let kind = store.split_once(':').map(|(kind, _)| kind);
                if !matches!(kind, Some("ca" | "signingAuthority" | "tsa")) {
                    return bad(format!(
                        "trust policy statement {name:?} has malformed trust store value {store:?}. The required format is <TrustStoreType>:<TrustStoreName>"
                    ));
                }
            }
            if statement.registry_scopes.is_empty() {
                return bad(format!(
                    "trust policy statement {name:?} has zero registry scopes, it must specify registry scopes with at least one value"
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
        with(repository).or_else(|| with("*")).ok_or_else(|| {
            PolicyError(format!(
                "artifact {repository:?} has no applicable trust policy statement. Trust policy applicability for a given artifact is determined by registryScopes"
            ))
        })
    }
}

impl Statement {
    /// How strict it is.
    pub(super) fn level(&self) -> Result<Level, PolicyError> {
        let bad = |message: String| {
            let name = &self.name;
            PolicyError(format!(
                "trust policy statement {name:?} has invalid signatureVerification: {message}"
            ))
        };
        let (enforce, log) = (Action::Enforce, Action::Log);
        let mut level = match self.signature_verification.level.as_str() {
            "strict" => Level { authenticity: enforce, timestamp: enforce, expiry: enforce },
            "permissive" => Level { authenticity: enforce, timestamp: log, expiry: log },
            "audit" => Level { authenticity: log, timestamp: log, expiry: log },
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
                // Revocation is not looked up.
                "revocation" => {}
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

    /// Whether a subject is one that it names: all parts that it names are there.
    pub(super) fn trusts(&self, subject: &[(String, String)]) -> Result<(), String> {
        if self.trusted_identities.iter().any(|identity| identity == "*") {
            return Ok(());
        }
        let named =
            self.trusted_identities.iter().filter_map(|it| it.strip_prefix("x509.subject:"));
        let mut any = false;
        for name in named {
            any = true;
            let parts = distinguished(name)?;
            if parts.iter().all(|part| subject.contains(part)) {
                return Ok(());
            }
        }
        let name = &self.name;
        if any {
            return Err(format!(
                "signing certificate from the digital signature does not match the X.509 trusted identities defined in the trust policy {name:?}"
            ));
        }
        Err(format!("no x509 trusted identities are configured in the trust policy {name:?}"))
    }
}

/// The parts of a name such as `C=US, ST=WA, O=acme`; a backslash keeps the next sign as it is.
fn distinguished(name: &str) -> Result<Vec<(String, String)>, String> {
    let bad = || format!("parsing distinguished name (DN) {name:?} failed");
    let mut parts = vec![String::new()];
    let mut signs = name.chars();
    while let Some(sign) = signs.next() {
        match sign {
            ',' => parts.push(String::new()),
            '\\' => parts.last_mut().ok_or_else(bad)?.extend(signs.next()),
            sign => parts.last_mut().ok_or_else(bad)?.push(sign),
        }
    }
    let split = |part: &String| {
        let (kind, value) = part.split_once('=')?;
        let kind = match kind.trim().to_uppercase().as_str() {
            "S" => "ST".to_owned(),
            other => other.to_owned(),
        };
        Some((kind, value.trim().to_owned()))
    };
    parts.iter().map(split).collect::<Option<Vec<_>>>().ok_or_else(bad)
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
            ("x509.subject: CN=x", true),
            ("x509.subject: CN=y", false),
            ("other: CN=x", false),
        ] {
            let one = policy("strict", &["*"], &[identity]).expect("a policy");
            let statement = one.applicable("r.test/a").expect("a statement");
            assert_eq!(statement.trusts(&subject).is_ok(), expected, "{identity}");
        }
    }
}
