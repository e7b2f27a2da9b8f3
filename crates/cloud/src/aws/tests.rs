//! Sources of keys, and clusters of EKS.

use base64::Engine as _;
use serde_json::json;

use crate::testing::{Known, START, Servers, at_once, clouds};
use crate::{ClusterQuery, aws::AwsKeys};

const CLUSTER: &str = "arn:aws:eks:eu-west-1:123456789012:cluster/prod";
const KEYS: [(&str, &str); 2] =
    [("AWS_ACCESS_KEY_ID", "AKID"), ("AWS_SECRET_ACCESS_KEY", "SECRET")];

#[test]
fn keys_are_found_where_amazons_libraries_look() {
    let servers = Servers::default();
    let agent = |name: &str| {
        json!({"AccessKeyId": name, "SecretAccessKey": "s", "Token": "t", "Expiration": "2026-01-01T01:00:00Z"})
            .to_string()
    };
    let role = "<AccessKeyId>R</AccessKeyId><SecretAccessKey>s</SecretAccessKey><SessionToken>t</SessionToken>";
    let machine = "http://169.254.169.254/latest";
    servers.put("POST https://sts.eu-west-1.amazonaws.com/", role);
    servers.put("GET http://169.254.170.23/v1/credentials", agent("P"));
    servers.put("GET http://169.254.170.2/task", agent("T"));
    servers.put(&format!("PUT {machine}/api/token"), "session");
    let list = format!("GET {machine}/meta-data/iam/security-credentials/");
    servers.put(&list, "node\n");
    servers.put(&format!("{list}node"), agent("M"));
    let own = [KEYS[0], ("AWS_SECRET_ACCESS_KEY", "s"), ("AWS_SESSION_TOKEN", "t")];
    let role =
        [("AWS_ROLE_ARN", "arn:aws:iam::1:role/x"), ("AWS_WEB_IDENTITY_TOKEN_FILE", "/token")];
    let pod = [
        ("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://169.254.170.23/v1/credentials"),
        ("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", "/token"),
    ];
    let task = [("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "/task")];
    for (variables, expected, trace) in [
        (&own[..], "AKID", ""),
        (&role, "R", "RoleSessionName=sluice&Version=2011-06-15&WebIdentityToken=a-token"),
        (&pod, "P", "authorization=a-token"),
        (&task, "T", ""),
        (&[], "M", "x-aws-ec2-metadata-token=session"),
    ] {
        let clouds = clouds(&servers, Known::default(), variables);
        let found = at_once(clouds.controller().aws("eu-west-1", "")).expect("keys");
        assert_eq!(found.value, AwsKeys::new(expected, "s", "t"), "{variables:?}");
        assert!(servers.asked().join("\n").contains(trace), "{variables:?}");
    }
}

#[test]
fn without_a_region_no_request_is_sent() {
    let servers = Servers::default();
    let error = at_once(clouds(&servers, Known::default(), &KEYS).controller().aws("", ""));
    let error = error.expect_err("no region");
    let words = "failed to create provider access token for the controller: AWS_REGION environment variable is not set in the Flux controller. if you have properly configured";
    assert!(error.0.starts_with(words), "{error}");
    let with = [KEYS[0], KEYS[1], ("AWS_REGION", "eu-west-1")];
    at_once(clouds(&servers, Known::default(), &with).controller().aws("", "")).expect("keys");
    assert_eq!(servers.asked(), [""; 0]);
}

#[test]
fn a_cluster_is_described_and_its_token_is_a_signed_question() {
    let servers = Servers::default();
    let describe = "GET https://eks.eu-west-1.amazonaws.com/clusters/prod";
    servers.put(
        describe,
        json!({"cluster": {"endpoint": "https://x.eks.amazonaws.com", "certificateAuthority": {"data": "Y2E="}}})
            .to_string(),
    );
    let controller = || clouds(&servers, Known::default(), &KEYS).controller();
    let query = |cluster: &str, address: &str, authorities: &str| ClusterQuery {
        provider: "aws".to_owned(),
        cluster: cluster.to_owned(),
        address: address.to_owned(),
        authorities: authorities.to_owned(),
    };
    let me = controller();
    let found = at_once(me.cluster(&query(CLUSTER, "", ""))).expect("a way");
    assert_eq!(found.value.address, "https://x.eks.amazonaws.com");
    assert_eq!(found.value.authorities, b"ca");
    // Fifteen minutes, of which four fifths are used.
    assert_eq!(found.until, START + jiff::SignedDuration::from_mins(12));
    let (prefix, url) = found.value.token.expose().split_once('.').expect("two parts");
    assert_eq!(prefix, "k8s-aws-v1");
    let url = base64::engine::general_purpose::URL_SAFE_NO_PAD.decode(url).expect("base64");
    let url = String::from_utf8(url).expect("an address");
    // Computed by Amazon's own library for Go.
    let signature = "f185d677fdbe3df4b30633f14cdea369162b390bc0fd1845a736f1247527020b";
    assert!(url.starts_with("https://sts.eu-west-1.amazonaws.com/?Action=GetCallerIdentity&"));
    assert!(url.ends_with(&format!("&X-Amz-Signature={signature}")), "{url}");
    let asked = servers.asked();
    assert!(
        asked[0].contains("/20260101/eu-west-1/eks/aws4_request, SignedHeaders=host;x-amz-date")
    );
    at_once(me.cluster(&query(CLUSTER, "", ""))).expect("kept");
    assert_eq!(servers.asked(), [""; 0]);

    // Known values are not requested.
    let found = at_once(controller().cluster(&query(CLUSTER, "https://own.test", "pem")));
    let found = found.expect("a way").value;
    assert_eq!((found.address.as_str(), &found.authorities[..]), ("https://own.test", &b"pem"[..]));
    assert_eq!(servers.asked(), [""; 0]);

    let wrong = at_once(controller().cluster(&query("prod", "", ""))).expect_err("no ARN");
    assert_eq!(
        wrong.0,
        r"invalid EKS cluster ARN: 'prod'. must match ^arn:aws[\w-]*:eks:([^:]{1,100}):[0-9]{1,30}:cluster/(.{1,200})$"
    );
    for (kind, words) in [
        ("ResourceNotFoundException", "ResourceNotFoundException: none"),
        ("AccessDeniedException", "api error AccessDeniedException: none"),
    ] {
        servers.refuse(describe, 404, json!({"__type": kind, "message": "none"}).to_string());
        let error = at_once(controller().cluster(&query(CLUSTER, "", ""))).expect_err("refused");
        assert_eq!(
            error.0,
            format!(
                "failed to describe EKS cluster '{CLUSTER}': operation error EKS: DescribeCluster, https response error StatusCode: 404, RequestID: , {words}"
            )
        );
    }
}
