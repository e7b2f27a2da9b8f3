//! `record` writes goldens from a real server; `play` compares a server with them.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use sluice_conformance::{Golden, Report, Script, Suite, Target, normalise, play};

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
        /// Only scripts whose AREA/NAME contains one of these
        filters: Vec<String>,
    },
    /// Play scripts on a server and compare its answers with the goldens
    Play {
        /// How to reach the server; without it the embedded one answers
        #[arg(long)]
        kubeconfig: Option<PathBuf>,
        /// Also write the differences, grouped by cause, to this file
        #[arg(long)]
        summary: Option<PathBuf>,
        /// Only scripts whose AREA/NAME contains one of these
        filters: Vec<String>,
    },
}

const GOLDENS: &str = "goldens/1.35.4";

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match run(&arguments).await {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            say(&format!("error: {}\n", chain(error.as_ref())));
            ExitCode::from(2)
        }
    }
}

async fn run(arguments: &Arguments) -> Result<bool, Box<dyn std::error::Error>> {
    let scripts = arguments.folder.join("scripts");
    let goldens = arguments.folder.join(GOLDENS);
    match &arguments.command {
        Command::Record { kubeconfig, filters } => {
            let target = Target::Kubeconfig(kubeconfig.clone());
            for script in Suite::read(&scripts, filters)?.0 {
                let golden = record(&script, &target).await?;
                golden.write(&goldens, &script)?;
                say(&format!("{:>4} answers  {}\n", golden.answers.len(), script.id()));
            }
            Ok(true)
        }
        Command::Play { kubeconfig, summary, filters } => {
            let target = kubeconfig.clone().map_or(Target::Embedded, Target::Kubeconfig);
            if matches!(target, Target::Embedded) {
                // Its waits are over as soon as nothing is left to do.
                tokio::time::pause();
            }
            let report = compare_all(&Suite::read(&scripts, filters)?, &goldens, &target).await?;
            if let Some(path) = summary {
                std::fs::write(path, report.summary())?;
            }
            say(&report.text());
            let (equal, all) = report.equal();
            Ok(equal == all && report.broken.is_empty())
        }
    }
}

async fn record(script: &Script, target: &Target) -> Result<Golden, Box<dyn std::error::Error>> {
    let exchanges = play(script, target)
        .await
        .map_err(|error| format!("{}: {}", script.id(), chain(&error)))?;
    if let Some(waiting) = exchanges.iter().find(|exchange| exchange.unmet) {
        return Err(format!("{}: `{}` waited in vain", script.id(), waiting.title).into());
    }
    Ok(Golden::of(script, "v1.35.4", normalise(&script.text, exchanges)))
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
