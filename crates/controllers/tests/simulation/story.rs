//! A story: what commits, users, faults and crashes do, as a seed has it.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use kube::api::{DeleteParams, Patch, PatchParams};
use serde_json::{Value, json};
use sluice_base::fault::{Fault, Rule, Scope};

use crate::chance::Chance;
use crate::check::differences;
use crate::observer::observe;
use crate::platform::{Breakage, KINDS, Platform, Thing};
use crate::wire::AGENT;
use crate::world::{FLUX, URL, Without, World};

/// The Kustomizations, with what each depends on. The last one comes and goes.
const PARTS: [(&str, Option<&str>); 4] =
    [("base", None), ("shared", Some("base")), ("apps", Some("shared")), ("extra", None)];
/// The GitRepositories, both of the one repository.
pub(crate) const SOURCES: [&str; 2] = ["platform", "mirror"];

/// The GitRepository that a Kustomization builds from.
pub(crate) fn source_of(part: &str) -> &'static str {
    if matches!(part, "base" | "apps") { SOURCES[0] } else { SOURCES[1] }
}
/// How long everything may take to come to rest when nothing goes wrong any more.
const REST: Duration = Duration::from_mins(45);

/// How a story went.
pub(crate) struct Outcome {
    /// What is not as it should be.
    pub(crate) wrong: Vec<String>,
    /// Everything that happened.
    pub(crate) trace: Vec<String>,
}

/// Tells the story of a seed.
pub(crate) async fn tell(seed: u64, without: Without) -> Outcome {
    let chance = Chance::seeded(seed);
    let world = World::new(seed, &chance, without).await;
    let _observed = observe(&world.user, &world.facts);
    let names: Vec<&'static str> = PARTS.iter().map(|(name, _)| *name).collect();
    let mut story =
        Story { platform: Platform::new(&names), alive: BTreeSet::new(), world, chance, values: 0 };
    story.play().await;
    let wrong = story.end().await;
    let trace = story.world.wire.trace.lock().unwrap().clone();
    Outcome { wrong, trace }
}

struct Story {
    world: World,
    chance: Chance,
    platform: Platform,
    alive: BTreeSet<&'static str>,
    values: u64,
}

impl Story {
    async fn play(&mut self) {
        self.world.commit("the beginning", &self.platform);
        for name in SOURCES {
            let repository = json!({
                "apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "GitRepository",
                "metadata": {"name": name, "namespace": FLUX},
                "spec": {"interval": "20s", "timeout": "20s", "url": URL, "ref": {"branch": "main"}},
            });
            self.world.user.apply(&repository).await;
        }
        for (name, _) in PARTS {
            self.install(name).await;
        }
        self.install_faults();
        let supervisor = World::supervise(self.world.controllers(), Arc::clone(&self.world.wire));
        tokio::spawn(supervisor);
        for _ in 0..self.chance.within(8..16) {
            tokio::time::sleep(self.chance.millis(200..25_000)).await;
            for _ in 0..self.chance.within(1..4) {
                self.act().await;
            }
        }
    }

    /// What goes wrong between the controllers and the cluster, all through the story.
    fn install_faults(&self) {
        let millis = Duration::from_millis;
        let all = || Scope::default().user_agent(AGENT);
        let status = || all().verbs(["patch"]).subresource("status");
        let faults = [
            (all(), Fault::Delay { least: millis(1), most: millis(200) }, 30),
            (status(), Fault::Delay { least: millis(500), most: millis(8000) }, 10),
            (all(), Fault::SlowAnswer { least: millis(1), most: millis(1500) }, 10),
            (all(), Fault::throttle(1), 6),
            (all(), Fault::refuse(500), 6),
            (all(), Fault::refuse(503), 6),
            (all(), Fault::Reset, 6),
            (all(), Fault::AnswerLost, 8),
            (all(), Fault::Conflict, 6),
            (all(), Fault::WatchClosed { least: millis(500), most: millis(40_000) }, 60),
            (all(), Fault::Gone, 20),
        ];
        for (scope, fault, most) in faults {
            let probability = self.chance.fraction() * f64::from(most) / 100.0;
            let rule = Rule::new(scope, fault).with_probability(probability);
            self.world.sandbox.cluster.faults().install(rule).unwrap();
        }
    }

    async fn install(&mut self, name: &'static str) {
        let after = PARTS.iter().find(|part| part.0 == name).unwrap().1;
        let depends_on: Vec<Value> = after.iter().map(|name| json!({"name": name})).collect();
        let mut spec = json!({
            "interval": "2m", "retryInterval": "10s", "timeout": "30s", "prune": true,
            "path": format!("./{name}"), "wait": self.chance.percent(50), "dependsOn": depends_on,
            "sourceRef": {"kind": "GitRepository", "name": source_of(name)},
        });
        if self.chance.percent(30) {
            spec["deletionPolicy"] = "WaitForTermination".into();
        }
        self.world.wire.note(&format!("a user installs {name}"));
        self.world.facts.born(name);
        self.alive.insert(name);
        let object = json!({
            "apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization",
            "metadata": {"name": name, "namespace": FLUX}, "spec": spec,
        });
        self.world.user.apply(&object).await;
    }

    async fn act(&mut self) {
        match self.chance.within(0..100) {
            0..45 => self.change_repository(),
            45..57 => self.world.wire.light(self.chance.within(0..40)),
            57..62 => self.fail_git(),
            62..70 => self.toggle_extra().await,
            70..76 => self.suspend().await,
            76..80 => self.request().await,
            80..86 => self.tamper().await,
            86..90 => self.annotate().await,
            90..95 => self.make_foreign().await,
            95..97 => self.world.sandbox.cluster.compact(),
            _ => self.world.sandbox.cluster.close_watches(),
        }
    }

    fn part(&self) -> &'static str {
        self.chance.one(&PARTS).unwrap().0
    }

    /// A thing that is nowhere yet.
    fn new_thing(&self) -> Option<Thing> {
        let kind = self.chance.one(&KINDS).unwrap().0;
        let thing = Thing::new(kind, &format!("thing-{}", self.chance.within(0..8)));
        let all: BTreeSet<_> = self.platform.parts.keys().copied().collect();
        let is_free = self.platform.holder(&thing, &all).is_none();
        (is_free && !self.world.facts.is_taken(&thing)).then_some(thing)
    }

    fn some_thing(&self, part: &str) -> Option<Thing> {
        let things: Vec<Thing> = self.platform.parts[part].things.keys().cloned().collect();
        self.chance.one(&things).cloned()
    }

    fn change_repository(&mut self) {
        let mut words = Vec::new();
        for _ in 0..self.chance.within(1..5) {
            words.extend(self.change_part());
        }
        if !words.is_empty() {
            self.world.commit(&words.join(", "), &self.platform);
        }
    }

    fn change_part(&mut self) -> Option<String> {
        let name = self.part();
        self.values += 1;
        let value = self.values;
        let what = self.chance.within(0..100);
        let thing = if what < 35 { self.new_thing() } else { self.some_thing(name) };
        let (new, breakage) = (self.new_thing(), *self.chance.one(&Breakage::ALL).unwrap());
        let target = self.part();
        let part = self.platform.parts.get_mut(name).unwrap();
        match what {
            0..35 => {
                let thing = thing?;
                part.things.insert(thing.clone(), value);
                Some(format!("{name}: add {thing:?}"))
            }
            35..55 => {
                let thing = thing?;
                part.things.insert(thing.clone(), value);
                Some(format!("{name}: change {thing:?}"))
            }
            55..72 => {
                let thing = thing.filter(|_| part.things.len() > 1)?;
                part.things.remove(&thing);
                Some(format!("{name}: remove {thing:?}"))
            }
            72..84 => {
                let thing = thing.filter(|_| part.things.len() > 1 && target != name)?;
                let value = part.things.remove(&thing)?;
                self.platform.parts.get_mut(target)?.things.insert(thing.clone(), value);
                Some(format!("{name}: move {thing:?} to {target}"))
            }
            84..94 => {
                part.broken = match part.broken {
                    Some(_) => None,
                    None => Some(breakage),
                };
                Some(format!("{name}: broken {:?}", part.broken))
            }
            _ => {
                if part.things.is_empty() {
                    part.things.insert(new?, value);
                } else {
                    part.things.clear();
                    part.broken = None;
                }
                Some(format!("{name}: {} things", part.things.len()))
            }
        }
    }

    fn fail_git(&self) {
        let fault = match self.chance.within(0..3) {
            0 => Fault::Stall,
            1 => Fault::refuse(503),
            _ => Fault::refuse(404),
        };
        let time = self.chance.millis(1000..60_000);
        self.world.wire.note(&format!("requests to the repository meet {fault:?} for {time:?}"));
        let rule = Rule::new(Scope::default().address(URL), fault);
        self.world.sandbox.git.faults().install_for(rule, time).unwrap();
    }

    /// Deletes the Kustomization that comes and goes, or installs it anew.
    async fn toggle_extra(&mut self) {
        let (name, api) = ("extra", self.world.user.kustomizations());
        let found = api.get_opt(name).await.unwrap();
        if self.alive.remove(name) {
            // One that is suspended would leave its objects behind, as it should.
            self.patch(name, json!({"spec": {"suspend": false}})).await;
            self.world.wire.note("a user deletes extra");
            self.world.facts.dying(name);
            api.delete(name, &DeleteParams::default()).await.unwrap();
        } else if found.is_none() {
            self.world.facts.gone(name);
            self.install(name).await;
        }
    }

    async fn patch(&self, name: &str, patch: Value) {
        let api = self.world.user.kustomizations();
        let _ = api.patch(name, &PatchParams::default(), &Patch::Merge(patch)).await;
    }

    async fn suspend(&self) {
        let (name, suspend) = (self.part(), self.chance.percent(40));
        if self.alive.contains(name) {
            self.world.wire.note(&format!("a user sets suspend of {name} to {suspend}"));
            self.patch(name, json!({"spec": {"suspend": suspend}})).await;
        }
    }

    async fn request(&self) {
        let when = format!("{:?}", self.world.wire.began.elapsed());
        let asked = json!({"metadata": {"annotations": {"reconcile.fluxcd.io/requestedAt": when}}});
        self.patch(self.part(), asked).await;
    }

    async fn tamper(&self) {
        let Some(thing) = self.some_thing(self.part()) else { return };
        if self.chance.percent(40) {
            self.world.wire.note(&format!("a user deletes {thing:?}"));
            self.world.user.remove(&thing, &self.world.facts).await;
        } else {
            self.world.wire.note(&format!("a user changes {thing:?}"));
            self.world.user.tamper(&thing).await;
        }
    }

    async fn annotate(&self) {
        let Some(thing) = self.some_thing(self.part()) else { return };
        let note = self.chance.within(0..1000).to_string();
        self.world.user.annotate(&thing, &note, &self.world.facts).await;
    }

    async fn make_foreign(&self) {
        let kind = self.chance.one(&KINDS).unwrap().0;
        let thing = Thing::new(kind, &format!("foreign-{}", self.chance.within(0..4)));
        self.world.user.make_foreign(&thing, &self.world.facts).await;
    }

    /// The last commit mends everything; then nothing goes wrong any more, and all has to come to rest.
    async fn end(&mut self) -> Vec<String> {
        for (name, _) in PARTS {
            let new = self.new_thing();
            let part = self.platform.parts.get_mut(name).unwrap();
            part.broken = None;
            if part.things.is_empty() {
                let first = Thing::new("ConfigMap", &format!("last-of-{name}"));
                part.things.insert(new.unwrap_or(first), 0);
            }
        }
        let revision = self.world.commit("all is well", &self.platform);
        for (name, _) in PARTS.into_iter().filter(|part| self.alive.contains(part.0)) {
            self.patch(name, json!({"spec": {"suspend": false}})).await;
        }
        tokio::time::sleep(self.chance.millis(0..30_000)).await;
        self.world.wire.note("from here on nothing goes wrong");
        self.world.sandbox.clear_faults();
        self.world.wire.mischief.store(false, Ordering::Relaxed);
        *self.world.wire.fuse.lock().unwrap() = None;
        let started = tokio::time::Instant::now();
        let mut wrong = vec!["nothing was looked at".to_owned()];
        while !wrong.is_empty() && started.elapsed() < REST {
            tokio::time::sleep(Duration::from_secs(10)).await;
            wrong = differences(&self.world, &self.platform, &revision, &self.alive).await;
        }
        let took = started.elapsed().as_secs();
        self.world.wire.note(&format!("at rest after {took}s"));
        if wrong.is_empty() {
            // And it stays so.
            tokio::time::sleep(Duration::from_mins(5)).await;
            wrong = differences(&self.world, &self.platform, &revision, &self.alive).await;
        }
        wrong.extend(self.world.facts.wrong_deletions());
        wrong.extend(self.world.facts.forgotten());
        wrong
    }
}
