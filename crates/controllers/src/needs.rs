//! Answers what builds need from outside: files and repositories of other machines, and data keys of key services.
//!
//! An engine returns [`Step::Needs`] where it cannot go on; [`drive`] answers and runs it again from the same input,
//! until it is done or has failed. What was answered once is not asked again, refusals among it.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use reqwest::Url;
use sluice_base::causes;
use sluice_base::need::{Need, RepositoryRef, Step};
use sluice_base::redacted::Redacted;
use sluice_cloud::Http;
use sluice_kustomize::{Answers, FileTree, RemoteError};
use sluice_source::git::{CloneRequest, Cloned, GitAuth, Reference, clone};
use sluice_source::network::Purpose;

use crate::artifacts::ArtifactTree;
use crate::egress::Egress;

/// How long a repository may take.
const TIMEOUT: Duration = Duration::from_secs(27);
/// How many files and repositories of other machines one build may need.
const MOST: usize = 100;
/// How often an engine is run. Bases that name bases take a run for each level, and so do keys that refuse.
const ROUNDS: usize = 300;
/// How many redirects are followed for a file.
const REDIRECTS: usize = 10;

/// The answer to a need.
pub enum Answer {
    /// The content of a file.
    File(Result<Vec<u8>, RemoteError>),
    /// The files of a repository.
    Repository(Result<Arc<dyn FileTree + Send>, RemoteError>),
    /// A data key.
    DataKey(Result<Redacted<Vec<u8>>, String>),
}

/// An engine needed more than it may, or the same again although that was answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a build did not come to an end in {ROUNDS} runs")]
pub struct Endless;

/// Runs an engine until it is done or fails; answers its needs in between.
pub async fn drive<T, E, R, A>(
    mut run: impl FnMut(Arc<Answers>) -> R,
    mut answer: impl FnMut(Need) -> A,
) -> Result<T, E>
where
    R: Future<Output = Result<Step<T>, E>>,
    A: Future<Output = Result<Answer, E>>,
    E: From<Endless>,
{
    let mut answers = Arc::<Answers>::default();
    for _ in 0..ROUNDS {
        let needs = match run(Arc::clone(&answers)).await? {
            Step::Done(done) => return Ok(done),
            Step::Needs(needs) => needs,
        };
        let known = Arc::make_mut(&mut answers);
        let mut is_news = false;
        for need in needs {
            if known.has(&need) {
                continue;
            }
            is_news = true;
            let is_refused = known.remote_count() >= MOST;
            let refusal =
                || RemoteError::Failed(format!("a build has at most {MOST} remote bases"));
            let answered = match &need {
                Need::File(_) if is_refused => Answer::File(Err(refusal())),
                Need::Repository(_) if is_refused => Answer::Repository(Err(refusal())),
                _ => answer(need.clone()).await?,
            };
            keep(known, need, answered);
        }
        if !is_news {
            break;
        }
    }
    Err(Endless.into())
}

/// Keeps an answer. One of another sort than the need is none, and ends as [`Endless`].
fn keep(known: &mut Answers, need: Need, answer: Answer) {
    match (need, answer) {
        (Need::File(url), Answer::File(file)) => {
            known.files.insert(url, file);
        }
        (Need::Repository(repository), Answer::Repository(tree)) => {
            known.repositories.insert(repository, tree);
        }
        (Need::DataKey(key), Answer::DataKey(data_key)) => {
            known.data_keys.insert(key, data_key);
        }
        _ => {}
    }
}

/// Fetches a file.
pub async fn fetch_file(egress: &Egress, url: &str) -> Answer {
    Answer::File(file(&*egress.content, url).await)
}

/// Fetches a repository, without credentials.
pub async fn fetch_repository(egress: &Egress, wanted: &RepositoryRef) -> Answer {
    Answer::Repository(repository(egress, wanted).await.map(|tree| tree as _))
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
    RepositoryRef { url, reference, submodules }: &RepositoryRef,
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
            Err(error) => problem = causes::joined(&error),
        }
    }
    Err(RemoteError::Failed(format!("failed to fetch {url}: {problem}")))
}

/// The references that a text may stand for, in the order in which git tries them.
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

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::collections::BTreeSet;

    use futures::FutureExt as _;
    use sluice_base::need::{Need, Step};
    use sluice_kustomize::RemoteError;

    use super::{Answer, Endless, MOST, drive};

    fn file(number: usize) -> Need {
        Need::File(format!("https://files.test/{number}"))
    }

    fn done<T>(step: impl Future<Output = Result<T, Endless>>) -> Result<T, Endless> {
        step.now_or_never().expect("nothing waits")
    }

    #[test]
    fn every_need_is_answered_once_and_then_the_engine_runs_again() {
        let asked = Cell::new(0);
        let run = |answers: std::sync::Arc<sluice_kustomize::Answers>| async move {
            let known = answers.files.len();
            Ok(if known < 3 {
                Step::Needs((0..=known).map(file).collect())
            } else {
                Step::Done(known)
            })
        };
        let answer = |_| {
            asked.set(asked.get() + 1);
            async { Ok(Answer::File(Ok(Vec::new()))) }
        };
        assert_eq!(done(drive(run, answer)), Ok(3));
        assert_eq!(asked.get(), 3);
    }

    #[test]
    fn more_remote_bases_than_allowed_are_refused_and_the_engine_says_so() {
        let run = |answers: std::sync::Arc<sluice_kustomize::Answers>| async move {
            let refused = answers.files.values().filter(|file| file.is_err()).count();
            Ok(if refused > 0 {
                Step::Done(refused)
            } else {
                Step::Needs((0..MOST + 2).map(file).collect())
            })
        };
        let answer = |_| async { Ok(Answer::File(Ok(Vec::new()))) };
        assert_eq!(done(drive(run, answer)), Ok(2));
    }

    #[test]
    fn an_engine_that_asks_for_ever_is_stopped() {
        let again = |_| async { Ok::<_, Endless>(Step::<()>::Needs(BTreeSet::from([file(0)]))) };
        let refused = || RemoteError::Failed("no".to_owned());
        let answer = |_| async { Ok(Answer::File(Err(refused()))) };
        assert_eq!(done(drive(again, answer)), Err(Endless));
    }
}
