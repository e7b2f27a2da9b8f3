//! The objects of every namespace: the `default` service account and the root certificate.

use serde_json::json;

use super::control::{Actor, CONTROLLER_MANAGER, Control};
use super::{Controller, Key, Next, Reconcile};
use crate::metadata;
use crate::store::{Change, Event, GroupResource};

const ACCOUNTS: Actor = Actor {
    user: "system:serviceaccount:kube-system:service-account-controller",
    manager: CONTROLLER_MANAGER.manager,
};
const CERTIFICATES: Actor = Actor {
    user: "system:serviceaccount:kube-system:root-ca-cert-publisher",
    manager: CONTROLLER_MANAGER.manager,
};
const CERTIFICATE_MAP: &str = "kube-root-ca.crt";

/// The service account controller and the publisher of the root certificate.
pub(super) struct ServiceAccountController;

impl Controller for ServiceAccountController {
    fn wakes(&self, _: &Control, resource: &GroupResource, event: &Event) -> Vec<Key> {
        if !resource.group.is_empty() {
            return Vec::new();
        }
        let key = Key::of(resource, &event.key);
        match resource.resource.as_str() {
            "namespaces" if event.change == Change::Added => {
                vec![Key::new("", "namespaces", "", &key.name)]
            }
            "serviceaccounts" if event.change == Change::Deleted && key.name == "default" => {
                vec![Key::new("", "namespaces", "", &key.namespace)]
            }
            "configmaps" if key.name == CERTIFICATE_MAP && event.change != Change::Added => {
                vec![Key::new("", "namespaces", "", &key.namespace)]
            }
            _ => Vec::new(),
        }
    }

    fn reconcile<'a>(&'a self, control: &'a Control, key: &'a Key) -> Reconcile<'a> {
        Box::pin(async move {
            let Some(namespace) = control.get(key) else { return Next::Wait };
            if metadata::is_terminating(&namespace) {
                return Next::Wait;
            }
            let name = &key.name;
            if control.get(&Key::new("", "serviceaccounts", name, "default")).is_none() {
                let account = json!({"metadata": {"name": "default", "namespace": name}});
                let accounts = GroupResource::new("", "serviceaccounts");
                let _ = control.create(ACCOUNTS, &accounts, name, account).await;
            }
            let certificate = control.state.authority.root_certificate();
            let map = Key::new("", "configmaps", name, CERTIFICATE_MAP);
            match control.get(&map) {
                None => {
                    let object = json!({
                        "metadata": {
                            "name": CERTIFICATE_MAP,
                            "namespace": name,
                            "annotations": {
                                "kubernetes.io/description": "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes clusters.",
                            },
                        },
                        "data": {"ca.crt": certificate},
                    });
                    let maps = GroupResource::new("", "configmaps");
                    let _ = control.create(CERTIFICATES, &maps, name, object).await;
                }
                Some(found) if found["data"]["ca.crt"] != *certificate => {
                    let _ = control
                        .update(CERTIFICATES, &map, "", &mut |value| {
                            value["data"] = json!({"ca.crt": certificate});
                        })
                        .await;
                }
                Some(_) => {}
            }
            Next::Wait
        })
    }
}
