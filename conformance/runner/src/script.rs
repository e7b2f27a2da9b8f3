//! The script format: requests as readable text, with a few directives.
//!
//! ```text
//! # cluster: workloads
//! ### create a config map
//! # capture uid = /metadata/uid
//! POST /api/v1/namespaces/{{ns}}/configmaps
//! As: jane
//!
//! {"apiVersion": "v1", ...}
//! ```

use std::collections::BTreeMap;

use base64::Engine as _;

/// A parsed script: requests that are played in order on one server.
#[derive(Clone, Debug)]
pub struct Script {
    /// The folder the script lies in.
    pub area: String,
    /// The file's name without its ending.
    pub name: String,
    /// The whole text; what a script says itself is never normalised away.
    pub text: String,
    /// Whether the simulated workload controllers run on the embedded server.
    pub workloads: bool,
    /// Whether the runner makes the namespace `{{ns}}` first.
    pub namespace: bool,
    /// The requests in their order.
    pub steps: Vec<Step>,
}

/// One titled request with its directives.
#[derive(Clone, Debug, Default)]
pub struct Step {
    /// What the request shows; unique in its script.
    pub title: String,
    /// The method, or `EVENTS` for reading a stream that an earlier step opened.
    pub method: String,
    /// Path and query, with `{{variables}}`.
    pub path: String,
    /// Headers in the order written.
    pub headers: Vec<(String, String)>,
    /// The body as sent, with `{{variables}}`.
    pub body: String,
    /// A body given as bytes, which has no variables.
    pub bytes: Option<Vec<u8>>,
    /// Variables taken from the answer by JSON pointer.
    pub captures: BTreeMap<String, String>,
    /// Paths whose values are not compared; `*` stands for any one part.
    pub masks: Vec<String>,
    /// Lists whose order means nothing, because the real server takes it from a Go map.
    pub unordered: Vec<String>,
    /// How the answer is read.
    pub reading: Reading,
    /// Played, but neither counted nor compared.
    pub quiet: bool,
    /// The request is sent again until all of these hold.
    pub until: Vec<Condition>,
}

/// How an answer's body is read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Reading {
    /// To its end.
    #[default]
    Whole,
    /// As a stream, until so many events came or nothing came for a while.
    Events {
        /// How many events are waited for.
        count: usize,
        /// Whether the stream is then watched a little longer for events that should not come.
        then_quiet: bool,
    },
    /// As a stream that a later `EVENTS NAME COUNT` step reads.
    Open(String),
}

/// What an answer must look like before the script goes on.
#[derive(Clone, Debug, PartialEq)]
pub enum Condition {
    /// The value at a JSON pointer equals this one.
    Equals(String, serde_json::Value),
    /// There is something at a JSON pointer.
    Exists(String),
    /// There is nothing at a JSON pointer.
    Absent(String),
    /// The answer has this status code.
    Status(u16),
}

/// Why a text is not a script.
#[derive(Debug, thiserror::Error)]
#[error("{script}, line {line}: {message}")]
pub struct ScriptError {
    script: String,
    line: usize,
    message: String,
}

impl Script {
    /// Reads a script's text.
    pub fn parse(area: &str, name: &str, text: &str) -> Result<Self, ScriptError> {
        let mut script = Self {
            area: area.to_owned(),
            name: name.to_owned(),
            text: text.to_owned(),
            workloads: false,
            namespace: true,
            steps: Vec::new(),
        };
        let fail = |line: usize, message: String| ScriptError {
            script: format!("{area}/{name}"),
            line: line + 1,
            message,
        };
        let mut part = Part::Preamble;
        for (number, line) in text.lines().enumerate() {
            if let Some(title) = line.strip_prefix("### ") {
                let title = title.trim().to_owned();
                if script.steps.iter().any(|step| step.title == title) {
                    return Err(fail(number, format!("the title `{title}` is used twice")));
                }
                script.steps.push(Step { title, ..Step::default() });
                part = Part::Directives;
                continue;
            }
            let Some(step) = script.steps.last_mut() else {
                match line.strip_prefix("# ").map(str::trim) {
                    Some("cluster: workloads") => script.workloads = true,
                    Some("namespace: none") => script.namespace = false,
                    _ => {}
                }
                continue;
            };
            match part {
                Part::Preamble => {}
                Part::Directives => {
                    if let Some(directive) = line.strip_prefix("# ") {
                        step.direct(directive.trim()).map_err(|message| fail(number, message))?;
                    } else if !line.trim().is_empty() && !line.starts_with("//") {
                        let (method, path) = line
                            .split_once(' ')
                            .ok_or_else(|| fail(number, format!("`{line}` is no request")))?;
                        method.clone_into(&mut step.method);
                        path.trim().clone_into(&mut step.path);
                        part = Part::Headers;
                    }
                }
                Part::Headers if line.trim().is_empty() => part = Part::Body,
                Part::Headers => {
                    let (name, value) = line
                        .split_once(':')
                        .ok_or_else(|| fail(number, format!("`{line}` is no header")))?;
                    step.header(name.trim(), value.trim()).map_err(|m| fail(number, m))?;
                }
                Part::Body => {
                    step.body.push_str(line);
                    step.body.push('\n');
                }
            }
        }
        for step in &mut script.steps {
            step.body.truncate(step.body.trim_end().len());
            if step.method.is_empty() {
                return Err(fail(0, format!("`{}` has no request", step.title)));
            }
        }
        Ok(script)
    }

    /// Area and name, as the command line and the list of differences call the script.
    pub fn id(&self) -> String {
        format!("{}/{}", self.area, self.name)
    }

    /// The namespace that only this script uses.
    pub fn own_namespace(&self) -> String {
        format!("{}-{}", self.area, self.name)
    }
}

enum Part {
    Preamble,
    Directives,
    Headers,
    Body,
}

impl Step {
    fn direct(&mut self, directive: &str) -> Result<(), String> {
        let (word, rest) = directive.split_once(' ').unwrap_or((directive, ""));
        let rest = rest.trim();
        match word {
            "quiet" => self.quiet = true,
            "mask" => self.masks.push(rest.to_owned()),
            "unordered" => self.unordered.push(rest.to_owned()),
            "open" => self.reading = Reading::Open(rest.to_owned()),
            "capture" => {
                let (name, pointer) =
                    rest.split_once('=').ok_or("capture takes NAME = /pointer")?;
                self.captures.insert(name.trim().to_owned(), pointer.trim().to_owned());
            }
            "watch" => {
                let count = rest.split(' ').next().unwrap_or_default();
                let count = count.parse().map_err(|_| "watch takes a number of events")?;
                self.reading = Reading::Events { count, then_quiet: rest.ends_with("then quiet") };
            }
            "until" => {
                self.until.push(if let Some((pointer, value)) = rest.split_once("==") {
                    let value = serde_json::from_str(value.trim()).map_err(|e| e.to_string())?;
                    Condition::Equals(pointer.trim().to_owned(), value)
                } else if let Some(pointer) = rest.strip_suffix(" exists") {
                    Condition::Exists(pointer.to_owned())
                } else if let Some(pointer) = rest.strip_suffix(" absent") {
                    Condition::Absent(pointer.to_owned())
                } else if let Some(code) = rest.strip_prefix("status ") {
                    Condition::Status(code.parse().map_err(|_| "status takes a number")?)
                } else {
                    return Err(format!("`{rest}` is no condition"));
                });
            }
            _ => return Err(format!("`{word}` is no directive (a comment starts with //)")),
        }
        Ok(())
    }

    fn header(&mut self, name: &str, value: &str) -> Result<(), String> {
        if name == "Body-Base64" {
            let bytes = base64::engine::general_purpose::STANDARD
                .decode(value)
                .map_err(|e| format!("Body-Base64: {e}"))?;
            self.bytes = Some(bytes);
        } else {
            self.headers.push((name.to_owned(), value.to_owned()));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_has_titles_directives_headers_and_bodies() {
        let text = "# cluster: workloads\nWords.\n\n### one\n# capture uid = /metadata/uid\n# until /a == \"b\"\nPOST /x\nAs: jane\n\n{\n}\n\n### two\n// why\n# watch 2 events then quiet\nGET /y?watch=true\n";
        let script = Script::parse("area", "name", text).expect("it parses");
        assert!(script.workloads);
        assert_eq!(script.own_namespace(), "area-name");
        let [one, two] = script.steps.as_slice() else { panic!("two steps") };
        assert_eq!((one.method.as_str(), one.path.as_str()), ("POST", "/x"));
        assert_eq!(one.headers, [("As".to_owned(), "jane".to_owned())]);
        assert_eq!(one.body, "{\n}");
        assert_eq!(one.captures["uid"], "/metadata/uid");
        assert_eq!(one.until, [Condition::Equals("/a".to_owned(), "b".into())]);
        assert_eq!(two.reading, Reading::Events { count: 2, then_quiet: true });
    }

    #[test]
    fn a_text_that_is_no_script_is_refused_with_its_line() {
        for (text, message) in [
            ("### a\nGET /x\n### a\nGET /x\n", "a/b, line 3: the title `a` is used twice"),
            (
                "### a\n# wait\nGET /x\n",
                "a/b, line 2: `wait` is no directive (a comment starts with //)",
            ),
            ("### a\nGET\n", "a/b, line 2: `GET` is no request"),
            ("### a\nGET /x\nnonsense\n", "a/b, line 3: `nonsense` is no header"),
        ] {
            let error = Script::parse("a", "b", text).expect_err("it is refused");
            assert_eq!(error.to_string(), message);
        }
    }
}
