//! Installed objects are those that Flux's tools expect, and `serve` accepts their flags.

use serde_json::Value;

use super::plan::{self, Plan, Profile};
use super::{exported, manifests};

fn plan(profile: Profile) -> Plan {
    let names = ["source-controller", "kustomize-controller"].map(str::to_owned);
    Plan {
        namespace: "flux-system".to_owned(),
        profile,
        image: "registry.example.com/sluice:v1".to_owned(),
        controllers: plan::controllers(names.iter()).map_err(|it| it.message().to_owned()).unwrap(),
        network_policy: true,
        watch_all_namespaces: true,
        lockdown: false,
        workload_identity: false,
        log_level: "info",
        toleration_keys: Vec::new(),
        cluster_domain: "cluster.local".to_owned(),
        image_pull_secret: None,
        events_addr: String::new(),
    }
}

fn called(object: &Value) -> String {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    format!("{}/{}", text("/kind"), text("/metadata/name"))
}

fn names(plan: &Plan) -> Vec<String> {
    let all = manifests(plan);
    let plain = all.iter().filter(|object| object["kind"] != "CustomResourceDefinition");
    plain.map(called).collect()
}

#[test]
fn names_are_flux_own() {
    let shared = [
        "Namespace/flux-system",
        "NetworkPolicy/allow-egress",
        "NetworkPolicy/allow-scraping",
        "NetworkPolicy/allow-webhooks",
        "ResourceQuota/critical-pods-flux-system",
        "ClusterRole/crd-controller-flux-system",
    ];
    let split = [
        "ClusterRole/source-fetcher-flux-system",
        "Role/source-fetcher",
        "ClusterRole/flux-edit-flux-system",
        "ClusterRole/flux-view-flux-system",
        "ClusterRoleBinding/cluster-reconciler-flux-system",
        "ClusterRoleBinding/crd-controller-flux-system",
        "ClusterRoleBinding/source-fetcher-flux-system",
        "RoleBinding/source-fetcher",
        "ServiceAccount/source-controller",
        "ServiceAccount/kustomize-controller",
        "Service/source-controller",
        "Deployment/source-controller",
        "Deployment/kustomize-controller",
    ];
    let single = [
        "ClusterRole/flux-edit-flux-system",
        "ClusterRole/flux-view-flux-system",
        "ClusterRoleBinding/cluster-reconciler-flux-system",
        "ClusterRoleBinding/crd-controller-flux-system",
        "ServiceAccount/sluice",
        "Service/source-controller",
        "Deployment/sluice",
    ];
    assert_eq!(names(&plan(Profile::Split)), [&shared[..], &split[..]].concat());
    assert_eq!(names(&plan(Profile::Single)), [&shared[..], &single[..]].concat());
}

#[test]
fn everything_bears_flux_labels() {
    for object in manifests(&plan(Profile::Split)) {
        let labels = &object["metadata"]["labels"];
        assert_eq!(labels["app.kubernetes.io/part-of"], "flux", "{}", called(&object));
        assert_eq!(labels["app.kubernetes.io/instance"], "flux-system", "{}", called(&object));
        assert_eq!(labels["app.kubernetes.io/version"], "v2.9.5", "{}", called(&object));
        if object["kind"] == "Deployment" {
            let pods = &object["spec"]["template"]["metadata"]["labels"];
            assert_eq!(pods["app.kubernetes.io/part-of"], "flux");
            assert_eq!(labels["control-plane"], "controller");
        }
    }
}

/// The controller that fetches cannot change anything that grants rights: no Kustomization, no token, no role.
#[test]
fn who_fetches_has_no_rights_on_the_cluster() {
    let all = manifests(&plan(Profile::Split));
    let bound = |object: &&Value| {
        object["subjects"].as_array().is_some_and(|subjects| {
            subjects.iter().any(|subject| subject["name"] == "source-controller")
        })
    };
    let roles: Vec<&Value> =
        all.iter().filter(bound).map(|binding| &binding["roleRef"]["name"]).collect();
    assert_eq!(roles, ["source-fetcher-flux-system", "source-fetcher"]);
    let role = all.iter().find(|object| called(object) == "ClusterRole/source-fetcher-flux-system");
    for rule in role.unwrap()["rules"].as_array().unwrap() {
        let groups = rule["apiGroups"].as_array().unwrap();
        let may_write = rule["verbs"]
            .as_array()
            .unwrap()
            .iter()
            .any(|verb| !["get", "list", "watch"].contains(&verb.as_str().unwrap()));
        let is_harmless = groups.iter().all(|group| {
            group.as_str().unwrap().starts_with("source.") || rule["resources"][0] == "events"
        });
        assert!(!may_write || is_harmless, "{rule}");
    }
}

/// Installers of Flux patch arguments by index.
#[test]
fn arguments_stand_where_flux_has_them() {
    for profile in [Profile::Split, Profile::Single] {
        let all = manifests(&plan(profile));
        for deployment in all.iter().filter(|object| object["kind"] == "Deployment") {
            let container = &deployment["spec"]["template"]["spec"]["containers"][0];
            let arguments = &container["args"];
            assert_eq!(arguments[0], "--events-addr=");
            assert_eq!(arguments[1], "--watch-all-namespaces=true");
            assert_eq!(arguments[2], "--log-level=info");
            if deployment["metadata"]["name"] != "kustomize-controller" {
                assert_eq!(
                    arguments[6],
                    "--storage-adv-addr=source-controller.$(RUNTIME_NAMESPACE).svc.cluster.local."
                );
            }
        }
    }
}

#[test]
fn serve_understands_the_arguments() {
    use clap::Parser as _;
    for profile in [Profile::Split, Profile::Single] {
        let all = manifests(&plan(profile));
        for deployment in all.iter().filter(|object| object["kind"] == "Deployment") {
            let container = &deployment["spec"]["template"]["spec"]["containers"][0];
            let words = [&container["command"], &container["args"]]
                .into_iter()
                .flat_map(|list| list.as_array().unwrap())
                .map(|word| word.as_str().unwrap().to_owned());
            let parsed = crate::commands::Arguments::try_parse_from(words);
            assert!(parsed.is_ok(), "{}", parsed.unwrap_err());
        }
    }
}

#[test]
fn the_exported_file_holds_the_objects() {
    let plan = plan(Profile::Split);
    let text = exported(&plan);
    let read = sluice_yaml::documents_to_json(text.as_bytes(), sluice_yaml::Duplicates::Reject);
    let read: Vec<Value> = read.unwrap().into_iter().filter(|it| !it.is_null()).collect();
    assert_eq!(read, manifests(&plan));
}

/// Controllers that make artifacts share a store, and those that apply are configured to use it.
#[test]
fn the_watcher_runs_beside_the_sources() {
    let names = ["source-watcher", "kustomize-controller", "source-controller"].map(str::to_owned);
    let controllers =
        plan::controllers(names.iter()).map_err(|it| it.message().to_owned()).unwrap();
    let plan = Plan { controllers, ..plan(Profile::Split) };
    let deployments = manifests(&plan).into_iter().filter(|it| it["kind"] == "Deployment");
    let last = |deployment: &Value| {
        let container = &deployment["spec"]["template"]["spec"]["containers"][0];
        container["args"].as_array().unwrap().last().unwrap().as_str().unwrap().to_owned()
    };
    let given: Vec<(String, String)> =
        deployments.map(|deployment| (called(&deployment), last(&deployment))).collect();
    let given: Vec<(&str, &str)> = given.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
    assert_eq!(
        given,
        [
            ("Deployment/source-controller", "--controllers=source-controller,source-watcher"),
            ("Deployment/kustomize-controller", "--feature-gates=ExternalArtifact=true"),
        ]
    );
}

#[test]
fn components_of_others_are_refused() {
    let names = ["helm-controller".to_owned()];
    let refused = plan::controllers(names.iter()).unwrap_err();
    assert_eq!(refused.message(), "component helm-controller is not available");
}

/// Applying adds and never removes: bindings that an installation does not have are removed by name.
#[test]
fn bindings_of_another_installation_are_taken_back() {
    let names = |plan: &Plan| -> Vec<String> {
        let found = super::accounts::left_over(plan).into_iter();
        found.map(|(kind, name)| format!("{kind}/{name}")).collect()
    };
    let split = plan(Profile::Split);
    assert!(
        !names(&split).contains(&"ClusterRoleBinding/cluster-reconciler-flux-system".to_owned())
    );
    assert!(names(&split).contains(&"RoleBinding/source-fetcher-flux-system".to_owned()));
    let locked = Plan { lockdown: true, ..split.clone() };
    assert!(
        names(&locked).contains(&"ClusterRoleBinding/cluster-reconciler-flux-system".to_owned())
    );
    let narrow = Plan { watch_all_namespaces: false, ..locked };
    for name in ["cluster-reconciler", "crd-controller", "source-fetcher"] {
        let binding = format!("ClusterRoleBinding/{name}-flux-system");
        assert!(names(&narrow).contains(&binding), "{binding}");
    }
    let single = plan(Profile::Single);
    assert!(names(&single).contains(&"ClusterRoleBinding/source-fetcher-flux-system".to_owned()));
}
