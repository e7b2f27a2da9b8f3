//! Sources of tokens, and clusters of GKE.

use std::sync::Arc;

use serde_json::json;

use crate::testing::{Known, START, Servers, TestClock, at_once, clouds, environment};
use crate::{CacheLimits, Clouds, CloudsParts, ClusterQuery, Environment};

const MACHINE: &str = "GET http://169.254.169.254/computeMetadata/v1/";
const CLUSTER: &str = "projects/p/locations/l/clusters/c";
const KEY: &str = include_str!("../../../secrets/tests/goldens/keys/client.pem");

fn token(text: &str) -> String {
    json!({"access_token": text, "expires_in": 3600}).to_string()
}

/// Clouds of a process with files.
fn with_files(servers: &Servers, files: &[(&'static str, String)]) -> Clouds {
    let files = files.to_vec();
    let read = move |path: &str| {
        let found = files.iter().find(|(name, _)| *name == path);
        found.map(|(_, text)| text.clone()).ok_or_else(|| std::io::ErrorKind::NotFound.into())
    };
    let variables = environment(&[("GOOGLE_APPLICATION_CREDENTIALS", "/adc")]).variables;
    Clouds::new(CloudsParts {
        environment: Environment { variables, read: Arc::new(read) },
        http: Arc::new(servers.clone()),
        accounts: Arc::new(Known::default()),
        clock: Arc::new(TestClock::default()),
        limits: CacheLimits::default(),
        allows_accounts: true,
        trusted_hosts: Vec::new(),
    })
}

#[test]
fn tokens_are_found_where_googles_libraries_look() {
    let servers = Servers::default();
    servers.put(&format!("{MACHINE}instance/service-accounts/default/token?scopes=https%3A%2F%2Fwww.googleapis.com%2Fauth%2Fcloud-platform%2C"), token("machine"));
    let found = at_once(clouds(&servers, Known::default(), &[]).controller().gcp());
    assert_eq!(found.expect("a token").value.expose(), "machine");
    assert!(servers.asked()[0].contains("metadata-flavor=Google"));

    servers.put("POST https://token.test/", token("account"));
    servers.put("POST https://oauth2.googleapis.com/token", token("user"));
    servers.put("POST https://sts.test/v1/token", token("federated"));
    let given = json!({"accessToken": "impersonated", "expireTime": "2026-01-01T01:00:00Z"});
    servers.put("POST https://iam.test/me:generateAccessToken", given.to_string());
    let account = json!({"type": "service_account", "client_email": "a@p", "private_key_id": "1", "private_key": KEY, "token_uri": "https://token.test/"});
    let user = json!({"type": "authorized_user", "client_id": "c", "client_secret": "s", "refresh_token": "r"});
    let external = json!({
        "type": "external_account", "audience": "aud", "token_url": "https://sts.test/v1/token",
        "subject_token_type": "urn:ietf:params:oauth:token-type:jwt", "credential_source": {"file": "/jwt"},
    });
    let mut as_json = external.clone();
    as_json["credential_source"] =
        json!({"file": "/doc", "format": {"type": "json", "subject_token_field_name": "t"}});
    as_json["service_account_impersonation_url"] = json!("https://iam.test/me:generateAccessToken");
    for (adc, expected, trace) in [
        (account, "account", "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&"),
        (user, "user", "refresh_token=r"),
        (external, "federated", "subject_token=from-file&"),
        (as_json, "impersonated", "subject_token=from-document&"),
    ] {
        let files = [
            ("/adc", adc.to_string()),
            ("/jwt", "from-file\n".to_owned()),
            ("/doc", json!({"t": "from-document"}).to_string()),
        ];
        let found = at_once(with_files(&servers, &files).controller().gcp()).expect("a token");
        assert_eq!(found.value.expose(), expected);
        assert_eq!(found.until, START + jiff::SignedDuration::from_mins(48));
        let asked = servers.asked().join("\n");
        assert!(asked.contains(trace), "{asked}");
    }
    let unknown = with_files(&servers, &[("/adc", json!({"type": "x"}).to_string())]).controller();
    let error = at_once(unknown.gcp()).expect_err("unknown").0;
    assert!(error.ends_with("/adc: unknown credential type: \"x\""), "{error}");
}

#[test]
fn gke_itself_names_the_audience_of_its_tokens() {
    let servers = Servers::default();
    for (path, value) in [
        ("project/project-id", "p"),
        ("instance/attributes/cluster-location", "l"),
        ("instance/attributes/cluster-name", "c"),
    ] {
        servers.put(&format!("{MACHINE}{path}"), value);
    }
    servers.put("POST https://sts.googleapis.com/v1/token", token("federated"));
    let clouds = clouds(&servers, Known::one("me", &[]), &[]);
    let me = clouds.account("apps", "me", false);
    let found = at_once(me.gcp()).expect("a token");
    assert_eq!(found.value.expose(), "federated");
    let asked = servers.asked();
    assert_eq!(asked.len(), 4, "each thing once: {asked:?}");
    let audience = crate::encoded(
        "identitynamespace:p.svc.id.goog:https://container.googleapis.com/v1/projects/p/locations/l/clusters/c",
    );
    assert!(asked[3].contains(&format!("audience={audience}&")), "{asked:?}");
    let scope = "scope=https%3A%2F%2Fwww.googleapis.com%2Fauth%2Fcloud-platform%20https%3A%2F%2Fwww.googleapis.com%2Fauth%2Fuserinfo.email&";
    assert!(asked[3].contains(scope), "{asked:?}");

    servers.refuse("POST https://sts.googleapis.com/v1/token", 403, "{\"error\":\"no\"}");
    let again = clouds.account("team", "me", false);
    let error = at_once(again.gcp()).expect_err("refused").0;
    assert_eq!(
        error,
        "failed to create provider access token for service account 'team/me': oauth2/google: status code 403: {\"error\":\"no\"}"
    );
}

#[test]
fn a_cluster_is_described_and_reached_with_the_same_token() {
    let servers = Servers::default();
    servers.put(MACHINE, token("google"));
    let describe = format!("GET https://container.googleapis.com/v1/{CLUSTER}");
    let answer = json!({"endpoint": "10.0.0.1", "masterAuth": {"clusterCaCertificate": "Y2E="}});
    servers.put(&describe, answer.to_string());
    let way = |cluster: &str, address: &str, authorities: &str| {
        let query = ClusterQuery {
            provider: "gcp".to_owned(),
            cluster: cluster.to_owned(),
            address: address.to_owned(),
            authorities: authorities.to_owned(),
        };
        at_once(clouds(&servers, Known::default(), &[]).controller().cluster(&query))
    };
    let found = way(CLUSTER, "", "").expect("a way").value;
    assert_eq!(found.url().expect("an address").to_string(), "https://10.0.0.1/");
    assert_eq!((&found.authorities[..], found.token.expose().as_str()), (&b"ca"[..], "google"));
    assert!(servers.asked()[1].contains("authorization=Bearer google"));
    way("", "https://own.test", "pem").expect("nothing has to be described");
    let refusal = |cluster: &str| String::from(way(cluster, "", "").expect_err("no way"));
    assert_eq!(
        refusal("c"),
        "invalid GKE cluster ID: 'c'. must match ^projects/[^/]{1,200}/locations/[^/]{1,200}/clusters/[^/]{1,200}$"
    );
    let refused = json!({"error": {"message": "no", "errors": [{"reason": "forbidden"}]}});
    servers.refuse(&describe, 403, refused.to_string());
    assert_eq!(
        refusal(CLUSTER),
        format!("failed to describe GKE cluster '{CLUSTER}': googleapi: Error 403: no, forbidden")
    );
    servers.put(&describe, json!({"masterAuth": {"clusterCaCertificate": "%"}}).to_string());
    assert!(refusal(CLUSTER).starts_with("failed to decode GKE CA certificate: "));
}
