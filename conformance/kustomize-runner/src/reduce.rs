//! Makes a differing case smaller while it still differs in the same way.

use serde_json::Value;

use crate::case::{Answer, Request};
use crate::compare::{Level, compare};
use crate::mutate::{FILE_NAMES, read};

/// Tries to leave out files, documents and fields of kustomizations, until nothing more can go.
pub(crate) fn reduce(
    request: Request,
    level: Level,
    mut answers: impl FnMut(&Request) -> Option<(Answer, Answer)>,
) -> Request {
    let mut small = request;
    let mut tries = 0;
    loop {
        let mut shrunk = false;
        for candidate in candidates(&small) {
            tries += 1;
            if tries > 2000 {
                return small;
            }
            let same = answers(&candidate)
                .is_some_and(|(real, ours)| compare(&real, &ours) == Some(level));
            if same {
                small = candidate;
                shrunk = true;
                break;
            }
        }
        if !shrunk {
            return small;
        }
    }
}

/// The trees that lack one thing.
fn candidates(request: &Request) -> Vec<Request> {
    let mut all = Vec::new();
    let with = |path: &str, text: Option<String>| {
        let mut changed = request.clone();
        match text {
            Some(text) => changed.files.insert(path.to_owned(), text),
            None => changed.files.remove(path),
        };
        changed
    };
    for path in request.files.keys() {
        all.push(with(path, None));
    }
    for (path, text) in &request.files {
        let name = path.rsplit('/').next().unwrap_or_default();
        let documents = read(text);
        if FILE_NAMES.contains(&name) {
            let Some(document) = documents.first() else { continue };
            all.extend(
                without_one(document, 3)
                    .iter()
                    .map(|less| with(path, Some(sluice_yaml::from_json(less)))),
            );
            continue;
        }
        for left_out in (0..documents.len()).filter(|_| documents.len() > 1) {
            let kept = documents.iter().enumerate().filter(|(index, _)| *index != left_out);
            let texts: Vec<String> =
                kept.map(|(_, document)| sluice_yaml::from_json(document)).collect();
            all.push(with(path, Some(texts.join("---\n"))));
        }
        if let [document] = documents.as_slice() {
            for less in without_one(document, 6) {
                all.push(with(path, Some(sluice_yaml::from_json(&less))));
            }
        }
    }
    all
}

/// The value with one field or element less, down to a depth.
fn without_one(value: &Value, depth: usize) -> Vec<Value> {
    let mut all = Vec::new();
    if depth == 0 {
        return all;
    }
    match value {
        Value::Object(fields) => {
            for key in fields.keys() {
                let mut less = fields.clone();
                less.remove(key);
                all.push(Value::Object(less));
            }
            for (key, inner) in fields {
                for smaller in without_one(inner, depth - 1) {
                    let mut less = fields.clone();
                    less.insert(key.clone(), smaller);
                    all.push(Value::Object(less));
                }
            }
        }
        Value::Array(items) => {
            for index in 0..items.len() {
                let mut less = items.clone();
                less.remove(index);
                all.push(Value::Array(less));
            }
            for (index, inner) in items.iter().enumerate() {
                for smaller in without_one(inner, depth - 1) {
                    let mut less = items.clone();
                    if let Some(place) = less.get_mut(index) {
                        *place = smaller;
                    }
                    all.push(Value::Array(less));
                }
            }
        }
        _ => {}
    }
    all
}

#[cfg(test)]
mod tests {
    use super::reduce;
    use crate::case::{Answer, Request};
    use crate::compare::Level;

    #[test]
    fn what_does_not_matter_goes() {
        let files = [
            ("/kustomization.yaml", "namePrefix: a-\nnamespace: b\nresources: [x.yaml, y.yaml]\n"),
            ("/x.yaml", "kind: X\nmetadata: {name: x, labels: {a: b}}\n"),
            ("/y.yaml", "kind: Y\n"),
        ];
        let files = files.map(|(path, text)| (path.to_owned(), text.to_owned()));
        let request = Request { files: files.into(), root: "/".to_owned(), ..Request::default() };
        let differs = |request: &Request| {
            let wrong = request.files.get("/kustomization.yaml")?.contains("namePrefix");
            let ours = Answer { ok: wrong, ..Answer::default() };
            Some((Answer::default(), ours))
        };
        let small = reduce(request, Level::Class, differs);
        assert_eq!(small.files.len(), 1);
        assert_eq!(small.files["/kustomization.yaml"], "namePrefix: a-\n");
    }
}
