//! The hostile-input bench: every hostile input of every format, each in a process of its own.
//!
//! A process reads one honest input first, so that tables are loaded, then has 256 MiB of address space more than it
//! has by then, a stack of 2 MiB (as workers have), one malloc arena and 60 seconds of CPU. It has to end with an outcome,
//! good or bad. `cargo test -p sluice-hostile` prints a line per format; `-- NAME` runs the formats with that text in
//! their names, and with `--all` a line per input.

#![expect(clippy::print_stdout, reason = "the table is the result")]

use std::io::{Read as _, Write as _};
use std::process::{Command, ExitCode, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use rustix::process::{Resource, Rlimit, setrlimit};
use sluice_hostile::{FORMATS, Format};

/// Memory above the start.
const MEMORY: u64 = 256 << 20;
const STACK: u64 = 2 << 20;
const CPU: u64 = 60;
/// For processes that wait for something; the machine may be busy.
const DEADLINE: Duration = Duration::from_mins(5);
/// An input may be as large, so that what it makes of a parser is the parser's fault.
const LARGEST_INPUT: usize = 5 << 20;
/// As many inputs there are at least.
const FEWEST: usize = 170;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [first, format] = arguments.as_slice()
        && first == "--child"
    {
        return child(format);
    }
    let filter = arguments.iter().find(|argument| !argument.starts_with('-'));
    let is_chosen =
        |format: &&Format| filter.is_none_or(|filter| format.name.contains(filter.as_str()));
    let chosen: Vec<&Format> = FORMATS.iter().filter(is_chosen).collect();
    let all = arguments.iter().any(|argument| argument == "--all");
    let mut failures = Vec::new();
    let mut count = 0;
    println!("{:<28} {:>6} {:>10} {:>9}  worst", "format", "inputs", "peak MiB", "time s");
    for format in chosen {
        let inputs = (format.hostile)();
        let runs = run_all(format, &inputs);
        count += runs.len();
        let peak = runs.iter().max_by_key(|run| run.peak);
        let slowest = runs.iter().map(|run| run.time).max().unwrap_or_default();
        println!(
            "{:<28} {:>6} {:>10.1} {:>9.2}  {}",
            format.name,
            runs.len(),
            mebibytes(peak.map_or(0, |run| run.peak)),
            slowest.as_secs_f64(),
            peak.map_or("", |run| run.name),
        );
        for run in &runs {
            if all {
                let (peak, time) = (mebibytes(run.peak), run.time.as_secs_f64());
                println!("  {peak:>8.1} {time:>7.2}  {}: {}", run.name, shown(&run.said));
            }
            if let Some(failure) = &run.failure {
                failures.push(format!("{}: {}: {failure}", format.name, run.name));
            }
        }
    }
    println!("{count} inputs, {} beyond their bounds", failures.len());
    if filter.is_none() && count < FEWEST {
        failures.push(format!("{count} inputs are fewer than {FEWEST}"));
    }
    for failure in &failures {
        println!("FAILED {failure}");
    }
    if failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// What became of an input.
struct Run {
    name: &'static str,
    peak: u64,
    time: Duration,
    said: String,
    failure: Option<String>,
}

/// As many processes at a time as there are cores.
fn run_all(format: &Format, inputs: &[(&'static str, Vec<u8>)]) -> Vec<Run> {
    let next = AtomicUsize::new(0);
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    let mut runs: Vec<(usize, Run)> = std::thread::scope(|scope| {
        let work = || {
            let mut runs = Vec::new();
            while let Some((at, (name, bytes))) = Some(next.fetch_add(1, Ordering::Relaxed))
                .and_then(|at| Some((at, inputs.get(at)?)))
            {
                runs.push((at, run(format, name, bytes)));
            }
            runs
        };
        let workers: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap_or_default()).collect()
    });
    runs.sort_by_key(|(at, _)| *at);
    runs.into_iter().map(|(_, run)| run).collect()
}

fn run(format: &Format, name: &'static str, bytes: &[u8]) -> Run {
    let failed = |why: String| Run {
        name,
        peak: 0,
        time: Duration::ZERO,
        said: String::new(),
        failure: Some(why),
    };
    if bytes.len() > LARGEST_INPUT {
        return failed(format!("the input has {} bytes", bytes.len()));
    }
    match in_child(format, bytes) {
        Ok(report) => judge(name, bytes, &report),
        Err(why) => failed(why),
    }
}

/// The report of a child: its peak, its time, and what the parser said.
fn in_child(format: &Format, bytes: &[u8]) -> Result<String, String> {
    let words = |error: std::io::Error| error.to_string();
    let program = std::env::current_exe().map_err(words)?;
    let mut child = Command::new(program)
        .args(["--child", format.name])
        .env("MALLOC_ARENA_MAX", "1")
        .env("RUST_BACKTRACE", "0")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(words)?;
    if let Some(mut input) = child.stdin.take() {
        // A child that is gone already says why below.
        let _ = input.write_all(bytes);
    }
    let started = Instant::now();
    let status = loop {
        match child.try_wait().map_err(words)? {
            Some(status) => break status,
            None if started.elapsed() > DEADLINE => {
                let _ = child.kill();
                let _ = child.wait();
                return Err(format!("did not end within {DEADLINE:?}"));
            }
            None => std::thread::sleep(Duration::from_millis(5)),
        }
    };
    let (mut report, mut errors) = (String::new(), String::new());
    if let (Some(mut out), Some(mut err)) = (child.stdout.take(), child.stderr.take()) {
        let _ = out.read_to_string(&mut report);
        let _ = err.read_to_string(&mut errors);
    }
    if status.success() {
        Ok(report)
    } else {
        let last: Vec<&str> = errors.lines().rev().take(3).collect();
        Err(format!("{status}: {}", last.join(" | ")))
    }
}

fn judge(name: &'static str, bytes: &[u8], report: &str) -> Run {
    let mut lines = report.splitn(4, '\n');
    let mut number = || lines.next().and_then(|line| line.parse::<u64>().ok()).unwrap_or(u64::MAX);
    let (peak, micros, length) = (number(), number(), number());
    let said = lines.next().unwrap_or_default().to_owned();
    let failure = if peak > MEMORY {
        Some(format!("took {:.0} MiB", mebibytes(peak)))
    } else if length > 32 * bytes.len() as u64 + (256 << 10) {
        Some(format!("its error has {length} bytes"))
    } else {
        None
    };
    Run { name, peak, time: Duration::from_micros(micros), said, failure }
}

/// Reads an input from its standard input; reports peak, time, length of the outcome, and its beginning.
fn child(name: &str) -> ExitCode {
    let Some(format) = Format::find(name) else { return ExitCode::FAILURE };
    let mut input = Vec::new();
    if std::io::stdin().read_to_end(&mut input).is_err() {
        return ExitCode::FAILURE;
    }
    for seed in (format.seeds)().iter().take(1) {
        let _ = (format.parse)(seed);
    }
    let limit = |resource, most| {
        setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) }).is_ok()
    };
    let start = memory("VmRSS:");
    let is_limited = std::fs::write("/proc/self/clear_refs", "5").is_ok()
        && limit(Resource::As, memory("VmSize:") + MEMORY)
        && limit(Resource::Stack, STACK)
        && limit(Resource::Cpu, CPU);
    if !is_limited {
        return ExitCode::FAILURE;
    }
    let started = Instant::now();
    let outcome = (format.parse)(&input);
    let time = started.elapsed();
    let peak = memory("VmHWM:").saturating_sub(start);
    let (length, said) = match &outcome {
        Ok(()) => (0, "fine"),
        Err(error) => (error.len(), error.as_str()),
    };
    println!("{peak}\n{}\n{length}\n{}", time.as_micros(), shown(said));
    ExitCode::SUCCESS
}

/// A line of this process' status, in bytes.
fn memory(line: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let found = status.lines().find_map(|it| it.strip_prefix(line));
    let kibibytes = found.and_then(|text| text.trim().split(' ').next()?.parse::<u64>().ok());
    kibibytes.unwrap_or_default() << 10
}

#[expect(clippy::cast_precision_loss, reason = "for people to read")]
fn mebibytes(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

fn shown(text: &str) -> String {
    text.chars().take(160).map(|letter| if letter.is_control() { ' ' } else { letter }).collect()
}
