//! Audiences of tokens that leave this cluster. A token that the cluster's own API server accepts is never
//! requested and never sent: its receiver could act here as the account.

use sluice_base::redacted::Redacted;

use crate::identity::CloudsParts;
use crate::{CloudError, jwt};

/// The path of the service account token in a pod.
pub(crate) const TOKEN_FILE: &str = "/var/run/secrets/kubernetes.io/serviceaccount/token";
/// Common audiences of API servers.
const USUAL: [&str; 3] = [
    "https://kubernetes.default.svc",
    "https://kubernetes.default.svc.cluster.local",
    "kubernetes.default.svc",
];

/// The audiences of the API server, from the token of this pod.
fn own_audiences(parts: &CloudsParts) -> Option<Vec<String>> {
    let token = Redacted::new((parts.environment.read)(TOKEN_FILE).ok()?);
    let mut own = jwt::audiences(token.expose());
    own.extend(jwt::issuer(token.expose()));
    (!own.is_empty()).then_some(own)
}

fn refused(audience: &str) -> CloudError {
    CloudError(format!(
        "audience '{audience}' is one of this cluster's own API server: a token for it does not leave the cluster"
    ))
}

fn is_own(parts: &CloudsParts, audience: &str) -> bool {
    let known = own_audiences(parts).unwrap_or_default();
    USUAL.contains(&audience) || known.iter().any(|own| own == audience)
}

/// Fails if a token for these audiences must not be requested. None, or an empty one, would mean the API
/// server's own.
pub(crate) fn check_wanted(parts: &CloudsParts, audiences: &[String]) -> Result<(), CloudError> {
    if audiences.is_empty() || audiences.iter().any(|audience| audience.trim().is_empty()) {
        return Err(CloudError(
            "a token that leaves the cluster needs an audience that is not empty".to_owned(),
        ));
    }
    match audiences.iter().find(|audience| is_own(parts, audience)) {
        Some(own) => Err(refused(own)),
        None => Ok(()),
    }
}

/// Fails if an issued token must not leave. Its own claims decide; if the pod has no token to compare the
/// audiences with, the API server is asked whether it accepts this one.
pub(crate) async fn check_given(parts: &CloudsParts, token: &str) -> Result<(), CloudError> {
    let audiences = jwt::audiences(token);
    if audiences.is_empty() {
        return Err(CloudError("the token names no audience".to_owned()));
    }
    let issuer = jwt::issuer(token);
    let is_issuer = |audience: &String| issuer.as_ref() == Some(audience);
    if let Some(own) = audiences.iter().find(|it| is_own(parts, it) || is_issuer(it)) {
        return Err(refused(own));
    }
    if own_audiences(parts).is_some() {
        return Ok(());
    }
    let is_taken = parts.accounts.is_taken(token).await.map_err(|problem| {
        CloudError(format!("cannot tell whether this cluster's API server takes the token, so it does not leave: {problem}"))
    })?;
    if is_taken { Err(refused(&audiences.join(","))) } else { Ok(()) }
}
