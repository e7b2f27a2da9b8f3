//! Secrets of type `kubernetes.io/service-account-token`: filled with a token that does not expire,
//! and deleted with their service account.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::control::{CONTROLLER_MANAGER, Control};
use super::{Controller, Key, Next, Reconcile};
use crate::auth::{LEGACY_ISSUER, service_account};
use crate::metadata;
use crate::store::{Event, GroupResource};
use crate::value::text;
use crate::write::DeleteOptions;

const TYPE: &str = "kubernetes.io/service-account-token";
const ACCOUNT: &str = "kubernetes.io/service-account.name";
const ACCOUNT_UID: &str = "kubernetes.io/service-account.uid";

/// The tokens controller.
pub(super) struct ServiceAccountTokens;

impl Controller for ServiceAccountTokens {
    fn wakes(&self, control: &Control, resource: &GroupResource, event: &Event) -> Vec<Key> {
        if !resource.group.is_empty() {
            return Vec::new();
        }
        let key = Key::of(resource, &event.key);
        match resource.resource.as_str() {
            "secrets" if is_token(&event.object.value) => vec![key],
            "serviceaccounts" => {
                let secrets = GroupResource::new("", "secrets");
                let prefix = format!("{}/", key.namespace);
                let listing = control.state.store.list(&secrets, &prefix, None, None);
                let items = listing.map(|listing| listing.items).unwrap_or_default();
                items
                    .iter()
                    .filter(|(_, secret)| {
                        is_token(&secret.value) && account(&secret.value) == key.name
                    })
                    .map(|(key, _)| Key::of(&secrets, key))
                    .collect()
            }
            _ => Vec::new(),
        }
    }

    fn reconcile<'a>(&'a self, control: &'a Control, key: &'a Key) -> Reconcile<'a> {
        Box::pin(async move {
            let Some(secret) = control.get(key).filter(|secret| is_token(secret)) else {
                return Next::Wait;
            };
            let name = account(&secret);
            let found = control.get(&Key::new("", "serviceaccounts", &key.namespace, name));
            let claimed = metadata::entry(&secret, "annotations", ACCOUNT_UID).unwrap_or_default();
            let Some(found) =
                found.filter(|found| claimed.is_empty() || claimed == metadata::uid(found))
            else {
                let uid = metadata::uid(&secret);
                let _ =
                    control.delete(CONTROLLER_MANAGER, key, DeleteOptions::default(), uid).await;
                return Next::Wait;
            };
            let uid = metadata::uid(&found);
            let wanted = filled(control, key, &secret, name, uid);
            if wanted != *secret {
                let _ = control
                    .update(CONTROLLER_MANAGER, key, "", &mut |secret| {
                        *secret = filled(control, key, secret, name, uid);
                    })
                    .await;
            }
            Next::Wait
        })
    }
}

fn is_token(secret: &Value) -> bool {
    text(secret, "type") == TYPE && !account(secret).is_empty()
}

fn account(secret: &Value) -> &str {
    metadata::entry(secret, "annotations", ACCOUNT).unwrap_or_default()
}

/// The secret with all data of a token secret; an existing token is kept.
fn filled(control: &Control, key: &Key, secret: &Value, name: &str, uid: &str) -> Value {
    let authority = &control.state.authority;
    let mut out = secret.clone();
    let data = &mut out["data"];
    if !data.is_object() {
        *data = json!({});
    }
    data["ca.crt"] = STANDARD.encode(authority.root_certificate()).into();
    data["namespace"] = STANDARD.encode(&key.namespace).into();
    if data["token"].as_str().unwrap_or_default().is_empty() {
        let token = authority.sign(&json!({
            "iss": LEGACY_ISSUER,
            "kubernetes.io/serviceaccount/namespace": key.namespace,
            "kubernetes.io/serviceaccount/secret.name": key.name,
            "kubernetes.io/serviceaccount/service-account.name": name,
            "kubernetes.io/serviceaccount/service-account.uid": uid,
            "sub": service_account::username(&key.namespace, name),
        }));
        data["token"] = STANDARD.encode(token).into();
    }
    out["metadata"]["annotations"][ACCOUNT_UID] = uid.into();
    out
}
