use std::sync::{Arc, Mutex};
use std::time::Duration;

use jiff::Timestamp;
use kube::api::{Api, DeleteParams, DynamicObject, Patch, PatchParams};
use kube::core::{ApiResource, GroupVersionKind};
use kube::{Client, ResourceExt as _};
use serde_json::{Value, json};
use sluice_api::crd::CustomResource as _;
use sluice_api::kustomize::kustomization::{Kustomization, KustomizationStatus};
use sluice_api::names::annotations::REQUESTED_AT;
use sluice_base::clock::Clock;
use sluice_cluster::Cluster;

use super::{Finalized, OnChange, Pass, Reconciler, reconcile};
use crate::class::ErrorClass;
use crate::controller::{Core, PassContext, PassRules};
use crate::events::Recorder;
use crate::gate::{Hold, SharedGate};
use crate::key::Key;
use crate::outcome::{Failure, Retry, Stop, Waiting};
use crate::queue::{Backoff, Next, Queue};
use crate::status::api_resource;
use crate::store::Change;

struct Frozen;

impl Clock for Frozen {
    fn now(&self) -> Timestamp {
        Timestamp::constant(1_767_225_600, 0)
    }
}

type Outcome = dyn Fn(&mut Pass<'_, Kustomization>) -> Result<Next, Stop> + Send + Sync;

/// A controller whose passes end as they are told to.
struct Scripted {
    core: Core<Kustomization>,
    outcome: Mutex<Arc<Outcome>>,
    finalized: Finalized,
}

impl OnChange<Kustomization> for Scripted {
    fn on_change(&self, _: &Change<Kustomization>) {}
}

impl Reconciler for Scripted {
    type Kind = Kustomization;

    fn core(&self) -> &Core<Kustomization> {
        &self.core
    }

    fn is_suspended(&self, object: &Kustomization) -> bool {
        object.spec.suspend.unwrap_or(false)
    }

    fn is_installed(&self, status: &KustomizationStatus) -> bool {
        status.last_applied_revision.is_some()
    }

    async fn converge(&self, pass: &mut Pass<'_, Kustomization>) -> Result<Next, Stop> {
        let outcome = Arc::clone(&self.outcome.lock().unwrap());
        outcome(pass)
    }

    async fn finalize(&self, _: &mut Pass<'_, Kustomization>) -> Finalized {
        self.finalized
    }
}

struct Ground {
    api: Api<DynamicObject>,
    controller: Scripted,
}

impl Ground {
    async fn new(rules: PassRules) -> Self {
        let cluster = Cluster::builder().seed(1).build();
        let client = Client::new(cluster.service(), "default");
        let kind = GroupVersionKind::gvk("apiextensions.k8s.io", "v1", "CustomResourceDefinition");
        let crds: Api<DynamicObject> = Api::all_with(client.clone(), &ApiResource::from_gvk(&kind));
        let params = PatchParams::apply("test");
        let name = "kustomizations.kustomize.toolkit.fluxcd.io";
        crds.patch(name, &params, &Patch::Apply(Kustomization::crd())).await.unwrap();
        tokio::time::sleep(Duration::from_secs(5)).await;
        let clock: Arc<dyn Clock> = Arc::new(Frozen);
        let (recorder, _) = Recorder::new(client.clone(), "test", "test", Arc::clone(&clock), None);
        let context = PassContext {
            client: client.clone(),
            clock,
            chance: Arc::new(|| 0.5),
            recorder,
            metrics: Arc::default(),
            gate: SharedGate::default(),
            jitter: 5,
            rules,
        };
        let queue = Arc::new(Queue::new(Backoff::default()));
        let core = Core::new(context, Arc::default(), queue, "manager", "finalizer.test/it");
        let outcome: Arc<Outcome> = Arc::new(|_| Ok(Next::Event));
        let controller =
            Scripted { core, outcome: Mutex::new(outcome), finalized: Finalized::Done };
        let resource = api_resource(&Kustomization::DEFINITION);
        let api = Api::namespaced_with(client, "default", &resource);
        let ground = Self { api, controller };
        ground
            .apply(json!({"spec": {
                "interval": "1m", "prune": true, "path": "./",
                "sourceRef": {"kind": "GitRepository", "name": "a"},
            }}))
            .await;
        ground
    }

    async fn apply(&self, mut more: Value) {
        more["apiVersion"] = json!(Kustomization::DEFINITION.api_version());
        more["kind"] = json!("Kustomization");
        more["metadata"]["name"] = json!("it");
        let params = PatchParams::apply("user").force();
        self.api.patch("it", &params, &Patch::Apply(more)).await.unwrap();
        self.observe().await;
    }

    /// Lets the store see the object as it is.
    async fn observe(&self) {
        let object = serde_json::to_value(self.api.get("it").await.unwrap()).unwrap();
        self.controller.core.store.apply(serde_json::from_value(object).unwrap());
    }

    async fn run(
        &self,
        outcome: impl Fn(&mut Pass<'_, Kustomization>) -> Result<Next, Stop> + Send + Sync + 'static,
    ) -> Next {
        *self.controller.outcome.lock().unwrap() = Arc::new(outcome);
        reconcile(&self.controller, &Key::new("default", "it")).await
    }

    async fn status(&self) -> Value {
        self.api.get("it").await.unwrap().data["status"].clone()
    }

    /// Conditions in one line each.
    async fn conditions(&self) -> Vec<String> {
        let status = self.status().await;
        let line = |it: &Value| {
            let text = |name: &str| it[name].as_str().unwrap_or_default().to_owned();
            format!("{} {} {} {}", text("type"), text("status"), text("reason"), text("message"))
        };
        status["conditions"].as_array().into_iter().flatten().map(line).collect()
    }
}

/// What a pass is about, how it ends, when the next is due, and the conditions then.
type Case = (&'static str, fn(Next) -> Result<Next, Stop>, Next, &'static [&'static str]);

#[tokio::test(start_paused = true)]
async fn the_end_of_a_pass_is_reported_alike_for_every_kind() {
    let begin = |pass: &mut Pass<'_, Kustomization>| {
        pass.conditions.mark_reconciling("Progressing", "working");
    };
    let soon = Next::After(Duration::from_secs(30));
    let retried = "Reconciling True ProgressingWithRetry working";
    let cases: [Case; 7] = [
        (
            "a failure",
            |_| Err(Stop::failed("BuildFailed", "no")),
            Next::Backoff,
            &["Reconciling True ProgressingWithRetry working", "Ready False BuildFailed no"],
        ),
        (
            "a stall",
            |_| Err(Stop::stalled("AccessDenied", "never")),
            Next::Event,
            &["Stalled True AccessDenied never", "Ready False AccessDenied never"],
        ),
        (
            "a failure with a time of its own",
            |soon| {
                let failure = Failure::new(ErrorClass::Source, "SourceFetchFailed", "no");
                Err(Failure { retry: Retry::At(soon), ..failure }.into())
            },
            soon,
            &["Reconciling True ProgressingWithRetry working", "Ready False SourceFetchFailed no"],
        ),
        (
            "a wait",
            |soon| Err(Waiting::new("DependencyNotReady", "b first", soon).into()),
            soon,
            &[
                "Reconciling True ProgressingWithRetry working",
                "Ready False DependencyNotReady b first",
            ],
        ),
        (
            "a hold of what was never installed",
            |soon| Err(Stop::Held(Hold { message: "layer a".to_owned(), next: soon })),
            soon,
            &["Ready Unknown LayerHeld layer a"],
        ),
        (
            "a restart",
            |_| Err(Stop::Restart("the source changed")),
            Next::After(Duration::ZERO),
            &["Reconciling True Progressing working"],
        ),
        ("a success", |soon| Ok(soon), soon, &["Ready True Succeeded done"]),
    ];
    assert!(cases[0].3.contains(&retried));
    for (name, stop, next, expected) in cases {
        let ground = Ground::new(PassRules::default()).await;
        let found = ground
            .run(move |pass| {
                begin(pass);
                let outcome = stop(Next::After(Duration::from_secs(30)));
                if outcome.is_ok() {
                    pass.conditions.mark_ready("Succeeded", "done");
                }
                outcome
            })
            .await;
        assert_eq!(found, next, "{name}");
        assert_eq!(ground.conditions().await, expected, "{name}");
        let observed = ground.status().await["observedGeneration"].as_i64();
        assert_eq!(observed == Some(1), name == "a success", "{name}: {observed:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_installed_keeps_its_ready_while_it_is_held() {
    let ground = Ground::new(PassRules::default()).await;
    let installs = |pass: &mut Pass<'_, Kustomization>| {
        pass.conditions.mark_ready("Succeeded", "revision 1");
        pass.status.last_applied_revision = Some("1".to_owned());
        Ok(Next::Event)
    };
    ground.run(installs).await;
    let holds = |pass: &mut Pass<'_, Kustomization>| {
        pass.conditions.mark_reconciling("Progressing", "revision 2");
        pass.conditions.mark_not_ready("Progressing", "revision 2");
        Err(Stop::Held(Hold { message: "layer a".to_owned(), next: Next::Event }))
    };
    ground.run(holds).await;
    let expected = ["Ready True Succeeded revision 1", "Held True LayerHeld layer a"];
    assert_eq!(ground.conditions().await, expected);
    let opens = |pass: &mut Pass<'_, Kustomization>| {
        pass.ask_gate(crate::gate::Moment::BeforeFetch)?;
        pass.conditions.mark_ready("Succeeded", "revision 2");
        Ok(Next::Event)
    };
    ground.run(opens).await;
    assert_eq!(ground.conditions().await, ["Ready True Succeeded revision 2"]);
}

#[tokio::test(start_paused = true)]
async fn requests_finalizers_and_suspension_are_the_cores() {
    let ground = Ground::new(PassRules::default()).await;
    ground
        .apply(json!({"metadata": {"annotations": {REQUESTED_AT: "now"}}, "spec": {
            "interval": "1m", "prune": true, "path": "./", "suspend": true,
            "sourceRef": {"kind": "GitRepository", "name": "a"},
        }}))
        .await;
    let never = |_: &mut Pass<'_, Kustomization>| panic!("it is suspended");
    assert_eq!(ground.run(never).await, Next::Event);
    let object = ground.api.get("it").await.unwrap();
    assert_eq!(object.finalizers(), ["finalizer.test/it"]);
    assert_eq!(ground.status().await["lastHandledReconcileAt"], "now");
    ground.api.delete("it", &DeleteParams::default()).await.unwrap();
    ground.observe().await;
    let never = |_: &mut Pass<'_, Kustomization>| panic!("it is deleted");
    assert_eq!(ground.run(never).await, Next::Event);
    assert!(ground.api.get_opt("it").await.unwrap().is_none(), "the finalizer is gone");
}

/// A status that another process wrote in the meantime is not written over, whatever the kind; without the rule it is.
#[tokio::test(start_paused = true)]
async fn a_stale_status_is_rejected() {
    for compares_versions in [true, false] {
        let ground = Ground::new(PassRules { compares_versions, ..PassRules::default() }).await;
        let done = |pass: &mut Pass<'_, Kustomization>| {
            pass.conditions.mark_ready("Succeeded", "ours");
            Ok(Next::Event)
        };
        ground.run(|_| Ok(Next::Event)).await;
        let other = json!({"status": {"lastAppliedRevision": "theirs"}});
        let params = PatchParams::default();
        ground.api.patch_status("it", &params, &Patch::Merge(other)).await.unwrap();
        let next = ground.run(done).await;
        let is_ours = ground.conditions().await == ["Ready True Succeeded ours"];
        assert_eq!(is_ours, !compares_versions);
        assert_eq!(next == Next::Backoff, compares_versions);
    }
}

#[tokio::test(start_paused = true)]
async fn history_counts_the_same_outcome() {
    let ground = Ground::new(PassRules::default()).await;
    for _ in 0..2 {
        let noted = |pass: &mut Pass<'_, Kustomization>| {
            pass.revision = "main@1".to_owned();
            pass.note("sha256:a", "ReconciliationSucceeded");
            Ok(Next::Event)
        };
        ground.run(noted).await;
    }
    let history = ground.status().await["history"].clone();
    assert_eq!(history[0]["totalReconciliations"], 2, "{history}");
    assert_eq!(history[0]["metadata"], json!({"revision": "main@1"}));
}
