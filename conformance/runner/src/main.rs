//! `record` writes goldens from a real server; `play` compares a server with them.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use sluice_cluster::Cluster;
use sluice_conformance::{Golden, Report, Script, Suite, Target, normalise, play, session};

/// Plays request scripts on API servers and compares the answers.
#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
    /// The folder that holds scripts, goldens and the list of known differences
    #[arg(long, default_value = "conformance")]
    folder: PathBuf,
}

#[derive(Subcommand)]
enum Command {
    /// Record the answers of a real server as goldens
    Record {
        /// How to reach the server
        #[arg(long)]
        kubeconfig: PathBuf,
        /// The server runs workloads: only the scripts that need that
        #[arg(long)]
        workloads: bool,
        /// Only scripts whose AREA/NAME contains one of these
        filters: Vec<String>,
    },
    /// Play scripts on a server and compare its answers with the goldens
    Play {
        /// How to reach the server; without it the embedded one answers
        #[arg(long)]
        kubeconfig: Option<PathBuf>,
        /// The real server runs workloads: only the scripts that need that
        #[arg(long, requires = "kubeconfig")]
        workloads: bool,
        /// Also write the differences, grouped by cause, to this file
        #[arg(long)]
        summary: Option<PathBuf>,
        /// Only scripts whose AREA/NAME contains one of these
        filters: Vec<String>,
    },
    /// Run a session of kubectl commands, and compare what it prints with the golden
    Session(SessionArguments),
}

#[derive(clap::Args)]
struct SessionArguments {
    /// How to reach the server; without it the embedded one is served on a loopback port
    #[arg(long)]
    kubeconfig: Option<PathBuf>,
    /// The kubectl to use
    #[arg(long)]
    kubectl: PathBuf,
    /// Write the golden instead of comparing with it
    #[arg(long, requires = "kubeconfig")]
    record: bool,
    /// The session: a file NAME.session in the folder kubectl
    name: String,
}

/// The version of the server that goldens are recorded from.
const SERVER: &str = "v1.35.4";
const GOLDENS: &str = "goldens/1.35.4";

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let outcome = match &arguments.command {
        // kubectl is another process: it needs the server to answer while it runs.
        Command::Session(session) => tokio::runtime::Builder::new_multi_thread()
            .enable_all()
            .build()
            .map_err(Into::into)
            .and_then(|runtime| runtime.block_on(run_session(&arguments.folder, session))),
        _ => tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(Into::into)
            .and_then(|runtime| runtime.block_on(run(&arguments))),
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            say(&format!("error: {}\n", chain(error.as_ref())));
            ExitCode::from(2)
        }
    }
}

type Outcome = Result<bool, Box<dyn std::error::Error>>;

async fn run(arguments: &Arguments) -> Outcome {
    let scripts = arguments.folder.join("scripts");
    let goldens = arguments.folder.join(GOLDENS);
    match &arguments.command {
        Command::Record { kubeconfig, workloads, filters } => {
            let target = Target::Kubeconfig(kubeconfig.clone());
            let version = target.version().await?;
            if version != SERVER {
                return Err(
                    format!("the goldens are {SERVER}'s, and this server is {version}").into()
                );
            }
            let mut suite = Suite::read(&scripts, filters)?;
            suite.0.retain(|script| script.workloads == *workloads);
            for script in suite.0 {
                let golden = record(&script, &target).await?;
                golden.write(&goldens, &script)?;
                say(&format!("{:>4} answers  {}\n", golden.answers.len(), script.id()));
            }
            Ok(true)
        }
        Command::Play { kubeconfig, workloads, summary, filters } => {
            let target = kubeconfig.clone().map_or(Target::Embedded, Target::Kubeconfig);
            if matches!(target, Target::Embedded) {
                // Its waits are over as soon as nothing is left to do.
                tokio::time::pause();
            }
            let mut suite = Suite::read(&scripts, filters)?;
            suite.0.retain(|script| kubeconfig.is_none() || script.workloads == *workloads);
            let report = compare_all(&suite, &goldens, &target).await?;
            if let Some(path) = summary {
                std::fs::write(path, report.summary())?;
            }
            say(&report.text());
            let (equal, all) = report.equal();
            Ok(equal == all && report.broken.is_empty())
        }
        Command::Session(_) => Err("a session has its own runtime".into()),
    }
}

async fn run_session(folder: &Path, arguments: &SessionArguments) -> Outcome {
    let sessions = std::path::absolute(folder.join("kubectl"))?;
    let kubectl = std::path::absolute(&arguments.kubectl)?;
    let golden = folder.join(GOLDENS).join("kubectl").join(format!("{}.txt", arguments.name));
    let file = sessions.join(format!("{}.session", arguments.name));
    let scratch = std::env::temp_dir().join(format!("sluice-session-{}", std::process::id()));
    std::fs::create_dir_all(&scratch)?;
    let kubeconfig = scratch.join("config");
    let mut serving = None;
    if let Some(given) = &arguments.kubeconfig {
        std::fs::copy(given, &kubeconfig)?;
    } else {
        let text = std::fs::read_to_string(&file)?;
        let workloads = text.starts_with("# cluster: workloads");
        let cluster = Cluster::builder()
            .seed(7)
            .epoch(jiff::Timestamp::now())
            .workloads(workloads)
            .rollouts(workloads)
            .build();
        let served = cluster.listen(([127, 0, 0, 1], 0).into()).await?;
        std::fs::write(&kubeconfig, served.kubeconfig().to_string())?;
        serving = Some(tokio::spawn(served.run()));
    }
    let run = {
        let kubeconfig = kubeconfig.clone();
        move || session::run(&file, &sessions, &kubectl, &kubeconfig)
    };
    let turns = tokio::task::spawn_blocking(run).await??;
    if let Some(serving) = serving {
        serving.abort();
    }
    std::fs::remove_dir_all(&scratch)?;
    if arguments.record {
        std::fs::create_dir_all(golden.parent().unwrap_or(folder))?;
        std::fs::write(&golden, session::transcript(&turns))?;
        say(&format!("{:>4} commands  {}\n", turns.len(), arguments.name));
        return Ok(true);
    }
    let real = session::parse(&std::fs::read_to_string(&golden)?);
    let mut equal = 0;
    for turn in &real {
        let ours = turns.iter().filter(|ours| ours.command == turn.command);
        let nth = real.iter().take_while(|other| !std::ptr::eq(*other, turn));
        let nth = nth.filter(|other| other.command == turn.command).count();
        let ours = ours.into_iter().nth(nth).map_or("", |ours| ours.printed.as_str());
        if ours == turn.printed {
            equal += 1;
            continue;
        }
        say(&format!("$ {}\n", turn.command));
        for line in session::difference(&turn.printed, ours) {
            say(&format!("  {line}\n"));
        }
    }
    say(&format!("{equal} of {} commands print the same, {}\n", real.len(), arguments.name));
    Ok(equal == real.len())
}

async fn record(script: &Script, target: &Target) -> Result<Golden, Box<dyn std::error::Error>> {
    let exchanges = play(script, target)
        .await
        .map_err(|error| format!("{}: {}", script.id(), chain(&error)))?;
    if let Some(waiting) = exchanges.iter().find(|exchange| exchange.unmet) {
        return Err(format!("{}: `{}` waited in vain", script.id(), waiting.title).into());
    }
    Ok(Golden::of(script, SERVER, normalise(&script.text, exchanges)))
}

async fn compare_all(
    suite: &Suite,
    goldens: &Path,
    target: &Target,
) -> Result<Report, Box<dyn std::error::Error>> {
    let mut report = Report::default();
    for script in &suite.0 {
        let golden = Golden::read(goldens, script)?;
        match play(script, target).await {
            Ok(exchanges) => report.add(&script.id(), &golden, &normalise(&script.text, exchanges)),
            Err(error) => {
                report.add(&script.id(), &golden, &[]);
                report.broken.push((script.id(), chain(&error)));
            }
        }
    }
    Ok(report)
}

fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        text = format!("{text}: {inner}");
        cause = inner.source();
    }
    text
}

#[expect(clippy::print_stdout, reason = "this program's output is its report")]
fn say(text: &str) {
    print!("{text}");
}
