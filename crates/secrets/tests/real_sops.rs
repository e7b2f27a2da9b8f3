//! Documents that the real sops encrypts now, where it is among the real programs (`SLUICE_PEERS`).

use std::path::Path;
use std::process::Command;

use sluice_secrets::flux::{Decryptor, KeyRing, OnBrokenMac};
use sluice_secrets::{Format, Integrity, decrypt_document};

fn run(sops: &Path, key_file: &Path, arguments: &[&str]) -> Option<Vec<u8>> {
    let output = Command::new(sops)
        .args(["--config", "/dev/null"])
        .args(arguments)
        .env("SOPS_AGE_KEY_FILE", key_file)
        .output()
        .expect("sops runs");
    output.status.success().then_some(output.stdout)
}

#[test]
fn what_sops_encrypts_now_decrypts_as_it_decrypts_it() {
    let Some(sops) = sluice_testkit::programs::peer("sops") else { return };
    let key_file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/goldens/keys/one.agekey");
    let key = std::fs::read_to_string(&key_file).expect("the key is recorded");
    let recipient = key.lines().find_map(|line| line.strip_prefix("# public key: "));
    let recipient = recipient.expect("a key file names its recipient");
    let mut keys = KeyRing::default();
    keys.import("one.agekey", key.as_bytes()).expect("the key can be read");

    let folder = tempfile::tempdir().expect("a folder can be made");
    let plain = folder.path().join("plain");
    let encrypted = folder.path().join("encrypted");
    let (plain_name, encrypted_name) = (plain.to_string_lossy(), encrypted.to_string_lossy());
    let texts = [
        (
            "yaml",
            "a: [1, 2.5, -3, 1e3, .5, 0x10, 0o7, ~, yes, 'no', 1_000]\nb: {c: {d: \"\\t\"}}\n",
        ),
        ("yaml", "a: 2001-12-14\nb: 2001-12-14t21:59:43.10-05:00\nc: &x {d: 1}\ne: *x\n"),
        (
            "yaml",
            "s: '  lead'\nt: \"trail \"\nu: |2\n    x\n  y\nv: >-\n  folded\n  text\nw: '#'\n",
        ),
        ("yaml", "# a\n\n# b\nx: 1 # c\n# d\ny:\n# e\n- 1 # f\n# g\n- 2\n\n# h\n"),
        ("json", "{\"a\": [1.0, 1e21, 1e-7, -0.0, 123456789012345678], \"b\": {\"\": \"\"}}"),
        ("dotenv", "A=\"quoted\"\n#c\nB='x'\nC=a b\\tc\nD==\n"),
        ("ini", "[a]\nx=1\nx=2\ny = 'q'\n# c\nz = \"\"\"two\nlines\"\"\"\n[a]\nw: 1 ; t\n"),
        ("binary", "any\r\nthing\u{0}"),
    ];
    let formats = [
        ("yaml", Format::Yaml),
        ("json", Format::Json),
        ("dotenv", Format::Dotenv),
        ("ini", Format::Ini),
        ("binary", Format::Binary),
    ];
    let mut wrong = Vec::new();
    for (kind, text) in texts {
        std::fs::write(&plain, text).expect("it can be written");
        let arguments =
            ["encrypt", "--input-type", kind, "--output-type", kind, "--age", recipient];
        let sealed = run(&sops, &key_file, &[&arguments[..], &[&plain_name]].concat());
        let sealed = sealed.unwrap_or_else(|| panic!("sops refuses {text:?}"));
        std::fs::write(&encrypted, &sealed).expect("it can be written");
        let format = formats.iter().find(|(name, _)| *name == kind).expect("it is one").1;
        let decrypted = decrypt_document(&sealed, format, &keys).expect("it decrypts");
        if *decrypted.integrity() != Integrity::Whole {
            wrong.push(format!("{text}: {:?}", decrypted.integrity()));
        }
        for (name, format) in formats {
            let arguments =
                ["decrypt", "--input-type", kind, "--output-type", name, &encrypted_name];
            let expected = run(&sops, &key_file, &arguments);
            let found = decrypted.emit(format).ok().map(sluice_secrets::Redacted::into_exposed);
            if found != expected {
                let shown = |bytes: Option<Vec<u8>>| {
                    bytes
                        .map_or("an error".to_owned(), |b| String::from_utf8_lossy(&b).into_owned())
                };
                wrong.push(format!(
                    "{text} as {name}:\n{}\nnot\n{}",
                    shown(found),
                    shown(expected)
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n----\n"));
}

/// A file's name, its text, the rule, and a text to replace by another.
type Form<'f> = (&'f str, &'f str, &'f [&'f str], (&'f str, &'f str));

/// What sops encrypts now is whole as a file of a build; a value that sops itself refuses is found.
#[test]
fn files_are_whole_or_altered_as_sops_says() {
    let Some(sops) = sluice_testkit::programs::peer("sops") else { return };
    let key_file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/goldens/keys/one.agekey");
    let key = std::fs::read_to_string(&key_file).expect("the key is recorded");
    let recipient = key.lines().find_map(|line| line.strip_prefix("# public key: "));
    let recipient = recipient.expect("a key file names its recipient");
    let mut keys = KeyRing::default();
    keys.import("one.agekey", key.as_bytes()).expect("the key can be read");
    let secret =
        "apiVersion: v1\nkind: Secret\nmetadata:\n  name: a\nstringData:\n  b: c\n  list: [x, y]\n";
    let two = format!("{secret}---\n{}", secret.replace("name: a", "name: z"));
    let regex = ["--encrypted-regex", "^(data|stringData)$"];
    let only = ["--mac-only-encrypted", "--encrypted-regex", "^(data|stringData)$"];
    let forms: [Form<'_>; 7] = [
        ("s.yaml", secret, &regex, ("name: a", "name: b")),
        ("s.yaml", &two, &regex, ("name: z", "name: y")),
        ("s.yaml", secret, &only, ("    b: ENC", "    c: ENC")),
        ("s.yaml", secret, &["--unencrypted-suffix", "a"], ("name: a", "name: b")),
        (
            "s.json",
            "{\"a_unencrypted\": 1.0, \"b\": [1, 2]}",
            &[],
            ("\"a_unencrypted\": 1", "\"a_unencrypted\": 2"),
        ),
        ("s.env", "A_unencrypted=1\nB=2\n", &[], ("A_unencrypted=1", "A_unencrypted=2")),
        ("s.ini", "[a]\nx_unencrypted=1\ny=2\n", &[], ("= 1", "= 2")),
    ];
    let folder = tempfile::tempdir().expect("a folder can be made");
    for (name, text, rule, (before, after)) in forms {
        let path = folder.path().join(name);
        let place = path.to_string_lossy().into_owned();
        std::fs::write(&path, text).expect("it can be written");
        // Not the subcommand: it has no flag for a MAC over the encrypted values only.
        let arguments = [&["--encrypt", "--age", recipient], rule, &[place.as_str()]].concat();
        let sealed = run(&sops, &key_file, &arguments).unwrap_or_else(|| panic!("{text}"));
        let sealed = String::from_utf8(sealed).expect("it is text");
        let altered = sealed.replacen(before, after, 1);
        assert_ne!(altered, sealed, "{name} {rule:?}");
        for (content, is_whole) in [(&sealed, true), (&altered, false)] {
            std::fs::write(&path, content).expect("it can be written");
            let said = run(&sops, &key_file, &["decrypt", &place]).is_some();
            let decryptor = Decryptor::new(&keys, OnBrokenMac::Refuse);
            let found = decryptor.check_files([(name, content.as_bytes())]).is_ok();
            assert_eq!((said, found), (is_whole, is_whole), "{name} {rule:?}:\n{content}");
        }
    }
}
