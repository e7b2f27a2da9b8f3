//! `fuzz [--targets A,B] [--executions N] [--seconds S] [--seed N] [--trace]`: throws mutated inputs at every parser
//! and stops at the first panic, with the input.
//!
//! Targets are the formats of `sluice-hostile`, each with its honest inputs as seeds, and builds of the case directories
//! of kustomize. Threads have the stack of a worker, so that deep recursion shows. A stack that overflows ends the
//! process: `--trace` writes each input to `target/fuzz-THREAD` before it is tried.

mod kustomize;
mod mutate;

use std::error::Error;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use kustomize::Cases;
use mutate::{Random, mutate};

/// An input that takes longer than this is a finding as well.
const SLOW: Duration = Duration::from_secs(5);
/// What tokio gives its workers.
const STACK: usize = 2 << 20;

/// What is given the mutated bytes.
type Parser<'t> = dyn Fn(&[u8]) + Sync + 't;

/// Something that must never panic, and the inputs that others grow out of.
struct Target<'t> {
    name: &'t str,
    seeds: Vec<Vec<u8>>,
    run: Box<Parser<'t>>,
    executions: AtomicU64,
    nanoseconds: AtomicU64,
}

impl<'t> Target<'t> {
    fn new(name: &'t str, seeds: Vec<Vec<u8>>, run: impl Fn(&[u8]) + Sync + 't) -> Self {
        let (executions, nanoseconds) = (AtomicU64::new(0), AtomicU64::new(0));
        Self { name, seeds, run: Box::new(run), executions, nanoseconds }
    }
}

/// Every target that is asked for.
fn targets<'t>(cases: &'t Cases, wanted: Option<&str>) -> Result<Vec<Target<'t>>, Box<dyn Error>> {
    let mut all = vec![
        Target::new("merge", cases.files.clone(), |input| cases.merge(input)),
        Target::new("build", cases.files.clone(), |input| cases.build(input)),
    ];
    for format in sluice_hostile::FORMATS {
        let mut seeds = (format.seeds)();
        if format.name == "YAML" {
            seeds.extend(cases.files.iter().cloned());
        }
        all.push(Target::new(format.name, seeds, |input| drop((format.parse)(input))));
    }
    let Some(wanted) = wanted else { return Ok(all) };
    let names: Vec<String> = all.iter().map(|target| target.name.replace(' ', "-")).collect();
    let wanted: Vec<&str> = wanted.split(',').collect();
    if let Some(unknown) = wanted.iter().find(|name| !names.iter().any(|it| it == **name)) {
        return Err(format!("no target {unknown:?}; there are {}", names.join(", ")).into());
    }
    all.retain(|target| wanted.contains(&target.name.replace(' ', "-").as_str()));
    Ok(all)
}

pub(crate) fn run(arguments: &[String]) -> Result<(), Box<dyn Error>> {
    let text = |name: &str| -> Result<Option<&str>, Box<dyn Error>> {
        match arguments.iter().position(|argument| argument == name) {
            Some(at) => Ok(Some(arguments.get(at + 1).ok_or("a value is missing")?)),
            None => Ok(None),
        }
    };
    let option = |name: &str, default: u64| -> Result<u64, Box<dyn Error>> {
        text(name)?.map_or(Ok(default), |value| Ok(value.parse()?))
    };
    let run = Run {
        executions: option("--executions", 1_000_000)?,
        limit: Duration::from_secs(option("--seconds", 600)?),
        seed: option("--seed", 1)?,
        trace: arguments.iter().any(|argument| argument == "--trace"),
        started: Instant::now(),
        done: AtomicU64::new(0),
        stop: AtomicBool::new(false),
    };
    let cases = Cases::read(Path::new("crates/kustomize/tests/cases"))?;
    let targets = targets(&cases, text("--targets")?)?;
    std::panic::set_hook(Box::new(|_| {}));
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let found: Vec<String> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads as u64)
            .map(|worker| {
                let (run, targets) = (&run, &targets);
                let thread = std::thread::Builder::new().stack_size(STACK);
                thread.spawn_scoped(scope, move || run.work(worker, targets))
            })
            .collect();
        workers
            .into_iter()
            .filter_map(|worker| worker.ok().and_then(|worker| worker.join().ok().flatten()))
            .collect()
    });
    let _ = std::panic::take_hook();
    run.report(&targets);
    match found.first() {
        Some(finding) => Err(finding.clone().into()),
        None => Ok(()),
    }
}

/// One run over all targets.
struct Run {
    executions: u64,
    limit: Duration,
    seed: u64,
    trace: bool,
    started: Instant,
    done: AtomicU64,
    stop: AtomicBool,
}

impl Run {
    /// What one thread does; its finding if there was one. Targets take turns.
    fn work(&self, worker: u64, targets: &[Target<'_>]) -> Option<String> {
        let mut random = Random(self.seed.wrapping_mul(1 << 20).wrapping_add(worker));
        loop {
            let number = self.done.fetch_add(1, Ordering::Relaxed);
            let is_over = number >= self.executions || self.started.elapsed() >= self.limit;
            if is_over || self.stop.load(Ordering::Relaxed) {
                return None;
            }
            let at = usize::try_from(number).unwrap_or_default() % targets.len().max(1);
            let target = targets.get(at)?;
            if let Some(finding) = self.once(worker, &mut random, target) {
                self.stop.store(true, Ordering::Relaxed);
                return Some(finding);
            }
        }
    }

    /// One execution; the finding if there was one.
    fn once(&self, worker: u64, random: &mut Random, target: &Target<'_>) -> Option<String> {
        let input = mutate(random, &target.seeds);
        if self.trace {
            let _ = std::fs::write(format!("target/fuzz-{worker}"), &input);
        }
        let started = Instant::now();
        let outcome = catch_unwind(AssertUnwindSafe(|| (target.run)(&input)));
        let time = started.elapsed();
        let nanoseconds = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        target.executions.fetch_add(1, Ordering::Relaxed);
        target.nanoseconds.fetch_add(nanoseconds, Ordering::Relaxed);
        let name = target.name;
        let text = || format!("{:?} ({})", String::from_utf8_lossy(&input), hex(&input));
        if outcome.is_err() {
            return Some(format!("{name} panicked on {}", text()));
        }
        (time > SLOW).then(|| format!("{name} took {time:?} on {}", text()))
    }

    #[expect(clippy::print_stdout, reason = "the count is the result")]
    fn report(&self, targets: &[Target<'_>]) {
        for target in targets {
            let executions = target.executions.load(Ordering::Relaxed);
            let time = Duration::from_nanos(target.nanoseconds.load(Ordering::Relaxed));
            println!(
                "{:<28} {executions:>10} executions {:>8.1} s",
                target.name,
                time.as_secs_f64()
            );
        }
        let all: u64 = targets.iter().map(|it| it.executions.load(Ordering::Relaxed)).sum();
        println!("{all} executions in {:.0} s", self.started.elapsed().as_secs_f64());
    }
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::new(), |mut out, byte| {
        let _ = write!(out, "{byte:02x}");
        out
    })
}
