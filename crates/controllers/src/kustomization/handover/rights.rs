//! Whether another Kustomization may apply an object: nobody keeps what is not theirs to have.

use std::collections::BTreeMap;

use k8s_openapi::api::authorization::v1::{
    ResourceAttributes, SelfSubjectAccessReview, SelfSubjectAccessReviewSpec,
};
use kube::Api;
use kube::api::PostParams;
use sluice_api::kustomize::kustomization::Kustomization;
use sluice_ssa::{ApiError, ObjectId, ObjectKey};

use super::super::Kustomizations;
use super::super::access::Target;
use crate::client::is_account_name;

/// What is known about a right.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Right {
    Yes,
    No,
    /// The API server gave no answer: the object stays until it does.
    Unknown,
}

/// How many questions about single objects are asked of other namespaces for one prune. Most rights are to all objects of a kind;
/// claims are forged easily, and each may bring an account of its own.
const MOST: usize = 100;

/// The account that acts: its namespace and name.
type Account = (Option<String>, Option<String>);

/// Rights that were asked for: each is asked once.
#[derive(Default)]
pub(super) struct Rights {
    /// By account, group, kind and namespace.
    to_kinds: BTreeMap<(Account, String, String, String), Right>,
    /// By account and object.
    to_objects: BTreeMap<(Account, ObjectId), Right>,
}

impl Kustomizations {
    /// Whether another Kustomization has the right to apply an object. One that acts as the same account
    /// as the owner has it.
    pub(super) async fn right_to(
        &self,
        own: &Kustomization,
        other: &Kustomization,
        object: &ObjectKey,
        known: &mut Rights,
    ) -> Right {
        let right = self.right_to_kind(own, other, object, known).await;
        if right != Right::No {
            return right;
        }
        let question = (self.account(other), object.id.clone());
        if let Some(right) = known.to_objects.get(&question) {
            return *right;
        }
        let crosses = own.metadata.namespace != other.metadata.namespace;
        if crosses && known.to_objects.len() >= MOST {
            return Right::No;
        }
        let right = self.review(other, object, Some(&object.id.name)).await;
        known.to_objects.insert(question, right);
        right
    }

    /// The same for all objects of the kind in the namespace.
    pub(super) async fn right_to_kind(
        &self,
        own: &Kustomization,
        other: &Kustomization,
        object: &ObjectKey,
        known: &mut Rights,
    ) -> Right {
        let account = self.account(other);
        if self.account(own) == account {
            return Right::Yes;
        }
        let id = &object.id;
        let question = (account, id.group.clone(), id.kind.clone(), id.namespace.clone());
        if let Some(right) = known.to_kinds.get(&question) {
            return *right;
        }
        let right = self.review(other, object, None).await;
        known.to_kinds.insert(question, right);
        right
    }

    /// The account that a Kustomization acts as.
    fn account(&self, object: &Kustomization) -> Account {
        (object.metadata.namespace.clone(), self.service_account(object).map(str::to_owned))
    }

    async fn review(
        &self,
        other: &Kustomization,
        object: &ObjectKey,
        name: Option<&String>,
    ) -> Right {
        // Nobody has such a name, and no request is made in it: it may be too long for one.
        if self.service_account(other).is_some_and(|name| !is_account_name(name)) {
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
