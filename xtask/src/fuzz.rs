//! `fuzz [--executions N] [--seconds S] [--seed N]`: throws mutated inputs at the readers and engines and
//! stops at the first panic, with the input.
//!
//! Inputs grow out of the project's own case directories. Nothing is random but the seed: a run repeats.

use std::error::Error;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use sluice_kustomize::flux::{Missing, Template};
use sluice_kustomize::{MemoryTree, MergeOptions, Options};

/// An input that takes longer than this is a finding as well.
const SLOW: Duration = Duration::from_secs(5);
/// Inputs do not grow beyond this.
const LARGEST: usize = 4096;

/// What has a meaning somewhere, so that mutations get past the first check.
const TOKENS: [&str; 48] = [
    "---\n",
    "...\n",
    "- ",
    ": ",
    "? ",
    "{",
    "}",
    "[",
    "]",
    "&a ",
    "*a",
    "<<: ",
    "!!int ",
    "!!binary ",
    "|\n",
    ">-\n",
    "\"",
    "'",
    "\\",
    "\t",
    "\r\n",
    "\u{feff}",
    "\u{85}",
    "null",
    "~",
    "yes",
    "0o7",
    "1e3",
    ".inf",
    "2001-01-01",
    "$patch: delete\n",
    "$patch: replace\n",
    "$patch: merge\n",
    "metadata:\n",
    "  name: x\n",
    "kind: List\n",
    "items:\n",
    "spec:\n",
    "op: add\n",
    "path: /a/-\n",
    "$(VAR)",
    "${x:=y}",
    "[name=x]",
    "*",
    "\\.",
    "apiVersion: v1\n",
    "#",
    "\n",
];

/// One thing that must never panic.
type Target = fn(&[u8], &Seeds);

const TARGETS: [(&str, Target); 4] =
    [("yaml", yaml), ("merge", merge), ("build", build), ("substitute", substitute)];

/// A small generator of numbers (splitmix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.next() % (limit.max(1) as u64)).unwrap_or_default()
    }
}

/// What inputs grow out of: whole trees, and all their files.
struct Seeds {
    trees: Vec<(String, MemoryTree)>,
    files: Vec<Vec<u8>>,
}

impl Seeds {
    fn read(cases: &Path) -> Result<Self, Box<dyn Error>> {
        let mut seeds = Self { trees: Vec::new(), files: Vec::new() };
        let mut directories: Vec<PathBuf> = std::fs::read_dir(cases)?
            .map(|entry| entry.map(|it| it.path()))
            .collect::<Result<_, _>>()?;
        directories.sort();
        for directory in directories {
            let mut tree = MemoryTree::default();
            let input = directory.join("input");
            let mut open = vec![input.clone()];
            while let Some(folder) = open.pop() {
                let Ok(entries) = std::fs::read_dir(&folder) else { continue };
                for entry in entries {
                    let path = entry?.path();
                    if path.is_dir() {
                        open.push(path);
                        continue;
                    }
                    let content = std::fs::read(&path)?;
                    let name = path.strip_prefix(&input)?.to_string_lossy().into_owned();
                    tree.insert(format!("/{name}"), content.clone());
                    seeds.files.push(content);
                }
            }
            let root = if tree.files().any(|(path, _)| path.starts_with("/overlay/")) {
                "/overlay"
            } else {
                "/"
            };
            seeds.trees.push((root.to_owned(), tree));
        }
        seeds.files.sort();
        Ok(seeds)
    }
}

pub(crate) fn run(arguments: &[String]) -> Result<(), Box<dyn Error>> {
    let option = |name: &str, default: u64| -> Result<u64, Box<dyn Error>> {
        match arguments.iter().position(|argument| argument == name) {
            Some(at) => Ok(arguments.get(at + 1).ok_or("a number is missing")?.parse()?),
            None => Ok(default),
        }
    };
    let executions = option("--executions", 1_000_000)?;
    let limit = Duration::from_secs(option("--seconds", 600)?);
    let seed = option("--seed", 1)?;
    let seeds = Seeds::read(Path::new("crates/kustomize/tests/cases"))?;
    let (done, stop) = (AtomicU64::new(0), AtomicBool::new(false));
    let started = Instant::now();
    std::panic::set_hook(Box::new(|_| {}));
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let found: Vec<String> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads as u64)
            .map(|worker| {
                let (seeds, done, stop) = (&seeds, &done, &stop);
                std::thread::Builder::new().stack_size(16 << 20).spawn_scoped(scope, move || {
                    let mut random = Random(seed.wrapping_mul(1 << 20).wrapping_add(worker));
                    while done.fetch_add(1, Ordering::Relaxed) < executions
                        && started.elapsed() < limit
                        && !stop.load(Ordering::Relaxed)
                    {
                        if let Some(finding) = once(&mut random, seeds) {
                            stop.store(true, Ordering::Relaxed);
                            return Some(finding);
                        }
                    }
                    None
                })
            })
            .collect();
        workers
            .into_iter()
            .filter_map(|worker| worker.ok().and_then(|worker| worker.join().ok().flatten()))
            .collect()
    });
    let _ = std::panic::take_hook();
    report(done.load(Ordering::Relaxed).min(executions), started.elapsed());
    match found.first() {
        Some(finding) => Err(finding.clone().into()),
        None => Ok(()),
    }
}

#[expect(clippy::print_stdout, reason = "the count is the result")]
fn report(executions: u64, time: Duration) {
    println!("{executions} executions in {:.0} s", time.as_secs_f64());
}

/// One execution; the finding if there was one.
fn once(random: &mut Random, seeds: &Seeds) -> Option<String> {
    let input = mutate(random, seeds);
    let (name, target) = TARGETS[random.below(TARGETS.len())];
    let started = Instant::now();
    let outcome = catch_unwind(AssertUnwindSafe(|| target(&input, seeds)));
    let text = String::from_utf8_lossy(&input);
    if outcome.is_err() {
        return Some(format!("{name} panicked on {text:?}"));
    }
    let time = started.elapsed();
    (time > SLOW).then(|| format!("{name} took {time:?} on {text:?}"))
}

fn mutate(random: &mut Random, seeds: &Seeds) -> Vec<u8> {
    let pick = |random: &mut Random| {
        let file = random.below(seeds.files.len());
        seeds.files.get(file).cloned().unwrap_or_default()
    };
    let mut input = pick(random);
    for _ in 0..=random.below(6) {
        let at = random.below(input.len() + 1);
        let end = (at + random.below(40)).min(input.len());
        match random.below(7) {
            0 => {
                if let Some(byte) = input.get_mut(at) {
                    *byte ^= 1 << random.below(8);
                }
            }
            1 => drop(input.drain(at..end)),
            2 => {
                let copy = input.get(at..end).unwrap_or_default().to_vec();
                let to = random.below(input.len() + 1);
                input.splice(to..to, copy);
            }
            3 => {
                let other = pick(random);
                let from = random.below(other.len() + 1);
                let until = (from + random.below(200)).min(other.len());
                input.splice(at..at, other.get(from..until).unwrap_or_default().to_vec());
            }
            4 => input.truncate(at),
            _ => {
                let token = TOKENS[random.below(TOKENS.len())];
                input.splice(at..at, token.bytes());
            }
        }
    }
    input.truncate(LARGEST);
    input
}

fn yaml(input: &[u8], _: &Seeds) {
    let _ = sluice_yaml::to_json(input, sluice_yaml::Duplicates::LastWins);
    for mut document in sluice_yaml::parse(input).unwrap_or_default() {
        let _ = document.root.to_printed();
        let _ = document.to_yaml(sluice_yaml::SequenceIndent::Compact);
        let _ = document.expand_aliases();
    }
}

/// The input as a patch of a file, and the other way round.
fn merge(input: &[u8], seeds: &Seeds) {
    let text = String::from_utf8_lossy(input);
    let Some(file) = seeds.files.get(input.len() % seeds.files.len().max(1)) else { return };
    let other = String::from_utf8_lossy(file);
    let _ = sluice_kustomize::merge_text(&text, &other, MergeOptions::default());
    let _ = sluice_kustomize::merge_text(&other, &text, MergeOptions::default());
}

/// The input in the place of a file of a tree.
fn build(input: &[u8], seeds: &Seeds) {
    let sum = input
        .iter()
        .fold(input.len(), |sum, byte| sum.wrapping_mul(31).wrapping_add(usize::from(*byte)));
    let Some((root, tree)) = seeds.trees.get(sum % seeds.trees.len().max(1)) else { return };
    let mut tree = tree.clone();
    let paths: Vec<String> = tree.files().map(|(path, _)| path.to_owned()).collect();
    let Some(path) = paths.get((sum / 7) % paths.len().max(1)) else { return };
    tree.insert(path.clone(), input);
    if let Ok(built) = sluice_kustomize::build(&tree, root, &Options::default()) {
        let _ = built.to_yaml();
    }
}

/// Every second variable is there.
fn substitute(input: &[u8], _: &Seeds) {
    let Ok(template) = Template::parse(input) else { return };
    for missing in [Missing::Error, Missing::Empty] {
        let value = |name: &str| name.len().is_multiple_of(2).then_some(b"a: b".as_slice());
        let _ = template.evaluate(missing, value);
    }
}
