//! Files of one volume with overlapping paths.

use serde_json::Value;

use crate::value::{at, list, present, text};

struct File<'a> {
    path: &'a str,
    source: String,
}

impl File<'_> {
    fn shown(&self) -> String {
        if self.source.is_empty() {
            return format!("{:?}", self.path);
        }
        format!("{:?} ({})", self.path, self.source)
    }
}

/// Warnings about the files of a volume.
pub(super) fn warnings(volume: &Value) -> Vec<String> {
    let name = text(volume, "name");
    let mut warnings = Vec::new();
    let plain = [
        ("configMap", format!("ConfigMap {:?}", text(volume, "configMap.name"))),
        ("secret", format!("Secret {:?}", text(volume, "secret.secretName"))),
        ("downwardAPI", "DownwardAPI".to_owned()),
    ];
    for (field, described) in plain {
        let mut seen = Vec::new();
        for file in files(at(volume, field), "") {
            warnings.extend(collisions(name, &described, &seen, &file));
            seen.push(file);
        }
    }
    let mut seen = Vec::new();
    for source in list(volume, "projected.sources") {
        if source.as_object().is_none_or(serde_json::Map::is_empty) {
            warnings.push(format!("volume {name:?} (Projected) has no sources provided"));
            continue;
        }
        for file in projected(source) {
            warnings.extend(collisions(name, "Projected", &seen, &file));
            seen.push(file);
        }
    }
    warnings
}

fn projected(source: &Value) -> Vec<File<'_>> {
    let mut found = Vec::new();
    for (field, kind) in [("configMap", "ConfigMap"), ("secret", "Secret")] {
        let described = format!("{kind} {:?}", text(source, &format!("{field}.name")));
        found.extend(files(at(source, field), &described));
    }
    found.extend(files(at(source, "downwardAPI"), "DownwardAPI"));
    if present(source, "serviceAccountToken") {
        let path = text(source, "serviceAccountToken.path").trim_end_matches('/');
        found.push(File { path, source: "ServiceAccountToken".to_owned() });
    }
    found
}

fn files<'a>(source: &'a Value, described: &str) -> Vec<File<'a>> {
    list(source, "items")
        .iter()
        .map(|item| File {
            path: text(item, "path").trim_end_matches('/'),
            source: described.to_owned(),
        })
        .collect()
}

fn collisions(volume: &str, described: &str, seen: &[File<'_>], file: &File<'_>) -> Vec<String> {
    let below = |inner: &str, outer: &str| format!("{inner}/").starts_with(&format!("{outer}/"));
    seen.iter()
        .filter(|other| !other.path.is_empty() && !file.path.is_empty())
        .filter(|other| below(file.path, other.path) || below(other.path, file.path))
        .map(|other| {
            let (file, other) = (file.shown(), other.shown());
            format!("volume {volume:?} ({described}): overlapping paths: {file} with {other}")
        })
        .collect()
}
