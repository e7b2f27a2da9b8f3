//! Builds the same trees with kustomize and with Sluice's engine, and compares what comes out.
//!
//! `cases` takes the builds out of the original's own tests; `mutate` makes new ones from them; `build`
//! looks at one that was written down. The original is the Go program in `conformance/kustomize`.

mod case;
mod compare;
mod folder;
mod known;
mod mutate;
mod oracle;
mod ours;
mod own;
mod reduce;
mod tally;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use clap::{Parser, Subcommand};

use case::{Answer, Case, Request};
use compare::{Level, compare, explain};
use known::Known;
use mutate::mutant;
use oracle::{Oracle, Program, read_cases};
use tally::Tally;

/// Compares Sluice's kustomize engine with kustomize.
#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
    /// The folder of the Go side
    #[arg(long, global = true, default_value = "conformance/kustomize")]
    folder: PathBuf,
    /// Cases that `go run . cases -o FILE` wrote, instead of running the original's tests
    #[arg(long, global = true)]
    cases: Option<PathBuf>,
    /// The folder plugin/builtin of a checkout of kustomize at api/v0.21.1, for the tests of its plugins
    #[arg(long, global = true)]
    plugins: Option<PathBuf>,
    /// How many differences to show
    #[arg(long, global = true, default_value_t = 10)]
    show: usize,
    /// Write differing cases as directories below this one
    #[arg(long, global = true)]
    keep: Option<PathBuf>,
    /// Write the counts to this file, as JSON
    #[arg(long, global = true)]
    summary: Option<PathBuf>,
}

#[derive(Subcommand)]
enum Command {
    /// The builds of the original's tests
    Cases {
        /// Only those whose SUITE/NAME contains one of these
        filters: Vec<String>,
    },
    /// Generated builds
    Mutate {
        /// How many
        #[arg(long, default_value_t = 20_000)]
        count: u64,
        /// Which ones
        #[arg(long, default_value_t = 1)]
        seed: u64,
        /// The first number, to look at one again
        #[arg(long, default_value_t = 0)]
        from: u64,
        /// How many originals to run at once
        #[arg(long, default_value_t = 2)]
        jobs: usize,
        /// Make the shown and kept ones small first
        #[arg(long)]
        reduce: bool,
    },
    /// One build again, from a `request.json` that `--keep` wrote
    Build {
        /// The file
        request: PathBuf,
    },
}

type Outcome<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

fn main() -> ExitCode {
    // A panic of the engine is a finding, counted and shown; its trace would hide the report.
    std::panic::set_hook(Box::new(|_| {}));
    let arguments = Arguments::parse();
    let outcome = match &arguments.command {
        Command::Cases { filters } => cases(&arguments, filters),
        Command::Mutate { count, seed, from, jobs, reduce } => {
            let run = Run { seed: *seed, from: *from, to: from + count, reduce: *reduce };
            generated(&arguments, &run, *jobs)
        }
        Command::Build { request } => build_one(&arguments, request),
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            say(&format!("error: {error}\n"));
            ExitCode::from(2)
        }
    }
}

fn read(arguments: &Arguments) -> Outcome<Vec<Case>> {
    match &arguments.cases {
        Some(file) => read_cases(&std::fs::read(file)?),
        None => Program::compile(&arguments.folder)?.cases(arguments.plugins.as_deref()),
    }
}

fn cases(arguments: &Arguments, filters: &[String]) -> Outcome<bool> {
    let known = Known::read(&arguments.folder.join("known-differences.txt"))?;
    let mut cases = read(arguments)?;
    let all = cases.len();
    cases.retain(|case| case.out.is_empty());
    let out = all - cases.len();
    cases.retain(|case| filters.is_empty() || filters.iter().any(|part| case.id().contains(part)));
    let mut tally = Tally::default();
    let (mut unlisted, mut met) = (0, Vec::new());
    for case in &cases {
        let ours = ours::answer(&case.request);
        let level = compare(&case.answer, &ours);
        tally.add(&case.suite, case.answer.ok, level);
        let Some(level) = level else { continue };
        let name = case.id();
        if let Some(reason) = known.reason(&name, level) {
            say(&format!("{name}: {} (known: {reason})\n", level.name()));
            met.push((name, level.name()));
            continue;
        }
        unlisted += 1;
        report(arguments, unlisted, &name, &case.request, (&case.answer, &ours), level)?;
    }
    let is_here = |name: &str| cases.iter().any(|case| case.id() == name);
    let stale: Vec<_> = known
        .entries()
        .filter(|(name, level)| is_here(name) && !met.iter().any(|(n, l)| n == name && l == level))
        .collect();
    for (name, level) in &stale {
        say(&format!("{name}: listed as differing in {level}, and does not any more\n"));
    }
    say(&tally.text());
    say(&format!("{out} of {all} builds are out of scope; {} differ as listed\n", met.len()));
    finish(arguments, &tally)?;
    Ok(unlisted == 0 && stale.is_empty())
}

/// Shows and keeps a difference, as far as asked for.
fn report(
    arguments: &Arguments,
    number: usize,
    name: &str,
    request: &Request,
    (real, ours): (&Answer, &Answer),
    level: Level,
) -> Outcome<()> {
    if number <= arguments.show {
        say(&format!("{name}: {}\n{}", level.name(), explain(real, ours)));
    }
    if let Some(keep) = &arguments.keep {
        folder::write(&keep.join(name.replace('/', "-")), request, real, ours)?;
    }
    Ok(())
}

fn finish(arguments: &Arguments, tally: &Tally) -> Outcome<()> {
    if let Some(path) = &arguments.summary {
        std::fs::write(path, serde_json::to_vec_pretty(&tally.to_json())?)?;
    }
    Ok(())
}

/// Which generated cases.
struct Run {
    seed: u64,
    from: u64,
    to: u64,
    reduce: bool,
}

fn generated(arguments: &Arguments, run: &Run, jobs: usize) -> Outcome<bool> {
    let program = Program::compile(&arguments.folder)?;
    let mut cases = read(arguments)?;
    cases.extend(own::read(&arguments.folder.join("../../crates/kustomize/tests/cases"))?);
    // What fails already would only fail again.
    let origins: Vec<&Case> =
        cases.iter().filter(|case| case.out.is_empty() && case.answer.ok).collect();
    let next = AtomicU64::new(run.from);
    let found = Mutex::new((Tally::default(), 0_usize));
    let work = || -> Outcome<()> {
        let mut oracle = program.start()?;
        let mut tally = Tally::default();
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= run.to {
                break;
            }
            let one = mutant(&origins, run.seed, number);
            let real = oracle.answer(&one.request)?;
            let ours = ours::answer(&one.request);
            let level = compare(&real, &ours);
            tally.add("all", real.ok, level);
            for kind in &one.kinds {
                tally.add(kind, real.ok, level);
            }
            let Some(level) = level else { continue };
            let place = {
                let mut found = found.lock().unwrap_or_else(PoisonError::into_inner);
                found.1 += 1;
                found.1
            };
            if place > arguments.show && arguments.keep.is_none() {
                continue;
            }
            let name = format!("{}-{number} {} {}", run.seed, one.origin, one.kinds.join("+"));
            if run.reduce {
                let (small, real, ours) = reduced(&mut oracle, one.request, level)?;
                report(arguments, place, &name, &small, (&real, &ours), level)?;
            } else {
                report(arguments, place, &name, &one.request, (&real, &ours), level)?;
            }
        }
        found.lock().unwrap_or_else(PoisonError::into_inner).0.merge(tally);
        Ok(())
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..jobs.max(1)).map(|_| scope.spawn(work)).collect();
        workers.into_iter().try_for_each(|worker| {
            worker.join().unwrap_or_else(|_| Err("a comparing thread fell over".into()))
        })
    })?;
    let (tally, differ) = found.into_inner().unwrap_or_else(PoisonError::into_inner);
    say(&tally.text());
    finish(arguments, &tally)?;
    let (all, succeed) = tally.sum("all");
    let enough = succeed * 100 >= all * 60;
    if !enough {
        say(&format!("only {succeed} of {all} succeed in the original; 60 % are wanted\n"));
    }
    Ok(differ == 0 && enough)
}

fn reduced(
    oracle: &mut Oracle,
    request: Request,
    level: Level,
) -> Outcome<(Request, Answer, Answer)> {
    let small = reduce::reduce(request, level, |candidate| {
        Some((oracle.answer(candidate).ok()?, ours::answer(candidate)))
    });
    let (real, ours) = (oracle.answer(&small)?, ours::answer(&small));
    Ok((small, real, ours))
}

fn build_one(arguments: &Arguments, file: &Path) -> Outcome<bool> {
    let request: Request = serde_json::from_slice(&std::fs::read(file)?)?;
    let real = Program::compile(&arguments.folder)?.start()?.answer(&request)?;
    let ours = ours::answer(&request);
    let level = compare(&real, &ours);
    say(&match level {
        None => "equal\n".to_owned(),
        Some(level) => format!("{}\n{}", level.name(), explain(&real, &ours)),
    });
    Ok(level.is_none())
}

#[expect(clippy::print_stdout, reason = "this program's output is its report")]
fn say(text: &str) {
    print!("{text}");
}
