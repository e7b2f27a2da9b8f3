//! Every recorded question is answered as upstream answered it.
//!
//! The recordings are made by the Go program under `conformance/cel`; their names carry the
//! versions of what answered.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;

use flate2::read::GzDecoder;
use serde_json::Value as Json;
use sluice_expr::kubernetes::{ObjectSchema, Reason, Rules, Shown, Violation, refusals};
use sluice_expr::{Cost, Env, Map, Type, Value};

fn quoted(text: &str) -> String {
    sluice_base::gojson::to_string(&Json::String(text.to_owned()))
}

fn double(value: f64) -> String {
    if value.is_nan() {
        return "double(NaN)".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "double(+Inf)".to_owned() } else { "double(-Inf)".to_owned() };
    }
    let text = format!("{value:e}");
    let (digits, exponent) = text.split_once('e').expect("because the format has an exponent");
    let power: i32 = exponent.parse().expect("because an exponent is a number");
    let sign = if power < 0 { '-' } else { '+' };
    format!("double({digits}e{sign}{:02})", power.abs())
}

/// A value as the recorder prints it.
fn render(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(value) => value.to_string(),
        Value::Int(value) => value.to_string(),
        Value::Uint(value) => format!("{value}u"),
        Value::Double(value) => double(*value),
        Value::String(text) => quoted(text),
        Value::Bytes(bytes) => {
            let hex: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            format!("bytes({})", hex.concat())
        }
        Value::Duration(nanos) => format!("duration({nanos})"),
        Value::Timestamp(time) => {
            format!("timestamp({})", sluice_expr::Timestamp { offset: 0, ..*time })
        }
        Value::Optional(None) => "none".to_owned(),
        Value::Optional(Some(inner)) => format!("some({})", render(inner)),
        Value::Type(name) => format!("type({name})"),
        Value::Ip(address) => format!("ip({address})"),
        Value::Cidr(network) => format!("cidr({network})"),
        Value::Url(url) => format!("url({url})"),
        Value::Quantity(quantity) => format!("quantity({})", quantity.nanos()),
        Value::Semver(version) => format!("semver({version})"),
        Value::Format(format) => format!("format({})", format.name()),
        Value::List(list) => {
            let parts: Vec<String> = list
                .iter()
                .map(|element| element.map_or_else(|e| format!("error({e})"), |v| render(&v)))
                .collect();
            format!("[{}]", parts.join(", "))
        }
        Value::Map(map) => render_map(map),
        Value::Preserved(_) => "*common.unknownPreserved".to_owned(),
    }
}

fn render_map(map: &Map) -> String {
    let mut parts: Vec<String> = map
        .keys()
        .iter()
        .map(|key| {
            let value = map.find(key).map_or_else(
                || format!("error(no such key: {})", key.as_str().unwrap_or_default()),
                |value| value.map_or_else(|e| format!("error({e})"), |v| render(&v)),
            );
            format!("{}: {value}", render(key))
        })
        .collect();
    parts.sort();
    format!("{{{}}}", parts.join(", "))
}

#[derive(Default, Debug, PartialEq)]
struct Answer {
    compile: String,
    output: String,
    value: String,
    error: String,
    cost: Option<u64>,
    maximum: Option<u64>,
    errors: Vec<String>,
    warnings: Vec<String>,
}

impl Answer {
    fn recorded(json: &Json) -> Self {
        let text = |key: &str| json[key].as_str().unwrap_or_default().to_owned();
        let texts = |key: &str| -> Vec<String> {
            let found = json[key].as_array().into_iter().flatten();
            found.filter_map(|text| text.as_str().map(str::to_owned)).collect()
        };
        Self {
            compile: text("compile"),
            output: text("type"),
            value: text("value"),
            error: text("error"),
            cost: json["cost"].as_u64(),
            maximum: json["maximum"].as_u64(),
            errors: texts("errors"),
            warnings: texts("warnings"),
        }
    }
}

fn expression(question: &Json) -> Answer {
    let rule = question["rule"].as_str().unwrap_or_default();
    let root = question["root"].as_bool().unwrap_or(false);
    let schema = ObjectSchema::new(&question["schema"], root);
    let mut env = Env::kubernetes();
    let mut answer = Answer::default();
    if question["schema"].is_object() {
        let Some(declared) = schema.declared() else {
            let error = "environment: no type for the schema".to_owned();
            return Answer { error, ..answer };
        };
        env =
            env.with_variable("self", declared.clone()).with_variable("oldSelf", declared.clone());
    }
    let program = match env.compile(rule) {
        Ok(program) => program,
        Err(error) if error.is_instantiation() => {
            answer.compile = format!("program instantiation failed: {error}");
            return answer;
        }
        Err(error) => {
            answer.compile = error.to_string();
            return answer;
        }
    };
    answer.output = program.output_type().full_name();
    answer.maximum = schema.estimate(&env, rule).ok();
    let mut variables = Values(BTreeMap::new());
    if question["schema"].is_object() {
        variables.0.insert("self", schema.read(&question["self"]));
        if !question["oldSelf"].is_null() {
            variables.0.insert("oldSelf", schema.read(&question["oldSelf"]));
        }
    }
    let mut cost = Cost::limited(question["limit"].as_u64().unwrap_or(Cost::PER_CALL));
    let result = program.eval(&variables, &mut cost);
    answer.cost = Some(cost.spent);
    match result {
        Ok(value) => answer.value = render(&value),
        Err(error) => answer.error = error.to_string(),
    }
    answer
}

struct Values<'v>(BTreeMap<&'static str, Result<Value<'v>, sluice_expr::EvalError>>);

impl<'v> sluice_expr::Variables<'v> for Values<'v> {
    fn get(&self, name: &str) -> Option<Result<Value<'v>, sluice_expr::EvalError>> {
        self.0.get(name).cloned()
    }
}

struct Fields<'v>(&'v Json);

impl<'v> sluice_expr::Variables<'v> for Fields<'v> {
    fn get(&self, name: &str) -> Option<Result<Value<'v>, sluice_expr::EvalError>> {
        self.0.get(name).map(|value| Ok(Value::from_json(value)))
    }
}

fn flux(question: &Json) -> Answer {
    let rule = question["rule"].as_str().unwrap_or_default();
    let mut env = Env::flux();
    let structs: Vec<&str> =
        question["structs"].as_array().into_iter().flatten().filter_map(Json::as_str).collect();
    for name in &structs {
        env = env.with_variable(*name, Type::map(Type::String, Type::Dyn));
    }
    let program = if structs.is_empty() { env.parse(rule) } else { env.compile(rule) };
    let mut answer = Answer::default();
    let program = match program {
        Ok(program) => program,
        Err(error) if error.is_instantiation() => {
            answer.compile = format!("program: {error}");
            return answer;
        }
        Err(error) => {
            answer.compile = error.to_string();
            return answer;
        }
    };
    answer.output = program.output_type().full_name();
    let result = program.eval(&Fields(&question["vars"]), &mut Cost::limited(u64::MAX));
    match result {
        Ok(value) => answer.value = render(&value),
        Err(error) => answer.error = error.to_string(),
    }
    answer
}

/// An error as the recorder prints it.
fn violation(found: &Violation) -> String {
    let name = reason(found.reason);
    format!("{name} | {} | {}", field(found), body(name, found))
}

fn reason(reason: Reason) -> &'static str {
    match reason {
        Reason::Invalid => "Invalid value",
        Reason::Forbidden => "Forbidden",
        Reason::Required => "Required value",
        Reason::Duplicate => "Duplicate value",
    }
}

fn field(found: &Violation) -> String {
    let field = found.field();
    if field.is_empty() { "<nil>".to_owned() } else { field }
}

fn body(name: &str, found: &Violation) -> String {
    let value = match &found.value {
        _ if matches!(found.reason, Reason::Forbidden | Reason::Required) => None,
        Shown::Omitted => None,
        Shown::Type(kind) => Some(quoted(kind)),
        Shown::Value(json) => Some(json.to_string()),
    };
    match (value, found.reason) {
        (Some(value), Reason::Duplicate) => format!("{name}: {value}"),
        (None, Reason::Duplicate) => name.to_owned(),
        (Some(value), _) => format!("{name}: {value}: {}", found.message),
        (None, _) => format!("{name}: {}", found.message),
    }
}

fn validate(question: &Json) -> Answer {
    let rules = Rules::new(&question["schema"], question["root"].as_bool().unwrap_or(false));
    if rules.is_empty() {
        return Answer::default();
    }
    let old = Some(&question["oldSelf"]).filter(|old| !old.is_null());
    let limit = question["limit"].as_u64().unwrap_or(Cost::PER_CALL);
    let findings = rules.validate_within(&question["self"], old, i64::MAX, limit);
    Answer {
        errors: findings.errors.iter().map(violation).collect(),
        warnings: findings
            .warnings
            .iter()
            .map(|found| format!("{}: {}", field(found), body(reason(found.reason), found)))
            .collect(),
        cost: u64::try_from(findings.remaining)
            .ok()
            .map(|remaining| i64::MAX.unsigned_abs() - remaining),
        ..Answer::default()
    }
}

fn create(question: &Json) -> Answer {
    let found = refusals(&question["schema"], "spec.validation.openAPIV3Schema");
    let errors = found
        .iter()
        .map(|refusal| {
            let mut body = refusal.kind.to_owned();
            for part in [&refusal.value, &refusal.detail] {
                if !part.is_empty() {
                    body.push_str(": ");
                    body.push_str(part);
                }
            }
            format!("{} | {body}", refusal.path)
        })
        .collect();
    Answer { errors, ..Answer::default() }
}

fn recordings() -> Vec<PathBuf> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/recorded");
    let entries = std::fs::read_dir(folder).expect("because recordings are kept there");
    let mut files: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "gz"))
        .collect();
    files.sort();
    files
}

#[test]
fn every_recorded_question_is_answered_as_upstream_answered_it() {
    // Some expressions nest as deep as upstream allows; unoptimized code needs room for that.
    let thread = std::thread::Builder::new().stack_size(16 << 20).spawn(compare).unwrap();
    let (total, costed, wrong) = thread.join().unwrap();
    println!("{} of {total} answered alike, {costed} of them with a cost", total - wrong.len());
    // Upstream takes 249 loops in each other. Ours takes 166: more would not fit on the stack of a worker.
    let is_known = |it: &String| {
        it.contains("[1].all(x, [1].all(x, ") && it.contains("max recursion depth exceeded")
    };
    let (known, wrong): (Vec<String>, Vec<String>) = wrong.into_iter().partition(is_known);
    assert_eq!(known.len(), 1, "a listed difference is equal now");
    assert!(wrong.is_empty(), "{} of {total} differ:\n{}", wrong.len(), wrong.join("\n"));
    assert!(total > 2000, "the recordings are there");
}

/// How many questions there are, how many of them have a cost, and where we differ.
fn compare() -> (usize, usize, Vec<String>) {
    let mut total = 0;
    let mut costed = 0;
    let mut wrong = Vec::new();
    for file in recordings() {
        let reader = BufReader::new(GzDecoder::new(
            std::fs::File::open(&file).expect("because it was listed"),
        ));
        for line in reader.lines() {
            let record: Json = serde_json::from_str(&line.expect("because it was packed"))
                .expect("because the recorder writes JSON");
            let question = &record["question"];
            let mut expected = Answer::recorded(&record["answer"]);
            let mut given = match question["mode"].as_str() {
                Some("expr") => expression(question),
                Some("flux") => flux(question),
                Some("validate") => validate(question),
                _ => create(question),
            };
            if question["mode"] == "flux" || !given.compile.is_empty() {
                // What is not checked has no type; what is refused has none we could ask for.
                expected.output.clone_from(&given.output);
            }
            // Upstream walks maps in any order.
            for answer in [&mut given, &mut expected] {
                answer.errors.sort();
                answer.warnings.sort();
            }
            total += 1;
            costed += usize::from(expected.cost.is_some());
            if given != expected {
                wrong.push(format!("{question}\n  expected {expected:?}\n  given    {given:?}"));
            }
        }
    }
    (total, costed, wrong)
}
