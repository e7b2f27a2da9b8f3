//! The original, running beside us and answering one build after the other.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use crate::case::{Answer, Case, Request};

type Outcome<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// The program, and where its Go module lies.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    binary: PathBuf,
    module: PathBuf,
}

impl Program {
    /// Compiles the Go module in a folder.
    pub(crate) fn compile(module: &Path) -> Outcome<Self> {
        let module = std::path::absolute(module)?;
        let binary = std::env::temp_dir().join("sluice-kustomize-oracle");
        let status = Command::new("go")
            .args(["build", "-mod=readonly", "-o"])
            .arg(&binary)
            .arg(".")
            .current_dir(&module)
            .status()?;
        if status.success() {
            Ok(Self { binary, module })
        } else {
            Err("the Go side does not compile".into())
        }
    }

    /// The builds of the original's tests; those of its plugins too if their sources are given.
    pub(crate) fn cases(&self, plugins: Option<&Path>) -> Outcome<Vec<Case>> {
        let mut command = Command::new(&self.binary);
        command.arg("cases").current_dir(&self.module).stderr(Stdio::null());
        if let Some(plugins) = plugins {
            command.arg("-plugins").arg(std::path::absolute(plugins)?);
        }
        let output = command.output()?;
        if !output.status.success() {
            return Err("the original's tests could not be read; `go run . cases` says why".into());
        }
        read_cases(&output.stdout)
    }

    /// Starts it.
    pub(crate) fn start(&self) -> Outcome<Oracle> {
        let mut child = Command::new(&self.binary)
            .arg("serve")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let (Some(requests), Some(answers)) = (child.stdin.take(), child.stdout.take()) else {
            return Err("the original has no pipes".into());
        };
        Ok(Oracle { program: self.clone(), child, requests, answers: BufReader::new(answers) })
    }
}

/// Reads a file of cases, one a line.
pub(crate) fn read_cases(text: &[u8]) -> Outcome<Vec<Case>> {
    let lines = serde_json::Deserializer::from_slice(text).into_iter();
    Ok(lines.collect::<Result<_, _>>()?)
}

/// A running original.
pub(crate) struct Oracle {
    program: Program,
    child: Child,
    requests: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Oracle {
    /// Builds with the original. If that ends its process, the build counts as a panic and a new one starts.
    pub(crate) fn answer(&mut self, request: &Request) -> Outcome<Answer> {
        match self.ask(request) {
            Ok(answer) => Ok(answer),
            Err(error) => {
                let fresh = self.program.start()?;
                drop(std::mem::replace(self, fresh));
                Ok(Answer { error: error.to_string(), panic: true, ..Answer::default() })
            }
        }
    }

    fn ask(&mut self, request: &Request) -> Outcome<Answer> {
        serde_json::to_writer(&mut self.requests, request)?;
        self.requests.write_all(b"\n")?;
        self.requests.flush()?;
        let mut line = String::new();
        self.answers.read_line(&mut line)?;
        Ok(serde_json::from_str(&line)?)
    }
}

impl Drop for Oracle {
    fn drop(&mut self) {
        // It may be gone already, which is as good.
        let _gone = self.child.kill();
        let _waited = self.child.wait();
    }
}
