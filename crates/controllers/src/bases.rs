//! Bases on other machines: noted when a build needs them, fetched in between, and there in the next try.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use reqwest::Url;
use sluice_cloud::Http;
use sluice_kustomize::{FileTree, Remote, RemoteError, Repository};
use sluice_source::git::{CloneRequest, Cloned, GitAuth, Reference, clone};
use sluice_source::network::Purpose;

use crate::artifacts::ArtifactTree;
use crate::egress::Egress;

/// How long a repository may take.
const TIMEOUT: Duration = Duration::from_secs(27);
/// How many bases one build may have.
const MOST: usize = 100;
/// How many redirects are followed for a file.
const REDIRECTS: usize = 10;

type Got<T> = Option<Result<T, RemoteError>>;

/// What makes two repositories one: address, reference, and whether submodules are wanted.
type Which = (String, String, bool);

/// The bases of one build.
#[derive(Default)]
pub struct Bases(Mutex<Known>);

/// What is known; nothing where it has yet to be fetched.
#[derive(Default)]
struct Known {
    files: BTreeMap<String, Got<Vec<u8>>>,
    repositories: BTreeMap<Which, Got<Arc<ArtifactTree>>>,
}

impl Bases {
    fn known(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a build needs something that has yet to be fetched.
    pub fn are_wanted(&self) -> bool {
        let known = self.known();
        known.files.values().any(Option::is_none)
            || known.repositories.values().any(Option::is_none)
    }

    /// Fetches what a build needed; gives whether there was anything, so that building is worth another try.
    pub async fn fetch(&self, egress: &Egress) -> bool {
        let (files, repositories) = {
            let known = self.known();
            let files = known.files.iter().filter(|(_, got)| got.is_none());
            let repositories = known.repositories.iter().filter(|(_, got)| got.is_none());
            let files: Vec<String> = files.map(|(url, _)| url.clone()).collect();
            let repositories: Vec<Which> = repositories.map(|(which, _)| which.clone()).collect();
            (files, repositories)
        };
        for url in &files {
            let got = file(&*egress.content, url).await;
            self.known().files.insert(url.clone(), Some(got));
        }
        for which in &repositories {
            let got = repository(egress, which).await;
            self.known().repositories.insert(which.clone(), Some(got));
        }
        !files.is_empty() || !repositories.is_empty()
    }
}

impl Known {
    fn room(&self) -> Result<(), RemoteError> {
        if self.files.len() + self.repositories.len() < MOST {
            return Ok(());
        }
        Err(RemoteError::Failed(format!("a build has at most {MOST} remote bases")))
    }
}

fn not_yet() -> RemoteError {
    RemoteError::Failed("it has not been fetched yet".to_owned())
}

impl Remote for Bases {
    fn file(&self, url: &str) -> Result<Vec<u8>, RemoteError> {
        let mut known = self.known();
        if let Some(got) = known.files.get(url) {
            return got.clone().unwrap_or_else(|| Err(not_yet()));
        }
        known.room()?;
        known.files.insert(url.to_owned(), None);
        Err(not_yet())
    }

    fn repository(&self, wanted: &Repository) -> Result<Arc<dyn FileTree + Send>, RemoteError> {
        let which = (wanted.url.clone(), wanted.reference.clone(), wanted.submodules);
        let mut known = self.known();
        if let Some(got) = known.repositories.get(&which) {
            return match got.clone() {
                Some(Ok(tree)) => Ok(tree),
                Some(Err(error)) => Err(error),
                None => Err(not_yet()),
            };
        }
        known.room()?;
        known.repositories.insert(which, None);
        Err(not_yet())
    }
}

async fn file(web: &dyn Http, url: &str) -> Result<Vec<u8>, RemoteError> {
    let failed = |error: String| RemoteError::Failed(error);
    let mut url = Url::parse(url).map_err(|error| failed(error.to_string()))?;
    for _ in 0..=REDIRECTS {
        if !["http", "https"].contains(&url.scheme()) {
            return Err(failed(format!("{url} is no address of the web")));
        }
        let request = http::Request::get(url.as_str())
            .body(Vec::new())
            .map_err(|error| failed(error.to_string()))?;
        let response = web.send(request).await.map_err(failed)?;
        let status = response.status();
        let next = response.headers().get("location").and_then(|next| next.to_str().ok());
        match next {
            Some(next) if status.is_redirection() => {
                url = url.join(next).map_err(|error| failed(error.to_string()))?;
            }
            _ if status.is_success() => return Ok(response.into_body()),
            _ => {
                let words = status.canonical_reason().unwrap_or_default();
                return Err(RemoteError::Status(format!("{} ({words})", status.as_u16())));
            }
        }
    }
    Err(failed(format!("stopped after {REDIRECTS} redirects")))
}

async fn repository(
    egress: &Egress,
    (url, reference, submodules): &Which,
) -> Result<Arc<ArtifactTree>, RemoteError> {
    if url.starts_with("file:") {
        return Err(RemoteError::Failed(format!(
            "{url} is on this machine, which is not a remote base"
        )));
    }
    // Bases are fetched without credentials.
    let auth = GitAuth { purpose: Purpose::Content, ..GitAuth::default() };
    let mut problem = String::new();
    for reference in references(reference) {
        let request = CloneRequest {
            url: url.clone(),
            reference,
            last_observed: None,
            previous: None,
            recurse_submodules: *submodules,
            sparse: Vec::new(),
            timeout: TIMEOUT,
        };
        match clone(&*egress.git, &request, &auth).await {
            Ok(Cloned::Checkout(checkout)) => {
                return Ok(Arc::new(ArtifactTree::new(Arc::new(checkout.files))));
            }
            Ok(_) => return Err(RemoteError::Failed(format!("{url} is empty"))),
            Err(error) => problem = words(&error),
        }
    }
    Err(RemoteError::Failed(format!("failed to fetch {url}: {problem}")))
}

/// An error with its causes.
fn words(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    let causes: Vec<String> = causes.map(ToString::to_string).collect();
    causes.join(": ")
}

/// What a reference may mean, in the order in which git looks.
fn references(text: &str) -> Vec<Reference> {
    let named = |name: String| Reference { name, ..Reference::default() };
    let is_commit = text.len() == 40 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    match text {
        "" => vec![named("HEAD".to_owned())],
        commit if is_commit => {
            vec![Reference { commit: commit.to_owned(), ..Reference::default() }]
        }
        full if full.starts_with("refs/") => vec![named(full.to_owned())],
        short => vec![named(format!("refs/tags/{short}")), named(format!("refs/heads/{short}"))],
    }
}
