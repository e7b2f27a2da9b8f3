//! Whether another Kustomization may apply an object: nobody keeps what is not theirs to have.

use std::collections::BTreeMap;

use k8s_openapi::api::authorization::v1::{
    ResourceAttributes, SelfSubjectAccessReview, SelfSubjectAccessReviewSpec,
};
use kube::Api;
use kube::api::PostParams;
use sluice_api::kustomize::kustomization::Kustomization;
use sluice_runtime::key::Key;
use sluice_ssa::{ApiError, ObjectKey};

use super::super::Kustomizations;
use super::super::access::Target;

/// What is known about a right.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Right {
    Yes,
    No,
    /// The API server gave no answer: the object stays until it does.
    Unknown,
}

/// Rights to all objects of a kind, by who asks for what and where; each is asked once.
pub(super) type Rights = BTreeMap<(Key, String, String, String), Right>;

impl Kustomizations {
    /// Whether another Kustomization has the right to apply an object. One that acts as the same account
    /// as the owner has it.
    pub(super) async fn right_to(
        &self,
        own: &Kustomization,
        other: &Kustomization,
        object: &ObjectKey,
    ) -> Right {
        if self.account(own) == self.account(other) {
            return Right::Yes;
        }
        self.review(other, object, Some(&object.id.name)).await
    }

    /// The same for all objects of the kind in the namespace, remembered.
    pub(super) async fn right_to_kind(
        &self,
        own: &Kustomization,
        other: &Kustomization,
        object: &ObjectKey,
        known: &mut Rights,
    ) -> Right {
        if self.account(own) == self.account(other) {
            return Right::Yes;
        }
        let id = &object.id;
        let (group, kind, namespace) = (id.group.clone(), id.kind.clone(), id.namespace.clone());
        let question = (Key::of(&other.metadata), group, kind, namespace);
        if let Some(right) = known.get(&question) {
            return *right;
        }
        let right = self.review(other, object, None).await;
        known.insert(question, right);
        right
    }

    /// The account that a Kustomization acts as.
    fn account<'a>(&'a self, object: &'a Kustomization) -> (Option<&'a str>, Option<&'a str>) {
        (object.metadata.namespace.as_deref(), self.service_account(object))
    }

    async fn review(
        &self,
        other: &Kustomization,
        object: &ObjectKey,
        name: Option<&String>,
    ) -> Right {
        // Nobody has such a name, and no request is made in it: it may be too long for one.
        if self.service_account(other).is_some_and(|name| !is_account(name)) {
            return Right::No;
        }
        let Ok(Target { client, discovery }) = self.target(other).await else {
            // The way to another cluster may be there later; it is one of the same namespace.
            return if other.spec.kube_config.is_some() { Right::Unknown } else { Right::No };
        };
        let resource = match discovery.resolve(&client, object).await {
            Ok(resource) => resource,
            Err(error) => return unanswered(&error),
        };
        let review = SelfSubjectAccessReview {
            spec: SelfSubjectAccessReviewSpec {
                resource_attributes: Some(ResourceAttributes {
                    group: Some(object.id.group.clone()),
                    version: Some(object.version.clone()),
                    resource: Some(resource.plural),
                    namespace: Some(object.id.namespace.clone()),
                    name: name.cloned(),
                    verb: Some("patch".to_owned()),
                    ..ResourceAttributes::default()
                }),
                ..SelfSubjectAccessReviewSpec::default()
            },
            ..SelfSubjectAccessReview::default()
        };
        let api: Api<SelfSubjectAccessReview> = Api::all(client);
        match api.create(&PostParams::default(), &review).await {
            Ok(answer) if answer.status.as_ref().is_some_and(|it| it.allowed) => Right::Yes,
            Ok(_) => Right::No,
            Err(error) => unanswered(&ApiError::from(error)),
        }
    }
}

/// A refusal is an answer; a broken connection is none.
fn unanswered(error: &ApiError) -> Right {
    if error.is_transient() { Right::Unknown } else { Right::No }
}

/// Whether a service account can have this name.
fn is_account(name: &str) -> bool {
    let is_label = |label: &str| {
        let is_inner =
            |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        !label.is_empty()
            && label.bytes().all(is_inner)
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    name.len() <= 253 && name.split('.').all(is_label)
}

#[cfg(test)]
mod tests {
    use super::is_account;

    #[test]
    fn accounts_have_names_of_dns() {
        for name in ["a", "default", "team-1.deployer", "0"] {
            assert!(is_account(name), "{name}");
        }
        let long = "a".repeat(254);
        for name in ["", "A", "a b", "a\nb", "a:b", "../a", "a..b", "-a", "a-", "\u{e4}", &long] {
            assert!(!is_account(name), "{name}");
        }
    }
}
