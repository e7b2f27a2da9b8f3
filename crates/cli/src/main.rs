//! The `sluice` command: GitOps for Kubernetes in one binary.
//!
//! Only this crate prints, reads the environment or knows clap. One command is one file below
//! `commands/`.

mod age;
mod ask;
mod cloud;
mod commands;
mod egress;
mod error_class;
mod globals;
mod kinds;
mod kubeconfig;
mod log;
mod moment;
mod outcome;
mod place;
mod readiness;
mod screen;
mod session;
mod signals;
mod table;
mod tell;

use std::process::ExitCode;

use clap::Parser as _;

fn main() -> ExitCode {
    let arguments = commands::Arguments::parse();
    outcome::report(commands::run(arguments))
}
