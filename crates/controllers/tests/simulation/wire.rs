//! The wire between the controllers and the cluster. What was sent arrives, whoever still waits for the answer;
//! here crashes are triggered, and here others act at the worst of moments.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http::{HeaderValue, Request, Response};
use kube::client::Body;
use serde_json::Value;
use sluice_cluster::faults::ConnectionLost;
use sluice_cluster::{ClusterService, body};
use sluice_source::artifact::Place;
use sluice_source::store::{ArtifactStore as _, MemoryStore};
use tokio::sync::Notify;
use tokio::time::Instant;
use tower::ServiceExt as _;

use crate::chance::Chance;
use crate::observer::Facts;
use crate::platform::{KINDS, NAMESPACE, Thing};
use crate::world::User;

/// What the controllers call themselves; faults strike nobody else.
pub(crate) const AGENT: &str = "sluice";

/// How often, in a hundred, somebody replaces an object that is about to be deleted.
const REPLACED: u64 = 25;
/// How often, in a hundred, an artifact rots as soon as it is there.
const ROTTEN: u64 = 10;

pub(crate) struct Wire {
    pub(crate) inner: ClusterService,
    pub(crate) user: User,
    pub(crate) store: Arc<MemoryStore>,
    pub(crate) chance: Chance,
    pub(crate) facts: Arc<Facts>,
    pub(crate) began: Instant,
    /// Everything that was sent, and what came back.
    pub(crate) trace: Mutex<Vec<String>>,
    /// Told when the controllers are to crash.
    pub(crate) crash: Notify,
    /// How many requests are left until then.
    pub(crate) fuse: Mutex<Option<u64>>,
    /// Whether others act at the worst of moments.
    pub(crate) mischief: AtomicBool,
}

impl Wire {
    /// Writes a line into the story.
    pub(crate) fn note(&self, line: &str) {
        let at = self.began.elapsed().as_millis();
        self.trace.lock().unwrap().push(format!("{at:>7} {line}"));
    }

    /// Lets the controllers crash after so many requests.
    pub(crate) fn light(&self, requests: u64) {
        self.fuse.lock().unwrap().get_or_insert(requests);
    }

    fn burn(&self) -> bool {
        let mut fuse = self.fuse.lock().unwrap();
        match *fuse {
            Some(0) => {
                *fuse = None;
                true
            }
            Some(left) => {
                *fuse = Some(left - 1);
                false
            }
            None => false,
        }
    }

    /// Carries a request over.
    pub(crate) async fn send(
        self: Arc<Self>,
        request: Request<Body>,
    ) -> Result<Response<body::Body>, ConnectionLost> {
        if self.burn() {
            self.note(&format!("CRASH at {} {}", request.method(), request.uri()));
            self.crash.notify_one();
            if self.chance.percent(50) {
                // It was never sent.
                return std::future::pending().await;
            }
        }
        let carried = tokio::spawn(self.carry(request));
        carried.await.unwrap_or(Err(ConnectionLost::Reset))
    }

    async fn carry(
        self: Arc<Self>,
        request: Request<Body>,
    ) -> Result<Response<body::Body>, ConnectionLost> {
        let line = format!("{} {}", request.method(), request.uri());
        let (mut parts, body) = request.into_parts();
        let body = body.collect_bytes().await.unwrap();
        parts.headers.insert(http::header::USER_AGENT, HeaderValue::from_static(AGENT));
        if self.mischief.load(Ordering::Relaxed) {
            if parts.method == http::Method::DELETE {
                self.replace(parts.uri.path()).await;
            }
            if parts.uri.path().contains("/gitrepositories/") {
                self.rot(&body).await;
            }
        }
        let request = Request::from_parts(parts, http_body_util::Full::new(body));
        let answer = self.inner.clone().oneshot(request).await;
        match &answer {
            Ok(answer) => self.note(&format!("{line} {}", answer.status().as_u16())),
            Err(lost) => self.note(&format!("{line} {lost}")),
        }
        answer
    }

    /// Somebody replaces an object that is about to be deleted by one of their own.
    async fn replace(&self, path: &str) {
        let Some(thing) = thing_at(path) else { return };
        if !self.chance.percent(REPLACED) || !self.facts.take_name(&thing) {
            return;
        }
        self.note(&format!("a user replaces {thing:?}"));
        self.user.remove(&thing, &self.facts).await;
        self.user.make_foreign(&thing, &self.facts).await;
    }

    /// What was just put into the store is replaced by something older, or by nothing that can be read.
    async fn rot(&self, body: &Bytes) {
        let Ok(patch) = serde_json::from_slice::<Value>(body) else { return };
        let Some(path) = patch["status"]["artifact"]["path"].as_str() else { return };
        if !self.chance.percent(ROTTEN) {
            return;
        }
        let paths = self.store.paths();
        let other = match paths.iter().find(|other| *other != path) {
            Some(other) => self.store.open(other).await.unwrap().content,
            None => Bytes::from_static(b"rotten"),
        };
        self.note(&format!("the artifact {path} rots"));
        self.store.put(&Place::of_path(path).unwrap(), other).await.unwrap();
    }
}

/// The thing that a path names.
fn thing_at(path: &str) -> Option<Thing> {
    let parts: Vec<&str> = path.split('/').collect();
    let [.., namespace, plural, name] = parts.as_slice() else { return None };
    let is = |kind: &str| format!("{}s", kind.to_lowercase()) == **plural;
    let kind = KINDS.iter().find(|(kind, ..)| is(kind))?;
    (*namespace == NAMESPACE).then(|| Thing::new(kind.0, name))
}
