//! Service accounts that clouds know: sources that are fetched as one, and clusters that are applied to as one.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD};
use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kube::Api;
use kube::api::PostParams;
use serde_json::{Value, json};
use sluice_cluster::Cluster;
use sluice_controllers::egress::Reachable;
use sluice_controllers::identity::ControllerIdentity;
use sluice_source::bucket::MemoryBucket;
use sluice_source::git::GitTransport;
use sluice_source::http::Web;
use sluice_source::network::{Network, Purpose};
use sluice_source::oci::Doorkeeper;

use crate::egress::{Noting, service, small_repository};
use crate::ground::{
    Ground, config_map, config_map_file, kustomization, namespace, repository_with, said,
    source_with,
};

const AZURE_GIT: &str = "https://dev.azure.com/o/p/_git/r";
const AWS_GIT: &str = "https://git-codecommit.eu-west-1.amazonaws.com/v1/repos/r";
const ECR: &str = "oci://123456789012.dkr.ecr.eu-west-1.amazonaws.com/org/app";

/// A service account of the namespace.
fn account(name: &str, annotations: &Value) -> Value {
    json!({
        "apiVersion": "v1", "kind": "ServiceAccount",
        "metadata": {"name": name, "namespace": "apps", "annotations": annotations},
    })
}

/// An account that every cloud knows.
fn everybody(name: &str) -> Value {
    account(
        name,
        &json!({
            "eks.amazonaws.com/role-arn": "arn:aws:iam::1:role/r",
            "azure.workload.identity/tenant-id": "tenant",
            "azure.workload.identity/client-id": "client",
            "iam.gke.io/gcp-service-account": "me@project.iam.gserviceaccount.com",
            "gcp.auth.fluxcd.io/workload-identity-provider":
                "projects/1/locations/global/workloadIdentityPools/pool/providers/kind",
        }),
    )
}

/// Whose a token of the cluster is, and what for.
fn claims(form: &str, field: &str) -> (String, Vec<String>) {
    let start = format!("{field}=");
    let token = form.split('&').find_map(|pair| pair.strip_prefix(start.as_str())).unwrap();
    let claims = token.split('.').nth(1).unwrap();
    let claims: Value =
        serde_json::from_slice(&BASE64_URL_SAFE_NO_PAD.decode(claims).unwrap()).unwrap();
    let audiences = claims["aud"].as_array().unwrap().iter();
    let audiences = audiences.map(|it| it.as_str().unwrap().to_owned()).collect();
    (claims["sub"].as_str().unwrap().to_owned(), audiences)
}

/// Clouds that give tokens to whoever shows one of this cluster for the right audience.
fn clouds(ground: &Ground) {
    const ME: &str = "system:serviceaccount:apps:me";
    let knows = |form: &str, field: &str, audience: &str| {
        let (subject, audiences) = claims(form, field);
        assert_eq!((subject.as_str(), &audiences[..]), (ME, &[audience.to_owned()][..]));
    };
    ground.sandbox.endpoints.put("https://sts.eu-west-1.amazonaws.com/", move |request| {
        let form = String::from_utf8_lossy(request.body()).into_owned();
        assert!(form.contains("RoleSessionName=me.apps.eu-west-1.fluxcd.io&"), "{form}");
        knows(&form, "WebIdentityToken", "sts.amazonaws.com");
        (200, "<AccessKeyId>AKID</AccessKeyId><SecretAccessKey>s</SecretAccessKey><SessionToken>session</SessionToken><Expiration>2026-01-01T01:00:00Z</Expiration>".to_owned())
    });
    ground.sandbox.endpoints.put("https://login.microsoftonline.com/tenant/", move |request| {
        let form = String::from_utf8_lossy(request.body()).into_owned();
        knows(&form, "client_assertion", "api://AzureADTokenExchange");
        let scope = form.split("scope=").nth(1).unwrap().split(['&', '%']).next().unwrap();
        (200, json!({"access_token": format!("azure {scope}"), "expires_in": 3600}).to_string())
    });
    ground.sandbox.endpoints.put("https://sts.googleapis.com/v1/token", move |request| {
        let form = String::from_utf8_lossy(request.body()).into_owned();
        let provider = "//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/pool/providers/kind";
        knows(&form, "subject_token", provider);
        (200, json!({"access_token": "federated", "expires_in": 3600}).to_string())
    });
    ground.sandbox.endpoints.put(
        "https://iamcredentials.googleapis.com/v1/projects/-/serviceAccounts/me@project",
        |request| {
            assert_eq!(request.headers()["authorization"], "Bearer federated");
            (
                200,
                json!({"accessToken": "google", "expireTime": "2026-01-01T01:00:00Z"}).to_string(),
            )
        },
    );
    ground.sandbox.endpoints.put("https://api.ecr.eu-west-1.amazonaws.com/", |request| {
        let signed = request.headers()["authorization"].to_str().unwrap();
        assert!(signed.starts_with("AWS4-HMAC-SHA256 Credential=AKID/"), "{signed}");
        let token = BASE64_STANDARD.encode("AWS:password");
        let data = json!([{"authorizationToken": token, "expiresAt": 1_767_268_800}]);
        (200, json!({"authorizationData": data}).to_string())
    });
}

/// Controllers that objects may name service accounts to, and the clouds.
async fn ground(change: impl FnOnce(&mut Ground)) -> Ground {
    let mut ground = Ground::idle().await;
    ground.settings().object_level_workload_identity = true;
    change(&mut ground);
    ground.start();
    ground.apply(namespace()).await;
    clouds(&ground);
    ground
}

fn ready(object: &Value) -> bool {
    said(object, "Ready").starts_with("True Succeeded")
}

#[tokio::test(start_paused = true)]
async fn repositories_are_opened_as_the_account_that_they_name() {
    let noting = Arc::new(Noting::default());
    for url in [AZURE_GIT, AWS_GIT] {
        noting.inner.insert(url, small_repository());
    }
    let transport = Arc::clone(&noting) as Arc<dyn GitTransport>;
    let ground = ground(|ground| ground.backends().transport = transport).await;
    let of = |provider: &str, url: &str| {
        repository_with(
            provider,
            json!({"url": url, "provider": provider, "serviceAccountName": "me"}),
        )
    };
    let (azure, aws) = (of("azure", AZURE_GIT), of("aws", AWS_GIT));
    ground.apply(azure.clone()).await;
    let failed = "False AuthenticationFailed: failed to configure authentication options: failed to get access token for Git repository:";
    let missing = "failed to get service account 'apps/me': ServiceAccount \"me\" not found";
    ground.until_ready_says(&azure, &format!("{failed} {missing}")).await;
    ground.apply(account("me", &json!({"azure.workload.identity/tenant-id": "tenant"}))).await;
    let nobody = "failed to get provider identity from service account 'apps/me' annotations: azure client ID is not set in the service account annotation azure.workload.identity/client-id";
    ground.until_ready_says(&azure, &format!("{failed} {nobody}")).await;
    ground.apply(everybody("me")).await;
    ground.until(&azure, ready).await;
    let token = "azure 499b84ac-1321-427f-aa17-267ca6975798";
    assert_eq!(noting.auth(AZURE_GIT).bearer_token.expose(), token);
    ground.apply(aws.clone()).await;
    ground.until(&aws, ready).await;
    assert_eq!(noting.auth(AWS_GIT).username, "AKID%session");
    // One token serves many passes.
    let asked = ground.asked("/serviceaccounts/me/token");
    tokio::time::sleep(Duration::from_mins(20)).await;
    assert_eq!(ground.asked("/serviceaccounts/me/token"), asked);
}

#[tokio::test(start_paused = true)]
async fn artifacts_are_pulled_as_the_account_that_they_name() {
    let ground = ground(|_| {}).await;
    crate::oci::push(&ground, "latest", &[("a.yaml", "a: 1")]);
    ground.sandbox.registries.guard(Doorkeeper::Basic("AWS".to_owned(), "password".to_owned()));
    let object = source_with(
        "OCIRepository",
        "app",
        &json!({
            "interval": "1m", "url": ECR, "provider": "aws", "serviceAccountName": "me",
        }),
    );
    ground.apply(account("me", &json!({}))).await;
    ground.apply(object.clone()).await;
    let words = r"False AuthenticationFailed: failed to get credential from aws: failed to get access token for artifact registry: failed to get provider identity from service account 'apps/me' annotations: invalid eks.amazonaws.com/role-arn annotation: ''. must match ^arn:aws[\w-]*:iam::[0-9]{1,30}:role/.{1,200}$";
    ground.until_ready_says(&object, words).await;
    ground.apply(everybody("me")).await;
    ground.until(&object, ready).await;
}

#[tokio::test(start_paused = true)]
async fn buckets_are_read_as_the_account_that_they_name() {
    let ground = ground(|_| {}).await;
    ground.sandbox.buckets.insert("things", MemoryBucket::of(&[("a.yaml", "a: 1")]));
    ground.apply(everybody("me")).await;
    for provider in ["aws", "azure", "gcp"] {
        let object = source_with(
            "Bucket",
            provider,
            &json!({
                "interval": "1m", "bucketName": "things", "endpoint": "s3.test", "region": "eu-west-1",
                "provider": provider, "serviceAccountName": "me",
            }),
        );
        ground.apply(object.clone()).await;
        ground.until(&object, ready).await;
        let opened = ground.sandbox.buckets.opened().pop().unwrap();
        let identity = opened.identity.unwrap();
        let given = match provider {
            "aws" => {
                let keys = identity.aws(&opened.region, "").await.unwrap().value;
                keys.access_key().to_owned()
            }
            "azure" => {
                identity.azure("https://storage/.default").await.unwrap().value.into_exposed()
            }
            _ => identity.gcp().await.unwrap().value.into_exposed(),
        };
        let expected = [("aws", "AKID"), ("azure", "azure https"), ("gcp", "google")];
        assert!(expected.contains(&(provider, given.as_str())), "{provider} {given}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_operators_default_acts_for_sources_that_name_nobody() {
    let noting = Arc::new(Noting::default());
    noting.inner.insert(AZURE_GIT, small_repository());
    let transport = Arc::clone(&noting) as Arc<dyn GitTransport>;
    let ground = ground(|ground| {
        ground.backends().transport = transport;
        ground.settings().default_source_service_account = Some("me".to_owned());
    })
    .await;
    let object = repository_with("azure", json!({"url": AZURE_GIT, "provider": "azure"}));
    ground.apply(object.clone()).await;
    let words = "False AuthenticationFailed: failed to configure authentication options: failed to get access token for Git repository: failed to get service account 'apps/me': the specified default service account does not exist in the object namespace. your cluster is subject to multi-tenant workload identity lockdown, reach out to your cluster administrator for help";
    ground.until_ready_says(&object, words).await;
    ground.apply(everybody("me")).await;
    ground.until(&object, ready).await;
    assert!(noting.auth(AZURE_GIT).bearer_token.expose().starts_with("azure "));
}

/// The ConfigMap that names a cluster.
fn remote(data: &Value) -> Value {
    let mut map = config_map("remote");
    map["data"] = data.clone();
    map
}

/// A Kustomization that is applied to a cluster that the ConfigMap names.
async fn applied_to(ground: &Ground, address: &str, data: &Value) -> Vec<String> {
    let client = ground.neighbours.put(address);
    let spaces: Api<Namespace> = Api::all(client.clone());
    let space = serde_json::from_value(namespace()).unwrap();
    spaces.create(&PostParams::default(), &space).await.unwrap();
    ground.apply(remote(data)).await;
    let spec = json!({"kubeConfig": {"configMapRef": {"name": "remote"}}, "interval": "5m", "retryInterval": "30s"});
    let app = kustomization("app", "app", spec);
    ground.apply(app.clone()).await;
    ground.until(&app, |it| said(it, "Ready").starts_with("True")).await;
    let maps: Api<ConfigMap> = Api::namespaced(client, "apps");
    assert!(maps.get_opt("a").await.unwrap().is_some(), "it is there");
    assert!(ground.get(&config_map("a")).await.is_none(), "and not here");
    let shown = ground.neighbours.guests().into_iter();
    shown.map(|guest| guest.trim_end().to_owned()).collect()
}

/// Controllers with a repository that has one ConfigMap in it.
async fn with_repository() -> Ground {
    let ground = ground(|_| {}).await;
    ground.commit("one", &[("app/a.yaml", &config_map_file("a", "1"))]);
    ground.apply(crate::ground::repository()).await;
    ground.apply(everybody("me")).await;
    ground
}

fn authority() -> String {
    let key = rcgen::KeyPair::generate().unwrap();
    rcgen::CertificateParams::new(Vec::new()).unwrap().self_signed(&key).unwrap().pem()
}

#[tokio::test(start_paused = true)]
async fn a_cluster_of_eks_is_applied_to() {
    let ground = with_repository().await;
    let authority = BASE64_STANDARD.encode(authority());
    ground.sandbox.endpoints.put("https://eks.eu-west-1.amazonaws.com/clusters/prod", move |request| {
        let signed = request.headers()["authorization"].to_str().unwrap();
        assert!(signed.contains("/eu-west-1/eks/aws4_request"), "{signed}");
        let cluster = json!({"endpoint": "https://prod.eks.test", "certificateAuthority": {"data": authority}});
        (200, json!({"cluster": cluster}).to_string())
    });
    let arn = "arn:aws:eks:eu-west-1:123456789012:cluster/prod";
    let data = json!({"provider": "aws", "cluster": arn, "serviceAccountName": "me"});
    let shown = applied_to(&ground, "https://prod.eks.test/", &data).await;
    assert_eq!(shown.len(), 1, "one token serves the whole pass: {shown:?}");
    assert!(
        shown[0].starts_with("Bearer k8s-aws-v1.aHR0cHM6Ly9zdHMuZXUtd2VzdC0xLmFtYXpvbmF3cy5jb20v")
    );
    // It is good for fifteen minutes; the next comes before.
    tokio::time::sleep(Duration::from_mins(31)).await;
    assert_eq!(ground.neighbours.guests().len(), 3, "for the passes after fifteen and thirty");

    let app = kustomization("app", "app", json!({}));
    let failed = |message: &str| format!("False ReconciliationFailed: {message}");
    ground.apply(remote(&json!({"provider": "aws", "cluster": "prod"}))).await;
    let words = r"invalid EKS cluster ARN: 'prod'. must match ^arn:aws[\w-]*:eks:([^:]{1,100}):[0-9]{1,30}:cluster/(.{1,200})$";
    ground.until_ready_says(&app, &failed(words)).await;
    ground.sandbox.endpoints.put("https://eks.eu-west-1.amazonaws.com/clusters/prod", |_| {
        (404, json!({"__type": "ResourceNotFoundException", "message": "No cluster found for name: prod."}).to_string())
    });
    // Another name of the same account is not what is remembered.
    let data = json!({"provider": "aws", "cluster": arn, "serviceAccountName": "me", "audiences": "sts.amazonaws.com\n", "address": "https://elsewhere.test"});
    ground.apply(remote(&data)).await;
    let words = format!(
        "failed to describe EKS cluster '{arn}': operation error EKS: DescribeCluster, https response error StatusCode: 404, RequestID: , ResourceNotFoundException: No cluster found for name: prod."
    );
    ground.until_ready_says(&app, &failed(&words)).await;
}

#[tokio::test(start_paused = true)]
async fn a_cluster_of_aks_is_applied_to() {
    let ground = with_repository().await;
    let cluster = "/subscriptions/00000000-0000-0000-0000-000000000000/resourceGroups/g/providers/Microsoft.ContainerService/managedClusters/c";
    let described = format!("https://management.azure.com{cluster}");
    ground.sandbox.endpoints.put(&format!("{described}?api-version=2022-04-01"), |request| {
        assert_eq!(request.headers()["authorization"], "Bearer azure https");
        (200, json!({"properties": {"aadProfile": {"managed": true}}}).to_string())
    });
    let authority = BASE64_STANDARD.encode(authority());
    let kubeconfig = format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts: [{{name: c, context: {{cluster: a, user: u}}}}]\nclusters: [{{name: a, cluster: {{server: 'https://c.aks.test:443', certificate-authority-data: {authority}}}}}]\n"
    );
    let list = json!({"kubeconfigs": [{"name": "clusterUser", "value": BASE64_STANDARD.encode(kubeconfig)}]});
    let list = list.to_string();
    ground
        .sandbox
        .endpoints
        .put(&format!("{described}/listClusterUserCredential"), move |_| (200, list.clone()));
    let data = json!({"provider": "azure", "cluster": cluster, "serviceAccountName": "me"});
    let shown = applied_to(&ground, "https://c.aks.test:443/", &data).await;
    assert_eq!(shown, ["Bearer azure 6dae42f8-4368-4678-94ff-3960e28e3630"]);
}

#[tokio::test(start_paused = true)]
async fn a_cluster_of_gke_is_applied_to() {
    let ground = with_repository().await;
    let cluster = "projects/p/locations/l/clusters/c";
    let authority = BASE64_STANDARD.encode(authority());
    ground.sandbox.endpoints.put(
        &format!("https://container.googleapis.com/v1/{cluster}"),
        move |request| {
            assert_eq!(request.headers()["authorization"], "Bearer google");
            let found =
                json!({"endpoint": "10.0.0.1", "masterAuth": {"clusterCaCertificate": authority}});
            (200, found.to_string())
        },
    );
    let data = json!({"provider": "gcp", "cluster": cluster, "serviceAccountName": "me"});
    let shown = applied_to(&ground, "https://10.0.0.1/", &data).await;
    assert_eq!(shown, ["Bearer google"]);
}

/// Everything over sockets: the machine's metadata, the cloud that describes the cluster, and the cluster
/// itself with its own certificate, which lets nobody in without a token that it knows.
#[tokio::test]
async fn a_cluster_is_found_and_applied_to_over_sockets() {
    let far = Cluster::builder().seed(3).build();
    let served = far.listen(SocketAddr::from(([127, 0, 0, 1], 0))).await.unwrap();
    let (address, kubeconfig) = (served.address(), served.kubeconfig().clone());
    let serving = tokio::spawn(served.run());
    let text = |pointer: &str| kubeconfig.pointer(pointer).unwrap().as_str().unwrap().to_owned();
    let authority = text("/clusters/0/cluster/certificate-authority-data");
    let token = text("/users/0/user/token");
    let (cloud, asked) = service(move |request| {
        let known = [
            (
                "GET /computeMetadata/v1/instance/service-accounts/default/token?",
                json!({"access_token": token, "expires_in": 3600}),
            ),
            (
                "GET /v1/projects/p/locations/l/clusters/c ",
                json!({"endpoint": address.to_string(), "masterAuth": {"clusterCaCertificate": authority}}),
            ),
        ];
        let found = known.iter().find(|(start, _)| request.starts_with(start));
        found.map_or((404, String::new()), |(_, body)| (200, body.to_string()))
    })
    .await;
    let mut ground = Ground::idle().await;
    let variables = [
        ("GCE_METADATA_HOST", cloud.to_string()),
        ("CLOUDSDK_API_ENDPOINT_OVERRIDES_CONTAINER", format!("http://{cloud}")),
    ];
    let variables = variables.map(|(name, value)| (name.to_owned(), value));
    ground.egress().environment.variables = variables.into();
    ground.egress().web = Arc::new(Web::new(&Network::new(), Purpose::Cloud).unwrap());
    ground.egress().clusters = Arc::new(Reachable(Network::new()));
    let allowed = ControllerIdentity(vec!["kubeconfig:apps/remote".parse().unwrap()]);
    ground.settings().controller_identity = allowed;
    ground.start();
    ground.apply(namespace()).await;
    ground.commit("one", &[("app/a.yaml", &config_map_file("a", "1"))]);
    ground.apply(crate::ground::repository()).await;
    let cluster = "projects/p/locations/l/clusters/c";
    ground.apply(remote(&json!({"provider": "gcp", "cluster": cluster}))).await;
    let near = kube::Client::new(far.service(), "default");
    let spaces: Api<Namespace> = Api::all(near.clone());
    let space = serde_json::from_value(namespace()).unwrap();
    spaces.create(&PostParams::default(), &space).await.unwrap();
    let spec = json!({"kubeConfig": {"configMapRef": {"name": "remote"}}});
    let app = kustomization("app", "app", spec);
    ground.apply(app.clone()).await;
    ground.until(&app, |it| said(it, "Ready").starts_with("True")).await;
    let maps: Api<ConfigMap> = Api::namespaced(near, "apps");
    assert!(maps.get_opt("a").await.unwrap().is_some(), "it is there");
    let asked = asked.lock().unwrap().clone();
    assert_eq!(asked.len(), 2, "the token and the cluster are asked for once: {asked:?}");
    ground.stop().await;
    serving.abort();
}
