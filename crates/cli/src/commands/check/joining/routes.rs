//! Checks routes: the Services, ports, classes and gateways that Ingresses and HTTPRoutes refer to are applied with
//! them, or are in the cluster.

use k8s_openapi::api::core::v1::Service;
use k8s_openapi::api::networking::v1::IngressClass;
use kube::discovery::ApiResource;
use serde_json::Value;

use super::inputs::{Inputs, called};
use crate::commands::check::findings::{Area, Findings, Verdict};
use crate::kinds::text_at;
use crate::session::Session;

/// A target of a route.
#[derive(Debug, PartialEq, Eq)]
enum Target {
    Service { namespace: String, name: String, port: Value },
    Class(String),
    Gateway { namespace: String, name: String },
}

impl Target {
    fn called(&self) -> String {
        match self {
            Self::Service { namespace, name, port: Value::Null } => {
                format!("Service/{namespace}/{name}")
            }
            Self::Service { namespace, name, port } => {
                let port = port.as_str().map_or_else(|| port.to_string(), str::to_owned);
                format!("Service/{namespace}/{name}:{port}")
            }
            Self::Class(name) => format!("IngressClass/{name}"),
            Self::Gateway { namespace, name } => format!("Gateway/{namespace}/{name}"),
        }
    }
}

/// Checks every route that is declared or built.
pub(super) async fn check(session: &Session, inputs: &Inputs, findings: &mut Findings) {
    for object in inputs.declared.iter().chain(&inputs.built) {
        let targets = match text_at(object, "/kind") {
            "Ingress" => of_ingress(object),
            "HTTPRoute" => of_http_route(object),
            _ => continue,
        };
        for target in targets {
            let route = called(object);
            let (verdict, word) = if is_there(session, inputs, &target).await {
                (Verdict::Good, "leads to")
            } else {
                (Verdict::Bad, "leads nowhere: no")
            };
            let message = format!("{word} {}", target.called());
            findings.add(Area::Route, &route, verdict, &message);
        }
    }
}

async fn is_there(session: &Session, inputs: &Inputs, target: &Target) -> bool {
    match target {
        Target::Class(name) => {
            let resource = ApiResource::erase::<IngressClass>(&());
            inputs.declares("IngressClass", "", name)
                || session.get_resource(&resource, None, name).await.is_ok()
        }
        Target::Gateway { namespace, name } => {
            let kind =
                kube::core::GroupVersionKind::gvk("gateway.networking.k8s.io", "v1", "Gateway");
            let resource = ApiResource::from_gvk(&kind);
            inputs.declares("Gateway", namespace, name)
                || session.get_resource(&resource, Some(namespace), name).await.is_ok()
        }
        Target::Service { namespace, name, port } => {
            let is_it = |object: &&Value| {
                text_at(object, "/kind") == "Service"
                    && text_at(object, "/metadata/name") == name
                    && ["", namespace].contains(&text_at(object, "/metadata/namespace"))
            };
            let applied = inputs.declared.iter().chain(&inputs.built).find(is_it);
            if let Some(service) = applied {
                return has_port(service, port);
            }
            let resource = ApiResource::erase::<Service>(&());
            let found = session.get_resource(&resource, Some(namespace), name).await;
            found.is_ok_and(|service| has_port(&service, port))
        }
    }
}

/// Whether a Service has a port by its number or its name.
fn has_port(service: &Value, wanted: &Value) -> bool {
    let ports = service.pointer("/spec/ports").and_then(Value::as_array);
    wanted.is_null()
        || ports.into_iter().flatten().any(|port| {
            port.get("port") == Some(wanted) || port.get("name").is_some_and(|name| name == wanted)
        })
}

fn of_ingress(ingress: &Value) -> Vec<Target> {
    let namespace = text_at(ingress, "/metadata/namespace").to_owned();
    let list = |value: &Value, pointer: &str| {
        value.pointer(pointer).and_then(Value::as_array).cloned().unwrap_or_default()
    };
    let mut backends: Vec<Value> =
        ingress.pointer("/spec/defaultBackend").into_iter().cloned().collect();
    for rule in list(ingress, "/spec/rules") {
        for path in list(&rule, "/http/paths") {
            backends.extend(path.get("backend").cloned());
        }
    }
    let mut targets = Vec::new();
    let class = text_at(ingress, "/spec/ingressClassName");
    if !class.is_empty() {
        targets.push(Target::Class(class.to_owned()));
    }
    for backend in backends {
        let Some(service) = backend.get("service") else { continue };
        let port = service.pointer("/port/number").or_else(|| service.pointer("/port/name"));
        targets.push(Target::Service {
            namespace: namespace.clone(),
            name: text_at(service, "/name").to_owned(),
            port: port.cloned().unwrap_or_default(),
        });
    }
    targets
}

fn of_http_route(route: &Value) -> Vec<Target> {
    let own = text_at(route, "/metadata/namespace");
    let list = |value: &Value, pointer: &str| {
        value.pointer(pointer).and_then(Value::as_array).cloned().unwrap_or_default()
    };
    let place = |reference: &Value| {
        let namespace = text_at(reference, "/namespace");
        let namespace = if namespace.is_empty() { own } else { namespace };
        (namespace.to_owned(), text_at(reference, "/name").to_owned())
    };
    let is = |reference: &Value, kind: &str| ["", kind].contains(&text_at(reference, "/kind"));
    let mut targets = Vec::new();
    for parent in list(route, "/spec/parentRefs").iter().filter(|parent| is(parent, "Gateway")) {
        let (namespace, name) = place(parent);
        targets.push(Target::Gateway { namespace, name });
    }
    for rule in list(route, "/spec/rules") {
        for backend in list(&rule, "/backendRefs").iter().filter(|it| is(it, "Service")) {
            let (namespace, name) = place(backend);
            let port = backend.get("port").cloned().unwrap_or_default();
            targets.push(Target::Service { namespace, name, port });
        }
    }
    targets
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Target, has_port, of_http_route, of_ingress};

    #[test]
    fn routes_name_what_they_lead_to() {
        let ingress = json!({
            "kind": "Ingress", "metadata": {"name": "web", "namespace": "shop"},
            "spec": {
                "ingressClassName": "platform",
                "rules": [{"http": {"paths": [
                    {"backend": {"service": {"name": "web", "port": {"name": "http"}}}},
                    {"backend": {"resource": {"kind": "Bucket", "name": "static"}}},
                ]}}],
            },
        });
        let called: Vec<String> = of_ingress(&ingress).iter().map(Target::called).collect();
        assert_eq!(called, ["IngressClass/platform", "Service/shop/web:http"]);

        let route = json!({
            "kind": "HTTPRoute", "metadata": {"name": "web", "namespace": "shop"},
            "spec": {
                "parentRefs": [{"name": "public", "namespace": "gateways"}],
                "rules": [{"backendRefs": [{"name": "web", "port": 80}]}],
            },
        });
        let called: Vec<String> = of_http_route(&route).iter().map(Target::called).collect();
        assert_eq!(called, ["Gateway/gateways/public", "Service/shop/web:80"]);
    }

    #[test]
    fn ports_have_numbers_and_names() {
        let service = json!({"spec": {"ports": [{"name": "http", "port": 80}]}});
        for (port, is_there) in
            [(json!(80), true), (json!("http"), true), (json!(81), false), (json!(null), true)]
        {
            assert_eq!(has_port(&service, &port), is_there, "{port}");
        }
    }
}
