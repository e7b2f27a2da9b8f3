//! The `sluice` command: GitOps for Kubernetes in one binary.
//!
//! Only this crate prints, reads the environment or knows clap. One command is one file below
//! `commands/`.

mod commands;
mod log;
mod outcome;
mod screen;

use std::process::ExitCode;

use clap::Parser as _;

fn main() -> ExitCode {
    let arguments = commands::Arguments::parse();
    outcome::report(commands::run(arguments))
}
