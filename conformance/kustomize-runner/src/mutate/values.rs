//! Mutations of the values in resources, as text: what a careless reader or writer of YAML gets wrong.

use std::sync::LazyLock;

use regex::Regex;
use serde_json::{Value, json};

use crate::case::Request;
use crate::mutate::random::Random;
use crate::mutate::world::World;

const TRICKY: [&str; 44] = [
    "yes",
    "No",
    "on",
    "y",
    "0o7",
    "0777",
    "0x1F",
    "0b11",
    "1e3",
    "1E+3",
    ".5",
    "5.",
    "+1",
    "-0",
    "1_000",
    "1.0",
    "1.10",
    "12345678901234567890",
    "9223372036854775807",
    "0.1e-10",
    ".inf",
    "-.Inf",
    ".nan",
    "null",
    "~",
    "\"\"",
    "''",
    "\"null\"",
    "\"true\"",
    "'12'",
    "2001-01-01",
    "2001-01-01T00:00:00Z",
    "1:30",
    "=",
    "!!str 5",
    "\"tab\\tline\\nend\"",
    "'it''s'",
    "a # b",
    "a#b",
    "\"é\\u2028\\U0001F600\"",
    "\" leading and trailing \"",
    "{}",
    "[]",
    "\"multi\\n  line\\n\"",
];

static FIELD: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^(\s*(?:- )?([A-Za-z0-9_./-]+): )([^\s\[{|>&*!].*)$")
        .expect("the pattern is written here")
});

/// Some value, of any type.
pub(crate) fn some_value(random: &mut Random) -> Value {
    let long =
        "a value that is long enough to be folded into two lines by an emitter that folds lines";
    match random.below(12) {
        0 => json!(random.below(100)),
        1 => json!(true),
        2 => json!("true"),
        3 => json!("12"),
        4 => json!(1.5),
        5 => json!(""),
        6 => json!(long),
        7 => json!("two\nlines\n"),
        8 => json!({ "a": 1, "b": ["c"] }),
        9 => json!(["x", "y"]),
        10 => json!("yes"),
        _ => json!("value"),
    }
}

/// Writes something tricky where a plain value was.
pub(crate) fn scalar(request: &mut Request, world: &World, random: &mut Random) -> Option<()> {
    let file = random.pick(&world.objects)?.file.clone();
    let text = request.files.get(&file)?;
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let identity = ["apiVersion", "kind", "name", "namespace"];
    let fitting: Vec<usize> = lines
        .iter()
        .enumerate()
        .filter(|(_, line)| {
            FIELD.captures(line).is_some_and(|found| !identity.contains(&&found[2]))
        })
        .map(|(index, _)| index)
        .collect();
    let index = *random.pick(&fitting)?;
    let line = lines.get_mut(index)?;
    let start = FIELD.captures(line)?.get(1)?.as_str().to_owned();
    let long = "word ".repeat(40);
    let value = if random.chance(5) { long.trim_end() } else { random.word(&TRICKY) };
    *line = format!("{start}{value}");
    request.files.insert(file, lines.join("\n") + "\n");
    Some(())
}

/// Gives an object another name in its file; who refers to it may follow or not.
pub(crate) fn rename(request: &mut Request, world: &World, random: &mut Random) -> Option<()> {
    let object = random.pick(&world.objects)?;
    let (old, new) = (object.name(), random.word(&["renamed", "settings", "added", "0x1f", "a.b"]));
    let line = Regex::new(&format!(r"(?m)^(  name: ){}$", regex::escape(old))).ok()?;
    let everywhere = random.chance(50);
    let mut changed = false;
    for (path, text) in &mut request.files {
        if everywhere || *path == object.file {
            let after = line.replace_all(text, format!("${{1}}{new}"));
            changed |= after != *text;
            *text = after.into_owned();
        }
    }
    changed.then_some(())
}

/// Marks an object: kept local, hashed, or with an annotation that kustomize itself uses.
pub(crate) fn mark(request: &mut Request, world: &World, random: &mut Random) -> Option<()> {
    let object = random.pick(&world.objects)?;
    let text = request.files.get(&object.file)?;
    if !text.contains("\nmetadata:\n  name:") || text.contains("annotations:") {
        return None;
    }
    let annotation = random.word(&[
        "config.kubernetes.io/local-config: \"true\"",
        "config.kubernetes.io/local-config: \"false\"",
        "kustomize.config.k8s.io/needs-hash: \"true\"",
        "kustomize.config.k8s.io/behavior: merge",
        "internal.config.kubernetes.io/index: \"3\"",
        "config.kubernetes.io/index: '0'",
        "note: 1.0",
        "note: ",
    ]);
    let marked = text.replacen(
        "\nmetadata:\n  name:",
        &format!("\nmetadata:\n  annotations:\n    {annotation}\n  name:"),
        1,
    );
    request.files.insert(object.file.clone(), marked);
    Some(())
}
