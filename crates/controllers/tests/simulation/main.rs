//! The controllers under fire, in virtual time: a seed is a story of commits, users, faults and crashes, and when
//! it is over the cluster has to be what the last commit says.
//!
//! `SLUICE_SEEDS=200` runs that many, and does without each safety rule in turn; `SLUICE_SEED=17` replays one and
//! prints its story; `SLUICE_RULE=PruneOnlyOwn` does without that rule alone.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod chance;
mod check;
mod observer;
mod platform;
mod story;
mod wire;
mod world;

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use sluice_controllers::safety::SafetyRule;

use crate::story::{Outcome, tell};
use crate::world::Without;

/// How many seeds are run where nobody asks for more.
const FEW: u64 = 6;

/// How many seeds may be needed to notice that a rule is off; where nobody asks for more, only the rules that
/// are noticed soonest are tried.
const MANY: u64 = 80;

/// Rules whose absence the first seeds show.
const QUICK: [SafetyRule; 6] = [
    SafetyRule::PruneAfterWholeApply,
    SafetyRule::PruneOnlyOwn,
    SafetyRule::EmptyBuildPrunesNothing,
    SafetyRule::FailedApplyIsRemembered,
    SafetyRule::FailedPruneIsRemembered,
    SafetyRule::WantedElsewhereStays,
];

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|text| text.parse().ok())
}

/// One seed, on a clock and a thread of its own.
fn run(seed: u64, without: Without) -> Outcome {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap();
    runtime.block_on(tell(seed, without))
}

/// Runs seeds side by side until one fails or all are done; gives the lowest that failed and how many were run.
fn search(seeds: u64, without: Without) -> (Option<(u64, Outcome)>, u64) {
    let (next, run_so_far) = (AtomicU64::new(0), AtomicU64::new(0));
    let failed: Mutex<Option<(u64, Outcome)>> = Mutex::new(None);
    let workers = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    let is_over = failed.lock().unwrap().as_ref().is_some_and(|(it, _)| *it < seed);
                    if seed >= seeds || is_over {
                        break;
                    }
                    let outcome = run(seed, without);
                    run_so_far.fetch_add(1, Ordering::Relaxed);
                    if !outcome.wrong.is_empty() {
                        let mut failed = failed.lock().unwrap();
                        if failed.as_ref().is_none_or(|(it, _)| *it > seed) {
                            *failed = Some((seed, outcome));
                        }
                    }
                }
            });
        }
    });
    (failed.into_inner().unwrap(), run_so_far.into_inner())
}

#[test]
fn whatever_happens_the_cluster_becomes_what_the_last_commit_says() {
    if let Some(seed) = number("SLUICE_SEED") {
        let outcome = run(seed, Without::default());
        println!("{}", outcome.trace.join("\n"));
        assert!(outcome.wrong.is_empty(), "seed {seed}:\n{}", outcome.wrong.join("\n"));
        return;
    }
    let (failed, count) = search(number("SLUICE_SEEDS").unwrap_or(FEW), Without::default());
    println!("{count} seeds");
    if let Some((seed, outcome)) = failed {
        panic!(
            "seed {seed} failed:\n{}\nreplay it with: SLUICE_SEED={seed} cargo test -p sluice-controllers --test simulation whatever -- --nocapture",
            outcome.wrong.join("\n")
        );
    }
}

#[test]
fn a_seed_tells_the_same_story_twice() {
    let seed = number("SLUICE_SEED").unwrap_or(3);
    let (first, second) = (run(seed, Without::default()), run(seed, Without::default()));
    assert!(first.trace.len() > 200, "{} lines", first.trace.len());
    for (line, (first, second)) in first.trace.iter().zip(&second.trace).enumerate() {
        assert_eq!(first, second, "line {line}");
    }
    assert_eq!(first.trace.len(), second.trace.len());
    assert_ne!(first.trace, run(seed + 1, Without::default()).trace);
}

/// Every rule that keeps things safe is needed: without it some seed goes wrong.
#[test]
fn without_any_one_safety_rule_some_seed_goes_wrong() {
    let rules = SafetyRule::ALL.map(|rule| Without { rule: Some(rule), digests: false });
    let digests = Without { rule: None, digests: true };
    let asked = number("SLUICE_SEEDS");
    let only = std::env::var("SLUICE_RULE").ok();
    let mut unnoticed = Vec::new();
    for without in rules.into_iter().chain([digests]) {
        let name = without.rule.map_or("ArtifactDigest".to_owned(), |rule| format!("{rule:?}"));
        let is_quick = without.rule.is_some_and(|rule| QUICK.contains(&rule));
        if only.as_ref().map_or(asked.is_none() && !is_quick, |only| *only != name) {
            continue;
        }
        match search(asked.unwrap_or(MANY).max(MANY), without) {
            (Some((seed, outcome)), _) => {
                let kept = run(seed, Without::default());
                assert!(kept.wrong.is_empty(), "seed {seed} goes wrong anyhow: {:?}", kept.wrong);
                println!(
                    "without {name}: after {} seeds: {}",
                    seed + 1,
                    outcome.wrong.first().unwrap()
                );
            }
            (None, count) => unnoticed.push(format!("{name} ({count} seeds)")),
        }
    }
    assert!(unnoticed.is_empty(), "nobody noticed that these were off: {}", unnoticed.join(", "));
}
