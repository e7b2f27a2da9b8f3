//! `sluice envsubst`: substitutes variables of the environment in standard input, as Flux does.

use std::collections::BTreeMap;
use std::io::{BufRead as _, Write as _};

use sluice_kustomize::flux::{Missing, Template};

use crate::outcome::{Failure, Outcome};

/// Substitutes variables in standard input by those of the environment.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Fails for variables without a value and a default.
    #[arg(long)]
    strict: bool,
}

/// Runs `sluice envsubst`.
pub(crate) fn run(arguments: &Arguments) -> Result<Outcome, Failure> {
    let variables: BTreeMap<String, String> = std::env::vars().collect();
    let missing = if arguments.strict { Missing::Error } else { Missing::Empty };
    let mut stdout = std::io::stdout().lock();
    let broken = |error| Failure::caused("cannot write to stdout", error);
    for line in std::io::stdin().lock().split(b'\n') {
        let mut line = line.map_err(|error| Failure::caused("cannot read stdin", error))?;
        if line.last() == Some(&b'\r') {
            line.pop();
        }
        let value = |name: &str| variables.get(name).map(String::as_bytes);
        let substituted = Template::parse(&line).and_then(|t| t.evaluate(missing, value));
        let mut out = substituted.map_err(|error| Failure::flux(error.to_string()))?;
        out.push(b'\n');
        stdout.write_all(&out).map_err(broken)?;
    }
    stdout.flush().map_err(broken)?;
    Ok(Outcome::Fine)
}
