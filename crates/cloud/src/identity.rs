//! Cloud identities: the controllers themselves or a service account, and the credentials that they get.

use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::sync::Arc;

use ring::digest;
use sluice_base::clock::Clock;
use sluice_base::redacted::Redacted;

use crate::audience::{TOKEN_FILE, check_given, check_wanted};
use crate::aws::AwsKeys;
use crate::azure::AzureCredentials;
use crate::cluster::canonical_address;
use crate::gcp::Gke;
use crate::token_cache::TokenCache;
use crate::web::Asking;
use crate::{
    AccountName, Accounts, CacheLimits, CloudError, CloudService, ClusterAccess, ClusterQuery,
    Environment, Http, Lasting, TrustedHost, aws, azure, gcp, jwt,
};

/// The error if objects may not name service accounts.
const NOT_ALLOWED: &str = "ObjectLevelWorkloadIdentity feature gate is not enabled";
/// The error if the default service account does not exist.
const NO_DEFAULT: &str = "the specified default service account does not exist in the object namespace. your cluster is subject to multi-tenant workload identity lockdown, reach out to your cluster administrator for help";

/// The dependencies of [`Clouds`].
pub struct CloudsParts {
    /// The environment of the process.
    pub environment: Environment,
    /// The HTTP client for the clouds.
    pub http: Arc<dyn Http>,
    /// The service accounts of this cluster.
    pub accounts: Arc<dyn Accounts>,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// The limits of the cache.
    pub limits: CacheLimits,
    /// Whether objects may name service accounts: `ObjectLevelWorkloadIdentity`.
    pub allows_accounts: bool,
    /// Private endpoints that get tokens like the clouds' own hosts: `--cloud-hosts`.
    pub trusted_hosts: Vec<TrustedHost>,
}

/// Makes cloud identities, and caches their credentials.
#[derive(Clone)]
pub struct Clouds(Arc<Shared>);

struct Shared {
    parts: CloudsParts,
    cache: TokenCache,
    gke: Gke,
}

impl Clouds {
    /// Clouds with these dependencies.
    pub fn new(parts: CloudsParts) -> Self {
        let cache = TokenCache::new(Arc::clone(&parts.clock), parts.limits);
        Self(Arc::new(Shared { parts, cache, gke: Gke::default() }))
    }

    /// The identity of the controllers.
    pub fn controller(&self) -> CloudIdentity {
        CloudIdentity {
            shared: Arc::clone(&self.0),
            identity: Identity::Controller,
            audiences: Vec::new(),
        }
    }

    /// An identity that gets no credentials, with the reason. What needs no credentials works nevertheless.
    pub fn refused(&self, why: String) -> CloudIdentity {
        CloudIdentity { identity: Identity::Refused(why), ..self.controller() }
    }

    /// The identity of a service account; `is_default` if it is the operator's default, not named by an object.
    pub fn account(&self, namespace: &str, name: &str, is_default: bool) -> CloudIdentity {
        let account = AccountName { namespace: namespace.to_owned(), name: name.to_owned() };
        CloudIdentity { identity: Identity::Account { account, is_default }, ..self.controller() }
    }

    /// The identity of the named service account, or of the operator's default, or of the controllers, unless
    /// there is a reason against it.
    pub fn named_or(
        &self,
        namespace: &str,
        named: Option<&str>,
        default: Option<&str>,
        refusal: Option<String>,
    ) -> CloudIdentity {
        let given = |name: &&str| !name.is_empty();
        match (named.filter(given), default.filter(given), refusal) {
            (Some(name), _, _) => self.account(namespace, name, false),
            (None, Some(name), _) => self.account(namespace, name, true),
            (None, None, Some(why)) => self.refused(why),
            (None, None, None) => self.controller(),
        }
    }
}

impl fmt::Debug for Clouds {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Clouds").finish_non_exhaustive()
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Identity {
    Controller,
    Account {
        account: AccountName,
        is_default: bool,
    },
    /// No credentials, for this reason.
    Refused(String),
}

/// A cloud identity. Clouds are always reached directly: a proxy is a tenant's choice, and would carry the
/// credentials of the controllers.
#[derive(Clone)]
pub struct CloudIdentity {
    shared: Arc<Shared>,
    identity: Identity,
    /// Audiences of tokens of this cluster, if they differ from the provider's default.
    audiences: Vec<String>,
}

impl PartialEq for CloudIdentity {
    fn eq(&self, other: &Self) -> bool {
        (&self.identity, &self.audiences) == (&other.identity, &other.audiences)
    }
}

impl Eq for CloudIdentity {}

impl fmt::Debug for CloudIdentity {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("CloudIdentity").field(&self.identity).finish()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Provider {
    Aws,
    Azure,
    Gcp,
    Generic,
}

impl Provider {
    const fn name(self) -> &'static str {
        match self {
            Self::Aws => "aws",
            Self::Azure => "azure",
            Self::Gcp => "gcp",
            Self::Generic => "generic",
        }
    }
}

/// A service account, and its identity at a cloud.
pub(crate) struct Subject {
    pub(crate) account: AccountName,
    pub(crate) annotations: BTreeMap<String, String>,
    /// The role, application or address in its annotations.
    pub(crate) identity: String,
    audiences: Vec<String>,
}

impl CloudIdentity {
    /// Fails unless the credentials of this identity may be sent to a host for a service.
    pub fn check_host(
        &self,
        service: CloudService,
        scheme: &str,
        host: &str,
        port: Option<u16>,
    ) -> Result<(), CloudError> {
        service.check(scheme, host, port, &self.shared.parts.trusted_hosts)
    }

    /// The same identity with service account tokens for these audiences, if there are any.
    #[must_use]
    pub fn for_audiences(mut self, audiences: Vec<String>) -> Self {
        self.audiences = audiences;
        self
    }

    /// The dependencies of a request.
    pub fn asking(&self) -> Asking<'_> {
        let parts = &self.shared.parts;
        Asking { http: &*parts.http, environment: &parts.environment, now: parts.clock.now() }
    }

    /// Keys of AWS for a region. An empty endpoint means the default STS endpoint.
    pub async fn aws(&self, region: &str, endpoint: &str) -> Result<Lasting<AwsKeys>, CloudError> {
        let subject = self.subject(Provider::Aws).await?;
        self.aws_of(subject.as_ref(), region, endpoint).await
    }

    async fn aws_of(
        &self,
        subject: Option<&Subject>,
        region: &str,
        endpoint: &str,
    ) -> Result<Lasting<AwsKeys>, CloudError> {
        let key =
            self.key(Provider::Aws, subject, &[("stsRegion", region), ("stsEndpoint", endpoint)]);
        let asking = self.asking();
        let make =
            self.made(subject, aws::ambient(&asking, region, endpoint), async |subject, token| {
                aws::for_account(&asking, subject, token.expose(), region, endpoint).await
            });
        self.shared.cache.get(key, make).await
    }

    /// A token of Azure for a scope.
    pub async fn azure(&self, scope: &str) -> Result<Lasting<Redacted<String>>, CloudError> {
        let subject = self.subject(Provider::Azure).await?;
        self.azure_of(subject.as_ref(), scope).await
    }

    /// A token of Azure for the credentials of a Secret. Credentials that only name a managed identity of the
    /// machine belong to the controllers, and are valid only for them.
    pub async fn azure_by(
        &self,
        credentials: &AzureCredentials,
        scope: &str,
    ) -> Result<Lasting<Redacted<String>>, CloudError> {
        match credentials.machine_identity() {
            Some(client) => self.azure_machine(client, scope).await,
            None => credentials.token(&self.asking(), scope).await,
        }
    }

    /// A token of Azure for a managed identity of the machine.
    pub async fn azure_machine(
        &self,
        client: &str,
        scope: &str,
    ) -> Result<Lasting<Redacted<String>>, CloudError> {
        let why = match &self.identity {
            Identity::Controller => return azure::of_machine(&self.asking(), scope, client).await,
            Identity::Account { account, .. } => {
                format!("service account '{account}' is to be used")
            }
            Identity::Refused(why) => why.clone(),
        };
        Err(CloudError(format!(
            "the Secret names only an identity of the machine, '{client}', which is the controllers' own: {why}"
        )))
    }

    async fn azure_of(
        &self,
        subject: Option<&Subject>,
        scope: &str,
    ) -> Result<Lasting<Redacted<String>>, CloudError> {
        let key = self.key(Provider::Azure, subject, &[("scopes", scope)]);
        let asking = self.asking();
        let make = self.made(subject, azure::ambient(&asking, scope), async |subject, token| {
            azure::for_account(&asking, subject, token.expose(), scope).await
        });
        self.shared.cache.get(key, make).await
    }

    /// A token of Google Cloud.
    pub async fn gcp(&self) -> Result<Lasting<Redacted<String>>, CloudError> {
        let subject = self.subject(Provider::Gcp).await?;
        self.gcp_of(subject.as_ref()).await
    }

    async fn gcp_of(
        &self,
        subject: Option<&Subject>,
    ) -> Result<Lasting<Redacted<String>>, CloudError> {
        let key = self.key(Provider::Gcp, subject, &[]);
        let asking = self.asking();
        let make = self.made(subject, gcp::ambient(&asking), async |subject, token| {
            gcp::for_account(&asking, subject, token.expose(), &self.shared.gke).await
        });
        self.shared.cache.get(key, make).await
    }

    /// A service account token of this cluster for the audiences of the identity, and its account.
    pub async fn cluster_token(
        &self,
    ) -> Result<(Lasting<Redacted<String>>, AccountName), CloudError> {
        let subject = self.subject(Provider::Generic).await?;
        self.cluster_token_of(subject.as_ref()).await
    }

    async fn cluster_token_of(
        &self,
        subject: Option<&Subject>,
    ) -> Result<(Lasting<Redacted<String>>, AccountName), CloudError> {
        let key = self.key(Provider::Generic, subject, &[]);
        let make = self.made(subject, self.own_token(), async |subject, token| {
            Ok(lasting(token)?.with(subject.account.clone()))
        });
        let kept = self.shared.cache.get(key, make).await?;
        let (token, account) = kept.value;
        Ok((Lasting { value: token, until: kept.until }, account))
    }

    /// Access to another cluster.
    pub async fn cluster(
        &self,
        query: &ClusterQuery,
    ) -> Result<Lasting<ClusterAccess>, CloudError> {
        let asking = self.asking();
        let parts = [
            ("cluster", query.cluster.as_str()),
            ("address", query.address.as_str()),
            ("caData", query.authorities.as_str()),
            ("for", "cluster"),
        ];
        match query.provider.as_str() {
            "aws" => {
                let region = aws::cluster_region(&query.cluster)?;
                let subject = self.subject(Provider::Aws).await.map_err(no_token)?;
                let subject = subject.as_ref();
                let keys = self.aws_of(subject, &region, "").await.map_err(no_token)?.value;
                let key = self.key(Provider::Aws, subject, &parts);
                self.shared.cache.get(key, aws::access(&asking, &keys, query)).await
            }
            "azure" => {
                let manager_scope = if azure::is_described(query) {
                    Some(azure::manager_scope(&asking)?)
                } else {
                    None
                };
                let subject = self.subject(Provider::Azure).await.map_err(no_token)?;
                let subject = subject.as_ref();
                let token = self.azure_of(subject, azure::CLUSTER_SCOPE).await.map_err(no_token)?;
                let manager = match &manager_scope {
                    Some(scope) => {
                        Some(self.azure_of(subject, scope).await.map_err(no_token)?.value)
                    }
                    None => None,
                };
                let key = self.key(Provider::Azure, subject, &parts);
                let make = azure::access(&asking, token, manager.as_ref(), query);
                self.shared.cache.get(key, make).await
            }
            "gcp" => {
                let subject = self.subject(Provider::Gcp).await.map_err(no_token)?;
                let subject = subject.as_ref();
                let token = self.gcp_of(subject).await.map_err(no_token)?;
                let key = self.key(Provider::Gcp, subject, &parts);
                self.shared.cache.get(key, gcp::access(&asking, token, query)).await
            }
            "generic" => self.generic_cluster(query).await,
            other => Err(CloudError(format!("provider '{other}' not implemented"))),
        }
    }

    /// Access to a cluster that trusts tokens of this one as they are.
    async fn generic_cluster(
        &self,
        query: &ClusterQuery,
    ) -> Result<Lasting<ClusterAccess>, CloudError> {
        let mut identity = self.clone();
        if identity.audiences.is_empty() && !query.address.is_empty() {
            identity.audiences.push(query.address.clone());
        }
        // An error of the identity comes before one of the address.
        let subject = identity.subject(Provider::Generic).await;
        let subject = subject.map_err(no_token)?;
        if query.address.is_empty() {
            return Err(CloudError(
                "cluster address is required to create a REST config".to_owned(),
            ));
        }
        let address = canonical_address(&query.address).map_err(|error| {
            error.while_trying(&format!("failed to parse cluster address {}", query.address))
        })?;
        let (token, _) = identity.cluster_token_of(subject.as_ref()).await.map_err(no_token)?;
        let authorities = query.authorities.clone().into_bytes();
        let value = ClusterAccess { address, authorities, token: token.value };
        Ok(Lasting { value, until: token.until })
    }

    /// Anything derived from this identity for some purpose, cached like tokens.
    pub async fn cached<T: Clone + Send + Sync + 'static>(
        &self,
        purpose: &[(&str, &str)],
        make: impl Future<Output = Result<Lasting<T>, CloudError>>,
    ) -> Result<T, CloudError> {
        let identity = format!("{:?}", self.identity);
        let mut parts = vec![("identity", identity.as_str())];
        parts.extend_from_slice(purpose);
        self.shared.cache.get(hashed(&parts), make).await.map(|kept| kept.value)
    }

    /// The service account and its identity at a cloud; `None` for the controllers.
    async fn subject(&self, provider: Provider) -> Result<Option<Subject>, CloudError> {
        let (account, is_default) = match &self.identity {
            Identity::Controller => return Ok(None),
            Identity::Refused(why) => return Err(CloudError(why.clone())),
            Identity::Account { account, is_default } => (account, is_default),
        };
        let found = self.shared.parts.accounts.annotations(account).await;
        let annotations = found.map_err(|error| {
            let is_default = error.is_missing && *is_default;
            let message = if is_default { NO_DEFAULT } else { error.message.as_str() };
            CloudError(format!("failed to get service account '{account}': {message}"))
        })?;
        let annotation = |key: &str| annotations.get(key).cloned();
        let audiences = if self.audiences.is_empty() {
            match provider {
                Provider::Aws => vec![aws::AUDIENCE.to_owned()],
                Provider::Azure => vec![azure::AUDIENCE.to_owned()],
                Provider::Gcp => {
                    let failed =
                        |error: CloudError| error.while_trying("failed to get provider audience");
                    let named = gcp::provider_of(annotation).map_err(|it| failed(it.into()))?;
                    vec![match named {
                        Some(audience) => audience,
                        None => self.shared.gke.pool(&self.asking()).await.map_err(failed)?,
                    }]
                }
                Provider::Generic => Vec::new(),
            }
        } else {
            self.audiences.clone()
        };
        let identity = match provider {
            Provider::Aws => aws::role_of(annotation),
            Provider::Azure => azure::application_of(annotation),
            Provider::Gcp => gcp::email_of(annotation),
            Provider::Generic => {
                Ok(format!("system:serviceaccount:{}:{}", account.namespace, account.name))
            }
        };
        let identity = identity.map_err(|problem| {
            CloudError(format!(
                "failed to get provider identity from service account '{account}' annotations: {problem}"
            ))
        })?;
        Ok(Some(Subject { account: account.clone(), annotations, identity, audiences }))
    }

    /// The credentials of the controllers, or of a service account for its token.
    async fn made<T>(
        &self,
        subject: Option<&Subject>,
        own: impl Future<Output = Result<T, CloudError>>,
        exchange: impl AsyncFnOnce(&Subject, Redacted<String>) -> Result<T, CloudError>,
    ) -> Result<T, CloudError> {
        let Some(subject) = subject else {
            return own.await.map_err(|error| {
                error.while_trying("failed to create provider access token for the controller")
            });
        };
        let parts = &self.shared.parts;
        if !parts.allows_accounts {
            return Err(CloudError(NOT_ALLOWED.to_owned()));
        }
        let account = &subject.account;
        check_wanted(parts, &subject.audiences)?;
        let token = parts.accounts.token(account, &subject.audiences).await.map_err(|problem| {
            CloudError(format!(
                "failed to create kubernetes token for service account '{account}': {problem}"
            ))
        })?;
        if !self.audiences.is_empty() {
            check_given(parts, token.expose()).await?;
        }
        exchange(subject, token).await.map_err(|error| {
            error.while_trying(&format!(
                "failed to create provider access token for service account '{account}'"
            ))
        })
    }

    /// A token of the controllers' own service account, for the audiences of the identity.
    async fn own_token(&self) -> Result<Lasting<(Redacted<String>, AccountName)>, CloudError> {
        let parts = &self.shared.parts;
        let token = (parts.environment.read)(TOKEN_FILE).map(Redacted::new).map_err(|error| {
            CloudError(format!("failed to read service account token file {TOKEN_FILE}: {error}"))
        })?;
        let subject = jwt::subject(token.expose())
            .ok_or_else(|| CloudError("failed to parse service account token".to_owned()))?;
        let [_, _, namespace, name] = subject.split(':').collect::<Vec<_>>()[..] else {
            return Err(CloudError(format!(
                "invalid subject format in service account token: {subject}"
            )));
        };
        let account = AccountName { namespace: namespace.to_owned(), name: name.to_owned() };
        check_wanted(parts, &self.audiences)?;
        let given = parts.accounts.token(&account, &self.audiences).await;
        let given = given.map_err(|problem| {
            CloudError(format!(
                "failed to create kubernetes token for controller service account '{account}': {problem}"
            ))
        })?;
        check_given(parts, given.expose()).await?;
        Ok(lasting(given)?.with(account))
    }

    fn key(&self, provider: Provider, subject: Option<&Subject>, more: &[(&str, &str)]) -> String {
        let audiences = subject.map_or(&self.audiences, |subject| &subject.audiences);
        let account = subject.map(|subject| subject.account.to_string());
        let mut parts = vec![("provider", provider.name())];
        parts.extend(audiences.iter().map(|audience| ("audience", audience.as_str())));
        if let (Some(subject), Some(account)) = (subject, &account) {
            parts.push(("providerIdentity", subject.identity.as_str()));
            parts.push(("serviceAccount", account.as_str()));
        }
        parts.extend_from_slice(more);
        hashed(&parts)
    }
}

/// A cache key that reveals nothing of its parts. Each part is hashed with its length, so that different
/// parts cannot give the same input.
fn hashed(parts: &[(&str, &str)]) -> String {
    let mut hash = digest::Context::new(&digest::SHA256);
    for text in parts.iter().flat_map(|(name, value)| [name, value]) {
        hash.update(&text.len().to_be_bytes());
        hash.update(text.as_bytes());
    }
    aws::hex(hash.finish().as_ref())
}

fn no_token(error: CloudError) -> CloudError {
    error.while_trying("failed to get access token for cluster")
}

/// A token with its own expiry.
fn lasting(token: Redacted<String>) -> Result<Lasting<Redacted<String>>, CloudError> {
    let until = jwt::expiry(token.expose())
        .ok_or_else(|| CloudError("failed to parse service account token".to_owned()))?;
    Ok(Lasting { value: token, until })
}

impl Lasting<Redacted<String>> {
    fn with(self, account: AccountName) -> Lasting<(Redacted<String>, AccountName)> {
        Lasting { value: (self.value, account), until: self.until }
    }
}

#[cfg(test)]
mod attacks;
#[cfg(test)]
mod tests;
