//! The recorded answers of go-yaml and sigs.k8s.io/yaml against ours.
//!
//! `conformance/yaml` records them: `go run . cases ../../crates/yaml/tests/cases` for the
//! directories, whose `ORACLE` names the versions.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use sluice_yaml::{
    Content, Document, Duplicates, Node, ScalarStyle, SequenceIndent, from_json, parse, to_json,
};

/// What the oracle says about one text.
struct Answer {
    name: String,
    text: Vec<u8>,
    json: Option<String>,
    error: Option<String>,
    strict_error: Option<String>,
    yaml: Option<String>,
    v3: Value,
}

fn cases() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases")
}

fn directories() -> Vec<Answer> {
    let mut names: Vec<PathBuf> = fs::read_dir(cases())
        .expect("the cases are there")
        .map(|entry| entry.expect("a readable directory").path())
        .filter(|path| path.is_dir())
        .collect();
    names.sort();
    names.iter().map(|directory| read_directory(directory)).collect()
}

fn read_directory(directory: &Path) -> Answer {
    let file = |name: &str| fs::read_to_string(directory.join(name)).ok();
    let line = |name: &str| file(name).map(|text| text.trim_end_matches('\n').to_owned());
    Answer {
        name: directory.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        text: fs::read(directory.join("input.yaml")).expect("every case has an input"),
        json: line("expected.json"),
        error: line("expected.error"),
        strict_error: line("expected.strict.error"),
        yaml: file("expected.yaml"),
        v3: serde_json::from_str(&file("expected.v3.json").unwrap_or_default())
            .expect("every case has what v3 says"),
    }
}

/// Compares and collects: one run shows every difference.
#[derive(Default)]
struct Differences {
    run: usize,
    found: Vec<String>,
}

impl Differences {
    fn compare(&mut self, what: &str, answer: &Answer, ours: &str, theirs: &str) {
        self.run += 1;
        if ours != theirs {
            let text = String::from_utf8_lossy(&answer.text);
            self.found.push(format!(
                "{} {what}\n  text:   {text:?}\n  ours:   {ours:?}\n  theirs: {theirs:?}",
                answer.name
            ));
        }
    }

    #[expect(clippy::print_stdout, reason = "the count is what a reader of the run wants")]
    fn finish(self) {
        let Self { run, found } = self;
        println!("{} of {run} agree", run - found.len());
        assert!(found.is_empty(), "{} of {run} differ:\n{}", found.len(), found.join("\n"));
    }
}

fn outcome(result: Result<Option<Value>, sluice_yaml::Error>) -> Result<Value, String> {
    result.map(Option::unwrap_or_default).map_err(|error| error.to_string())
}

fn check_json(differences: &mut Differences, answer: &Answer) {
    let ours = outcome(to_json(&answer.text, Duplicates::LastWins));
    let strict = outcome(to_json(&answer.text, Duplicates::Reject));
    let strict_error = answer.strict_error.as_ref().or(answer.error.as_ref());
    differences.compare(
        "strict error",
        answer,
        &strict.err().unwrap_or_default(),
        strict_error.map_or("", String::as_str),
    );
    let theirs = match (&answer.json, &answer.error) {
        (Some(json), _) => serde_json::from_str::<Value>(json).expect("the oracle writes JSON"),
        (None, error) => {
            let ours = ours.map_or_else(|error| error, |value| value.to_string());
            differences.compare("error", answer, &ours, error.as_deref().unwrap_or_default());
            return;
        }
    };
    let ours = ours.map_or_else(|error| error, |value| value.to_string());
    differences.compare("json", answer, &ours, &theirs.to_string());
    if let Some(yaml) = &answer.yaml
        && !yaml.starts_with("error: ")
    {
        differences.compare("yaml", answer, &from_json(&theirs), yaml);
    }
}

#[test]
fn json_and_its_yaml_are_those_of_sigs_yaml() {
    let mut differences = Differences::default();
    for answer in directories() {
        check_json(&mut differences, &answer);
    }
    differences.finish();
}

/// A tree in the form the oracle writes it; go-yaml's styles are bits.
fn dump(node: &Node) -> Value {
    let mut style = i32::from(node.tagged);
    let mut value = "";
    let mut content = Vec::new();
    let kind = match &node.content {
        Content::Scalar { value: text, style: written } => {
            value = text;
            style += match written {
                ScalarStyle::Plain => 0,
                ScalarStyle::DoubleQuoted => 2,
                ScalarStyle::SingleQuoted => 4,
                ScalarStyle::Literal => 8,
                ScalarStyle::Folded => 16,
            };
            "scalar"
        }
        Content::Sequence { items, flow } => {
            style += if *flow { 32 } else { 0 };
            content.extend(items.iter().map(dump));
            "sequence"
        }
        Content::Mapping { fields, flow } => {
            style += if *flow { 32 } else { 0 };
            content.extend(fields.iter().flat_map(|(key, value)| [dump(key), dump(value)]));
            "mapping"
        }
        Content::Alias(name) => {
            value = name;
            "alias"
        }
    };
    let place = format!("{}:{}", node.position.line, node.position.column);
    let mut out = json!({"kind": kind, "place": place});
    let texts = [
        ("tag", node.tag.as_ref()),
        ("anchor", node.anchor.as_deref().unwrap_or_default()),
        ("value", value),
        ("head", node.head_comment()),
        ("line", node.line_comment()),
        ("foot", node.foot_comment()),
    ];
    for (name, text) in texts.into_iter().filter(|(_, text)| !text.is_empty()) {
        out[name] = text.into();
    }
    if style != 0 {
        out["style"] = style.into();
    }
    if !content.is_empty() {
        out["content"] = content.into();
    }
    out
}

fn dump_document(document: &Document) -> Value {
    let place = format!("{}:{}", document.position.line, document.position.column);
    let mut out = json!({"kind": "document", "place": place, "content": [dump(&document.root)]});
    for (name, text) in [("head", &document.head_comment), ("foot", &document.foot_comment)] {
        if !text.is_empty() {
            out[name] = text.as_str().into();
        }
    }
    out
}

fn check_nodes(differences: &mut Differences, answer: &Answer) {
    let documents = match parse(&answer.text) {
        Ok(documents) => documents,
        Err(error) => {
            let theirs = answer.v3["error"].as_str().unwrap_or_default();
            differences.compare("v3 error", answer, &error.to_string(), theirs);
            return;
        }
    };
    differences.compare("v3 error", answer, "", answer.v3["error"].as_str().unwrap_or_default());
    let theirs = answer.v3["documents"].as_array().cloned().unwrap_or_default();
    let counts = (documents.len().to_string(), theirs.len().to_string());
    differences.compare("documents", answer, &counts.0, &counts.1);
    for (document, theirs) in documents.iter().zip(theirs) {
        let ours = dump_document(document).to_string();
        differences.compare("nodes", answer, &ours, &theirs["node"].to_string());
        let compact = theirs["compact"].as_str().unwrap_or_default();
        if compact.starts_with("error: ") {
            continue;
        }
        let ours = document.to_yaml(SequenceIndent::Compact);
        differences.compare("compact", answer, &ours, compact);
        let ours = document.to_yaml(SequenceIndent::Wide);
        let wide = theirs["wide"].as_str().unwrap_or(compact);
        differences.compare("wide", answer, &ours, wide);
    }
}

#[test]
fn node_trees_are_those_of_go_yaml_v3() {
    let mut differences = Differences::default();
    for answer in directories() {
        check_nodes(&mut differences, &answer);
    }
    differences.finish();
}
