//! One at a time: leases, taken and kept as client-go's leader election does it, under upstream's names. Whoever
//! else keeps to them, ours or Flux's own controllers, does not run at the same time.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::api::core::v1::{Event as CoreEvent, ObjectReference};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use kube::api::{Api, ObjectMeta, PostParams};
use sluice_api::names::events::kind;
use sluice_base::clock::Clock;
use tokio::time::{Instant, sleep, timeout};
use tracing::{debug, info};

use crate::events::{Event, Severity, core_event};

/// How long an event about a lease may take to be told.
const TOLD_WITHIN: Duration = Duration::from_secs(2);
/// How far tries are spread, as a share of the pause between them.
const JITTER: f64 = 1.2;

/// How long a lease is good for, and how often it is looked after.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Terms {
    /// Others may take it when it was not renewed for so long.
    pub duration: Duration,
    /// The holder gives up when it could not renew it for so long; less than the duration, so that nobody
    /// else has begun by then.
    pub renew_deadline: Duration,
    /// The pause between tries.
    pub retry: Duration,
}

/// Flux's.
impl Default for Terms {
    fn default() -> Self {
        Self {
            duration: Duration::from_secs(35),
            renew_deadline: Duration::from_secs(30),
            retry: Duration::from_secs(5),
        }
    }
}

/// Somebody who wants a lease.
#[derive(Clone)]
pub struct Candidate {
    /// The cluster.
    pub client: kube::Client,
    /// Where the lease is.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Who wants it; unlike everybody else.
    pub identity: String,
    /// The time that is written into it.
    pub clock: Arc<dyn Clock>,
    /// Chance, between 0 and 1, so that candidates do not all come at once.
    pub chance: Arc<dyn Fn() -> f64 + Send + Sync>,
    /// How long it is good for.
    pub terms: Terms,
}

/// What was last seen of a lease, and when it changed by the candidate's own clock: others' clocks are not
/// trusted.
struct Seen {
    metadata: ObjectMeta,
    spec: LeaseSpec,
    since: Instant,
}

/// A lease that is held.
pub struct Held {
    candidate: Candidate,
    seen: Option<Seen>,
}

impl Candidate {
    /// The name of a controller's lease: upstream's. Each shard has one of its own.
    pub fn lease_name(controller: &str, selector: &str, hash: impl Fn(&str) -> String) -> String {
        let name = format!("{controller}-leader-election");
        if selector.is_empty() {
            return name;
        }
        let hash = hash(selector);
        format!("{name}-{}", hash.get(..8).unwrap_or(&hash))
    }

    /// Waits until the lease is held. Dropping the future gives up waiting.
    pub async fn acquire(self) -> Held {
        let mut held = Held { candidate: self, seen: None };
        info!(lease = held.candidate.name, "attempting to acquire leader lease");
        while !held.attempt().await {
            let spread = 1.0 + JITTER * (held.candidate.chance)();
            sleep(held.candidate.terms.retry.mul_f64(spread)).await;
        }
        info!(lease = held.candidate.name, "successfully acquired lease");
        held.tell("became leader").await;
        held
    }

    fn api(&self) -> Api<Lease> {
        Api::namespaced(self.client.clone(), &self.namespace)
    }
}

impl Held {
    /// Renews the lease until that fails for too long. Returns then, and nothing that needs the lease may
    /// go on.
    pub async fn keep(&mut self) {
        let Terms { renew_deadline, retry, .. } = self.candidate.terms;
        let mut renewed = Instant::now();
        loop {
            sleep(retry).await;
            let left = renew_deadline.saturating_sub(renewed.elapsed());
            // An attempt that hangs counts as one that failed.
            match timeout(left, self.attempt()).await {
                Ok(true) => renewed = Instant::now(),
                Ok(false) | Err(_) if renewed.elapsed() >= renew_deadline => return,
                Ok(false) | Err(_) => {}
            }
            if self.is_lost() {
                return;
            }
        }
    }

    /// Tells of the lease as client-go's lock does. Nobody waits long for that.
    async fn tell(&self, what: &str) {
        let Some(seen) = &self.seen else { return };
        let Candidate { client, identity, clock, namespace, .. } = &self.candidate;
        let event = Event {
            object: ObjectReference {
                api_version: Some("coordination.k8s.io/v1".to_owned()),
                kind: Some("Lease".to_owned()),
                namespace: Some(namespace.clone()),
                name: seen.metadata.name.clone(),
                uid: seen.metadata.uid.clone(),
                resource_version: seen.metadata.resource_version.clone(),
                field_path: None,
            },
            annotations: BTreeMap::new(),
            severity: Severity::Info,
            reason: "LeaderElection".to_owned(),
            message: format!("{identity} {what}"),
            metadata: BTreeMap::new(),
        };
        let core = core_event(&event, kind::NORMAL, identity, clock.now(), 0);
        let api: Api<CoreEvent> = Api::namespaced(client.clone(), namespace);
        match timeout(TOLD_WITHIN, api.create(&PostParams::default(), &core)).await {
            Ok(Ok(_)) => {}
            Ok(Err(error)) => debug!(%error, "event about a lease not told"),
            Err(_) => debug!("event about a lease not told in time"),
        }
    }

    /// Tells that nothing that needs the lease goes on. Only for who has stopped already.
    pub async fn stopped(self) {
        self.tell("stopped leading").await;
    }

    /// Lets the lease go, so that the next one need not wait. Only for who has stopped already.
    pub async fn release(self) {
        let Some(seen) = &self.seen else { return };
        let now = MicroTime(self.candidate.clock.now());
        let spec = LeaseSpec {
            holder_identity: Some(String::new()),
            lease_duration_seconds: Some(1),
            renew_time: Some(now.clone()),
            acquire_time: Some(now),
            lease_transitions: seen.spec.lease_transitions,
            ..LeaseSpec::default()
        };
        let api = self.candidate.api();
        let released = async {
            let mut lease = api.get(&self.candidate.name).await?;
            if holder(&lease) != self.candidate.identity {
                return Ok(());
            }
            lease.spec = Some(spec);
            api.replace(&self.candidate.name, &PostParams::default(), &lease).await.map(drop)
        };
        if let Err(error) = released.await {
            debug!(%error, "lease not released");
        }
        self.tell("stopped leading").await;
    }

    /// Whether somebody else has it by now.
    fn is_lost(&self) -> bool {
        self.seen.as_ref().is_some_and(|seen| {
            seen.spec.holder_identity.as_deref() != Some(self.candidate.identity.as_str())
        })
    }

    /// Takes or renews the lease, if it is free or ours.
    async fn attempt(&mut self) -> bool {
        match self.try_attempt().await {
            Ok(held) => held,
            Err(error) => {
                debug!(lease = self.candidate.name, %error, "lease not taken");
                false
            }
        }
    }

    async fn try_attempt(&mut self) -> Result<bool, kube::Error> {
        let Candidate { name, identity, terms, clock, .. } = &self.candidate;
        let api = self.candidate.api();
        let now = MicroTime(clock.now());
        let mut wanted = LeaseSpec {
            holder_identity: Some(identity.clone()),
            lease_duration_seconds: i32::try_from(terms.duration.as_secs()).ok(),
            acquire_time: Some(now.clone()),
            renew_time: Some(now),
            lease_transitions: Some(0),
            ..LeaseSpec::default()
        };
        let Some(mut lease) = api.get_opt(name).await? else {
            let metadata = ObjectMeta { name: Some(name.clone()), ..ObjectMeta::default() };
            let lease = Lease { metadata, spec: Some(wanted) };
            let made = api.create(&PostParams::default(), &lease).await?;
            self.note(made);
            return Ok(true);
        };
        let there = lease.spec.clone().unwrap_or_default();
        if self.seen.as_ref().is_none_or(|seen| seen.spec != there) {
            let metadata = lease.metadata.clone();
            self.seen = Some(Seen { metadata, spec: there.clone(), since: Instant::now() });
        }
        let is_ours = holder(&lease) == self.candidate.identity;
        let good_for = u64::try_from(there.lease_duration_seconds.unwrap_or_default()).unwrap_or(0);
        let is_valid = self
            .seen
            .as_ref()
            .is_some_and(|seen| seen.since.elapsed() < Duration::from_secs(good_for));
        if !is_ours && !holder(&lease).is_empty() && is_valid {
            return Ok(false);
        }
        let transitions = there.lease_transitions.unwrap_or_default();
        if is_ours {
            wanted.acquire_time.clone_from(&there.acquire_time);
        }
        wanted.lease_transitions = Some(if is_ours { transitions } else { transitions + 1 });
        lease.spec = Some(wanted);
        // The version that was read goes along: of two who try at once, one succeeds.
        let written = api.replace(&self.candidate.name, &PostParams::default(), &lease).await?;
        self.note(written);
        Ok(true)
    }

    fn note(&mut self, lease: Lease) {
        let Lease { metadata, spec } = lease;
        self.seen = Some(Seen { metadata, spec: spec.unwrap_or_default(), since: Instant::now() });
    }
}

fn holder(lease: &Lease) -> &str {
    lease.spec.as_ref().and_then(|spec| spec.holder_identity.as_deref()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use k8s_openapi::api::coordination::v1::Lease;
    use k8s_openapi::api::core::v1::Event;
    use kube::api::ListParams;
    use kube::{Api, Client};
    use sluice_base::fault::{Fault, Rule, Scope};
    use sluice_cluster::Cluster;
    use tokio::time::{Instant, timeout};

    use super::{Candidate, Terms};

    fn candidate(cluster: &Cluster, identity: &str) -> Candidate {
        Candidate {
            client: Client::new(cluster.service(), "default"),
            namespace: "default".to_owned(),
            name: Candidate::lease_name("kustomize-controller", "", str::to_owned),
            identity: identity.to_owned(),
            clock: cluster.clock(),
            chance: Arc::new(|| 0.5),
            terms: Terms::default(),
        }
    }

    async fn holder(cluster: &Cluster) -> (String, i32) {
        let api: Api<Lease> = Api::default_namespaced(Client::new(cluster.service(), "default"));
        let spec = api.get("kustomize-controller-leader-election").await.unwrap().spec.unwrap();
        (spec.holder_identity.unwrap(), spec.lease_transitions.unwrap())
    }

    /// What is told about the lease, in its order, in the form in which client-go tells it.
    async fn events(cluster: &Cluster) -> Vec<String> {
        let api: Api<Event> = Api::default_namespaced(Client::new(cluster.service(), "default"));
        let mut found = api.list(&ListParams::default()).await.unwrap().items;
        // Their names end with the moment, in hexadecimal digits.
        found.sort_by_key(|event| {
            event.metadata.name.as_ref().map(|name| (name.len(), name.clone()))
        });
        let lease: Api<Lease> = Api::default_namespaced(Client::new(cluster.service(), "default"));
        let name = "kustomize-controller-leader-election";
        let uid = lease.get(name).await.unwrap().metadata.uid;
        for event in &found {
            let about = &event.involved_object;
            assert_eq!((about.name.as_deref(), &about.uid), (Some(name), &uid));
            assert_eq!(about.kind.as_deref(), Some("Lease"));
            assert_eq!(about.api_version.as_deref(), Some("coordination.k8s.io/v1"));
            assert_eq!(event.type_.as_deref(), Some("Normal"));
            assert_eq!(event.reason.as_deref(), Some("LeaderElection"));
            let by = event.source.as_ref().and_then(|source| source.component.clone()).unwrap();
            assert!(event.message.as_ref().unwrap().starts_with(&by), "{by}");
            assert_eq!(event.reporting_component.as_ref(), Some(&by));
        }
        found.into_iter().filter_map(|event| event.message).collect()
    }

    fn cluster() -> Cluster {
        Cluster::builder().seed(1).rollouts(false).workloads(false).build()
    }

    #[tokio::test(start_paused = true)]
    async fn one_at_a_time_and_the_next_one_follows() {
        let cluster = cluster();
        let mut first = candidate(&cluster, "first").acquire().await;
        let kept = tokio::spawn(async move {
            tokio::select! {
                biased;
                () = first.keep() => panic!("lost"),
                () = tokio::time::sleep(Duration::from_mins(10)) => first,
            }
        });
        let second = candidate(&cluster, "second").acquire();
        let mut second = Box::pin(second);
        assert!(timeout(Duration::from_mins(9), second.as_mut()).await.is_err());
        assert_eq!(holder(&cluster).await, ("first".to_owned(), 0));
        kept.await.unwrap().release().await;
        // Events of the same moment would have the same name.
        tokio::time::sleep(Duration::from_secs(1)).await;
        let started = Instant::now();
        let second = second.await;
        assert!(started.elapsed() < Duration::from_secs(12), "{:?}", started.elapsed());
        assert_eq!(holder(&cluster).await, ("second".to_owned(), 1));
        // One that dies without a word is waited for.
        drop(second);
        assert_eq!(
            events(&cluster).await,
            ["first became leader", "first stopped leading", "second became leader"]
        );
        let started = Instant::now();
        candidate(&cluster, "third").acquire().await;
        let waited = started.elapsed();
        assert!(
            waited >= Duration::from_secs(35) && waited < Duration::from_secs(50),
            "{waited:?}"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn who_cannot_renew_stops_before_another_begins() {
        let cluster = cluster();
        let mut first = candidate(&cluster, "first").acquire().await;
        let second = tokio::spawn({
            let candidate = candidate(&cluster, "second");
            async move {
                candidate.acquire().await;
                Instant::now()
            }
        });
        let cut = Rule::new(Scope::default().verbs(["update"]), Fault::Reset);
        cluster.faults().install(cut).unwrap();
        first.keep().await;
        let lost = Instant::now();
        cluster.faults().clear();
        first.stopped().await;
        let begun = second.await.unwrap();
        assert_eq!(
            events(&cluster).await,
            ["first became leader", "first stopped leading", "second became leader"]
        );
        assert!(lost < begun, "{:?}", begun.duration_since(lost));
    }

    #[test]
    fn shards_have_leases_of_their_own() {
        let name = Candidate::lease_name("source-controller", "a=b", |_| "0123456789".to_owned());
        assert_eq!(name, "source-controller-leader-election-01234567");
    }
}
