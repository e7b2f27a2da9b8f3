//! The project's chores: `cargo run -p xtask -- CHORE`.

mod crds;
mod fuzz;
mod record;
mod sbom;

use std::process::ExitCode;

type Chore = fn(&[String]) -> Result<(), Box<dyn std::error::Error>>;

const CHORES: &[(&str, Chore)] = &[
    ("compare-crds", crds::compare),
    ("crds", crds::write),
    ("fuzz", fuzz::run),
    ("record", record::run),
    ("record-crds", crds::record),
    ("sbom", sbom::run),
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let chore = arguments
        .first()
        .and_then(|name| CHORES.iter().find(|(known, _)| known == name))
        .map(|(_, chore)| *chore);
    let outcome = if let Some(chore) = chore {
        chore(&arguments[1..])
    } else {
        let names: Vec<&str> = CHORES.iter().map(|(name, _)| *name).collect();
        Err(format!("usage: xtask {}", names.join(" | ")).into())
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => report(error.as_ref()),
    }
}

#[expect(clippy::print_stderr, reason = "a chore tells its operator what went wrong")]
fn report(error: &dyn std::error::Error) -> ExitCode {
    eprintln!("xtask: {error}");
    ExitCode::FAILURE
}
