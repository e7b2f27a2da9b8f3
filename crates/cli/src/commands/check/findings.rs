//! The findings of a check.

use serde_json::{Value, json};

use super::Output;
use crate::outcome::Failure;
use crate::{table, tell};

/// The area of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Area {
    Kubernetes,
    Version,
    Controller,
    Definition,
    Source,
    Config,
    Dependency,
    Route,
    Reconcile,
}

impl Area {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Kubernetes => "kubernetes",
            Self::Version => "version",
            Self::Controller => "controller",
            Self::Definition => "definition",
            Self::Source => "source",
            Self::Config => "config",
            Self::Dependency => "dependency",
            Self::Route => "route",
            Self::Reconcile => "reconcile",
        }
    }
}

/// The verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    Good,
    Bad,
}

/// One finding.
#[derive(Debug, Clone)]
struct Finding {
    area: Area,
    object: String,
    verdict: Verdict,
    message: String,
}

/// All findings, in order.
#[derive(Debug, Default)]
pub(super) struct Findings {
    all: Vec<Finding>,
}

impl Findings {
    /// Adds a finding.
    pub(super) fn add(&mut self, area: Area, object: &str, verdict: Verdict, message: &str) {
        let (object, message) = (object.to_owned(), message.to_owned());
        self.all.push(Finding { area, object, verdict, message });
    }

    /// Adds a finding and prints it at once, as Flux does.
    pub(super) fn report(&mut self, area: Area, object: &str, verdict: Verdict, message: &str) {
        match verdict {
            Verdict::Good => tell::success(message),
            Verdict::Bad => tell::failure(message),
        }
        self.add(area, object, verdict, message);
    }

    /// Prints a neutral line.
    pub(super) fn note(message: &str) {
        tell::action(message);
    }

    /// Whether there is a bad finding.
    pub(super) fn are_bad(&self) -> bool {
        self.all.iter().any(|finding| finding.verdict == Verdict::Bad)
    }

    /// Prints them as JSON or YAML.
    pub(super) fn print(&self, output: Output) -> Result<(), Failure> {
        let list: Vec<Value> = self.all.iter().map(Finding::to_json).collect();
        let whole = json!({"ready": !self.are_bad(), "findings": list});
        tell::data(&match output {
            Output::Json => format!("{whole:#}\n"),
            Output::Yaml => sluice_yaml::from_json(&whole),
            Output::Table => {
                let rows: Vec<Vec<String>> = self.all.iter().map(Finding::to_row).collect();
                table::render(&["area", "object", "found", "message"], &rows)
            }
        })
    }
}

impl Finding {
    fn found(&self) -> &'static str {
        match self.verdict {
            Verdict::Good => "ok",
            Verdict::Bad => "not ok",
        }
    }

    fn to_json(&self) -> Value {
        json!({
            "area": self.area.as_str(),
            "object": self.object,
            "found": self.found(),
            "message": self.message,
        })
    }

    fn to_row(&self) -> Vec<String> {
        let cells = [self.area.as_str(), &self.object, self.found(), &self.message];
        cells.map(str::to_owned).to_vec()
    }
}
