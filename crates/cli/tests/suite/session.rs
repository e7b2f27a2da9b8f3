//! A session: what is typed one after another against one cluster, and what comes out.
//!
//! ```text
//! cluster platform            the objects, from tests/clusters
//! controller                  something answers requests for reconciliation
//! installed                   sluice install was run on it, and nodes run pods
//! $ get ks                    a command line; both programs get it
//! ~ stderr: why it differs    the part that is not compared, and why, for the command above
//! < some text                 one line for its standard input
//! ```

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use regex::Regex;

use crate::world::{What, World};

/// Command lines for one cluster.
pub(crate) struct Session {
    what: What,
    pub(crate) commands: Vec<Case>,
}

/// One command line.
pub(crate) struct Case {
    pub(crate) line: String,
    pub(crate) differs: Option<Part>,
    input: String,
}

/// A part of an answer that is ours alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    Stdout,
    Stderr,
    Both,
}

/// What a program answered.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Answer {
    line: String,
    stdout: String,
    stderr: String,
    code: i32,
}

impl Session {
    pub(crate) fn read(path: &Path) -> Self {
        let text = std::fs::read_to_string(path).expect("the session can be read");
        let mut session = Self { what: What::default(), commands: Vec::new() };
        for line in text.lines() {
            if let Some(line) = line.strip_prefix("$ ") {
                let line = line.trim_end().to_owned();
                session.commands.push(Case { line, differs: None, input: String::new() });
            } else if let Some(input) = line.strip_prefix("< ") {
                let case = session.commands.last_mut().expect("input belongs to a command");
                case.input.push_str(input);
                case.input.push('\n');
            } else if let Some(note) = line.strip_prefix("~ ") {
                let case = session.commands.last_mut().expect("a note belongs to a command");
                let (part, reason) = note.split_once(':').expect("a difference has a reason");
                assert!(!reason.trim().is_empty(), "a difference has a reason");
                case.differs = Some(match part {
                    "stdout" => Part::Stdout,
                    "stderr" => Part::Stderr,
                    "both" => Part::Both,
                    other => panic!("{other} is no part of an answer"),
                });
            } else if let Some(name) = line.strip_prefix("cluster ") {
                session.what.cluster = Some(name.to_owned());
            } else if line == "controller" {
                session.what.controller = true;
            } else if line == "installed" {
                session.what.installed = true;
            } else {
                assert!(line.is_empty() || line.starts_with('#'), "{line:?} means nothing");
            }
        }
        session
    }

    /// Types everything into a program, against a fresh cluster.
    pub(crate) fn play(&self, program: &Path) -> Vec<Answer> {
        let world = World::start(&self.what);
        self.commands.iter().map(|case| case.run(program, &world)).collect()
    }
}

impl Case {
    fn run(&self, program: &Path, world: &World) -> Answer {
        let words = self.line.split_whitespace().map(|word| word.replace("%20", " "));
        let mut child = Command::new(program)
            .args(words)
            .current_dir(crate::directory("cases"))
            .env("KUBECONFIG", world.kubeconfig())
            .env("HOME", world.home())
            .env("TZ", "UTC")
            .env("NO_COLOR", "1")
            .env("USER", "somebody")
            .env("cluster_region", "eu-central-1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let mut stdin = child.stdin.take().expect("it was asked for");
        // A program that does not read is not to blame.
        let _ = stdin.write_all(self.input.as_bytes());
        drop(stdin);
        let output = child.wait_with_output().expect("the program ends");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Answer {
            line: self.line.clone(),
            stdout: text(&output.stdout),
            stderr: text(&output.stderr),
            code: output.status.code().unwrap_or(-1),
        }
    }

    /// What differs that should not, or is equal although it is said to differ.
    pub(crate) fn difference(&self, expected: &Answer, ours: &Answer) -> Option<String> {
        assert_eq!(expected.line, self.line, "the golden is of another session");
        let mut wanted = expected.clone();
        if let Some(part) = self.differs {
            if wanted == *ours {
                return Some(format!("$ {}\nis equal now; drop the note", self.line));
            }
            if part != Part::Stderr {
                wanted.stdout.clone_from(&ours.stdout);
            }
            if part != Part::Stdout {
                wanted.stderr.clone_from(&ours.stderr);
            }
            if part == Part::Both {
                wanted.code = ours.code;
            }
        }
        (wanted != *ours)
            .then(|| format!("$ {}\nflux:\n{}sluice:\n{}", self.line, wanted.told(), ours.told()))
    }
}

impl Answer {
    /// Without what depends on when it was given, and on which port the cluster got.
    pub(crate) fn timeless(mut self) -> Self {
        let keys =
            "creationTimestamp|gatheredAt|resourceVersion|uid|firstTimestamp|lastTimestamp|at";
        let moment =
            Regex::new(&format!(r#"\b({keys})("?: ?)"?[^",\n]+"?"#)).expect("it is a pattern");
        let age = Regex::new(r"\t\d+s\b").expect("it is a pattern");
        let timeless = moment.replace_all(&self.stdout, "$1");
        self.stdout = age.replace_all(&timeless, "\t0s").into_owned();
        let port = Regex::new(r"127\.0\.0\.1:\d{4,5}").expect("it is a pattern");
        self.stderr = port.replace_all(&self.stderr, "127.0.0.1:PORT").into_owned();
        self
    }

    fn told(&self) -> String {
        let lines = |mark: &str, text: &str| {
            let lines = text.split_inclusive('\n').flat_map(|line| [mark, line]);
            let mut out: String = lines.collect();
            if !out.is_empty() && !out.ends_with('\n') {
                // A last line without its end is told apart.
                out.push_str("\\\n");
            }
            out
        };
        format!("{}{}= {}\n", lines("1|", &self.stdout), lines("2|", &self.stderr), self.code)
    }
}

/// The answers as a text.
pub(crate) fn write_golden(answers: &[Answer]) -> String {
    let told = answers.iter().map(|answer| format!("$ {}\n{}", answer.line, answer.told()));
    told.collect::<Vec<_>>().concat()
}

/// The answers from a text.
pub(crate) fn read_golden(path: &Path) -> Vec<Answer> {
    let text = std::fs::read_to_string(path).unwrap_or_else(|error| {
        panic!("{}: {error}; record it with SLUICE_FLUX and UPDATE", path.display())
    });
    let mut answers: Vec<Answer> = Vec::new();
    let mut last_is_stdout = true;
    for line in text.split_inclusive('\n') {
        let Some(answer) = answers.last_mut().filter(|_| !line.starts_with("$ ")) else {
            let line = line.trim_start_matches("$ ").trim_end().to_owned();
            answers.push(Answer { line, ..Answer::default() });
            continue;
        };
        if let Some(rest) = line.strip_prefix("1|") {
            answer.stdout.push_str(rest);
            last_is_stdout = true;
        } else if let Some(rest) = line.strip_prefix("2|") {
            answer.stderr.push_str(rest);
            last_is_stdout = false;
        } else if let Some(code) = line.strip_prefix("= ") {
            answer.code = code.trim().parse().expect("exit codes are numbers");
        }
        let part = if last_is_stdout { &mut answer.stdout } else { &mut answer.stderr };
        if part.ends_with("\\\n") {
            part.truncate(part.len() - 2);
        }
    }
    answers
}
