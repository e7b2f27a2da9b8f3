//! Files that SOPS wrote are whole in every form; whatever is changed in them shows.

use std::path::Path;

use sluice_secrets::flux::{CheckError, Checked, Decryptor, KeyRing, OnBrokenMac};

fn golden(path: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/goldens");
    let content = std::fs::read(root.join(path)).expect("the golden is recorded");
    String::from_utf8(content).expect("it is text")
}

fn keys() -> KeyRing {
    let mut ring = KeyRing::default();
    for name in ["one.agekey", "rsa.asc", "curve.asc"] {
        ring.import(name, golden(&format!("keys/{name}")).as_bytes()).expect("the key can be read");
    }
    ring
}

/// Every form that is recorded.
const FORMS: [&str; 18] = [
    "age",
    "binary",
    "dotenv",
    "encrypted-comments",
    "encrypted-regex",
    "encrypted-suffix",
    "ini",
    "json",
    "mac-only-encrypted",
    "many-documents",
    "pgp-curve",
    "pgp-rsa",
    "secret",
    "shamir",
    "two-recipients",
    "unencrypted-comments",
    "unencrypted-regex",
    "unencrypted-suffix",
];

/// The recorded file of a form, with its name.
fn form(name: &str) -> (String, String) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/goldens/sops-3.13.3").join(name);
    let files = std::fs::read_dir(folder).expect("the form is recorded");
    let mut names = files.map(|file| file.expect("it can be read").file_name());
    let file = names.find(|name| name.to_string_lossy().starts_with("encrypted."));
    let file = file.expect("a form has a file").to_string_lossy().into_owned();
    let text = golden(&format!("sops-3.13.3/{name}/{file}"));
    (file, text)
}

fn check(keys: &KeyRing, mode: OnBrokenMac, file: &str, text: &str) -> Result<Checked, CheckError> {
    Decryptor::new(keys, mode).check_files([(file, text.as_bytes())])
}

fn is_altered(keys: &KeyRing, file: &str, text: &str) -> bool {
    let reported = check(keys, OnBrokenMac::Report, file, text).expect("it is only reported");
    let refused = check(keys, OnBrokenMac::Refuse, file, text);
    let places: Vec<&str> = reported.findings.iter().map(|it| it.place.as_str()).collect();
    assert_eq!(places.is_empty(), refused.is_ok(), "what is reported is refused: {file}");
    if let Err(error) = refused {
        assert!(error.to_string().starts_with(&format!("{file}: failed to verify")), "{error}");
    }
    !places.is_empty()
}

#[test]
fn what_sops_wrote_is_whole_in_every_form() {
    let keys = keys();
    for name in FORMS {
        let (file, text) = form(name);
        assert!(!is_altered(&keys, &file, &text), "{name}");
        // The name is the user's; what is in it tells the form, but for what is no document by itself.
        if !matches!(file.as_str(), "encrypted.env" | "encrypted.ini") {
            assert!(!is_altered(&keys, "any.name", &text), "{name} under any name");
        }
    }
    let (file, text) = form("age");
    let strangers = KeyRing::default();
    assert!(!is_altered(&strangers, &file, &text), "without a key nothing can be said");
}

/// Documents of one file, with what is between them.
fn documents(text: &str) -> Vec<&str> {
    text.split("\n---\n").collect()
}

/// The line with a name, up to the name's separator.
fn line<'t>(text: &'t str, name: &str) -> &'t str {
    let is = |line: &&str| line.trim_start().trim_start_matches('"').starts_with(name);
    text.lines().find(is).unwrap_or_else(|| panic!("there is no {name}"))
}

/// What is changed, in which form, and the text that comes of it.
fn alterations() -> Vec<(&'static str, String, String)> {
    let mut all = Vec::new();
    let mut add = |what, name: &str, change: &dyn Fn(&str) -> String| {
        let (file, text) = form(name);
        let changed = change(&text);
        assert_ne!(changed, text, "{what} changes {name}");
        all.push((what, file, changed));
    };
    add("swapped documents", "many-documents", &|text| {
        let mut documents = documents(text);
        documents.swap(0, 1);
        documents.join("\n---\n")
    });
    add("a removed document", "many-documents", &|text| documents(text)[0].to_owned());
    add("a document twice", "many-documents", &|text| {
        let documents = documents(text);
        [documents[0], documents[0], documents[1]].join("\n---\n")
    });
    add("a value in the clear", "secret", &|text| text.replace("name: database", "name: other"));
    add("a plain field more", "secret", &|text| {
        text.replace("kind: Secret\n", "kind: Secret\ntype: Opaque\n")
    });
    add("a plain value in place of a sealed one", "secret", &|text| {
        let sealed = line(text, "password:");
        text.replace(sealed, "    password: mine")
    });
    add("no MAC", "secret", &|text| text.replace(&format!("{}\n", line(text, "mac:")), ""));
    add("an empty MAC", "secret", &|text| text.replace(line(text, "mac:"), "    mac: \"\""));
    add("the MAC of another time", "secret", &|text| {
        text.replace("2026-11-15T10:38:08Z", "2026-11-15T10:38:09Z")
    });
    add("another rule", "secret", &|text| text.replace("^(data|stringData)$", "^data$"));
    add("a MAC of sealed values only", "secret", &|text| {
        text.replace("    version: ", "    mac_only_encrypted: true\n    version: ")
    });
    add("no metadata", "secret", &|text| text.split_once("sops:").expect("it has").0.to_owned());
    add("an anchor", "secret", &|text| text.replace("name: database", "name: &name database"));
    add("values that changed places", "mac-only-encrypted", &|text| {
        let (a, b) = (line(text, "password:"), line(text, "multi:"));
        let value = |line: &str| line.split_once(": ").expect("a value").1.to_owned();
        text.replace(a, &format!("    password: {}", value(b)))
    });
    add("a list in another order", "json", &|text| {
        let sealed: Vec<&str> =
            text.lines().filter(|line| line.starts_with("\t\t\"ENC[")).collect();
        text.replacen(sealed[0], "@", 1)
            .replacen(sealed[1], sealed[0], 1)
            .replacen('@', sealed[1], 1)
    });
    add("a list that lost an item", "many-documents", &|text| {
        let item = line(text, "- ENC[");
        text.replacen(&format!("list:\n{item}\n"), "list: []\n", 1)
    });
    add("a value that is gone", "json", &|text| {
        text.replace(&format!("{}\n", line(text, "big")), "")
    });
    add("a line more", "dotenv", &|text| format!("EXTRA_unencrypted=1\n{text}"));
    add("a line less", "dotenv", &|text| text.replace(&format!("{}\n", line(text, "USER=")), ""));
    add("a value of another name", "dotenv", &|text| text.replace("USER=", "OTHER="));
    add("no MAC", "dotenv", &|text| text.replace(&format!("{}\n", line(text, "sops_mac=")), ""));
    add("a section less", "ini", &|text| {
        let (head, rest) = text.split_once("[cache]").expect("a section");
        format!("{head}{}", &rest[rest.find("[sops]").expect("metadata")..])
    });
    add("a value more", "ini", &|text| {
        text.replace("[cache]\n", "[cache]\nextra_unencrypted = 1\n")
    });
    add("another section", "shamir", &|text| text.replace("[cache]", "[other]"));
    add("the MAC of another file", "binary", &|text| {
        let other = form("json").1;
        text.replace(line(text, "mac"), line(&other, "mac"))
    });
    all
}

#[test]
fn whatever_is_changed_shows() {
    let keys = keys();
    let unseen: Vec<String> = alterations()
        .into_iter()
        .filter(|(_, file, text)| !is_altered(&keys, file, text))
        .map(|(what, file, _)| format!("{what} in {file}"))
        .collect();
    assert!(unseen.is_empty(), "not seen: {unseen:#?}");
}

/// A file that ends before its metadata has sealed values that nothing can decrypt.
#[test]
fn a_file_that_is_cut_off_shows() {
    let keys = keys();
    let mut seen = 0;
    for name in FORMS {
        let (file, text) = form(name);
        let start = ["\nsops:", "\nsops_", "\n[sops]"].iter().find_map(|start| text.find(start));
        // What is left of JSON is no document.
        let Some(start) = start else { continue };
        seen += 1;
        assert!(is_altered(&keys, &file, &text[..=start]), "{name}");
        // In the middle of the metadata: the MAC is broken. PGP keys stand behind it, and without them
        // nothing is decrypted.
        if name.starts_with("pgp") {
            continue;
        }
        let mac = start + text[start..].find("mac").expect("it has a MAC");
        let cut = &text[..mac + 40];
        assert!(is_altered(&keys, &file, cut), "{name}");
    }
    assert!(seen > 12, "{seen}");
}

/// Documents that were encrypted one by one may stand in one file, beside plain ones: each is whole.
#[test]
fn files_that_were_put_together_are_checked_part_by_part() {
    let keys = keys();
    let (secret, age) = (form("secret").1, form("age").1);
    let plain = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n";
    let together = format!("{secret}---\n{plain}---\n{age}");
    assert!(!is_altered(&keys, "all.yaml", &together));
    let altered = together.replace("name: database\n    namespace", "name: other\n    namespace");
    assert_ne!(altered, together);
    assert!(is_altered(&keys, "all.yaml", &altered));
}

#[test]
fn findings_show_no_values() {
    let keys = keys();
    for (_, file, text) in alterations() {
        let found = check(&keys, OnBrokenMac::Report, &file, &text).expect("reported").findings;
        let lines = found.iter().map(|it| format!("{} {}", it.place, it.tampering));
        let shown = lines.collect::<Vec<_>>().join("\n");
        assert!(!shown.contains("hunter2") && !shown.contains("mine"), "{shown}");
    }
}
