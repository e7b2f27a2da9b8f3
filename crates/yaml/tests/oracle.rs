//! The recorded answers of go-yaml and sigs.k8s.io/yaml against ours.
//!
//! `conformance/yaml/record.sh` records them; `tests/cases/ORACLE` and the table's first line name
//! the versions.

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use sluice_yaml::{
    Content, Document, Duplicates, Node, ScalarStyle, SequenceIndent, from_json,
    is_special_in_yaml_1_1, parse, to_json,
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

/// The recorded texts that were made up; the file's first line names the oracle. A larger table for
/// a longer run is named by `SLUICE_YAML_TABLE`.
fn generated() -> Vec<Answer> {
    let larger = std::env::var_os("SLUICE_YAML_TABLE");
    let table = larger.map_or_else(recorded_table, |path| {
        fs::read_to_string(path).expect("the table that was asked for")
    });
    let lines = table.lines().skip(1).enumerate();
    lines.map(|(number, line)| read_line(number, line)).collect()
}

fn recorded_table() -> String {
    let packed = fs::read(cases().with_file_name("generated.jsonl.gz"));
    let mut text = String::new();
    flate2::read::GzDecoder::new(packed.expect("the table is there").as_slice())
        .read_to_string(&mut text)
        .expect("the table is packed text");
    text
}

fn read_line(number: usize, line: &str) -> Answer {
    let mut answer: Value = serde_json::from_str(line).expect("a line of JSON");
    let text = |name: &str| answer[name].as_str().map(str::to_owned);
    let bytes = text("bytes").map(|encoded| base64(&encoded));
    Answer {
        name: format!("line {}", number + 2),
        text: bytes.unwrap_or_else(|| text("text").unwrap_or_default().into_bytes()),
        json: text("json"),
        error: text("error"),
        strict_error: text("strict"),
        yaml: text("yaml"),
        v3: {
            let mut v3 = answer["v3"].take();
            v3["special"] = answer["special"].take();
            v3["indent"] = answer["indent"].take();
            v3
        },
    }
}

/// The bytes of a text that is not UTF-8; our own reading of `!!binary` is not to judge itself.
fn base64(encoded: &str) -> Vec<u8> {
    let digits = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = Vec::new();
    let (mut bits, mut count) = (0_u32, 0);
    for byte in encoded.bytes().filter(|byte| *byte != b'=') {
        let digit = digits.iter().position(|digit| *digit == byte).expect("a digit");
        bits = (bits << 6) | u32::try_from(digit).expect("six bits");
        count += 6;
        if count >= 8 {
            count -= 8;
            out.push(u8::try_from((bits >> count) & 0xFF).expect("eight bits"));
        }
    }
    out
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
    if let Ok(text) = std::str::from_utf8(&answer.text) {
        let special = answer.v3["special"].as_bool().unwrap_or_default();
        let ours = is_special_in_yaml_1_1(text);
        differences.compare("special", answer, &ours.to_string(), &special.to_string());
        let ours = match SequenceIndent::detect(text) {
            SequenceIndent::Compact => "compact",
            SequenceIndent::Wide => "wide",
        };
        let theirs = answer.v3["indent"].as_str().unwrap_or("compact");
        differences.compare("indent", answer, ours, theirs);
    }
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
        check_values(differences, answer, document, &theirs);
    }
}

fn check_values(
    differences: &mut Differences,
    answer: &Answer,
    document: &Document,
    theirs: &Value,
) {
    let ours = document.to_json().map_or_else(|error| error.to_string(), |json| json.to_string());
    let json = theirs["json"].as_str().map(|json| {
        serde_json::from_str::<Value>(json).expect("the oracle writes JSON").to_string()
    });
    let expected = json.as_deref().or(theirs["error"].as_str()).unwrap_or_default();
    differences.compare("v3 json", answer, &ours, expected);

    let compact = theirs["compact"].as_str().unwrap_or_default();
    let expanded = theirs["expanded"].as_str().unwrap_or(compact);
    let mut document = document.clone();
    let ours = match document.expand_aliases() {
        Ok(()) => document.to_yaml(SequenceIndent::Compact),
        Err(error) => format!("error: {error}"),
    };
    // Where aliases form a cycle the oracle would overflow its stack, and is not asked.
    if expanded != "cyclic" {
        differences.compare("expanded", answer, &ours, expanded);
    }
}

#[test]
fn the_cases_read_and_print_like_the_oracle() {
    let mut differences = Differences::default();
    for answer in directories() {
        check_json(&mut differences, &answer);
        check_nodes(&mut differences, &answer);
    }
    differences.finish();
}

#[test]
fn made_up_texts_read_and_print_like_the_oracle() {
    let mut differences = Differences::default();
    for answer in generated() {
        check_json(&mut differences, &answer);
        check_nodes(&mut differences, &answer);
    }
    differences.finish();
}
