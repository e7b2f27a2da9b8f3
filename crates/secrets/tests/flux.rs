//! What is decrypted and where, over documents of the real sops.

use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use sluice_kustomize::MemoryTree;
use sluice_secrets::flux::{
    Checked, DECRYPT_ANNOTATION, Decryptor, KeyRing, MAX_FILE_SIZE, OnBrokenMac, SourcesError,
};

fn golden(path: &str) -> Vec<u8> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/goldens");
    std::fs::read(root.join(path)).expect("the golden is recorded")
}

fn keys() -> KeyRing {
    let mut ring = KeyRing::default();
    ring.import("one.agekey", &golden("keys/one.agekey")).expect("the key can be read");
    ring.import("unrelated", b"x").expect("other entries are passed over");
    ring
}

fn report(keys: &KeyRing) -> Decryptor<'_> {
    Decryptor::new(keys, OnBrokenMac::Report)
}

fn encrypted_object() -> Value {
    let text = golden("sops-3.13.3/encrypted-regex/encrypted.yaml");
    let object = sluice_yaml::to_json(&text, sluice_yaml::Duplicates::LastWins);
    object.expect("it is YAML").expect("it is not empty")
}

#[test]
fn an_encrypted_object_is_decrypted_as_a_whole() {
    let (keys, mut object, mut findings) = (keys(), encrypted_object(), Vec::new());
    let file = golden("sops-3.13.3/encrypted-regex/encrypted.yaml");
    let checked = report(&keys).check_files([("a.yaml", file.as_slice())]);
    let checked = checked.expect("the key is there");
    let done = report(&keys).decrypt_resource(&mut object, &checked, &mut findings);
    assert_eq!(done, Ok(true));
    assert_eq!(object["stringData"]["password"], "hunter2");
    assert_eq!(object.get("sops"), None);
    assert!(findings.is_empty(), "its file is whole");
}

#[test]
fn an_object_that_opts_out_stays_as_it_is() {
    let (keys, mut object) = (keys(), encrypted_object());
    object["metadata"]["annotations"] = json!({ DECRYPT_ANNOTATION: "Disabled" });
    let before = object.clone();
    assert_eq!(
        report(&keys).decrypt_resource(&mut object, &Checked::default(), &mut Vec::new()),
        Ok(false)
    );
    assert_eq!(object, before);
}

#[test]
fn an_object_without_its_key_names_itself() {
    let (keys, mut object) = (KeyRing::default(), encrypted_object());
    object["metadata"]["namespace"] = json!("shop");
    let error = report(&keys).decrypt_resource(&mut object, &Checked::default(), &mut Vec::new());
    let text = error.expect_err("there is no key").to_string();
    assert!(
        text.starts_with(
            "failed to decrypt and format 'shop/database' Secret data: cannot get sops data key: "
        ),
        "{text}"
    );
}

#[test]
fn entries_of_a_secret_are_decrypted_by_their_name() {
    let keys = keys();
    let mut secret = json!({
        "kind": "Secret",
        "metadata": {"name": "s", "namespace": "n"},
        "data": {
            "app.env": STANDARD.encode(golden("sops-3.13.3/dotenv/encrypted.env")),
            "app.ini": STANDARD.encode(golden("sops-3.13.3/ini/encrypted.ini")),
            "blob": STANDARD.encode(golden("sops-3.13.3/binary/encrypted.bin")),
            ".dockerconfigjson": STANDARD.encode(golden("sops-3.13.3/json/encrypted.json")),
            "plain": STANDARD.encode("as it is"),
            "broken": "no base64!",
        },
    });
    let mut findings = Vec::new();
    assert_eq!(
        report(&keys).decrypt_resource(&mut secret, &Checked::default(), &mut findings),
        Ok(true)
    );
    let entry = |name: &str| STANDARD.decode(secret["data"][name].as_str().expect("a text"));
    for (name, path) in [
        ("app.env", "dotenv/as-dotenv"),
        ("app.ini", "ini/as-ini"),
        ("blob", "binary/as-binary"),
        (".dockerconfigjson", "json/as-json"),
    ] {
        assert_eq!(entry(name), Ok(golden(&format!("sops-3.13.3/{path}"))), "{name}");
    }
    assert_eq!(entry("plain"), Ok(b"as it is".to_vec()));
    assert_eq!(secret["data"]["broken"], "no base64!");
    assert!(findings.is_empty(), "{findings:?}");
}

/// An overlay over a base and a component, with everything that is decrypted before a build.
fn tree() -> MemoryTree {
    let mut tree = MemoryTree::default();
    let env = golden("sops-3.13.3/dotenv/encrypted.env");
    tree.insert(
        "/app/kustomization.yaml",
        "resources: [../base, plain.yaml, https://example.com/x, missing]\ncomponents: [../part]\n\
         secretGenerator:\n- name: a\n  envs: [settings]\n  files: [config.ini=some.file, blob]\n\
         configMapGenerator:\n- name: c\n  envs: [config.env]\n\
         patches:\n- path: patch.yaml\n- path: https://example.com/patch.yaml\n- patch: '{}'\n",
    );
    tree.insert("/app/plain.yaml", "kind: ConfigMap");
    tree.insert("/app/settings", env.clone());
    tree.insert("/app/config.env", env.clone());
    tree.insert("/app/some.file", golden("sops-3.13.3/ini/encrypted.ini"));
    tree.insert("/app/blob", golden("sops-3.13.3/binary/encrypted.bin"));
    tree.insert("/app/patch.yaml", golden("sops-3.13.3/age/encrypted.yaml"));
    tree.insert("/base/kustomization.yml", "secretGenerator: [{name: b, envs: [b.env]}]");
    tree.insert("/base/b.env", env);
    tree.insert("/part/Kustomization", "secretGenerator: [{name: p, envs: [p.env]}]");
    tree.insert("/part/p.env", "PLAIN=1\n");
    tree
}

#[test]
fn files_of_generators_and_patches_are_decrypted() {
    let (keys, tree) = (keys(), tree());
    let sources = report(&keys).decrypt_sources(&tree, "/", "app").expect("all can be decrypted");
    let found: Vec<(&str, &Vec<u8>)> =
        sources.files.iter().map(|(path, content)| (path.as_str(), content.expose())).collect();
    let expected = [
        ("/app/blob", "binary/as-binary"),
        ("/app/patch.yaml", "age/as-yaml"),
        ("/app/settings", "dotenv/as-dotenv"),
        ("/app/some.file", "ini/as-ini"),
        ("/base/b.env", "dotenv/as-dotenv"),
    ];
    let expected = expected.map(|(path, plain)| (path, golden(&format!("sops-3.13.3/{plain}"))));
    assert_eq!(found, expected.iter().map(|(path, plain)| (*path, plain)).collect::<Vec<_>>());
    assert!(sources.findings.is_empty());
}

#[test]
fn a_broken_mac_is_reported_or_refused() {
    let (keys, mut tree) = (keys(), tree());
    let patch = String::from_utf8(golden("sops-3.13.3/age/encrypted.yaml")).expect("it is text");
    tree.insert("/app/patch.yaml", patch.replace("in the clear", "changed"));
    let sources = report(&keys).decrypt_sources(&tree, "/", "app").expect("Flux takes it");
    let places: Vec<&str> = sources.findings.iter().map(|found| found.place.as_str()).collect();
    assert_eq!(places, ["app/patch.yaml"]);
    let refusing = Decryptor::new(&keys, OnBrokenMac::Refuse);
    let error = refusing.decrypt_sources(&tree, "/", "app").expect_err("it was changed");
    let text = error.to_string();
    let words =
        "app/patch.yaml: failed to verify sops data integrity: the MAC is that of other values";
    assert_eq!(text, words);
}

#[test]
fn unreadable_files_are_reported() {
    let keys = keys();
    let files = |content: &str| {
        let mut tree = tree();
        tree.insert("/app/kustomization.yaml", content);
        tree
    };
    let run = |tree: &MemoryTree| {
        let error = report(&keys).decrypt_sources(tree, "/", "/app");
        error.expect_err("it cannot be read").to_string()
    };
    let missing = files("secretGenerator: [{envs: [../../../nowhere.env]}]");
    assert_eq!(run(&missing), "lstat nowhere.env: no such file or directory");
    let directory = files("secretGenerator: [{envs: [../base]}]");
    assert_eq!(run(&directory), SourcesError::Irregular.to_string());
    let mut large = files("secretGenerator: [{envs: [large.env]}]");
    large.insert("/app/large.env", vec![b'#'; MAX_FILE_SIZE + 1]);
    assert_eq!(
        run(&large),
        "cannot decrypt file with size (5242881 bytes) exceeding limit (5242880)"
    );
    let mut several = tree();
    several.insert("/app/Kustomization", "");
    assert_eq!(run(&several), "found multiple kustomization files");
    assert!(run(&files("a: [")).starts_with("failed to unmarshal kustomization file from"));
    let empty = MemoryTree::default();
    assert_eq!(run(&empty), "lstat app: no such file or directory");
    let cycle = files("resources: [../app, .]");
    report(&keys).decrypt_sources(&cycle, "/", "app").expect("each directory once");
}
