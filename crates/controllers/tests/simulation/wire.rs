//! The connection between the controllers and the cluster. A request that was sent arrives even if the controllers
//! crash before the answer. Crashes start here, and users act here at the worst moments.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http::request::Parts;
use http::{HeaderValue, Request, Response};
use kube::client::Body;
use serde_json::Value;
use sluice_cluster::faults::ConnectionLost;
use sluice_cluster::{ClusterService, body};
use sluice_source::artifact::ArtifactPath;
use sluice_source::store::{ArtifactStore as _, MemoryStore};
use tokio::sync::Notify;
use tokio::time::Instant;
use tower::ServiceExt as _;

use crate::chance::Chance;
use crate::observer::Facts;
use crate::platform::{KINDS, NAMESPACE, Thing};
use crate::world::User;

/// The user agent of the controllers; rules of faults select it.
pub(crate) const AGENT: &str = "sluice";

/// How often, in a hundred, a user replaces an object that is about to be deleted.
const REPLACED: u64 = 25;
/// How often, in a hundred, a crash waits until an inventory is written.
const WAITS: u64 = 40;
/// How often, in a hundred, an artifact is damaged as soon as it is stored.
const ROTTEN: u64 = 10;

pub(crate) struct Wire {
    pub(crate) inner: ClusterService,
    pub(crate) user: User,
    pub(crate) store: Arc<MemoryStore>,
    pub(crate) chance: Chance,
    /// An inventory that was on its way when the controllers crashed, and is not there yet.
    pub(crate) late: Mutex<Option<Late>>,
    pub(crate) facts: Arc<Facts>,
    pub(crate) began: Instant,
    /// Everything that was sent, and what came back.
    pub(crate) trace: Mutex<Vec<String>>,
    /// Told when the controllers are to crash.
    pub(crate) crash: Notify,
    /// What leads there, once it is lit.
    pub(crate) fuse: Mutex<Option<Fuse>>,
    /// Chance of its own for that, so that it changes nothing else.
    pub(crate) worst: Chance,
    /// Whether others act at the worst of moments.
    pub(crate) mischief: AtomicBool,
}

impl Wire {
    /// Adds a line to the trace.
    pub(crate) fn note(&self, line: &str) {
        let at = self.began.elapsed().as_millis();
        self.trace.lock().unwrap().push(format!("{at:>7} {line}"));
    }

    /// Makes the controllers crash after this many requests, or later, when they write an inventory.
    pub(crate) fn light(&self, requests: u64) {
        let waits = self.worst.percent(WAITS);
        self.fuse.lock().unwrap().get_or_insert(Fuse { left: requests, waits });
    }

    fn burn(&self, tells: bool) -> bool {
        let mut fuse = self.fuse.lock().unwrap();
        match &mut *fuse {
            Some(Fuse { left: 0, waits }) => {
                let burns = tells || !*waits;
                if burns {
                    *fuse = None;
                }
                burns
            }
            Some(fuse) => {
                fuse.left -= 1;
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
        let (mut head, body) = request.into_parts();
        head.headers.insert(http::header::USER_AGENT, HeaderValue::from_static(AGENT));
        let body = body.collect_bytes().await.unwrap();
        let ids = inventory(head.uri.path(), &body);
        if self.burn(ids.is_some()) {
            self.note(&format!("CRASH at {} {}", head.method, head.uri));
            self.crash.notify_one();
            if self.chance.percent(50) {
                // It was never sent.
                return std::future::pending().await;
            }
            if let Some(ids) = ids {
                self.note("its inventory arrives later");
                *self.late.lock().unwrap() = Some(Late { head, body, ids });
                return std::future::pending().await;
            }
        }
        let carried = tokio::spawn(self.carry(head, body));
        carried.await.unwrap_or(Err(ConnectionLost::Reset))
    }

    async fn carry(
        self: Arc<Self>,
        head: Parts,
        body: Bytes,
    ) -> Result<Response<body::Body>, ConnectionLost> {
        if self.mischief.load(Ordering::Relaxed) {
            if head.method == http::Method::DELETE {
                self.replace(head.uri.path()).await;
            }
            if head.uri.path().contains("/gitrepositories/") {
                self.rot(&body).await;
            }
        }
        let overtaken =
            self.late.lock().unwrap().take_if(|late| late.is_behind(head.uri.path(), &body));
        let answer = self.deliver(head, body).await;
        if let Some(late) = overtaken {
            self.note("what was on its way before the crash arrives");
            let _ = self.deliver(late.head, late.body).await;
        }
        answer
    }

    async fn deliver(
        &self,
        head: Parts,
        body: Bytes,
    ) -> Result<Response<body::Body>, ConnectionLost> {
        let line = format!("{} {}", head.method, head.uri);
        let request = Request::from_parts(head, http_body_util::Full::new(body));
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
            Some(other) => self.store.open(other).await.unwrap().content.read().await.unwrap(),
            None => Bytes::from_static(b"rotten"),
        };
        self.note(&format!("the artifact {path} rots"));
        self.store.put(&ArtifactPath::of_path(path).unwrap(), other).await.unwrap();
    }
}

/// What lets the controllers crash.
pub(crate) struct Fuse {
    /// How many requests are left until then.
    left: u64,
    /// Whether it then waits for the worst of moments, when an inventory is told of.
    waits: bool,
}

/// A write of a process that is gone. It arrives at the worst of moments: when the next process has told of an
/// inventory that this one knows less of.
pub(crate) struct Late {
    head: Parts,
    body: Bytes,
    ids: BTreeSet<String>,
}

impl Late {
    fn is_behind(&self, path: &str, body: &Bytes) -> bool {
        path == self.head.uri.path()
            && inventory(path, body).is_some_and(|ids| !ids.is_subset(&self.ids))
    }
}

/// The ids of the inventory that a request writes.
fn inventory(path: &str, body: &Bytes) -> Option<BTreeSet<String>> {
    let patch: Value = serde_json::from_slice(body).ok().filter(|_| path.ends_with("/status"))?;
    let entries = patch.pointer("/status/inventory/entries")?.as_array()?;
    Some(entries.iter().filter_map(|entry| entry["id"].as_str()).map(str::to_owned).collect())
}

/// The thing that a path names.
fn thing_at(path: &str) -> Option<Thing> {
    let parts: Vec<&str> = path.split('/').collect();
    let [.., namespace, plural, name] = parts.as_slice() else { return None };
    let is = |kind: &str| format!("{}s", kind.to_lowercase()) == **plural;
    let kind = KINDS.iter().find(|(kind, ..)| is(kind))?;
    (*namespace == NAMESPACE).then(|| Thing::new(kind.0, name))
}
