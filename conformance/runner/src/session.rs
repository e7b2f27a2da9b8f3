//! Sessions: commands that people type, one a line, and what they print on a server.
//!
//! The transcript is text, normalised by the rules of [`rules::RULES`]; a golden is the transcript of a real server.

mod rules;

use std::path::Path;

/// One command with what it printed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Turn {
    /// The command as written.
    pub command: String,
    /// Its normalised output, then its errors, then its exit code if that is not zero.
    pub printed: String,
}

/// Why a session cannot be run or read.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// A file is absent or unreadable, or a command cannot be started.
    #[error("{0}")]
    File(String, #[source] std::io::Error),
}

/// Runs the commands of a session in `folder`, with `kubectl` and the server that they are to use.
pub fn run(
    session: &Path,
    folder: &Path,
    kubectl: &Path,
    kubeconfig: &Path,
) -> Result<Vec<Turn>, SessionError> {
    let failed = |what: &Path| {
        let what = what.display().to_string();
        move |error| SessionError::File(what, error)
    };
    let text = std::fs::read_to_string(session).map_err(failed(session))?;
    let home = kubeconfig.with_extension("home");
    std::fs::create_dir_all(&home).map_err(failed(&home))?;
    let programs = kubectl.parent().unwrap_or(Path::new("/"));
    let path = std::env::var("PATH").unwrap_or_default();
    let mut turns = Vec::new();
    let mut hashes = rules::Hashes::default();
    for command in text.lines().filter(|line| !line.starts_with('#') && !line.trim().is_empty()) {
        let output = std::process::Command::new("bash")
            .args(["-o", "pipefail", "-c", command])
            .current_dir(folder)
            .env("PATH", format!("{}:{path}", programs.display()))
            .env("KUBECONFIG", kubeconfig)
            .env("HOME", &home)
            .output()
            .map_err(failed(Path::new("bash")))?;
        let mut printed = String::from_utf8_lossy(&output.stdout).into_owned();
        if !printed.is_empty() && !printed.ends_with('\n') {
            printed.push('\n');
        }
        for line in String::from_utf8_lossy(&output.stderr).lines() {
            printed.push_str("! ");
            printed.push_str(line);
            printed.push('\n');
        }
        if !output.status.success() {
            let code = output.status.code().unwrap_or(-1);
            printed.extend(["exit ", &code.to_string(), "\n"]);
        }
        turns.push(Turn {
            command: command.to_owned(),
            printed: rules::normalise(&printed, &mut hashes),
        });
    }
    Ok(turns)
}

/// A transcript as text: each command after `$ `, then what it printed.
pub fn transcript(turns: &[Turn]) -> String {
    let mut text = String::new();
    for turn in turns {
        text.extend(["$ ", &turn.command, "\n"]);
        for line in turn.printed.lines() {
            text.extend(["  ", line, "\n"]);
        }
    }
    text
}

/// Reads what [`transcript`] writes.
pub fn parse(text: &str) -> Vec<Turn> {
    let mut turns: Vec<Turn> = Vec::new();
    for line in text.lines() {
        if let Some(command) = line.strip_prefix("$ ") {
            turns.push(Turn { command: command.to_owned(), printed: String::new() });
        } else if let Some(turn) = turns.last_mut() {
            turn.printed.push_str(line.strip_prefix("  ").unwrap_or(line));
            turn.printed.push('\n');
        }
    }
    turns
}

/// The lines of one output that the other lacks, `-` for the real server's and `+` for ours.
pub fn difference(real: &str, ours: &str) -> Vec<String> {
    let (real, ours): (Vec<_>, Vec<_>) = (real.lines().collect(), ours.lines().collect());
    let same = real.iter().zip(&ours).take_while(|(one, other)| one == other).count();
    let tails = real[same..].iter().rev().zip(ours[same..].iter().rev());
    let end = tails.take_while(|(one, other)| one == other).count();
    let removed = real[same..real.len() - end].iter().map(|line| format!("- {line}"));
    removed.chain(ours[same..ours.len() - end].iter().map(|line| format!("+ {line}"))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transcript_can_be_read_back() {
        let turns = vec![
            Turn {
                command: "kubectl get ns".to_owned(),
                printed: "NAME\n  deep\n\nend\n".to_owned(),
            },
            Turn { command: "true".to_owned(), printed: String::new() },
        ];
        assert_eq!(parse(&transcript(&turns)), turns);
    }
}
