//! Attacks: tenants' objects neither send tokens elsewhere nor reach the tokens of others.

use serde_json::json;

use crate::testing::{Known, Servers, at_once, clouds};

/// A token in a file and a role for it, as pods of EKS have them.
const IRSA: [(&str, &str); 2] =
    [("AWS_ROLE_ARN", "arn:aws:iam::1:role/r"), ("AWS_WEB_IDENTITY_TOKEN_FILE", "/token")];

/// `sts.endpoint` of a Bucket that only looks like one of STS.
#[test]
fn only_hosts_of_sts_are_shown_the_token_of_the_pod() {
    let servers = Servers::default();
    let account = Known::one("me", &[("eks.amazonaws.com/role-arn", "arn:aws:iam::1:role/r")]);
    let clouds = clouds(&servers, account, &IRSA);
    for endpoint in [
        "https://evil.test/.sts.amazonaws.com",
        "https://evil.test/x.sts.eu-west-1.amazonaws.com",
        "https://evil.test?.sts.amazonaws.com",
        "https://evil.test#.sts.amazonaws.com",
        "https://a@evil.test/.sts.amazonaws.com",
        "https://evil.test:8443/.sts.eu-west-1.vpce.amazonaws.com",
        "https://evil.test\\.sts.amazonaws.com",
        "https://x.sts.eu-west-1.amazonaws.com@evil.test/.sts.amazonaws.com",
        "http://sts.amazonaws.com",
        "https://sts.amazonaws.com.evil.test",
    ] {
        for identity in [clouds.controller(), clouds.account("apps", "me", false)] {
            let refused = at_once(identity.aws("eu-west-1", endpoint)).expect_err(endpoint).0;
            assert!(refused.contains("invalid STS endpoint"), "{endpoint}: {refused}");
            assert_eq!(servers.asked(), Vec::<String>::new(), "{endpoint}");
        }
    }
    for endpoint in [
        "https://sts.amazonaws.com",
        "https://sts.eu-west-1.amazonaws.com",
        "https://sts-fips.us-east-1.amazonaws.com",
        "https://vpce-1a2b.sts.us-east-1.vpce.amazonaws.com",
    ] {
        let _ = at_once(clouds.controller().aws("eu-west-1", endpoint));
        assert!(servers.asked()[0].starts_with(&format!("POST {endpoint}/ ")), "{endpoint}");
    }
}

/// A region is part of the names of hosts.
#[test]
fn a_region_is_no_host() {
    let servers = Servers::default();
    let clouds = clouds(&servers, Known::default(), &IRSA);
    for region in ["us-east-1.evil.test#", "evil.test/", "x@evil.test:443/", "eu-west-1\n", "é"] {
        let refused = at_once(clouds.controller().aws(region, "")).expect_err(region).0;
        assert!(refused.contains("is no AWS region"), "{refused}");
        let cluster = crate::ClusterQuery {
            provider: "aws".to_owned(),
            cluster: format!("arn:aws:eks:{region}:1:cluster/c"),
            ..crate::ClusterQuery::default()
        };
        at_once(clouds.controller().cluster(&cluster)).expect_err(region);
        assert_eq!(servers.asked(), Vec::<String>::new(), "{region}");
    }
}

/// Cache keys depend on identity and purpose, not on texts that can be made to collide.
#[test]
fn what_is_kept_for_one_is_not_found_by_the_texts_of_another() {
    let servers = Servers::default();
    let account =
        [("azure.workload.identity/tenant-id", "t"), ("azure.workload.identity/client-id", "c")];
    let login = "POST https://login.microsoftonline.com/";
    let clouds = clouds(&servers, Known::one("me", &account), &[]);
    let victim = clouds.account("apps", "me", false);
    let victim = victim.for_audiences(vec!["a".to_owned()]);
    let (token, _) = at_once(victim.cluster_token()).expect("a token");
    let disguised =
        "a\nproviderIdentity=system:serviceaccount:apps:me\nserviceAccount=apps/me".to_owned();
    let attacker = clouds.controller().for_audiences(vec![disguised]);
    let found = at_once(attacker.cluster_token());
    assert!(found.is_err(), "the controllers of this test have no token: {found:?}");
    let commas = clouds.account("apps", "me", false).for_audiences(vec!["x,y".to_owned()]);
    let (one, _) = at_once(commas.cluster_token()).expect("a token");
    let both = clouds.account("apps", "me", false);
    let both = both.for_audiences(vec!["x".to_owned(), "y".to_owned()]);
    let (two, _) = at_once(both.cluster_token()).expect("a token");
    assert_ne!(one.value.expose(), two.value.expose());
    assert_ne!(one.value.expose(), token.value.expose());
    servers.put(login, json!({"access_token": "x", "expires_in": 60}).to_string());
    at_once(clouds.account("apps", "me", false).azure("s\nproxy=x")).expect("a token");
    assert_eq!(servers.asked().len(), 1);
    at_once(clouds.account("apps", "me", false).azure("s")).expect("a token");
    assert_eq!(servers.asked().len(), 1, "another scope is another token");
}

/// A token that the API server here accepts does not leave, for any identity.
#[test]
fn tokens_for_this_cluster_stay_in_it() {
    let clouds = clouds(&Servers::default(), Known::one("me", &[]), &[]);
    let me = |audiences: &[&str]| {
        let audiences = audiences.iter().map(|it| (*it).to_owned()).collect();
        let identity = clouds.account("apps", "me", false).for_audiences(audiences);
        at_once(identity.cluster_token()).map(|(token, _)| token.value.into_exposed())
    };
    assert!(me(&["elsewhere"]).is_ok());
    for audiences in [
        &["api"][..],
        &["elsewhere", "api"],
        &["https://kubernetes.default.svc"],
        &["elsewhere", "https://kubernetes.default.svc.cluster.local"],
        &[""],
        &[" "],
        &["elsewhere", ""],
        &[],
    ] {
        let error = me(audiences).expect_err("it stays").0;
        assert!(error.contains("audience"), "{audiences:?}: {error}");
    }
}
