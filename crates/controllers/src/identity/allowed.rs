//! For which objects the controllers' own identity is used: `--controller-identity-for`.
//!
//! An object that names no service account, where the operator names no default, is served with the
//! identity of the controllers: their service account's token, or what a cloud gives to their pod. Sources and
//! decryption send it to proven hosts of a cloud only and are served everywhere unless the operator says
//! otherwise, as in Flux. A kubeconfig sends it to an address of the tenant's choice, so nobody is served
//! unless the operator says so.

use std::fmt;
use std::str::FromStr;

/// What an identity is needed for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// Repositories, registries and buckets of clouds.
    Sources,
    /// Keys of clouds and Vaults that SOPS documents name.
    Decryption,
    /// Other clusters, by `spec.kubeConfig.configMapRef`.
    Kubeconfig,
}

impl Purpose {
    const ALL: [Self; 3] = [Self::Sources, Self::Decryption, Self::Kubeconfig];

    const fn name(self) -> &'static str {
        match self {
            Self::Sources => "sources",
            Self::Decryption => "decryption",
            Self::Kubeconfig => "kubeconfig",
        }
    }
}

/// One entry: `PURPOSE`, `PURPOSE:NAMESPACE` or `PURPOSE:NAMESPACE/NAME`; `none` allows nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Allowed(Option<(Purpose, Scope)>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Scope {
    Everywhere,
    Namespace(String),
    /// The name of a source, of a Kustomization that decrypts, or of a kubeconfig's ConfigMap.
    Object(String, String),
}

impl Allowed {
    /// A purpose for every object.
    pub const fn everywhere(purpose: Purpose) -> Self {
        Self(Some((purpose, Scope::Everywhere)))
    }

    fn covers(&self, purpose: Purpose, namespace: &str, name: &str) -> bool {
        let Some((allowed, scope)) = &self.0 else { return false };
        let is_in_scope = match scope {
            Scope::Everywhere => true,
            Scope::Namespace(it) => it == namespace,
            Scope::Object(space, it) => space == namespace && it == name,
        };
        *allowed == purpose && is_in_scope
    }
}

impl fmt::Display for Allowed {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            None => formatter.write_str("none"),
            Some((purpose, Scope::Everywhere)) => formatter.write_str(purpose.name()),
            Some((purpose, Scope::Namespace(namespace))) => {
                write!(formatter, "{}:{namespace}", purpose.name())
            }
            Some((purpose, Scope::Object(namespace, name))) => {
                write!(formatter, "{}:{namespace}/{name}", purpose.name())
            }
        }
    }
}

impl FromStr for Allowed {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "none" {
            return Ok(Self(None));
        }
        let (purpose, scope) = match text.split_once(':') {
            None => (text, Scope::Everywhere),
            Some((purpose, place)) => match place.split_once('/') {
                None => (purpose, Scope::Namespace(place.to_owned())),
                Some((space, name)) => (purpose, Scope::Object(space.to_owned(), name.to_owned())),
            },
        };
        let is_whole = match &scope {
            Scope::Everywhere => true,
            Scope::Namespace(namespace) => !namespace.is_empty(),
            Scope::Object(namespace, name) => !namespace.is_empty() && !name.is_empty(),
        };
        let purpose = Purpose::ALL.into_iter().find(|it| it.name() == purpose && is_whole);
        purpose.map(|purpose| Self(Some((purpose, scope)))).ok_or_else(|| {
            format!(
                "'{text}' is none of sources, decryption and kubeconfig, with :NAMESPACE or :NAMESPACE/NAME behind it"
            )
        })
    }
}

/// For which objects the controllers' own identity is used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ControllerIdentity(pub Vec<Allowed>);

impl Default for ControllerIdentity {
    fn default() -> Self {
        Self(vec![Allowed::everywhere(Purpose::Sources), Allowed::everywhere(Purpose::Decryption)])
    }
}

impl ControllerIdentity {
    /// Why the identity is not used for an object; nothing where it is.
    pub fn refusal(&self, purpose: Purpose, namespace: &str, name: &str) -> Option<String> {
        if self.0.iter().any(|allowed| allowed.covers(purpose, namespace, name)) {
            return None;
        }
        let purpose = purpose.name();
        Some(format!(
            "the controllers' own identity is not used for {purpose} '{namespace}/{name}': name a service account, or ask your cluster administrator for --controller-identity-for={purpose}:{namespace}/{name}"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::Purpose::{Decryption, Kubeconfig, Sources};
    use super::{Allowed, ControllerIdentity};

    fn allowing(entries: &[&str]) -> ControllerIdentity {
        ControllerIdentity(entries.iter().map(|text| text.parse().expect("an entry")).collect())
    }

    #[test]
    fn kubeconfigs_are_served_where_the_operator_says_so() {
        let usual = ControllerIdentity::default();
        assert_eq!(usual, allowing(&["sources", "decryption"]));
        assert!(usual.refusal(Sources, "apps", "a").is_none());
        assert!(usual.refusal(Decryption, "apps", "a").is_none());
        assert!(usual.refusal(Kubeconfig, "apps", "a").is_some());
        let some = allowing(&["kubeconfig:fleet", "kubeconfig:apps/prod", "sources:apps"]);
        for (purpose, namespace, name, is_allowed) in [
            (Kubeconfig, "fleet", "any", true),
            (Kubeconfig, "apps", "prod", true),
            (Kubeconfig, "apps", "other", false),
            (Kubeconfig, "app", "s/prod", false),
            (Sources, "apps", "a", true),
            (Sources, "fleet", "a", false),
            (Decryption, "apps", "a", false),
        ] {
            let refusal = some.refusal(purpose, namespace, name);
            assert_eq!(refusal.is_none(), is_allowed, "{purpose:?} {namespace}/{name}");
        }
        assert!(allowing(&["none"]).refusal(Sources, "apps", "a").is_some());
    }

    #[test]
    fn entries_are_read_and_written_alike() {
        for text in ["sources", "decryption:apps", "kubeconfig:apps/prod", "none"] {
            assert_eq!(text.parse::<Allowed>().expect("an entry").to_string(), text);
        }
        for text in ["", "all", "kubeconfig:", "kubeconfig:/x", "kubeconfig:a/", "Sources"] {
            assert!(text.parse::<Allowed>().is_err(), "{text}");
        }
    }
}
