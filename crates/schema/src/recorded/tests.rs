use serde_json::json;

#[test]
fn every_document_can_be_rebuilt_and_refers_only_to_its_own_schemas() {
    let openapi = super::openapi();
    let mut documents = 0;
    for name in openapi.documents() {
        let document = openapi.document(name).unwrap();
        let schemas = &document["components"]["schemas"];
        for reached in openapi.reached_from(&document["paths"]) {
            assert!(schemas.get(reached).is_some(), "{name} lacks {reached}");
        }
        assert!(openapi.url(name).unwrap().starts_with(&format!("/openapi/v3/{name}?hash=")));
        documents += 1;
    }
    assert_eq!(documents, 47);
    assert_eq!(openapi.schema_names().count(), 570);
}

#[test]
fn a_patch_path_tells_kubectl_that_the_server_validates() {
    let document = super::openapi().document("apis/apps/v1").unwrap();
    let patch =
        &document["paths"]["/apis/apps/v1/namespaces/{namespace}/deployments/{name}"]["patch"];
    assert_eq!(
        patch["x-kubernetes-group-version-kind"],
        json!({"group": "apps", "version": "v1", "kind": "Deployment"})
    );
    let parameters = patch["parameters"].as_array().unwrap();
    assert!(parameters.iter().any(|p| p["name"] == "fieldValidation" && p["in"] == "query"));
}

#[test]
fn a_kind_has_a_schema_with_descriptions() {
    let openapi = super::openapi();
    assert_eq!(openapi.schema_name("apps/v1", "Deployment"), Some("io.k8s.api.apps.v1.Deployment"));
    assert_eq!(openapi.schema_name("v1", "Pod"), Some("io.k8s.api.core.v1.Pod"));
    assert_eq!(openapi.schema_name("v1", "Nonsense"), None);
    let schema = openapi.schema_of("v1", "ConfigMap").unwrap();
    assert!(schema["properties"]["data"]["description"].is_string());
}

#[test]
fn discovery_knows_names_scopes_and_subresources() {
    let groups = super::discovery().groups();
    assert_eq!(groups.len(), 21);
    assert_eq!(groups[0].name, "");
    let apps = groups.iter().find(|group| group.name == "apps").unwrap();
    let deployments =
        apps.versions[0].resources.iter().find(|resource| resource.name == "deployments").unwrap();
    assert_eq!(deployments.kind, "Deployment");
    assert_eq!((&*deployments.kind_group, &*deployments.kind_version), ("apps", "v1"));
    assert_eq!(deployments.short_names, ["deploy"]);
    assert!(deployments.namespaced);
    assert!(!deployments.storage_version_hash.is_empty());
    let scale = &deployments.subresources[0];
    assert_eq!(
        (&*scale.kind_group, &*scale.kind_version, &*scale.kind),
        ("autoscaling", "v1", "Scale")
    );
    let legacy = super::discovery().legacy("/apis/apps/v1").unwrap();
    assert_eq!(legacy["kind"], "APIResourceList");
    let aggregated = super::discovery().aggregated("/apis").unwrap();
    assert_eq!(aggregated["kind"], "APIGroupDiscoveryList");
}

#[test]
fn a_fresh_cluster_has_its_roles_and_namespaces() {
    let count = |path: &str| {
        super::bootstrap().find(|(known, _)| *known == path).map_or(0, |(_, items)| items.len())
    };
    assert_eq!(count("/api/v1/namespaces"), 4);
    assert_eq!(count("/apis/rbac.authorization.k8s.io/v1/clusterroles"), 68);
    assert_eq!(count("/apis/discovery.k8s.io/v1/endpointslices"), 1);
    for (_, items) in super::bootstrap() {
        for item in items {
            assert!(item["kind"].is_string() && item["apiVersion"].is_string());
            assert!(item["metadata"].get("uid").is_none());
        }
    }
}
