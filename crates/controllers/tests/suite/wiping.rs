//! What is overwritten in memory when it is dropped. Types are taken apart in full, so that a new field has to
//! be judged here; whether a field wipes itself is checked by the compiler.

use sluice_base::redacted::{Redacted, SecretData, ZeroizeOnDrop};
use sluice_cloud::{ClusterAccess, Proxy};
use sluice_secrets::DataKey;
use sluice_source::bucket::BucketAuth;
use sluice_source::git::{AppToken, GitAuth};
use sluice_source::http::TlsOptions;
use sluice_source::oci::Credentials;

const fn wiped<T: ZeroizeOnDrop>(_: &T) {}

#[test]
fn every_secret_is_overwritten() {
    let GitAuth {
        username: _,
        password,
        bearer_token,
        identity,
        known_hosts: _,
        tls,
        proxy,
        purpose: _,
    } = GitAuth::default();
    wiped(&password);
    wiped(&bearer_token);
    wiped(&identity);
    let TlsOptions { authorities: _, certificate: _, key, insecure: _ } = tls;
    wiped(&key);
    let Proxy { address: _, username: _, password } = proxy.unwrap_or_default();
    wiped(&password);
    let Credentials { username: _, password, identity_token, registry_token } =
        Credentials::default();
    wiped(&password);
    wiped(&identity_token);
    wiped(&registry_token);
    match BucketAuth::default() {
        BucketAuth::Ambient => {}
        BucketAuth::Secret { name: _, data } => wiped(&data),
        BucketAuth::Ldap { endpoint: _, username: _, password, tls: _ } => wiped(&password),
    }
    let expires = jiff::Timestamp::UNIX_EPOCH;
    let AppToken { token, expires: _ } = AppToken { token: "t".into(), expires };
    wiped(&token);
    let ClusterAccess { address: _, authorities: _, token } = ClusterAccess {
        address: String::new(),
        authorities: Vec::new(),
        token: Redacted::new(String::new()),
    };
    wiped(&token);
    wiped(&DataKey::default());
    wiped(&SecretData::default());
}
