//! The chapters of the demo.

use std::time::Duration;

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{Namespace, Pod};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Api, ApiResource, DeleteParams, DynamicObject, ListParams, Patch, PatchParams};
use kube::core::GroupVersionKind;
use kube::{Client, ResourceExt as _};
use serde_json::{Value, json};

use crate::screen::{Screen, Tone, bar};

type Error = Box<dyn std::error::Error + Send + Sync>;

const MANAGER: &str = "sluice-demo";
/// How often the live line looks at the cluster.
const GLANCE: Duration = Duration::from_millis(40);
/// No chapter takes longer than this.
const PATIENCE: Duration = Duration::from_mins(1);

/// Tells the whole story.
pub(super) async fn tell(client: &Client, screen: &mut Screen) -> Result<(), Error> {
    namespace(client, screen).await?;
    definitions(client, screen).await?;
    custom_object(client, screen).await?;
    rollout(client, screen, "1.0.0", "rolled out").await?;
    rollout(client, screen, "1.1.0", "rolled over to the new image, never below 2 ready").await?;
    foreign_hand(client, screen).await?;
    farewell(client, screen).await
}

/// One line of the story: what, which, how it went.
fn told(screen: &Screen, what: &str, which: &str, mark: &str, how: &str) -> String {
    let what = screen.tone(Tone::Strong, &format!("{what:<12}"));
    format!("  {what} {which:<24} {mark:<12} {how}")
}

fn done(screen: &mut Screen, what: &str, which: &str, how: &str) {
    let mark = screen.tone(Tone::Good, &format!("{:<12}", "✓"));
    let line = told(screen, what, which, &mark, how);
    screen.line(&line);
}

fn refused(screen: &mut Screen, what: &str, which: &str, how: &str) {
    let mark = screen.tone(Tone::Bad, &format!("{:<12}", "✗ refused"));
    let line = told(screen, what, which, &mark, how);
    screen.line(&line);
}

async fn apply<K>(api: &Api<K>, name: &str, object: &Value) -> Result<K, kube::Error>
where
    K: Clone + serde::de::DeserializeOwned + std::fmt::Debug,
{
    api.patch(name, &PatchParams::apply(MANAGER), &Patch::Apply(object)).await
}

async fn namespace(client: &Client, screen: &mut Screen) -> Result<(), Error> {
    let api: Api<Namespace> = Api::all(client.clone());
    let object = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}});
    let made = apply(&api, "shop", &object).await?;
    let phase = made.status.and_then(|status| status.phase).unwrap_or_default();
    done(screen, "namespace", "shop", &phase);
    Ok(())
}

async fn definitions(client: &Client, screen: &mut Screen) -> Result<(), Error> {
    let api: Api<CustomResourceDefinition> = Api::all(client.clone());
    let definitions = sluice_api::crds();
    for definition in &definitions {
        let name = definition["metadata"]["name"].as_str().unwrap_or_default();
        apply(&api, name, definition).await?;
    }
    let all = definitions.len();
    let mut waited = Duration::ZERO;
    loop {
        let established =
            api.list(&ListParams::default())
                .await?
                .into_iter()
                .filter(|definition| {
                    let conditions =
                        definition.status.as_ref().and_then(|status| status.conditions.as_ref());
                    conditions.into_iter().flatten().any(|condition| {
                        condition.type_ == "Established" && condition.status == "True"
                    })
                })
                .count();
        let how = format!("{established} of {all} established");
        let line = told(screen, "definitions", "Flux, Flux Operator", &bar(established, all), &how);
        screen.draw(&line);
        if established == all {
            break;
        }
        pause(&mut waited).await?;
    }
    done(screen, "definitions", "Flux, Flux Operator", &format!("{all} established and served"));
    Ok(())
}

async fn custom_object(client: &Client, screen: &mut Screen) -> Result<(), Error> {
    let kind = GroupVersionKind::gvk("kustomize.toolkit.fluxcd.io", "v1", "Kustomization");
    let resource = ApiResource::from_gvk_with_plural(&kind, "kustomizations");
    let api: Api<DynamicObject> = Api::namespaced_with(client.clone(), "shop", &resource);
    let object = |interval: &str| {
        json!({
            "apiVersion": "kustomize.toolkit.fluxcd.io/v1",
            "kind": "Kustomization",
            "metadata": {"name": "apps", "namespace": "shop"},
            "spec": {
                "interval": interval,
                "path": "./apps",
                "prune": true,
                "sourceRef": {"kind": "GitRepository", "name": "platform"},
            },
        })
    };
    match apply(&api, "apps", &object("every ten minutes")).await {
        Err(kube::Error::Api(status)) => {
            let message = status.message.split(": ").skip(1).collect::<Vec<_>>().join(": ");
            refused(screen, "object", "Kustomization apps", &shortened(&message));
        }
        Err(other) => return Err(other.into()),
        Ok(_) => return Err("an interval that is no duration was accepted".into()),
    }
    let made = apply(&api, "apps", &object("10m")).await?;
    let owners = made.managed_fields().len();
    done(
        screen,
        "object",
        "Kustomization apps",
        &format!("interval 10m; its fields have {owners} owner, {MANAGER}"),
    );
    Ok(())
}

/// A line of a message that fits the screen.
fn shortened(text: &str) -> String {
    const WIDTH: usize = 72;
    if text.chars().count() <= WIDTH {
        return text.to_owned();
    }
    let start: String = text.chars().take(WIDTH - 1).collect();
    format!("{start}…")
}

fn deployment(version: &str) -> Value {
    json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "shop"},
        "spec": {
            "replicas": 3,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [{
                    "name": "web",
                    "image": format!("registry.example.com/web:{version}"),
                    "ports": [{"containerPort": 8080}],
                    "readinessProbe": {"httpGet": {"path": "/ready", "port": 8080}},
                }]},
            },
        },
    })
}

async fn rollout(
    client: &Client,
    screen: &mut Screen,
    version: &str,
    ending: &str,
) -> Result<(), Error> {
    let deployments: Api<Deployment> = Api::namespaced(client.clone(), "shop");
    let pods: Api<Pod> = Api::namespaced(client.clone(), "shop");
    apply(&deployments, "web", &deployment(version)).await?;
    let which = format!("Deployment web:{version}");
    let mut waited = Duration::ZERO;
    loop {
        let found = deployments.get("web").await?;
        let wanted = found.metadata.generation;
        let status = found.status.unwrap_or_default();
        let number = |count: Option<i32>| usize::try_from(count.unwrap_or(0)).unwrap_or(0);
        let updated = number(status.updated_replicas);
        let available = number(status.available_replicas);
        let total = number(status.replicas);
        let observed = status.observed_generation == wanted;
        let new_ready = if observed { updated.min(available) } else { 0 };
        let phases = phases(&pods.list(&ListParams::default()).await?.items);
        let line = told(screen, "rollout", &which, &bar(new_ready, 3), &phases);
        screen.draw(&line);
        if observed && updated == 3 && available == 3 && total == 3 {
            break;
        }
        pause(&mut waited).await?;
    }
    done(screen, "rollout", &which, &format!("3 of 3 ready, {ending}"));
    Ok(())
}

/// How many pods are in which phase: `1 Pending, 2 Running`.
fn phases(pods: &[Pod]) -> String {
    let mut counts = std::collections::BTreeMap::new();
    for pod in pods {
        let phase = match (&pod.metadata.deletion_timestamp, &pod.status) {
            (Some(_), _) => "Terminating",
            (None, Some(status)) => status.phase.as_deref().unwrap_or("Pending"),
            (None, None) => "Pending",
        };
        *counts.entry(phase.to_owned()).or_insert(0_usize) += 1;
    }
    let texts: Vec<String> =
        counts.into_iter().map(|(phase, count)| format!("{count} {phase}")).collect();
    texts.join(", ")
}

async fn foreign_hand(client: &Client, screen: &mut Screen) -> Result<(), Error> {
    let api: Api<Deployment> = Api::namespaced(client.clone(), "shop");
    let object = json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"},
        "spec": {"replicas": 30},
    });
    let result =
        api.patch("web", &PatchParams::apply("somebody-else"), &Patch::Apply(&object)).await;
    match result {
        Err(kube::Error::Api(status)) if status.code == 409 => {
            refused(screen, "foreign hand", "scales web to 30", &shortened(&status.message));
            Ok(())
        }
        Err(other) => Err(other.into()),
        Ok(_) => Err("a field that belongs to somebody was taken without force".into()),
    }
}

async fn farewell(client: &Client, screen: &mut Screen) -> Result<(), Error> {
    let namespaces: Api<Namespace> = Api::all(client.clone());
    let pods: Api<Pod> = Api::namespaced(client.clone(), "shop");
    namespaces.delete("shop", &DeleteParams::default()).await?;
    let mut waited = Duration::ZERO;
    while namespaces.get_opt("shop").await?.is_some() {
        let left = pods.list(&ListParams::default()).await?.items.len();
        let line = told(screen, "farewell", "shop", "", &format!("Terminating, {left} pods left"));
        screen.draw(&line);
        pause(&mut waited).await?;
    }
    done(screen, "farewell", "shop", "gone, with everything that was in it");
    screen.line("");
    screen.line("  Try it yourself:");
    for (command, what) in [
        (
            "sluice cluster serve --kubeconfig kc",
            "this cluster on a port; KUBECONFIG=kc kubectl get nodes",
        ),
        ("sluice crds", "the definitions, as YAML"),
        ("sluice demo --fast", "the same story in a second"),
    ] {
        let line = format!("    {command:<38} {}", screen.tone(Tone::Faint, what));
        screen.line(&line);
    }
    Ok(())
}

async fn pause(waited: &mut Duration) -> Result<(), Error> {
    if *waited >= PATIENCE {
        return Err(format!("nothing happened for {} s", PATIENCE.as_secs()).into());
    }
    *waited += GLANCE;
    tokio::time::sleep(GLANCE).await;
    Ok(())
}
