//! Sources of tokens, and clusters of AKS.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;

use super::{AzureCredentials, AzureEnvironment, STORAGE};
use crate::testing::{Known, Servers, at_once, clouds, environment};
use crate::{ClusterQuery, Environment};

const LOGIN: &str = "POST https://login.microsoftonline.com/t/oauth2/v2.0/token";
const MACHINE: &str = "GET http://169.254.169.254/metadata/identity/oauth2/token?api-version=2018-02-01&resource=https%3A%2F%2Fstorage.azure.com";
const CLUSTER: &str = "/subscriptions/00000000-0000-0000-0000-000000000000/resourceGroups/g/providers/Microsoft.ContainerService/managedClusters/c";
const DESCRIBED: &str = "https://management.azure.com/subscriptions/00000000-0000-0000-0000-000000000000/resourceGroups/g/providers/Microsoft.ContainerService/managedClusters/c";

fn token(text: &str) -> String {
    json!({"access_token": text, "expires_in": "3600"}).to_string()
}

#[test]
fn tokens_are_found_where_azures_libraries_look() {
    let servers = Servers::default();
    servers.put(LOGIN, token("application"));
    servers.put(MACHINE, token("machine"));
    let application = [("AZURE_CLIENT_ID", "c"), ("AZURE_TENANT_ID", "t")];
    let secret = [application[0], application[1], ("AZURE_CLIENT_SECRET", "s")];
    let workload = [application[0], application[1], ("AZURE_FEDERATED_TOKEN_FILE", "/token")];
    for (variables, expected, trace) in [
        (&secret[..], "application", "client_secret=s"),
        (&workload, "application", "client_assertion=a-token&"),
        (&application, "machine", "&client_id=c"),
        (&[], "machine", "metadata=true"),
    ] {
        let clouds = clouds(&servers, Known::default(), variables);
        let found = at_once(clouds.controller().azure(STORAGE)).expect("a token").value;
        assert_eq!(found.expose(), expected, "{variables:?}");
        let asked = servers.asked().join("\n");
        assert!(asked.contains(trace), "{asked}");
    }
    servers.put("POST http://login.test/t/oauth2/v2.0/token", token("elsewhere"));
    let elsewhere =
        [secret[0], secret[1], secret[2], ("AZURE_AUTHORITY_HOST", "http://login.test/")];
    let clouds = clouds(&servers, Known::default(), &elsewhere);
    let found = at_once(clouds.controller().azure(STORAGE)).expect("a token").value;
    assert_eq!(found.expose(), "elsewhere");
}

#[test]
fn credentials_of_a_secret_are_taken_in_flux_order() {
    let servers = Servers::default();
    servers.put(LOGIN, token("application"));
    servers.put(&format!("{MACHINE}&client_id=c"), token("machine"));
    let clouds = clouds(&servers, Known::default(), &[]);
    for (fields, expected) in [
        (&[("tenantId", "t"), ("clientId", "c"), ("clientSecret", "s")][..], Some("application")),
        (&[("tenant", "t"), ("appId", "c"), ("password", "s")], Some("application")),
        (&[("clientId", "c"), ("clientSecret", "s")], Some("machine")),
        (&[("tenantId", "t")], None),
    ] {
        let field = |name: &str| {
            let found = fields.iter().find(|(field, _)| *field == name);
            found.map(|(_, value)| (*value).to_owned()).unwrap_or_default()
        };
        let read = AzureCredentials::of(field, false).expect("they can be read");
        let token =
            |it| at_once(clouds.controller().azure_by(&it, STORAGE)).expect("a token").value;
        let token = read.map(token);
        assert_eq!(token.as_ref().map(|it| it.expose().as_str()), expected, "{fields:?}");
        assert!(!format!("{token:?}").contains("application"));
    }
    let field = |name: &str| if name == "clientCertificate" { "x" } else { "y" }.to_owned();
    let only = |name: &str| if name == "clientSecret" { String::new() } else { field(name) };
    let error = AzureCredentials::of(only, false).expect_err("no certificate");
    assert_eq!(error.0, "found no certificate");
    let refused = json!({"error": "invalid_client", "error_description": "AADSTS7000215"});
    servers.refuse(LOGIN, 401, refused.to_string());
    let secret = |name: &str| match name {
        "tenantId" => "t".to_owned(),
        "clientId" => "c".to_owned(),
        "clientSecret" => "hunter2".to_owned(),
        _ => String::new(),
    };
    let credentials = AzureCredentials::of(secret, false).expect("read").expect("there");
    let refused = at_once(clouds.controller().azure_by(&credentials, STORAGE));
    let error = refused.expect_err("refused").0;
    assert!(error.contains("invalid_client: AADSTS7000215") && !error.contains("hunter2"));
}

fn query(address: &str, authorities: &str) -> ClusterQuery {
    ClusterQuery {
        provider: "azure".to_owned(),
        cluster: CLUSTER.to_owned(),
        address: address.to_owned(),
        authorities: authorities.to_owned(),
    }
}

#[test]
fn a_cluster_is_described_with_one_token_and_reached_with_another() {
    let servers = Servers::default();
    let of_machine = "GET http://169.254.169.254/metadata/identity/oauth2/token?api-version=2018-02-01&resource=";
    servers.put(&format!("{of_machine}6dae42f8-4368-4678-94ff-3960e28e3630"), token("cluster"));
    let manager = crate::encoded("https://management.core.windows.net/");
    servers.put(&format!("{of_machine}{manager}"), token("manager"));
    let config = |host: &str| {
        let text = format!(
            "current-context: a\ncontexts: [{{name: a, context: {{cluster: b}}}}]\nclusters: [{{name: b, cluster: {{server: '{host}', certificate-authority-data: Y2E=}}}}]\n"
        );
        json!({"name": "user", "value": STANDARD.encode(text)})
    };
    let entra = json!({"properties": {"aadProfile": {}}}).to_string();
    servers.put(&format!("GET {DESCRIBED}?api-version=2022-04-01"), entra.clone());
    let configs =
        json!({"kubeconfigs": [config("https://one.test:443"), config("https://two.test:443")]});
    let list = format!("POST {DESCRIBED}/listClusterUserCredential?api-version=2022-04-01");
    servers.put(&list, configs.to_string());
    let way = |query: &ClusterQuery| {
        at_once(clouds(&servers, Known::default(), &[]).controller().cluster(query))
    };
    let found = way(&query("", "")).expect("a way").value;
    assert_eq!(
        (found.address.as_str(), found.token.expose().as_str()),
        ("https://one.test:443", "cluster")
    );
    assert_eq!(found.authorities, b"ca");
    let asked = servers.asked();
    assert!(asked.last().expect("asked").contains("authorization=Bearer manager"), "{asked:?}");
    let found = way(&query("TWO.test", "")).expect("a way").value;
    assert_eq!((found.address.as_str(), &found.authorities[..]), ("TWO.test", &b"ca"[..]));
    servers.asked();
    way(&query("https://own.test", "pem")).expect("a way");
    assert_eq!(servers.asked().len(), 1, "nobody has to describe it");

    let refusal = |query: &ClusterQuery| String::from(way(query).expect_err("no way"));
    assert_eq!(
        refusal(&query("three.test", "")),
        format!(
            "no kubeconfig found for AKS cluster {CLUSTER} matching the specified address 'three.test'. cluster addresses: ['https://one.test:443', 'https://two.test:443']"
        )
    );
    servers.put(&list, "{}");
    assert_eq!(refusal(&query("", "")), format!("no kubeconfig found for AKS cluster {CLUSTER}"));
    servers.put(&list, json!({"kubeconfigs": [{"value": "e30="}]}).to_string());
    assert!(refusal(&query("", "")).starts_with("failed to parse kubeconfig[0]: "));
    servers.put(&format!("GET {DESCRIBED}?api-version=2022-04-01"), "{\"properties\":{}}");
    assert!(refusal(&query("", "")).starts_with(&format!(
        "AKS cluster {CLUSTER} does not have Microsoft Entra ID integration enabled. See docs"
    )));
    let missing = json!({"error": {"code": "ResourceNotFound", "message": "none"}});
    servers.refuse(&format!("GET {DESCRIBED}?api-version=2022-04-01"), 404, missing.to_string());
    assert_eq!(
        refusal(&query("", "")),
        format!(
            "failed to describe AKS cluster: GET {DESCRIBED}?api-version=2022-04-01: RESPONSE 404: 404 Not Found, ERROR CODE: ResourceNotFound: none"
        )
    );
    let odd = ClusterQuery { cluster: "c".to_owned(), ..query("", "") };
    assert!(
        refusal(&odd).starts_with("invalid AKS cluster ID: 'c'. must match (?i)^/subscriptions/")
    );
}

#[test]
fn there_is_more_than_one_azure() {
    let public = AzureEnvironment::of(&environment(&[])).expect("the public one");
    assert_eq!(public.registry_scope(), "https://containerregistry.azure.net/.default");
    for (authority, manager) in [
        ("https://login.chinacloudapi.cn/", "https://management.chinacloudapi.cn"),
        ("https://login.microsoftonline.us/", "https://management.usgovcloudapi.net"),
        ("https://login.microsoftonline.com/", "https://management.azure.com"),
    ] {
        let azure = AzureEnvironment::of(&environment(&[("AZURE_AUTHORITY_HOST", authority)]));
        assert_eq!(azure.expect("one").manager, manager);
    }
    let own = |text: &'static str| {
        let variables = environment(&[("AZURE_ENVIRONMENT_FILEPATH", "/azure.json")]).variables;
        AzureEnvironment::of(&Environment { variables, read: Arc::new(|_| Ok(text.to_owned())) })
    };
    let azure = own(r#"{"resourceManagerEndpoint":"https://m","tokenAudience":"https://a","containerRegistryDNSSuffix":"reg"}"#).expect("one");
    assert_eq!(azure.registry_scope(), "https://m/.default");
    assert_eq!(azure.registry_suffix.as_deref(), Some("reg"));
    assert_eq!(
        own("{}").expect_err("incomplete").0,
        "resourceManagerEndpoint and tokenAudience must be set in the environment file"
    );
}
