//! Documents that the real sops has encrypted, decrypted to the byte as it decrypts them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use sluice_secrets::flux::KeyRing;
use sluice_secrets::{Error, Format, Integrity, Tampering, decrypt_document};

const FORMATS: [(&str, Format); 5] = [
    ("yaml", Format::Yaml),
    ("json", Format::Json),
    ("dotenv", Format::Dotenv),
    ("ini", Format::Ini),
    ("binary", Format::Binary),
];

fn goldens() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/goldens")
}

fn key_ring(names: &[&str]) -> KeyRing {
    let mut ring = KeyRing::default();
    for name in names {
        let value = std::fs::read(goldens().join("keys").join(name)).expect("the key is recorded");
        ring.import(name, &value).expect("the key can be read");
    }
    ring
}

fn all_keys() -> KeyRing {
    key_ring(&["one.agekey", "rsa.asc", "curve.asc"])
}

struct Case {
    name: String,
    format: Format,
    encrypted: Vec<u8>,
    plain: BTreeMap<String, Vec<u8>>,
}

/// The cases of one recorded version of sops.
fn cases() -> Vec<Case> {
    let mut out = Vec::new();
    let folder = goldens().join("sops-3.13.3");
    for entry in std::fs::read_dir(folder).expect("the goldens are recorded") {
        let folder = entry.expect("the folder can be read").path();
        let mut case = Case {
            name: folder.file_name().expect("it has a name").to_string_lossy().into_owned(),
            format: Format::Binary,
            encrypted: Vec::new(),
            plain: BTreeMap::new(),
        };
        for file in std::fs::read_dir(&folder).expect("a case is a folder") {
            let path = file.expect("the file can be read").path();
            let name = path.file_name().expect("it has a name").to_string_lossy().into_owned();
            let content = std::fs::read(&path).expect("the file can be read");
            if let Some(format) = name.strip_prefix("as-") {
                case.plain.insert(format.to_owned(), content);
            } else {
                (case.format, case.encrypted) = (Format::of_path(&name), content);
            }
        }
        out.push(case);
    }
    out.sort_by(|a, b| a.name.cmp(&b.name));
    assert!(out.len() >= 17, "{} cases", out.len());
    out
}

fn case(name: &str) -> Case {
    cases().into_iter().find(|case| case.name == name).expect("the case is recorded")
}

#[test]
fn every_document_decrypts_as_sops_decrypts_it() {
    let keys = all_keys();
    let (mut compared, mut wrong) = (0, Vec::new());
    for case in cases() {
        let decrypted = match decrypt_document(&case.encrypted, case.format, &keys) {
            Ok(decrypted) => decrypted,
            Err(error) => {
                wrong.push(format!("{}: {error}", case.name));
                continue;
            }
        };
        if *decrypted.integrity() != Integrity::Whole {
            wrong.push(format!("{}: {:?}", case.name, decrypted.integrity()));
        }
        for (name, format) in FORMATS {
            compared += 1;
            match (decrypted.emit(format), case.plain.get(name)) {
                (Ok(found), Some(expected)) if found.expose() == expected => {}
                (Err(_), None) => {}
                (Ok(found), expected) => {
                    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
                    let expected = expected.map_or("an error".to_owned(), |bytes| text(bytes));
                    let found = text(found.expose());
                    wrong.push(format!("{} as {name}:\n{found}\nnot\n{expected}", case.name));
                }
                (Err(error), Some(_)) => wrong.push(format!("{} as {name}: {error}", case.name)),
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {compared}:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn a_wrong_key_is_reported_with_the_name_of_the_right_one() {
    let case = case("age");
    for keys in [KeyRing::default(), key_ring(&["two.agekey"]), key_ring(&["rsa.asc"])] {
        let error = decrypt_document(&case.encrypted, case.format, &keys).expect_err("wrong key");
        assert!(matches!(error, Error::DataKey(_)), "{error}");
        let text = error.to_string();
        assert!(text.starts_with("cannot get sops data key: Failed to get the data key"), "{text}");
        assert!(text.contains("Group 0: FAILED\n  age1"), "{text}");
    }
}

#[test]
fn shamir_takes_any_two_of_three_groups() {
    let case = case("shamir");
    for keys in [["one.agekey", "two.agekey"], ["one.agekey", "rsa.asc"], ["rsa.asc", "two.agekey"]]
    {
        let decrypted = decrypt_document(&case.encrypted, case.format, &key_ring(&keys));
        assert_eq!(decrypted.expect("two are enough").integrity(), &Integrity::Whole);
    }
    let error = decrypt_document(&case.encrypted, case.format, &key_ring(&["rsa.asc"]));
    let text = error.expect_err("one is not").to_string();
    assert!(text.contains("Group 1: SUCCESS"), "{text}");
    assert!(text.contains("Shamir threshold of\n2, but only 1 part(s)"), "{text}");
}

#[test]
fn a_change_in_the_clear_breaks_the_mac_and_nothing_else() {
    let case = case("age");
    let text = String::from_utf8(case.encrypted).expect("YAML is UTF-8");
    let changed = text.replace("in the clear", "changed by hand");
    assert_ne!(changed, text);
    let decrypted = decrypt_document(changed.as_bytes(), case.format, &all_keys());
    let decrypted = decrypted.expect("the values still decrypt");
    let Integrity::Broken(tampering) = decrypted.integrity() else { panic!("it was changed") };
    assert!(matches!(tampering, Tampering::Mismatch { .. }), "{tampering}");
    decrypted.emit(Format::Yaml).expect("Flux takes it all the same");
}

#[test]
fn a_change_of_a_sealed_value_is_an_error_that_shows_no_value() {
    let case = case("dotenv");
    let text = String::from_utf8(case.encrypted).expect("dotenv is UTF-8");
    let swapped = text.replace("USER=", "OTHER=");
    let error = decrypt_document(swapped.as_bytes(), case.format, &all_keys());
    assert_eq!(
        error.expect_err("a value is bound to its path").to_string(),
        "error decrypting sops tree: Error walking tree: Could not decrypt value: Could not decrypt \
         with AES_GCM: cipher: message authentication failed"
    );
    let replaced = text.replacen("USER=ENC[", "USER=hunter2[", 1);
    let error = decrypt_document(replaced.as_bytes(), case.format, &all_keys());
    assert_eq!(
        error.expect_err("it is no sealed value").to_string(),
        "error decrypting sops tree: Error walking tree: Could not decrypt value: Input string \
         <redacted> does not match sops' data format"
    );
}

#[test]
fn truncated_and_twisted_documents_never_panic() {
    let keys = key_ring(&["one.agekey"]);
    for case in
        cases().into_iter().filter(|case| case.name != "shamir" && !case.name.starts_with("pgp"))
    {
        let length = case.encrypted.len();
        for end in (0..length).step_by(length / 40 + 1) {
            let text = case.encrypted.get(..end).unwrap_or_default();
            // What is cut off behind the keys decrypts, but only with all values has it its MAC.
            if let Ok(document) = decrypt_document(text, case.format, &keys)
                && *document.integrity() == Integrity::Whole
            {
                let plain = document.emit(case.format).expect("it has a form");
                let uncut = decrypt_document(&case.encrypted, case.format, &keys);
                let uncut = uncut.expect("it decrypts").emit(case.format).expect("it has a form");
                assert_eq!(plain.expose(), uncut.expose(), "{} cut at {end}", case.name);
            }
            let mut twisted = case.encrypted.clone();
            if let Some(byte) = twisted.get_mut(end) {
                *byte ^= 0x55;
            }
            for (_, format) in FORMATS {
                if let Ok(document) = decrypt_document(&twisted, format, &keys) {
                    let _ = document.emit(case.format);
                }
            }
        }
    }
}

#[test]
fn no_debug_print_shows_a_value_or_a_key() {
    let case = case("age");
    let decrypted =
        decrypt_document(&case.encrypted, case.format, &all_keys()).expect("it decrypts");
    let plain = decrypted.emit(Format::Yaml).expect("it has a form");
    let shown = format!("{decrypted:?} {plain:?} {:?}", all_keys());
    assert!(!shown.contains("hunter2") && !shown.contains("SECRET"), "{shown}");
}
