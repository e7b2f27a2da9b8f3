//! Identities: credentials, error messages, and the number of requests to a cloud.

use serde_json::json;

use super::CloudIdentity;
use crate::testing::{Known, Servers, TestClock, at_once, clouds, clouds_at, environment};
use crate::{CacheLimits, Clouds, CloudsParts};
use std::sync::Arc;

const STS: &str = "POST https://sts.eu-west-1.amazonaws.com/";

fn session(until: &str) -> String {
    format!(
        "<R><AccessKeyId>W</AccessKeyId><SecretAccessKey>s</SecretAccessKey><SessionToken>t</SessionToken><Expiration>{until}</Expiration></R>"
    )
}

/// An account with annotations for every cloud.
fn everybody() -> Known {
    Known::one(
        "me",
        &[
            ("eks.amazonaws.com/role-arn", "arn:aws:iam::1:role/r"),
            ("azure.workload.identity/tenant-id", "tenant"),
            ("azure.workload.identity/client-id", "client"),
            ("iam.gke.io/gcp-service-account", "me@project.iam.gserviceaccount.com"),
            (
                "gcp.auth.fluxcd.io/workload-identity-provider",
                "projects/1/locations/global/workloadIdentityPools/pool/providers/kind",
            ),
        ],
    )
}

/// All futures are `Send`.
#[test]
fn questions_can_be_asked_from_anywhere() {
    fn sendable<T: Send>(_: T) {}
    let identity: CloudIdentity =
        clouds(&Servers::default(), everybody(), &[]).account("apps", "me", false);
    sendable(identity.aws("eu-west-1", ""));
    sendable(identity.azure("scope"));
    sendable(identity.gcp());
    sendable(identity.cluster_token());
    sendable(identity.cluster(&crate::ClusterQuery::default()));
}

#[test]
fn an_account_shows_a_token_of_its_cluster_and_gets_one_of_the_cloud() {
    let servers = Servers::default();
    servers.put(STS, session("2026-01-01T01:00:00Z"));
    let login = "POST https://login.microsoftonline.com/tenant/oauth2/v2.0/token";
    servers.put(login, json!({"access_token": "azure", "expires_in": 3600}).to_string());
    let google = json!({"access_token": "federated", "expires_in": 3600});
    servers.put("POST https://sts.googleapis.com/v1/token", google.to_string());
    let impersonate = "POST https://iamcredentials.googleapis.com/v1/projects/-/serviceAccounts/me@project.iam.gserviceaccount.com:generateAccessToken";
    let given = json!({"accessToken": "google", "expireTime": "2026-01-01T01:00:00Z"});
    servers.put(impersonate, given.to_string());
    let clouds = clouds(&servers, everybody(), &[]);
    let me = clouds.account("apps", "me", false);

    let keys = at_once(me.aws("eu-west-1", "")).expect("keys").value;
    assert_eq!((keys.access_key(), keys.session_token()), ("W", "t"));
    let asked = servers.asked().join("\n");
    for part in [
        "RoleArn=arn%3Aaws%3Aiam%3A%3A1%3Arole%2Fr&RoleSessionName=me.apps.eu-west-1.fluxcd.io&",
        &format!("WebIdentityToken={}", cluster_token(&["sts.amazonaws.com"])),
    ] {
        assert!(asked.contains(part), "{part} in {asked}");
    }
    let token = at_once(me.azure("scope/.default")).expect("a token").value;
    assert_eq!(token.expose(), "azure");
    let asked = servers.asked().join("\n");
    let proof = format!("client_assertion={}", cluster_token(&["api://AzureADTokenExchange"]));
    assert!(asked.contains(&proof) && asked.contains("client_id=client&"), "{asked}");
    let token = at_once(me.gcp()).expect("a token").value;
    assert_eq!(token.expose(), "google");
    let provider = "//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/pool/providers/kind";
    let asked = servers.asked();
    assert!(asked[0].contains(&format!("audience={}&", crate::encoded(provider))), "{asked:?}");
    assert!(asked[0].contains(&format!("subject_token={}&", cluster_token(&[provider]))));
    assert!(asked[1].contains("authorization=Bearer federated"), "{asked:?}");

    let me = me.for_audiences(vec!["mine".to_owned()]);
    let (token, account) = at_once(me.cluster_token()).expect("a token");
    assert_eq!(token.value.expose(), &cluster_token(&["mine"]));
    assert_eq!(account.to_string(), "apps/me");
}

fn cluster_token(audiences: &[&str]) -> String {
    crate::jwt::unsigned(&json!({
        "sub": "system:serviceaccount:apps:me", "aud": audiences,
        "exp": crate::testing::START.as_second() + 3600,
    }))
}

#[test]
fn credentials_are_cached_per_identity() {
    let (servers, clock) = (Servers::default(), TestClock::default());
    servers.put(STS, session("2026-01-01T01:00:00Z"));
    servers.put("POST https://sts.us-east-1.amazonaws.com/", session("2026-01-01T01:00:00Z"));
    let mut accounts = everybody();
    let other = accounts.0.get("me").cloned().expect("there");
    accounts.0.insert("other".to_owned(), other);
    let clouds = clouds_at(&servers, accounts, &[], &clock);
    let asks = |identity: &CloudIdentity, region: &str| {
        at_once(identity.aws(region, "")).expect("keys");
        servers.asked().len()
    };
    let me = clouds.account("apps", "me", false);
    assert_eq!((asks(&me, "eu-west-1"), asks(&me, "eu-west-1")), (1, 0));
    assert_eq!(asks(&clouds.account("apps", "me", true), "eu-west-1"), 0);
    assert_eq!(asks(&me, "us-east-1"), 1, "another region");
    assert_eq!(asks(&clouds.account("apps", "other", false), "eu-west-1"), 1, "another account");
    assert_eq!(asks(&clouds.account("team", "me", false), "eu-west-1"), 1, "another namespace");
    assert_eq!(asks(&me.clone().for_audiences(vec!["a".to_owned()]), "eu-west-1"), 1);
    clock.pass(48 * 60);
    servers.put(STS, session("2026-01-01T02:00:00Z"));
    assert_eq!((asks(&me, "eu-west-1"), asks(&me, "eu-west-1")), (1, 0), "before they end");
}

#[test]
fn refusals_have_fluxs_messages() {
    let servers = Servers::default();
    let accounts = Known::one("me", &[]);
    let refusal = |identity: &CloudIdentity, cloud: &str| {
        let error = match cloud {
            "aws" => at_once(identity.aws("eu-west-1", "")).map(drop),
            "azure" => at_once(identity.azure("scope")).map(drop),
            _ => at_once(identity.gcp()).map(drop),
        };
        String::from(error.expect_err("refused"))
    };
    let clouds_of = |accounts: Known| clouds(&servers, accounts, &[]);
    let clouds = clouds_of(accounts.clone());
    let (me, missing) = (clouds.account("apps", "me", false), clouds.account("apps", "no", false));
    let prefix = "failed to get provider identity from service account 'apps/me' annotations:";
    for (identity, cloud, words) in [
        (&missing, "aws", "failed to get service account 'apps/no': serviceaccounts \"no\" not found".to_owned()),
        (&clouds.account("apps", "no", true), "gcp", format!("failed to get service account 'apps/no': {}", super::NO_DEFAULT)),
        (&me, "aws", format!(r"{prefix} invalid eks.amazonaws.com/role-arn annotation: ''. must match ^arn:aws[\w-]*:iam::[0-9]{{1,30}}:role/.{{1,200}}$")),
        (&me, "azure", format!("{prefix} azure tenant ID is not set in the service account annotation azure.workload.identity/tenant-id")),
        (&me, "gcp", "failed to get provider audience: failed to get GKE cluster project ID from the metadata service: metadata: GCE metadata \"project/project-id\" not defined".to_owned()),
    ] {
        assert_eq!(refusal(identity, cloud), words);
    }
    for (annotation, value, words) in [
        ("iam.gke.io/gcp-service-account", "me@evil.test", format!(r"{prefix} invalid iam.gke.io/gcp-service-account annotation: 'me@evil.test'. must match ^[a-zA-Z0-9-]{{1,100}}@[a-zA-Z0-9-]{{1,100}}\.iam\.gserviceaccount\.com$")),
        ("gcp.auth.fluxcd.io/workload-identity-provider", "pool", r"failed to get provider audience: invalid gcp.auth.fluxcd.io/workload-identity-provider annotation: 'pool'. must match ^projects/\d{1,30}/locations/global/workloadIdentityPools/[^/]{1,100}/providers/[^/]{1,100}$".to_owned()),
    ] {
        servers.put("GET http://169.254.169.254/computeMetadata/v1/", "x");
        let me = clouds_of(Known::one("me", &[(annotation, value)])).account("apps", "me", false);
        assert_eq!(refusal(&me, "gcp"), words);
    }
    let exchange = "failed to create provider access token for service account 'apps/me':";
    servers.refuse(
        STS,
        403,
        "<E><Code>AccessDenied</Code><Message>no</Message><RequestId>7</RequestId></E>",
    );
    let me = clouds_of(everybody()).account("apps", "me", false);
    assert_eq!(
        refusal(&me, "aws"),
        format!(
            "{exchange} operation error STS: AssumeRoleWithWebIdentity, https response error StatusCode: 403, RequestID: 7, api error AccessDenied: no"
        )
    );
    servers.refuse(STS, 400, "<E><Code>InvalidIdentityToken</Code><Message>no</Message></E>");
    assert_eq!(
        refusal(&me, "aws"),
        format!(
            "{exchange} operation error STS: AssumeRoleWithWebIdentity, https response error StatusCode: 400, RequestID: , InvalidIdentityToken: no"
        )
    );
    let none = at_once(me.aws("", "")).map_err(String::from).map(drop);
    assert_eq!(
        none,
        Err(format!(
            "{exchange} an AWS region is required for authenticating with a service account. please configure one in the object spec"
        ))
    );
    let odd = at_once(me.aws("eu-west-1", "https://evil.test")).map_err(String::from).map(drop);
    assert_eq!(
        odd,
        Err(format!(
            r"{exchange} invalid STS endpoint: 'https://evil.test'. must match ^https://(.+\.)?sts(-fips)?(\.[^.]+)?(\.vpce)?\.amazonaws\.com$"
        ))
    );
}

#[test]
fn the_gate_is_looked_at_when_something_is_asked_for() {
    let gated = Clouds::new(CloudsParts {
        environment: environment(&[]),
        http: Arc::new(Servers::default()),
        accounts: Arc::new(everybody()),
        clock: Arc::new(TestClock::default()),
        limits: CacheLimits::default(),
        allows_accounts: false,
        trusted_hosts: Vec::new(),
    });
    let error = at_once(gated.account("apps", "me", false).cluster_token()).expect_err("gated");
    assert_eq!(error.0, "ObjectLevelWorkloadIdentity feature gate is not enabled");
    let error = at_once(gated.account("apps", "no", false).cluster_token()).expect_err("missing");
    assert!(error.0.starts_with("failed to get service account"), "{error}");
}

#[test]
fn the_controllers_show_the_token_of_their_pod() {
    let token = "e30.eyJzdWIiOiJzeXN0ZW06c2VydmljZWFjY291bnQ6YXBwczptZSJ9.x";
    for (file, expected) in [
        (Some(token), Ok("apps/me")),
        (Some("e30.eyJzdWIiOiJ4In0.x"), Err("invalid subject format in service account token: x")),
        (Some("nonsense"), Err("failed to parse service account token")),
        (
            None,
            Err(
                "failed to read service account token file /var/run/secrets/kubernetes.io/serviceaccount/token: entity not found",
            ),
        ),
    ] {
        let read = move |_: &str| match file {
            Some(text) => Ok(text.to_owned()),
            None => Err(std::io::ErrorKind::NotFound.into()),
        };
        let clouds = Clouds::new(CloudsParts {
            environment: crate::Environment { read: Arc::new(read), ..environment(&[]) },
            http: Arc::new(Servers::default()),
            accounts: Arc::new(everybody()),
            clock: Arc::new(TestClock::default()),
            limits: CacheLimits::default(),
            allows_accounts: false,
            trusted_hosts: Vec::new(),
        });
        let identity = clouds.controller().for_audiences(vec!["mine".to_owned()]);
        let found = at_once(identity.cluster_token());
        let found = found.map(|(_, account)| account.to_string()).map_err(String::from);
        let why = "failed to create provider access token for the controller";
        let expected = expected.map(str::to_owned).map_err(|error| format!("{why}: {error}"));
        assert_eq!(found, expected);
    }
}
