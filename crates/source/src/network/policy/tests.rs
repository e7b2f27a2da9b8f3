use super::{Policy, Purpose, Rule};

fn hosts(list: &[&str]) -> Vec<super::HostPattern> {
    list.iter().map(|text| text.parse().expect("a host")).collect()
}

/// The policy's decision about a name that resolves to an address, or about an address.
fn judged(policy: &Policy, purpose: Purpose, host: &str, address: &str) -> Option<Rule> {
    let port = 443;
    let outcome = policy.host(purpose, host, port).and_then(|()| match address {
        "" => Ok(()),
        address => policy.address(purpose, host, address.parse().expect("an address")),
    });
    outcome.err().map(|refusal| refusal.rule)
}

#[test]
fn each_purpose_has_its_rules() {
    use Purpose::{Artifact, Cloud, Content, Metadata, Operator, Spec};
    let policy = Policy {
        content_hosts: hosts(&["git.corp", "other.corp:8443", "10.9.0.0/16"]),
        artifact_server: hosts(&["source.flux-system.svc.cluster.local", "203.0.113.9:9090"]),
        api_server: hosts(&["api.test:443", "8.8.4.4"]),
        artifact_hosts: Some(hosts(&[
            "*.flux-system.svc.cluster.local",
            "*.flux-system.svc",
            "10.1.0.1",
        ])),
        ..Policy::default()
    };
    for (purpose, host, address, expected) in [
        (Content, "a.test", "8.8.8.8", None),
        (Content, "a.test", "10.0.0.1", Some(Rule::ContentPrivate)),
        (Content, "a.test", "127.0.0.1", Some(Rule::ContentPrivate)),
        (Content, "a.test", "169.254.169.254", Some(Rule::Metadata)),
        (Content, "a.test", "64:ff9b::a9fe:a9fe", Some(Rule::Metadata)),
        (Content, "localhost", "", Some(Rule::ContentPrivate)),
        (Content, "vault.vault.svc", "", Some(Rule::ContentPrivate)),
        (Content, "git.corp", "10.0.0.1", None),
        (Content, "git.corp", "169.254.169.254", Some(Rule::Metadata)),
        (Content, "other.corp", "10.0.0.1", Some(Rule::ContentPort)),
        (Content, "10.9.1.1", "", None),
        (Content, "a.test", "10.9.1.1", None),
        (Content, "source.flux-system.svc.cluster.local.", "", Some(Rule::ContentProtected)),
        (Content, "API.test", "", Some(Rule::ContentProtected)),
        (Content, "alias.test", "8.8.4.4", Some(Rule::ContentProtected)),
        (Spec, "a.test", "10.0.0.1", None),
        (Spec, "a.test", "127.0.0.1", None),
        (Spec, "a.test", "169.254.169.254", Some(Rule::Metadata)),
        (Spec, "a.test", "fd00:ec2::254", Some(Rule::Metadata)),
        (Spec, "100.100.100.200", "", Some(Rule::Metadata)),
        (Spec, "metadata.google.internal.", "", Some(Rule::Metadata)),
        (Spec, "api.test", "", None),
        (Spec, "a.test", "224.0.0.1", Some(Rule::Multicast)),
        (Spec, "source.flux-system.svc.cluster.local", "", Some(Rule::SpecProtected)),
        (Artifact, "source.flux-system.svc.cluster.local.", "10.0.0.1", None),
        (Artifact, "source.flux-system.svc", "169.254.169.254", Some(Rule::Metadata)),
        (Artifact, "source.tenant.svc.cluster.local", "", Some(Rule::ArtifactNotListed)),
        (Artifact, "source.flux-system.svc.evil.test", "", Some(Rule::ArtifactNotListed)),
        (Artifact, "10.1.0.1", "", None),
        (Artifact, "10.1.0.2", "", Some(Rule::ArtifactNotListed)),
        (Cloud, "sts.amazonaws.com", "10.0.0.1", None),
        (Cloud, "169.254.169.254", "", Some(Rule::Metadata)),
        (Metadata, "169.254.169.254", "", None),
        (Operator, "169.254.169.254", "", None),
    ] {
        let found = judged(&policy, purpose, host, address);
        assert_eq!(found, expected, "{purpose:?} {host} {address}");
    }
}

#[test]
fn an_operator_restricts_specs() {
    let policy = Policy {
        spec_hosts: hosts(&["*.corp", "ghcr.io"]),
        deny_private: true,
        ..Policy::default()
    };
    let spec = |host, address| judged(&policy, Purpose::Spec, host, address);
    assert_eq!(spec("ghcr.io", "8.8.8.8"), None);
    assert_eq!(spec("git.corp", "10.0.0.1"), None, "listed hosts may be private");
    assert_eq!(spec("evil.test", ""), Some(Rule::SpecNotListed));
    let policy = Policy { deny_private: true, ..Policy::default() };
    let spec = |host, address| judged(&policy, Purpose::Spec, host, address);
    assert_eq!(spec("git.corp", "10.0.0.1"), Some(Rule::SpecPrivate));
    assert_eq!(spec("git.corp", "8.8.8.8"), None);
}

#[test]
fn a_refusal_names_host_address_rule_and_flag() {
    let policy = Policy::default();
    let message = |purpose, host, address: &str| {
        let outcome = policy.address(purpose, host, address.parse().expect("an address"));
        outcome.expect_err("refused").to_string()
    };
    assert_eq!(
        message(Purpose::Content, "git.corp", "10.0.0.1"),
        "network policy: host 'git.corp' (10.0.0.1) has a private address, which the content of a repository may not name; --allow-content-hosts=git.corp allows it"
    );
    assert_eq!(
        message(Purpose::Spec, "169.254.169.254", "169.254.169.254"),
        "network policy: host '169.254.169.254' has a link-local or metadata address, which only the controllers' own cloud identity may reach"
    );
}
