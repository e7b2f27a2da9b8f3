//! What a run found: counts, readable differences, and differences grouped by what they have in common.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::Value;

use crate::compare::{Difference, compare};
use crate::golden::{Answer, Golden};

/// The longest value that a report shows of one side.
const SHOWN: usize = 400;
/// How many places a report shows of one answer.
const PLACES: usize = 12;

/// All compared answers of a run.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// One entry for each recorded answer.
    pub outcomes: Vec<Outcome>,
    /// Scripts that could not be played to their end, with the reason.
    pub broken: Vec<(String, String)>,
    /// How many values each rule replaced in the recorded answers.
    pub masked: BTreeMap<String, usize>,
}

/// How one answer compares with the recorded one.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The script's id.
    pub script: String,
    /// The step's title.
    pub title: String,
    /// Method and path.
    pub request: String,
    /// Where the answers differ; nothing when they are equal.
    pub differences: Vec<Difference>,
}

impl Report {
    /// Compares a script's answers with its golden; an answer that never came differs.
    pub fn add(&mut self, script: &str, golden: &Golden, answers: &[Answer]) {
        for real in &golden.answers {
            for (rule, count) in &real.masked {
                *self.masked.entry(rule.clone()).or_default() += count;
            }
            let ours = answers.iter().find(|answer| answer.title == real.title);
            let differences = match ours {
                Some(ours) => compare(real, ours),
                None => vec![Difference { place: "no answer".to_owned(), real: None, ours: None }],
            };
            self.outcomes.push(Outcome {
                script: script.to_owned(),
                title: real.title.clone(),
                request: real.request.clone(),
                differences,
            });
        }
    }

    /// How many answers are equal, and how many were compared.
    pub fn equal(&self) -> (usize, usize) {
        let equal = self.outcomes.iter().filter(|outcome| outcome.differences.is_empty()).count();
        (equal, self.outcomes.len())
    }

    /// The report for a terminal: differences, then a line per script, then totals.
    pub fn text(&self) -> String {
        let mut out = String::new();
        let mut scripts: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
        for outcome in &self.outcomes {
            let counts = scripts.entry(&outcome.script).or_default();
            counts.1 += 1;
            if outcome.differences.is_empty() {
                counts.0 += 1;
                continue;
            }
            line(&mut out, &format!("{}: {} ({})", outcome.script, outcome.title, outcome.request));
            for difference in outcome.differences.iter().take(PLACES) {
                line(&mut out, &format!("  {}", difference.place));
                line(&mut out, &format!("    real {}", shown(difference.real.as_ref())));
                line(&mut out, &format!("    ours {}", shown(difference.ours.as_ref())));
            }
            if outcome.differences.len() > PLACES {
                line(
                    &mut out,
                    &format!("  and {} more places", outcome.differences.len() - PLACES),
                );
            }
        }
        for (script, reason) in &self.broken {
            line(&mut out, &format!("{script}: {reason}"));
        }
        for (script, (equal, all)) in &scripts {
            line(&mut out, &format!("{equal:>4} of {all:>4}  {script}"));
        }
        let (equal, all) = self.equal();
        let masked: Vec<_> = self.masked.iter().map(|(rule, n)| format!("{rule} {n}")).collect();
        line(&mut out, &format!("masked: {}", masked.join(", ")));
        line(&mut out, &format!("{equal} of {all} answers equal, {} scripts", scripts.len()));
        out
    }

    /// Differences grouped by their most telling place, the commonest first, as a Markdown table.
    pub fn summary(&self) -> String {
        let mut groups: BTreeMap<String, Vec<&Outcome>> = BTreeMap::new();
        for outcome in self.outcomes.iter().filter(|outcome| !outcome.differences.is_empty()) {
            groups.entry(signature(outcome)).or_default().push(outcome);
        }
        let mut groups: Vec<_> = groups.into_iter().collect();
        groups.sort_by_key(|(_, outcomes)| std::cmp::Reverse(outcomes.len()));
        let (equal, all) = self.equal();
        let mut out = format!("{equal} of {all} answers equal\n\n");
        for (script, reason) in &self.broken {
            line(&mut out, &format!("- not played to its end: {script}: {reason}"));
        }
        line(&mut out, "\n| requests | cause | scripts | example |\n|---|---|---|---|");
        for (cause, outcomes) in groups {
            let mut scripts: Vec<&str> = outcomes.iter().map(|o| o.script.as_str()).collect();
            scripts.dedup();
            let first =
                outcomes.first().map(|o| format!("{}: {} ({})", o.script, o.title, o.request));
            let row = format!(
                "| {} | {} | {} | {} |",
                outcomes.len(),
                cause.replace('|', "\\|"),
                scripts.join(" "),
                first.unwrap_or_default().replace('|', "\\|")
            );
            line(&mut out, &row);
        }
        out
    }
}

fn line(out: &mut String, text: &str) {
    writeln!(out, "{text}").expect("because writing to a string cannot fail");
}

fn shown(value: Option<&Value>) -> String {
    let text = value.map_or_else(|| "(nothing)".to_owned(), Value::to_string);
    if text.chars().count() <= SHOWN {
        text
    } else {
        text.chars().take(SHOWN).chain("...".chars()).collect()
    }
}

/// What an outcome's differences have in common with others': the first place, and for scalars the values.
fn signature(outcome: &Outcome) -> String {
    let Some(first) = outcome.differences.first() else { return String::new() };
    let mut place = Vec::new();
    for part in first.place.split('/') {
        place.push(if part.parse::<usize>().is_ok() { "*" } else { part });
        if part == "managedFields" {
            return place.join("/");
        }
    }
    let brief = |value: Option<&Value>| match value {
        None => "(nothing)".to_owned(),
        Some(Value::Object(_)) => "{...}".to_owned(),
        Some(Value::Array(_)) => "[...]".to_owned(),
        Some(scalar) => scalar.to_string().chars().take(90).collect(),
    };
    if place.ends_with(&["description"]) {
        return place.join("/");
    }
    let (real, ours) = (brief(first.real.as_ref()), brief(first.ours.as_ref()));
    let mut text = format!("{}: {real} -> {ours}", place.join("/"));
    let message = outcome.differences.iter().find(|difference| difference.place == "body/message");
    if first.place == "status"
        && let Some(message) = message
    {
        write!(text, "; says {}", brief(message.ours.as_ref()))
            .expect("because a string takes all");
    }
    text
}
