//! `sluice completion`: completion scripts for shells.

use clap::{CommandFactory as _, ValueEnum};
use clap_complete::Shell;

use crate::outcome::{Failure, Outcome};
use crate::tell;

/// Prints a script that completes commands and flags.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The shell.
    #[arg(value_enum)]
    shell: For,
}

/// The shells that Flux knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum For {
    Bash,
    Fish,
    Powershell,
    Zsh,
}

/// Runs `sluice completion`.
pub(crate) fn run(arguments: &Arguments) -> Result<Outcome, Failure> {
    let shell = match arguments.shell {
        For::Bash => Shell::Bash,
        For::Fish => Shell::Fish,
        For::Powershell => Shell::PowerShell,
        For::Zsh => Shell::Zsh,
    };
    tell::data(&script(shell))?;
    Ok(Outcome::Fine)
}

fn script(shell: Shell) -> String {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut super::Arguments::command(), "sluice", &mut script);
    String::from_utf8_lossy(&script).into_owned()
}

#[cfg(test)]
mod tests {
    use clap_complete::Shell;

    #[test]
    fn kinds_and_flags_are_completed() {
        for shell in [Shell::Bash, Shell::Fish, Shell::PowerShell, Shell::Zsh] {
            let script = super::script(shell);
            for word in ["reconcile", "kustomization", "with-source", "show-source"] {
                assert!(script.contains(word), "{shell} does not know {word}");
            }
        }
    }
}
