//! One watch for each kind, which keeps a [`Store`] and tells of every change.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures::TryStreamExt;
use kube::core::{DeserializeGuard, NamespaceResourceScope};
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Api, Client, Resource};
use serde::de::DeserializeOwned;
use tracing::{debug, warn};

use crate::key::Key;
use crate::queue::Backoff;
use crate::store::{Change, Store};

/// Pauses between tries to watch again.
const RETRY: Backoff = Backoff { least: Duration::from_millis(100), most: Duration::from_secs(30) };

/// How often a kind that is not there is asked for.
const ABSENT: Duration = Duration::from_secs(2);

/// Objects that could not be read as their kind: one of them must not blind the controller to the others.
pub type OnInvalid = dyn Fn(&Key, &str) + Send + Sync;

/// Watches one namespace or all until it is dropped. Every change is told once, after the store has it.
///
/// A kind whose CRD is not there yet is asked for again and again; until it appears, its store is synced and
/// empty.
pub async fn watch<K>(
    client: Client,
    namespace: Option<&str>,
    config: watcher::Config,
    store: Arc<Store<K>>,
    tell: impl Fn(Change<K>) + Send + Sync,
    on_invalid: Arc<OnInvalid>,
) where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope>
        + DeserializeOwned
        + Clone
        + Debug
        + Send
        + Sync
        + 'static,
{
    let api: Api<DeserializeGuard<K>> = match namespace {
        Some(namespace) => Api::namespaced(client, namespace),
        None => Api::all(client),
    };
    let mut failures = 0;
    loop {
        let mut listed: Option<BTreeSet<Key>> = None;
        let mut events = pin!(watcher(api.clone(), config.clone()));
        loop {
            let event = match events.try_next().await {
                Ok(Some(event)) => event,
                Ok(None) => break,
                Err(error) => {
                    failures += 1;
                    let kind = K::kind(&());
                    debug!(%kind, %error, failures, "watch failed");
                    // The stream goes on where it was; starting anew would list everything again.
                    let pause = if is_unknown(&error) {
                        // There are none, and that is known: nobody has to wait for their list.
                        store.mark_synced();
                        ABSENT
                    } else {
                        RETRY.pause(failures)
                    };
                    tokio::time::sleep(pause).await;
                    continue;
                }
            };
            failures = 0;
            match event {
                Event::Init => listed = Some(BTreeSet::new()),
                Event::InitApply(guard) | Event::Apply(guard) => {
                    let key = Key::of(guard.meta());
                    if let Some(listed) = &mut listed {
                        listed.insert(key.clone());
                    }
                    match guard.0 {
                        Ok(mut object) => {
                            object.meta_mut().managed_fields = None;
                            if let Some(change) = store.apply(object) {
                                tell(change);
                            }
                        }
                        Err(error) => {
                            warn!(object = %key, %error, "object cannot be read");
                            on_invalid(&key, &error.to_string());
                        }
                    }
                }
                Event::InitDone => {
                    for change in store.retain(&listed.take().unwrap_or_default()) {
                        tell(change);
                    }
                    store.mark_synced();
                }
                Event::Delete(guard) => {
                    if let Some(change) = store.delete(&Key::of(guard.meta())) {
                        tell(change);
                    }
                }
            }
        }
    }
}

/// Whether the server knows no such kind.
fn is_unknown(error: &watcher::Error) -> bool {
    let (watcher::Error::InitialListFailed(cause) | watcher::Error::WatchStartFailed(cause)) =
        error
    else {
        return false;
    };
    matches!(cause, kube::Error::Api(status) if status.code == 404)
}
